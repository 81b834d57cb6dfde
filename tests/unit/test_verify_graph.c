// SPDX-License-Identifier: MIT
/*
 * Verifier: streams, ports, rates, the shapes of each node kind, and places on
 * the fabric. For each rule an image that violates exactly it, and the words
 * by which the log names the node and the rule.
 */
#include "test_verify.h"

static void examples_are_valid(void **state)
{
	(void)state;
	ACCEPT(mk_add(), AS_IS);
	ACCEPT(mk_accumulate(4), AS_IS);
	ACCEPT(mk_accumulate(1), AS_IS);
	ACCEPT(mk_attention(64, 1), AS_IS);
	ACCEPT(mk_attention(200, 7), AS_IS);
	ACCEPT(mk_kinds(), AS_IS);
	ACCEPT(mk_in_place(), AS_IS);
	ACCEPT(mk_looped(), AS_IS);
	ACCEPT(mk_tabled(10), AS_IS);
}

/* ---- streams --------------------------------------------------------- */

static void streams(void **state)
{
	(void)state;
	REFUSE(mk_add(), STREAM("sy")->elem = 5, "main: stream 1 \"sy\": unknown element type 5");
	REFUSE(mk_add(), STREAM("sy")->flags = 2, "main: stream 1 \"sy\": unknown flags 0x2");
	REFUSE(mk_add(), STREAM("sy")->depth = 0, "main: stream 1 \"sy\": depth is 0");
	REFUSE(mk_add(), STREAM("sy")->depth = 257, "main: stream 1 \"sy\": depth is 257");
	REFUSE(mk_add(), STREAM("sy")->rows = 1, "stream 1 \"sy\": rows is extent 1, there are 1");
	REFUSE(mk_add(), STREAM("sy")->outer = 0, "stream 1 \"sy\": outer is 0");
	REFUSE(mk_add(), STREAM("sy")->tile_rows = 0,
	       "stream 1 \"sy\": outer is 1 and tile_rows is 0");
	REFUSE(mk_add(), STREAM("sy")->cols = 0, "stream 1 \"sy\": has 0 columns");
	REFUSE(mk_add(), STREAM("sy")->cols = VRDU_MAX_TILE_BYTES / 32 + 1,
	       "stream 1 \"sy\": tile of 8 x 2097153 f32");
	REFUSE(mk_add(), (STREAM("sy")->cols = ~0u, STREAM("sy")->tile_rows = ~0u),
	       "stream 1 \"sy\": tile of 4294967295 x 4294967295 f32");
	REFUSE(mk_add(), STREAM("sy")->outer = FM_VERIFY_STEPS / 4 + 1,
	       "stream 1 \"sy\": 262145 groups of 4 tiles");
	REFUSE(mk_add(), STREAM("sy")->outer = ~0u, "4294967295 groups of 4 tiles");
}

static void tokens(void **state)
{
	(void)state;
	ACCEPT(mk_attention(64, 1), STREAM("kdone")->depth = 7);
	REFUSE(mk_attention(64, 1), STREAM("kdone")->flags = 1, "stream 4 \"kdone\": tokens have");
	REFUSE(mk_attention(64, 1), STREAM("kdone")->outer = 2, "stream 4 \"kdone\": tokens have");
	REFUSE(mk_attention(64, 1), STREAM("kdone")->tile_rows = 2, "stream 4 \"kdone\": tokens");
	REFUSE(mk_attention(64, 1), STREAM("kdone")->cols = 1, "stream 4 \"kdone\": tokens have");
	REFUSE(mk_attention(64, 1), STREAM("kdone")->rows = 1, "stream 4 \"kdone\": tokens have");
	REFUSE(mk_attention(64, 1), (STREAM("kdone")->pmu = 60, STREAM("kdone")->pmus = 1),
	       "stream 4 \"kdone\": tokens need no PMU, it has 1 from 60");
}

/* ---- nodes and ports ------------------------------------------------- */

