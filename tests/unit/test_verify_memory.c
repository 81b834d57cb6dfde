// SPDX-License-Identifier: MIT
/*
 * Verifier: address ranges over all iterations, tables, and the order of
 * accesses that may meet in memory, within an iteration and across the
 * iterations of a pipelined loop.
 */
#include "test_verify.h"

/* ---- address generators ---------------------------------------------- */

static void form(void **state)
{
	(void)state;
	REFUSE(mk_add(), AGU("ldx")->offset = 2, "node 0 \"ldx\" (load): agu: offset or a stride");
	REFUSE(mk_add(), AGU("ldx")->outer_stride = 2,
	       "(load): agu: offset or a stride is no mult");
	REFUSE(mk_add(), AGU("ldx")->loop_stride[2] = -6, "(load): agu: offset or a stride is no");
	REFUSE(mk_add(), AGU("ldx")->loop_stride[0] = 4,
	       "(load): agu: stride 4 for loop level 0, but there are 0 levels");
	REFUSE(mk_accumulate(4), AGU("ldw")->loop_stride[1] = 4,
	       "(load): agu: stride 4 for loop level 1, but there are 1 levels");
	REFUSE(mk_add(), AGU("ldx")->index_stride = 4,
	       "(load): agu: index stride or limit without");
	REFUSE(mk_add(), AGU("stz")->index_limit = 1,
	       "(store): agu: index stride or limit without");
	REFUSE(mk_add(), AGU("ldx")->row_stride = 68,
	       "(load): agu: row stride is 68, a row has 64");
	REFUSE(mk_add(), AGU("ldx")->row_stride = -64,
	       "(load): agu: row stride is -64, a row has 64");
	REFUSE(mk_kinds(), AGU("embed")->index_limit = 0, "(gather): agu: index limit is 0");
	/* bf16: two bytes are enough. */
	ACCEPT(mk_kinds(), (AGU("embed")->offset = 2, AGU("embed")->index_limit = 99));
	REFUSE(mk_kinds(), AGU("embed")->offset = 1,
	       "(gather): agu: offset or a stride is no mult");
	REFUSE(mk_add(), SYMBOL("y")->access = MK_W,
	       "(load): agu: symbol \"y\" has no read access");
	REFUSE(mk_add(), SYMBOL("z")->access = MK_R,
	       "(store): agu: symbol \"z\" has no write access");
	REFUSE(mk_accumulate(4), SYMBOL("acc")->access = MK_R,
	       "(carry): agu2: symbol \"acc\" has no write access");
	REFUSE(mk_accumulate(4), SYMBOL("acc")->access = MK_W,
	       "(carry): agu: symbol \"acc\" has no read access");
}

static void ranges(void **state)
{
	(void)state;
	REFUSE(mk_add(), AGU("ldx")->offset = 4,
	       "(load): agu: covers bytes 4 to 2052 of symbol \"x\", which has 2048");
	REFUSE(mk_add(), AGU("ldx")->offset = -4, "(load): agu: covers bytes -4 to 2044");
	REFUSE(mk_add(), SYMBOL("z")->bytes = 2047, "(store): agu: covers bytes 0 to 2048");
	/* Groups. */
	ACCEPT(mk_add(), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 3,
			  AGU("stz")->outer_stride = 2048, SYMBOL("z")->bytes = 3 * 2048));
	REFUSE(mk_add(), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 3,
			  AGU("stz")->outer_stride = 2048, SYMBOL("z")->bytes = 3 * 2048 - 1),
	       "(store): agu: covers bytes 0 to 6144 of symbol \"z\", which has 6143");
	/* Backwards. */
	ACCEPT(mk_add(), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 3,
			  AGU("stz")->outer_stride = -2048, AGU("stz")->offset = 4096,
			  SYMBOL("z")->bytes = 3 * 2048));
	REFUSE(mk_add(), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 3,
			  AGU("stz")->outer_stride = -2048, AGU("stz")->offset = 4092,
			  SYMBOL("z")->bytes = 3 * 2048), "agu: covers bytes -4 to 6140");
	/* Loops: 10 iterations of 256 bytes. */
	REFUSE(mk_accumulate(4), SYMBOL("w")->bytes = 2559, "(load): agu: covers bytes 0 to 2560");
	REFUSE(mk_accumulate(4), m->seq[0].arg = mk_extent(m, 11), "agu: covers bytes 0 to 2816");
	REFUSE(mk_accumulate(4), m->seq[0].arg = mk_param(m, 0, 0, 0, 1, 11), "bytes 0 to 2816");
	ACCEPT(mk_accumulate(4), m->seq[0].arg = mk_param(m, 0, 0, 0, 1, 10));
	ACCEPT(mk_accumulate(4), (AGU("ldw")->loop_stride[0] = -256, AGU("ldw")->offset = 2304));
	/* The largest of a dynamic number of rows counts. */
	REFUSE(mk_attention(64, 1), SYMBOL("kcache")->bytes = 64 * 63,
	       "node 4 \"stk\" (scatter): agu: covers bytes 0 to 4096");
	REFUSE(mk_attention(64, 1), (m->extents[1].max = 65),
	       "(load): agu: covers bytes 0 to 4160");
	/* Indices up to the limit, and rows of the tile behind the last one. */
	REFUSE(mk_kinds(), AGU("embed")->index_limit = 101,
	       "(gather): agu: covers bytes 0 to 6464");
	REFUSE(mk_kinds(), AGU("embed")->row_stride = 64, "(gather): agu: covers bytes 0 to 6592");
	ACCEPT(mk_kinds(), (AGU("embed")->row_stride = 64, AGU("embed")->index_limit = 97));
}

