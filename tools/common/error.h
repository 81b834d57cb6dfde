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

/** error_write() - write the sentence into @err, which may be NULL. */
void error_write(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * error_set() - write the sentence and give @code, a negative errno, so that a
 * caller may `return error_set(...)`. A macro: the compiler sees the value.
 */
#define error_set(err, code, ...) ({		\
	int code_ = (code);			\
						\
	error_write(err, __VA_ARGS__);		\
	code_;					\
})

/** error_prefix() - put "@prefix: " before the sentence. Return: @code. */
int error_prefix(struct error *err, int code, const char *prefix);

#endif /* TOOLS_ERROR_H */
