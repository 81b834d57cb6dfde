// SPDX-License-Identifier: MIT
/*
 * The tokenizer: reading, refusals, encoding against the plain quadratic
 * algorithm, decoding.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "llama/tokenizer.h"

#define MAX_FILE	65536
#define MAX_IDS		600

/**
 * struct file - a tokenizer.bin in the making.
 * @bytes: Contents.
 * @size: Their number.
 * @count: Pieces.
 * @piece: Their texts.
 * @score: Their scores.
 */
struct file {
	uint8_t bytes[MAX_FILE];
	size_t size;
	uint32_t count;
	char piece[1024][16];
	float score[1024];
};

static void add(struct file *f, const char *piece, float score)
{
	uint32_t n = strlen(piece);

	assert_true(f->count < 1024 && n < 16);
	strcpy(f->piece[f->count], piece);
	f->score[f->count++] = score;
	memcpy(f->bytes + f->size, &score, 4);
	memcpy(f->bytes + f->size + 4, &n, 4);
	memcpy(f->bytes + f->size + 8, piece, n);
	f->size += 8 + n;
}

/* <unk>, BOS, EOS, all bytes, the letters a to d and the space, then random merges. */
static void fill(struct file *f, unsigned int seed, bool ties)
{
	char text[16];
	int i, a, b;

	memset(f, 0, sizeof(*f));
	f->size = 4;
	add(f, "<unk>", 0);
	add(f, "\n<s>\n", 0);
	add(f, "\n</s>\n", 0);
	for (i = 0; i < 256; i++) {
		snprintf(text, sizeof(text), "<0x%02X>", i);
		add(f, text, 0);
	}
	add(f, " ", -100);
	add(f, "\xc3\xbc", -100);
	for (i = 0; i < 4; i++) {
		text[0] = 'a' + i;
		text[1] = '\0';
		add(f, text, -100);
	}
	for (i = 0; i < 200; i++) {
		a = 259 + rand_r(&seed) % (f->count - 259);
		b = 259 + rand_r(&seed) % (f->count - 259);
		if (strlen(f->piece[a]) + strlen(f->piece[b]) < 12) {
			snprintf(text, sizeof(text), "%.6s%.6s", f->piece[a], f->piece[b]);
			add(f, text, ties ? (float)(rand_r(&seed) % 4) : (float)-i);
		}
	}
}

static int lookup(const struct file *f, const char *s, size_t n)
{
	uint32_t i;

	for (i = 0; i < f->count; i++)
		if (strlen(f->piece[i]) == n && !memcmp(f->piece[i], s, n))
			return i;
	return -1;
}

/* The algorithm as everybody writes it first: scan all pairs for each merge. */
static int plain_encode(const struct file *f, const char *text, size_t n, int32_t *ids)
{
	int count = 0, best, id, i;
	char joined[40];
	size_t len, k;
	float score;

	ids[count++] = 1;
	ids[count++] = lookup(f, " ", 1);
	while (n) {
		for (len = 1; len < n && len < 4 && (text[len] & 0xc0) == 0x80; len++)
			;
		id = lookup(f, text, len);
		if (id >= 0)
			ids[count++] = id;
		for (k = 0; id < 0 && k < len; k++)
			ids[count++] = (unsigned char)text[k] + 3;
		text += len;
		n -= len;
	}
	for (;;) {
		score = -1e10f;
		best = -1;
		for (i = 1; i + 1 < count; i++) {
			snprintf(joined, sizeof(joined), "%s%s", f->piece[ids[i]],
				 f->piece[ids[i + 1]]);
			id = lookup(f, joined, strlen(joined));
			if (id >= 0 && f->score[id] > score) {
				score = f->score[id];
				best = i;
			}
		}
		if (best < 0)
			return count;
		snprintf(joined, sizeof(joined), "%s%s", f->piece[ids[best]],
			 f->piece[ids[best + 1]]);
		ids[best] = lookup(f, joined, strlen(joined));
		memmove(ids + best + 1, ids + best + 2, (count - best - 2) * sizeof(*ids));
		count--;
	}
}

static struct tokenizer *open_file(const struct file *f)
{
	struct tokenizer *t = NULL;
	struct error err = { "" };

