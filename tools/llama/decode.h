/* SPDX-License-Identifier: MIT */
/*
 * Decoding on the device: a decoder holds a model's weights, state and
 * programs in a context; a plan is one way of submitting the same calls.
 *
 * Everything that changes from token to token is in device memory. The host
 * writes the given tokens once (decoder_begin()) and then only submits.
 */
#ifndef LLAMA_DECODE_H
#define LLAMA_DECODE_H

#include <vrdu.h>

#include "programs.h"

/** enum decode_mode - ways of submitting a token's layers + 2 calls. */
enum decode_mode {
	/** @DECODE_LAYER: each call is submitted and waited for: a host-driven runtime. */
	DECODE_LAYER,
	/** @DECODE_BATCH: all calls of a token in one submission. */
	DECODE_BATCH,
	/** @DECODE_LOOP: the layers are one looped call; one submission per token. */
	DECODE_LOOP,
	/** @DECODE_TOKEN_LOOP: tokens are a loop too; one submission per block of tokens. */
	DECODE_TOKEN_LOOP,
	/** @DECODE_MODES: number of modes. */
	DECODE_MODES,
};

/** decode_mode_name() - "layer", "batch", "loop", "token-loop". */
const char *decode_mode_name(enum decode_mode mode);

/* Tokens of a block of the token loop unless the caller says otherwise. */
#define DECODE_BLOCK		64u
#define DECODE_MAX_BLOCK	1024u

/**
 * struct decode_opts - how to set up a decoder. Zero is the default for all.
 * @batch: Rows that advance in lockstep; 0: 1.
 * @tile_rows: See struct llama_build.
 * @logit_rows: See struct llama_build.
 * @phantom: Buffers without contents: images and timing only.
 * @timeout_ns: Longest wait for a submission; 0: ten minutes.
 */
struct decode_opts {
	uint32_t batch;
	uint32_t tile_rows;
	uint32_t logit_rows;
	bool phantom;
	uint64_t timeout_ns;
};

struct decoder;
struct decode_plan;

/** decoder_create() - copy the weights to the device and build the programs. @m must outlive it. */
int decoder_create(struct vrdu_context *ctx, const struct model *m, const struct decode_opts *opts,
		   struct decoder **out, struct error *err);
void decoder_destroy(struct decoder *d);

/**
 * decoder_begin() - start a sequence: position 0, given tokens, cache forgotten.
 * @ids: @n tokens for each batch row, rows @stride apart; 0: the same for all.
 *
 * The cache is filled with NaN, so that a read of a row that was not written
 * in this sequence shows.
 */
int decoder_begin(struct decoder *d, const int32_t *ids, uint32_t n, uint32_t stride,
		  struct error *err);

/** decoder_position() - positions computed since decoder_begin(). */
uint32_t decoder_position(const struct decoder *d);

/** decoder_tokens() - tokens of a row, in device memory: given, then appended. */
const int32_t *decoder_tokens(const struct decoder *d, uint32_t row);

/** decoder_logits() - logits of a position and row; with logit_rows 0 @position is ignored. */
const float *decoder_logits(const struct decoder *d, uint32_t position, uint32_t row);

/** decoder_keeps_logits() - whether each position's logits have a row of their own. */
bool decoder_keeps_logits(const struct decoder *d);

/** decoder_weight_bytes() - device memory that the weights take. */
uint64_t decoder_weight_bytes(const struct decoder *d);

/** decoder_image() - a program's image, as built. */
struct vrdu_image *decoder_image(const struct decoder *d, enum llama_program_id id);

/**
 * decode_plan_create() - prepare a way of submitting.
 * @block: TOKEN_LOOP: positions of one advance, 1 … %DECODE_MAX_BLOCK; other modes: 1.
 *
 * LOOP and TOKEN_LOOP record the calls once and leave the rest to
 * vrdu_looping_apply().
 */
int decode_plan_create(struct decoder *d, enum decode_mode mode, uint32_t block,
		       struct decode_plan **out, struct error *err);
void decode_plan_destroy(struct decode_plan *p);

/** decode_plan_positions() - positions that one advance computes. */
uint32_t decode_plan_positions(const struct decode_plan *p);

/** decode_plan_recorded() - the recorded graph before looping; NULL for LAYER and BATCH. */
struct vrdu_graph *decode_plan_recorded(const struct decode_plan *p);

/** decode_plan_graph() - the graph that is launched; NULL for LAYER and BATCH. */
struct vrdu_graph *decode_plan_graph(const struct decode_plan *p);

/** decode_plan_looping() - the options that the plan gave to vrdu_looping_apply(). */
struct vrdu_looping_opts decode_plan_looping(const struct decode_plan *p);

/**
 * decode_plan_advance() - compute the next positions, and wait.
 *
 * Return: 0; -ENOSPC: not that many positions are left; or what vrdu_wait()
 * returned, with @err naming program and node.
 */
int decode_plan_advance(struct decode_plan *p, struct error *err);

#endif /* LLAMA_DECODE_H */
