/* SPDX-License-Identifier: MIT */
/*
 * Valid programs, small ones of each sort, for tests to use and to spoil.
 * All fit on the "tiny" fabric.
 */
#ifndef _MKEXAMPLES_H
#define _MKEXAMPLES_H

#include "mkimage.h"

#define MK_R	VRDU_SYMBOL_READ
#define MK_W	VRDU_SYMBOL_WRITE
#define MK_RW	(VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE)

/* z = x + y, 32 rows of 16 in tiles of 8. */
static inline struct mk *mk_add(void)
{
	struct mk *m = mk_new("add");
	int x = mk_symbol(m, "x", MK_R, 2048), y = mk_symbol(m, "y", MK_R, 2048);
	int z = mk_symbol(m, "z", MK_W, 2048), rows = mk_extent(m, 32), sx, sy, sz;

	mk_section(m, "main");
	sx = mk_stream(m, "sx", VRDU_ELEM_F32, 2, 1, rows, 8, 16);
	sy = mk_stream(m, "sy", VRDU_ELEM_F32, 2, 1, rows, 8, 16);
	sz = mk_stream(m, "sz", VRDU_ELEM_F32, 2, 1, rows, 8, 16);
	mk_load(m, "ldx", mk_agu(m, x, 0, 64), sx);
	mk_load(m, "ldy", mk_agu(m, y, 0, 64), sy);
	mk_ew(m, "add", VRDU_EW_ADD, sx, sy, sz);
	mk_store(m, "stz", mk_agu(m, z, 0, 64), sz);
	mk_run(m, 0);
	return m;
}

/* x += y, tile by tile, and a copy of y; there is room behind x. */
static inline struct mk *mk_in_place(void)
{
	struct mk *m = mk_add();

	mk_symbol_of(m, "x")->access = MK_RW;
	mk_symbol_of(m, "x")->bytes = 8192;
	mk_agu_of(m, "stz")->symbol = 0;
	mk_store(m, "sty", mk_agu(m, 2, 0, 64), 1);
	return m;
}

/* x[i] += y for 4 pieces of x behind each other, a tile each; the loop is pipelined. */
static inline struct mk *mk_looped(void)
{
	struct mk *m = mk_in_place();
	uint32_t i;

	for (i = 0; i < m->n_streams; i++)
		m->streams[i].tile_rows = 32;
	m->n_seq = 0;
	mk_loop(m, mk_extent(m, 4));
	mk_run(m, 0);
	mk_end(m);
	mk_agu_of(m, "ldx")->loop_stride[0] = 2048;
	mk_agu_of(m, "stz")->loop_stride[0] = 2048;
	return m;
}

/* acc += w[i] for 10 iterations; acc is carried, in tiles of @tile_rows of 4 rows. */
static inline struct mk *mk_accumulate(uint32_t tile_rows)
{
	struct mk *m = mk_new("accumulate");
	int w = mk_symbol(m, "w", MK_R, 10 * 256), acc = mk_symbol(m, "acc", MK_RW, 256);
	int rows = mk_extent(m, 4), tiles = 4 / tile_rows, sw, so, sn;
	struct vrdu_node *n;

	mk_section(m, "body");
	sw = mk_stream(m, "sw", VRDU_ELEM_F32, 2, 1, rows, tile_rows, 16);
	so = mk_stream(m, "old", VRDU_ELEM_F32, 2, 1, rows, tile_rows, 16);
	sn = mk_stream(m, "new", VRDU_ELEM_F32, tiles + 1, 1, rows, tile_rows, 16);
	mk_load(m, "ldw", mk_agu(m, w, 0, 64), sw);
	mk_agu_of(m, "ldw")->loop_stride[0] = 256;
	n = mk_node(m, "carry", VRDU_NODE_CARRY, sn, -1, -1, so);
	n->agu = mk_agu(m, acc, 0, 64);
	n->agu2 = mk_agu(m, acc, 0, 64);
	mk_ew(m, "sum", VRDU_EW_ADD, so, sw, sn);
	mk_loop(m, mk_extent(m, 10));
	mk_run(m, 0);
	mk_end(m);
	return m;
}

/* The same with a table of @entries addresses for w. */
static inline struct mk *mk_tabled(uint32_t entries)
{
	struct mk *m = mk_accumulate(4);
	struct vrdu_symbol *w = mk_symbol_of(m, "w");

	w->kind = VRDU_SYMBOL_TABLE;
	w->entries = entries;
	w->bytes = 256;
	mk_agu_of(m, "ldw")->loop_stride[0] = 0;
	return m;
}

/*
 * Attention of one query over a cache of up to @max rows, to which row pos is
 * appended first: 4 heads, 2 KV heads, head size 8, cache tiles of 16 rows.
 * With @layers > 1 it is looped over layers: q, k and v of each layer are read,
 * the caches of the layers lie behind each other.
 */
