// SPDX-License-Identifier: MIT
/*
 * Verifier: deadlock freedom. Small nets whose buffers are just deep enough or
 * one tile too small; and random nets, to hold the verifier to its reasoning:
 *
 *  - it judges the largest extents only, so every smaller size must be fine;
 *  - it plays two iterations, so the device must get through any number.
 */
#include "test_verify.h"

/* ---- single nets ----------------------------------------------------- */

/* Attention whose probabilities are multiplied by the scores they come from. */
static struct mk *fork_join(uint32_t depth)
{
	struct mk *m = mk_attention(64, 1);

	mk_transposed(m, "mixed", 2, 1, STREAM("probs")->rows, 16, 4);
	mk_ew(m, "mix", VRDU_EW_MUL, 9, 8, 11);
	NODE("sum")->in[0] = 11;
	STREAM("scores")->depth = depth;
	return m;
}

static void fork_and_join(void **state)
{
	(void)state;
	/* Softmax gives nothing before it has all 4 tiles, the product frees none before. */
	ACCEPT(fork_join(4), AS_IS);
	REFUSE(fork_join(3), AS_IS,
	       "attn: node 8 \"scores\" (attn_scores): deadlock: stalls at firing 3 of 4 in iteration 0: "
	       "out0 \"scores\" is full with 3 tiles, and node 12 \"mix\" waits for this node before it");
	/* 3 tiles are enough for 48 rows. */
	ACCEPT(fork_join(3), m->extents[1].max = 48);
	REFUSE(fork_join(3), m->extents[1].max = 49, "out0 \"scores\" is full with 3 tiles");
	REFUSE(fork_join(1), m->extents[1].max = 17, "out0 \"scores\" is full with 1 tiles");
	ACCEPT(fork_join(1), m->extents[1].max = 16);
}

static void cycles(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), NODE("angles")->in[0] = 13, "deadlock: stalls at firing 0 of",
	       "is empty, and");
	/* A node that reads what it writes. */
	REFUSE(mk_add(), (NODE("add")->in[1] = 2, mk_store(m, "sty",
	       mk_agu(m, mk_symbol(m, "copy", MK_W, 2048), 0, 64), 1)),
	       "main: node 2 \"add\" (ew): deadlock: stalls at firing 0 of 4 in iteration 0: in1 \"sz\" is "
	       "empty, and node 2 \"add\", which fills it, waits for this node");
}

/* A carry that feeds itself. */
static struct mk *hold_on(uint16_t depth, uint32_t trips)
{
	struct mk *m = mk_new("hold");
	struct vrdu_node *n;

	mk_section(m, "loop");
	mk_symbol(m, "x", MK_RW, 256);
	mk_stream(m, "s", VRDU_ELEM_F32, depth, 1, mk_extent(m, 4), 4, 16);
	n = mk_node(m, "carry", VRDU_NODE_CARRY, 0, -1, -1, 0);
	n->agu = mk_agu(m, 0, 0, 64);
	n->agu2 = mk_agu(m, 0, 0, 64);
	mk_loop(m, mk_extent(m, trips));
	mk_run(m, 0);
	mk_end(m);
	return m;
}

static void carried(void **state)
{
	(void)state;
	ACCEPT(mk_accumulate(1), STREAM("old")->depth = 1);
	/* Once: given, taken. Twice: a tile is given while the one before is still there. */
	ACCEPT(hold_on(1, 1), AS_IS);
	REFUSE(hold_on(1, 2), AS_IS,
	       "loop: node 0 \"carry\" (carry): deadlock: stalls at firing 0 of 1 in iteration 1: out0 \"s\" "
	       "is full with 1 tiles, and node 0 \"carry\" waits for this node");
	ACCEPT(hold_on(2, 2), AS_IS);
	ACCEPT(hold_on(2, 1000), AS_IS);
}

