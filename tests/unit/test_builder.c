// SPDX-License-Identifier: MIT
/*
 * The builder, placement and the text form: what is recorded arrives in the
 * records, defaults are filled in, the first error sticks, programs of several
 * sections lie side by side if they fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../cts/kit.h"

static const struct vrdu_image_header *header(const struct vrdu_image *image)
{
	return vrdu_image_data(image, NULL);
}

static const void *table(const struct vrdu_image *image, uint32_t off)
{
	return (const char *)vrdu_image_data(image, NULL) + off;
}

#define SYMBOLS(im)	((const struct vrdu_symbol *)table(im, header(im)->symbols_off))
#define EXTENTS(im)	((const struct vrdu_extent *)table(im, header(im)->extents_off))
#define STREAMS(im)	((const struct vrdu_stream *)table(im, header(im)->streams_off))
#define NODES(im)	((const struct vrdu_node *)table(im, header(im)->nodes_off))
#define AGUS(im)	((const struct vrdu_agu *)table(im, header(im)->agus_off))
#define SECTIONS(im)	((const struct vrdu_section *)table(im, header(im)->sections_off))
#define SEQS(im)	((const struct vrdu_seq *)table(im, header(im)->seq_off))

static struct vrdu_builder *builder(const char *profile)
{
	struct vrdu_builder *b;

	OK(vrdu_builder_create("test", profile, &b));
	return b;
}

static struct vrdu_image *finish(struct vrdu_builder *b)
{
	struct vrdu_image *image;

	OK(vrdu_builder_finish(b, &image));
	vrdu_builder_unref(b);
	return image;
}

static void verify(const struct vrdu_image *image, const char *profile)
{
	OK(vrdu_image_verify(image, profile, NULL, 0));
}

static void test_records(void **state)
{
	struct vrdu_builder *b = builder(NULL);
	uint32_t rows = OK(vrdu_builder_extent(b, 12)), x, y;
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .rows = rows, .tile = 4, .cols = 8, .depth = 3,
	};
	struct vrdu_image *im;

	(void)state;
	x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 384));
	y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 400));
	assert_int_equal(OK(vrdu_builder_section(b, "main")), 0);
	kit_store(b, y, 16, kit_load(b, x, 0, s));
	im = finish(b);
	verify(im, NULL);
	assert_int_equal(header(im)->magic, VRDU_IMAGE_MAGIC);
	assert_int_equal(header(im)->symbols, 2);
	assert_int_equal(header(im)->extents, 1);
	assert_int_equal(header(im)->sections, 1);
	assert_int_equal(header(im)->nodes, 2);
	assert_int_equal(header(im)->streams, 1);
	assert_int_equal(header(im)->agus, 2);
	assert_int_equal(SYMBOLS(im)[1].access, VRDU_SYMBOL_WRITE);
	assert_int_equal(SYMBOLS(im)[1].bytes, 400);
	assert_int_equal(EXTENTS(im)[0].value, 12);
	assert_int_equal(EXTENTS(im)[0].max, 12);
	assert_int_equal(STREAMS(im)[0].depth, 3);
	assert_int_equal(STREAMS(im)[0].tile_rows, 4);
	assert_int_equal(STREAMS(im)[0].outer, 1);
	assert_int_equal(AGUS(im)[1].offset, 16);
	/* Dense rows were filled in. */
	assert_int_equal(AGUS(im)[0].row_stride, 32);
	assert_int_equal(AGUS(im)[1].row_stride, 32);
	/* An empty sequence became one run. */
	assert_int_equal(header(im)->seqs, 1);
	assert_int_equal(SEQS(im)[0].op, VRDU_SEQ_RUN);
	vrdu_image_unref(im);
}