static void nodes(void **state)
{
	(void)state;
	REFUSE(mk_add(), NODE("add")->kind = 0, "main: node 2 \"add\" (?): unknown kind 0");
	REFUSE(mk_add(), NODE("add")->kind = 6, "main: node 2 \"add\" (?): unknown kind 6");
	REFUSE(mk_add(), NODE("add")->kind = 27, "main: node 2 \"add\" (?): unknown kind 27");
	REFUSE(mk_add(), NODE("add")->flags = 1, "main: node 2 \"add\" (ew): flags are 0x1");
	REFUSE(mk_add(), NODE("add")->p[2] = 9, "node 2 \"add\" (ew): p[2] is unused, but 0x9");
	REFUSE(mk_add(), NODE("stz")->p[0] = 1, "node 3 \"stz\" (store): p[0] is unused");
	REFUSE(mk_add(), NODE("stz")->p[7] = 1, "node 3 \"stz\" (store): p[7] is unused");
	REFUSE(mk_kinds(), NODE("argmax")->p[0] = 1, "(argmax): p[0] is unused");
	REFUSE(mk_add(), NODE("ldx")->agu = VRDU_NONE, "(load): needs an address generator");
	REFUSE(mk_add(), NODE("add")->agu = 0, "(ew): has no use for an address generator");
	REFUSE(mk_add(), NODE("stz")->agu2 = 0, "(store): has no use for a second address");
	REFUSE(mk_add(), NODE("add")->agu2 = 0, "(ew): has no use for a second address");
	REFUSE(mk_add(), NODE("ldy")->agu = 3, "node 1 \"ldy\" (load): agu is 3, there are 3");
	REFUSE(mk_add(), NODE("ldy")->agu = 0,
	       "node 1 \"ldy\" (load): agu is 0, which \"ldx\" uses");
	REFUSE(mk_accumulate(4), NODE("carry")->agu2 = 99, "(carry): agu2 is 99, there are 3");
	REFUSE(mk_accumulate(4), NODE("carry")->agu2 = NODE("carry")->agu,
	       "(carry): agu2 is 1, which \"carry\" uses");
}

static void ports(void **state)
{
	(void)state;
	REFUSE(mk_add(), NODE("add")->in[0] = VRDU_NONE, "node 2 \"add\" (ew): in0 is missing");
	REFUSE(mk_add(), NODE("add")->out[0] = VRDU_NONE, "node 2 \"add\" (ew): out0 is missing");
	REFUSE(mk_add(), NODE("add")->in[2] = 0, "(ew): has no in2, but stream 0 is there");
	REFUSE(mk_add(), NODE("add")->in[3] = 0, "(ew): has no in3, but stream 0 is there");
	REFUSE(mk_add(), NODE("add")->out[1] = 0, "(ew): has no out1, but stream 0 is there");
	REFUSE(mk_add(), NODE("add")->in[1] = 3, "in1 is stream 3, the section has 0 to 3");
	REFUSE(mk_add(), NODE("add")->out[0] = 1,
	       "node 2 \"add\" (ew): out0 \"sy\" is written by node 1 already");
	REFUSE(mk_add(), mk_stream(m, "lone", VRDU_ELEM_F32, 1, 1, 0, 8, 16),
	       "main: stream 3 \"lone\": no node writes it");
	REFUSE(mk_add(), NODE("add")->in[1] = 0, "main: stream 1 \"sy\": no node reads it");
	/* Both operands may be one stream, if nothing is left over. */
	ACCEPT(mk_add(), (NODE("add")->in[1] = 0, mk_store(m, "sty",
	       mk_agu(m, mk_symbol(m, "copy", MK_W, 2048), 0, 64), 1)));
	REFUSE(mk_add(), NODE("stz")->in[0] = VRDU_NONE, "(store): in0 is missing");
}

