// SPDX-License-Identifier: MIT
/*
 * Conformance: images and programs — files, checks, the verifier's sentence.
 * The builder itself is tested in tests/unit/test_builder.c.
 */
#include "cts.h"

#include <unistd.h>

static struct vrdu_image *image_of(struct vrdu_program *prog)
{
	return vrdu_program_image(prog);
}

static void test_image_roundtrip(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 2, false), *again;
	char path[] = "/tmp/vrdu-cts-XXXXXX";
	struct vrdu_image *copy;
	const void *a, *b;
	size_t n, m;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	OK(vrdu_image_to_file(image_of(add), path));
	OK(vrdu_image_from_file(path, &copy));
	a = vrdu_image_data(image_of(add), &n);
	b = vrdu_image_data(copy, &m);
	assert_int_equal(n, m);
	assert_memory_equal(a, b, n);
	OK(vrdu_program_create(*state, copy, &again));
	unlink(path);
	FAILS(vrdu_image_from_file(path, &copy), -ENOENT, "cannot open");
	vrdu_program_unref(again);
	vrdu_image_unref(copy);
	vrdu_program_unref(add);
}

static void test_image_refuses(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 2, false);
	struct vrdu_image *image = NULL;
	size_t n, i;
	const void *data = vrdu_image_data(image_of(add), &n);
	char *bad = malloc(n);

	/* Every single byte counts. */
	for (i = 0; i < n; i++) {
		memcpy(bad, data, n);
		bad[i] ^= 0x10;
		if (vrdu_image_from_memory(bad, n, &image) != -EINVAL)
			fail_msg("byte %zu may be changed", i);
	}
	FAILS(vrdu_image_from_memory(data, n - 1, &image), -EINVAL, "bytes");
	FAILS(vrdu_image_from_memory(data, 16, &image), -EINVAL, "16 bytes");
	FAILS(vrdu_image_from_memory(NULL, 16, &image), -EINVAL, "no data");
	assert_null(image);
	free(bad);
	vrdu_program_unref(add);
}

static void test_symbols(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 2, false);
	struct vrdu_symbol s;
	const char *name;

	assert_int_equal(vrdu_image_symbols(image_of(add)), 3);
	OK(vrdu_image_symbol(image_of(add), 1, &s, &name));
	assert_string_equal(name, "w");
	assert_int_equal(s.access, VRDU_SYMBOL_READ);
	assert_int_equal(s.bytes, B);
	assert_int_equal(OK(vrdu_image_find_symbol(image_of(add), "y")), 2);
	FAILS(vrdu_image_find_symbol(image_of(add), "z"), -ENOENT, "\"z\"");
	FAILS(vrdu_image_symbol(image_of(add), 3, &s, &name), -EINVAL, "symbol 3");
	vrdu_program_unref(add);
}

/* x + y of different shapes: recorded by the builder, refused by the verifier. */
static struct vrdu_image *bad_image(struct vrdu_context *ctx)
{
	struct vrdu_builder *b = kit_builder(ctx, "crooked");
	uint32_t rows = OK(vrdu_builder_extent(b, 4)), x, in, other;
	struct kit_shape s = { .elem = VRDU_ELEM_F32, .rows = rows, .cols = 16 }, t = s;
	struct vrdu_image *image;

	t.cols = 8;
	x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE, 4096));
	OK(vrdu_builder_section(b, "main"));
	in = kit_load(b, x, 0, s);
	other = kit_load(b, x, 512, t);
	kit_store(b, x, 1024, kit_ew(b, VRDU_EW_ADD, 0, in, other, s));
	OK(vrdu_builder_finish(b, &image));
	vrdu_builder_unref(b);
	return image;
}

static void test_verifier_speaks(void **state)
{
	struct vrdu_image *bad = bad_image(*state);
	struct vrdu_program *prog = NULL;
	char log[256];

	FAILS(vrdu_program_create(*state, bad, &prog), -EINVAL, "\"crooked\" is refused");
	/* Node, rule and values. */
	assert_non_null(strstr(vrdu_last_error(), "node 2 \"ew\""));
	assert_non_null(strstr(vrdu_last_error(), "8 columns, must have 16"));
	FAILS(vrdu_image_verify(bad, cts.info.profile, log, sizeof(log)), -EINVAL, "columns");
	assert_non_null(strstr(log, "8 columns, must have 16"));
	FAILS(vrdu_image_verify(bad, "nonsense", log, sizeof(log)), -EINVAL, "unknown profile");
	assert_null(prog);
	vrdu_image_unref(bad);
}

static void count_text(void *arg, const char *text)
{
	*(size_t *)arg += strlen(text);
}

static void test_dump(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 2, false);
	size_t n = 0;

	OK(vrdu_image_dump(image_of(add), count_text, &n));
	assert_true(n > 400);
	FAILS(vrdu_image_dump(image_of(add), NULL, NULL), -EINVAL, "no receiver");
	vrdu_program_unref(add);
}

/* Programs come and go; handles of dead ones may be used again. */
static void test_many_programs(void **state)
{
	struct vrdu_program *p[24];
	uint32_t i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 24; i++)
			p[i] = kit_add(*state, "add", 16 * (i + 1), 1, true);
		for (i = 0; i < 24; i++)
			vrdu_program_unref(p[i]);
	}
}

CTS_TABLE(program, T(test_image_roundtrip), T(test_image_refuses), T(test_symbols),
	  T(test_verifier_speaks), T(test_dump), T(test_many_programs));
