// SPDX-License-Identifier: MIT
/*
 * Classification: how each argument of a candidate changes from iteration to
 * iteration — invariant, affine, carried, table — and whether the loop is legal.
 *
 * In a pipelined loop, memory accesses of different iterations are not ordered.
 * So nothing that one iteration writes may be touched by another one, but for
 * values that are carried on chip and for a single writer that overwrites its
 * own place. In a loop that drains, the calls' order stays, and only the shape
 * of the addresses matters.
 */
#include "looping.h"

#include <inttypes.h>
#include <stdio.h>

/* Places of one argument whose later readers are looked for; more count as read. */
#define MAX_LOOKS	64u

uint32_t vrdu_looping_unsafe;

static const struct vrdu_image *slot_image(const struct loop_cand *c, const struct loop_slot *s)
{
	return c->items[s->item]->image;
}

static const struct vrdu_arg *place(const struct loop_cand *c, const struct loop_slot *s,
				    uint32_t i)
{
	return &loop_place(c, s, i)->place;
}

static bool same_place(const struct vrdu_arg *a, const struct vrdu_arg *b)
{
	return a->bo == b->bo && a->offset == b->offset;
}

static bool writes(const struct loop_slot *s)
{
	return s->sym->access & VRDU_SYMBOL_WRITE;
}

/* First iteration below @limit at which @s leaves @stride bytes per iteration; @limit: none. */
static uint32_t even_until(const struct loop_cand *c, const struct loop_slot *s, uint32_t limit,
			   int64_t *stride)
{
	const struct vrdu_arg *a = place(c, s, 0), *b;
	uint32_t i;

	*stride = c->trips > 1 ? (int64_t)(place(c, s, 1)->offset - a->offset) : 0;
	for (i = 1; i < limit; i++) {
		b = place(c, s, i);
		if (b->bo != a->bo || (int64_t)(b->offset - a->offset) != *stride)
			return i;
		a = b;
	}
	return limit;
}

uint32_t loop_affine_prefix(const struct loop_cand *c)
{
	uint32_t window, i, n;
	int64_t stride;

	/* A window that grows: the work is in proportion to the answer, not to the run. */
	for (window = 64;; window *= 2) {
		n = window < c->trips ? window : c->trips;
		for (i = 0; i < c->n_slots; i++)
			if (c->slots[i].sym->kind == VRDU_SYMBOL_ADDR)
				n = even_until(c, &c->slots[i], n, &stride);
		if (n < window)
			return n;
	}
}

/* Is a size read from memory at this argument? */
static bool gives_size(const struct loop_cand *c, const struct loop_slot *s)
{
	const struct vrdu_image *image = slot_image(c, s);
	const struct vrdu_extent *e = vrdu_image_extent_table(image);
	uint32_t i;

	for (i = 0; i < vrdu_image_header(image)->extents; i++)
		if (e[i].kind == VRDU_EXTENT_PARAM && e[i].symbol == s->symbol)
			return true;
	return false;
}

/* A table: one that looping made, whose contents are known, or the program's own. */
static int classify_table(struct loop_cand *c, struct loop_slot *s)
{
	const struct loop_table *first = loop_place(c, s, 0)->table;
	uint32_t i;

	if (!first)
		return loop_refuse(c, "\"%s\" is a table of the program's own: its places are not known here",
				   s->name);
	for (i = 1; i < c->trips; i++)
		if (!loop_table_equal(first, loop_place(c, s, i)->table))
			return loop_refuse(c, "the places of \"%s\" differ between iterations of the outer loop and are irregular in the inner",
					   s->name);
	s->kind = VRDU_ARG_INVARIANT;
	snprintf(s->reason, sizeof(s->reason), "the same table of %u places in all %u iterations",
		 first->n, c->trips);
	return 0;
}

static int classify_addr(struct loop_cand *c, struct loop_slot *s)
{
	uint32_t even = even_until(c, s, c->trips, &s->stride);
	bool affine = even == c->trips;

	if (affine && !s->stride) {
		s->kind = VRDU_ARG_INVARIANT;
		snprintf(s->reason, sizeof(s->reason), "the same place in all %u iterations",
			 c->trips);
		return 0;
	}
	if (gives_size(c, s))
		return loop_refuse(c, "a size is read from \"%s\", whose place changes", s->name);
	if (affine && !c->tables) {
		s->kind = VRDU_ARG_AFFINE;
		snprintf(s->reason, sizeof(s->reason),
			 "moves by %" PRId64 " bytes per iteration in one buffer", s->stride);
		return 0;
	}
	s->kind = VRDU_ARG_TABLE;
	s->stride = 0;
	if (affine)
		snprintf(s->reason, sizeof(s->reason),
			 "moves evenly, but its ranges interleave with others': a table of %u places",
			 c->trips);
	else
		snprintf(s->reason, sizeof(s->reason),
			 "leaves its stride at iteration %u: a table of %u places", even, c->trips);
	return 0;
}

/* ---- carries --------------------------------------------------------- */

