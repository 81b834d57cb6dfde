// SPDX-License-Identifier: MIT
/*
 * Conformance: graphs — recording, boundaries, launches — and kernel looping:
 * the same bits from fewer calls.
 */
#include "cts.h"

#define LAYERS	12u

/* A stack of layers over x in place, with a state of its own for each. */
struct stack {
	struct vrdu_program *layer;
	struct vrdu_bo *x;
	struct vrdu_bo *w;
	struct vrdu_bo *state;
	struct vrdu_graph *g;
};

/* x = x * w^T + x, state = state + x. */
static struct vrdu_program *layer_program(struct vrdu_context *ctx)
{
	struct vrdu_builder *b = kit_builder(ctx, "layer");
	uint32_t dim = 32, one = OK(vrdu_builder_extent(b, 1));
	struct kit_shape row = { .elem = VRDU_ELEM_F32, .rows = one, .cols = dim };
	struct kit_shape mat = {
		.elem = VRDU_ELEM_F32, .rows = OK(vrdu_builder_extent(b, dim)), .tile = 6,
		.cols = dim,
	};
	uint32_t x = OK(vrdu_builder_symbol(b, "x", 3, dim * 4));
	uint32_t w = OK(vrdu_builder_symbol(b, "w", 1, dim * dim * 4));
	uint32_t s = OK(vrdu_builder_symbol(b, "state", 3, dim * 4)), in, y, old, sum;

	OK(vrdu_builder_section(b, "main"));
	in = kit_load(b, x, 0, row);
	y = kit_matmul(b, in, kit_load(b, w, 0, mat), one, dim);
	y = kit_ew(b, VRDU_EW_ADD, 0, y, in, row);
	old = kit_load(b, s, 0, row);
	sum = kit_ew(b, VRDU_EW_ADD, 0, old, y, row);
	kit_store(b, s, 0, sum);
	kit_store(b, x, 0, y);
	return kit_program(ctx, b);
}

static void stack_make(struct vrdu_context *ctx, struct stack *s)
{
	uint64_t rng = 5;
	float f[32 * 32];
	uint32_t i, k;

	s->layer = layer_program(ctx);
	s->x = kit_bo(ctx, 128, 0);
	s->w = kit_bo(ctx, LAYERS * 4096, 0);
	s->state = kit_bo(ctx, LAYERS * 128, 0);
	kit_floats(&rng, f, 32);
	OK(vrdu_bo_write(s->x, 0, f, 128));
	for (i = 0; i < LAYERS; i++) {
		kit_floats(&rng, f, 1024);
		for (k = 0; k < 1024; k++)
			f[k] /= 8;
		OK(vrdu_bo_write(s->w, i * 4096, f, 4096));
		OK(vrdu_bo_write(s->state, i * 128, f, 128));
	}
	OK(vrdu_graph_create(ctx, &s->g));
}

static void stack_record(struct stack *s)
{
	uint32_t i;

	for (i = 0; i < LAYERS; i++)
		kit_record(s->g, s->layer, (struct vrdu_arg[]){
			   { s->x, 0 }, { s->w, i * 4096 }, { s->state, i * 128 } }, 3);
}

static void stack_drop(struct stack *s)
{
	vrdu_graph_unref(s->g);
	vrdu_program_unref(s->layer);
	vrdu_bo_unref(s->x);
	vrdu_bo_unref(s->w);
	vrdu_bo_unref(s->state);
}

static void test_launch(void **state)
{
	struct vrdu_host_counters a, b;
	struct vrdu_exec *exec;
	struct stack s;
	uint64_t seqno;
	uint32_t batch;

	stack_make(*state, &s);
	stack_record(&s);
	for (batch = 0; batch <= 5; batch += 5) {
		OK(vrdu_graph_instantiate(s.g, batch, &exec));
		assert_int_equal(vrdu_exec_submissions(exec), batch ? 3 : 1);
		OK(vrdu_device_get_counters(cts.dev, &a, sizeof(a)));
		OK(vrdu_exec_launch(exec, &seqno));
		OK(vrdu_wait(*state, seqno, INT64_MAX));
		OK(vrdu_exec_launch(exec, &seqno));
		OK(vrdu_wait(*state, seqno, INT64_MAX));
		OK(vrdu_device_get_counters(cts.dev, &b, sizeof(b)));
		assert_int_equal(b.submits - a.submits, 2 * vrdu_exec_submissions(exec));
		assert_int_equal(b.calls - a.calls, 2 * LAYERS);
		vrdu_exec_unref(exec);
	}
	FAILS(vrdu_graph_instantiate(s.g, cts.info.max_calls + 1, &exec), -EINVAL, "batches");
	stack_drop(&s);
}

