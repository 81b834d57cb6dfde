/* SPDX-License-Identifier: MIT */
/*
 * Helpers of the verifier's tests: an image is accepted, or refused by a
 * sentence that contains what it must name.
 */
#ifndef _TEST_VERIFY_H
#define _TEST_VERIFY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "mkexamples.h"

/* Records by name, in the image m at hand. */
#define NODE(name)	mk_node_of(m, name)
#define STREAM(name)	mk_stream_of(m, name)
#define SYMBOL(name)	mk_symbol_of(m, name)
#define AGU(node)	mk_agu_of(m, node)

static inline int verify(const void *image, uint32_t size, const struct fm_profile *profile,
			 char *text, size_t room)
{
	struct fm_log log = { .buf = text, .size = room };

	text[0] = 0;
	return fm_verify(image, size, profile, &log);
}

static inline void check_accepted(const char *file, int line, struct mk *m)
{
	uint32_t size;
	void *image = mk_image(m, &size);
	char text[2048];
	int ret = verify(image, size, m->profile, text, sizeof(text));

	free(image);
	mk_free(m);
	if (ret) {
		print_error("%s:%d: refused: %s", file, line, text);
		_fail(file, line);
	}
}

static inline void check_text(const char *file, int line, int ret, const char *text,
			      const char * const *expect)
{
	if (ret != -EINVAL) {
		print_error("%s:%d: %d, not refused: %s", file, line, ret, text);
		_fail(file, line);
	}
	for (; *expect; expect++) {
		if (strstr(text, *expect))
			continue;
		print_error("%s:%d: no \"%s\" in: %s", file, line, *expect, text);
		_fail(file, line);
	}
	/* One sentence, one line. */
	if (strchr(text, '\n') != text + strlen(text) - 1) {
		print_error("%s:%d: not one line: %s", file, line, text);
		_fail(file, line);
	}
}

static inline void check_refused(const char *file, int line, struct mk *m,
				 const char * const *expect)
{
	uint32_t size;
	void *image = mk_image(m, &size);
	char text[2048];
	int ret = verify(image, size, m->profile, text, sizeof(text));

	free(image);
	mk_free(m);
	check_text(file, line, ret, text, expect);
}

/* No change. */
#define AS_IS	((void)0)

/* @base with @change (statements on m) is accepted. */
#define ACCEPT(base, change)						\
	do {								\
		struct mk *base_ = (base), *m = base_;			\
		change;							\
		check_accepted(__FILE__, __LINE__, m);			\
	} while (0)

/* It is refused, and the log contains all the strings that follow. */
#define REFUSE(base, change, ...)					\
	do {								\
		struct mk *base_ = (base), *m = base_;			\
		change;							\
		check_refused(__FILE__, __LINE__, m,			\
			      (const char *[]){ __VA_ARGS__, NULL });	\
	} while (0)

#endif /* _TEST_VERIFY_H */
