// SPDX-License-Identifier: MIT
/*
 * The tokenizer's vocabulary: reading it, looking pieces up, decoding. Owns
 * the pieces. Encoding is in bpe.c, which sees this file through
 * tokenizer_priv.h.
 */
#include "tokenizer_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE	(64u << 20)

/* FNV-1a: pieces are short. */
static uint32_t hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	while (n--)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static bool same(const struct piece *p, const char *s, size_t n)
{
	return p->n == n && !memcmp(p->s, s, n);
}

int32_t tokenizer_find(const struct tokenizer *t, const char *s, size_t n)
{
	uint32_t at = hash(s, n) & t->mask;

	while (t->table[at]) {
		if (same(&t->pieces[t->table[at] - 1], s, n))
			return t->table[at] - 1;
		at = (at + 1) & t->mask;
	}
	return -1;
}

/* The first of equal pieces is the one that is found. */
static void insert(struct tokenizer *t, uint32_t id)
{
	const struct piece *p = &t->pieces[id];
	uint32_t at = hash(p->s, p->n) & t->mask;

	while (t->table[at]) {
		if (same(&t->pieces[t->table[at] - 1], p->s, p->n))
			return;
		at = (at + 1) & t->mask;
	}
	t->table[at] = id + 1;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a piece "<0xXX>" stands for, or -1. */
static int piece_byte(const struct piece *p)
{
	if (p->n != 6 || memcmp(p->s, "<0x", 3) || p->s[5] != '>' || hex(p->s[3]) < 0 ||
	    hex(p->s[4]) < 0)
		return -1;
	return hex(p->s[3]) << 4 | hex(p->s[4]);
}

/* All pieces are in: build the table and the map of bytes. */
static int index_pieces(struct tokenizer *t, struct error *err)
{
	uint32_t i, entries = 16;
	int byte;

	while (entries < t->count * 2)
		entries *= 2;
	t->table = calloc(entries, sizeof(*t->table));
	if (!t->table)
		return error_set(err, -ENOMEM, "out of memory");
	t->mask = entries - 1;
	for (i = 0; i < 256; i++) {
		t->byte_id[i] = -1;
		t->byte_text[i] = i;
	}
	for (i = 0; i < t->count; i++) {
		insert(t, i);
		byte = piece_byte(&t->pieces[i]);
		t->pieces[i].byte = byte;
		if (byte >= 0 && t->byte_id[byte] < 0)
			t->byte_id[byte] = i;
	}
	return 0;
}

static int alloc_tokenizer(uint32_t count, uint64_t bytes, struct tokenizer **out,
			   struct error *err)
{
	struct tokenizer *t = calloc(1, sizeof(*t));

	if (!t)
		return error_set(err, -ENOMEM, "out of memory");
	t->pieces = calloc(count ? count : 1, sizeof(*t->pieces));
	t->text = malloc(bytes ? bytes : 1);
	t->count = count;
	t->bos = 1;
	t->eos = 2;
	if (!t->pieces || !t->text) {
		tokenizer_free(t);
		return error_set(err, -ENOMEM, "out of memory");
	}
	*out = t;
	return 0;
}

static int check_piece(uint32_t id, uint64_t n, float score, struct error *err)
{
	if (n > TOKENIZER_MAX_PIECE)
		return error_set(err, -EINVAL, "piece %" PRIu32 " is %" PRIu64
				 " bytes long, at most %u", id, n, TOKENIZER_MAX_PIECE);
	if (!isfinite(score))
		return error_set(err, -EINVAL, "piece %" PRIu32 " has a score that is not finite",
				 id);
	return 0;
}

int tokenizer_from_memory(const void *data, size_t size, uint32_t vocab, struct tokenizer **out,
			  struct error *err)
{
	const uint8_t *p = data;
	struct tokenizer *t;
	uint32_t i, n;
	size_t at = 4, used = 0;
	float score;
	int ret;

	if (!vocab || vocab > MODEL_MAX_VOCAB)
		return error_set(err, -EINVAL, "vocabulary of %" PRIu32 " pieces, must be 1 to %u",
				 vocab, MODEL_MAX_VOCAB);
	if (size < 4 || vocab > (size - 4) / 8)
		return error_set(err, -EINVAL, "truncated: %zu bytes are too few for %" PRIu32
				 " pieces", size, vocab);
	ret = alloc_tokenizer(vocab, size, &t, err);
	if (ret)
		return ret;
	for (i = 0; i < vocab; i++) {
		if (size - at < 8) {
			ret = error_set(err, -EINVAL, "truncated in piece %" PRIu32 " of %" PRIu32,
					i, vocab);
			goto fail;
		}
		score = model_f32(p + at);
		n = model_u32(p + at + 4);
		at += 8;
		ret = check_piece(i, n, score, err);
		if (ret)
			goto fail;
		if (n > size - at) {
			ret = error_set(err, -EINVAL, "truncated in piece %" PRIu32 " of %" PRIu32,
					i, vocab);
			goto fail;
		}
		memcpy(t->text + used, p + at, n);
		t->pieces[i] = (struct piece){ t->text + used, n, -1, score };
		used += n;
		at += n;
	}
	if (at != size) {
		ret = error_set(err, -EINVAL, "%zu bytes follow piece %" PRIu32
				": made for a larger vocabulary", size - at, vocab - 1);
		goto fail;
	}
	ret = index_pieces(t, err);
	if (ret)
		goto fail;
	*out = t;
	return 0;
fail:
	tokenizer_free(t);
	return ret;
}

int tokenizer_open(const char *path, uint32_t vocab, struct tokenizer **out, struct error *err)
{
	struct stat st;
	char *data = NULL;
	size_t got = 0;
	ssize_t n;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(fd, &st)) {
		ret = error_set(err, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE) {
		ret = error_set(err, -EINVAL, "%s: not a regular file of at most %u bytes", path,
				MAX_FILE);
		goto out;
	}
	data = malloc(st.st_size + 1);
	if (!data) {
		ret = error_set(err, -ENOMEM, "out of memory");
		goto out;
	}
	while (got < (size_t)st.st_size) {
		n = read(fd, data + got, st.st_size - got);
		if (n <= 0)
			break;
		got += n;
	}
	ret = tokenizer_from_memory(data, got, vocab, out, err);
	if (ret)
		error_prefix(err, ret, path);
out:
	free(data);
	close(fd);
	return ret;
}

/* SentencePiece writes a space as U+2581. Return: bytes written. */
static uint64_t copy_spaces(char *to, const uint8_t *s, uint64_t n)
{
	uint64_t i = 0, out = 0;

	while (i < n) {
		if (n - i >= 3 && s[i] == 0xe2 && s[i + 1] == 0x96 && s[i + 2] == 0x81) {
			to[out++] = ' ';
			i += 3;
		} else {
			to[out++] = s[i++];
		}
	}
	return out;
}

int tokenizer_from_vocab(const struct model_vocab *v, struct tokenizer **out, struct error *err)
{
	const uint8_t *p = v->pieces;
	struct tokenizer *t;
	uint64_t n, used = 0;
	float score;
	uint32_t i;
	int ret;

	if (!v->count)
		return error_set(err, -ENOENT, "the model file has no tokenizer that is "
				 "understood");
	ret = alloc_tokenizer(v->count, v->pieces_bytes, &t, err);
	if (ret)
		return ret;
	t->bos = v->bos;
	t->eos = v->eos;
	for (i = 0; i < v->count; i++) {
		n = model_u64(p);
		score = model_f32(v->scores + (uint64_t)i * 4);
		ret = check_piece(i, n, score, err);
		if (ret)
			goto fail;
		t->pieces[i].s = t->text + used;
		t->pieces[i].n = copy_spaces(t->text + used, p + 8, n);
		t->pieces[i].score = score;
		used += t->pieces[i].n;
		p += 8 + n;
	}
	ret = index_pieces(t, err);
	if (ret)
		goto fail;
	*out = t;
	return 0;
fail:
	tokenizer_free(t);
	return ret;
}

void tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	free(t->pieces);
	free(t->text);
	free(t->table);
	free(t);
}

uint32_t tokenizer_bos(const struct tokenizer *t)
{
	return t->bos;
}

uint32_t tokenizer_eos(const struct tokenizer *t)
{
	return t->eos;
}

const char *tokenizer_decode(const struct tokenizer *t, int32_t prev, int32_t id, size_t *n)
{
	const struct piece *p;

	*n = 0;
	if (id < 0 || (uint32_t)id >= t->count || (uint32_t)id == t->eos)
		return "";
	if ((uint32_t)id == t->bos) {
		*n = 1;
		return "\n";
	}
	p = &t->pieces[id];
	if (p->byte >= 0) {
		*n = 1;
		return &t->byte_text[p->byte];
	}
	if (prev >= 0 && (uint32_t)prev == t->bos && p->n && p->s[0] == ' ') {
		*n = p->n - 1;
		return p->s + 1;
	}
	*n = p->n;
	return p->s;
}