static void port_types(void **state)
{
	(void)state;
	REFUSE(mk_attention(64, 1), NODE("ldq")->in[0] = 1,
	       "node 1 \"ldq\" (load): in0 \"q\" cannot be of type f32");
	REFUSE(mk_attention(64, 1), NODE("sty")->out[0] = 10,
	       "node 11 \"sty\" (store): out0 \"y\" cannot be of type f32");
	REFUSE(mk_add(), STREAM("sx")->elem = VRDU_ELEM_BF16,
	       "node 2 \"add\" (ew): in0 \"sx\" cannot be of type bf16");
	REFUSE(mk_attention(64, 1), STREAM("pos")->elem = VRDU_ELEM_F32,
	       "node 4 \"stk\" (scatter): in0 \"pos\" cannot be of type f32");
	REFUSE(mk_kinds(), STREAM("ids")->elem = VRDU_ELEM_F32, "(gather): in0 \"ids\" cannot be");
	REFUSE(mk_kinds(), STREAM("xr")->elem = VRDU_ELEM_I32, "(rope): out0 \"xr\" cannot be of");
	REFUSE(mk_kinds(), STREAM("wq")->elem = VRDU_ELEM_I32, "(matmul): in1 \"wq\" cannot be of");
	REFUSE(mk_kinds(), STREAM("ws")->elem = VRDU_ELEM_I32, "(matmul): in2 \"ws\" cannot be of");
	REFUSE(mk_kinds(), STREAM("best")->elem = VRDU_ELEM_F32, "(argmax): out0 \"best\" cannot");
	REFUSE(mk_kinds(), STREAM("top")->elem = VRDU_ELEM_I32, "(reduce): out0 \"top\" cannot");
}

/* ---- rates ----------------------------------------------------------- */

static void rates(void **state)
{
	(void)state;
	REFUSE(mk_add(), STREAM("sy")->outer = 2,
	       "node 2 \"add\" (ew): in1 \"sy\" has 2 groups of 32 to 32 rows in tiles of 8, "
	       "in0 \"sx\" has 1 of 32 to 32 in tiles of 8");
	REFUSE(mk_add(), STREAM("sz")->tile_rows = 16,
	       "out0 \"sz\" has 1 groups of 32 to 32 rows in "
	       "tiles of 16");
	REFUSE(mk_add(), STREAM("sy")->rows = mk_extent(m, 24),
	       "in1 \"sy\" has 1 groups of 24 to 24");
	/* Equal bounds are not equal values. */
	REFUSE(mk_add(), (STREAM("sx")->rows = mk_param(m, 0, 0, 0, 1, 32),
			  STREAM("sy")->rows = mk_param(m, 0, 4, 0, 1, 32)),
	       "in1 \"sy\" has 1 groups of 1 to 32 rows", "(another extent)");
	ACCEPT(mk_add(), (STREAM("sx")->rows = mk_param(m, 0, 0, 0, 1, 32),
			  STREAM("sy")->rows = STREAM("sx")->rows,
			  STREAM("sz")->rows = STREAM("sx")->rows));
	/* A size read from memory that can only be 32 is 32. */
	ACCEPT(mk_add(), STREAM("sx")->rows = mk_param(m, 0, 0, 0, 32, 32));
	REFUSE(mk_attention(64, 1), STREAM("values")->tile_rows = 8,
	       "node 10 \"sum\" (attn_values): in1 \"values\" has 1 groups of 1 to 64 rows in tiles of 8");
	REFUSE(mk_attention(64, 1), STREAM("scores")->outer = 2,
	       "(attn_scores): out0 \"scores\" has 2 groups");
	REFUSE(mk_attention(64, 1), (STREAM("probs")->tile_rows = 32), "(softmax): out0 \"probs\"");
	REFUSE(mk_accumulate(1), STREAM("new")->tile_rows = 2, "(carry): in0 \"new\" has 1 groups");
	REFUSE(mk_kinds(), STREAM("ws")->tile_rows = 8, "(matmul): in2 \"ws\" has 1 groups of 64");
}