	if (tokenizer_from_memory(f->bytes, f->size, f->count, &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static void encode_as_plain(void **state)
{
	static const char alphabet[] = "aabbccdd  \xc3\xbc\xe2\x82\xac\xff!";
	struct file *f = malloc(sizeof(*f));
	int32_t ids[MAX_IDS], plain[MAX_IDS];
	unsigned int seed = 1, round;
	struct tokenizer *t;
	struct error err;
	char text[200];
	size_t n, i;
	int count;

	(void)state;
	assert_non_null(f);
	for (round = 0; round < 300; round++) {
		if (round % 30 == 0)
			fill(f, round + 1, round % 60 == 0);
		t = open_file(f);
		n = 1 + rand_r(&seed) % (sizeof(text) - 1);
		for (i = 0; i < n; i++)
			text[i] = alphabet[rand_r(&seed) % (sizeof(alphabet) - 1)];
		count = tokenizer_encode(t, text, n, ids, MAX_IDS, &err);
		assert_int_equal(count, plain_encode(f, text, n, plain));
		assert_memory_equal(ids, plain, count * sizeof(*ids));
		tokenizer_free(t);
	}
	free(f);
}

static void decode_gives_text_back(void **state)
{
	static const char text[] = "abba d\xc3\xbc" "d\xe2\x82\xac\xff ca b";
	struct file *f = malloc(sizeof(*f));
	char back[200] = "";
	int32_t ids[MAX_IDS];
	struct tokenizer *t;
	struct error err;
	const char *s;
	size_t n, used = 0;
	int count, i;

	(void)state;
	assert_non_null(f);
	fill(f, 7, false);
	t = open_file(f);
	count = tokenizer_encode(t, text, sizeof(text) - 1, ids, MAX_IDS, &err);
	assert_true(count > 1);
	for (i = 1; i < count; i++) {
		s = tokenizer_decode(t, ids[i - 1], ids[i], &n);
		memcpy(back + used, s, n);
		used += n;
	}
	/* The space in front went away again, because BOS stands before it. */
	assert_string_equal(back, text);
	tokenizer_decode(t, 5, 2, &n);
	assert_int_equal(n, 0);
	s = tokenizer_decode(t, 5, 1, &n);
	assert_int_equal(n, 1);
	assert_int_equal(s[0], '\n');
	tokenizer_decode(t, 1, -1, &n);
	assert_int_equal(n, 0);
	tokenizer_decode(t, 1, f->count, &n);
	assert_int_equal(n, 0);
	s = tokenizer_decode(t, 5, 259, &n);
	assert_int_equal(n, 1);
	assert_int_equal(s[0], ' ');
	tokenizer_free(t);
	free(f);
}

static void bounds(void **state)
{
	struct file *f = malloc(sizeof(*f));
	int32_t ids[4] = { -7, -7, -7, -7 };
	struct tokenizer *t;
	struct error err = { "" };

	(void)state;
	assert_non_null(f);
	fill(f, 7, false);
	t = open_file(f);
	assert_int_equal(tokenizer_encode(t, "", 0, ids, 1, &err), 1);
	assert_int_equal(ids[0], 1);
	assert_int_equal(tokenizer_encode(t, "!!!!", 4, ids, 3, &err), -E2BIG);
	assert_non_null(strstr(err.text, "6 tokens"));
	assert_int_equal(ids[3], -7);
	assert_int_equal(tokenizer_encode(t, "a", TOKENIZER_MAX_TEXT + 1u, ids, 4, &err), -EINVAL);
	tokenizer_free(t);
	free(f);
}

static void refuse(const struct file *f, size_t size, uint32_t vocab, const char *why)
{
	struct tokenizer *t = NULL;
	struct error err = { "" };
	uint8_t *exact = malloc(size ? size : 1);

	assert_non_null(exact);
	memcpy(exact, f->bytes, size);
	assert_int_equal(tokenizer_from_memory(exact, size, vocab, &t, &err), -EINVAL);
	assert_null(t);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	free(exact);
}

static void refusals(void **state)
{
	struct file *f = malloc(sizeof(*f));
	float bad = NAN;
	uint32_t n = TOKENIZER_MAX_PIECE + 1;
	size_t i;

	(void)state;
	assert_non_null(f);
	fill(f, 3, false);
	for (i = 0; i < f->size; i += i < 64 ? 1 : 97)
		refuse(f, i, f->count, "truncated");
	refuse(f, f->size, f->count - 1, "larger vocabulary");
	refuse(f, f->size, f->count + 1, "truncated");
	refuse(f, f->size, 0, "1 to");
	refuse(f, f->size, MODEL_MAX_VOCAB + 1, "1 to");
	memcpy(f->bytes + 4, &bad, 4);
	refuse(f, f->size, f->count, "not finite");
	memset(f->bytes + 4, 0, 4);
	memcpy(f->bytes + 8, &n, 4);
	refuse(f, f->size, f->count, "at most 1024");
	memset(f->bytes + 8, 0xff, 4);
	refuse(f, f->size, f->count, "at most 1024");
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode_as_plain),
		cmocka_unit_test(decode_gives_text_back),
		cmocka_unit_test(bounds),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests_name("tokenizer", tests, NULL, NULL);
}
