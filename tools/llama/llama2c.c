// SPDX-License-Identifier: MIT
/*
 * Reader of llama2.c checkpoints. See model.h; called by model.c only.
 *
 * Version 0: seven 32-bit words, then f32 arrays grouped by role, layers
 * inside; a negative vocabulary size announces a classifier of its own; two
 * obsolete rotary tables lie before it.
 * Version 1 (magic "ak42", header of 256 bytes): f32 in another order.
 * Version 2: norms in f32, the rest signed bytes in groups with f32 scales,
 * values and scales of a tensor one after the other.
 */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAGIC		0x616b3432u
#define HEADER_V0	28
#define HEADER_V1	256

/**
 * struct cursor - reads the file front to back.
 * @m: Model.
 * @at: Bytes consumed.
 */
struct cursor {
	struct model *m;
	uint64_t at;
};

static int take(struct cursor *c, const char *what, uint64_t bytes, const uint8_t **out,
		struct error *err)
{
	if (bytes > c->m->size - c->at)
		return error_set(err, -EINVAL, "truncated: %s needs %" PRIu64 " bytes at offset %"
				 PRIu64 ", the file has %" PRIu64, what, bytes, c->at, c->m->size);
	if (out)
		*out = c->m->data + c->at;
	c->at += bytes;
	return 0;
}

