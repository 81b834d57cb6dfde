// SPDX-License-Identifier: MIT
/*
 * vrdu: the tool. Finds the sub-command and leaves the rest to it.
 */
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "info", cmd_info, "what a device is" },
	{ "decode", cmd_decode, "continue a text with a Llama-type model on the device" },
	{ "prog", cmd_prog, "dump, verify and build program images" },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage: vrdu COMMAND [options]\n"
		"A virtual Reconfigurable Dataflow Unit.\n\n");
	for (i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fprintf(out, "\n  -h, --help     print this and exit; vrdu COMMAND --help says more\n"
		"      --version  print the version and exit\n\n"
		"Exit codes: 0 done, 1 failed, 2 wrong command line, 3 no device,\n"
		"4 not permitted, 5 device lost or faulted, 6 verification failed.\n");
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return TOOL_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("vrdu %s\n", vrdu_version());
		return TOOL_OK;
	}
	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "vrdu: unknown command '%s' (see vrdu --help)\n", argv[1]);
	return TOOL_USAGE;
}