static void test_defaults(void **state)
{
	struct vrdu_builder *b = builder(NULL);
	uint32_t size = OK(vrdu_builder_symbol(b, "size", VRDU_SYMBOL_READ, 4));
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 4096));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 4096));
	uint32_t rows = OK(vrdu_builder_extent_param(b, size, 0, -3, 2, 32));
	struct kit_shape s = { .elem = VRDU_ELEM_F32, .rows = rows, .cols = 32 };
	struct vrdu_image *im;

	(void)state;
	/* Equal constants are one extent; equal parameters too. */
	assert_int_equal(OK(vrdu_builder_extent(b, 5)), OK(vrdu_builder_extent(b, 5)));
	assert_true(OK(vrdu_builder_extent(b, 5)) != OK(vrdu_builder_extent(b, 6)));
	assert_int_equal(OK(vrdu_builder_extent_param(b, size, 0, -3, 2, 32)), rows);
	OK(vrdu_builder_section(b, "main"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	im = finish(b);
	verify(im, NULL);
	assert_int_equal(EXTENTS(im)[rows].kind, VRDU_EXTENT_PARAM);
	assert_int_equal(EXTENTS(im)[rows].bias, -3);
	assert_int_equal(EXTENTS(im)[rows].min, 2);
	assert_int_equal(STREAMS(im)[0].tile_rows, 32);
	assert_int_equal(STREAMS(im)[0].depth, 2);
	vrdu_image_unref(im);
}

static void test_loops(void **state)
{
	struct vrdu_builder *b = builder(NULL);
	struct kit_shape s = {
		.elem = VRDU_ELEM_I32, .rows = OK(vrdu_builder_extent(b, 1)), .cols = 4,
	};
	uint32_t x = OK(vrdu_builder_table(b, "x", VRDU_SYMBOL_READ, 16, 1, 7));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 16)), one, two;
	struct vrdu_image *im;

	(void)state;
	one = OK(vrdu_builder_section(b, "one"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	two = OK(vrdu_builder_section(b, "two"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 3))));
	OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 7))));
	OK(vrdu_builder_run(b, two));
	OK(vrdu_builder_run(b, one));
	OK(vrdu_builder_end(b));
	OK(vrdu_builder_end(b));
	im = finish(b);
	verify(im, NULL);
	assert_int_equal(header(im)->seqs, 6);
	assert_int_equal(SEQS(im)[2].arg, two);
	assert_int_equal(SYMBOLS(im)[x].kind, VRDU_SYMBOL_TABLE);
	assert_int_equal(SYMBOLS(im)[x].level, 1);
	assert_int_equal(SYMBOLS(im)[x].entries, 7);
	assert_int_equal(SECTIONS(im)[1].first_node, 2);
	assert_int_equal(SECTIONS(im)[1].first_stream, 1);
	vrdu_image_unref(im);
}

