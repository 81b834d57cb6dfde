/* SPDX-License-Identifier: MIT */
/*
 * Table-driven command lines on top of getopt_long(): one table says the
 * option, where its value goes, its bounds and its help.
 */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** enum args_kind - what an option takes. */
enum args_kind {
	/** @ARGS_FLAG: nothing; sets a bool. */
	ARGS_FLAG,
	/** @ARGS_U64: an unsigned number in [min, max]. */
	ARGS_U64,
	/** @ARGS_STRING: text; sets a const char *. */
	ARGS_STRING,
	/** @ARGS_CHOICE: one of the words of @choices; sets an int to its index. */
	ARGS_CHOICE,
};

/**
 * struct args_option - an option.
 * @name: Long name.
 * @short_name: Letter, or 0.
 * @kind: enum args_kind.
 * @to: Where the value goes: bool, uint64_t, const char *, int.
 * @min: ARGS_U64: least.
 * @max: ARGS_U64: most.
 * @choices: ARGS_CHOICE: words, NULL at the end.
 * @value: Name of the value in the help.
 * @help: Sentence.
 */
struct args_option {
	const char *name;
	char short_name;
	enum args_kind kind;
	void *to;
	uint64_t min;
	uint64_t max;
	const char *const *choices;
	const char *value;
	const char *help;
};

/**
 * struct args_spec - a command.
 * @command: Its words, as in "vrdu decode".
 * @usage: What follows them in the usage line.
 * @summary: One line.
 * @options: Options; the last has no name. --help and -h come by themselves.
 * @notes: Text after the options; may be NULL.
 */
struct args_spec {
	const char *command;
	const char *usage;
	const char *summary;
	const struct args_option *options;
	const char *notes;
};

#define ARGS_HELP	1	/* help was printed */

/**
 * args_parse() - read a command line; argv[0] is the command's own word.
 * @first: Index of the first operand.
 *
 * Return: 0, ARGS_HELP (text went to stdout), or -EINVAL (one sentence went to
 * stderr).
 */
int args_parse(const struct args_spec *spec, int argc, char **argv, int *first);

/** args_usage_error() - one sentence about a wrong command line, to stderr. Return: -EINVAL. */
int args_usage_error(const struct args_spec *spec, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** args_number() - a whole string as an unsigned number. Return: 0, -EINVAL, -ERANGE. */
int args_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

#endif /* TOOLS_ARGS_H */
