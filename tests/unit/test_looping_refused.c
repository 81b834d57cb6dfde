// SPDX-License-Identifier: MIT
/*
 * Kernel looping, what must be refused: each reason once, by its words. And a
 * part of legality left out, which the device's own rules must still catch.
 */
#include "test_looping.h"

extern uint32_t vrdu_looping_unsafe;

/* Record @n calls of @prog; argument i of call k lies at at[i][k] * B in bo. */
static struct vrdu_graph *record(struct vrdu_context *ctx, struct vrdu_program *prog,
				 struct vrdu_bo *bo, uint32_t n_args, const uint32_t at[][8],
				 uint32_t n)
{
	struct vrdu_graph *g = graph(ctx);
	struct vrdu_arg args[4];
	uint32_t i, k;

	for (k = 0; k < n; k++) {
		for (i = 0; i < n_args; i++)
			args[i] = (struct vrdu_arg){ bo, at[i][k] * B };
		kit_record(g, prog, args, n_args);
	}
	return g;
}

static void refused(struct vrdu_context *ctx, struct vrdu_program *prog, uint32_t n_args,
		    const uint32_t at[][8], uint32_t n, const char *words)
{
	struct vrdu_bo *bo = kit_bo(ctx, 64 * B, 0);
	struct vrdu_graph *g = record(ctx, prog, bo, n_args, at, n);

	expect_refused(g, words);
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
}

/* A builder with x (access) and w (read) of B bytes, section open, and their shape. */
static struct vrdu_builder *begin(struct vrdu_context *ctx, uint32_t access, struct kit_shape *s)
{
	struct vrdu_builder *b = kit_builder(ctx, "odd");

	*s = (struct kit_shape){
		.elem = VRDU_ELEM_F32, .cols = 16, .tile = 1,
		.rows = OK(vrdu_builder_extent(b, N / 16)),
	};
	OK(vrdu_builder_symbol(b, "x", access, B));
	OK(vrdu_builder_symbol(b, "w", VRDU_SYMBOL_READ, B));
	OK(vrdu_builder_section(b, "main"));
	return b;
}

static void test_short(void **state)
{
	static const struct vrdu_looping_opts five = { .size = sizeof(five), .min_trips = 5 };
	static const uint32_t at[][8] = { { 0, 0, 0, 0 }, { 1, 2, 3, 4 } };
	struct vrdu_program *add = kit_add(*state, "add", N, 1, true);
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_graph *g = record(*state, add, bo, 2, at, 4);

	expect_refused_opts(g, &five, 0, "only 4 iterations, 5 are wanted");
	expect_taken(g, 0, 4, 1, NULL);
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(add);
}

/* [A, B as timing only] * 3 */
static void test_flags(void **state)
{
	struct vrdu_program *a = kit_add(*state, "a", N, 1, true), *b = kit_add(*state, "b", N, 2, true);
	struct vrdu_bo *bo = kit_bo(*state, 4 * B, 0);
	struct vrdu_arg args[] = { { bo, 0 }, { bo, B } };
	struct vrdu_call call = {
		.prog = b, .args = args, .arg_count = 2, .flags = VRDU_CALL_TIMING,
	};
	struct vrdu_graph *g = graph(*state);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		kit_record(g, a, args, 2);
		OK(vrdu_graph_call(g, &call));
	}
	expect_refused(g, "different flags");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(a);
	vrdu_program_unref(b);
}

/* y = x + w inside @loops loops of 2. */
static struct vrdu_program *nested_program(struct vrdu_context *ctx, uint32_t loops)
{
	struct kit_shape s;
	struct vrdu_builder *b = begin(ctx, VRDU_SYMBOL_READ, &s);
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, B)), i, a, c;

	a = kit_load(b, 0, 0, s);
	c = kit_load(b, 1, 0, s);
	kit_store(b, y, 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, s));
	for (i = 0; i < loops; i++)
		OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 2))));
	OK(vrdu_builder_run(b, 0));
	for (i = 0; i < loops; i++)
		OK(vrdu_builder_end(b));
	return kit_program(ctx, b);
}