static void overflows(void **state)
{
	static const int64_t wild[] = {
		INT64_MIN, INT64_MIN + 4, INT64_MAX - 3, 1ll << 62, -(1ll << 62), 1ll << 59,
	       1ll << 61,
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		REFUSE(mk_add(), AGU("ldx")->offset = wild[i], "(load): agu: ");
		REFUSE(mk_add(), (AGU("ldx")->outer_stride = wild[i], STREAM("sx")->outer = 9,
				  STREAM("sy")->outer = 9, STREAM("sz")->outer = 9),
	       "(load): agu: ");
		REFUSE(mk_accumulate(4), AGU("ldw")->loop_stride[0] = wild[i], "(load): agu: ");
		REFUSE(mk_kinds(), AGU("embed")->index_stride = wild[i], "(gather): agu: ");
		REFUSE(mk_kinds(), AGU("embed")->row_stride = wild[i], "(gather): agu: ");
		/* Terms that cancel in the end, but not on the way. */
		REFUSE(mk_accumulate(4), (AGU("ldw")->loop_stride[0] = 1ll << 58,
					  AGU("ldw")->offset = wild[i]), "(load): agu: ");
	}
	REFUSE(mk_kinds(), AGU("embed")->index_stride = 1ll << 58, "add up to more than 2^60");
	REFUSE(mk_kinds(), AGU("embed")->row_stride = 1ll << 59, "add up to more than 2^60");
}

/* ---- tables ---------------------------------------------------------- */

static void tables(void **state)
{
	(void)state;
	ACCEPT(mk_tabled(10), AS_IS);
	ACCEPT(mk_tabled(11), AS_IS);
	REFUSE(mk_tabled(9), AS_IS,
	       "(load): agu: table \"w\" has 9 entries, its loop up to 10 trips");
	REFUSE(mk_tabled(10), SYMBOL("w")->level = 1,
	       "(load): agu: table \"w\" is indexed by loop level 1, but there are 1 levels");
	REFUSE(mk_tabled(10), AGU("ldw")->loop_stride[0] = 4,
	       "(load): agu: table \"w\" and a stride of 4 for the same loop level 0");
	REFUSE(mk_tabled(10), SYMBOL("w")->bytes = 255, "covers bytes 0 to 256 of symbol \"w\"");
	/* Each entry is one range; strides of other levels stay inside it. */
	ACCEPT(mk_tabled(5), (m->n_seq = 0, mk_loop(m, mk_extent(m, 5)), mk_loop(m, mk_extent(m,
	       10)),
			   mk_run(m, 0), mk_end(m), mk_end(m), SYMBOL("w")->bytes = 2560,
			   AGU("ldw")->loop_stride[1] = 256));
	REFUSE(mk_tabled(5), (m->n_seq = 0, mk_loop(m, mk_extent(m, 5)), mk_loop(m, mk_extent(m,
	       10)),
			   mk_run(m, 0), mk_end(m), mk_end(m), SYMBOL("w")->bytes = 2560,
			   AGU("ldw")->loop_stride[1] = 260), "agu: covers bytes 0 to 2596");
}

