/* SPDX-License-Identifier: MIT */
/*
 * What the halves of the GGUF reader share: gguf.c reads header and keys,
 * gguf_tensors.c the tensor directory.
 */
#ifndef LLAMA_GGUF_H
#define LLAMA_GGUF_H

#include "model.h"

/**
 * struct text - bytes in the file.
 * @s: First; not terminated.
 * @n: Their number.
 */
struct text {
	const uint8_t *s;
	uint64_t n;
};

enum {
	K_ARCH, K_ALIGNMENT, K_LAYERS, K_DIM, K_HIDDEN, K_HEADS, K_KV_HEADS, K_CONTEXT, K_ROPE_DIMS,
	K_ROPE_BASE, K_ROPE_SCALING, K_EPS, K_KEY_LENGTH, K_VALUE_LENGTH, K_VOCAB, K_EXPERTS,
	K_TOK_MODEL, K_TOK_PIECES, K_TOK_SCORES, K_TOK_BOS, K_TOK_EOS,
	K_COUNT,
};

/* Their names in the file. */
extern const char *const gguf_keys[K_COUNT];

/**
 * struct reader - state of a reading.
 * @m: Model.
 * @at: Bytes consumed.
 * @err: Sentence.
 * @alignment: Of the data section and of each tensor.
 * @seen: Bit i: keys[i] was there.
 * @scores: Number of scores.
 * @vocab: llama.vocab_size, 0 if not said.
 * @key_length: llama.attention.key_length, 0 if not said.
 * @value_length: llama.attention.value_length, 0 if not said.
 * @rope_dims: llama.rope.dimension_count, 0 if not said.
 * @spm: The tokenizer is of the kind that tokenizer.c understands.
 */
struct reader {
	struct model *m;
	uint64_t at;
	struct error *err;
	uint32_t alignment;
	uint64_t seen;
	uint64_t scores;
	uint32_t vocab;
	uint32_t key_length;
	uint32_t value_length;
	uint32_t rope_dims;
	bool spm;
};

/** gguf_take() - the next @bytes bytes. */
int gguf_take(struct reader *r, const char *what, uint64_t bytes, const uint8_t **out);

int gguf_take_u32(struct reader *r, const char *what, uint32_t *out);
int gguf_take_u64(struct reader *r, const char *what, uint64_t *out);

/** gguf_take_text() - a length and that many bytes, at most @max. */
int gguf_take_text(struct reader *r, const char *what, uint64_t max, struct text *out);

/** gguf_text_is() - whether @t is exactly @s. */
bool gguf_text_is(const struct text *t, const char *s);

/** gguf_shown() - printable form of a name from the file, for messages. */
const char *gguf_shown(const struct text *t, char buf[64]);

/** gguf_read_tensors() - read the directory of @n tensors; sets the vocabulary's size. */
int gguf_read_tensors(struct reader *r, uint64_t n);

#endif /* LLAMA_GGUF_H */
