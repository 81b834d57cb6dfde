// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The log of a program's author: bounded, always terminated text in a buffer
 * that the caller owns. Used by everything that refuses an image.
 */
#include "fm.h"
#include "fm_verify.h"

void fm_vlog(struct fm_log *log, const char *fmt, va_list args)
{
	size_t room = 0;
	char *at = NULL;
	int n;

	if (!log)
		return;
	if (log->buf && log->len < log->size) {
		at = log->buf + log->len;
		room = log->size - log->len;
	}
	n = fm_vsnprintf(at, room, fmt, args);
	if (n > 0)
		log->len += n;
}

void fm_log(struct fm_log *log, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fm_vlog(log, fmt, args);
	va_end(args);
}