static void test_nesting(void **state)
{
	static const uint32_t at[][8] = { { 0, 0 }, { 1, 1 }, { 2, 2 } };
	struct vrdu_program *three = nested_program(*state, 3), *two = nested_program(*state, 2);
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_graph *g = record(*state, two, bo, 3, at, 2);

	refused(*state, three, 3, at, 2, "nest 3 deep already");
	expect_taken(g, 0, 2, 1, NULL);
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(three);
	vrdu_program_unref(two);
}

static void test_faulting(void **state)
{
	static const uint32_t at[][8] = { { 0, 0, 0 }, { 1, 0, 2 } };
	struct vrdu_program *add = kit_add(*state, "add", N, 1, true);
	struct vrdu_bo *bo = kit_bo(*state, 4 * B, 0);
	struct vrdu_graph *g = graph(*state);
	uint32_t i;

	refused(*state, add, 2, at, 3, "call 1 faults as it is: two of its arguments overlap");
	for (i = 0; i < 2; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { bo, 2 }, { bo, 2 * B } }, 2);
	expect_refused(g, "call 0 faults as it is: an argument is not 4-byte aligned");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(add);
}

/* A loop of 2 over a table of the program's own. */
static void test_own_table(void **state)
{
	struct vrdu_builder *b = kit_builder(*state, "own");
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = 16, .rows = OK(vrdu_builder_extent(b, N / 16)),
	};
	uint32_t t = OK(vrdu_builder_table(b, "places", VRDU_SYMBOL_READ, B, 0, 2));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, B)), i;
	struct vrdu_bo *bo = kit_bo(*state, 4 * B, 0);
	struct vrdu_graph *g = graph(*state);
	struct vrdu_program *prog;

	OK(vrdu_builder_section(b, "main"));
	kit_store(b, y, 0, kit_load(b, t, 0, s));
	OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 2))));
	OK(vrdu_builder_run(b, 0));
	OK(vrdu_builder_end(b));
	prog = kit_program(*state, b);
	for (i = 0; i < 3; i++)
		kit_record(g, prog, (struct vrdu_arg[]){ { bo, 0 }, { bo, B } }, 2);
	expect_refused(g, "\"places\" is a table of the program's own");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(prog);
}

/* [layer over irregular places * 3, other] * 2, and the places differ the second time. */
static void test_inner_table(void **state)
{
	static const uint32_t order[2][3] = { { 4, 1, 3 }, { 5, 1, 3 } };
	struct vrdu_program *layer = kit_add(*state, "layer", N, 1, true);
	struct vrdu_program *other = kit_add(*state, "other", N, 2, true);
	struct vrdu_bo *x = kit_bo(*state, B, 0), *w = kit_bo(*state, 8 * B, 0);
	struct vrdu_graph *g;
	uint32_t same, i, k;

	for (same = 0; same < 2; same++) {
		g = graph(*state);
		for (k = 0; k < 2; k++) {
			for (i = 0; i < 3; i++)
				kit_record(g, layer, (struct vrdu_arg[]){
					   { x, 0 }, { w, order[k && !same][i] * B } }, 2);
			kit_record(g, other, (struct vrdu_arg[]){ { x, 0 }, { w, 0 } }, 2);
		}
		if (same)
			expect_taken(g, 2, 2, 1, NULL);
		else
			expect_refused_opts(g, NULL, 2, "differ between iterations of the outer");
		vrdu_graph_unref(g);
	}
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(layer);
	vrdu_program_unref(other);
}

