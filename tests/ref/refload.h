/* SPDX-License-Identifier: MIT */
/* What the reference decoder's two loaders share; not for users of the library. */
#ifndef REFLOAD_H
#define REFLOAD_H

#include "refdecode.h"

#include <stdbool.h>

/**
 * struct ref_shape - the numbers of a file before they are trusted
 * @dim: width of the residual stream
 * @hidden: width of the feed-forward network
 * @layers: number of decoder layers
 * @heads: query heads
 * @kv_heads: key/value heads
 * @vocab: number of tokens
 * @context: longest sequence
 */
struct ref_shape {
	int64_t dim;
	int64_t hidden;
	int64_t layers;
	int64_t heads;
	int64_t kv_heads;
	int64_t vocab;
	int64_t context;
};

/** ref_fail() - fill in @error like printf. Return: -1, always. */
int ref_fail(struct ref_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** ref_u16() - little-endian number at @at, which needs no alignment. Return: it. */
uint16_t ref_u16(const uint8_t *at);
/** ref_u32() - as ref_u16(), 32 bits. Return: it. */
uint32_t ref_u32(const uint8_t *at);
/** ref_u64() - as ref_u16(), 64 bits. Return: it. */
uint64_t ref_u64(const uint8_t *at);
/** ref_f32() - float32 at @at. Return: its value. */
double ref_f32(const uint8_t *at);

/** ref_check_shape() - refuse a shape outside the caps. Return: 0 or -1. */
int ref_check_shape(const struct ref_shape *shape, struct ref_error *error);

/** ref_parameters() - number of weights of a checked shape. Return: it. */
uint64_t ref_parameters(const struct ref_shape *shape, bool tied);

/**
 * ref_model_new() - a model with zeroed weights, of a checked shape
 * @shape: passed ref_check_shape(), and the file is as large as it says
 * @tied: the classifier is the token embedding
 * @error: says why, when the call fails
 *
 * Return: the model, or NULL.
 */
struct ref_model *ref_model_new(const struct ref_shape *shape, bool tied,
				struct ref_error *error);

/** ref_load_gguf() - ref_load_memory() for bytes that begin with "GGUF". Return: 0 or -1. */
int ref_load_gguf(struct ref_model **out, const uint8_t *bytes, size_t size,
		  struct ref_error *error);

#endif /* REFLOAD_H */