/* Every refusal once; afterwards the builder says the same to everything. */
static void test_first_error(void **state)
{
	struct vrdu_stream_desc d = { .elem = VRDU_ELEM_F32, .cols = 4 };
	struct vrdu_node_desc n = VRDU_NODE_DESC_INIT(VRDU_NODE_LOAD);
	struct vrdu_agu a = { .symbol = 9 };
	struct vrdu_image *im = NULL;
	struct vrdu_builder *b;
	uint32_t i;

	(void)state;
	FAILS(vrdu_builder_create("x", "nonsense", &b), -EINVAL, "unknown profile");
	FAILS(vrdu_builder_create(NULL, NULL, &b), -EINVAL, "no name");
	FAILS(vrdu_builder_symbol(NULL, "x", 1, 1), -EINVAL, "there is none");
	for (i = 0; i < 20; i++) {
		const char *words = NULL;
		int ret = 0;

		b = builder(NULL);
		OK(vrdu_builder_extent(b, 1));
		OK(vrdu_builder_symbol(b, "s", 1, 16));
#define CASE(k, call, text) case k: ret = (call); words = text; break
		switch (i) {
		CASE(0, vrdu_builder_symbol(b, "x", 0, 1), "access 0x0");
		CASE(1, vrdu_builder_symbol(b, "x", 0x101, 1), "access");
		CASE(2, vrdu_builder_symbol(b, "x", 1, 0), "0 bytes");
		CASE(3, vrdu_builder_symbol(b, NULL, 1, 1), "without a name");
		CASE(4, vrdu_builder_table(b, "x", 1, 1, 3, 1), "level 3");
		CASE(5, vrdu_builder_extent(b, 0), "extent 0");
		CASE(6, vrdu_builder_extent(b, (1u << 30) + 1), "extent 1073741825");
		CASE(7, vrdu_builder_extent_param(b, 4, 0, 0, 1, 1), "symbol 4");
		CASE(8, vrdu_builder_extent_param(b, 0, 0, 0, 5, 4), "5 … 4");
		CASE(9, vrdu_builder_stream(b, "x", &d), "no section is open");
		CASE(10, vrdu_builder_node(b, "x", &n), "no section is open");
		CASE(11, vrdu_builder_agu(b, &a), "symbol 9");
		CASE(12, vrdu_builder_agu(b, NULL), "no AGU");
		CASE(13, vrdu_builder_loop(b, 3), "extent 3");
		CASE(14, vrdu_builder_end(b), "without a loop");
		CASE(15, vrdu_builder_run(b, 0), "section 0");
		CASE(16, vrdu_builder_section(b, NULL), "without a name");
		CASE(17, (d.rows = 7, vrdu_builder_section(b, "m"), vrdu_builder_stream(b, "x", &d)),
		     "extent 7");
		CASE(18, (n.in[2] = 3, vrdu_builder_section(b, "m"), vrdu_builder_node(b, "x", &n)),
		     "in2 is stream 3");
		CASE(19, (n.in[2] = VRDU_NONE, n.agu = 1, vrdu_builder_section(b, "m"),
			  vrdu_builder_node(b, "x", &n)), "AGU 1");
		}
#undef CASE
		FAILS(ret, -EINVAL, words);
		FAILS(vrdu_builder_symbol(b, "good", 1, 1), -EINVAL, words);
		FAILS(vrdu_builder_finish(b, &im), -EINVAL, words);
		vrdu_builder_unref(b);
	}
	b = builder(NULL);
	OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 2))));
	FAILS(vrdu_builder_finish(b, &im), -EINVAL, "no end");
	vrdu_builder_unref(b);
	assert_null(im);
}

static void test_limits(void **state)
{
	struct vrdu_builder *b = builder(NULL);
	uint32_t i;

	(void)state;
	for (i = 0; i < VRDU_MAX_SYMBOLS; i++)
		OK(vrdu_builder_symbol(b, "s", 1, 4));
	FAILS(vrdu_builder_symbol(b, "s", 1, 4), -ENOSPC, "more than 64 symbols");
	vrdu_builder_unref(b);
	b = builder(NULL);
	for (i = 0; i < VRDU_MAX_EXTENTS; i++)
		OK(vrdu_builder_extent(b, i + 1));
	FAILS(vrdu_builder_extent(b, i + 1), -ENOSPC, "more than 256 extents");
	vrdu_builder_unref(b);
	b = builder(NULL);
	for (i = 0; i < VRDU_MAX_SECTIONS; i++)
		OK(vrdu_builder_section(b, "s"));
	FAILS(vrdu_builder_section(b, "s"), -ENOSPC, "more than 16 sections");
	vrdu_builder_unref(b);
}

