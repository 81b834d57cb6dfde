/* SPDX-License-Identifier: MIT */
/*
 * What the tests of kernel looping share: a device, and expectations about the
 * candidates of a graph.
 */
#ifndef TEST_LOOPING_H
#define TEST_LOOPING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../cts/kit.h"

#define N	64u		/* floats of a test's vector */
#define B	(N * 4)		/* its bytes */

static struct vrdu_device *dev;

static inline int setup(void **state)
{
	struct vrdu_context *ctx;

	OK(vrdu_context_create(dev, &ctx));
	*state = ctx;
	return 0;
}

static inline int teardown(void **state)
{
	vrdu_context_unref(*state);
	return 0;
}

static inline struct vrdu_graph *graph(struct vrdu_context *ctx)
{
	struct vrdu_graph *g;

	OK(vrdu_graph_create(ctx, &g));
	return g;
}

/* Candidate @i of @g by @opts; the caller drops the report. */
static inline struct vrdu_loop_candidate candidate(struct vrdu_graph *g,
					    const struct vrdu_looping_opts *opts, uint32_t i,
					    struct vrdu_loop_report **report)
{
	struct vrdu_loop_candidate c;

	OK(vrdu_looping_analyze(g, opts, report));
	OK(vrdu_loop_report_at(*report, i, &c));
	return c;
}

static inline void expect_args(const struct vrdu_loop_candidate *c,
			       const enum vrdu_arg_class *kinds)
{
	uint32_t i;

	for (i = 0; i < c->arg_count; i++)
		if (c->args[i].kind != kinds[i])
			fail_msg("argument \"%s\" is of class %u, expected %u: %s",
				 c->args[i].symbol, c->args[i].kind, kinds[i], c->args[i].reason);
}

/* Calls, programs and arguments of two graphs are the same. */
static inline void expect_same(const struct vrdu_graph *a, const struct vrdu_graph *b)
{
	struct vrdu_call x, y;
	uint32_t i, k;

	assert_int_equal(vrdu_graph_calls(a), vrdu_graph_calls(b));
	for (i = 0; i < vrdu_graph_calls(a); i++) {
		OK(vrdu_graph_get_call(a, i, &x));
		OK(vrdu_graph_get_call(b, i, &y));
		assert_ptr_equal(x.prog, y.prog);
		assert_int_equal(x.flags, y.flags);
		assert_int_equal(x.arg_count, y.arg_count);
		for (k = 0; k < x.arg_count; k++) {
			assert_ptr_equal(x.args[k].bo, y.args[k].bo);
			assert_int_equal(x.args[k].offset, y.args[k].offset);
		}
	}
}

/* Taken: one candidate of @trips, @after calls remain, and unrolling undoes it. */
static inline void expect_taken(struct vrdu_graph *g, uint32_t i, uint32_t trips, uint32_t after,
			 const enum vrdu_arg_class *kinds)
{
	struct vrdu_loop_report *report;
	struct vrdu_loop_candidate c = candidate(g, NULL, i, &report);
	struct vrdu_graph *looped, *back;

	if (!c.taken)
		fail_msg("refused: %s", c.reason);
	assert_int_equal(c.trips, trips);
	if (kinds)
		expect_args(&c, kinds);
	vrdu_loop_report_unref(report);
	OK(vrdu_looping_apply(g, NULL, &looped));
	assert_int_equal(vrdu_graph_calls(looped), after);
	OK(vrdu_looping_unroll(looped, &back));
	expect_same(g, back);
	vrdu_graph_unref(back);
	vrdu_graph_unref(looped);
}

static inline void expect_refused_opts(struct vrdu_graph *g, const struct vrdu_looping_opts *opts,
				uint32_t i, const char *words)
{
	struct vrdu_loop_report *report;
	struct vrdu_loop_candidate c = candidate(g, opts, i, &report);

	if (c.taken)
		fail_msg("taken, expected \"%s\"", words);
	if (!strstr(c.reason, words))
		fail_msg("\"%s\" does not say \"%s\"", c.reason, words);
	vrdu_loop_report_unref(report);
}

static inline void expect_refused(struct vrdu_graph *g, const char *words)
{
	expect_refused_opts(g, NULL, 0, words);
}

#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)

#define run_on_sim(tests) ({							\
	int _ret = 1;								\
	if (vrdu_device_open("sim", NULL, &dev))				\
		fprintf(stderr, "%s\n", vrdu_last_error());			\
	else									\
		_ret = cmocka_run_group_tests(tests, NULL, NULL);		\
	vrdu_device_unref(dev);							\
	_ret;									\
})

#endif /* TEST_LOOPING_H */