/* y = x of as many rows as size says. */
static void test_size(void **state)
{
	static const uint32_t moves[][8] = { { 0, 1, 2 }, { 10, 10, 10 }, { 20, 20, 20 } };
	static const uint32_t stays[][8] = { { 0, 0, 0 }, { 10, 11, 12 }, { 20, 21, 22 } };
	static const uint32_t written[][8] = { { 0, 0, 0 }, { 10, 11, 12 }, { 2, 1, 0 } };
	struct vrdu_builder *b = kit_builder(*state, "sized");
	uint32_t size = OK(vrdu_builder_symbol(b, "size", VRDU_SYMBOL_READ, 4));
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, B));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, B));
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = 16, .tile = 1,
		.rows = OK(vrdu_builder_extent_param(b, size, 0, 0, 1, N / 16)),
	};
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_program *prog;
	struct vrdu_graph *g;

	OK(vrdu_builder_section(b, "main"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	prog = kit_program(*state, b);
	refused(*state, prog, 3, moves, 3, "a size is read from \"size\", whose place changes");
	/* The last iteration would change the size of the others. */
	g = record(*state, prog, bo, 3, written, 2);
	expect_taken(g, 0, 2, 1, NULL);
	vrdu_graph_unref(g);
	refused(*state, prog, 3, written, 3, "two of its arguments overlap");
	g = record(*state, prog, bo, 3, stays, 3);
	expect_taken(g, 0, 3, 1, NULL);
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(prog);
}

/* Programs with x in place that cannot be carried, each for its reason. */
static void test_in_place(void **state)
{
	static const uint32_t at[][8] = { { 0, 0, 0 }, { 1, 2, 3 } };
	struct vrdu_program *prog;
	struct vrdu_builder *b;
	struct kit_shape s, t;
	uint32_t a, c, one;

	/* Two loads. */
	b = begin(*state, 3, &s);
	a = kit_load(b, 0, 0, s);
	c = kit_load(b, 0, 0, s);
	kit_store(b, 0, 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, s));
	kit_store(b, OK(vrdu_builder_symbol(b, "y", 2, B)), 0, kit_load(b, 1, 0, s));
	prog = kit_program(*state, b);
	refused(*state, prog, 3, (uint32_t[3][8]){ { 0, 0 }, { 1, 2 }, { 4, 5 } }, 2,
		"\"x\": \"x\" is not read by exactly one LOAD");
	vrdu_program_unref(prog);
	/* Two stores, to the halves. */
	b = begin(*state, 3, &s);
	t = s;
	t.rows = OK(vrdu_builder_extent(b, N / 32));
	a = kit_load(b, 0, 0, t);
	c = kit_load(b, 1, 0, t);
	kit_store(b, 0, 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, t));
	kit_store(b, 0, B / 2, kit_load(b, 1, B / 2, t));
	prog = kit_program(*state, b);
	refused(*state, prog, 2, at, 3, "not read by exactly one LOAD");
	vrdu_program_unref(prog);
	/* Written, then read: the load waits for the store. */
	b = begin(*state, 3, &s);
	one = OK(vrdu_builder_extent(b, 1));
	c = kit_store_token(b, 0, 0, kit_load(b, 1, 0, s), one);
	kit_store(b, OK(vrdu_builder_symbol(b, "y", 2, B)), 0, kit_load_after(b, 0, 0, s, c));
	prog = kit_program(*state, b);
	refused(*state, prog, 3, (uint32_t[3][8]){ { 0, 0 }, { 1, 2 }, { 4, 5 } }, 2,
		"the LOAD of \"x\" waits for another access");
	vrdu_program_unref(prog);
	/* Other shapes. */
	b = begin(*state, 3, &s);
	s.tile = 0;
	t = s;
	t.tile = 1;
	a = kit_matmul(b, kit_load(b, 0, 0, s), kit_load(b, 1, 0, s), s.rows, N / 16);
	t.cols = N / 16;
	kit_store(b, 0, 0, a);
	prog = kit_program(*state, b);
	refused(*state, prog, 2, at, 3, "read and \"x\" written in different shapes");
	vrdu_program_unref(prog);
	/* Read here, written there. */
	b = begin(*state, 3, &s);
	t = s;
	t.rows = OK(vrdu_builder_extent(b, N / 32));
	a = kit_load(b, 0, 0, t);
	c = kit_load(b, 1, 0, t);
	kit_store(b, 0, B / 2, kit_ew(b, VRDU_EW_ADD, 0, a, c, t));
	prog = kit_program(*state, b);
	refused(*state, prog, 2, at, 3, "\"x\" is read at 0 and \"x\" written at 128");
	vrdu_program_unref(prog);
	/* A size is kept in it. */
	b = begin(*state, 3, &s);
	t = s;
	t.rows = OK(vrdu_builder_extent_param(b, 0, 0, 0, 1, N / 16));
	a = kit_load(b, 0, 0, t);
	c = kit_load(b, 1, 0, t);
	kit_store(b, 0, 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, t));
	prog = kit_program(*state, b);
	refused(*state, prog, 2, at, 3, "a size is read from \"x\"");
	vrdu_program_unref(prog);
}

