// SPDX-License-Identifier: MIT
/*
 * Conformance: what goes wrong at run time — the errno, the fault record and
 * the sentence — and that nobody else notices.
 */
#include "cts.h"

static void expect_fault(struct vrdu_context *ctx, int err, uint32_t code, uint32_t node,
			 uint32_t iteration, uint64_t address, uint64_t seqno)
{
	struct vrdu_context_status s = status(ctx);

	assert_int_equal(s.error, err);
	assert_int_equal(s.fault.code, code);
	assert_int_equal(s.fault.section, 0);
	assert_int_equal(s.fault.node, node);
	assert_int_equal(s.fault.iteration, iteration);
	assert_int_equal(s.fault.address, address);
	assert_int_equal(s.fault.seqno, seqno);
	assert_int_equal(s.completed, seqno - 1);
	/* Sticky. */
	FAILS(vrdu_wait(ctx, seqno, INT64_MAX), err, "call");
}

/* Further calls of a failed context are refused with its reason. */
static void expect_dead(struct vrdu_context *ctx, struct vrdu_program *prog,
			const struct vrdu_arg *args, uint32_t n)
{
	struct vrdu_call call = { .prog = prog, .args = args, .arg_count = n };

	FAILS(vrdu_submit(ctx, &call, 1, NULL, 0, NULL, 0, NULL), -ECANCELED, "call");
}

/* A loop of 4 over a table of places: node 0 reads them, node 2 writes them. */
static struct vrdu_program *table_program(struct vrdu_context *ctx)
{
	struct vrdu_builder *b = kit_builder(ctx, "walk");
	struct kit_shape s = {
		.elem = VRDU_ELEM_I32, .cols = 16, .rows = OK(vrdu_builder_extent(b, N / 16)),
	};
	uint32_t in = OK(vrdu_builder_table(b, "in", VRDU_SYMBOL_READ, B, 0, 4));
	uint32_t out = OK(vrdu_builder_table(b, "out", VRDU_SYMBOL_WRITE, B, 0, 4));

	OK(vrdu_builder_section(b, "main"));
	kit_store(b, out, 0, kit_ew(b, VRDU_EW_IADD_IMM, 5, kit_load(b, in, 0, s), VRDU_NONE, s));
	OK(vrdu_builder_loop(b, OK(vrdu_builder_extent(b, 4))));
	OK(vrdu_builder_run(b, 0));
	OK(vrdu_builder_end(b));
	return kit_program(ctx, b);
}

static void put_table(struct vrdu_bo *table, uint32_t first, struct vrdu_bo *data, uint32_t at)
{
	uint64_t va;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		va = vrdu_bo_address(data) + at + i * B;
		OK(vrdu_bo_write(table, (first + i) * 8, &va, 8));
	}
}

static void table_fault(void **state, uint32_t entry, uint64_t address, uint32_t code,
			uint32_t node, const char *words)
{
	struct vrdu_program *walk = table_program(*state);
	struct vrdu_bo *table = kit_bo(*state, 64, 0), *data = kit_bo(*state, 8 * B, 0);
	struct vrdu_arg args[] = { { table, 0 }, { table, 32 } };
	char text[256];
	struct vrdu_fault_info f;

	put_table(table, 0, data, 0);
	put_table(table, 4, data, 4 * B);
	OK(run(*state, walk, args, 2));
	OK(vrdu_bo_write(table, entry * 8, &address, 8));
	FAILS(run(*state, walk, args, 2), -EFAULT, words);
	expect_fault(*state, -EFAULT, code, node, entry & 3, address, 2);
	f = status(*state).fault;
	assert_true(vrdu_fault_describe(&f, text, sizeof(text)) > 0);
	expect_dead(*state, walk, args, 2);
	vrdu_bo_unref(table);
	vrdu_bo_unref(data);
	vrdu_program_unref(walk);
}

static void test_read_unmapped(void **state)
{
	table_fault(state, 2, 0x7000000000ull, VRDU_FAULT_READ, 0, "node 0 \"load\", iteration 2");
}

static void test_write_unmapped(void **state)
{
	table_fault(state, 7, 0x7000000000ull, VRDU_FAULT_WRITE, 2, "node 2 \"store\", iteration 3");
}

static void test_read_low(void **state)
{
	table_fault(state, 0, 4, VRDU_FAULT_READ, 0, "address 0x4");
}

/* An argument that begins in a mapping and ends in nothing cannot be made by the library. */
static void test_stale_buffer(void **state)
{
	struct vrdu_bo *gone = kit_bo(*state, B, 0);
	uint64_t va = vrdu_bo_address(gone);

	vrdu_bo_unref(gone);
	table_fault(state, 1, va, VRDU_FAULT_READ, 0, "walk");
}

static void test_misaligned(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 4, true);
	struct vrdu_bo *x = kit_bo(*state, 2 * B, 0);
	struct vrdu_arg args[] = { { x, 2 }, { x, B + 4 } };

	FAILS(run(*state, add, args, 2), -EFAULT, "misaligned");
	expect_fault(*state, -EFAULT, VRDU_FAULT_WRITE, VRDU_NONE, 0, vrdu_bo_address(x) + 2, 1);
	vrdu_bo_unref(x);
	vrdu_program_unref(add);
}

