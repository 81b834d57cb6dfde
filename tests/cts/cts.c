// SPDX-License-Identifier: MIT
/*
 * Conformance suite of libvrdu, for one backend:
 *
 *   cts SELECTOR [--times]
 *
 * SELECTOR as for vrdu_device_open(): "sim", "sim:tiny", a number, a path.
 * Prints TAP. --times prints modelled times, which must be the same on every
 * backend of a profile, as "# time NAME PICOSECONDS".
 */
#include "cts.h"

struct cts cts;

int cts_setup(void **state)
{
	struct vrdu_context *ctx;

	OK(vrdu_context_create(cts.dev, &ctx));
	*state = ctx;
	return 0;
}

int cts_teardown(void **state)
{
	vrdu_context_unref(*state);
	return 0;
}

/* All tables one behind the other: one plan. */
static int run_all(void)
{
	const struct {
		const struct CMUnitTest *tests;
		size_t n;
	} groups[] = {
		{ cts_device_tests, cts_device_count },
		{ cts_memory_tests, cts_memory_count },
		{ cts_program_tests, cts_program_count },
		{ cts_submit_tests, cts_submit_count },
		{ cts_fault_tests, cts_fault_count },
		{ cts_sync_tests, cts_sync_count },
		{ cts_graph_tests, cts_graph_count },
	};
	struct CMUnitTest all[256];
	size_t n = 0, i, k;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (k = 0; k < groups[i].n && n < sizeof(all) / sizeof(all[0]); k++)
			all[n++] = groups[i].tests[k];
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests(cts.selector, all, n, NULL, NULL);
}

int main(int argc, char **argv)
{
	int ret;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "--times"))) {
		fprintf(stderr, "usage: %s SELECTOR [--times]\n", argv[0]);
		return 2;
	}
	cts.selector = argv[1];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (vrdu_device_open(cts.selector, NULL, &cts.dev)) {
		fprintf(stderr, "%s: %s\n", cts.selector, vrdu_last_error());
		return 1;
	}
	vrdu_device_get_info(cts.dev, &cts.info, sizeof(cts.info));
	ret = argc == 3 ? cts_times() : run_all();
	vrdu_device_unref(cts.dev);
	return ret;
}
