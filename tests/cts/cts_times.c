// SPDX-License-Identifier: MIT
/*
 * Modelled times of a set of programs, for comparing backends: a profile and a
 * program determine them to the picosecond.
 */
#include "cts.h"

/* A pattern of calls; each in a context of its own, after a program that clears the fabric. */
static const struct {
	const char *name;
	uint32_t floats;	/* of a vector */
	uint32_t tile;
	uint32_t calls;
	bool loop;
} cases[] = {
	{ "one", 256, 1, 1, false },
	{ "whole", 256, 0, 1, false },
	{ "large", 65536, 16, 1, false },
	{ "eight", 4096, 4, 8, false },
	{ "eight-looped", 4096, 4, 8, true },
	{ "hundred", 256, 2, 100, false },
	{ "hundred-looped", 256, 2, 100, true },
	{ "wide-looped", 16384, 64, 16, true },
};

static uint64_t measure(uint32_t i)
{
	uint32_t bytes = cases[i].floats * 4, k;
	struct vrdu_program *add, *clear;
	struct vrdu_graph *g, *looped;
	struct vrdu_context *ctx;
	struct vrdu_bo *x, *w;
	uint64_t busy;

	OK(vrdu_context_create(cts.dev, &ctx));
	add = kit_add(ctx, cases[i].name, cases[i].floats, cases[i].tile, true);
	clear = kit_add(ctx, "clear", 16, 1, true);
	x = kit_bo(ctx, bytes, 0);
	w = kit_bo(ctx, (uint64_t)cases[i].calls * bytes, 0);
	OK(run(ctx, clear, (struct vrdu_arg[]){ { x, 0 }, { w, 0 } }, 2));
	OK(vrdu_graph_create(ctx, &g));
	for (k = 0; k < cases[i].calls; k++)
		kit_record(g, add, (struct vrdu_arg[]){ { x, 0 }, { w, (uint64_t)k * bytes } }, 2);
	if (cases[i].loop) {
		OK(vrdu_looping_apply(g, NULL, &looped));
		vrdu_graph_unref(g);
		g = looped;
	}
	busy = status(ctx).counters.busy_ps;
	OK(kit_launch(ctx, g, 0));
	busy = status(ctx).counters.busy_ps - busy;
	vrdu_graph_unref(g);
	vrdu_bo_unref(x);
	vrdu_bo_unref(w);
	vrdu_program_unref(add);
	vrdu_program_unref(clear);
	vrdu_context_unref(ctx);
	return busy;
}

static void print_times(void **state)
{
	uint32_t i;

	(void)state;
	printf("# profile %s\n", cts.info.profile);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		printf("# time %s %" PRIu64 "\n", cases[i].name, measure(i));
}

int cts_times(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(print_times) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("times", tests, 1, NULL, NULL);
}