static void whole(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), STREAM("gain")->outer = 2,
	       "(rmsnorm): in1 \"gain\" has 2 groups of 1 tiles, must be whole");
	REFUSE(mk_kinds(), (STREAM("xr")->tile_rows = 2, STREAM("xn")->tile_rows = 2,
			    STREAM("x")->tile_rows = 2, STREAM("emb")->tile_rows = 2),
	       "node 9 \"up\" (matmul): in0 \"xr\" has 1 groups of 2 tiles, must be whole");
	REFUSE(mk_kinds(), (STREAM("h")->tile_rows = 3), "(matmul): out0 \"h\" has 1 groups of 2");
	/* In one tile at the most is whole, however many rows there are. */
	ACCEPT(mk_kinds(), STREAM("h")->tile_rows = 5);
	REFUSE(mk_attention(64, 1), STREAM("q")->outer = 2,
	       "(attn_scores): in0 \"q\" has 2 groups");
	REFUSE(mk_attention(64, 1), STREAM("y")->outer = 2,
	       "(attn_values): out0 \"y\" has 2 groups");
	REFUSE(mk_kinds(), STREAM("ids")->tile_rows = 2, "(gather): in0 \"ids\" has 1 groups of 2");
}

/* ---- shapes ---------------------------------------------------------- */

static void shape_matmul(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), STREAM("wq")->cols = 48,
	       "node 9 \"up\" (matmul): in1 \"wq\" has 48 columns, must have 32");
	REFUSE(mk_kinds(), (STREAM("wq")->outer = 2, STREAM("ws")->outer = 2),
	       "(matmul): in1 \"wq\" has 2 groups, must have 1");
	REFUSE(mk_kinds(), STREAM("h")->cols = 63, "in1 \"wq\" has 64 to 64 rows, must have 63");
	REFUSE(mk_kinds(), STREAM("h")->rows = mk_param(m, 0, 0, 0, 1, 4),
	       "(matmul): out0 \"h\" has 1 to 4 rows (extent", "in0 \"xr\" has 1 to 4");
	REFUSE(mk_kinds(), (STREAM("wq")->rows = STREAM("ws")->rows = mk_param(m, 0, 0, 0, 1, 64)),
	       "in1 \"wq\" has 1 to 64 rows, must have 64");
	REFUSE(mk_kinds(), NODE("up")->p[0] = 0, "(matmul): p[0] is 0, must be the weights that");
	REFUSE(mk_kinds(), NODE("up")->p[0] = 8, "in2 \"ws\" has 2 columns, must have 4");
	ACCEPT(mk_kinds(), NODE("up")->p[0] = 31);
	REFUSE(mk_kinds(), (NODE("up")->in[2] = VRDU_NONE, mk_store(m, "x",
	       mk_agu(m, mk_symbol(m, "o", MK_W, 512), 0, 8), 8)), "(matmul): in2 is missing");
	REFUSE(mk_kinds(), NODE("down")->p[0] = 16, "(matmul): p[0] is 16, must be 0: no scales");
	REFUSE(mk_kinds(), NODE("down")->in[2] = 16, "(matmul): in2 must be absent");
}

