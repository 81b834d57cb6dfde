// SPDX-License-Identifier: MIT
/*
 * One sentence about what went wrong: see error.h. Owns nothing; the text
 * lives in the caller's struct error.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void error_write(struct error *err, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
}

int error_prefix(struct error *err, int code, const char *prefix)
{
	char text[sizeof(err->text)];

	if (err) {
		memcpy(text, err->text, sizeof(text));
		snprintf(err->text, sizeof(err->text), "%.200s: %.300s", prefix, text);
	}
	return code;
}