/* An instance is frozen: what is recorded later is not in it; it keeps what it needs. */
static void test_frozen(void **state)
{
	struct vrdu_exec *exec;
	struct stack s;
	uint64_t seqno, before;

	stack_make(*state, &s);
	stack_record(&s);
	OK(vrdu_graph_instantiate(s.g, 0, &exec));
	stack_record(&s);
	assert_int_equal(vrdu_graph_calls(s.g), 2 * LAYERS);
	before = status(*state).counters.calls;
	stack_drop(&s);
	OK(vrdu_exec_launch(exec, &seqno));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	assert_int_equal(status(*state).counters.calls - before, LAYERS);
	vrdu_exec_unref(exec);
}

/* Submissions end at every boundary; the host waits at two kinds of them. */
static void test_boundaries(void **state)
{
	static const struct { enum vrdu_boundary kind; uint32_t waits; } kinds[] = {
		{ VRDU_BOUNDARY_WAIT, 3 }, { VRDU_BOUNDARY_READBACK, 3 },
		{ VRDU_BOUNDARY_SIGNAL, 0 },
	};
	struct vrdu_host_counters a, b;
	struct vrdu_exec *exec;
	struct stack s;
	uint64_t seqno;
	uint32_t i, k;

	for (i = 0; i < 3; i++) {
		stack_make(*state, &s);
		for (k = 0; k < 3; k++) {
			stack_record(&s);
			OK(vrdu_graph_boundary(s.g, kinds[i].kind));
		}
		stack_record(&s);
		OK(vrdu_graph_instantiate(s.g, 0, &exec));
		assert_int_equal(vrdu_exec_submissions(exec), 4);
		OK(vrdu_device_get_counters(cts.dev, &a, sizeof(a)));
		OK(vrdu_exec_launch(exec, &seqno));
		OK(vrdu_device_get_counters(cts.dev, &b, sizeof(b)));
		assert_int_equal(b.submits - a.submits, 4);
		assert_int_equal(b.waits - a.waits, kinds[i].waits);
		OK(vrdu_wait(*state, seqno, INT64_MAX));
		vrdu_exec_unref(exec);
		FAILS(vrdu_graph_boundary(s.g, 0), -EINVAL, "boundary");
		FAILS(vrdu_graph_boundary(s.g, 4), -EINVAL, "boundary");
		stack_drop(&s);
	}
}

static void test_refuses(void **state)
{
	struct vrdu_context *other;
	struct vrdu_graph *g;
	struct vrdu_call call;
	struct stack s;

	stack_make(*state, &s);
	stack_record(&s);
	OK(vrdu_context_create(cts.dev, &other));
	OK(vrdu_graph_create(other, &g));
	OK(vrdu_graph_get_call(s.g, 3, &call));
	assert_ptr_equal(call.prog, s.layer);
	assert_int_equal(call.args[1].offset, 3 * 4096);
	FAILS(vrdu_graph_get_call(s.g, LAYERS, &call), -EINVAL, "call 12");
	FAILS(vrdu_graph_call(g, &call), -EINVAL, "another context");
	FAILS(vrdu_graph_transient(g, s.x), -EINVAL, "another context");
	FAILS(vrdu_graph_create(NULL, &g), -EINVAL, "no context");
	vrdu_graph_unref(g);
	vrdu_context_unref(other);
	stack_drop(&s);
}

/* Run @g in a context of its own making; contents of state and x into @out. */
static struct vrdu_context_status run_way(bool loop, bool unroll, uint32_t batch, char *out)
{
	struct vrdu_context_status st, before;
	struct vrdu_graph *looped, *back;
	struct vrdu_context *ctx;
	struct stack s;

	OK(vrdu_context_create(cts.dev, &ctx));
	stack_make(ctx, &s);
	stack_record(&s);
	before = status(ctx);
	if (!loop) {
		OK(kit_launch(ctx, s.g, batch));
	} else {
		OK(vrdu_looping_apply(s.g, NULL, &looped));
		assert_int_equal(vrdu_graph_calls(looped), 1);
		if (unroll) {
			OK(vrdu_looping_unroll(looped, &back));
			assert_int_equal(vrdu_graph_calls(back), LAYERS);
			OK(kit_launch(ctx, back, batch));
			vrdu_graph_unref(back);
		} else {
			OK(kit_launch(ctx, looped, batch));
		}
		vrdu_graph_unref(looped);
	}
	st = status(ctx);
	st.counters.calls -= before.counters.calls;
	OK(vrdu_bo_read(s.state, 0, out, LAYERS * 128));
	OK(vrdu_bo_read(s.x, 0, out + LAYERS * 128, 128));
	stack_drop(&s);
	vrdu_context_unref(ctx);
	return st;
}