static void shape_attention(void **state)
{
	(void)state;
	REFUSE(mk_attention(64, 1), NODE("scores")->p[0] = 0,
	       "(attn_scores): p[0] is 0, must be a");
	REFUSE(mk_attention(64, 1), NODE("scores")->p[0] = 3,
	       "(attn_scores): p[0] is 3, must be a");
	REFUSE(mk_attention(64, 1), NODE("scores")->p[1] = 0, "(attn_scores): p[1] is 0, must be");
	REFUSE(mk_attention(64, 1), NODE("scores")->p[2] = 0, "(attn_scores): p[2] is 0, must be");
	REFUSE(mk_attention(64, 1), NODE("scores")->p[2] = 4,
	       "in0 \"q\" has 32 columns, must have 16");
	REFUSE(mk_attention(64, 1), NODE("scores")->p[1] = 4,
	       "in1 \"keys\" has 16 columns, must have 32");
	REFUSE(mk_attention(64, 1),
	       (STREAM("scores")->cols = 8, STREAM("probs")->cols = 8),
	       "(attn_scores): out0 \"scores\" has 8 columns, must have 4");
	REFUSE(mk_attention(64, 1),
	       (STREAM("q")->rows = mk_extent(m, 2), STREAM("q")->tile_rows = 2),
	       "in0 \"q\" has 2 to 2 rows, must have 1: the groups of in1");
	REFUSE(mk_attention(64, 1), NODE("sum")->p[2] = 4, "(attn_values): in1 \"values\" has 16");
	REFUSE(mk_attention(64, 1), NODE("sum")->p[3] = 1, "(attn_values): p[3] is unused");
	REFUSE(mk_attention(64, 1), NODE("sum")->p[0] = 2,
	       "in0 \"probs\" has 4 columns, must have 2");
	REFUSE(mk_attention(64, 1), STREAM("y")->cols = 16,
	       "out0 \"y\" has 16 columns, must have 32");
	REFUSE(mk_attention(64, 1),
	       (STREAM("y")->rows = mk_extent(m, 2), STREAM("y")->tile_rows = 2),
	       "(attn_values): out0 \"y\" has 2 to 2 rows, must have 1: the groups of in0");
	REFUSE(mk_attention(64, 1), STREAM("probs")->cols = 8, "(softmax): out0 \"probs\" has 8");
}

static void layouts(void **state)
{
	(void)state;
	REFUSE(mk_attention(64, 1), STREAM("scores")->flags = 0,
	       "(attn_scores): out0 \"scores\" must be transposed");
	REFUSE(mk_attention(64, 1), STREAM("probs")->flags = 0,
	       "(softmax): out0 \"probs\" must be transposed");
	REFUSE(mk_attention(64, 1), STREAM("keys")->flags = 1,
	       "node 6 \"ldkc\" (load): out0 \"keys\" must not be transposed");
	REFUSE(mk_attention(64, 1), STREAM("y")->flags = 1, "\"y\" must not be transposed");
	REFUSE(mk_kinds(), STREAM("xn")->flags = 1, "(rmsnorm): out0 \"xn\" must not be");
	/* Elementwise work does not care, but in and out are alike. */
	REFUSE(mk_attention(64, 1),
	       (mk_stream(m, "twice", VRDU_ELEM_F32, 2, 1, STREAM("probs")->rows, 16, 4),
		mk_ew(m, "double", VRDU_EW_ADD, 9, 9, 11),
		mk_store(m, "st", mk_agu(m, mk_symbol(m, "o", MK_W, 1024), 0, 16), 11)),
	       "node 12 \"double\" (ew): out0 \"twice\" and in0 \"probs\": one is transposed");
	ACCEPT(mk_attention(64, 1),
	       (mk_transposed(m, "twice", 2, 1, STREAM("probs")->rows, 16, 4),
		mk_ew(m, "double", VRDU_EW_ADD, 9, 9, 11), NODE("sum")->in[0] = 11));
}

static void shape_indexed(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), STREAM("ids")->cols = 2,
	       "(gather): in0 \"ids\" has 2 columns, must have 1");
	REFUSE(mk_kinds(), STREAM("ids")->rows = mk_extent(m, 2),
	       "(gather): in0 \"ids\" has 2 to 2 rows", "out0 \"emb\" has 1 to 4");
	REFUSE(mk_attention(64, 1), STREAM("pos")->cols = 2,
	       "(scatter): in0 \"pos\" has 2 columns");
	REFUSE(mk_attention(64, 1), (STREAM("pos")->rows = mk_extent(m, 2),
				     STREAM("pos")->tile_rows = 2),
	       "(scatter): in0 \"pos\" has 2 to 2 rows", "in1 \"k\" has 1 to 1");
}

