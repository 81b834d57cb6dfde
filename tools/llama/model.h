/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of Llama-type models: what a file holds, as checked views.
 *
 * Readers: llama2.c (version 0 float, 1 float, 2 Q8_0 groups) and GGUF v3
 * (F32, F16, BF16, Q8_0, architecture "llama"). A struct model only points
 * into the file, which is mapped; nothing is converted here (see weights.h).
 * Every view was checked against the file's size before it was made.
 */
#ifndef LLAMA_MODEL_H
#define LLAMA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/error.h"

/* Limits on what a file may claim; all products below fit in 64 bits. */
#define MODEL_MAX_DIM		(1u << 17)
#define MODEL_MAX_HIDDEN	(1u << 20)
#define MODEL_MAX_LAYERS	1024u
#define MODEL_MAX_HEADS		1024u
#define MODEL_MAX_VOCAB		(1u << 20)
#define MODEL_MAX_CONTEXT	(1u << 20)

/** enum model_role - the weights of a decoder, by what they do. */
enum model_role {
	/** @MODEL_EMBED: token embedding [vocab x dim]. */
	MODEL_EMBED,
	/** @MODEL_RMS_ATT: norm before attention [1 x dim], per layer. */
	MODEL_RMS_ATT,
	/** @MODEL_WQ: [heads * head_size x dim], per layer. */
	MODEL_WQ,
	/** @MODEL_WK: [kv_heads * head_size x dim], per layer. */
	MODEL_WK,
	/** @MODEL_WV: [kv_heads * head_size x dim], per layer. */
	MODEL_WV,
	/** @MODEL_WO: [dim x heads * head_size], per layer. */
	MODEL_WO,
	/** @MODEL_RMS_FFN: norm before the feed-forward part [1 x dim], per layer. */
	MODEL_RMS_FFN,
	/** @MODEL_W1: gate [hidden x dim], per layer. */
	MODEL_W1,
	/** @MODEL_W2: down [dim x hidden], per layer. */
	MODEL_W2,
	/** @MODEL_W3: up [hidden x dim], per layer. */
	MODEL_W3,
	/** @MODEL_RMS_FINAL: last norm [1 x dim]. */
	MODEL_RMS_FINAL,
	/** @MODEL_HEAD: classifier [vocab x dim]; the embedding itself when tied. */
	MODEL_HEAD,
	/** @MODEL_ROLES: number of roles. */
	MODEL_ROLES,
};

/** enum model_type - how a tensor's elements are stored. */
enum model_type {
	/** @MODEL_F32: IEEE binary32. */
	MODEL_F32,
	/** @MODEL_F16: IEEE binary16. */
	MODEL_F16,
	/** @MODEL_BF16: bfloat16. */
	MODEL_BF16,
	/** @MODEL_Q8: signed bytes, and f32 scales of groups in a second array. */
	MODEL_Q8,
	/** @MODEL_Q8_0: blocks of an f16 scale and 32 signed bytes. */
	MODEL_Q8_0,
};

/**
 * struct model_tensor - a tensor in the file; not aligned.
 * @type: enum model_type.
 * @rows: Rows.
 * @cols: Elements of a row.
 * @group: Q8, Q8_0: elements that share a scale; divides @cols.
 * @data: First byte.
 * @scales: Q8: first scale.
 */
struct model_tensor {
	enum model_type type;
	uint32_t rows;
	uint32_t cols;
	uint32_t group;
	const uint8_t *data;
	const uint8_t *scales;
};

/**
 * struct model_config - sizes.
 * @dim: Width of the residual stream.
 * @hidden: Width of the feed-forward part.
 * @layers: Decoder layers.
 * @heads: Query heads.
 * @kv_heads: Key and value heads; divides @heads.
 * @head_size: Elements of a head, even.
 * @vocab: Tokens.
 * @context: Most positions.
 * @eps: RMSNorm epsilon.
 * @theta: RoPE base.
 * @tied: The classifier is the embedding.
 */
struct model_config {
	uint32_t dim;
	uint32_t hidden;
	uint32_t layers;
	uint32_t heads;
	uint32_t kv_heads;
	uint32_t head_size;
	uint32_t vocab;
	uint32_t context;
	float eps;
	float theta;
	bool tied;
};

/**
 * struct model_vocab - tokenizer embedded in a GGUF file.
 * @count: Pieces; 0: none embedded.
 * @pieces: @count strings, each a 64-bit length and its bytes; checked.
 * @pieces_bytes: Bytes of all that.
 * @scores: @count f32, not aligned; NULL: none.
 * @bos: Token that begins a sequence.
 * @eos: Token that ends one.
 */
struct model_vocab {
	uint32_t count;
	const uint8_t *pieces;
	uint64_t pieces_bytes;
	const uint8_t *scores;
	uint32_t bos;
	uint32_t eos;
};

/**
 * struct model - an open checkpoint.
 * @format: "llama2.c v0", "llama2.c v1", "llama2.c v2" or "gguf v3".
 * @config: Sizes.
 * @vocab: Embedded tokenizer.
 * @tensors: Per role: one tensor per layer, or one. HEAD is filled when tied, too.
 * @data: The file.
 * @size: Its bytes.
 * @mapped: @data is ours to unmap.
 */
struct model {
	const char *format;
	struct model_config config;
	struct model_vocab vocab;
	struct model_tensor *tensors[MODEL_ROLES];
	const uint8_t *data;
	uint64_t size;
	bool mapped;
};

/** model_open() - map @path and read it, whatever its format. Return: 0 or -errno with @err. */
int model_open(const char *path, struct model **out, struct error *err);

/** model_from_memory() - the same for bytes that outlive the model. */
int model_from_memory(const void *data, size_t size, struct model **out, struct error *err);

/** model_close() - free; NULL is fine. */
void model_close(struct model *m);

/** model_role_name() - short name: "embed", "wq" … */
const char *model_role_name(enum model_role role);

/** model_per_layer() - whether a role has one tensor per layer. */
bool model_per_layer(enum model_role role);

/** model_type_name() - "f32", "f16", "bf16", "q8", "q8_0". */
const char *model_type_name(enum model_type type);

/** model_shape() - rows and columns that a role's tensor must have. */
void model_shape(const struct model_config *c, enum model_role role, uint32_t *rows,
		 uint32_t *cols);

/** model_row_floats() - row @row of @t, widened to @t->cols f32 at @out. */
void model_row_floats(const struct model_tensor *t, uint32_t row, float *out);

/* Readers, for model.c only. Sizes in @m are set; config and tensors are theirs to fill. */
int model_read_llama2c(struct model *m, struct error *err);
int model_read_gguf(struct model *m, struct error *err);

/** model_check_config() - limits and divisibility, after a reader filled the config. */
int model_check_config(const struct model_config *c, struct error *err);

/** model_alloc_tensors() - room for all roles' tensors. */
int model_alloc_tensors(struct model *m, struct error *err);

/* Little-endian words at any address. */
uint16_t model_u16(const uint8_t *p);
uint32_t model_u32(const uint8_t *p);
uint64_t model_u64(const uint8_t *p);
float model_f32(const uint8_t *p);

/** model_half() - IEEE binary16 widened to f32, exact. */
float model_half(uint16_t h);

#endif /* LLAMA_MODEL_H */