static inline struct mk *mk_attention(uint32_t max, uint32_t layers)
{
	struct mk *m = mk_new("attention");
	int par = mk_symbol(m, "params", MK_R, 16), q = mk_symbol(m, "q", MK_R, 128ull * layers);
	int k = mk_symbol(m, "k", MK_R, 64ull * layers);
	int v = mk_symbol(m, "v", MK_R, 64ull * layers);
	int kc = mk_symbol(m, "kcache", MK_RW, 64ull * max * layers);
	int vc = mk_symbol(m, "vcache", MK_RW, 64ull * max * layers);
	int y = mk_symbol(m, "y", MK_W, 128ull * layers);
	int one = mk_extent(m, 1), n = mk_param(m, par, 4, 1, 1, max), s[12], i;
	static const char * const looped[] = { "ldq", "ldk", "ldv", "sty" };
	static const char * const caches[] = { "stk", "stv", "ldkc", "ldvc" };
	static const int bytes[] = { 128, 64, 64, 128 };
	struct vrdu_node *node;

	mk_section(m, "attn");
	s[0] = mk_stream(m, "pos", VRDU_ELEM_I32, 2, 1, one, 1, 1);
	s[1] = mk_stream(m, "q", VRDU_ELEM_F32, 2, 1, one, 1, 32);
	s[2] = mk_stream(m, "k", VRDU_ELEM_F32, 2, 1, one, 1, 16);
	s[3] = mk_stream(m, "v", VRDU_ELEM_F32, 2, 1, one, 1, 16);
	s[4] = mk_token(m, "kdone");
	s[5] = mk_token(m, "vdone");
	s[6] = mk_stream(m, "keys", VRDU_ELEM_F32, 2, 1, n, 16, 16);
	s[7] = mk_stream(m, "values", VRDU_ELEM_F32, 2, 1, n, 16, 16);
	s[8] = mk_transposed(m, "scores", 2, 1, n, 16, 4);
	s[9] = mk_transposed(m, "probs", 2, 1, n, 16, 4);
	s[10] = mk_stream(m, "y", VRDU_ELEM_F32, 2, 1, one, 1, 32);
	mk_load(m, "ldpos", mk_agu(m, par, 4, 4), s[0]);
	mk_load(m, "ldq", mk_agu(m, q, 0, 128), s[1]);
	mk_load(m, "ldk", mk_agu(m, k, 0, 64), s[2]);
	mk_load(m, "ldv", mk_agu(m, v, 0, 64), s[3]);
	mk_node(m, "stk", VRDU_NODE_SCATTER, s[0], s[2], -1, s[4])->agu =
		mk_index_agu(m, kc, 0, 64, 64, max);
	mk_node(m, "stv", VRDU_NODE_SCATTER, s[0], s[3], -1, s[5])->agu =
		mk_index_agu(m, vc, 0, 64, 64, max);
	mk_node(m, "ldkc", VRDU_NODE_LOAD, s[4], -1, -1, s[6])->agu = mk_agu(m, kc, 0, 64);
	mk_node(m, "ldvc", VRDU_NODE_LOAD, s[5], -1, -1, s[7])->agu = mk_agu(m, vc, 0, 64);
	node = mk_node(m, "scores", VRDU_NODE_ATTN_SCORES, s[1], s[6], -1, s[8]);
	node->p[0] = 4;
	node->p[1] = 2;
	node->p[2] = 8;
	node->p[3] = 0x3eb504f3;
	mk_node(m, "softmax", VRDU_NODE_SOFTMAX, s[8], -1, -1, s[9]);
	node = mk_node(m, "sum", VRDU_NODE_ATTN_VALUES, s[9], s[7], -1, s[10]);
	node->p[0] = 4;
	node->p[1] = 2;
	node->p[2] = 8;
	mk_store(m, "sty", mk_agu(m, y, 0, 128), s[10]);
	if (layers == 1) {
		mk_run(m, 0);
		return m;
	}
	for (i = 0; i < 4; i++) {
		mk_agu_of(m, looped[i])->loop_stride[0] = bytes[i];
		mk_agu_of(m, caches[i])->loop_stride[0] = 64ll * max;
	}
	mk_loop(m, mk_extent(m, layers));
	mk_run(m, 0);
	mk_end(m);
	return m;
}