/* Two matmuls of @n rows and of 4 * @n rows over 64 columns, in @sections sections. */
static struct vrdu_image *products(const char *profile, uint32_t n, uint32_t sections,
				   uint32_t tile)
{
	struct vrdu_builder *b = builder(profile);
	uint32_t one = OK(vrdu_builder_extent(b, 1)), i, x, w, y, a, c;
	struct kit_shape row = { .elem = VRDU_ELEM_F32, .rows = one, .cols = 64 };

	x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 256));
	for (i = 0; i < 2; i++) {
		uint32_t rows = n << 2 * i;
		struct kit_shape mat = {
			.elem = VRDU_ELEM_F32, .rows = OK(vrdu_builder_extent(b, rows)),
			.tile = tile, .cols = 64,
		};

		w = OK(vrdu_builder_symbol(b, "w", VRDU_SYMBOL_READ, rows * 256));
		y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, rows * 4));
		if (!i || sections == 2)
			OK(vrdu_builder_section(b, "part"));
		a = kit_load(b, x, 0, row);
		c = kit_load(b, w, 0, mat);
		kit_store(b, y, 0, kit_matmul(b, a, c, one, rows));
	}
	return finish(b);
}

static const struct vrdu_node *matmul(const struct vrdu_image *im, uint32_t which)
{
	uint32_t i;

	for (i = 0; i < header(im)->nodes; i++)
		if (NODES(im)[i].kind == VRDU_NODE_MATMUL && !which--)
			return &NODES(im)[i];
	return NULL;
}

/* Products share the PCUs by their work; nothing overlaps. */
static void test_shares(void **state)
{
	struct vrdu_image *im = products(NULL, 1024, 1, 64);
	const struct vrdu_node *small = matmul(im, 0), *large = matmul(im, 1);

	(void)state;
	verify(im, NULL);
	/* A tile of 64 rows of 64: 4,096 products; 22 PCUs of 192 do them in a cycle. */
	assert_int_equal(small->units, 22);
	assert_int_equal(large->units, 22);
	vrdu_image_unref(im);
	im = products("tiny", 256, 1, 64);
	verify(im, "tiny");
	small = matmul(im, 0);
	large = matmul(im, 1);
	/* 64 PCUs: one each, and the other 62 as 1 to 4. */
	assert_int_equal(small->units, 1 + 62 / 5);
	assert_int_equal(large->units, 1 + 62 * 4 / 5);
	vrdu_image_unref(im);
}

/* Sections side by side while they fit: the program is loaded once. */
static void test_side_by_side(void **state)
{
	struct vrdu_image *im = products("tiny", 256, 2, 64);
	const struct vrdu_node *a = matmul(im, 0), *b = matmul(im, 1);

	(void)state;
	verify(im, "tiny");
	assert_true(a->site + a->units <= b->site);
	assert_true(NODES(im)[0].site != NODES(im)[SECTIONS(im)[1].first_node].site);
	vrdu_image_unref(im);
	/* Two tiles of 4,096 rows need 32 of the 64 PMUs in each section: one at a time. */
	im = products("tiny", 1024, 2, 4096);
	verify(im, "tiny");
	assert_int_equal(matmul(im, 0)->site, 0);
	assert_int_equal(matmul(im, 1)->site, 0);
	assert_int_equal(NODES(im)[SECTIONS(im)[1].first_node].site, 0);
	vrdu_image_unref(im);
}