/* More tiles than any buffer holds. */
static void test_tiles(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", 16 * 300, 1, true);
	struct vrdu_bo *bo = kit_bo(*state, 1 << 20, 0);
	struct vrdu_graph *g = graph(*state);
	uint32_t i;

	for (i = 0; i < 3; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { bo, 0 }, { bo, (i + 1) * 65536 } }, 2);
	expect_refused(g, "has 300 tiles, a buffer holds 256");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(add);
}

static void test_pair(void **state)
{
	static const uint32_t turns[][8] = { { 0, 1, 0, 1 }, { 2, 3, 4, 5 }, { 1, 0, 1, 0 } };
	struct vrdu_program *add = kit_add(*state, "add", N, 1, false), *twice;
	struct vrdu_program *other = kit_add(*state, "other", N, 2, false);
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_graph *g;
	struct vrdu_builder *b;
	struct kit_shape s;
	uint32_t a, c;

	/* Nobody promised that the places between are not looked at. */
	refused(*state, add, 3, turns, 4,
		"what iteration 0 leaves in \"y\" stays visible and is not transient, but its places");
	g = record(*state, add, bo, 3, turns, 4);
	OK(vrdu_graph_transient(g, bo));
	expect_taken(g, 0, 4, 1, NULL);
	/* The same, but a later call reads what the third leaves behind. */
	kit_record(g, other, (struct vrdu_arg[]){ { bo, B }, { bo, 9 * B }, { bo, 10 * B } }, 3);
	expect_refused(g, "what iteration 0 leaves in \"y\" is read by a later call");
	vrdu_graph_unref(g);
	/* Overwritten before it is read: fine. */
	g = record(*state, add, bo, 3, turns, 4);
	OK(vrdu_graph_transient(g, bo));
	kit_record(g, other, (struct vrdu_arg[]){ { bo, 0 }, { bo, 9 * B }, { bo, B } }, 3);
	kit_record(g, other, (struct vrdu_arg[]){ { bo, B }, { bo, 9 * B }, { bo, 10 * B } }, 3);
	expect_taken(g, 0, 4, 2, NULL);
	vrdu_graph_unref(g);
	/* Read twice. */
	b = begin(*state, VRDU_SYMBOL_READ, &s);
	a = kit_load(b, 0, 0, s);
	c = kit_load(b, 0, 0, s);
	a = kit_ew(b, VRDU_EW_ADD, 0, a, c, s);
	c = kit_load(b, 1, 0, s);
	kit_store(b, OK(vrdu_builder_symbol(b, "y", 2, B)), 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, s));
	twice = kit_program(*state, b);
	refused(*state, twice, 3, turns, 4,
		"through memory from \"y\" to \"x\": \"x\" is not read by exactly one LOAD");
	vrdu_program_unref(twice);
	vrdu_program_unref(other);
	vrdu_bo_unref(bo);
	vrdu_program_unref(add);
}

/* Visible values with places of their own: carried, and stored in every iteration. */
static void test_visible(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 1, false);
	struct vrdu_bo *x = kit_bo(*state, 16 * B, 0), *w = kit_bo(*state, B, 0);
	struct vrdu_bo *y = kit_bo(*state, 2 * B, 0);
	struct vrdu_graph *g = graph(*state);

	kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, 0 }, { y, 0 } }, 3);
	kit_record(g, add, (struct vrdu_arg[]){ { y, 0 }, { w, 0 }, { x, 4 * B } }, 3);
	expect_taken(g, 0, 2, 1, NULL);
	vrdu_graph_unref(g);
	g = graph(*state);
	kit_record(g, add, (struct vrdu_arg[]){ { x, 8 * B }, { w, 0 }, { x, 4 * B } }, 3);
	kit_record(g, add, (struct vrdu_arg[]){ { x, 4 * B }, { w, 0 }, { x, 3 * B } }, 3);
	kit_record(g, add, (struct vrdu_arg[]){ { x, 3 * B }, { w, 0 }, { x, 2 * B } }, 3);
	expect_taken(g, 0, 3, 1, NULL);
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_bo_unref(y);
	vrdu_program_unref(add);
}

