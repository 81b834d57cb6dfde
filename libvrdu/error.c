// SPDX-License-Identifier: MIT
/*
 * The sentence behind a failure, one per thread, and the few rules that all
 * entry points share: size-prefixed options in, size-limited structs out.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static _Thread_local char last_error[2048];

const char *vrdu_last_error(void)
{
	return last_error;
}

#define STRING(x)	#x
#define VERSION(a, b)	STRING(a) "." STRING(b)

const char *vrdu_version(void)
{
	return VERSION(VRDU_VERSION_MAJOR, VRDU_VERSION_MINOR);
}

int vrdu_fail(int err, const char *fmt, ...)
{
	char text[sizeof(last_error)];
	va_list ap;
	size_t n;

	/* The arguments may point into the last sentence. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text);
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	memcpy(last_error, text, n + 1);
	return err;
}

int vrdu_nomem(void)
{
	return vrdu_fail(-ENOMEM, "out of memory");
}

int vrdu_opts_read(void *dst, size_t known, const void *src)
{
	const unsigned char *p = src;
	size_t size, i;

	memset(dst, 0, known);
	if (!src)
		return 0;
	memcpy(&size, src, sizeof(size));
	if (size < sizeof(size) || size > 65536)
		return vrdu_fail(-EINVAL, "options: size %zu is not that of an options struct",
				 size);
	for (i = known; i < size; i++)
		if (p[i])
			return vrdu_fail(-E2BIG, "options: byte %zu is set but this library knows %zu",
					 i, known);
	memcpy(dst, src, size < known ? size : known);
	return 0;
}

void vrdu_copy_out(void *dst, size_t size, const void *src, size_t known)
{
	size_t n = size < known ? size : known;

	memcpy(dst, src, n);
	memset((char *)dst + n, 0, size - n);
}

uint64_t vrdu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}
