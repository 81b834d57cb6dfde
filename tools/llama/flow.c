// SPDX-License-Identifier: MIT
/*
 * Primitives of the decoder's programs on top of the image builder: see
 * flow.h. Owns nothing; the builder holds the image in the making.
 */
#include "flow.h"

#include <stdio.h>
#include <string.h>

static const char *const symbol_names[] = {
	[LLAMA_POS] = "pos",
	[LLAMA_PROMPT] = "n_prompt",
	[LLAMA_TOKENS] = "tokens",
	[LLAMA_X] = "x",
	[LLAMA_ROPE] = "rope",
	[LLAMA_KEYS] = "k_cache",
	[LLAMA_VALUES] = "v_cache",
	[LLAMA_LOGITS] = "logits",
};

uint32_t flow_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

uint32_t flow_tile_rows(const struct flow *f, uint64_t row_bytes, uint32_t rows)
{
	uint64_t n = f->in->tile_rows;

	if (!n)
		n = f->in->pmu_bytes / 2 / row_bytes;
	if (!n)
		n = 1;
	return n < rows ? n : rows;
}

uint32_t flow_symbol(struct flow *f, enum llama_what what, enum model_role role, uint32_t access)
{
	struct llama_symbol s = { what, role };
	char name[32];
	uint32_t i;
	int index;

	for (i = 0; i < f->out->symbols; i++)
		if (f->out->symbol[i].what == what && f->out->symbol[i].role == role)
			return i;
	if (what == LLAMA_WEIGHT || what == LLAMA_SCALE)
		snprintf(name, sizeof(name), "%s%s", model_role_name(role),
			 what == LLAMA_SCALE ? "_scales" : "");
	else
		snprintf(name, sizeof(name), "%s", symbol_names[what]);
	index = vrdu_builder_symbol(f->b, name, access, llama_symbol_bytes(f->in, &s));
	if (index >= 0 && index < VRDU_MAX_SYMBOLS) {
		f->out->symbol[index] = s;
		f->out->symbols = index + 1;
	}
	return index;
}

uint32_t flow_stream_desc(struct flow *f, const char *name, const struct vrdu_stream_desc *d)
{
	return vrdu_builder_stream(f->b, name, d);
}

uint32_t flow_stream(struct flow *f, const char *name, uint32_t elem, uint32_t rows,
		     uint32_t cols, uint32_t tile_rows)
{
	struct vrdu_stream_desc d = {
		.elem = elem,
		.rows = vrdu_builder_extent(f->b, rows),
		.tile_rows = tile_rows,
		.cols = cols,
	};

	return flow_stream_desc(f, name, &d);
}

uint32_t flow_token(struct flow *f, const char *name)
{
	return flow_stream(f, name, VRDU_ELEM_TOKEN, 1, 0, 1);
}

void flow_node(struct flow *f, const char *name, const struct vrdu_node_desc *d)
{
	vrdu_builder_node(f->b, name, d);
}

void flow_load_into(struct flow *f, const char *name, uint32_t symbol, uint32_t stream,
		    uint32_t token, uint64_t outer_stride)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_LOAD);
	struct vrdu_agu agu = { .symbol = symbol, .outer_stride = outer_stride };

	d.in[0] = token;
	d.out[0] = stream;
	d.agu = vrdu_builder_agu(f->b, &agu);
	flow_node(f, name, &d);
}

uint32_t flow_load(struct flow *f, const char *name, uint32_t symbol, uint32_t elem,
		   uint32_t rows, uint32_t cols, uint32_t tile_rows)
{
	uint32_t s = flow_stream(f, name, elem, rows, cols, tile_rows);

	flow_load_into(f, name, symbol, s, VRDU_NONE, 0);
	return s;
}

void flow_store(struct flow *f, const char *name, uint32_t symbol, uint32_t stream)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_STORE);
	struct vrdu_agu agu = { .symbol = symbol };

	d.in[0] = stream;
	d.agu = vrdu_builder_agu(f->b, &agu);
	flow_node(f, name, &d);
}

static uint32_t indexed_agu(struct flow *f, const struct flow_place *p)
{
	struct vrdu_agu agu = {
		.symbol = p->symbol,
		.row_stride = p->row_stride,
		.index_stride = p->index_stride,
		.index_limit = p->index_limit,
	};

	return vrdu_builder_agu(f->b, &agu);
}

uint32_t flow_gather(struct flow *f, const char *name, uint32_t index,
		     const struct flow_place *p, uint32_t elem, uint32_t rows, uint32_t cols)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_GATHER);

	d.in[0] = index;
	d.out[0] = flow_stream(f, name, elem, rows, cols, 0);
	d.agu = indexed_agu(f, p);
	flow_node(f, name, &d);
	return d.out[0];
}

void flow_scatter(struct flow *f, const char *name, uint32_t index, uint32_t data,
		  const struct flow_place *p, uint32_t token)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_SCATTER);

	d.in[0] = index;
	d.in[1] = data;
	d.out[0] = token;
	d.agu = indexed_agu(f, p);
	flow_node(f, name, &d);
}

uint32_t flow_matmul(struct flow *f, enum model_role role, uint32_t x)
{
	const struct llama_role *r = &f->in->layout->role[role];
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_MATMUL);
	const char *name = model_role_name(role);
	char other[32];
	uint32_t tile = flow_tile_rows(f, r->bytes / r->rows, r->rows), symbol;

	symbol = flow_symbol(f, LLAMA_WEIGHT, role, VRDU_SYMBOL_READ);
	d.in[0] = x;
	d.in[1] = flow_load(f, name, symbol, r->elem, r->rows, r->cols, tile);
	if (r->elem == VRDU_ELEM_I8) {
		snprintf(other, sizeof(other), "%s_scales", name);
		symbol = flow_symbol(f, LLAMA_SCALE, role, VRDU_SYMBOL_READ);
		d.in[2] = flow_load(f, other, symbol, VRDU_ELEM_F32, r->rows, r->scale_cols, tile);
		d.p[0] = r->group;
	}
	snprintf(other, sizeof(other), "%s_out", name);
	d.out[0] = flow_stream(f, other, VRDU_ELEM_F32, f->in->batch, r->rows, 0);
	snprintf(other, sizeof(other), "%s_mul", name);
	flow_node(f, other, &d);
	return d.out[0];
}

uint32_t flow_norm(struct flow *f, enum model_role role, uint32_t x)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_RMSNORM);
	const struct model_config *c = f->in->config;
	const char *name = model_role_name(role);
	char other[32];

	d.in[0] = x;
	d.in[1] = flow_load(f, name, flow_symbol(f, LLAMA_WEIGHT, role, VRDU_SYMBOL_READ),
			    VRDU_ELEM_F32, 1, c->dim, 0);
	snprintf(other, sizeof(other), "%s_out", name);
	d.out[0] = flow_stream(f, other, VRDU_ELEM_F32, f->in->batch, c->dim, 0);
	d.p[0] = flow_bits(c->eps);
	snprintf(other, sizeof(other), "%s_norm", name);
	flow_node(f, other, &d);
	return d.out[0];
}

uint32_t flow_ew(struct flow *f, const char *name, uint32_t op, uint32_t imm, uint32_t a,
		 uint32_t b, uint32_t elem, uint32_t rows, uint32_t cols)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_EW);

	d.in[0] = a;
	d.in[1] = b;
	d.out[0] = flow_stream(f, name, elem, rows, cols, 0);
	d.p[0] = op;
	d.p[1] = imm;
	flow_node(f, name, &d);
	return d.out[0];
}
