// SPDX-License-Identifier: MIT
/*
 * Conformance: timelines and deadlines.
 */
#include "cts.h"

#include <time.h>

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static struct vrdu_timeline *timeline(uint64_t value)
{
	struct vrdu_timeline *t;

	OK(vrdu_timeline_create(cts.dev, value, &t));
	return t;
}

static uint64_t value_of(struct vrdu_timeline *t)
{
	uint64_t v = ~0ull;

	OK(vrdu_timeline_query(t, &v));
	return v;
}

static void test_timeline(void **state)
{
	struct vrdu_timeline *t = timeline(0), *u = timeline(41);

	(void)state;
	assert_int_equal(value_of(t), 0);
	assert_int_equal(value_of(u), 41);
	OK(vrdu_timeline_wait(u, 41, 0));
	OK(vrdu_timeline_wait(u, 0, 0));
	FAILS(vrdu_timeline_wait(u, 42, 0), -ETIME, "point 42");
	OK(vrdu_timeline_signal(t, 7));
	assert_int_equal(value_of(t), 7);
	OK(vrdu_timeline_wait(t, 3, INT64_MAX));
	FAILS(vrdu_timeline_signal(t, 7), -EINVAL, "not after");
	FAILS(vrdu_timeline_signal(t, 0), -EINVAL, "timeline");
	FAILS(vrdu_timeline_wait(t, 8, -1), -EINVAL, "negative");
	FAILS(vrdu_timeline_query(t, NULL), -EINVAL, "timeline");
	vrdu_timeline_unref(vrdu_timeline_ref(t));
	vrdu_timeline_unref(t);
	vrdu_timeline_unref(u);
	vrdu_timeline_unref(NULL);
}

/* A deadline in the future is kept: not before, and not much later. */
static void test_deadline(void **state)
{
	struct vrdu_timeline *t = timeline(0);
	int64_t start = now();

	(void)state;
	FAILS(vrdu_timeline_wait(t, 1, start + 20000000), -ETIME, "point 1");
	assert_true(now() >= start + 20000000);
	/* A deadline of the past polls. */
	FAILS(vrdu_timeline_wait(t, 1, 1), -ETIME, "point 1");
	vrdu_timeline_unref(t);
}

struct adder {
	struct vrdu_program *prog;
	struct vrdu_bo *x;
	struct vrdu_bo *w;
	struct vrdu_arg args[2];
	struct vrdu_call call;
};

static void adder_make(struct vrdu_context *ctx, struct adder *a)
{
	a->prog = kit_add(ctx, "add", N, 4, true);
	a->x = kit_bo(ctx, B, 0);
	a->w = kit_bo(ctx, B, 0);
	fill(a->w, 0, N, 1, 0);
	a->args[0] = (struct vrdu_arg){ a->x, 0 };
	a->args[1] = (struct vrdu_arg){ a->w, 0 };
	a->call = (struct vrdu_call){ .prog = a->prog, .args = a->args, .arg_count = 2 };
}

static void adder_drop(struct adder *a)
{
	vrdu_program_unref(a->prog);
	vrdu_bo_unref(a->x);
	vrdu_bo_unref(a->w);
}

static void test_signals(void **state)
{
	struct vrdu_timeline *t = timeline(0), *u = timeline(5);
	struct vrdu_point out[] = { { t, 3 }, { u, 9 } };
	struct adder a;
	uint64_t seqno;

	adder_make(*state, &a);
	OK(vrdu_submit(*state, &a.call, 1, NULL, 0, out, 2, &seqno));
	OK(vrdu_timeline_wait(t, 3, INT64_MAX));
	OK(vrdu_timeline_wait(u, 9, INT64_MAX));
	/* The call was complete when its points were. */
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	expect_floats(a.x, 0, N, 1, 0);
	assert_int_equal(value_of(t), 3);
	assert_int_equal(value_of(u), 9);
	adder_drop(&a);
	vrdu_timeline_unref(t);
	vrdu_timeline_unref(u);
}

