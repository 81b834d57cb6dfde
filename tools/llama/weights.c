// SPDX-License-Identifier: MIT
/*
 * Repacking a checkpoint into device buffers, role by role: see weights.h.
 * Owns the buffers in struct llama_weights; reads the model once, front to
 * back within a role.
 */
#include "weights.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LINE	64u	/* layers begin on cache lines */

static uint64_t lines(uint64_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static bool is_norm(enum model_role role)
{
	return role == MODEL_RMS_ATT || role == MODEL_RMS_FFN || role == MODEL_RMS_FINAL;
}

static bool is_quantised(enum model_type type)
{
	return type == MODEL_Q8 || type == MODEL_Q8_0;
}

/* The one element type that a role's layers share in device memory. */
static int role_elem(const struct model *m, enum model_role role, struct llama_role *r,
		     struct error *err)
{
	const struct model_tensor *t = m->tensors[role];
	uint32_t i, quantised = 0, bf16 = 0;

	for (i = 0; i < r->layers; i++) {
		quantised += is_quantised(t[i].type) && t[i].group == t[0].group;
		bf16 += t[i].type == MODEL_BF16;
	}
	r->elem = VRDU_ELEM_F32;
	if (is_norm(role))
		return 0;
	if (quantised == r->layers) {
		r->elem = VRDU_ELEM_I8;
		r->group = t[0].group;
	} else if (quantised) {
		return error_set(err, -EINVAL, "%s: the layers mix quantised and other element "
				 "types; convert the model to one type", model_role_name(role));
	} else if (bf16 == r->layers) {
		r->elem = VRDU_ELEM_BF16;
	}
	return 0;
}

int llama_layout_init(struct llama_layout *l, const struct model *m, struct error *err)
{
	static const uint32_t elem_bytes[] = {
		[VRDU_ELEM_F32] = 4, [VRDU_ELEM_BF16] = 2, [VRDU_ELEM_I8] = 1,
	};
	unsigned int i;
	int ret;

	memset(l, 0, sizeof(*l));
	for (i = 0; i < MODEL_ROLES; i++) {
		struct llama_role *r = &l->role[i];

		model_shape(&m->config, i, &r->rows, &r->cols);
		r->layers = model_per_layer(i) ? m->config.layers : 1;
		ret = role_elem(m, i, r, err);
		if (ret)
			return ret;
		r->bytes = (uint64_t)r->rows * r->cols * elem_bytes[r->elem];
		r->stride = lines(r->bytes);
		if (r->elem != VRDU_ELEM_I8)
			continue;
		r->scale_cols = r->cols / r->group;
		r->scale_bytes = (uint64_t)r->rows * r->scale_cols * 4;
		r->scale_stride = lines(r->scale_bytes);
	}
	return 0;
}

/* Values and scales of a quantised tensor, in the order of rows. */
static void pack_quantised(const struct model_tensor *t, uint8_t *values, uint8_t *scales)
{
	uint64_t n = (uint64_t)t->rows * t->cols, i;
	float scale;

	if (t->type == MODEL_Q8) {
		memcpy(values, t->data, n);
		memcpy(scales, t->scales, n / t->group * 4);
		return;
	}
	for (i = 0; i < n / 32; i++) {
		scale = model_half(model_u16(t->data + i * 34));
		memcpy(scales + i * 4, &scale, 4);
		memcpy(values + i * 32, t->data + i * 34 + 2, 32);
	}
}

static void pack(const struct llama_role *r, const struct model_tensor *t, uint8_t *values,
		 uint8_t *scales)
{
	uint32_t i;

	if (r->elem == VRDU_ELEM_I8) {
		pack_quantised(t, values, scales);
		return;
	}
	if (r->elem == VRDU_ELEM_BF16 || t->type == MODEL_F32) {
		memcpy(values, t->data, r->bytes);
		return;
	}
	for (i = 0; i < t->rows; i++)
		model_row_floats(t, i, (float *)values + (uint64_t)i * t->cols);
}

static int make_bo(struct vrdu_context *ctx, enum model_role role, uint64_t bytes, bool phantom,
		   struct vrdu_bo **bo, uint8_t **map, struct error *err)
{
	void *p = NULL;
	int ret;

	ret = vrdu_bo_create(ctx, bytes, phantom ? VRDU_BO_PHANTOM : 0, bo);
	if (!ret && !phantom)
		ret = vrdu_bo_map(*bo, &p);
	if (ret)
		return error_set(err, ret, "%s: no device buffer of %" PRIu64 " bytes: %s",
				 model_role_name(role), bytes, vrdu_last_error());
	*map = p;
	return 0;
}

static int make_role(struct vrdu_context *ctx, const struct model *m, enum model_role role,
		     bool phantom, struct llama_weights *w, struct error *err)
{
	const struct llama_role *r = &w->layout.role[role];
	uint8_t *values = NULL, *scales = NULL;
	uint32_t i;
	int ret;

	ret = make_bo(ctx, role, r->stride * r->layers, phantom, &w->values[role], &values, err);
	if (!ret && r->elem == VRDU_ELEM_I8)
		ret = make_bo(ctx, role, r->scale_stride * r->layers, phantom, &w->scales[role],
			      &scales, err);
	if (ret)
		return ret;
	w->bytes += (r->stride + r->scale_stride) * r->layers;
	for (i = 0; i < r->layers && !phantom; i++)
		pack(r, &m->tensors[role][i], values + i * r->stride,
		     scales ? scales + i * r->scale_stride : NULL);
	return 0;
}

int llama_weights_create(struct vrdu_context *ctx, const struct model *m, bool phantom,
			 struct llama_weights *out, struct error *err)
{
	unsigned int i;
	int ret;

	memset(out, 0, sizeof(*out));
	ret = llama_layout_init(&out->layout, m, err);
	for (i = 0; i < MODEL_ROLES && !ret; i++) {
		if (i == MODEL_HEAD && m->config.tied) {
			out->values[i] = vrdu_bo_ref(out->values[MODEL_EMBED]);
			if (out->scales[MODEL_EMBED])
				out->scales[i] = vrdu_bo_ref(out->scales[MODEL_EMBED]);
			continue;
		}
		ret = make_role(ctx, m, i, phantom, out, err);
	}
	if (ret)
		llama_weights_destroy(out);
	return ret;
}

void llama_weights_destroy(struct llama_weights *w)
{
	unsigned int i;

	for (i = 0; i < MODEL_ROLES; i++) {
		vrdu_bo_unref(w->values[i]);
		vrdu_bo_unref(w->scales[i]);
	}
	memset(w, 0, sizeof(*w));
}