static void shape_carry(void **state)
{
	(void)state;
	REFUSE(mk_accumulate(4), NODE("carry")->p[0] = 2, "(carry): p[0] is 2, must be 0");
	REFUSE(mk_accumulate(4), NODE("carry")->p[0] = 1, "p[0] is 1, but there is an address");
	ACCEPT(mk_accumulate(4), (m->agus[1] = m->agus[2], m->n_agus--, NODE("carry")->p[0] = 1,
				  NODE("carry")->agu = VRDU_NONE, NODE("carry")->agu2 = 1));
	REFUSE(mk_accumulate(4), NODE("carry")->agu = VRDU_NONE,
	       "p[0] is 0, but there is no address");
	REFUSE(mk_accumulate(4), STREAM("old")->cols = 8,
	       "(carry): in0 \"new\" has 16 columns, must");
	REFUSE(mk_accumulate(4), (STREAM("new")->outer = 2, STREAM("old")->outer = 2,
				  STREAM("sw")->outer = 2), "(carry): in0 \"new\" has 2 groups");
	REFUSE(mk_accumulate(1), STREAM("new")->depth = 3,
	       "(carry): in0 \"new\" holds 3 tiles, must hold an iteration: 4");
	ACCEPT(mk_accumulate(1), STREAM("new")->depth = 4);
}

static void shape_rows(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), (STREAM("gain")->rows = mk_extent(m, 2), STREAM("gain")->tile_rows = 2),
	       "(rmsnorm): in1 \"gain\" has 2 to 2 rows, must have 1");
	REFUSE(mk_kinds(), STREAM("gain")->cols = 16, "(rmsnorm): in1 \"gain\" has 16 columns");
	REFUSE(mk_kinds(), STREAM("xn")->cols = 16, "(rmsnorm): out0 \"xn\" has 16 columns");
	REFUSE(mk_kinds(), NODE("angles")->p[0] = 0, "(rope_row): p[0] is 0, must be even");
	REFUSE(mk_kinds(), NODE("angles")->p[0] = 7, "(rope_row): p[0] is 7, must be even");
	REFUSE(mk_kinds(), NODE("angles")->p[0] = 6,
	       "(rope_row): out0 \"rows\" has 8 columns, must");
	REFUSE(mk_kinds(), NODE("rope")->p[0] = 0, "(rope): p[0] is 0, must be even");
	REFUSE(mk_kinds(), NODE("rope")->p[0] = 6,
	       "(rope): p[0] is 6, must be even, positive and a");
	REFUSE(mk_kinds(), NODE("rope")->p[0] = 16,
	       "(rope): in1 \"rows\" has 8 columns, must have 16");
	REFUSE(mk_kinds(), NODE("rope")->p[1] = 2, "(rope): p[1] is 2, must be 0 (pairs)");
	/* Rows of another stream that happen to have the same bounds. */
	REFUSE(mk_kinds(), (STREAM("rows")->rows = mk_param(m, 0, 0, 0, 1, 4),
			    mk_stream(m, "pos", VRDU_ELEM_I32, 2, 1, STREAM("rows")->rows, 4, 1),
			    mk_load(m,
	       "ldpos", mk_agu(m, 0, 0, 4), 19), NODE("angles")->in[0] = 19),
	       "(rope): in1 \"rows\" has 1 to 4 rows (extent", "in0 \"xn\" has 1 to 4 (extent");
	ACCEPT(mk_kinds(), (STREAM("rows")->rows = mk_extent(m, 1),
			    mk_stream(m, "pos", VRDU_ELEM_I32, 2, 1, STREAM("rows")->rows, 4, 1),
			    mk_load(m,
	       "ldpos", mk_agu(m, 0, 0, 4), 19), NODE("angles")->in[0] = 19));
	REFUSE(mk_kinds(), STREAM("xr")->cols = 16, "(rope): out0 \"xr\" has 16 columns");
	REFUSE(mk_kinds(), NODE("max")->p[0] = 2, "(reduce): p[0] is 2, must be a reduction");
	REFUSE(mk_kinds(), STREAM("top")->cols = 2, "(reduce): out0 \"top\" has 2 columns");
	REFUSE(mk_kinds(), STREAM("best")->cols = 2, "(argmax): out0 \"best\" has 2 columns");
}

