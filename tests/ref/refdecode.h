/* SPDX-License-Identifier: MIT */
/*
 * The reference decoder: a Llama-type model computed in double precision with
 * straight loops. It is the answer that the device's tokens and logits are
 * compared with, so it shares no code with the product and has no fast path.
 *
 * Used by tests (as a library) and by the refdecode command line. Not thread
 * safe per model; two models are independent.
 */
#ifndef REFDECODE_H
#define REFDECODE_H

#include <stddef.h>
#include <stdint.h>

/** Largest numbers that a file may ask for; a larger one is refused by name. */
#define REF_MAX_DIM		16384
#define REF_MAX_HIDDEN		65536
#define REF_MAX_LAYERS		256
#define REF_MAX_VOCAB		1048576
#define REF_MAX_CONTEXT		131072
/** Largest file, and largest key/value cache in elements. */
#define REF_MAX_FILE		(1ULL << 30)
#define REF_MAX_CACHE		(1ULL << 26)

/**
 * struct ref_error - the one sentence that says why a call failed
 * @text: the cause with the values that broke the rule; empty on success
 */
struct ref_error {
	char text[256];
};

/**
 * struct ref_layer - one decoder layer's weights, every value exact as double
 * @attn_norm: gain, [dim]
 * @attn_q: [heads * head_size][dim]
 * @attn_k: [kv_heads * head_size][dim]
 * @attn_v: [kv_heads * head_size][dim]
 * @attn_output: [dim][heads * head_size]
 * @ffn_norm: gain, [dim]
 * @ffn_gate: [hidden][dim]
 * @ffn_down: [dim][hidden]
 * @ffn_up: [hidden][dim]
 */
struct ref_layer {
	double *attn_norm;
	double *attn_q;
	double *attn_k;
	double *attn_v;
	double *attn_output;
	double *ffn_norm;
	double *ffn_gate;
	double *ffn_down;
	double *ffn_up;
};

/**
 * struct ref_model - a loaded model with its key/value cache
 * @dim: width of the residual stream
 * @hidden: width of the feed-forward network
 * @layers: number of decoder layers
 * @heads: query heads
 * @kv_heads: key/value heads; divides @heads
 * @vocab: number of tokens
 * @context: positions that the cache has room for
 * @head_size: dim / heads; even
 * @eps: added to the mean square in RMSNorm
 * @rope_base: base of the rotary angles
 * @token_embd: [vocab][dim]
 * @output_norm: gain, [dim]
 * @output: classifier [vocab][dim]; equals @token_embd when the file ties them
 * @layer: [layers]
 * @key: cache, [layers][context][kv_heads * head_size], rotated keys
 * @value: cache, same shape
 * @scratch: ref_forward's activations; nothing outlives a call
 * @format: what the file was, for messages ("llama2.c v1", "GGUF v3", ...)
 */
struct ref_model {
	size_t dim;
	size_t hidden;
	size_t layers;
	size_t heads;
	size_t kv_heads;
	size_t vocab;
	size_t context;
	size_t head_size;
	double eps;
	double rope_base;
	double *token_embd;
	double *output_norm;
	double *output;
	struct ref_layer *layer;
	double *key;
	double *value;
	double *scratch;
	const char *format;
};

/**
 * ref_load() - load a llama2.c (v0, v1, v2) or GGUF v3 file
 * @out: the model; NULL when the call fails
 * @path: the file
 * @error: says why, when the call fails
 *
 * Return: 0, or -1 with @error filled in.
 */
int ref_load(struct ref_model **out, const char *path, struct ref_error *error);

/**
 * ref_load_memory() - load a model from the bytes of a file
 * @out: the model; NULL when the call fails. It keeps no pointer into @bytes
 * @bytes: the whole file
 * @size: its length in bytes
 * @error: says why, when the call fails
 *
 * Any bytes are safe to pass.
 *
 * Return: 0, or -1 with @error filled in.
 */
int ref_load_memory(struct ref_model **out, const uint8_t *bytes, size_t size,
		    struct ref_error *error);

/**
 * ref_free() - free a model; NULL is allowed
 * @model: the model
 */
void ref_free(struct ref_model *model);

/**
 * ref_forward() - compute the logits of one position
 * @model: the model; positions below @pos were computed before
 * @token: token id at that position, below vocab
 * @pos: the position, below context
 * @logits: [vocab], written
 *
 * Return: 0, or -1 when @token or @pos is out of range.
 */
int ref_forward(struct ref_model *model, size_t token, size_t pos, double *logits);

/**
 * ref_argmax() - the index of the largest value; the lowest index wins a tie
 * @values: [count]
 * @count: at least 1
 *
 * A NaN never wins, unless it stands at index 0.
 *
 * Return: the index.
 */
size_t ref_argmax(const double *values, size_t count);

/**
 * typedef ref_logits_fn - sees the logits of every computed position, in order
 *
 * Return: 0 to go on, anything else to stop the decoding with -1.
 */
typedef int (*ref_logits_fn)(void *user, size_t pos, const double *logits, size_t count);

/**
 * ref_greedy() - the greedy decoding that every tool of the project agrees on
 * @model: the model
 * @ids: the given ids in, the whole sequence out; room for context entries
 * @given: number of given ids, 1..context
 * @count: new tokens wanted
 * @made: new tokens appended, out
 * @each: called with every position's logits, or NULL
 * @user: passed to @each
 * @error: says why, when the call fails
 *
 * The logits of every position are computed in order. After the last given id
 * the argmax is appended, until @count tokens are new or the sequence is as
 * long as the context. The last appended token is not computed itself. With
 * nothing to append, the given ids are still computed.
 *
 * Return: 0, or -1 with @error filled in.
 */
int ref_greedy(struct ref_model *model, size_t *ids, size_t given, size_t count, size_t *made,
	       ref_logits_fn each, void *user, struct ref_error *error);

#endif /* REFDECODE_H */
