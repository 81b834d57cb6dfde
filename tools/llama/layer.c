// SPDX-License-Identifier: MIT
/*
 * One decoder layer as one dataflow program. Called by programs.c with an open
 * builder; the section of the layer is the only one.
 *
 *   x ── norm ─┬ wq ─ rope ──────────── scores ─ softmax ─ values ─ wo ─ (+x) ─ h
 *              ├ wk ─ rope ─ scatter ⋯ load K ─┘               │
 *              └ wv ──────── scatter ⋯ load V ─────────────────┘
 *   h ── norm ─┬ w1 ─┐
 *              └ w3 ─┴ silu·mul ─ w2 ─ (+h) ── x
 *
 * The dots are token streams: the cache is read after this position's row is
 * in it. x is loaded before it is stored because the store depends on it.
 */
#include "flow.h"

#include <math.h>

/**
 * struct sizes - a layer's, spelled out once.
 * @kv: Width of a key or value row.
 * @q: Width of all heads.
 * @tile: Rows of a cache tile.
 * @rows: Extent: positions so far, this one included.
 */
struct sizes {
	uint32_t kv;
	uint32_t q;
	uint32_t tile;
	uint32_t rows;
};

static uint32_t rope(struct flow *f, const char *name, uint32_t in, uint32_t row, uint32_t cols)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_ROPE);

	d.in[0] = in;
	d.in[1] = row;
	d.out[0] = flow_stream(f, name, VRDU_ELEM_F32, f->in->batch, cols, 0);
	d.p[0] = f->in->config->head_size;
	flow_node(f, name, &d);
	return d.out[0];
}

/* Put this position's row into a cache, then give all rows so far. */
static uint32_t cache(struct flow *f, const struct sizes *s, enum llama_what what,
		      uint32_t pos, uint32_t row)
{
	const struct model_config *c = f->in->config;
	bool keys = what == LLAMA_KEYS;
	uint64_t line = (uint64_t)s->kv * 4;
	struct flow_place place = {
		.symbol = flow_symbol(f, what, 0, VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE),
		.row_stride = line * c->context,
		.index_stride = line,
		.index_limit = c->context,
	};
	struct vrdu_stream_desc d = {
		.elem = VRDU_ELEM_F32,
		.outer = f->in->batch,
		.rows = s->rows,
		.tile_rows = s->tile,
		.cols = s->kv,
	};
	uint32_t token, stream;

	token = flow_token(f, keys ? "k_written" : "v_written");
	flow_scatter(f, keys ? "k_append" : "v_append", pos, row, &place, token);
	stream = flow_stream_desc(f, keys ? "k_rows" : "v_rows", &d);
	flow_load_into(f, keys ? "k_load" : "v_load", place.symbol, stream, token,
		       line * c->context);
	return stream;
}

static uint32_t attention(struct flow *f, const struct sizes *s, uint32_t q, uint32_t k,
			  uint32_t v)
{
	const struct model_config *c = f->in->config;
	struct vrdu_node_desc scores = VRDU_NODE_DESC_INIT(VRDU_NODE_ATTN_SCORES);
	struct vrdu_node_desc softmax = VRDU_NODE_DESC_INIT(VRDU_NODE_SOFTMAX);
	struct vrdu_node_desc values = VRDU_NODE_DESC_INIT(VRDU_NODE_ATTN_VALUES);
	struct vrdu_stream_desc d = {
		.elem = VRDU_ELEM_F32,
		.flags = VRDU_STREAM_TRANSPOSED,
		.outer = f->in->batch,
		.rows = s->rows,
		.tile_rows = s->tile,
		.cols = c->heads,
	};

	scores.in[0] = q;
	scores.in[1] = k;
	scores.out[0] = flow_stream_desc(f, "scores", &d);
	scores.p[0] = c->heads;
	scores.p[1] = c->kv_heads;
	scores.p[2] = c->head_size;
	scores.p[3] = flow_bits(1.0f / sqrtf((float)c->head_size));
	flow_node(f, "attn_scores", &scores);

	softmax.in[0] = scores.out[0];
	softmax.out[0] = flow_stream_desc(f, "probs", &d);
	flow_node(f, "attn_softmax", &softmax);

	values.in[0] = softmax.out[0];
	values.in[1] = v;
	values.out[0] = flow_stream(f, "attn", VRDU_ELEM_F32, f->in->batch, s->q, 0);
	values.p[0] = c->heads;
	values.p[1] = c->kv_heads;
	values.p[2] = c->head_size;
	flow_node(f, "attn_values", &values);
	return values.out[0];
}

void llama_flow_layer(struct flow *f)
{
	const struct model_config *c = f->in->config;
	uint32_t m = f->in->batch, sym_pos, sym_x, pos, x, row, norm, q, k, v, h, gate, up, out;
	struct sizes s = { .kv = c->kv_heads * c->head_size, .q = c->heads * c->head_size };

	s.tile = flow_tile_rows(f, (uint64_t)(s.kv > c->heads ? s.kv : c->heads) * 4, c->context);
	sym_pos = flow_symbol(f, LLAMA_POS, 0, VRDU_SYMBOL_READ);
	sym_x = flow_symbol(f, LLAMA_X, 0, VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE);
	s.rows = vrdu_builder_extent_param(f->b, sym_pos, 0, 1, 1, c->context);

	pos = flow_load(f, "pos", sym_pos, VRDU_ELEM_I32, 1, 1, 0);
	row = flow_load(f, "rope", flow_symbol(f, LLAMA_ROPE, 0, VRDU_SYMBOL_READ), VRDU_ELEM_F32,
			1, c->head_size, 0);
	x = flow_load(f, "x", sym_x, VRDU_ELEM_F32, m, c->dim, 0);

	norm = flow_norm(f, MODEL_RMS_ATT, x);
	q = rope(f, "q", flow_matmul(f, MODEL_WQ, norm), row, s.q);
	k = rope(f, "k", flow_matmul(f, MODEL_WK, norm), row, s.kv);
	v = flow_matmul(f, MODEL_WV, norm);
	k = cache(f, &s, LLAMA_KEYS, pos, k);
	v = cache(f, &s, LLAMA_VALUES, pos, v);
	out = flow_matmul(f, MODEL_WO, attention(f, &s, q, k, v));
	h = flow_ew(f, "h", VRDU_EW_ADD, 0, x, out, VRDU_ELEM_F32, m, c->dim);

	norm = flow_norm(f, MODEL_RMS_FFN, h);
	gate = flow_matmul(f, MODEL_W1, norm);
	up = flow_matmul(f, MODEL_W3, norm);
	gate = flow_ew(f, "silu_mul", VRDU_EW_SILU_MUL, 0, gate, up, VRDU_ELEM_F32, m, c->hidden);
	out = flow_matmul(f, MODEL_W2, gate);
	out = flow_ew(f, "x_next", VRDU_EW_ADD, 0, h, out, VRDU_ELEM_F32, m, c->dim);
	flow_store(f, "x_store", sym_x, out);
}