static void test_dependence(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 1, false);
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_graph *g = graph(*state);
	uint32_t i;

	/* Writes what the next but one reads. */
	refused(*state, add, 3, (uint32_t[3][8]){ { 0, 1, 2, 3 }, { 9, 9, 9, 9 }, { 2, 3, 4, 5 } },
		4, "\"x\" reads in one iteration what \"y\" writes in another");
	/* Writes what an earlier one has read. */
	refused(*state, add, 3, (uint32_t[3][8]){ { 4, 3, 2, 1 }, { 9, 9, 9, 9 }, { 6, 5, 4, 3 } },
		4, "\"x\" reads in one iteration what \"y\" writes in another");
	/* Irregular reads of what is written. */
	refused(*state, add, 3, (uint32_t[3][8]){ { 9, 9, 9, 9 }, { 0, 1, 2, 3 }, { 3, 4, 5, 6 } },
		4, "\"w\" reads in one iteration what \"y\" writes in another");
	/* Irregular places that meet. */
	refused(*state, add, 3, (uint32_t[3][8]){ { 0, 1, 2, 3 }, { 9, 9, 9, 9 },
						  { 20, 22, 27, 22 } },
		4, "\"y\" is written and its places in iterations 1 and 3 overlap");
	/* Places closer than they are long. */
	for (i = 0; i < 4; i++)
		kit_record(g, add, (struct vrdu_arg[]){ { bo, i * B }, { bo, 9 * B },
							{ bo, 20 * B + i * B / 2 } }, 3);
	expect_refused(g, "\"y\" is written and moves by 128 bytes, less than its 256");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(add);
}

/* Two nodes write one place: ordered in a call by a token, not between iterations. */
static void test_writers(void **state)
{
	struct kit_shape s;
	struct vrdu_builder *b = begin(*state, VRDU_SYMBOL_READ, &s);
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, B)), t;
	struct vrdu_program *prog;

	t = kit_store_token(b, y, 0, kit_load(b, 0, 0, s), OK(vrdu_builder_extent(b, 1)));
	kit_store(b, y, 0, kit_load_after(b, 1, 0, s, t));
	prog = kit_program(*state, b);
	refused(*state, prog, 3, (uint32_t[3][8]){ { 0, 1, 2 }, { 4, 5, 6 }, { 9, 9, 9 } }, 3,
		"\"y\" is written at one place by 2 nodes");
	vrdu_program_unref(prog);
}

/* Periods of many programs: too many symbols, sections or units. */
static void period(void **state, uint32_t progs, uint32_t symbols, const char *words)
{
	struct vrdu_bo *bo = kit_bo(*state, 1 << 20, 0);
	struct vrdu_graph *g = graph(*state);
	struct vrdu_program *p[16];
	struct vrdu_arg args[64];
	uint32_t i, k;

	for (i = 0; i < progs; i++) {
		struct vrdu_builder *b = kit_builder(*state, "part");
		struct kit_shape s = {
			.elem = VRDU_ELEM_F32, .cols = 16,
			.rows = OK(vrdu_builder_extent(b, i + 1)),
		};
		uint32_t bytes = (i + 1) * 64, acc;

		for (k = 0; k < symbols; k++)
			OK(vrdu_builder_symbol(b, "s", k ? 1 : 2, bytes));
		OK(vrdu_builder_section(b, "main"));
		acc = kit_load(b, 1, 0, s);
		for (k = 2; k < symbols; k++) {
			uint32_t in = kit_load(b, k, 0, s);

			acc = kit_ew(b, VRDU_EW_ADD, 0, acc, in, s);
		}
		kit_store(b, 0, 0, acc);
		p[i] = kit_program(*state, b);
	}
	for (k = 0; k < 2; k++) {
		for (i = 0; i < progs; i++) {
			uint32_t j;

			for (j = 0; j < symbols; j++)
				args[j] = (struct vrdu_arg){ bo, (i * symbols + j) * 1024 };
			kit_record(g, p[i], args, symbols);
		}
	}
	if (*words)
		expect_refused(g, words);
	else
		expect_taken(g, 0, 2, 1, NULL);
	vrdu_graph_unref(g);
	for (i = 0; i < progs; i++)
		vrdu_program_unref(p[i]);
	vrdu_bo_unref(bo);
}