static void carries(void **state)
{
	(void)state;
	REFUSE(mk_accumulate(4), m->agus[1].loop_stride[0] = 4,
	       "(carry): agu: stride 4 for the loop that the value is carried through");
	REFUSE(mk_accumulate(4), m->agus[2].loop_stride[0] = 4, "(carry): agu2: stride 4 for the");
	REFUSE(mk_accumulate(4), (SYMBOL("acc")->kind = VRDU_SYMBOL_TABLE,
	       SYMBOL("acc")->entries = 10),
	       "(carry): agu: table \"acc\" of the loop that the value is carried through");
	/* Outer loops may move it. */
	ACCEPT(mk_accumulate(4), (m->n_seq = 0, mk_loop(m, mk_extent(m, 5)),
				  mk_loop(m, mk_extent(m, 10)), mk_run(m, 0), mk_end(m), mk_end(m),
				  AGU("ldw")->loop_stride[0] = 0, SYMBOL("acc")->bytes = 5 * 256,
				  m->agus[1].loop_stride[0] = 256,
	       m->agus[2].loop_stride[0] = 256));
	/* A loop of two sections is not pipelined: nothing is carried through it. */
	ACCEPT(mk_accumulate(4), (m->n_seq = 0, mk_section(m, "other"),
				  mk_stream(m, "t", VRDU_ELEM_F32, 1, 1, 0, 4, 16),
				  mk_load(m, "ldt", mk_agu(m, 0, 0, 64), 3),
				  mk_store(m, "stt", mk_agu(m, mk_symbol(m,
	       "t", MK_W, 256), 0, 64), 3),
				  mk_loop(m, mk_extent(m, 10)), mk_run(m, 0), mk_run(m, 1),
	       mk_end(m),
				  SYMBOL("acc")->bytes = 2560, m->agus[1].loop_stride[0] = 256));
}

/* ---- order within an iteration --------------------------------------- */

/* mk_add() whose result goes to x, @shift bytes further. */
static struct mk *to_x(int64_t shift)
{
	struct mk *m = mk_add();

	SYMBOL("x")->access = MK_RW;
	SYMBOL("x")->bytes = 8192;
	AGU("stz")->symbol = 0;
	AGU("stz")->offset = shift;
	return m;
}

/* All of it in one tile. */
static struct mk *in_one_tile(struct mk *m)
{
	STREAM("sx")->tile_rows = STREAM("sy")->tile_rows = STREAM("sz")->tile_rows = 32;
	return m;
}

static void in_place(void **state)
{
	(void)state;
	/* Tile by tile, at the same place: each tile is read before it is written. */
	ACCEPT(to_x(0), AS_IS);
	REFUSE(to_x(512), AS_IS,
	       "main: node 3 \"stz\" (store): memory order: writes symbol \"x\", of which node 0 "
	       "\"ldx\" reads the same bytes, and no stream orders them");
	REFUSE(to_x(64), AS_IS, "memory order");
	REFUSE(to_x(2044), AS_IS, "memory order");
	ACCEPT(to_x(2048), AS_IS);
	/* One tile: read in full before it is written, wherever. */
	ACCEPT(in_one_tile(to_x(0)), AS_IS);
	ACCEPT(in_one_tile(to_x(512)), AS_IS);
	/* Groups that overlap are no tiles of their own. */
	REFUSE(to_x(0), STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 2,
	       "memory order");
	ACCEPT(to_x(0), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 2,
			 AGU("ldx")->outer_stride = 2048, AGU("stz")->outer_stride = 2048));
	REFUSE(to_x(0), (STREAM("sx")->outer = STREAM("sy")->outer = STREAM("sz")->outer = 2,
			 AGU("ldx")->outer_stride = 2048, AGU("stz")->outer_stride = 2052),
	       "memory order");
}

static void second_reader(void **state)
{
	struct mk *m;

	(void)state;
	/* A load does not copy, and this reader of its tiles may be late. */
	m = in_one_tile(to_x(0));
	mk_store(m, "late", mk_agu(m, mk_symbol(m, "copy", MK_W, 2048), 0, 64), 0);
	REFUSE(m, AS_IS,
	       "node 3 \"stz\" (store): memory order: writes symbol \"x\", of which node 0");
	/* A gather does. */
	m = in_one_tile(to_x(0));
	mk_store(m, "late", mk_agu(m, mk_symbol(m, "copy", MK_W, 2048), 0, 64), 0);
	mk_stream(m, "i", VRDU_ELEM_I32, 1, 1, mk_extent(m, 1), 1, 1);
	mk_load(m, "ldi", mk_agu(m, 1, 0, 4), 3);
	NODE("ldx")->kind = VRDU_NODE_GATHER;
	NODE("ldx")->in[0] = 3;
	AGU("ldx")->index_limit = 1;
	ACCEPT(m, AS_IS);
	/* In tiles, some rows may be gathered after they are overwritten. */
	m = to_x(0);
	mk_stream(m, "i", VRDU_ELEM_I32, 1, 1, mk_extent(m, 1), 1, 1);
	mk_load(m, "ldi", mk_agu(m, 1, 0, 4), 3);
	NODE("ldx")->kind = VRDU_NODE_GATHER;
	NODE("ldx")->in[0] = 3;
	AGU("ldx")->index_limit = 1;
	REFUSE(m, AS_IS, "memory order");
}

