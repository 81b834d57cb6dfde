/* SPDX-License-Identifier: MIT */
/*
 * What tokenizer.c and bpe.c share.
 */
#ifndef LLAMA_TOKENIZER_PRIV_H
#define LLAMA_TOKENIZER_PRIV_H

#include "tokenizer.h"

/**
 * struct piece - an entry of the vocabulary.
 * @s: Bytes; not terminated.
 * @n: Their number.
 * @byte: Byte that "<0xXX>" stands for, or -1.
 * @score: Preference among merges.
 */
struct piece {
	const char *s;
	uint32_t n;
	int byte;
	float score;
};

/**
 * struct tokenizer - a vocabulary.
 * @count: Pieces.
 * @bos: Token that begins a sequence.
 * @eos: Token that ends one.
 * @mask: Entries of @table minus one.
 * @table: Hash table: id + 1, 0 empty; at most half full.
 * @pieces: By id.
 * @text: Bytes of all pieces.
 * @byte_id: Id of each byte's piece, or -1.
 * @byte_text: Each byte, as text.
 */
struct tokenizer {
	uint32_t count;
	uint32_t bos;
	uint32_t eos;
	uint32_t mask;
	uint32_t *table;
	struct piece *pieces;
	char *text;
	int32_t byte_id[256];
	char byte_text[256];
};

/** tokenizer_find() - lowest id of the piece that is exactly these bytes, or -1. */
int32_t tokenizer_find(const struct tokenizer *t, const char *s, size_t n);

#endif /* LLAMA_TOKENIZER_PRIV_H */