static void test_limits(void **state)
{
	period(state, 4, 16, "");
	period(state, 5, 16, "more than 64 different arguments");
	period(state, 16, 4, "");
}

/* Many sections: two programs of nine. */
static void test_sections(void **state)
{
	struct vrdu_bo *bo = kit_bo(*state, 64 * B, 0);
	struct vrdu_graph *g = graph(*state);
	struct vrdu_program *p[2];
	uint32_t i, k;

	for (i = 0; i < 2; i++) {
		struct vrdu_builder *b = kit_builder(*state, "many");
		struct kit_shape s = {
			.elem = VRDU_ELEM_F32, .cols = 16,
			.rows = OK(vrdu_builder_extent(b, i + 1)),
		};

		OK(vrdu_builder_symbol(b, "x", 1, 128));
		OK(vrdu_builder_symbol(b, "y", 2, 128));
		for (k = 0; k < 9; k++) {
			OK(vrdu_builder_section(b, "part"));
			kit_store(b, 1, 0, kit_load(b, 0, 0, s));
		}
		p[i] = kit_program(*state, b);
	}
	for (k = 0; k < 2; k++)
		for (i = 0; i < 2; i++)
			kit_record(g, p[i], (struct vrdu_arg[]){ { bo, 0 }, { bo, B } }, 2);
	expect_refused(g, "more than 16 sections");
	vrdu_graph_unref(g);
	vrdu_program_unref(p[0]);
	vrdu_program_unref(p[1]);
	vrdu_bo_unref(bo);
}

/*
 * In a loop that drains, places may meet freely in time, but not as ranges of
 * different symbols: a table among other arguments' bytes cannot be joined.
 */
static void test_alias(void **state)
{
	static const uint32_t places[] = { 3, 0, 5 };
	struct vrdu_program *a = kit_add(*state, "a", N, 1, false), *b = kit_add(*state, "b", N, 2, false);
	struct vrdu_bo *bo = kit_bo(*state, 16 * B, 0);
	struct vrdu_graph *g = graph(*state);
	uint32_t i;

	for (i = 0; i < 3; i++) {
		kit_record(g, a, (struct vrdu_arg[]){ { bo, 8 * B }, { bo, 9 * B },
						      { bo, places[i] * B } }, 3);
		kit_record(g, b, (struct vrdu_arg[]){ { bo, 3 * B }, { bo, 9 * B },
						      { bo, 10 * B } }, 3);
	}
	expect_refused(g, "cannot be one argument");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(a);
	vrdu_program_unref(b);
}

/* The feedback of a carry must hold an iteration: more than the device has for buffers. */
static void test_verifier(void **state)
{
	struct vrdu_builder *b = kit_builder(*state, "huge");
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = 4096, .tile = 75,
		.rows = OK(vrdu_builder_extent(b, 75 * 250)),
	};
	uint64_t bytes = 75ull * 250 * 4096 * 4;
	uint32_t x = OK(vrdu_builder_symbol(b, "x", 3, bytes)), a;
	struct vrdu_bo *bo = kit_bo(*state, bytes, VRDU_BO_PHANTOM);
	struct vrdu_graph *g = graph(*state);
	struct vrdu_program *prog;
	uint32_t i;

	OK(vrdu_builder_section(b, "main"));
	a = kit_load(b, x, 0, s);
	kit_store(b, x, 0, kit_ew(b, VRDU_EW_ADD, 0, a, a, s));
	prog = kit_program(*state, b);
	for (i = 0; i < 3; i++)
		kit_record(g, prog, (struct vrdu_arg[]){ { bo, 0 } }, 1);
	expect_refused(g, "the verifier refuses the loop: ");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(prog);
}

