/* SPDX-License-Identifier: MIT */
/*
 * What the sub-commands of vrdu share: exit codes, choosing a device, saying
 * why something failed.
 */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <vrdu.h>

#include "common/args.h"
#include "common/error.h"

/** enum tool_exit - exit codes, the same for all commands. */
enum tool_exit {
	/** @TOOL_OK: success. */
	TOOL_OK = 0,
	/** @TOOL_FAILED: the operation failed. */
	TOOL_FAILED = 1,
	/** @TOOL_USAGE: wrong command line. */
	TOOL_USAGE = 2,
	/** @TOOL_NO_DEVICE: there is no vrdu device. */
	TOOL_NO_DEVICE = 3,
	/** @TOOL_PERMISSION: it may not be opened. */
	TOOL_PERMISSION = 4,
	/** @TOOL_LOST: device lost, context faulted, or time out. */
	TOOL_LOST = 5,
	/** @TOOL_DIFFERS: verification failed. */
	TOOL_DIFFERS = 6,
};

/**
 * struct tool_device - choice of a device on the command line.
 * @backend: 0 not said, else TOOL_BACKEND_*.
 * @selector: --device.
 * @profile: --profile, sim only.
 * @threads: --threads, sim only.
 */
struct tool_device {
	int backend;
	const char *selector;
	const char *profile;
	uint64_t threads;
};

#define TOOL_BACKEND_NODE	1
#define TOOL_BACKEND_SIM	2

extern const char *const tool_backends[];

/* The options that choose a device, for a table of struct args_option. */
#define TOOL_DEVICE_OPTIONS(d)							\
	{ "backend", 0, ARGS_CHOICE, &(d)->backend, 0, 0, tool_backends, "NAME",	\
	  "node: a driver's device; sim: simulated in this process" },		\
	{ "device", 'd', ARGS_STRING, &(d)->selector, 0, 0, NULL, "SEL",		\
	  "N, /dev/accel/accelN, sim or sim:PROFILE; else $VRDU_DEVICE, else the first" }, \
	{ "profile", 0, ARGS_STRING, &(d)->profile, 0, 0, NULL, "NAME",		\
	  "fabric of the simulated device (sn40l, tiny)" },				\
	{ "threads", 0, ARGS_U64, &(d)->threads, 0, 64, NULL, "N",			\
	  "threads of the simulated device's large products" }

/**
 * tool_open() - open the chosen device; says why not on stderr.
 *
 * Return: TOOL_OK, or the exit code.
 */
int tool_open(const struct args_spec *spec, const struct tool_device *choice,
	      struct vrdu_device **out);

/** tool_fail() - "command: sentence" on stderr. Return: the exit code for @ret while running. */
int tool_fail(const struct args_spec *spec, int ret, const char *sentence);

/** tool_finish_stdout() - flush and check stdout; turns TOOL_OK into TOOL_FAILED if that fails. */
int tool_finish_stdout(const struct args_spec *spec, int code);

/* Sub-commands: argv[0] is their own word. Return: exit code. */
int cmd_info(int argc, char **argv);
int cmd_decode(int argc, char **argv);
int cmd_prog(int argc, char **argv);

#endif /* TOOLS_TOOL_H */
