// SPDX-License-Identifier: MIT
/*
 * Kernel looping, what must be taken: each class of argument, each form of
 * carry, loops in loops; and unrolling gives back what was recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test_looping.h"

/* ---- taken ----------------------------------------------------------- */

static void test_in_place(void **state)
{
	static const enum vrdu_arg_class kinds[] = { VRDU_ARG_CARRIED, VRDU_ARG_AFFINE };
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, true);
	struct vrdu_bo *x = kit_bo(ctx, B, 0), *w = kit_bo(ctx, 8 * B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < 8; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, i * B } }, 2);
	expect_taken(g, 0, 8, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

static void test_negative_stride(void **state)
{
	static const enum vrdu_arg_class kinds[] = { VRDU_ARG_CARRIED, VRDU_ARG_AFFINE };
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 2, true);
	struct vrdu_bo *x = kit_bo(ctx, B, 0), *w = kit_bo(ctx, 8 * B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < 8; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, (7 - i) * B } }, 2);
	expect_taken(g, 0, 8, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

static void test_table(void **state)
{
	static const enum vrdu_arg_class kinds[] = { VRDU_ARG_CARRIED, VRDU_ARG_TABLE };
	static const uint32_t order[] = { 3, 0, 0, 6, 1 };
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, true);
	struct vrdu_bo *x = kit_bo(ctx, B, 0), *w = kit_bo(ctx, 8 * B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < 5; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, order[i] * B } }, 2);
	expect_taken(g, 0, 5, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

/* Two buffers in turn; @n calls; the buffers in @transient (bits) are unobserved. */
static struct vrdu_graph *ping_pong(struct vrdu_context *ctx, uint32_t n, uint32_t transient)
{
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, false);
	struct vrdu_bo *xs[2] = { kit_bo(ctx, B, 0), kit_bo(ctx, B, 0) };
	struct vrdu_bo *w = kit_bo(ctx, n * B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < n; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { xs[i & 1], 0 }, { w, i * B },
							{ xs[~i & 1], 0 } }, 3);
	for (i = 0; i < 2; i++)
		if (transient >> i & 1)
			OK(vrdu_graph_transient(g, xs[i]));
	vrdu_bo_unref(xs[0]);
	vrdu_bo_unref(xs[1]);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
	return g;
}

static void test_ping_pong(void **state)
{
	static const enum vrdu_arg_class kinds[] = {
		VRDU_ARG_CARRIED, VRDU_ARG_AFFINE, VRDU_ARG_CARRIED,
	};
	/* Even: begins and ends in buffer 0, buffer 1 is between. Odd: ends in buffer 1. */
	static const struct { uint32_t n, transient; } cases[] = {
		{ 6, 2 }, { 6, 3 }, { 5, 1 }, { 2, 2 }, { 7, 3 },
	};
	struct vrdu_graph *g;
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		g = ping_pong(*state, cases[i].n, cases[i].transient);
		expect_taken(g, 0, cases[i].n, 1, kinds);
		vrdu_graph_unref(g);
	}
}

static void test_ping_pong_visible(void **state)
{
	static const struct { uint32_t n, transient; } cases[] = { { 6, 0 }, { 6, 1 }, { 5, 0 } };
	struct vrdu_graph *g;
	uint32_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		g = ping_pong(*state, cases[i].n, cases[i].transient);
		expect_refused(g, "overlap");
		vrdu_graph_unref(g);
	}
}

/* Every intermediate value has a place of its own and stays visible: carried and stored. */
static void test_history(void **state)
{
	static const enum vrdu_arg_class kinds[] = {
		VRDU_ARG_CARRIED, VRDU_ARG_INVARIANT, VRDU_ARG_AFFINE,
	};
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, false);
	struct vrdu_bo *x = kit_bo(ctx, 9 * B, 0), *w = kit_bo(ctx, B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < 8; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, i * B }, { w, 0 },
							{ x, (i + 1) * B } }, 3);
	expect_taken(g, 0, 8, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

/* Each call overwrites one place: a single writer keeps its order. */
static void test_overwrite(void **state)
{
	static const enum vrdu_arg_class kinds[] = {
		VRDU_ARG_AFFINE, VRDU_ARG_INVARIANT, VRDU_ARG_INVARIANT,
	};
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, false);
	struct vrdu_bo *x = kit_bo(ctx, 4 * B, 0), *w = kit_bo(ctx, B, 0), *y = kit_bo(ctx, B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	for (i = 0; i < 4; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, i * B }, { w, 0 }, { y, 0 } }, 3);
	expect_taken(g, 0, 4, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_bo_unref(y);
	vrdu_program_unref(add);
}

/* Strided ranges that interleave with another argument's become tables. */
static void test_interleaved(void **state)
{
	static const enum vrdu_arg_class kinds[] = {
		VRDU_ARG_TABLE, VRDU_ARG_INVARIANT, VRDU_ARG_TABLE,
	};
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, false);
	struct vrdu_bo *x = kit_bo(ctx, 16 * B, 0);
	struct vrdu_graph *g = graph(ctx);
	uint32_t i;

	/* Reads 0, 3, 6, 9; writes 13, 11, 9 …: no, 14, 10, 8, 2 would be a table at once. */
	for (i = 0; i < 4; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 3 * i * B }, { x, 14 * B },
							{ x, (1 + 4 * i) * B } }, 3);
	/* Places 0 3 6 9 are read, 1 5 9 13 are written: 9 meets 9. */
	expect_refused(g, "dependence through memory");
	vrdu_graph_unref(g);
	g = graph(ctx);
	for (i = 0; i < 3; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 3 * i * B }, { x, 14 * B },
							{ x, (1 + 4 * i) * B } }, 3);
	expect_taken(g, 0, 3, 1, kinds);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_program_unref(add);
}

