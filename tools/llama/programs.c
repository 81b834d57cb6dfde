// SPDX-License-Identifier: MIT
/*
 * Builds the decoder's programs: embedding and head here, the layer in
 * layer.c. See programs.h. Owns the images it hands out in struct
 * llama_program; needs no device.
 */
#include "flow.h"
#include "params.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *const names[LLAMA_PROGRAMS] = { "embed", "layer", "head" };

const char *llama_program_name(enum llama_program_id id)
{
	return names[id];
}

uint64_t llama_symbol_bytes(const struct llama_build *b, const struct llama_symbol *s)
{
	const struct model_config *c = b->config;
	uint64_t m = b->batch, kv = (uint64_t)c->kv_heads * c->head_size;

	switch (s->what) {
	case LLAMA_POS:
	case LLAMA_PROMPT:
		return 4;
	case LLAMA_TOKENS:
		return m * llama_token_stride(c->context) * 4;
	case LLAMA_X:
		return m * c->dim * 4;
	case LLAMA_ROPE:
		return (uint64_t)c->head_size * 4;
	case LLAMA_KEYS:
	case LLAMA_VALUES:
		return m * c->context * kv * 4;
	case LLAMA_LOGITS:
		return (b->logit_rows ? b->logit_rows : 1) * m * c->vocab * 4;
	case LLAMA_WEIGHT:
		return b->layout->role[s->role].bytes;
	case LLAMA_SCALE:
		return b->layout->role[s->role].scale_bytes;
	}
	return 0;
}

/* A row of the embedding per batch row, as f32. */
static uint32_t embedding(struct flow *f, uint32_t ids)
{
	const struct llama_role *r = &f->in->layout->role[MODEL_EMBED];
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_CAST);
	uint32_t m = f->in->batch;
	struct flow_place place = {
		.symbol = flow_symbol(f, LLAMA_WEIGHT, MODEL_EMBED, VRDU_SYMBOL_READ),
		.index_stride = r->bytes / r->rows,
		.index_limit = r->rows,
	};

	d.in[0] = flow_gather(f, "embed_row", ids, &place, r->elem, m, r->cols);
	if (r->elem == VRDU_ELEM_F32)
		return d.in[0];
	if (r->elem == VRDU_ELEM_I8) {
		place.symbol = flow_symbol(f, LLAMA_SCALE, MODEL_EMBED, VRDU_SYMBOL_READ);
		place.index_stride = (uint64_t)r->scale_cols * 4;
		d.in[1] = flow_gather(f, "embed_scales", ids, &place, VRDU_ELEM_F32, m,
				      r->scale_cols);
		d.p[0] = r->group;
	}
	d.out[0] = flow_stream(f, "embed_f32", VRDU_ELEM_F32, m, r->cols, 0);
	flow_node(f, "embed_cast", &d);
	return d.out[0];
}

static void flow_embed(struct flow *f)
{
	const struct model_config *c = f->in->config;
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_ROPE_ROW);
	uint32_t stride = llama_token_stride(c->context), pos, ids;
	struct flow_place place = {
		.row_stride = (uint64_t)stride * 4,
		.index_stride = 4,
		.index_limit = stride,
	};

	pos = flow_load(f, "pos", flow_symbol(f, LLAMA_POS, 0, VRDU_SYMBOL_READ), VRDU_ELEM_I32,
			1, 1, 0);
	place.symbol = flow_symbol(f, LLAMA_TOKENS, 0, VRDU_SYMBOL_READ);
	ids = flow_gather(f, "token", pos, &place, VRDU_ELEM_I32, f->in->batch, 1);
	flow_store(f, "x_store", flow_symbol(f, LLAMA_X, 0, VRDU_SYMBOL_WRITE), embedding(f, ids));

	d.in[0] = pos;
	d.out[0] = flow_stream(f, "rope", VRDU_ELEM_F32, 1, c->head_size, 0);
	d.p[0] = c->head_size;
	d.p[1] = flow_bits(c->theta);
	flow_node(f, "rope_row", &d);
	flow_store(f, "rope_store", flow_symbol(f, LLAMA_ROPE, 0, VRDU_SYMBOL_WRITE), d.out[0]);
}

