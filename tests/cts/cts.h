/* SPDX-License-Identifier: MIT */
/*
 * The conformance suite: one set of tests over the public API, for every
 * backend. Each file has a table of tests; each test gets a fresh context.
 */
#ifndef CTS_H
#define CTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kit.h"

/**
 * struct cts - the device under test.
 * @selector: As given to vrdu_device_open().
 * @dev: Device.
 * @info: Its facts.
 */
struct cts {
	const char *selector;
	struct vrdu_device *dev;
	struct vrdu_device_info info;
};

extern struct cts cts;

int cts_setup(void **state);
int cts_teardown(void **state);

#define T(name)	cmocka_unit_test_setup_teardown(name, cts_setup, cts_teardown)

extern const struct CMUnitTest cts_device_tests[], cts_memory_tests[], cts_program_tests[],
	cts_submit_tests[], cts_fault_tests[], cts_sync_tests[], cts_graph_tests[];
extern const size_t cts_device_count, cts_memory_count, cts_program_count, cts_submit_count,
	cts_fault_count, cts_sync_count, cts_graph_count;

#define CTS_TABLE(group, ...)							\
	const struct CMUnitTest cts_##group##_tests[] = { __VA_ARGS__ };	\
	const size_t cts_##group##_count = sizeof(cts_##group##_tests) / sizeof(struct CMUnitTest)

#define N	256u		/* floats of a test's vector */
#define B	(N * 4)		/* its bytes */

/* Status of @ctx. */
static inline struct vrdu_context_status status(struct vrdu_context *ctx)
{
	struct vrdu_context_status s;

	OK(vrdu_context_get_status(ctx, &s, sizeof(s)));
	return s;
}

/* Submit one call and wait for it. Return: what the wait says. */
static inline int run(struct vrdu_context *ctx, struct vrdu_program *prog,
		      const struct vrdu_arg *args, uint32_t n)
{
	struct vrdu_call call = { .prog = prog, .args = args, .arg_count = n };
	uint64_t seqno = 0;

	OK(vrdu_submit(ctx, &call, 1, NULL, 0, NULL, 0, &seqno));
	return vrdu_wait(ctx, seqno, INT64_MAX);
}

static inline void fill(struct vrdu_bo *bo, uint64_t offset, uint32_t n, float first, float step)
{
	float f;
	uint32_t i;

	for (i = 0; i < n; i++) {
		f = first + step * i;
		OK(vrdu_bo_write(bo, offset + 4 * i, &f, 4));
	}
}

static inline void expect_floats(struct vrdu_bo *bo, uint64_t offset, uint32_t n, float first,
				 float step)
{
	float f;
	uint32_t i;

	for (i = 0; i < n; i++) {
		OK(vrdu_bo_read(bo, offset + 4 * i, &f, 4));
		if (f != first + step * i)
			fail_msg("float %u is %g, expected %g", i, (double)f,
				 (double)(first + step * i));
	}
}

/* cts_times.c: print modelled times instead of testing. */
int cts_times(void);

#endif /* CTS_H */