static void shape_ew(void **state)
{
	(void)state;
	REFUSE(mk_add(), NODE("add")->p[0] = 8, "(ew): p[0] is 8, must be an elementwise");
	REFUSE(mk_add(), NODE("add")->p[1] = 1, "(ew): p[1] is 1, must be 0: no immediate");
	REFUSE(mk_add(), NODE("add")->p[0] = VRDU_EW_IADD,
	       "in0 \"sx\" is of type f32, must be i32");
	REFUSE(mk_add(), STREAM("sy")->elem = VRDU_ELEM_I32,
	       "in1 \"sy\" is of type i32, must be f32");
	REFUSE(mk_add(), STREAM("sz")->elem = VRDU_ELEM_I32,
	       "out0 \"sz\" is of type i32, must be f32");
	REFUSE(mk_add(), STREAM("sy")->cols = 8, "(ew): in1 \"sy\" has 8 columns, must have 16");
	REFUSE(mk_add(), STREAM("sz")->cols = 8, "(ew): out0 \"sz\" has 8 columns, must have 16");
	REFUSE(mk_kinds(), NODE("inc")->in[1] = 12, "(ew): in1 must be absent: iadd_imm");
	REFUSE(mk_kinds(), NODE("inc")->p[0] = VRDU_EW_IMAX, "(ew): p[1] is 1, must be 0");
	REFUSE(mk_kinds(), (NODE("inc")->p[0] = VRDU_EW_IMAX, NODE("inc")->p[1] = 0),
	       "(ew): in1 is missing: imax");
}

static void shape_cast(void **state)
{
	(void)state;
	REFUSE(mk_kinds(), (STREAM("deqb")->elem = VRDU_ELEM_F32),
	       "node 19 \"narrow\" (cast): out0 \"deqb\" is of type f32, must be bf16");
	REFUSE(mk_kinds(), (STREAM("deq")->elem = VRDU_ELEM_BF16),
	       "node 18 \"dequant\" (cast): out0 \"deq\" is of type bf16, must be f32");
	REFUSE(mk_kinds(), STREAM("emb")->cols = 16,
	       "(cast): out0 \"x\" has 32 columns, must have 16");
	REFUSE(mk_kinds(), NODE("widen")->in[1] = 4, "(cast): in1 must be absent");
	REFUSE(mk_kinds(), NODE("widen")->p[0] = 4, "(cast): p[0] is 4, must be 0: no scales");
	REFUSE(mk_kinds(), NODE("dequant")->p[0] = 0, "(cast): p[0] is 0, must be the values");
	REFUSE(mk_kinds(), NODE("dequant")->p[0] = 8,
	       "(cast): in1 \"q8s\" has 4 columns, must have 8");
	REFUSE(mk_kinds(), (NODE("dequant")->in[1] = VRDU_NONE, mk_store(m, "x",
	       mk_agu(m, mk_symbol(m, "o", MK_W, 512), 0, 16), 16)), "(cast): in1 is missing");
}

/* ---- places ---------------------------------------------------------- */

