// SPDX-License-Identifier: MIT
/*
 * Kernel looping, by property: random programs in random graphs are run as
 * recorded, looped, and looped and unrolled again, each in a world of its own
 * with the same contents. All three must leave the same bits in every buffer
 * that is not transient, and fail alike if they fail. The looped way also fires
 * its nodes in a shuffled order.
 *
 * That the property has teeth is shown by leaving out a part of legality.
 */
#include "test_looping.h"

#define TRIALS		400u
#define BOS		5u
#define BO_BYTES	32768u
#define MAX_SYMS	16u

extern uint32_t vrdu_looping_unsafe;

static struct vrdu_device *shuffled;
static uint32_t first_seed = 1, trials = TRIALS;

enum role { ROLE_X, ROLE_W, ROLE_Y, ROLE_LOG, ROLE_STATE, ROLE_SIZE, ROLES };

/**
 * struct gen - a random program and what its arguments are for.
 * @prog: Program.
 * @n: Number of symbols.
 * @role: By symbol.
 * @bytes: By symbol.
 * @v: Bytes of its vectors.
 */
struct gen {
	struct vrdu_program *prog;
	uint32_t n;
	enum role role[MAX_SYMS];
	uint32_t bytes[MAX_SYMS];
	uint32_t v;
};

/**
 * struct world - a context with everything that a way of running needs.
 * @ctx: Context.
 * @bo: Buffers.
 * @gens: Programs.
 * @n_gens: Their number.
 * @transient: Bits of transient buffers.
 * @graph: As recorded.
 * @rng: Generator.
 */
struct world {
	struct vrdu_context *ctx;
	struct vrdu_bo *bo[BOS];
	struct gen gens[3];
	uint32_t n_gens;
	uint32_t transient;
	struct vrdu_graph *graph;
	uint64_t rng;
};

static bool chance(struct world *w, uint32_t percent)
{
	return kit_below(&w->rng, 100) < percent;
}

static uint32_t symbol(struct gen *g, struct vrdu_builder *b, enum role role, uint32_t access,
		       uint32_t bytes)
{
	static const char *const names[ROLES] = { "x", "w", "y", "log", "state", "size" };

	g->role[g->n] = role;
	g->bytes[g->n] = bytes;
	g->n++;
	return OK(vrdu_builder_symbol(b, names[role], access, bytes));
}

/* One section: acc = x; acc = op(acc, w) …; maybe a state, a log, a product. */
static void gen_section(struct world *w, struct gen *g, struct vrdu_builder *b,
			struct kit_shape s, bool in_place)
{
	static const uint32_t ops[] = { VRDU_EW_ADD, VRDU_EW_SUB, VRDU_EW_MUL, VRDU_EW_MAX };
	uint32_t acc, x, in, i, n = 1 + kit_below(&w->rng, 2);

	x = symbol(g, b, ROLE_X, in_place ? 3 : 1, g->v);
	acc = kit_load(b, x, 0, s);
	for (i = 0; i < n; i++) {
		in = kit_load(b, symbol(g, b, ROLE_W, 1, g->v), 0, s);
		acc = kit_ew(b, ops[kit_below(&w->rng, 4)], 0, acc, in, s);
	}
	if (!s.tile && chance(w, 30)) {
		struct kit_shape rows = {
			.elem = VRDU_ELEM_F32, .tile = 1 + kit_below(&w->rng, s.cols),
			.cols = s.cols, .rows = OK(vrdu_builder_extent(b, s.cols)),
		};

		in = kit_load(b, symbol(g, b, ROLE_W, 1, s.cols * s.cols * 4), 0, rows);
		acc = kit_matmul(b, acc, in, s.rows, s.cols);
	}
	if (chance(w, 25)) {
		uint32_t state = symbol(g, b, ROLE_STATE, 3, g->v);

		acc = kit_ew(b, VRDU_EW_ADD, 0, acc, kit_load(b, state, 0, s), s);
		kit_store(b, state, 0, acc);
	}
	if (chance(w, 25))
		kit_store(b, symbol(g, b, ROLE_LOG, 2, g->v), 0, acc);
	kit_store(b, in_place ? x : symbol(g, b, ROLE_Y, 2, g->v), 0, acc);
}

static void gen_program(struct world *w, struct gen *g)
{
	static const uint32_t cols[] = { 4, 16, 20 };
	struct vrdu_builder *b = kit_builder(w->ctx, "random");
	uint32_t rows = 1 + kit_below(&w->rng, 8);
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .cols = cols[kit_below(&w->rng, 3)],
		.tile = kit_below(&w->rng, 4), .depth = 1 + kit_below(&w->rng, 3),
	};

	g->n = 0;
	g->v = rows * s.cols * 4;
	if (s.tile > rows)
		s.tile = rows;
	if (chance(w, 15))
		s.rows = OK(vrdu_builder_extent_param(b, symbol(g, b, ROLE_SIZE, 1, 4), 0, 0, 1,
						      rows));
	else
		s.rows = OK(vrdu_builder_extent(b, rows));
	OK(vrdu_builder_section(b, "one"));
	gen_section(w, g, b, s, chance(w, 50));
	if (chance(w, 15)) {
		OK(vrdu_builder_section(b, "two"));
		gen_section(w, g, b, s, chance(w, 50));
	}
	g->prog = kit_program(w->ctx, b);
}

