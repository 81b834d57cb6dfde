/* SPDX-License-Identifier: MIT */
/*
 * The three dataflow programs that decode a Llama-type model.
 *
 *   embed   position, token → embedding rows, rotary row
 *   layer   one decoder layer, from primitive nodes; x in place
 *   head    last norm, classifier, argmax, next token, next position
 *
 * Position and tokens live in device memory (params.h): a call's arguments are
 * the same for every token, and a layer's differ by constant strides only.
 * Batch rows advance in lockstep: one position for all.
 */
#ifndef LLAMA_PROGRAMS_H
#define LLAMA_PROGRAMS_H

#include <vrdu.h>

#include "weights.h"

#define LLAMA_MAX_BATCH	256u

/** enum llama_program_id - which program. */
enum llama_program_id {
	/** @LLAMA_EMBED: before the layers. */
	LLAMA_EMBED,
	/** @LLAMA_LAYER: called once per layer. */
	LLAMA_LAYER,
	/** @LLAMA_HEAD: after the layers. */
	LLAMA_HEAD,
	/** @LLAMA_PROGRAMS: number of programs. */
	LLAMA_PROGRAMS,
};

/** enum llama_what - what an argument is a place of. */
enum llama_what {
	/** @LLAMA_POS: s32, the position. */
	LLAMA_POS,
	/** @LLAMA_PROMPT: s32, number of given tokens. */
	LLAMA_PROMPT,
	/** @LLAMA_TOKENS: s32 [batch x context + 1]. */
	LLAMA_TOKENS,
	/** @LLAMA_X: f32 [batch x dim], the residual stream. */
	LLAMA_X,
	/** @LLAMA_ROPE: f32 [1 x head_size], cosines and sines of the position. */
	LLAMA_ROPE,
	/** @LLAMA_KEYS: f32 [batch x context x kv_heads * head_size], per layer. */
	LLAMA_KEYS,
	/** @LLAMA_VALUES: the same, per layer. */
	LLAMA_VALUES,
	/** @LLAMA_LOGITS: f32 [logit rows x batch x vocab]. */
	LLAMA_LOGITS,
	/** @LLAMA_WEIGHT: values of a role. */
	LLAMA_WEIGHT,
	/** @LLAMA_SCALE: scales of a role. */
	LLAMA_SCALE,
};

/**
 * struct llama_symbol - meaning of a program's argument.
 * @what: enum llama_what.
 * @role: WEIGHT, SCALE: whose.
 */
struct llama_symbol {
	enum llama_what what;
	enum model_role role;
};

/**
 * struct llama_program - a program and what its arguments are.
 * @image: Image; owned.
 * @symbols: Number of arguments.
 * @symbol: Their meaning, in symbol order.
 */
struct llama_program {
	struct vrdu_image *image;
	uint32_t symbols;
	struct llama_symbol symbol[VRDU_MAX_SYMBOLS];
};

/**
 * struct llama_build - what to build for.
 * @config: Model sizes.
 * @layout: Weights' layout.
 * @profile: Fabric, NULL for the default.
 * @pmu_bytes: Bytes of a memory unit of that fabric.
 * @batch: Rows, 1 … %LLAMA_MAX_BATCH.
 * @tile_rows: Rows of weight and cache tiles; 0: as many as fill half a memory unit.
 * @logit_rows: 0: logits of the last position only; else room for this many
 *	positions, logits of position p in row p.
 */
struct llama_build {
	const struct model_config *config;
	const struct llama_layout *layout;
	const char *profile;
	uint32_t pmu_bytes;
	uint32_t batch;
	uint32_t tile_rows;
	uint32_t logit_rows;
};

/** llama_program_name() - "embed", "layer", "head". */
const char *llama_program_name(enum llama_program_id id);

/** llama_symbol_bytes() - length of an argument's range. */
uint64_t llama_symbol_bytes(const struct llama_build *b, const struct llama_symbol *s);

/** llama_program_build() - build one. Return: 0 or -errno with @err. */
int llama_program_build(const struct llama_build *b, enum llama_program_id id,
			struct llama_program *out, struct error *err);

/** llama_program_destroy() - drop the image. */
void llama_program_destroy(struct llama_program *p);

#endif /* LLAMA_PROGRAMS_H */