static void store_logits(struct flow *f, uint32_t pos, uint32_t logits)
{
	uint32_t symbol = flow_symbol(f, LLAMA_LOGITS, 0, VRDU_SYMBOL_WRITE);
	uint64_t row = (uint64_t)f->in->config->vocab * 4;
	struct flow_place place = {
		.symbol = symbol,
		.row_stride = row,
		.index_stride = row * f->in->batch,
		.index_limit = f->in->logit_rows,
	};

	if (f->in->logit_rows)
		flow_scatter(f, "logits_store", pos, logits, &place, VRDU_NONE);
	else
		flow_store(f, "logits_store", symbol, logits);
}

static void flow_head(struct flow *f)
{
	const struct model_config *c = f->in->config;
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_ARGMAX);
	uint32_t stride = llama_token_stride(c->context), sym_pos, pos, next, given, at, x, logits;
	struct flow_place place = {
		.row_stride = (uint64_t)stride * 4,
		.index_stride = 4,
		.index_limit = stride,
	};

	sym_pos = flow_symbol(f, LLAMA_POS, 0, VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE);
	pos = flow_load(f, "pos", sym_pos, VRDU_ELEM_I32, 1, 1, 0);
	given = flow_load(f, "n_prompt", flow_symbol(f, LLAMA_PROMPT, 0, VRDU_SYMBOL_READ),
			  VRDU_ELEM_I32, 1, 1, 0);
	x = flow_load(f, "x", flow_symbol(f, LLAMA_X, 0, VRDU_SYMBOL_READ), VRDU_ELEM_F32,
		      f->in->batch, c->dim, 0);
	logits = flow_matmul(f, MODEL_HEAD, flow_norm(f, MODEL_RMS_FINAL, x));
	/* Loads are windows on memory: only a copy may still be in use when pos is stored. */
	if (f->in->logit_rows)
		pos = flow_ew(f, "pos_copy", VRDU_EW_IADD_IMM, 0, pos, VRDU_NONE, VRDU_ELEM_I32, 1,
			      1);
	store_logits(f, pos, logits);

	d.in[0] = logits;
	d.out[0] = flow_stream(f, "best", VRDU_ELEM_I32, f->in->batch, 1, 0);
	flow_node(f, "argmax", &d);

	/* While given tokens remain, the guess goes where the last of them will put its own. */
	next = flow_ew(f, "next", VRDU_EW_IADD_IMM, 1, pos, VRDU_NONE, VRDU_ELEM_I32, 1, 1);
	at = flow_ew(f, "at", VRDU_EW_IMAX, 0, next, given, VRDU_ELEM_I32, 1, 1);
	place.symbol = flow_symbol(f, LLAMA_TOKENS, 0, VRDU_SYMBOL_WRITE);
	flow_scatter(f, "token_store", at, d.out[0], &place, VRDU_NONE);
	flow_store(f, "pos_store", sym_pos, next);
}

static int check(const struct llama_build *b, struct error *err)
{
	if (b->batch < 1 || b->batch > LLAMA_MAX_BATCH)
		return error_set(err, -EINVAL, "batch is %" PRIu32 ", must be 1 to %u", b->batch,
				 LLAMA_MAX_BATCH);
	if (b->logit_rows > b->config->context)
		return error_set(err, -EINVAL, "logits of %" PRIu32 " positions, the context has %"
				 PRIu32, b->logit_rows, b->config->context);
	return 0;
}

int llama_program_build(const struct llama_build *b, enum llama_program_id id,
			struct llama_program *out, struct error *err)
{
	static void (*const build[LLAMA_PROGRAMS])(struct flow *f) = {
		flow_embed, llama_flow_layer, flow_head,
	};
	struct flow f = { .in = b, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = check(b, err);
	if (ret)
		return ret;
	ret = vrdu_builder_create(names[id], b->profile, &f.b);
	if (!ret) {
		vrdu_builder_section(f.b, names[id]);
		build[id](&f);
		ret = vrdu_builder_finish(f.b, &out->image);
		vrdu_builder_unref(f.b);
	}
	if (ret)
		error_set(err, ret, "program %s: %s", names[id], vrdu_last_error());
	return ret;
}

void llama_program_destroy(struct llama_program *p)
{
	vrdu_image_unref(p->image);
	memset(p, 0, sizeof(*p));
}
