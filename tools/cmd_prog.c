// SPDX-License-Identifier: MIT
/*
 * vrdu prog: program images as files: dump, verify, build from a model. Needs
 * no device: building uses a simulated one whose buffers have no contents.
 */
#include "tool.h"
#include "llama/decode.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_BYTES	4096

/**
 * struct prog_cmd - the command line.
 * @profile: --profile.
 * @out: --out.
 * @batch: --batch.
 * @tile_rows: --tile-rows.
 * @block: --block.
 */
struct prog_cmd {
	const char *profile;
	const char *out;
	uint64_t batch;
	uint64_t tile_rows;
	uint64_t block;
};

static void emit(void *arg, const char *text)
{
	fputs(text, arg);
}

static int load(const struct args_spec *spec, const char *path, struct vrdu_image **image)
{
	char text[PATH_MAX + 256];
	int ret = vrdu_image_from_file(path, image);

	if (!ret)
		return TOOL_OK;
	snprintf(text, sizeof(text), "%s: %s", path, vrdu_last_error());
	return tool_fail(spec, ret, text);
}

static int dump(const struct args_spec *spec, const struct prog_cmd *cmd, const char *path)
{
	struct vrdu_image *image;
	int code, ret;

	(void)cmd;
	code = load(spec, path, &image);
	if (code)
		return code;
	ret = vrdu_image_dump(image, emit, stdout);
	if (ret)
		code = tool_fail(spec, ret, vrdu_last_error());
	vrdu_image_unref(image);
	return code;
}

static int verify(const struct args_spec *spec, const struct prog_cmd *cmd, const char *path)
{
	char log[LOG_BYTES] = "";
	struct vrdu_image *image;
	int code, ret;

	code = load(spec, path, &image);
	if (code)
		return code;
	ret = vrdu_image_verify(image, cmd->profile, log, sizeof(log));
	if (!ret) {
		printf("%s: accepted\n", path);
		if (*log)
			printf("%s%s", log, log[strlen(log) - 1] == '\n' ? "" : "\n");
	} else {
		fprintf(stderr, "%s: %s: refused: %s\n", spec->command, path,
			*log ? log : vrdu_last_error());
		code = TOOL_DIFFERS;
	}
	vrdu_image_unref(image);
	return code;
}

static int write_image(const struct prog_cmd *cmd, const char *name, struct vrdu_image *image,
		       struct error *err)
{
	char path[PATH_MAX];
	size_t size;
	int ret;

	if (snprintf(path, sizeof(path), "%s/%s.vrdu", cmd->out, name) >= (int)sizeof(path))
		return error_set(err, -ENAMETOOLONG, "the path of %s.vrdu is too long", name);
	ret = vrdu_image_to_file(image, path);
	if (ret)
		return error_set(err, ret, "%s: %s", path, vrdu_last_error());
	vrdu_image_data(image, &size);
	printf("%s  %zu bytes, %u symbols\n", path, size, vrdu_image_symbols(image));
	return 0;
}

/* The program that looping made: the call that is none of the three. */
static int write_looped(const struct prog_cmd *cmd, struct decoder *d, enum decode_mode mode,
			const char *name, struct error *err)
{
	struct decode_plan *plan;
	struct vrdu_graph *g;
	struct vrdu_call call;
	struct vrdu_image *image = NULL;
	uint32_t i, k;
	int ret;

	ret = decode_plan_create(d, mode, mode == DECODE_TOKEN_LOOP ? cmd->block : 1, &plan, err);
	if (ret)
		return ret;
	g = decode_plan_graph(plan);
	for (i = 0; i < vrdu_graph_calls(g) && !image; i++) {
		ret = vrdu_graph_get_call(g, i, &call);
		if (ret) {
			error_set(err, ret, "%s", vrdu_last_error());
			goto out;
		}
		image = vrdu_program_image(call.prog);
		for (k = 0; k < LLAMA_PROGRAMS; k++)
			if (image == decoder_image(d, k))
				image = NULL;
	}
	if (image)
		ret = write_image(cmd, name, image, err);
	else
		printf("%s: nothing was looped (a single layer, or a block of one)\n", name);
out:
	decode_plan_destroy(plan);
	return ret;
}