/* Does each iteration read at @in what the one before wrote at @out? */
static bool feeds(const struct loop_cand *c, const struct loop_slot *out,
		  const struct loop_slot *in)
{
	uint32_t i;

	for (i = 0; i + 1 < c->trips; i++)
		if (!same_place(place(c, out, i), place(c, in, i + 1)))
			return false;
	return true;
}

/* Read and written at one place in every iteration. */
static int carry_in_place(struct loop_cand *c, struct loop_slot *s)
{
	struct loop_carry carry;
	char why[160];

	if (!loop_carry_find(slot_image(c, s), s->symbol, s->symbol, &carry, why, sizeof(why)))
		return loop_refuse(c, "loop-carried dependence through memory of \"%s\": %s",
				   s->name, why);
	s->kind = VRDU_ARG_CARRIED;
	s->partner = s - c->slots;
	snprintf(s->reason, sizeof(s->reason),
		 "read and written in place: stays on chip, loaded before the first iteration, stored after the last");
	return 0;
}

/*
 * May the writes of all iterations but the last be left out? If the last one
 * overwrites them, or their buffer is transient and no later call reads them.
 * Otherwise @why says what iteration @iter leaves to whom.
 */
static bool unobserved(const struct loop_cand *c, const struct loop_slot *out, uint32_t *iter,
		       const char **why)
{
	const struct loop_item *end = c->items[c->trips - 1];
	const struct vrdu_arg *last = place(c, out, c->trips - 1), *seen[2] = { last, last };
	uint32_t i, looks = 0;

	if (vrdu_looping_unsafe & LOOP_UNSAFE_OBSERVERS)
		return true;
	for (i = 0; i + 1 < c->trips; i++) {
		const struct vrdu_arg *a = place(c, out, i);

		/* A ping-pong has the same two places again and again. */
		if (same_place(a, seen[0]) || same_place(a, seen[1]))
			continue;
		seen[1] = a;
		*iter = i;
		*why = "stays visible and is not transient";
		if (!vrdu_graph_is_transient(c->g, a->bo))
			return false;
		*why = "is read by a later call";
		if (++looks > MAX_LOOKS ||
		    loop_live(c->g, end->first + end->n, loop_va(a),
			      loop_va(a) + out->sym->bytes))
			return false;
	}
	return true;
}

static int carry_pair(struct loop_cand *c, struct loop_slot *out, struct loop_slot *in)
{
	struct loop_carry carry;
	char why[160];

	if (!loop_carry_find(slot_image(c, in), in->symbol, out->symbol, &carry, why, sizeof(why)))
		return loop_refuse(c, "loop-carried dependence through memory from \"%s\" to \"%s\": %s",
				   out->name, in->name, why);
	/* What is observed is stored in every iteration: to places of its own, see below. */
	if (unobserved(c, out, &in->kept_iter, &in->kept))
		in->kept = NULL;
	in->kind = VRDU_ARG_CARRIED;
	in->partner = out - c->slots;
	snprintf(in->reason, sizeof(in->reason),
		 "reads what the iteration before wrote to \"%.60s\": stays on chip", out->name);
	if (in->kept) {
		snprintf(out->reason + strlen(out->reason),
			 sizeof(out->reason) - strlen(out->reason),
			 "; what iteration %u leaves %s: stored each time", in->kept_iter,
			 in->kept);
		return 0;
	}
	out->kind = VRDU_ARG_CARRIED;
	out->partner = in - c->slots;
	snprintf(out->reason, sizeof(out->reason),
		 "read by the next iteration as \"%.60s\": stays on chip, %s", in->name,
		 same_place(place(c, out, 0), place(c, out, c->trips - 1)) ?
		 "stored after the last" : "stored after the last; the places between are not observed");
	return 0;
}

static int find_carries(struct loop_cand *c)
{
	uint32_t i, j;
	int ret = 0;

	for (i = 0; !ret && i < c->n_slots; i++) {
		struct loop_slot *s = &c->slots[i];

		if (writes(s) && s->sym->access & VRDU_SYMBOL_READ &&
		    s->kind == VRDU_ARG_INVARIANT)
			ret = carry_in_place(c, s);
		if (ret || s->sym->access != VRDU_SYMBOL_WRITE)
			continue;
		for (j = 0; !ret && j < c->n_slots; j++) {
			struct loop_slot *in = &c->slots[j];

			if (in->sym->access == VRDU_SYMBOL_READ && in->partner == VRDU_NONE &&
			    s->kind != VRDU_ARG_CARRIED && feeds(c, s, in))
				ret = carry_pair(c, s, in);
		}
	}
	return ret;
}

/* ---- memory dependences ---------------------------------------------- */

/* Ranges that belong together by a carry that was proved. */
static bool carried_pair(const struct loop_slot *a, uint32_t b)
{
	return a->kind == VRDU_ARG_CARRIED && a->partner == b;
}

static bool depends(const void *arg, const struct loop_range *a, const struct loop_range *b)
{
	const struct loop_cand *c = arg;
	const struct loop_slot *x = &c->slots[a->who], *y = &c->slots[b->who];

	if (a->who == b->who)
		/* A carried value has one place at a time; otherwise each iteration its own. */
		return x->kind != VRDU_ARG_CARRIED;
	return !carried_pair(x, b->who) && !carried_pair(y, a->who);
}

