// SPDX-License-Identifier: MIT
/*
 * A model on the device: weights, state buffers, resident programs, and which
 * buffer each argument of a program is. See decode.h. Owns all of these; the
 * plans in plan.c borrow them.
 */
#include "decode_priv.h"
#include "params.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT_NS	(600ull * 1000000000)
#define CACHE_LINE		64u

/* Bytes from a layer's cache to the next one's. */
static uint64_t cache_stride(const struct decoder *d)
{
	const struct llama_symbol s = { .what = LLAMA_KEYS };

	return (llama_symbol_bytes(&d->build, &s) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static struct vrdu_arg bind_one(const struct decoder *d, const struct llama_symbol *s,
				uint32_t layer)
{
	const struct llama_role *r = &d->weights.layout.role[s->role];

	switch (s->what) {
	case LLAMA_POS:
		return (struct vrdu_arg){ d->params, LLAMA_PARAM_POS };
	case LLAMA_PROMPT:
		return (struct vrdu_arg){ d->params, LLAMA_PARAM_PROMPT };
	case LLAMA_TOKENS:
		return (struct vrdu_arg){ d->tokens, 0 };
	case LLAMA_X:
		return (struct vrdu_arg){ d->x, 0 };
	case LLAMA_ROPE:
		return (struct vrdu_arg){ d->rope, 0 };
	case LLAMA_KEYS:
		return (struct vrdu_arg){ d->keys, layer * cache_stride(d) };
	case LLAMA_VALUES:
		return (struct vrdu_arg){ d->values, layer * cache_stride(d) };
	case LLAMA_LOGITS:
		return (struct vrdu_arg){ d->logits, 0 };
	case LLAMA_WEIGHT:
		return (struct vrdu_arg){ d->weights.values[s->role],
			model_per_layer(s->role) ? layer * r->stride : 0 };
	case LLAMA_SCALE:
		return (struct vrdu_arg){ d->weights.scales[s->role],
			model_per_layer(s->role) ? layer * r->scale_stride : 0 };
	}
	return (struct vrdu_arg){ NULL, 0 };
}

void decoder_bind(const struct decoder *d, enum llama_program_id id, uint32_t layer,
		  struct vrdu_arg *args)
{
	const struct llama_program *p = &d->programs[id];
	uint32_t i;

	for (i = 0; i < p->symbols; i++)
		args[i] = bind_one(d, &p->symbol[i], layer);
}

static int make_bo(struct decoder *d, const char *what, uint64_t bytes, struct vrdu_bo **bo,
		   const void **map, struct error *err)
{
	void *p = NULL;
	int ret;

	ret = vrdu_bo_create(d->ctx, bytes, d->opts.phantom ? VRDU_BO_PHANTOM : 0, bo);
	if (!ret && !d->opts.phantom)
		ret = vrdu_bo_map(*bo, &p);
	if (ret)
		return error_set(err, ret, "%s: no device buffer of %" PRIu64 " bytes: %s", what,
				 bytes, vrdu_last_error());
	if (map)
		*map = p;
	return 0;
}

static uint64_t bytes_of(const struct decoder *d, enum llama_what what)
{
	const struct llama_symbol s = { .what = what };

	return llama_symbol_bytes(&d->build, &s);
}

static int make_state(struct decoder *d, struct error *err)
{
	uint64_t cache = cache_stride(d) * d->model->config.layers;

	return make_bo(d, "parameters", LLAMA_PARAM_BYTES, &d->params, NULL, err) ?:
	       make_bo(d, "tokens", bytes_of(d, LLAMA_TOKENS), &d->tokens,
		       (const void **)&d->token_map, err) ?:
	       make_bo(d, "residual stream", bytes_of(d, LLAMA_X), &d->x, NULL, err) ?:
	       make_bo(d, "rotary row", bytes_of(d, LLAMA_ROPE), &d->rope, NULL, err) ?:
	       make_bo(d, "key cache", cache, &d->keys, NULL, err) ?:
	       make_bo(d, "value cache", cache, &d->values, NULL, err) ?:
	       make_bo(d, "logits", bytes_of(d, LLAMA_LOGITS), &d->logits,
		       (const void **)&d->logit_map, err);
}

static int make_programs(struct decoder *d, struct error *err)
{
	unsigned int i;
	int ret;

	for (i = 0; i < LLAMA_PROGRAMS; i++) {
		ret = llama_program_build(&d->build, i, &d->programs[i], err);
		if (ret)
			return ret;
		ret = vrdu_program_create(d->ctx, d->programs[i].image, &d->resident[i]);
		if (ret)
			return error_set(err, ret, "program %s: %s", llama_program_name(i),
					 vrdu_last_error());
	}
	return 0;
}

int decoder_create(struct vrdu_context *ctx, const struct model *m, const struct decode_opts *opts,
		   struct decoder **out, struct error *err)
{
	struct vrdu_device_info info;
	struct decoder *d;
	int ret;

	d = calloc(1, sizeof(*d));
	if (!d)
		return error_set(err, -ENOMEM, "out of memory");
	d->ctx = vrdu_context_ref(ctx);
	d->model = m;
	if (opts)
		d->opts = *opts;
	if (!d->opts.batch)
		d->opts.batch = 1;
	if (!d->opts.timeout_ns)
		d->opts.timeout_ns = DEFAULT_TIMEOUT_NS;
	ret = vrdu_device_get_info(vrdu_context_device(ctx), &info, sizeof(info));
	if (ret) {
		error_set(err, ret, "%s", vrdu_last_error());
		goto fail;
	}
	ret = llama_weights_create(ctx, m, d->opts.phantom, &d->weights, err);
	if (ret)
		goto fail;
	memcpy(d->profile, info.profile, sizeof(d->profile));
	d->build = (struct llama_build){
		.config = &m->config,
		.layout = &d->weights.layout,
		.profile = d->profile,
		.pmu_bytes = info.pmu_bytes,
		.batch = d->opts.batch,
		.tile_rows = d->opts.tile_rows,
		.logit_rows = d->opts.logit_rows,
	};
	ret = make_programs(d, err) ?: make_state(d, err);
	if (ret)
		goto fail;
	*out = d;
	return 0;
fail:
	decoder_destroy(d);
	return ret;
}

void decoder_destroy(struct decoder *d)
{
	unsigned int i;

	if (!d)
		return;
	for (i = 0; i < LLAMA_PROGRAMS; i++) {
		vrdu_program_unref(d->resident[i]);
		llama_program_destroy(&d->programs[i]);
	}
	llama_weights_destroy(&d->weights);
	vrdu_bo_unref(d->params);
	vrdu_bo_unref(d->tokens);
	vrdu_bo_unref(d->x);
	vrdu_bo_unref(d->rope);
	vrdu_bo_unref(d->keys);
	vrdu_bo_unref(d->values);
	vrdu_bo_unref(d->logits);
	vrdu_context_unref(d->ctx);
	free(d);
}

static int check_ids(const struct decoder *d, const int32_t *ids, uint32_t n, uint32_t stride,
		     struct error *err)
{
	const struct model_config *c = &d->model->config;
	uint32_t i, row, rows = stride ? d->opts.batch : 1;

	if (n < 1 || n > c->context)
		return error_set(err, -EINVAL, "%" PRIu32 " tokens given, the context holds 1 to %"
				 PRIu32, n, c->context);
	for (row = 0; row < rows; row++) {
		const int32_t *line = ids + (size_t)row * stride;

		for (i = 0; i < n; i++)
			if (line[i] < 0 || (uint32_t)line[i] >= c->vocab)
				return error_set(err, -EINVAL, "token %" PRId32 " at position %"
						 PRIu32 " is not below the vocabulary size %"
						 PRIu32, line[i], i, c->vocab);
	}
	return 0;
}

int decoder_begin(struct decoder *d, const int32_t *ids, uint32_t n, uint32_t stride,
		  struct error *err)
{
	uint32_t width = llama_token_stride(d->model->config.context), row;
	int32_t words[LLAMA_PARAM_BYTES / 4] = { 0 };
	void *keys, *values;
	int ret;

	ret = check_ids(d, ids, n, stride, err);
	if (ret)
		return ret;
	words[LLAMA_PARAM_PROMPT / 4] = n;
	ret = vrdu_bo_write(d->params, 0, words, sizeof(words));
	for (row = 0; row < d->opts.batch && !ret; row++)
		ret = vrdu_bo_write(d->tokens, (uint64_t)row * width * 4, ids + (size_t)row * stride,
				    (size_t)n * 4);
	if (!ret)
		ret = vrdu_bo_map(d->keys, &keys) ?: vrdu_bo_map(d->values, &values);
	if (ret)
		return error_set(err, ret, "%s", vrdu_last_error());
	memset(keys, 0xff, cache_stride(d) * d->model->config.layers);
	memset(values, 0xff, cache_stride(d) * d->model->config.layers);
	d->given = n;
	d->position = 0;
	return 0;
}

uint32_t decoder_position(const struct decoder *d)
{
	return d->position;
}

const int32_t *decoder_tokens(const struct decoder *d, uint32_t row)
{
	return d->token_map + (uint64_t)row * llama_token_stride(d->model->config.context);
}

const float *decoder_logits(const struct decoder *d, uint32_t position, uint32_t row)
{
	uint64_t line = d->opts.logit_rows ? position : 0;

	return d->logit_map + (line * d->opts.batch + row) * d->model->config.vocab;
}

bool decoder_keeps_logits(const struct decoder *d)
{
	return d->opts.logit_rows;
}

uint64_t decoder_weight_bytes(const struct decoder *d)
{
	return d->weights.bytes;
}

struct vrdu_image *decoder_image(const struct decoder *d, enum llama_program_id id)
{
	return d->programs[id].image;
}