static void test_too_large(void **state)
{
	struct vrdu_builder *b = builder("tiny");
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 1 << 24));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 1 << 24));
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .rows = OK(vrdu_builder_extent(b, 1024)), .cols = 4096,
	};
	struct vrdu_image *im = NULL;

	(void)state;
	OK(vrdu_builder_section(b, "whale"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	FAILS(vrdu_builder_finish(b, &im), -ENOSPC,
	      "section \"whale\" needs 512 memory units, tiny has 64");
	assert_null(im);
	vrdu_builder_unref(b);
}

/* Softmax has a scratch for a group. */
static void test_scratch(void **state)
{
	struct vrdu_builder *b = builder("tiny");
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 65536 * 4)), i;
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 65536 * 4));
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_ATTN_SCORES);
	uint32_t one = OK(vrdu_builder_extent(b, 1)), n = OK(vrdu_builder_extent(b, 4000));
	struct kit_shape q = { .elem = VRDU_ELEM_F32, .rows = one, .cols = 16 };
	struct kit_shape k = { .elem = VRDU_ELEM_F32, .rows = n, .cols = 16, .tile = 100 };
	struct vrdu_stream_desc p = {
		.elem = VRDU_ELEM_F32, .flags = VRDU_STREAM_TRANSPOSED, .rows = n, .cols = 8,
		.tile_rows = 100,
	};
	struct vrdu_node_desc v = VRDU_NODE_DESC_INIT(VRDU_NODE_ATTN_VALUES);
	struct vrdu_node_desc m = VRDU_NODE_DESC_INIT(VRDU_NODE_SOFTMAX);
	struct vrdu_image *im;

	(void)state;
	OK(vrdu_builder_section(b, "main"));
	d.in[0] = kit_load(b, x, 0, q);
	d.in[1] = kit_load(b, x, 0, k);
	d.out[0] = OK(vrdu_builder_stream(b, "scores", &p));
	d.p[0] = 8;
	d.p[1] = 8;
	d.p[2] = 2;
	OK(vrdu_builder_node(b, "scores", &d));
	m.in[0] = d.out[0];
	m.out[0] = OK(vrdu_builder_stream(b, "softmax", &p));
	OK(vrdu_builder_node(b, "softmax", &m));
	v.in[0] = m.out[0];
	v.in[1] = kit_load(b, x, 0, k);
	v.out[0] = kit_stream(b, "values", q);
	v.p[0] = 8;
	v.p[1] = 8;
	v.p[2] = 2;
	OK(vrdu_builder_node(b, "values", &v));
	kit_store(b, y, 0, v.out[0]);
	im = finish(b);
	verify(im, "tiny");
	for (i = 0; i < header(im)->nodes; i++) {
		const struct vrdu_node *node = &NODES(im)[i];

		/* 4,000 rows of 8 floats: 128,000 bytes in PMUs of 64 KiB. */
		assert_int_equal(node->pmus, node->kind == VRDU_NODE_SOFTMAX ? 2 : 0);
	}
	vrdu_image_unref(im);
}

struct text {
	char buf[8192];
	size_t n;
};

static void collect(void *arg, const char *s)
{
	struct text *t = arg;

	t->n += snprintf(t->buf + t->n, sizeof(t->buf) - t->n, "%s", s);
}

/* The text form says every field, and the same each time. */
static void test_dump(void **state)
{
	static const char *const words[] = {
		"image \"test\" version 1.0", "symbol 0 \"x\" addr read, 256 bytes",
		"symbol 2 \"y\" addr write", "extent 0 static 1", "section 0 \"part\"",
		"stream 1 \"loaded\" f32, outer 1, rows extent 1, tile 64 x 64, depth 2",
		"node 2 \"matmul\" matmul in0=0 in1=1 out0=2 pcu", "run section 0",
		"agu 2 symbol 2 \"y\" offset 0, row 4096",
	};
	struct vrdu_image *im = products(NULL, 1024, 1, 64), *odd;
	static struct text a, b;
	struct vrdu_builder *bd;
	uint32_t i;

	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	OK(vrdu_image_dump(im, collect, &a));
	OK(vrdu_image_dump(im, collect, &b));
	assert_string_equal(a.buf, b.buf);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strstr(a.buf, words[i]))
			fail_msg("\"%s\" is not in\n%s", words[i], a.buf);
	vrdu_image_unref(im);
	/* Names that terminals should not see. */
	OK(vrdu_builder_create("\033[31m\"", NULL, &bd));
	odd = finish(bd);
	memset(&a, 0, sizeof(a));
	OK(vrdu_image_dump(odd, collect, &a));
	assert_non_null(strstr(a.buf, "\"\\x1b[31m\\x22\""));
	vrdu_image_unref(odd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records), cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_loops), cmocka_unit_test(test_first_error),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_shares),
		cmocka_unit_test(test_side_by_side), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_scratch), cmocka_unit_test(test_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