static int refuse_dependence(struct loop_cand *c, const struct loop_range *a,
			     const struct loop_range *b)
{
	const struct loop_slot *x = &c->slots[a->who], *y = &c->slots[b->who];
	uint32_t i;

	if (a->who == b->who && x->kind == VRDU_ARG_AFFINE)
		return loop_refuse(c, "\"%s\" is written and moves by %" PRId64
				   " bytes, less than its %" PRIu64 ": iterations overlap",
				   x->name, x->stride, (uint64_t)x->sym->bytes);
	for (i = 0; a->who == b->who && i < c->n_slots; i++)
		if (c->slots[i].kept && c->slots[i].partner == a->who)
			return loop_refuse(c, "what iteration %u leaves in \"%s\" %s, but its places in iterations %u and %u overlap",
					   c->slots[i].kept_iter, x->name, c->slots[i].kept,
					   a->iter, b->iter);
	if (a->who == b->who)
		return loop_refuse(c, "\"%s\" is written and its places in iterations %u and %u overlap",
				   x->name, a->iter, b->iter);
	if (!b->write || (a->write && a->iter < b->iter)) {
		const struct loop_range *t = a;

		a = b;
		b = t;
		x = &c->slots[a->who];
		y = &c->slots[b->who];
	}
	/* Now b writes. */
	return loop_refuse(c, "dependence through memory: \"%s\" %s in one iteration what \"%s\" writes in another (iterations %u and %u, address 0x%" PRIx64 ")",
			   x->name, a->write ? "writes" : "reads", y->name, a->iter, b->iter,
			   a->lo > b->lo ? a->lo : b->lo);
}

/* A written place that never changes: is there a single writer, whose order is its own? */
static int check_invariant_write(struct loop_cand *c, const struct loop_slot *s)
{
	const struct vrdu_image *image = slot_image(c, s);
	const struct vrdu_node *n = vrdu_image_node_table(image);
	const struct vrdu_agu *agus = vrdu_image_agu_table(image);
	uint32_t i, writers = 0;

	for (i = 0; i < vrdu_image_header(image)->nodes; i++) {
		writers += n[i].agu != VRDU_NONE && agus[n[i].agu].symbol == s->symbol;
		writers += n[i].agu2 != VRDU_NONE && agus[n[i].agu2].symbol == s->symbol;
	}
	if (writers > 1)
		return loop_refuse(c, "\"%s\" is written at one place by %u nodes: their order between iterations is open",
				   s->name, writers);
	return 0;
}

static int check_dependences(struct loop_cand *c)
{
	struct loop_range *r, a, b;
	size_t n = 0;
	uint32_t i, k;
	int ret;

	r = malloc(((size_t)c->n_slots * c->trips + 1) * sizeof(*r));
	if (!r)
		return vrdu_nomem();
	for (i = 0; i < c->n_slots; i++) {
		const struct loop_slot *s = &c->slots[i];
		bool fixed = s->kind == VRDU_ARG_INVARIANT ||
			     (s->kind == VRDU_ARG_CARRIED && s->partner == i);

		for (k = 0; k < (fixed ? 1 : c->trips); k++) {
			uint64_t va = loop_va(place(c, s, k));

			r[n++] = (struct loop_range){
				.lo = va, .hi = va + s->sym->bytes, .who = i, .iter = k,
				.write = writes(s),
			};
		}
	}
	ret = loop_overlap(r, n, depends, c, &a, &b);
	free(r);
	if (ret == LOOP_REFUSED)
		return refuse_dependence(c, &a, &b);
	for (i = 0; !ret && i < c->n_slots; i++)
		if (writes(&c->slots[i]) && c->slots[i].kind == VRDU_ARG_INVARIANT)
			ret = check_invariant_write(c, &c->slots[i]);
	return ret;
}

/* ---- entry ----------------------------------------------------------- */

static int check_items(struct loop_cand *c)
{
	size_t i;

	for (i = 0; i < (size_t)c->period * c->trips; i++)
		if (c->items[i]->bad)
			return loop_refuse(c, "call %u faults as it is: %s", c->items[i]->call,
					   c->items[i]->bad);
	return 0;
}

int loop_classify(struct loop_cand *c)
{
	uint32_t i;
	int ret;

	ret = check_items(c);
	for (i = 0; !ret && i < c->n_slots; i++) {
		struct loop_slot *s = &c->slots[i];

		s->partner = VRDU_NONE;
		s->kept = NULL;
		if (s->sym->kind == VRDU_SYMBOL_ADDR)
			ret = classify_addr(c, s);
		else
			ret = classify_table(c, s);
	}
	if (ret || !c->pipelined)
		return ret;
	ret = find_carries(c);
	if (ret || vrdu_looping_unsafe & LOOP_UNSAFE_DEPENDENCES)
		return ret;
	return check_dependences(c);
}
