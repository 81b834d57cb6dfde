/* SPDX-License-Identifier: MIT */
/* The little that the two command lines of this folder share. */
#ifndef REFARGS_H
#define REFARGS_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/**
 * ref_parse_number() - a decimal number from the command line
 * @text: the whole argument
 * @value: the number, out
 *
 * Return: 0, or -1 when @text is anything else or above 2^31 - 1.
 */
static inline int ref_parse_number(const char *text, size_t *value)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (*end || errno || number > 0x7fffffff)
		return -1;
	*value = (size_t)number;
	return 0;
}

/**
 * ref_parse_ids() - numbers with commas between
 * @text: the whole argument
 * @ids: [most], written
 * @most: room in @ids
 * @count: how many there were, out
 *
 * Return: 0, or -1 when @text is malformed or has too many.
 */
static inline int ref_parse_ids(const char *text, size_t *ids, size_t most, size_t *count)
{
	for (*count = 0; *count < most; text++) {
		unsigned long long number;
		char *end;

		if (*text < '0' || *text > '9')
			return -1;
		errno = 0;
		number = strtoull(text, &end, 10);
		if (errno || number > 0x7fffffff)
			return -1;
		ids[(*count)++] = (size_t)number;
		if (!*end)
			return 0;
		if (*end != ',')
			return -1;
		text = end;
	}
	return -1;
}

/**
 * ref_print_ids() - a JSON array on standard output
 * @ids: [count]
 * @count: how many
 */
static inline void ref_print_ids(const size_t *ids, size_t count)
{
	putchar('[');
	for (size_t i = 0; i < count; i++)
		printf("%s%zu", i ? ", " : "", ids[i]);
	putchar(']');
}

#endif /* REFARGS_H */