static void test_boundary(void **state)
{
	static const struct { enum vrdu_boundary kind; const char *words; } kinds[] = {
		{ VRDU_BOUNDARY_WAIT, "the host waits before call 3: no loop spans that" },
		{ VRDU_BOUNDARY_READBACK, "the host reads results before call 3" },
		{ VRDU_BOUNDARY_SIGNAL, "somebody else is signalled before call 3" },
	};
	struct vrdu_program *a = kit_add(*state, "a", N, 1, true), *b = kit_add(*state, "b", N, 2, true);
	struct vrdu_bo *bo = kit_bo(*state, 16 * B, 0);
	struct vrdu_graph *g;
	uint32_t i, k;

	for (k = 0; k < 3; k++) {
		g = graph(*state);
		for (i = 0; i < 6; i++) {
			kit_record(g, a, (struct vrdu_arg[]){ { bo, 0 }, { bo, (i + 1) * B } }, 2);
			if (i == 2)
				OK(vrdu_graph_boundary(g, kinds[k].kind));
		}
		expect_refused(g, kinds[k].words);
		/* Both sides of it are loops. */
		expect_taken(g, 1, 3, 2, NULL);
		expect_taken(g, 2, 3, 2, NULL);
		vrdu_graph_unref(g);
	}
	/* A period that the host interrupts each time. */
	g = graph(*state);
	for (i = 0; i < 4; i++) {
		kit_record(g, a, (struct vrdu_arg[]){ { bo, 0 }, { bo, B } }, 2);
		kit_record(g, b, (struct vrdu_arg[]){ { bo, 0 }, { bo, B } }, 2);
		OK(vrdu_graph_boundary(g, VRDU_BOUNDARY_READBACK));
	}
	expect_refused(g, "the host reads results before call 2");
	vrdu_graph_unref(g);
	vrdu_bo_unref(bo);
	vrdu_program_unref(a);
	vrdu_program_unref(b);
}

static void test_bad_arguments(void **state)
{
	struct { struct vrdu_looping_opts o; uint64_t more; } opts = { .o.size = sizeof(opts) };
	struct vrdu_graph *g = graph(*state), *out = NULL;
	struct vrdu_loop_report *r = NULL;

	FAILS(vrdu_looping_analyze(NULL, NULL, &r), -EINVAL, "no graph");
	FAILS(vrdu_looping_analyze(g, NULL, NULL), -EINVAL, "no place");
	FAILS(vrdu_looping_apply(g, NULL, NULL), -EINVAL, "no place");
	FAILS(vrdu_looping_unroll(NULL, &out), -EINVAL, "no graph");
	opts.more = 1;
	FAILS(vrdu_looping_apply(g, &opts.o, &out), -E2BIG, "options");
	opts.more = 0;
	opts.o.min_trips = 1;
	FAILS(vrdu_looping_apply(g, &opts.o, &out), -EINVAL, "min_trips 1");
	opts.o.min_trips = 0;
	opts.o.max_depth = 3;
	FAILS(vrdu_looping_apply(g, &opts.o, &out), -EINVAL, "max_depth 3");
	/* An empty graph is fine. */
	OK(vrdu_looping_analyze(g, NULL, &r));
	assert_int_equal(vrdu_loop_report_count(r), 0);
	vrdu_loop_report_unref(r);
	OK(vrdu_looping_apply(g, NULL, &out));
	assert_int_equal(vrdu_graph_calls(out), 0);
	vrdu_graph_unref(out);
	vrdu_graph_unref(g);
}

/* Without the check of dependences, the device's own rules refuse the loop. */
static void test_second_line(void **state)
{
	static const uint32_t at[][8] = { { 0, 1, 2, 3 }, { 9, 9, 9, 9 }, { 2, 3, 4, 5 } };
	struct vrdu_program *add = kit_add(*state, "add", N, 1, false);

	vrdu_looping_unsafe = 1;
	refused(*state, add, 3, at, 4, "the verifier refuses the loop");
	vrdu_looping_unsafe = 0;
	refused(*state, add, 3, at, 4, "dependence through memory");
	vrdu_program_unref(add);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_short), T(test_flags), T(test_nesting), T(test_faulting), T(test_own_table),
		T(test_inner_table), T(test_size), T(test_in_place), T(test_tiles), T(test_pair),
		T(test_visible), T(test_dependence), T(test_writers), T(test_limits),
		T(test_sections), T(test_alias), T(test_verifier), T(test_boundary),
		T(test_bad_arguments), T(test_second_line),
	};

	return run_on_sim(tests);
}
