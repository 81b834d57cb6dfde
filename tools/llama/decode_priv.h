/* SPDX-License-Identifier: MIT */
/*
 * What decoder.c and plan.c share.
 */
#ifndef LLAMA_DECODE_PRIV_H
#define LLAMA_DECODE_PRIV_H

#include "decode.h"

/**
 * struct decoder - a model in a context.
 * @ctx: Context; referenced.
 * @model: Model; not ours.
 * @opts: Options with the defaults filled in.
 * @weights: Weights.
 * @profile: Fabric of the device.
 * @build: What the programs were built for.
 * @programs: Images and the meaning of their arguments.
 * @resident: Programs in the context.
 * @params: Parameter words (params.h).
 * @tokens: Token rows.
 * @x: Residual stream.
 * @rope: Rotary row.
 * @keys: Key cache of all layers.
 * @values: Value cache of all layers.
 * @logits: Logits.
 * @token_map: CPU view of @tokens; NULL when phantom.
 * @logit_map: CPU view of @logits; NULL when phantom.
 * @given: Given tokens of this sequence.
 * @position: Positions computed.
 */
struct decoder {
	struct vrdu_context *ctx;
	const struct model *model;
	struct decode_opts opts;
	struct llama_weights weights;
	char profile[16];
	struct llama_build build;
	struct llama_program programs[LLAMA_PROGRAMS];
	struct vrdu_program *resident[LLAMA_PROGRAMS];
	struct vrdu_bo *params;
	struct vrdu_bo *tokens;
	struct vrdu_bo *x;
	struct vrdu_bo *rope;
	struct vrdu_bo *keys;
	struct vrdu_bo *values;
	struct vrdu_bo *logits;
	const int32_t *token_map;
	const float *logit_map;
	uint32_t given;
	uint32_t position;
};

/** decoder_bind() - arguments of a program for @layer into @args, room for VRDU_MAX_SYMBOLS. */
void decoder_bind(const struct decoder *d, enum llama_program_id id, uint32_t layer,
		  struct vrdu_arg *args);

/** decoder_calls() - calls of one token. */
static inline uint32_t decoder_calls(const struct decoder *d)
{
	return d->model->config.layers + 2;
}

#endif /* LLAMA_DECODE_PRIV_H */
