// SPDX-License-Identifier: MIT
/*
 * Encoding: characters, bytes where the vocabulary has no character, then
 * merges by score. See tokenizer.h; works on memory of one call.
 *
 * llama2.c scans all pairs for each merge. Here a heap of candidate pairs,
 * ordered by score and then by position, picks the same pair each time in
 * O(log n); a candidate whose sides have changed since is dropped when it
 * comes up.
 */
#include "tokenizer_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY		UINT32_MAX
#define UNKNOWN		0
#define WORST_SCORE	-1e10f	/* a pair at or below it never merges */

/**
 * struct symbol - a token of the text so far, in a doubly linked list.
 * @id: Token; -1: merged away.
 * @prev: Left neighbour.
 * @next: Right neighbour.
 */
struct symbol {
	int32_t id;
	uint32_t prev;
	uint32_t next;
};

/**
 * struct pair - a candidate.
 * @score: Of the joined piece.
 * @left: Its left symbol; positions never change their order.
 * @left_id: Token there when the candidate was made.
 * @right_id: Token at its right then.
 * @id: Joined piece.
 */
struct pair {
	float score;
	uint32_t left;
	int32_t left_id;
	int32_t right_id;
	int32_t id;
};

/**
 * struct encoder - an encoding in progress.
 * @t: Vocabulary.
 * @symbols: Room for one per byte and the space in front.
 * @count: Symbols made.
 * @heap: Candidates; room for three per symbol.
 * @pairs: Their number.
 */
struct encoder {
	const struct tokenizer *t;
	struct symbol *symbols;
	uint32_t count;
	struct pair *heap;
	uint32_t pairs;
};

static bool before(const struct pair *a, const struct pair *b)
{
	return a->score != b->score ? a->score > b->score : a->left < b->left;
}

static void push(struct encoder *e, const struct pair *p)
{
	uint32_t i = e->pairs++;

	while (i && before(p, &e->heap[(i - 1) / 2])) {
		e->heap[i] = e->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	e->heap[i] = *p;
}

static struct pair pop(struct encoder *e)
{
	struct pair top = e->heap[0], last = e->heap[--e->pairs];
	uint32_t i = 0, down;

	for (;;) {
		down = 2 * i + 1;
		if (down >= e->pairs)
			break;
		if (down + 1 < e->pairs && before(&e->heap[down + 1], &e->heap[down]))
			down++;
		if (!before(&e->heap[down], &last))
			break;
		e->heap[i] = e->heap[down];
		i = down;
	}
	e->heap[i] = last;
	return top;
}

/* Offer the pair that begins at symbol @left. */
static void offer(struct encoder *e, uint32_t left)
{
	const struct piece *a, *b;
	char text[2 * TOKENIZER_MAX_PIECE];
	struct pair p = { .left = left };
	uint32_t right;

	if (left == NOBODY || e->symbols[left].next == NOBODY)
		return;
	right = e->symbols[left].next;
	p.left_id = e->symbols[left].id;
	p.right_id = e->symbols[right].id;
	a = &e->t->pieces[p.left_id];
	b = &e->t->pieces[p.right_id];
	memcpy(text, a->s, a->n);
	memcpy(text + a->n, b->s, b->n);
	p.id = tokenizer_find(e->t, text, a->n + b->n);
	if (p.id < 0)
		return;
	p.score = e->t->pieces[p.id].score;
	if (p.score > WORST_SCORE)
		push(e, &p);
}

static void add(struct encoder *e, int32_t id)
{
	struct symbol *s = &e->symbols[e->count];

	s->id = id;
	s->prev = e->count ? e->count - 1 : NOBODY;
	s->next = NOBODY;
	if (e->count)
		e->symbols[e->count - 1].next = e->count;
	e->count++;
}

/* Bytes of the character at @s as llama2.c cuts them: continuation bytes, at most four in all. */
static size_t character(const char *s, size_t n)
{
	size_t len = 1;

	while (len < n && len < 4 && ((unsigned char)s[len] & 0xc0) == 0x80)
		len++;
	return len;
}

static void split(struct encoder *e, const char *text, size_t n)
{
	size_t len, i;
	int32_t id;

	id = tokenizer_find(e->t, " ", 1);
	if (id >= 0)
		add(e, id);
	while (n) {
		len = character(text, n);
		id = tokenizer_find(e->t, text, len);
		if (id >= 0) {
			add(e, id);
		} else {
			for (i = 0; i < len; i++) {
				id = e->t->byte_id[(unsigned char)text[i]];
				add(e, id >= 0 ? id : UNKNOWN);
			}
		}
		text += len;
		n -= len;
	}
}

static void merge(struct encoder *e)
{
	struct symbol *left, *right;
	struct pair p;
	uint32_t i;

	for (i = 0; i < e->count; i++)
		offer(e, i);
	while (e->pairs) {
		p = pop(e);
		left = &e->symbols[p.left];
		if (left->id != p.left_id || left->next == NOBODY)
			continue;
		right = &e->symbols[left->next];
		if (right->id != p.right_id)
			continue;
		left->id = p.id;
		right->id = -1;
		left->next = right->next;
		if (left->next != NOBODY)
			e->symbols[left->next].prev = p.left;
		offer(e, left->prev);
		offer(e, p.left);
	}
}

int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, int32_t *ids,
		     uint32_t max, struct error *err)
{
	struct encoder e = { .t = t };
	uint32_t i, out = 0;
	int ret;

	if (n > TOKENIZER_MAX_TEXT)
		return error_set(err, -EINVAL, "prompt of %zu bytes, at most %u", n,
				 TOKENIZER_MAX_TEXT);
	/* Each merge removes a symbol and offers two pairs: three per symbol are enough. */
	e.symbols = calloc(n + 1, sizeof(*e.symbols));
	e.heap = calloc((n + 1) * 3, sizeof(*e.heap));
	if (!e.symbols || !e.heap) {
		ret = error_set(err, -ENOMEM, "out of memory");
		goto out;
	}
	if (n)
		split(&e, text, n);
	merge(&e);
	for (i = 0; i < e.count; i++)
		out += e.symbols[i].id >= 0;
	if (out + 1 > max) {
		ret = error_set(err, -E2BIG, "the prompt is %" PRIu32
				" tokens long, the context holds %" PRIu32, out + 1, max);
		goto out;
	}
	ids[0] = t->bos;
	for (i = 0, out = 1; i < e.count; i++)
		if (e.symbols[i].id >= 0)
			ids[out++] = e.symbols[i].id;
	ret = out;
out:
	free(e.symbols);
	free(e.heap);
	return ret;
}
