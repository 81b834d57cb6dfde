// SPDX-License-Identifier: MIT
/*
 * Conformance: submission — single calls and batches, order, arithmetic that
 * arrives, counters, modelled time, and everything that is refused.
 */
#include "cts.h"

/* Objects that most tests here need. */
struct fix {
	struct vrdu_program *add;
	struct vrdu_bo *x;
	struct vrdu_bo *w;
};

static struct fix make(struct vrdu_context *ctx)
{
	struct fix f = {
		.add = kit_add(ctx, "add", N, 4, true),
		.x = kit_bo(ctx, B, 0),
		.w = kit_bo(ctx, 4 * B, 0),
	};

	fill(f.x, 0, N, 0, 1);
	fill(f.w, 0, N, 1, 0);
	return f;
}

static void drop(struct fix *f)
{
	vrdu_program_unref(f->add);
	vrdu_bo_unref(f->x);
	vrdu_bo_unref(f->w);
}

static void test_single(void **state)
{
	struct fix f = make(*state);

	OK(run(*state, f.add, (struct vrdu_arg[]){ { f.x, 0 }, { f.w, 0 } }, 2));
	expect_floats(f.x, 0, N, 1, 1);
	assert_int_equal(status(*state).counters.calls, 1);
	drop(&f);
}

/* A batch of dependent calls: in order, one sequence number each. */
static void test_batch(void **state)
{
	struct fix f = make(*state);
	struct vrdu_arg args[] = { { f.x, 0 }, { f.w, 0 } };
	struct vrdu_call calls[100];
	uint64_t first, seqno;
	uint32_t i;

	for (i = 0; i < 100; i++)
		calls[i] = (struct vrdu_call){ .prog = f.add, .args = args, .arg_count = 2 };
	OK(vrdu_submit(*state, calls, 1, NULL, 0, NULL, 0, &first));
	OK(vrdu_submit(*state, calls, 100, NULL, 0, NULL, 0, &seqno));
	assert_int_equal(seqno, first + 100);
	/* Any call in the middle can be waited for. */
	OK(vrdu_wait(*state, first + 37, INT64_MAX));
	assert_true(status(*state).completed >= first + 37);
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	assert_int_equal(status(*state).completed, seqno);
	expect_floats(f.x, 0, N, 101, 1);
	drop(&f);
}