static void copies(void **state)
{
	struct mk *m;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		m = mk_new("copy");
		mk_symbol(m, "x", MK_RW, 8192);
		mk_section(m, "main");
		mk_stream(m, "s", VRDU_ELEM_F32, 2, 1, mk_extent(m, 32), 32, 16);
		mk_load(m, "ld", mk_agu(m, 0, 0, 64), 0);
		mk_store(m, "st", mk_agu(m, 0, i ? 64 : 2048, 64), 0);
		mk_run(m, 0);
		/* One firing that reads and writes overlapping bytes. */
		if (i)
			REFUSE(m, AS_IS, "node 1 \"st\" (store): memory order");
		else
			ACCEPT(m, AS_IS);
	}
}

static void two_writers(void **state)
{
	(void)state;
	ACCEPT(mk_kinds(), AGU("sttop")->offset = 16);
	REFUSE(mk_kinds(), AGU("sttop")->offset = 12,
	       "(store): memory order: writes symbol \"out\", of which node 15 \"sttop\" writes the");
}

static void tokens_order(void **state)
{
	(void)state;
	/* Each load waits for the other cache. */
	REFUSE(mk_attention(64, 1), (NODE("ldkc")->in[0] = 5, NODE("ldvc")->in[0] = 4),
	       "attn: node 4 \"stk\" (scatter): memory order: writes symbol \"kcache\", of which node 6 "
	       "\"ldkc\" reads");
	/* A token that both wait for is enough, and two readers may share it. */
	ACCEPT(mk_attention(64, 1), (NODE("ldvc")->in[0] = 4, AGU("ldvc")->symbol = 4,
	       SYMBOL("vcache")->access = MK_W, NODE("stv")->out[0] = VRDU_NONE,
	       m->streams[5] = m->streams[4], NODE("stk")->out[0] = 4, NODE("stv")->out[0] = 5,
	       NODE("ldq")->in[0] = 5));
}

/* ---- order across iterations ----------------------------------------- */

/* x[i] += y, looped: a pipelined loop over 4 pieces of x, @stride bytes apart. */
static struct mk *looped(int64_t load, int64_t store)
{
	struct mk *m = in_one_tile(to_x(0));

	m->n_seq = 0;
	mk_loop(m, mk_extent(m, 4));
	mk_run(m, 0);
	mk_end(m);
	AGU("ldx")->loop_stride[0] = load;
	AGU("stz")->loop_stride[0] = store;
	return m;
}

static void across(void **state)
{
	(void)state;
	ACCEPT(looped(2048, 2048), AS_IS);
	REFUSE(looped(0, 0), AS_IS,
	       "main: node 3 \"stz\" (store): loop-carried dependence through memory: writes symbol \"x\", "
	       "of which node 0 \"ldx\" reads the same bytes in another iteration: use a carry node (or "
	       "equal loop strides of 2048 bytes and more)");
	REFUSE(looped(1024, 1024), AS_IS, "loop-carried dependence through memory");
	REFUSE(looped(2044, 2044), AS_IS, "loop-carried dependence through memory");
	REFUSE(looped(2048, 0), AS_IS, "loop-carried dependence through memory");
	REFUSE(looped(2048, 1024), AS_IS, "loop-carried dependence through memory");
	ACCEPT(looped(-2048, -2048), (AGU("ldx")->offset = 6144, AGU("stz")->offset = 6144));
	/* Different strides, but different bytes altogether. */
	ACCEPT(looped(64, 1024), (AGU("stz")->offset = 2048 + 3 * 64));
	REFUSE(looped(64, 1024), (AGU("stz")->offset = 2048 + 2 * 64), "loop-carried dependence");
	/* One iteration has no other. */
	ACCEPT(looped(0, 0), m->seq[0].arg = mk_extent(m, 1));
	/* Iterations of an outer loop do not overlap. */
	ACCEPT(looped(0, 0), (m->n_seq = 0, mk_loop(m, mk_extent(m, 4)), mk_loop(m, mk_extent(m,
	       1)),
			      mk_run(m, 0), mk_end(m), mk_end(m)));
	/* Two writers. */
	REFUSE(looped(2048, 2048), mk_store(m, "second", mk_agu(m, 0, 6144, 64), 1),
	       "memory order");
	/* The cache of each layer is its own. */
	REFUSE(mk_attention(64, 5), AGU("ldkc")->loop_stride[0] = 4032,
	       "node 4 \"stk\" (scatter): loop-carried dependence through memory");
	REFUSE(mk_attention(64, 5),
	       (AGU("ldvc")->loop_stride[0] = AGU("stv")->loop_stride[0] = 2048),
	       "node 5 \"stv\" (scatter): loop-carried dependence through memory");
}

