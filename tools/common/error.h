/* SPDX-License-Identifier: MIT */
/*
 * One sentence about what went wrong, beside a negative errno.
 *
 * The modules under tools/ never print: a function that can fail takes a
 * struct error, and whoever owns the terminal prints its text once.
 */
#ifndef TOOLS_ERROR_H
#define TOOLS_ERROR_H

/**
 * struct error - the sentence.
 * @text: Cause with object, value and limit; empty when nothing failed.
 */
struct error {
	char text[512];
};

/**
 * error_set() - write the sentence.
 * @err: Receives it; may be NULL.
 * @code: Negative errno.
 *
 * Return: @code, so that a caller may `return error_set(...)`.
 */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** error_prefix() - put "@prefix: " before the sentence. Return: @code. */
int error_prefix(struct error *err, int code, const char *prefix);

#endif /* TOOLS_ERROR_H */