/* One role, all its layers. Dimensions are within the limits: products fit in 64 bits. */
static int take_role(struct cursor *c, enum model_role role, uint32_t group, struct error *err)
{
	const struct model_config *cfg = &c->m->config;
	uint32_t n = model_per_layer(role) ? cfg->layers : 1, i, rows, cols;
	struct model_tensor *t;
	uint64_t count;
	int ret;

	model_shape(cfg, role, &rows, &cols);
	count = (uint64_t)rows * cols;
	if (group && cols % group)
		return error_set(err, -EINVAL, "%s: rows of %" PRIu32
				 " values are not whole groups of group_size %" PRIu32,
				 model_role_name(role), cols, group);
	for (i = 0; i < n; i++) {
		t = &c->m->tensors[role][i];
		t->type = group ? MODEL_Q8 : MODEL_F32;
		t->rows = rows;
		t->cols = cols;
		t->group = group;
		ret = take(c, model_role_name(role), group ? count : count * 4, &t->data, err);
		if (!ret && group)
			ret = take(c, model_role_name(role), count / group * 4, &t->scales, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int read_words(struct cursor *c, struct error *err)
{
	struct model_config *cfg = &c->m->config;
	const uint8_t *p;
	int32_t w[7];
	unsigned int i;
	int ret;

	ret = take(c, "header", sizeof(w), &p, err);
	if (ret)
		return ret;
	memcpy(w, p, sizeof(w));
	cfg->tied = w[5] > 0;
	/* A wrap to 0x80000000 stays out of range for model_check_config(). */
	if (w[5] < 0)
		w[5] = (int32_t)-(uint32_t)w[5];
	for (i = 0; i < 7; i++)
		if (w[i] < 0)
			w[i] = INT32_MAX;
	cfg->dim = w[0];
	cfg->hidden = w[1];
	cfg->layers = w[2];
	cfg->heads = w[3];
	cfg->kv_heads = w[4];
	cfg->vocab = w[5];
	cfg->context = w[6];
	cfg->eps = 1e-5f;
	cfg->theta = 10000.0f;
	if (cfg->heads && cfg->dim % cfg->heads)
		return error_set(err, -EINVAL, "dim %" PRIu32 " is not a multiple of n_heads %"
				 PRIu32, cfg->dim, cfg->heads);
	cfg->head_size = cfg->heads ? cfg->dim / cfg->heads : 0;
	return model_check_config(cfg, err);
}

static int take_roles(struct cursor *c, const enum model_role *order, unsigned int n,
		      uint32_t group, struct error *err)
{
	unsigned int i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = take_role(c, order[i], group, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int finish(struct cursor *c, uint32_t group, struct error *err)
{
	int ret;

	if (c->m->config.tied) {
		*c->m->tensors[MODEL_HEAD] = *c->m->tensors[MODEL_EMBED];
	} else {
		ret = take_role(c, MODEL_HEAD, group, err);
		if (ret)
			return ret;
	}
	if (c->at != c->m->size)
		return error_set(err, -EINVAL, "%" PRIu64 " bytes follow the last tensor (the "
				 "header asks for %" PRIu64 ", the file has %" PRIu64 ")",
				 c->m->size - c->at, c->at, c->m->size);
	return 0;
}

static int read_v0(struct cursor *c, struct error *err)
{
	static const enum model_role order[] = {
		MODEL_EMBED, MODEL_RMS_ATT, MODEL_WQ, MODEL_WK, MODEL_WV, MODEL_WO, MODEL_RMS_FFN,
		MODEL_W1, MODEL_W2, MODEL_W3, MODEL_RMS_FINAL,
	};
	const struct model_config *cfg = &c->m->config;
	int ret;

	c->m->format = "llama2.c v0";
	ret = read_words(c, err) ?: model_alloc_tensors(c->m, err) ?:
	      take_roles(c, order, sizeof(order) / sizeof(order[0]), 0, err) ?:
	      take(c, "rotary tables", (uint64_t)cfg->context * cfg->head_size * 4, NULL, err);
	return ret ?: finish(c, 0, err);
}

static int read_v1(struct cursor *c, struct error *err)
{
	static const enum model_role order[] = {
		MODEL_RMS_ATT, MODEL_RMS_FFN, MODEL_RMS_FINAL, MODEL_EMBED, MODEL_WQ, MODEL_WK,
		MODEL_WV, MODEL_WO, MODEL_W1, MODEL_W2, MODEL_W3,
	};

	c->m->format = "llama2.c v1";
	return take_roles(c, order, sizeof(order) / sizeof(order[0]), 0, err) ?: finish(c, 0, err);
}

static int read_v2(struct cursor *c, uint32_t group, struct error *err)
{
	static const enum model_role norms[] = { MODEL_RMS_ATT, MODEL_RMS_FFN, MODEL_RMS_FINAL };
	static const enum model_role order[] = {
		MODEL_EMBED, MODEL_WQ, MODEL_WK, MODEL_WV, MODEL_WO, MODEL_W1, MODEL_W2, MODEL_W3,
	};

	c->m->format = "llama2.c v2";
	if (!group || group > MODEL_MAX_HIDDEN)
		return error_set(err, -EINVAL, "group_size is %" PRIu32 ", must be 1 to %u", group,
				 MODEL_MAX_HIDDEN);
	return take_roles(c, norms, sizeof(norms) / sizeof(norms[0]), 0, err) ?:
	       take_roles(c, order, sizeof(order) / sizeof(order[0]), group, err) ?:
	       finish(c, group, err);
}

int model_read_llama2c(struct model *m, struct error *err)
{
	struct cursor c = { .m = m };
	const uint8_t *p;
	uint32_t version, group;
	int ret;

	if (model_u32(m->data) != MAGIC) {
		/* Version 0 has no magic number: the sizes must make sense. */
		ret = read_v0(&c, err);
		if (ret && c.at <= HEADER_V0)
			error_prefix(err, ret, "no known magic number, and as llama2.c v0");
		return ret;
	}
	version = model_u32(m->data + 4);
	if (version != 1 && version != 2)
		return error_set(err, -EINVAL, "llama2.c version is %" PRIu32
				 ", 1 and 2 are known", version);
	c.at = 8;
	ret = take(&c, "header", HEADER_V1 - 8, &p, err);
	if (ret)
		return ret;
	c.at = 8;
	ret = read_words(&c, err);
	if (ret)
		return ret;
	if (!m->config.tied)
		return error_set(err, -EINVAL, "vocab_size is negative or 0 in a version %" PRIu32
				 " file", version);
	if (p[28] > 1)
		return error_set(err, -EINVAL, "shared_classifier is %u, must be 0 or 1", p[28]);
	m->config.tied = p[28];
	group = model_u32(p + 29);
	c.at = HEADER_V1;
	ret = model_alloc_tensors(m, err);
	if (ret)
		return ret;
	return version == 1 ? read_v1(&c, err) : read_v2(&c, group, err);
}