/* [first, layer * 3, last] * 4: loops in a loop. */
static void test_tokens(void **state)
{
	struct vrdu_context *ctx = *state;
	struct vrdu_program *layer = kit_add(ctx, "layer", N, 1, true);
	struct vrdu_program *first = kit_add(ctx, "first", N, 2, false);
	struct vrdu_program *last = kit_add(ctx, "last", N, 4, false);
	struct vrdu_bo *x = kit_bo(ctx, B, 0), *w = kit_bo(ctx, 3 * B, 0);
	struct vrdu_bo *y = kit_bo(ctx, 4 * B, 0), *e = kit_bo(ctx, 8 * B, 0);
	static const struct vrdu_looping_opts shallow = {
		.size = sizeof(shallow), .max_depth = 1,
	};
	struct vrdu_loop_report *report;
	struct vrdu_loop_candidate c;
	struct vrdu_graph *g = graph(ctx), *looped;
	uint32_t i, k;

	for (k = 0; k < 4; k++) {
		kit_record(g, first, (struct vrdu_arg[]){ { e, 2 * k * B }, { w, 0 }, { x, 0 } }, 3);
		for (i = 0; i < 3; i++)
			kit_record(g, layer, (struct vrdu_arg[]){ { x, 0 }, { w, i * B } }, 2);
		kit_record(g, last, (struct vrdu_arg[]){ { x, 0 }, { w, B }, { y, k * B } }, 3);
	}
	expect_taken(g, 4, 4, 1, NULL);
	c = candidate(g, NULL, 4, &report);
	assert_int_equal(c.period, 5);
	assert_int_equal(c.depth, 1);
	assert_int_equal(c.first, 0);
	vrdu_loop_report_unref(report);
	OK(vrdu_looping_apply(g, &shallow, &looped));
	assert_int_equal(vrdu_graph_calls(looped), 12);
	vrdu_graph_unref(looped);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_bo_unref(y);
	vrdu_bo_unref(e);
	vrdu_program_unref(layer);
	vrdu_program_unref(first);
	vrdu_program_unref(last);
}

/* The layers again and again, with nothing between: cut where the strides restart, then nested. */
static void test_restart(void **state)
{
	struct vrdu_context *ctx = *state;
	struct vrdu_builder *b = kit_builder(ctx, "layer");
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = 16, .rows = OK(vrdu_builder_extent(b, N / 16)),
	};
	uint32_t kv = OK(vrdu_builder_symbol(b, "kv", 3, B));
	uint32_t x = OK(vrdu_builder_symbol(b, "x", 3, B));
	struct vrdu_bo *xb = kit_bo(ctx, B, 0), *kvb = kit_bo(ctx, 4 * B, 0);
	struct vrdu_graph *g = graph(ctx);
	struct vrdu_program *layer;
	uint32_t i, sum;

	OK(vrdu_builder_section(b, "main"));
	sum = kit_ew(b, VRDU_EW_ADD, 0, kit_load(b, kv, 0, s), kit_load(b, x, 0, s), s);
	kit_store(b, kv, 0, sum);
	kit_store(b, x, 0, sum);
	layer = kit_program(ctx, b);
	for (i = 0; i < 12; i++)
		kit_record(g, layer, (struct vrdu_arg[]){ { kvb, i % 4 * B }, { xb, 0 } }, 2);
	expect_refused_opts(g, NULL, 0, "overlap");
	/* Three loops of 4, then a loop of 3 around them. */
	expect_taken(g, 1, 4, 1, NULL);
	expect_taken(g, 4, 3, 1, NULL);
	vrdu_graph_unref(g);
	vrdu_bo_unref(xb);
	vrdu_bo_unref(kvb);
	vrdu_program_unref(layer);
}

/* Looped twice: each unrolling undoes one application. */
static void test_twice(void **state)
{
	static const struct vrdu_looping_opts three = { .size = sizeof(three), .min_trips = 3 };
	struct vrdu_context *ctx = *state;
	struct vrdu_program *add = kit_add(ctx, "add", N, 1, true);
	struct vrdu_bo *x = kit_bo(ctx, B, 0), *w = kit_bo(ctx, 8 * B, 0);
	struct vrdu_graph *g = graph(ctx), *once, *twice, *back;
	uint32_t i;

	for (i = 0; i < 8; i++) {
		kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, i * B } }, 2);
		if (i == 2 || i == 5)
			OK(vrdu_graph_boundary(g, VRDU_BOUNDARY_WAIT));
	}
	OK(vrdu_looping_apply(g, &three, &once));
	assert_int_equal(vrdu_graph_calls(once), 4);
	OK(vrdu_looping_apply(once, NULL, &twice));
	assert_int_equal(vrdu_graph_calls(twice), 3);
	OK(vrdu_looping_unroll(twice, &back));
	expect_same(once, back);
	vrdu_graph_unref(back);
	OK(vrdu_looping_unroll(once, &back));
	expect_same(g, back);
	vrdu_graph_unref(back);
	/* Nothing was looped: the same graph. */
	OK(vrdu_looping_unroll(g, &back));
	expect_same(g, back);
	vrdu_graph_unref(back);
	vrdu_graph_unref(twice);
	vrdu_graph_unref(once);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_in_place), T(test_negative_stride), T(test_table), T(test_ping_pong),
		T(test_ping_pong_visible), T(test_history), T(test_overwrite), T(test_interleaved),
		T(test_tokens), T(test_restart), T(test_twice),
	};

	return run_on_sim(tests);
}