/**
 * struct path - where an argument goes, call after call.
 * @bo: Buffer, or the first of two for a ping-pong.
 * @base: First offset.
 * @stride: Bytes per call.
 * @outer: Bytes per repetition of the period.
 * @other: Ping-pong: the other buffer.
 * @pingpong: 0: no; 1: reads, 2: writes.
 * @scatter: Random places instead.
 */
struct path {
	uint32_t bo;
	uint32_t base;
	int32_t stride;
	int32_t outer;
	uint32_t other;
	uint32_t pingpong;
	bool scatter;
};

/* A place that keeps @bytes inside the buffer whatever the rest says. */
static struct vrdu_arg step(struct world *w, const struct path *p, uint32_t bytes, uint32_t i,
			    uint32_t k)
{
	uint32_t bo = p->bo, limit = BO_BYTES - bytes;
	int64_t at = p->base + (int64_t)p->stride * i + (int64_t)p->outer * k;

	if (p->pingpong)
		bo = (i + p->pingpong) & 1 ? p->bo : p->other;
	if (p->scatter)
		at = kit_below(&w->rng, limit / 4) * 4;
	if (at < 0 || at > limit)
		at = ((at % limit + limit) % limit) & ~3;
	return (struct vrdu_arg){ w->bo[bo], at };
}

/* How the arguments of @g move: mostly so that it can be looped, sometimes not. */
static void gen_paths(struct world *w, const struct gen *g, struct path *p)
{
	bool pingpong = chance(w, 35), history = !pingpong && chance(w, 20);
	uint32_t i, big;

	for (i = 0; i < g->n; i++) {
		enum role role = g->role[i];

		big = g->bytes[i] + kit_below(&w->rng, 3) * 16;
		p[i] = (struct path){ .bo = role % BOS, .base = kit_below(&w->rng, 64) * 16 };
		if (role == ROLE_SIZE) {
			/* Sizes live at the end of the last buffer, which is not written. */
			p[i].bo = BOS - 1;
			p[i].base = BO_BYTES - 4;
			continue;
		}
		if (role == ROLE_X && pingpong)
			p[i] = (struct path){ .bo = 0, .other = 2, .pingpong = 1 };
		else if (role == ROLE_Y && pingpong)
			p[i] = (struct path){ .bo = 0, .other = 2, .pingpong = 2 };
		else if (role == ROLE_X && history)
			p[i] = (struct path){ .bo = 0, .base = 0, .stride = g->v };
		else if (role == ROLE_Y && history)
			p[i] = (struct path){ .bo = 0, .base = g->v, .stride = g->v };
		else if (role == ROLE_STATE || role == ROLE_LOG || chance(w, 60))
			p[i].stride = role == ROLE_X ? 0 : (int32_t)big;
		if (chance(w, 10))
			p[i].stride = -p[i].stride;
		if (chance(w, 10))
			p[i].outer = big;
		if (chance(w, 4))
			p[i].stride /= 2;
		if (chance(w, 5))
			p[i].scatter = true;
		if (chance(w, 4))
			p[i].bo = kit_below(&w->rng, BOS - 1);
		if (chance(w, 2) && role != ROLE_W)
			p[i].stride = 0;
		p[i].stride &= ~3;
	}
}

static void gen_run(struct world *w, const struct gen *g, const struct path *p, uint32_t n,
		    uint32_t k)
{
	struct vrdu_arg args[MAX_SYMS];
	uint32_t i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < g->n; j++)
			args[j] = step(w, &p[j], g->bytes[j], i, k);
		kit_record(w->graph, g->prog, args, g->n);
		if (chance(w, 2))
			OK(vrdu_graph_boundary(w->graph, 1 + kit_below(&w->rng, 3)));
	}
}

/* A piece: a few runs, maybe repeated as a period. */
static void gen_piece(struct world *w)
{
	uint32_t runs = 1 + kit_below(&w->rng, 3);
	uint32_t times = chance(w, 50) ? 1 : 2 + kit_below(&w->rng, 3);
	uint32_t which[3], n[3], i, k;
	struct path paths[3][MAX_SYMS];

	for (i = 0; i < runs; i++) {
		which[i] = kit_below(&w->rng, w->n_gens);
		n[i] = chance(w, 40) ? 1 : 2 + kit_below(&w->rng, 5);
		gen_paths(w, &w->gens[which[i]], paths[i]);
	}
	for (k = 0; k < times; k++)
		for (i = 0; i < runs; i++)
			gen_run(w, &w->gens[which[i]], paths[i], n[i], k);
}