static void across_tables(void **state)
{
	struct mk *m;
	int level;

	(void)state;
	/* Entries of the pipelined loop's table are ranges of their own; others stay the same. */
	for (level = 0; level < 2; level++) {
		m = looped(0, 0);
		m->n_seq = 0;
		mk_loop(m, mk_extent(m, 3));
		mk_loop(m, mk_extent(m, 4));
		mk_run(m, 0);
		mk_end(m);
		mk_end(m);
		SYMBOL("x")->kind = VRDU_SYMBOL_TABLE;
		SYMBOL("x")->entries = 4;
		SYMBOL("x")->level = level;
		if (level)
			ACCEPT(m, AS_IS);
		else
			REFUSE(m, AS_IS, "loop-carried dependence through memory");
	}
}

static void carry_and_others(void **state)
{
	(void)state;
	/* The old value, read again in every iteration, before it is replaced at the end. */
	ACCEPT(mk_accumulate(4), (m->agus[0] = m->agus[1]));
	ACCEPT(mk_accumulate(1), (m->agus[0] = m->agus[1]));
	/* One row off, tile by tile: not in place. */
	REFUSE(mk_accumulate(1), (m->agus[0] = m->agus[1], m->agus[0].offset = 64,
				  SYMBOL("acc")->bytes = 512),
	       "node 1 \"carry\" (carry): memory order: writes symbol \"acc\", of which node 0 \"ldw\"");
	/* A copy of each iteration's value there: nothing orders it and the final store. */
	REFUSE(mk_accumulate(4), mk_store(m, "each", mk_agu(m, 1, 0, 64), 2),
	       "memory order: writes symbol \"acc\", of which node");
	/* Without the final store: after the initial load, for that feeds it. */
	ACCEPT(mk_accumulate(4), (NODE("carry")->agu2 = VRDU_NONE, m->n_agus--,
				  mk_store(m, "each", mk_agu(m, 1, 0, 64), 2)));
	/* ... but not if it may come before. */
	REFUSE(mk_accumulate(4), (NODE("carry")->agu2 = VRDU_NONE, m->n_agus--,
				  mk_store(m, "each", mk_agu(m, 1, 0, 64), 0)),
	       "node 3 \"each\" (store): memory order: writes symbol \"acc\", of which node 1 \"carry\"");
}

/* ---- sections are drained -------------------------------------------- */

static void between_sections(void **state)
{
	struct mk *m = to_x(0);

	(void)state;
	/* x += y; x = x shifted by a row through another buffer, again and again. */
	mk_symbol(m, "t", MK_RW, 8192);
	AGU("stz")->symbol = 3;
	mk_section(m, "back");
	mk_stream(m, "s", VRDU_ELEM_F32, 2, 1, 0, 8, 16);
	mk_load(m, "ld", mk_agu(m, 3, 0, 64), 3);
	mk_store(m, "st", mk_agu(m, 0, 64, 64), 3);
	m->n_seq = 0;
	mk_loop(m, mk_extent(m, 7));
	mk_run(m, 0);
	mk_run(m, 1);
	mk_end(m);
	ACCEPT(m, AS_IS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(form),
		cmocka_unit_test(ranges),
		cmocka_unit_test(overflows),
		cmocka_unit_test(tables),
		cmocka_unit_test(carries),
		cmocka_unit_test(in_place),
		cmocka_unit_test(second_reader),
		cmocka_unit_test(copies),
		cmocka_unit_test(two_writers),
		cmocka_unit_test(tokens_order),
		cmocka_unit_test(across),
		cmocka_unit_test(across_tables),
		cmocka_unit_test(carry_and_others),
		cmocka_unit_test(between_sections),
	};

	return cmocka_run_group_tests_name("verify-memory", tests, NULL, NULL);
}