/* More calls than any ring holds, with no wait between. */
static void test_full_ring(void **state)
{
	struct fix f = make(*state);
	struct vrdu_arg args[] = { { f.x, 0 }, { f.w, 0 } };
	uint32_t max = cts.info.max_calls, i;
	struct vrdu_call *calls = calloc(max, sizeof(*calls));
	struct vrdu_program *small = kit_add(*state, "small", 16, 1, true);
	uint64_t seqno = 0;

	for (i = 0; i < max; i++)
		calls[i] = (struct vrdu_call){ .prog = small, .args = args, .arg_count = 2 };
	for (i = 0; i < 4; i++)
		OK(vrdu_submit(*state, calls, max, NULL, 0, NULL, 0, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	expect_floats(f.x, 0, 16, 4 * max, 1);
	expect_floats(f.x, 64, N - 16, 16, 1);
	free(calls);
	vrdu_program_unref(small);
	drop(&f);
}

static void test_refuses(void **state)
{
	struct fix f = make(*state);
	struct vrdu_context *other;
	struct vrdu_bo *alien;
	struct vrdu_arg args[] = { { f.x, 0 }, { f.w, 0 } };
	struct vrdu_call call = { .prog = f.add, .args = args, .arg_count = 2 }, bad;
	uint64_t seqno = 77;

	OK(vrdu_context_create(cts.dev, &other));
	alien = kit_bo(other, B, 0);
	FAILS(vrdu_submit(*state, &call, 0, NULL, 0, NULL, 0, &seqno), -EINVAL, "0 calls");
	FAILS(vrdu_submit(*state, &call, cts.info.max_calls + 1, NULL, 0, NULL, 0, &seqno), -EINVAL,
	      "calls, not");
	FAILS(vrdu_submit(other, &call, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "another context");
	bad = call;
	bad.prog = NULL;
	FAILS(vrdu_submit(*state, &bad, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "no program");
	bad = call;
	bad.arg_count = 1;
	FAILS(vrdu_submit(*state, &bad, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "takes 2");
	bad = call;
	bad.flags = 0x100;
	FAILS(vrdu_submit(*state, &bad, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "flags 0x100");
	args[0].bo = NULL;
	FAILS(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "\"x\" has no");
	args[0].bo = alien;
	FAILS(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "another context");
	args[0].bo = f.x;
	args[0].offset = vrdu_bo_size(f.x) - B + 4;
	FAILS(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "exceeds");
	args[0].offset = UINT64_MAX;
	FAILS(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno), -EINVAL, "exceeds");
	assert_int_equal(seqno, 77);
	FAILS(vrdu_wait(*state, 1, INT64_MAX), -EINVAL, "never submitted");
	FAILS(vrdu_wait(*state, 0, -1), -EINVAL, "negative");
	OK(vrdu_wait(*state, 0, 0));
	/* All or nothing: nothing ran, and the context still works. */
	assert_int_equal(status(*state).counters.calls, 0);
	args[0].offset = 0;
	OK(run(*state, f.add, args, 2));
	vrdu_bo_unref(alien);
	vrdu_context_unref(other);
	drop(&f);
}

static void test_matmul(void **state)
{
	struct vrdu_builder *b = kit_builder(*state, "matmul");
	uint32_t two = OK(vrdu_builder_extent(b, 2)), k = 32, n = 48, i, j;
	struct kit_shape xs = { .elem = VRDU_ELEM_F32, .rows = two, .cols = k };
	struct kit_shape ws = {
		.elem = VRDU_ELEM_F32, .rows = OK(vrdu_builder_extent(b, n)), .tile = 5, .cols = k,
	};
	uint32_t x = OK(vrdu_builder_symbol(b, "x", VRDU_SYMBOL_READ, 2 * k * 4));
	uint32_t w = OK(vrdu_builder_symbol(b, "w", VRDU_SYMBOL_READ, n * k * 4));
	uint32_t y = OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, 2 * n * 4));
	struct vrdu_program *prog;
	struct vrdu_bo *bo = kit_bo(*state, 16384, 0);
	float f;

	OK(vrdu_builder_section(b, "main"));
	x = kit_load(b, x, 0, xs);
	w = kit_load(b, w, 0, ws);
	kit_store(b, y, 0, kit_matmul(b, x, w, two, n));
	prog = kit_program(*state, b);
	/* x: rows of 1 and of 2; w: row j is all j. Small integers: exact. */
	fill(bo, 0, k, 1, 0);
	fill(bo, k * 4, k, 2, 0);
	for (j = 0; j < n; j++)
		fill(bo, 1024 + j * k * 4, k, j, 0);
	OK(run(*state, prog, (struct vrdu_arg[]){ { bo, 0 }, { bo, 1024 }, { bo, 12288 } }, 3));
	for (i = 0; i < 2; i++) {
		for (j = 0; j < n; j++) {
			OK(vrdu_bo_read(bo, 12288 + (i * n + j) * 4, &f, 4));
			if (f != (float)((i + 1) * k * j))
				fail_msg("y[%u][%u] is %g", i, j, (double)f);
		}
	}
	vrdu_program_unref(prog);
	vrdu_bo_unref(bo);
}

static void test_counters(void **state)
{
	struct vrdu_host_counters a, b;
	struct fix f = make(*state);
	struct vrdu_arg args[] = { { f.x, 0 }, { f.w, 0 } };
	struct vrdu_call calls[10];
	struct vrdu_context_status s;
	uint64_t seqno;
	uint32_t i;

	for (i = 0; i < 10; i++)
		calls[i] = (struct vrdu_call){ .prog = f.add, .args = args, .arg_count = 2 };
	OK(vrdu_device_get_counters(cts.dev, &a, sizeof(a)));
	OK(vrdu_submit(*state, calls, 10, NULL, 0, NULL, 0, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	OK(vrdu_submit(*state, calls, 1, NULL, 0, NULL, 0, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	OK(vrdu_device_get_counters(cts.dev, &b, sizeof(b)));
	assert_int_equal(b.submits - a.submits, 2);
	assert_int_equal(b.calls - a.calls, 11);
	assert_int_equal(b.waits - a.waits, 2);
	assert_true(b.waits_blocked - a.waits_blocked <= 2);
	assert_true(b.doorbells - a.doorbells >= 1);
	assert_true(b.events - a.events <= 2);
	if (!strcmp(cts.info.backend, "node"))
		/* Two submissions, and a wait for each that blocked; nothing else. */
		assert_int_equal(b.ioctls - a.ioctls, 2 + (b.waits_blocked - a.waits_blocked));
	else
		assert_int_equal(b.ioctls, 0);
	s = status(*state);
	assert_int_equal(s.counters.calls, 11);
	assert_int_equal(s.counters.runs, 11);
	assert_int_equal(s.counters.iterations, 11);
	/* 4 nodes of 4 firings. */
	assert_int_equal(s.counters.firings, 11 * 16);
	assert_int_equal(s.counters.program_loads, 1);
	assert_int_equal(s.counters.events, 2);
	assert_int_equal(s.counters.hbm_read_bytes, 11 * 2 * B);
	assert_int_equal(s.counters.hbm_write_bytes, 11 * B);
	assert_int_equal(s.counters.busy_ps, s.counters.program_load_ps + s.counters.arg_load_ps +
			 s.counters.fill_ps + s.counters.steady_ps + s.counters.drain_ps +
			 s.counters.done_ps + s.counters.barrier_ps);
	drop(&f);
}

/* The same calls take the same modelled time, however they are submitted. */
static void test_modelled_time(void **state)
{
	struct vrdu_arg args[2];
	uint64_t busy[3], seqno;
	uint32_t round, i;

	for (round = 0; round < 3; round++) {
		struct vrdu_context *ctx;
		struct vrdu_call calls[6];
		struct fix f;

		OK(vrdu_context_create(cts.dev, &ctx));
		f = make(ctx);
		args[0] = (struct vrdu_arg){ f.x, 0 };
		args[1] = (struct vrdu_arg){ f.w, 0 };
		for (i = 0; i < 6; i++)
			calls[i] = (struct vrdu_call){
				.prog = f.add, .args = args, .arg_count = 2,
			};
		/* Leave the same configuration on the fabric each time. */
		OK(run(ctx, f.add, args, 2));
		busy[round] = status(ctx).counters.busy_ps;
		for (i = 0; i < 6 && round; i++)
			OK(run(ctx, f.add, args, 2));
		if (!round)
			OK(vrdu_submit(ctx, calls, 6, NULL, 0, NULL, 0, &seqno));
		if (!round)
			OK(vrdu_wait(ctx, seqno, INT64_MAX));
		busy[round] = status(ctx).counters.busy_ps - busy[round];
		drop(&f);
		vrdu_context_unref(ctx);
	}
	(void)state;
	assert_true(busy[0] > 0);
	assert_int_equal(busy[0], busy[1]);
	assert_int_equal(busy[1], busy[2]);
}

/* Timing only: the clock moves as if the call had computed, memory stays, phantom is fine. */
static void test_timing_only(void **state)
{
	struct fix f = make(*state);
	struct vrdu_bo *ghost = kit_bo(*state, B, VRDU_BO_PHANTOM);
	struct vrdu_arg args[] = { { f.x, 0 }, { f.w, 0 } };
	struct vrdu_call call = {
		.prog = f.add, .args = args, .arg_count = 2, .flags = VRDU_CALL_TIMING,
	};
	uint64_t t[4], seqno;

	OK(run(*state, f.add, args, 2));
	t[0] = status(*state).counters.busy_ps;
	OK(run(*state, f.add, args, 2));
	t[1] = status(*state).counters.busy_ps;
	OK(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	t[2] = status(*state).counters.busy_ps;
	args[1].bo = ghost;
	OK(vrdu_submit(*state, &call, 1, NULL, 0, NULL, 0, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	t[3] = status(*state).counters.busy_ps;
	expect_floats(f.x, 0, N, 2, 1);
	assert_int_equal(t[2] - t[1], t[1] - t[0]);
	assert_int_equal(t[3] - t[2], t[1] - t[0]);
	vrdu_bo_unref(ghost);
	drop(&f);
}

CTS_TABLE(submit, T(test_single), T(test_batch), T(test_full_ring), T(test_refuses),
	  T(test_matmul), T(test_counters), T(test_modelled_time), T(test_timing_only));