static void sites(void **state)
{
	(void)state;
	/* The tiny fabric: 64 PCUs, 64 PMUs of 64 KiB, 48 AGCUs. */
	ACCEPT(mk_add(), (NODE("add")->site = 60, NODE("add")->units = 4));
	REFUSE(mk_add(), (NODE("add")->site = 60, NODE("add")->units = 5),
	       "node 2 \"add\" (ew): sits on 5 PCUs from 60 on, the fabric has 64");
	REFUSE(mk_add(), NODE("add")->units = 0, "(ew): sits on 0 PCUs from 0 on");
	REFUSE(mk_add(), NODE("add")->units = ~0u, "(ew): sits on 4294967295 PCUs");
	REFUSE(mk_add(), NODE("add")->site = 64, "(ew): sits on 1 PCUs from 64 on");
	REFUSE(mk_add(), NODE("ldx")->site = 48,
	       "(load): sits on 1 AGCUs from 48 on, the fabric has 48");
	REFUSE(mk_add(), NODE("ldx")->units = 2, "(load): sits on 2 AGCUs, must be 1");
	REFUSE(mk_add(), (NODE("ldx")->site = 7, NODE("stz")->site = 7),
	       "node 3 \"stz\" (store): sits on AGCU 7, which \"ldx\" occupies");
	REFUSE(mk_kinds(), (NODE("norm")->site = 20, NODE("norm")->units = 3,
	       NODE("rope")->site = 22),
	       "node 6 \"rope\" (rope): sits on PCU 22, which \"norm\" occupies");
	REFUSE(mk_add(), NODE("add")->pmus = 1, "(ew): has no scratch, but 1 PMUs from 0 on");
	REFUSE(mk_add(), NODE("add")->pmu = 1, "(ew): has no scratch, but 0 PMUs from 1 on");
}

static void buffers(void **state)
{
	(void)state;
	REFUSE(mk_add(), (STREAM("sx")->pmu = 64, STREAM("sx")->pmus = 1),
	       "stream 0 \"sx\": sits on 1 PMUs from 64 on, the fabric has 64");
	REFUSE(mk_add(), STREAM("sx")->pmu = 0, "stream 0 \"sx\": sits on 0 PMUs");
	REFUSE(mk_add(), (STREAM("sx")->pmu = 5, STREAM("sx")->pmus = 2, STREAM("sy")->pmu = 6,
			  STREAM("sy")->pmus = 1),
	       "stream 1 \"sy\": sits on PMU 6, which \"sx\" occupies");
	/* 128 tiles of 512 bytes fill a PMU. */
	ACCEPT(mk_add(), (STREAM("sx")->depth = 128, STREAM("sx")->pmu = 9,
	       STREAM("sx")->pmus = 1));
	REFUSE(mk_add(), (STREAM("sx")->depth = 129, STREAM("sx")->pmu = 9, STREAM("sx")->pmus = 1),
	       "stream 0 \"sx\": needs 66048 bytes, its 1 PMUs hold 65536");
}

static void scratch(void **state)
{
	(void)state;
	/* 4 columns of 4 bytes: 4096 rows fill a PMU. */
	ACCEPT(mk_attention(4096, 1), AS_IS);
	REFUSE(mk_attention(4097, 1), (NODE("softmax")->pmu = 50, NODE("softmax")->pmus = 1),
	       "(softmax): needs 65552 bytes, its 1 PMUs hold 65536");
	REFUSE(mk_attention(64, 1), NODE("softmax")->pmu = 0, "(softmax): sits on 0 PMUs");
	REFUSE(mk_attention(64, 1),
	       (NODE("softmax")->pmu = 50, NODE("softmax")->pmus = 1, STREAM("probs")->pmu = 50,
		STREAM("probs")->pmus = 1),
	       "stream 9 \"probs\": sits on PMU 50, which \"softmax\" occupies");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_are_valid),
		cmocka_unit_test(streams),
		cmocka_unit_test(tokens),
		cmocka_unit_test(nodes),
		cmocka_unit_test(ports),
		cmocka_unit_test(port_types),
		cmocka_unit_test(rates),
		cmocka_unit_test(whole),
		cmocka_unit_test(shape_matmul),
		cmocka_unit_test(shape_attention),
		cmocka_unit_test(layouts),
		cmocka_unit_test(shape_indexed),
		cmocka_unit_test(shape_carry),
		cmocka_unit_test(shape_rows),
		cmocka_unit_test(shape_ew),
		cmocka_unit_test(shape_cast),
		cmocka_unit_test(sites),
		cmocka_unit_test(buffers),
		cmocka_unit_test(scratch),
	};

	return cmocka_run_group_tests_name("verify-graph", tests, NULL, NULL);
}
