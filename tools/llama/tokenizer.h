/* SPDX-License-Identifier: MIT */
/*
 * Tokenizer: text to ids and back, the way llama2.c does it.
 *
 * Encoding: a space goes in front, each character is looked up (or falls back
 * to its bytes), then the neighbouring pair whose joined piece has the highest
 * score is merged, the leftmost on ties, until no pair joins. Decoding: the
 * space after the first token of a sequence is dropped, <0xXX> is that byte.
 */
#ifndef LLAMA_TOKENIZER_H
#define LLAMA_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

#define TOKENIZER_MAX_PIECE	1024u		/* bytes of a piece */
#define TOKENIZER_MAX_TEXT	(1u << 20)	/* bytes of a text to encode */

struct tokenizer;

/**
 * tokenizer_open() - read a tokenizer.bin file.
 * @vocab: Pieces that it must have: the model's vocabulary size.
 */
int tokenizer_open(const char *path, uint32_t vocab, struct tokenizer **out, struct error *err);

/** tokenizer_from_memory() - the same from bytes; they are copied. */
int tokenizer_from_memory(const void *data, size_t size, uint32_t vocab, struct tokenizer **out,
			  struct error *err);

/** tokenizer_from_vocab() - from the one embedded in a model file; the pieces are copied. */
int tokenizer_from_vocab(const struct model_vocab *v, struct tokenizer **out, struct error *err);

/** tokenizer_free() - free; NULL is fine. */
void tokenizer_free(struct tokenizer *t);

uint32_t tokenizer_bos(const struct tokenizer *t);
uint32_t tokenizer_eos(const struct tokenizer *t);

/**
 * tokenizer_encode() - BOS and the ids of @text.
 * @n: Bytes of @text, at most %TOKENIZER_MAX_TEXT. 0: BOS alone.
 * @ids: Room for @max ids.
 *
 * Return: number of ids, or -E2BIG when more than @max are needed, -EINVAL,
 * -ENOMEM.
 */
int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, int32_t *ids,
		     uint32_t max, struct error *err);

/**
 * tokenizer_decode() - text of @id after @prev.
 * @n: Bytes of it.
 *
 * Return: the bytes, valid while @t is; not terminated. An id outside the
 * vocabulary, and EOS, have none; BOS is a line's end.
 */
const char *tokenizer_decode(const struct tokenizer *t, int32_t prev, int32_t id, size_t *n);

#endif /* LLAMA_TOKENIZER_H */
