// SPDX-License-Identifier: MIT
/*
 * Table-driven command lines: see args.h. Prints to stdout (help) and stderr
 * (the one usage sentence); owns nothing. Called by each sub-command first.
 */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS	40
#define FIRST_VALUE	256	/* above any letter */

int args_usage_error(const struct args_spec *spec, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", spec->command);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (see %s --help)\n", spec->command);
	return -EINVAL;
}

int args_number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

static void print_option(const struct args_option *o)
{
	char left[64];
	const char *value = o->value ?: "N";
	unsigned int i;
	int n;

	if (o->short_name)
		n = snprintf(left, sizeof(left), "  -%c, --%s", o->short_name, o->name);
	else
		n = snprintf(left, sizeof(left), "      --%s", o->name);
	if (o->kind != ARGS_FLAG)
		snprintf(left + n, sizeof(left) - n, "=%s", value);
	printf("%-26s %s", left, o->help);
	if (o->kind == ARGS_CHOICE) {
		printf(":");
		for (i = 0; o->choices[i]; i++)
			printf("%s%s", i ? ", " : " ", o->choices[i]);
	}
	printf("\n");
}

static void print_help(const struct args_spec *spec)
{
	const struct args_option *o;

	printf("Usage: %s %s\n%s\n\n", spec->command, spec->usage, spec->summary);
	for (o = spec->options; o->name; o++)
		print_option(o);
	printf("  -h, --help               print this and exit\n");
	if (spec->notes)
		printf("\n%s", spec->notes);
}

static int set_choice(const struct args_spec *spec, const struct args_option *o, const char *text)
{
	char all[256] = "";
	unsigned int i;

	for (i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*(int *)o->to = i;
			return 0;
		}
		if (strlen(all) + strlen(o->choices[i]) + 3 < sizeof(all)) {
			strcat(all, i ? ", " : "");
			strcat(all, o->choices[i]);
		}
	}
	return args_usage_error(spec, "--%s: '%s' is not one of %s", o->name, text, all);
}

static int set(const struct args_spec *spec, const struct args_option *o, const char *text)
{
	switch (o->kind) {
	case ARGS_FLAG:
		*(bool *)o->to = true;
		return 0;
	case ARGS_STRING:
		*(const char **)o->to = text;
		return 0;
	case ARGS_CHOICE:
		return set_choice(spec, o, text);
	case ARGS_U64:
		if (args_number(text, o->min, o->max, o->to))
			return args_usage_error(spec, "--%s: '%s' is not a number from %" PRIu64
						" to %" PRIu64, o->name, text, o->min, o->max);
		return 0;
	}
	return -EINVAL;
}

static const struct args_option *by_value(const struct args_spec *spec, int value)
{
	unsigned int i;

	for (i = 0; spec->options[i].name; i++)
		if (value == FIRST_VALUE + (int)i ||
		    (spec->options[i].short_name && value == spec->options[i].short_name))
			return &spec->options[i];
	return NULL;
}

int args_parse(const struct args_spec *spec, int argc, char **argv, int *first)
{
	struct option longs[MAX_OPTIONS + 2];
	char shorts[2 * MAX_OPTIONS + 4] = ":h";
	const struct args_option *o;
	unsigned int n = 0, s = 2;
	int c, ret;

	memset(longs, 0, sizeof(longs));
	for (o = spec->options; o->name && n < MAX_OPTIONS; o++, n++) {
		longs[n].name = o->name;
		longs[n].has_arg = o->kind == ARGS_FLAG ? no_argument : required_argument;
		longs[n].val = FIRST_VALUE + n;
		if (o->short_name) {
			shorts[s++] = o->short_name;
			if (o->kind != ARGS_FLAG)
				shorts[s++] = ':';
		}
	}
	longs[n].name = "help";
	longs[n].val = 'h';
	opterr = 0;
	optind = 0;
	for (;;) {
		c = getopt_long(argc, argv, shorts, longs, NULL);
		if (c == -1)
			break;
		if (c == 'h') {
			print_help(spec);
			return ARGS_HELP;
		}
		if (c == ':')
			return args_usage_error(spec, "%s needs a value", argv[optind - 1]);
		o = c == '?' ? NULL : by_value(spec, c);
		if (!o)
			return args_usage_error(spec, "unknown or ambiguous option '%s'",
						argv[optind - 1]);
		ret = set(spec, o, optarg);
		if (ret)
			return ret;
	}
	*first = optind;
	return 0;
}
