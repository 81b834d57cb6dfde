// SPDX-License-Identifier: MIT
/*
 * Choosing and opening a device, and turning failures into a sentence and an
 * exit code: see tool.h. Called by the sub-commands; prints to stderr only.
 */
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tool_backends[] = { "auto", "node", "sim", NULL };

static bool names_sim(const char *selector)
{
	return selector && (!strcmp(selector, "sim") || !strncmp(selector, "sim:", 4));
}

/* The selector that the options amount to, in @buf or NULL. */
static int selector(const struct args_spec *spec, const struct tool_device *c, char *buf,
		    size_t size, const char **out)
{
	const char *sel = c->selector;
	bool sim;

	if (!sel && c->backend != TOOL_BACKEND_SIM)
		sel = getenv("VRDU_DEVICE");
	if (c->backend == TOOL_BACKEND_NODE && names_sim(sel)) {
		if (c->selector)
			return args_usage_error(spec, "--backend=node and --device=%s exclude each "
						"other", sel);
		sel = NULL;
	}
	sim = c->backend == TOOL_BACKEND_SIM || names_sim(sel);
	if (c->backend == TOOL_BACKEND_SIM && c->selector && !names_sim(c->selector))
		return args_usage_error(spec, "--backend=sim and --device=%s exclude each other",
					sel);
	if ((c->profile || c->threads) && !sim)
		return args_usage_error(spec, "--%s is for the simulated device: add --backend=sim",
					c->profile ? "profile" : "threads");
	if (sim && c->profile) {
		if (c->selector && strchr(c->selector, ':'))
			return args_usage_error(spec, "--device=%s already names a profile",
						c->selector);
		if (snprintf(buf, size, "sim:%s", c->profile) >= (int)size)
			return args_usage_error(spec, "--profile is too long");
		sel = buf;
	} else if (sim && !names_sim(sel)) {
		sel = "sim";
	}
	/* The library would look at the variable again. */
	if (!sel)
		unsetenv("VRDU_DEVICE");
	*out = sel;
	return 0;
}

int tool_open(const struct args_spec *spec, const struct tool_device *choice,
	      struct vrdu_device **out)
{
	struct vrdu_device_opts opts = { .size = sizeof(opts), .threads = choice->threads };
	const char *sel = NULL, *why;
	char buf[64];
	int ret;

	if (selector(spec, choice, buf, sizeof(buf), &sel))
		return TOOL_USAGE;
	ret = vrdu_device_open(sel, &opts, out);
	if (!ret)
		return TOOL_OK;
	why = vrdu_last_error();
	fprintf(stderr, "%s: %s\n", spec->command, *why ? why : strerror(-ret));
	switch (ret) {
	case -ENODEV:
	case -ENOENT:
	case -ENXIO:
		fprintf(stderr, "%s: load the driver (insmod vrdu.ko), or simulate the device in "
			"this process with --backend=sim\n", spec->command);
		return TOOL_NO_DEVICE;
	case -EACCES:
	case -EPERM:
		fprintf(stderr, "%s: device nodes belong to the group \"render\": join it "
			"(usermod -aG render $USER) and log in again\n", spec->command);
		return TOOL_PERMISSION;
	case -EINVAL:
		return TOOL_USAGE;
	default:
		return TOOL_FAILED;
	}
}

int tool_fail(const struct args_spec *spec, int ret, const char *sentence)
{
	fprintf(stderr, "%s: %s\n", spec->command,
		sentence && *sentence ? sentence : strerror(-ret));
	switch (ret) {
	case -EIO:
	case -ECANCELED:
	case -ENODEV:
	case -ETIME:
	case -EFAULT:
		return TOOL_LOST;
	default:
		return TOOL_FAILED;
	}
}

int tool_finish_stdout(const struct args_spec *spec, int code)
{
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "%s: cannot write the output\n", spec->command);
		return code == TOOL_OK ? TOOL_FAILED : code;
	}
	return code;
}
