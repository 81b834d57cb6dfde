// SPDX-License-Identifier: MIT
/*
 * The JSON writer: what it writes is well formed, whatever is put in.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/json.h"

/**
 * struct doc - a document written into memory.
 * @j: Writer.
 * @f: Stream.
 * @text: Result.
 * @size: Its bytes.
 */
struct doc {
	struct json j;
	FILE *f;
	char *text;
	size_t size;
};

static void begin(struct doc *d)
{
	memset(d, 0, sizeof(*d));
	d->f = open_memstream(&d->text, &d->size);
	assert_non_null(d->f);
	json_begin_document(&d->j, d->f);
}

static int end(struct doc *d)
{
	int ret = json_end_document(&d->j);

	fclose(d->f);
	return ret;
}

static void expect(struct doc *d, const char *text)
{
	assert_int_equal(end(d), 0);
	assert_string_equal(d->text, text);
	free(d->text);
}

static void structure(void **state)
{
	struct doc d;

	(void)state;
	begin(&d);
	json_object(&d.j);
	json_kv_u64(&d.j, "a", UINT64_MAX);
	json_kv_i64(&d.j, "b", INT64_MIN);
	json_key(&d.j, "c");
	json_array(&d.j);
	json_array_end(&d.j);
	json_key(&d.j, "d");
	json_array(&d.j);
	json_bool(&d.j, true);
	json_object(&d.j);
	json_object_end(&d.j);
	json_null(&d.j);
	json_array_end(&d.j);
	json_object_end(&d.j);
	expect(&d, "{\n  \"a\": 18446744073709551615,\n  \"b\": -9223372036854775808,\n"
	       "  \"c\": [],\n  \"d\": [\n    true,\n    {},\n    null\n  ]\n}\n");
}

static void strings(void **state)
{
	struct doc d;

	(void)state;
	begin(&d);
	json_array(&d.j);
	json_string(&d.j, "q\" b\\ n\n t\t \x01 \x7f");
	json_string(&d.j, NULL);
	json_string_len(&d.j, "nul\0in", 6);
	json_string(&d.j, "gr\xc3\xbc\xc3\x9f \xf0\x9d\x84\x9e");
	/* Overlong, surrogate, lone continuation, cut short, past the last code point. */
	json_string(&d.j, "\xc0\xaf|\xed\xa0\x80|\x80|\xe2\x82|\xf4\x90\x80\x80");
	json_array_end(&d.j);
	expect(&d, "[\n  \"q\\\" b\\\\ n\\n t\\t \\u0001 \\u007f\",\n  null,\n  \"nul\\u0000in\",\n"
	       "  \"gr\xc3\xbc\xc3\x9f \xf0\x9d\x84\x9e\",\n"
	       "  \"\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd|\\ufffd\\ufffd|"
	       "\\ufffd\\ufffd\\ufffd\\ufffd\"\n]\n");
}

static void numbers(void **state)
{
	static const double values[] = { 0.1, 1e300, -5e-324, 1.0 / 3, 123456789.125, 0.0, -0.0 };
	struct doc d;
	char *p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		begin(&d);
		json_double(&d.j, values[i]);
		assert_int_equal(end(&d), 0);
		assert_true(strtod(d.text, &p) == values[i]);
		assert_string_equal(p, "\n");
		/* A float stays a float for readers that tell them from integers. */
		assert_non_null(strpbrk(d.text, ".e"));
		free(d.text);
	}
	begin(&d);
	json_array(&d.j);
	json_double(&d.j, NAN);
	json_double(&d.j, INFINITY);
	json_array_end(&d.j);
	expect(&d, "[\n  null,\n  null\n]\n");
}

static void misuse(void **state)
{
	struct doc d;
	int i;

	(void)state;
	begin(&d);
	json_object(&d.j);
	json_u64(&d.j, 1);		/* no key */
	json_object_end(&d.j);
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
	begin(&d);
	json_object(&d.j);
	json_key(&d.j, "a");
	json_object_end(&d.j);		/* no value */
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
	begin(&d);
	json_array(&d.j);		/* never closed */
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
	begin(&d);
	json_array(&d.j);
	json_object_end(&d.j);		/* the wrong bracket */
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
	begin(&d);
	json_u64(&d.j, 1);
	json_u64(&d.j, 2);		/* two documents */
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
	begin(&d);
	for (i = 0; i <= JSON_MAX_DEPTH; i++)
		json_array(&d.j);
	for (i = 0; i <= JSON_MAX_DEPTH; i++)
		json_array_end(&d.j);
	assert_int_equal(end(&d), -EINVAL);
	free(d.text);
}

static void full_disk(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct json j;

	(void)state;
	if (!f)
		skip();
	json_begin_document(&j, f);
	json_array(&j);
	json_array_end(&j);
	assert_int_equal(json_end_document(&j), -EIO);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structure),
		cmocka_unit_test(strings),
		cmocka_unit_test(numbers),
		cmocka_unit_test(misuse),
		cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