static void too_large(void **state)
{
	(void)state;
	/* 4 nodes of 4 firings a group. */
	ACCEPT(mk_add(), STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 65536);
	REFUSE(mk_add(), STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 65537,
	       "main: too large to prove free of deadlock: 1048592 firings in 1 iterations");
	/* In a loop, twice as many. */
	REFUSE(mk_add(), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 32769,
			  m->n_seq = 0, mk_loop(m, mk_extent(m, 9)), mk_run(m, 0), mk_end(m)),
	       "main: too large to prove free of deadlock: 1048608 firings in 2 iterations");
}

/* Two sections share the budget. */
static void too_large_together(void **state)
{
	uint32_t outer, i;

	(void)state;
	for (outer = 32768; outer <= 32769; outer++) {
		struct mk *m = mk_add();

		mk_section(m, "more");
		for (i = 0; i < 2; i++)
			mk_stream(m, i ? "b" : "a", VRDU_ELEM_F32, 2, 1, 0, 8, 16);
		mk_load(m, "lda", mk_agu(m, 0, 0, 64), 3);
		mk_load(m, "ldb", mk_agu(m, 0, 0, 64), 4);
		mk_store(m, "sta", mk_agu(m, mk_symbol(m, "a", MK_W, 2048), 0, 64), 3);
		mk_store(m, "stb", mk_agu(m, mk_symbol(m, "b", MK_W, 2048), 0, 64), 4);
		mk_run(m, 1);
		for (i = 0; i < m->n_streams; i++)
			m->streams[i].outer = outer;
		if (outer == 32768)
			ACCEPT(m, AS_IS);
		else
			REFUSE(m, AS_IS, "more: too large to prove free of deadlock: 524304 firings "
			       "in 1 iterations, up to here 1048608");
	}
}

/* ---- random nets ----------------------------------------------------- */

#define MAX_ROWS	11
#define MEMORY		0x10000

struct rng {
	uint64_t s;
};

static uint32_t below(struct rng *r, uint32_t n)
{
	r->s = r->s * 6364136223846793005ull + 1442695040888963407ull;
	return (r->s >> 33) % n;
}

/*
 * A net of streams of n rows: scores from keys, sums and softmaxes of earlier
 * streams, and a store for what nobody reads; n is read from memory if @rows is
 * 0. The same seed gives the same net.
 */
static struct mk *random_net(uint64_t seed, uint32_t rows, uint32_t trips)
{
	struct rng r = { seed };
	struct mk *m = mk_new("random");
	int par = mk_symbol(m, "par", MK_R, 16), x = mk_symbol(m, "x", MK_R, 4096), n, one;
	uint32_t tile = 1 + below(&r, 4), outer = 1 + below(&r, 2), nodes = 2 + below(&r, 10);
	uint32_t i, first, used[40] = { 0 };
	char name[16];

	n = rows ? mk_extent(m, rows) : mk_param(m, par, 0, 0, 1, MAX_ROWS);
	one = mk_extent(m, outer);
	mk_section(m, "net");
	mk_stream(m, "q", VRDU_ELEM_F32, 1 + below(&r, 2), 1, one, outer, 2);
	mk_load(m, "ldq", mk_agu(m, x, 0, 8), 0);
	mk_stream(m, "k", VRDU_ELEM_F32, 1 + below(&r, 3), outer, n, tile, 2);
	mk_load(m, "ldk", mk_agu(m, x, 0, 8), 1);
	for (i = 0; i < 2; i++) {
		struct vrdu_node *node;
		int s;

		snprintf(name, sizeof(name), "s%u", i);
		s = mk_transposed(m, name, 1 + below(&r, 6), outer, n, tile, 1);
		node = mk_node(m, name, VRDU_NODE_ATTN_SCORES, 0, 1, -1, s);
		node->p[0] = 1;
		node->p[1] = 1;
		node->p[2] = 2;
	}
	first = 2;
	for (i = 0; i < nodes; i++) {
		uint32_t have = m->n_streams - first;
		int a = first + below(&r, have), b = first + below(&r, have), s;

		snprintf(name, sizeof(name), "n%u", i);
		s = mk_transposed(m, name, 1 + below(&r, 6), outer, n, tile, 1);
		used[a] = 1;
		if (below(&r, 3) == 0) {
			mk_node(m, name, VRDU_NODE_SOFTMAX, a, -1, -1, s);
		} else {
			used[b] = 1;
			mk_ew(m, name, VRDU_EW_ADD, a, b, s);
		}
	}
	nodes = m->n_streams;
	for (i = first; i < nodes; i++) {
		struct vrdu_node *node;
		int s, y;

		if (used[i])
			continue;
		snprintf(name, sizeof(name), "y%u", i);
		y = mk_symbol(m, name, MK_W, 64ull * trips);
		s = mk_stream(m, name, VRDU_ELEM_F32, 1 + below(&r, 2), 1, one, outer, 2);
		node = mk_node(m, name, VRDU_NODE_ATTN_VALUES, i, 1, -1, s);
		node->p[0] = 1;
		node->p[1] = 1;
		node->p[2] = 2;
		mk_store(m, "st", mk_agu(m, y, 0, 8), s);
		m->agus[m->n_agus - 1].loop_stride[0] = 64;
	}
	mk_loop(m, mk_extent(m, trips));
	mk_run(m, 0);
	mk_end(m);
	return m;
}