/* One of every other kind, over 4 rows of 32, dynamic: 1 to 4. */
static inline struct mk *mk_kinds(void)
{
	struct mk *m = mk_new("kinds");
	int par = mk_symbol(m, "params", MK_R, 16), tab = mk_symbol(m, "table", MK_R, 100 * 64);
	int w = mk_symbol(m, "w", MK_R, 8192), out = mk_symbol(m, "out", MK_W, 4096);
	int n = mk_param(m, par, 0, 0, 1, 4), one = mk_extent(m, 1), e64 = mk_extent(m, 64);
	int e32 = mk_extent(m, 32), s[24];
	struct vrdu_node *node;

	mk_section(m, "all");
	s[0] = mk_stream(m, "ids", VRDU_ELEM_I32, 2, 1, n, 4, 1);
	s[1] = mk_stream(m, "emb", VRDU_ELEM_BF16, 2, 1, n, 4, 32);
	s[2] = mk_stream(m, "x", VRDU_ELEM_F32, 2, 1, n, 4, 32);
	s[3] = mk_stream(m, "gain", VRDU_ELEM_F32, 2, 1, one, 1, 32);
	s[4] = mk_stream(m, "xn", VRDU_ELEM_F32, 2, 1, n, 4, 32);
	s[5] = mk_stream(m, "rows", VRDU_ELEM_F32, 2, 1, n, 4, 8);
	s[6] = mk_stream(m, "xr", VRDU_ELEM_F32, 2, 1, n, 4, 32);
	s[7] = mk_stream(m, "wq", VRDU_ELEM_I8, 2, 1, e64, 16, 32);
	s[8] = mk_stream(m, "ws", VRDU_ELEM_F32, 2, 1, e64, 16, 2);
	s[9] = mk_stream(m, "h", VRDU_ELEM_F32, 2, 1, n, 4, 64);
	s[10] = mk_stream(m, "wb", VRDU_ELEM_BF16, 2, 1, e32, 8, 64);
	s[11] = mk_stream(m, "g", VRDU_ELEM_F32, 2, 1, n, 4, 32);
	s[12] = mk_stream(m, "best", VRDU_ELEM_I32, 2, 1, n, 4, 1);
	s[13] = mk_stream(m, "next", VRDU_ELEM_I32, 2, 1, n, 4, 1);
	s[14] = mk_stream(m, "top", VRDU_ELEM_F32, 2, 1, n, 4, 1);
	s[15] = mk_stream(m, "q8", VRDU_ELEM_I8, 2, 1, e32, 8, 64);
	s[16] = mk_stream(m, "q8s", VRDU_ELEM_F32, 2, 1, e32, 8, 4);
	s[17] = mk_stream(m, "deq", VRDU_ELEM_F32, 2, 1, e32, 8, 64);
	s[18] = mk_stream(m, "deqb", VRDU_ELEM_BF16, 2, 1, e32, 8, 64);
	mk_load(m, "ldids", mk_agu(m, par, 0, 4), s[0]);
	mk_node(m, "embed", VRDU_NODE_GATHER, s[0], -1, -1, s[1])->agu =
		mk_index_agu(m, tab, 0, 0, 64, 100);
	mk_node(m, "widen", VRDU_NODE_CAST, s[1], -1, -1, s[2]);
	mk_load(m, "ldgain", mk_agu(m, w, 0, 128), s[3]);
	mk_node(m, "norm", VRDU_NODE_RMSNORM, s[2], s[3], -1, s[4])->p[0] = 0x3727c5ac;
	node = mk_node(m, "angles", VRDU_NODE_ROPE_ROW, s[0], -1, -1, s[5]);
	node->p[0] = 8;
	node->p[1] = 0x461c4000;
	node = mk_node(m, "rope", VRDU_NODE_ROPE, s[4], s[5], -1, s[6]);
	node->p[0] = 8;
	node->p[1] = 1;
	mk_load(m, "ldwq", mk_agu(m, w, 0, 32), s[7]);
	mk_load(m, "ldws", mk_agu(m, w, 2048, 8), s[8]);
	mk_node(m, "up", VRDU_NODE_MATMUL, s[6], s[7], s[8], s[9])->p[0] = 16;
	mk_node(m, "down", VRDU_NODE_MATMUL, s[9], s[18], -1, s[11]);
	mk_node(m, "argmax", VRDU_NODE_ARGMAX, s[11], -1, -1, s[12]);
	mk_ew(m, "inc", VRDU_EW_IADD_IMM, s[12], -1, s[13]);
	mk_node_of(m, "inc")->p[1] = 1;
	mk_node(m, "max", VRDU_NODE_REDUCE, s[11], -1, -1, s[14])->p[0] = VRDU_REDUCE_MAX;
	mk_store(m, "stnext", mk_agu(m, out, 0, 4), s[13]);
	mk_store(m, "sttop", mk_agu(m, out, 16, 4), s[14]);
	mk_load(m, "ldq8", mk_agu(m, w, 4096, 64), s[15]);
	mk_load(m, "ldq8s", mk_agu(m, w, 6144, 16), s[16]);
	mk_node(m, "dequant", VRDU_NODE_CAST, s[15], s[16], -1, s[17])->p[0] = 16;
	mk_node(m, "narrow", VRDU_NODE_CAST, s[17], -1, -1, s[18]);
	mk_load(m, "ldwb", mk_agu(m, w, 4096, 128), s[10]);
	mk_store(m, "stwb", mk_agu(m, out, 0, 128), s[10]);
	mk_run(m, 0);
	/* The copy of wb would overlap the other results. */
	mk_agu_of(m, "stwb")->symbol = mk_symbol(m, "copy", MK_W, 4096);
	return m;
}

#endif /* _MKEXAMPLES_H */