static void test_read_only(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 4, true);
	struct vrdu_bo *x = kit_bo(*state, B, VRDU_BO_READ_ONLY), *w = kit_bo(*state, B, 0);
	struct vrdu_arg good[] = { { w, 0 }, { x, 0 } }, bad[] = { { x, 0 }, { w, 0 } };

	fill(x, 0, N, 3, 1);
	/* The host may write what the device may only read. */
	OK(run(*state, add, good, 2));
	expect_floats(w, 0, N, 3, 1);
	FAILS(run(*state, add, bad, 2), -EFAULT, "read-only");
	/* Node 3 is the store. */
	expect_fault(*state, -EFAULT, VRDU_FAULT_WRITE, 3, 0, vrdu_bo_address(x), 2);
	expect_floats(x, 0, N, 3, 1);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

static void test_phantom(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 4, true);
	struct vrdu_bo *x = kit_bo(*state, B, 0), *w = kit_bo(*state, B, VRDU_BO_PHANTOM);
	struct vrdu_arg args[] = { { x, 0 }, { w, 0 } };

	FAILS(run(*state, add, args, 2), -EFAULT, "phantom");
	expect_fault(*state, -EFAULT, VRDU_FAULT_READ, 1, 0, vrdu_bo_address(w), 1);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

static void test_alias(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 4, true);
	struct vrdu_bo *x = kit_bo(*state, 2 * B, 0);
	struct vrdu_arg args[] = { { x, 0 }, { x, B - 4 } };

	FAILS(run(*state, add, args, 2), -EINVAL, "overlap");
	expect_fault(*state, -EINVAL, VRDU_FAULT_ALIAS, VRDU_NONE, 0, vrdu_bo_address(x) + B - 4,
		     1);
	vrdu_bo_unref(x);
	vrdu_program_unref(add);
}

/* Row index[0] of a table of 8 rows. */
static struct vrdu_program *gather_program(struct vrdu_context *ctx)
{
	struct vrdu_builder *b = kit_builder(ctx, "gather");
	uint32_t one = OK(vrdu_builder_extent(b, 1));
	struct kit_shape row = { .elem = VRDU_ELEM_F32, .rows = one, .cols = 16 };
	struct kit_shape index = { .elem = VRDU_ELEM_I32, .rows = one, .cols = 1 };
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_GATHER);
	struct vrdu_agu a = { .index_stride = 64, .index_limit = 8, .row_stride = 64 };
	uint32_t i, y;

	i = OK(vrdu_builder_symbol(b, "index", VRDU_SYMBOL_READ, 4));
	a.symbol = OK(vrdu_builder_symbol(b, "rows", VRDU_SYMBOL_READ, 8 * 64));
	y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 64));
	OK(vrdu_builder_section(b, "main"));
	d.in[0] = kit_load(b, i, 0, index);
	d.out[0] = kit_stream(b, "row", row);
	d.agu = OK(vrdu_builder_agu(b, &a));
	OK(vrdu_builder_node(b, "gather", &d));
	kit_store(b, y, 0, d.out[0]);
	return kit_program(ctx, b);
}

static void index_fault(void **state, int32_t bad)
{
	struct vrdu_program *gather = gather_program(*state);
	struct vrdu_bo *bo = kit_bo(*state, 4096, 0);
	struct vrdu_arg args[] = { { bo, 0 }, { bo, 1024 }, { bo, 2048 } };
	int32_t i = 7;

	fill(bo, 1024, 128, 0, 1);
	OK(vrdu_bo_write(bo, 0, &i, 4));
	OK(run(*state, gather, args, 3));
	expect_floats(bo, 2048, 16, 112, 1);
	OK(vrdu_bo_write(bo, 0, &bad, 4));
	FAILS(run(*state, gather, args, 3), -EFAULT, "index");
	expect_fault(*state, -EFAULT, VRDU_FAULT_INDEX, 1, 0, (uint64_t)(int64_t)bad, 2);
	expect_dead(*state, gather, args, 3);
	vrdu_bo_unref(bo);
	vrdu_program_unref(gather);
}

static void test_index_large(void **state)
{
	index_fault(state, 8);
}

static void test_index_negative(void **state)
{
	index_fault(state, -1);
}