static void world_make(struct world *w, struct vrdu_device *d, uint64_t seed)
{
	static float contents[BO_BYTES / 4];
	uint32_t i, n, one = 1;

	memset(w, 0, sizeof(*w));
	w->rng = seed;
	OK(vrdu_context_create(d, &w->ctx));
	for (i = 0; i < BOS; i++) {
		w->bo[i] = kit_bo(w->ctx, BO_BYTES, 0);
		kit_floats(&w->rng, contents, BO_BYTES / 4);
		OK(vrdu_bo_write(w->bo[i], 0, contents, BO_BYTES));
	}
	OK(vrdu_bo_write(w->bo[BOS - 1], BO_BYTES - 4, &one, 4));
	OK(vrdu_graph_create(w->ctx, &w->graph));
	w->n_gens = 1 + kit_below(&w->rng, 3);
	for (i = 0; i < w->n_gens; i++)
		gen_program(w, &w->gens[i]);
	for (i = 0; i < BOS; i++) {
		if (!chance(w, 30))
			continue;
		w->transient |= 1u << i;
		OK(vrdu_graph_transient(w->graph, w->bo[i]));
	}
	for (n = 1 + kit_below(&w->rng, 3); n; n--)
		gen_piece(w);
}

static void world_free(struct world *w)
{
	uint32_t i;

	vrdu_graph_unref(w->graph);
	for (i = 0; i < w->n_gens; i++)
		vrdu_program_unref(w->gens[i].prog);
	for (i = 0; i < BOS; i++)
		vrdu_bo_unref(w->bo[i]);
	vrdu_context_unref(w->ctx);
}

/**
 * struct tally - what the trials met.
 * @taken: Candidates taken, by depth.
 * @refused: Candidates refused.
 * @failed: Trials whose original fails.
 * @kinds: Arguments of taken candidates by class.
 * @before: Calls recorded.
 * @after: Calls that remain.
 */
struct tally {
	uint32_t taken[2];
	uint32_t refused;
	uint32_t failed;
	uint32_t kinds[4];
	uint32_t before;
	uint32_t after;
};

static void count(struct vrdu_graph *g, struct tally *t)
{
	struct vrdu_loop_report *report;
	struct vrdu_loop_candidate c;
	uint32_t i, k;

	OK(vrdu_looping_analyze(g, NULL, &report));
	for (i = 0; i < vrdu_loop_report_count(report); i++) {
		OK(vrdu_loop_report_at(report, i, &c));
		assert_true(*c.reason);
		if (!c.taken) {
			t->refused++;
			continue;
		}
		t->taken[c.depth]++;
		for (k = 0; k < c.arg_count; k++) {
			assert_true(*c.args[k].reason);
			t->kinds[c.args[k].kind]++;
		}
	}
	vrdu_loop_report_unref(report);
}

static uint64_t calls_done(struct vrdu_context *ctx)
{
	struct vrdu_context_status s;

	OK(vrdu_context_get_status(ctx, &s, sizeof(s)));
	return s.counters.calls;
}

/* Do both worlds hold the same bits where somebody looks? */
static bool same_bits(struct world *a, struct world *b, uint32_t *bo, uint32_t *at)
{
	const char *p, *q;
	void *m;

	for (*bo = 0; *bo < BOS; ++*bo) {
		if (a->transient >> *bo & 1)
			continue;
		OK(vrdu_bo_map(a->bo[*bo], &m));
		p = m;
		OK(vrdu_bo_map(b->bo[*bo], &m));
		q = m;
		for (*at = 0; *at < BO_BYTES; *at += 4)
			if (memcmp(p + *at, q + *at, 4))
				return false;
	}
	return true;
}

/* For people who look at a seed that fails. */
static void show(struct vrdu_graph *g)
{
	struct vrdu_loop_report *report;
	struct vrdu_loop_candidate c;
	struct vrdu_call call;
	uint32_t i, k;

	for (i = 0; i < vrdu_graph_calls(g); i++) {
		OK(vrdu_graph_get_call(g, i, &call));
		print_message("# call %u:", i);
		for (k = 0; k < call.arg_count; k++)
			print_message(" 0x%" PRIx64,
				      vrdu_bo_address(call.args[k].bo) + call.args[k].offset);
		print_message("\n");
	}
	OK(vrdu_looping_analyze(g, NULL, &report));
	for (i = 0; i < vrdu_loop_report_count(report); i++) {
		OK(vrdu_loop_report_at(report, i, &c));
		print_message("# %s %u, %u * %u: %s\n", c.taken ? "taken" : "refused", c.first,
			      c.period, c.trips, c.reason);
		for (k = 0; k < c.arg_count; k++)
			print_message("#   %s: %s\n", c.args[k].symbol, c.args[k].reason);
	}
	vrdu_loop_report_unref(report);
}