static int judge(struct mk *m, char *text, size_t room)
{
	uint32_t size;
	void *image = mk_image(m, &size);
	int ret = verify(image, size, m->profile, text, room);

	free(image);
	mk_free(m);
	return ret;
}

static uint8_t memory[MEMORY] __attribute__((aligned(64)));

static void *translate(void *vm, u64 addr, u64 len, u32 access)
{
	(void)vm;
	(void)access;
	return addr < MEMORY && len <= MEMORY - addr ? memory + addr : NULL;
}

/* Run an accepted net with every number of rows: the device must reach the end. */
static void run_all_sizes(struct mk *m, uint32_t trips)
{
	static const struct fm_host_ops ops = { .translate = translate };
	u64 args[VRDU_MAX_SYMBOLS];
	struct fm_call call = { .id = 1, .args = args };
	struct vrdu_counters counters = { 0 };
	struct vrdu_fault_info fault;
	struct fm_device *dev;
	uint32_t size, i;
	void *image = mk_image(m, &size);

	assert_int_equal(fm_program_create(image, size, m->profile, NULL, &call.prog), 0);
	assert_int_equal(fm_device_create(m->profile, &ops, NULL, 0, &dev), 0);
	call.arg_count = fm_program_symbols(call.prog);
	for (i = 0; i < call.arg_count; i++)
		args[i] = 4096 * i;
	for (i = 1; i <= MAX_ROWS; i++) {
		*(u32 *)memory = i;
		assert_int_equal(fm_device_run(dev, &call, &fault, &counters), 0);
	}
	assert_int_equal(counters.iterations, MAX_ROWS * trips);
	fm_device_destroy(dev);
	fm_program_destroy(call.prog);
	free(image);
	mk_free(m);
}

static void random_nets(void **state)
{
	uint32_t accepted = 0, refused = 0, seed, rows;
	char text[1024];

	(void)state;
	for (seed = 0; seed < 1000; seed++) {
		int all = judge(random_net(seed, 0, 3), text, sizeof(text)), ret = 0;

		if (all && !strstr(text, "deadlock"))
			fail_msg("seed %u: %s", seed, text);
		for (rows = 1; rows <= MAX_ROWS; rows++) {
			int was = ret;

			ret = judge(random_net(seed, rows, 3), text, sizeof(text));
			/* What does not fit does not fit with more rows either. */
			if (was && !ret)
				fail_msg("seed %u: %u rows are refused, %u are not", seed, rows - 1,
					 rows);
		}
		assert_int_equal(all, ret);
		if (all) {
			refused++;
			continue;
		}
		accepted++;
		run_all_sizes(random_net(seed, 0, 7), 7);
	}
	/* Both happen, and often. */
	assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_and_join),
		cmocka_unit_test(cycles),
		cmocka_unit_test(carried),
		cmocka_unit_test(too_large),
		cmocka_unit_test(too_large_together),
		cmocka_unit_test(random_nets),
	};

	return cmocka_run_group_tests_name("verify-flow", tests, NULL, NULL);
}