/* A chain through two contexts, in which each waits for the other. */
static void test_chain(void **state)
{
	struct vrdu_timeline *t = timeline(0);
	struct vrdu_context *ctx[2] = { *state };
	struct adder a[2];
	uint64_t seqno[2];
	uint32_t i;

	OK(vrdu_context_create(cts.dev, &ctx[1]));
	adder_make(ctx[0], &a[0]);
	adder_make(ctx[1], &a[1]);
	for (i = 0; i < 20; i++) {
		struct vrdu_point in = { t, i }, out = { t, i + 1 };

		OK(vrdu_submit(ctx[i & 1], &a[i & 1].call, 1, &in, i > 0, &out, 1, &seqno[i & 1]));
	}
	OK(vrdu_timeline_wait(t, 20, INT64_MAX));
	OK(vrdu_wait(ctx[0], seqno[0], INT64_MAX));
	OK(vrdu_wait(ctx[1], seqno[1], INT64_MAX));
	expect_floats(a[0].x, 0, N, 10, 0);
	expect_floats(a[1].x, 0, N, 10, 0);
	adder_drop(&a[0]);
	adder_drop(&a[1]);
	vrdu_context_unref(ctx[1]);
	vrdu_timeline_unref(t);
}

/* Points that nothing signals yet cannot be waited for by the device. */
static void test_refuses(void **state)
{
	struct vrdu_timeline *t = timeline(2);
	struct vrdu_point in = { t, 3 }, many[80];
	struct adder a;
	uint64_t seqno;
	uint32_t i;

	adder_make(*state, &a);
	for (i = 0; i < 80; i++)
		many[i] = (struct vrdu_point){ t, 10 + i };
	FAILS(vrdu_submit(*state, &a.call, 1, &in, 1, NULL, 0, NULL), -EINVAL, "submit");
	FAILS(vrdu_submit(*state, &a.call, 1, NULL, 0, many, 64, NULL), -EINVAL, "limit 63");
	FAILS(vrdu_submit(*state, &a.call, 1, NULL, 3, NULL, 0, NULL), -EINVAL, "no waits");
	in.value = 0;
	FAILS(vrdu_submit(*state, &a.call, 1, NULL, 0, &in, 1, NULL), -EINVAL, "point 0");
	in.timeline = NULL;
	FAILS(vrdu_submit(*state, &a.call, 1, &in, 1, NULL, 0, NULL), -EINVAL, "no timeline");
	assert_int_equal(value_of(t), 2);
	in = (struct vrdu_point){ t, 2 };
	OK(vrdu_submit(*state, &a.call, 1, &in, 1, many, 63, &seqno));
	OK(vrdu_timeline_wait(t, 72, INT64_MAX));
	OK(vrdu_wait(*state, seqno, INT64_MAX));
	expect_floats(a.x, 0, N, 1, 0);
	adder_drop(&a);
	vrdu_timeline_unref(t);
}

/* Points are reached also when the call fails: nobody waits for ever. */
static void test_failure_signals(void **state)
{
	struct vrdu_timeline *t = timeline(0);
	struct vrdu_point out = { t, 1 };
	struct adder a;
	uint64_t seqno;

	adder_make(*state, &a);
	a.args[1] = a.args[0];
	OK(vrdu_submit(*state, &a.call, 1, NULL, 0, &out, 1, &seqno));
	OK(vrdu_timeline_wait(t, 1, INT64_MAX));
	FAILS(vrdu_wait(*state, seqno, INT64_MAX), -EINVAL, "overlap");
	adder_drop(&a);
	vrdu_timeline_unref(t);
}

CTS_TABLE(sync, T(test_timeline), T(test_deadline), T(test_signals), T(test_chain),
	  T(test_refuses), T(test_failure_signals));