/* Run trial @seed. Return: whether the looped way agrees with the original. */
static bool trial(uint64_t seed, struct tally *t, uint32_t *bo, uint32_t *at)
{
	struct world w[3];
	struct vrdu_graph *looped, *back;
	uint32_t bo2, at2;
	int ret[3];
	bool same;

	world_make(&w[0], dev, seed);
	world_make(&w[1], seed & 1 ? shuffled : dev, seed);
	world_make(&w[2], dev, seed);
	count(w[1].graph, t);
	if (trials == 1)
		show(w[1].graph);
	OK(vrdu_looping_apply(w[1].graph, NULL, &looped));
	ret[0] = kit_launch(w[0].ctx, w[0].graph, 1 + seed % 7);
	ret[1] = kit_launch(w[1].ctx, looped, 0);
	t->before += vrdu_graph_calls(w[0].graph);
	t->after += vrdu_graph_calls(looped);
	if (ret[0]) {
		/* What failed has written up to some point: only that it fails is compared. */
		t->failed++;
		same = !!ret[0] == !!ret[1];
	} else {
		same = !ret[1] && same_bits(&w[0], &w[1], bo, at);
		if (same)
			assert_int_equal(calls_done(w[1].ctx), vrdu_graph_calls(looped));
		assert_int_equal(calls_done(w[0].ctx), vrdu_graph_calls(w[0].graph));
	}
	vrdu_graph_unref(looped);
	OK(vrdu_looping_apply(w[2].graph, NULL, &looped));
	OK(vrdu_looping_unroll(looped, &back));
	vrdu_graph_unref(looped);
	expect_same(w[2].graph, back);
	ret[2] = kit_launch(w[2].ctx, back, 3);
	vrdu_graph_unref(back);
	assert_int_equal(!!ret[0], !!ret[2]);
	if (!ret[0] && !same_bits(&w[0], &w[2], &bo2, &at2))
		fail_msg("seed %" PRIu64 ": unrolled differs in buffer %u at %u", seed, bo2, at2);
	world_free(&w[0]);
	world_free(&w[1]);
	world_free(&w[2]);
	return same;
}

static void test_three_ways(void **state)
{
	struct tally t = { 0 };
	uint32_t bo = 0, at = 0, i;

	(void)state;
	for (i = first_seed; i < first_seed + trials; i++)
		if (!trial(i, &t, &bo, &at))
			fail_msg("seed %u: looped differs in buffer %u at %u: %s", i, bo, at,
				 vrdu_last_error());
	print_message("# %u graphs: loops taken %u + %u nested, refused %u; %u graphs fail as recorded\n",
		      trials, t.taken[0], t.taken[1], t.refused, t.failed);
	print_message("# arguments of loops: %u invariant, %u affine, %u carried, %u table; calls %u -> %u\n",
		      t.kinds[0], t.kinds[1], t.kinds[2], t.kinds[3], t.before, t.after);
	if (trials < TRIALS)
		return;
	/* The generator must reach everything, or the test says little. */
	assert_true(t.taken[0] > trials / 4);
	assert_true(t.taken[1] > trials / 40);
	assert_true(t.refused > trials / 4);
	for (i = 0; i < 4; i++)
		assert_true(t.kinds[i] > trials / 20);
	assert_true(t.after < t.before);
	assert_true(t.failed < trials / 2);
}

/* With visible values taken for transient, some graph must come out wrong. */
static void test_notices_lost_values(void **state)
{
	struct tally t = { 0 };
	uint32_t bo, at, i, wrong = 0;

	(void)state;
	vrdu_looping_unsafe = 2;
	for (i = 1; i <= TRIALS / 2; i++)
		wrong += !trial(i, &t, &bo, &at);
	vrdu_looping_unsafe = 0;
	print_message("# %u of %u graphs come out wrong\n", wrong, TRIALS / 2);
	assert_true(wrong);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_ways), cmocka_unit_test(test_notices_lost_values),
	};
	struct vrdu_device_opts opts = { .size = sizeof(opts), .shuffle = 77 };
	int ret;

	/* FIRST COUNT: look at some seeds. */
	if (argc > 1)
		first_seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		trials = strtoul(argv[2], NULL, 0);
	if (vrdu_device_open("sim", &opts, &shuffled)) {
		fprintf(stderr, "%s\n", vrdu_last_error());
		return 1;
	}
	ret = run_on_sim(tests);
	vrdu_device_unref(shuffled);
	return ret;
}