static void test_looping(void **state)
{
	static char bits[4][LAYERS * 128 + 128];
	struct vrdu_context_status one, batch, loop, back;

	(void)state;
	one = run_way(false, false, 1, bits[0]);
	batch = run_way(false, false, 0, bits[1]);
	loop = run_way(true, false, 0, bits[2]);
	back = run_way(true, true, 0, bits[3]);
	assert_memory_equal(bits[0], bits[1], sizeof(bits[0]));
	assert_memory_equal(bits[0], bits[2], sizeof(bits[0]));
	assert_memory_equal(bits[0], bits[3], sizeof(bits[0]));
	assert_int_equal(one.counters.calls, LAYERS);
	assert_int_equal(batch.counters.calls, LAYERS);
	assert_int_equal(back.counters.calls, LAYERS);
	assert_int_equal(loop.counters.calls, 1);
	assert_int_equal(loop.counters.runs, 1);
	assert_int_equal(loop.counters.iterations, LAYERS);
	/* One program load, one argument load, x read and written once. */
	assert_true(loop.counters.arg_load_ps < batch.counters.arg_load_ps);
	assert_int_equal(batch.counters.hbm_read_bytes - loop.counters.hbm_read_bytes,
			 (LAYERS - 1) * 128);
	assert_int_equal(batch.counters.hbm_write_bytes - loop.counters.hbm_write_bytes,
			 (LAYERS - 1) * 128);
	assert_true(loop.counters.busy_ps < batch.counters.busy_ps);
}

/* [stack, shift]: a loop in a loop. */
static void test_nested(void **state)
{
	struct vrdu_program *shift = kit_add(*state, "shift", 32, 1, true);
	struct vrdu_graph *looped;
	struct stack s;
	uint32_t i;

	stack_make(*state, &s);
	for (i = 0; i < 5; i++) {
		stack_record(&s);
		kit_record(s.g, shift, (struct vrdu_arg[]){ { s.x, 0 }, { s.w, i * 128 } }, 2);
	}
	OK(vrdu_looping_apply(s.g, NULL, &looped));
	assert_int_equal(vrdu_graph_calls(looped), 1);
	OK(kit_launch(*state, looped, 0));
	assert_int_equal(status(*state).counters.calls, 1);
	assert_int_equal(status(*state).counters.runs, 10);
	assert_int_equal(status(*state).counters.iterations, 5 * (LAYERS + 1));
	vrdu_graph_unref(looped);
	vrdu_program_unref(shift);
	stack_drop(&s);
}

/* A wait inside the run forbids the loop over it, and the report says so. */
static void test_boundary_forbids(void **state)
{
	struct vrdu_loop_candidate c;
	struct vrdu_loop_report *r;
	struct vrdu_graph *looped;
	struct stack s;

	stack_make(*state, &s);
	stack_record(&s);
	OK(vrdu_graph_boundary(s.g, VRDU_BOUNDARY_READBACK));
	stack_record(&s);
	OK(vrdu_looping_analyze(s.g, NULL, &r));
	OK(vrdu_loop_report_at(r, 0, &c));
	assert_false(c.taken);
	assert_int_equal(c.trips, 2 * LAYERS);
	assert_non_null(strstr(c.reason, "reads results before call 12"));
	FAILS(vrdu_loop_report_at(r, vrdu_loop_report_count(r), &c), -EINVAL, "candidate");
	vrdu_loop_report_unref(r);
	OK(vrdu_looping_apply(s.g, NULL, &looped));
	assert_int_equal(vrdu_graph_calls(looped), 2);
	OK(kit_launch(*state, looped, 0));
	vrdu_graph_unref(looped);
	stack_drop(&s);
}

/* A fault in iteration k names k and the node. */
static void test_fault_in_loop(void **state)
{
	struct vrdu_bo *w = kit_bo(*state, LAYERS * 4096, VRDU_BO_PHANTOM);
	struct vrdu_context_status st;
	struct vrdu_graph *looped;
	struct stack s;
	uint32_t i;

	stack_make(*state, &s);
	for (i = 0; i < LAYERS; i++)
		kit_record(s.g, s.layer, (struct vrdu_arg[]){
			   { s.x, 0 }, { i < 7 ? s.w : w, i * 4096 }, { s.state, i * 128 } }, 3);
	OK(vrdu_looping_apply(s.g, NULL, &looped));
	assert_int_equal(vrdu_graph_calls(looped), 1);
	FAILS(kit_launch(*state, looped, 0), -EFAULT, "iteration 7");
	st = status(*state);
	assert_int_equal(st.fault.code, VRDU_FAULT_READ);
	assert_int_equal(st.fault.iteration, 7);
	assert_int_equal(st.fault.address, vrdu_bo_address(w) + 7 * 4096);
	vrdu_graph_unref(looped);
	vrdu_bo_unref(w);
	stack_drop(&s);
}

CTS_TABLE(graph, T(test_launch), T(test_frozen), T(test_boundaries), T(test_refuses),
	  T(test_looping), T(test_nested), T(test_boundary_forbids), T(test_fault_in_loop));