static int write_all(const struct prog_cmd *cmd, struct decoder *d, struct error *err)
{
	unsigned int i;
	int ret = 0;

	if (mkdir(cmd->out, 0777) && errno != EEXIST)
		return error_set(err, -errno, "%s: cannot create: %s", cmd->out, strerror(errno));
	for (i = 0; i < LLAMA_PROGRAMS && !ret; i++)
		ret = write_image(cmd, llama_program_name(i), decoder_image(d, i), err);
	return ret ?: write_looped(cmd, d, DECODE_LOOP, "looped", err) ?:
	       write_looped(cmd, d, DECODE_TOKEN_LOOP, "token-looped", err);
}

static int build(const struct args_spec *spec, const struct prog_cmd *cmd, const char *path)
{
	struct tool_device choice = { .backend = TOOL_BACKEND_SIM, .profile = cmd->profile };
	struct decode_opts opts = {
		.batch = cmd->batch, .tile_rows = cmd->tile_rows, .phantom = true,
	};
	struct vrdu_context *ctx = NULL;
	struct vrdu_device *dev = NULL;
	struct decoder *d = NULL;
	struct model *m = NULL;
	struct error err = { "" };
	int code, ret;

	if (!cmd->out) {
		args_usage_error(spec, "--out is needed: the directory for the images");
		return TOOL_USAGE;
	}
	code = tool_open(spec, &choice, &dev);
	if (code)
		return code;
	ret = model_open(path, &m, &err);
	if (!ret) {
		ret = vrdu_context_create(dev, &ctx);
		if (ret)
			error_set(&err, ret, "%s", vrdu_last_error());
	}
	if (!ret)
		ret = decoder_create(ctx, m, &opts, &d, &err) ?: write_all(cmd, d, &err);
	if (ret)
		code = tool_fail(spec, ret, err.text);
	decoder_destroy(d);
	vrdu_context_unref(ctx);
	model_close(m);
	vrdu_device_unref(dev);
	return code;
}

static const struct {
	const char *name;
	int (*run)(const struct args_spec *spec, const struct prog_cmd *cmd, const char *path);
} verbs[] = {
	{ "dump", dump },
	{ "verify", verify },
	{ "build", build },
};

int cmd_prog(int argc, char **argv)
{
	struct prog_cmd cmd = { .batch = 1, .block = DECODE_BLOCK };
	const struct args_option options[] = {
		{ "profile", 0, ARGS_STRING, &cmd.profile, 0, 0, NULL, "NAME",
		  "fabric: sn40l (default), tiny" },
		{ "out", 'o', ARGS_STRING, &cmd.out, 0, 0, NULL, "DIR",
		  "build: where the images go" },
		{ "batch", 0, ARGS_U64, &cmd.batch, 1, LLAMA_MAX_BATCH, NULL, "N",
		  "build: rows that advance in lockstep" },
		{ "tile-rows", 0, ARGS_U64, &cmd.tile_rows, 0, 1u << 20, NULL, "N",
		  "build: rows of a tile; 0: half a memory unit" },
		{ "block", 0, ARGS_U64, &cmd.block, 1, DECODE_MAX_BLOCK, NULL, "K",
		  "build: tokens of the token loop" },
		{ 0 },
	};
	const struct args_spec spec = {
		.command = "vrdu prog",
		.usage = "dump|verify FILE | build MODEL --out=DIR [options]",
		.summary = "Program images: text form, verifier, and the programs of a model.",
		.options = options,
		.notes = "build writes embed.vrdu, layer.vrdu, head.vrdu, looped.vrdu (the layers\n"
			 "as one call) and token-looped.vrdu (a block of tokens as one call).\n",
	};
	int first, ret;
	size_t i;

	ret = args_parse(&spec, argc, argv, &first);
	if (ret)
		return ret == ARGS_HELP ? TOOL_OK : TOOL_USAGE;
	if (argc - first != 2) {
		args_usage_error(&spec, "dump, verify or build and one file are needed");
		return TOOL_USAGE;
	}
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[first], verbs[i].name))
			continue;
		ret = verbs[i].run(&spec, &cmd, argv[first + 1]);
		return tool_finish_stdout(&spec, ret);
	}
	args_usage_error(&spec, "unknown verb '%s'", argv[first]);
	return TOOL_USAGE;
}