static void extent_fault(void **state, int32_t bad)
{
	struct vrdu_builder *b = kit_builder(*state, "sized");
	uint32_t size = OK(vrdu_builder_symbol(b, "size", VRDU_SYMBOL_READ, 8));
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, B));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, B));
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = 16, .tile = 3,
		.rows = OK(vrdu_builder_extent_param(b, size, 4, 1, 1, N / 16)),
	};
	struct vrdu_program *prog;
	struct vrdu_bo *bo = kit_bo(*state, 4 * B, 0);
	struct vrdu_arg args[] = { { bo, 0 }, { bo, B }, { bo, 2 * B } };
	int32_t rows = 4;

	OK(vrdu_builder_section(b, "main"));
	kit_store(b, y, 0, kit_load(b, x, 0, s));
	prog = kit_program(*state, b);
	fill(bo, B, N, 1, 1);
	OK(vrdu_bo_write(bo, 4, &rows, 4));
	OK(run(*state, prog, args, 3));
	/* Four rows and the bias. */
	expect_floats(bo, 2 * B, 80, 1, 1);
	expect_floats(bo, 2 * B + 320, N - 80, 0, 0);
	OK(vrdu_bo_write(bo, 4, &bad, 4));
	FAILS(run(*state, prog, args, 3), -EFAULT, "size");
	expect_fault(*state, -EFAULT, VRDU_FAULT_EXTENT, VRDU_NONE, 0, (uint64_t)(int64_t)bad + 1,
		     2);
	vrdu_bo_unref(bo);
	vrdu_program_unref(prog);
}

static void test_extent_large(void **state)
{
	extent_fault(state, N / 16);
}

static void test_extent_small(void **state)
{
	extent_fault(state, -1);
}

static void test_extent_huge(void **state)
{
	extent_fault(state, INT32_MAX);
}

/* A fault in the middle of a batch: the calls before it count, those after do not run. */
static void test_batch_stops(void **state)
{
	struct vrdu_program *add = kit_add(*state, "add", N, 4, true);
	struct vrdu_bo *x = kit_bo(*state, B, 0), *w = kit_bo(*state, B, 0);
	struct vrdu_arg good[] = { { x, 0 }, { w, 0 } }, bad[] = { { x, 0 }, { x, 0 } };
	struct vrdu_call calls[8];
	uint64_t seqno;
	uint32_t i;

	fill(w, 0, N, 1, 0);
	for (i = 0; i < 8; i++)
		calls[i] = (struct vrdu_call){
			.prog = add, .args = i == 5 ? bad : good, .arg_count = 2,
		};
	OK(vrdu_submit(*state, calls, 8, NULL, 0, NULL, 0, &seqno));
	assert_int_equal(seqno, 8);
	FAILS(vrdu_wait(*state, 8, INT64_MAX), -EINVAL, "overlap");
	OK(vrdu_wait(*state, 5, INT64_MAX));
	expect_fault(*state, -EINVAL, VRDU_FAULT_ALIAS, VRDU_NONE, 0, vrdu_bo_address(x), 6);
	assert_int_equal(status(*state).counters.calls, 5);
	expect_floats(x, 0, N, 5, 0);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
}

/* One context fails; another of the same device goes on, before and after. */
static void test_isolation(void **state)
{
	struct vrdu_context *other;
	struct vrdu_program *mine = kit_add(*state, "add", N, 4, true), *theirs;
	struct vrdu_bo *x = kit_bo(*state, B, 0), *y, *w;
	struct vrdu_arg bad[] = { { x, 0 }, { x, 0 } }, good[2];
	uint32_t i;

	OK(vrdu_context_create(cts.dev, &other));
	theirs = kit_add(other, "add", N, 4, true);
	y = kit_bo(other, B, 0);
	w = kit_bo(other, B, 0);
	fill(w, 0, N, 1, 0);
	good[0] = (struct vrdu_arg){ y, 0 };
	good[1] = (struct vrdu_arg){ w, 0 };
	OK(run(other, theirs, good, 2));
	FAILS(run(*state, mine, bad, 2), -EINVAL, "overlap");
	for (i = 0; i < 5; i++)
		OK(run(other, theirs, good, 2));
	assert_int_equal(status(other).error, 0);
	expect_floats(y, 0, N, 6, 0);
	/* Buffers and programs of the failed one can still be used and dropped. */
	fill(x, 0, N, 7, 0);
	expect_floats(x, 0, N, 7, 0);
	vrdu_program_unref(theirs);
	vrdu_bo_unref(y);
	vrdu_bo_unref(w);
	vrdu_context_unref(other);
	vrdu_bo_unref(x);
	vrdu_program_unref(mine);
}

/* What one context maps, another cannot reach. */
static void test_address_spaces(void **state)
{
	struct vrdu_context *other;
	struct vrdu_bo *secret, *pad;
	uint64_t va;

	OK(vrdu_context_create(cts.dev, &other));
	/* Above everything that the first context will map. */
	pad = kit_bo(other, 256 * cts.info.page_bytes, VRDU_BO_PHANTOM);
	secret = kit_bo(other, B, 0);
	va = vrdu_bo_address(secret);
	table_fault(state, 3, va, VRDU_FAULT_READ, 0, "unmapped");
	vrdu_bo_unref(secret);
	vrdu_bo_unref(pad);
	vrdu_context_unref(other);
}

CTS_TABLE(fault, T(test_read_unmapped), T(test_write_unmapped), T(test_read_low),
	  T(test_stale_buffer), T(test_misaligned), T(test_read_only), T(test_phantom),
	  T(test_alias), T(test_index_large), T(test_index_negative), T(test_extent_large),
	  T(test_extent_small), T(test_extent_huge), T(test_batch_stops), T(test_isolation),
	  T(test_address_spaces));
