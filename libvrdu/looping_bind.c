// SPDX-License-Identifier: MIT
/*
 * Binding: which symbols the looped program has and which argument each gets.
 *
 * The rule of the device is that ranges of different symbols do not overlap if
 * one is written. Arguments of different calls, or of different iterations, may
 * well overlap: those that do become one symbol over the union of their ranges,
 * and their address generators start that much further on.
 */
#include "looping.h"

#include <inttypes.h>
#include <stdio.h>

/**
 * struct hull - all bytes that an address argument covers in the whole loop.
 * @lo: First address.
 * @hi: One past the last.
 * @slot: Slot.
 */
struct hull {
	uint64_t lo;
	uint64_t hi;
	uint32_t slot;
};

/* The place that a slot of one range has: a carried output's is that of its last iteration. */
static const struct vrdu_arg *fixed_place(const struct loop_cand *c, const struct loop_slot *s)
{
	bool last = s->kind == VRDU_ARG_CARRIED && s->sym->access == VRDU_SYMBOL_WRITE;

	return &loop_place(c, s, last ? c->trips - 1 : 0)->place;
}

static struct hull hull_of(const struct loop_cand *c, uint32_t slot)
{
	const struct loop_slot *s = &c->slots[slot];
	struct hull h = { .lo = loop_va(fixed_place(c, s)), .slot = slot };
	uint64_t end;

	h.hi = h.lo + s->sym->bytes;
	if (s->kind != VRDU_ARG_AFFINE)
		return h;
	end = loop_va(&loop_place(c, s, c->trips - 1)->place);
	if (end < h.lo)
		h.lo = end;
	else
		h.hi = end + s->sym->bytes;
	return h;
}

static int by_lo(const void *p, const void *q)
{
	const struct hull *a = p, *b = q;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int new_target(struct loop_cand *c, const struct loop_slot *s)
{
	struct loop_target *t = &c->targets[c->n_targets];

	if (c->n_targets == VRDU_MAX_SYMBOLS)
		return loop_refuse(c, "its calls have more than %u different arguments",
				   VRDU_MAX_SYMBOLS);
	*t = (struct loop_target){ .sym = { .kind = s->sym->kind } };
	snprintf(t->name, sizeof(t->name), "%s", s->name);
	c->n_targets++;
	return 0;
}

/* Hulls [first, last) become one symbol. */
static int bind_group(struct loop_cand *c, const struct hull *first, const struct hull *last)
{
	uint32_t lead = first->slot;
	uint64_t lo = first->lo, hi = first->hi;
	const struct hull *h;
	struct loop_target *t;
	int ret;

	/* Named after the earliest argument. */
	for (h = first; h < last; h++) {
		if (h->slot < lead)
			lead = h->slot;
		if (h->hi > hi)
			hi = h->hi;
	}
	ret = new_target(c, &c->slots[lead]);
	if (ret)
		return ret;
	t = &c->targets[c->n_targets - 1];
	t->sym.bytes = hi - lo;
	/* They overlap, so they lie in one buffer. */
	t->arg.place = *fixed_place(c, &c->slots[first->slot]);
	t->arg.place.offset = lo - t->arg.place.bo->va;
	for (h = first; h < last; h++) {
		struct loop_slot *s = &c->slots[h->slot];

		t->sym.access |= s->sym->access;
		s->target = c->n_targets - 1;
		s->delta = loop_va(fixed_place(c, s)) - lo;
	}
	return 0;
}

static bool is_addr(const struct loop_slot *s)
{
	return s->sym->kind == VRDU_SYMBOL_ADDR && s->kind != VRDU_ARG_TABLE;
}

/* All arguments with one hull: connected ones share a symbol. */
static int bind_addresses(struct loop_cand *c)
{
	struct hull *h = malloc((c->n_slots + 1) * sizeof(*h));
	uint32_t i, j, n = 0;
	int ret = 0;

	if (!h)
		return vrdu_nomem();
	for (i = 0; i < c->n_slots; i++)
		if (is_addr(&c->slots[i]))
			h[n++] = hull_of(c, i);
	qsort(h, n, sizeof(*h), by_lo);
	for (i = 0; !ret && i < n; i = j) {
		uint64_t hi = h[i].hi;

		for (j = i + 1; j < n && h[j].lo < hi; j++)
			if (h[j].hi > hi)
				hi = h[j].hi;
		ret = bind_group(c, h + i, h + j);
	}
	free(h);
	return ret;
}

/* ---- tables ---------------------------------------------------------- */

/* Does @s run along the entries of table @t at one distance, overlapping or the same? */
static bool along(const struct loop_cand *c, const struct loop_slot *s,
		  const struct loop_target *t, int64_t *delta)
{
	const struct loop_table *table = t->arg.table;
	uint32_t i;

	*delta = loop_va(&loop_place(c, s, 0)->place) - loop_va(&table->entries[0]);
	for (i = 0; i < c->trips; i++) {
		const struct vrdu_arg *a = &loop_place(c, s, i)->place;

		if (a->bo != table->entries[i].bo ||
		    (int64_t)(a->offset - table->entries[i].offset) != *delta)
			return false;
	}
	return *delta < (int64_t)t->sym.bytes && *delta > -(int64_t)s->sym->bytes;
}

/* Let table target @t begin @by bytes earlier, for those who were there. */
static void shift_table(struct loop_cand *c, uint32_t t, uint64_t by)
{
	struct loop_table *table = c->targets[t].arg.table;
	uint32_t i;

	for (i = 0; i < table->n; i++)
		table->entries[i].offset -= by;
	for (i = 0; i < c->n_slots; i++)
		if (c->slots[i].target == t)
			c->slots[i].delta += by;
	c->targets[t].sym.bytes += by;
}

/* Irregular in this loop: a table of its level 0. */
static int bind_table(struct loop_cand *c, struct loop_slot *s)
{
	struct loop_target *t;
	int64_t delta;
	uint32_t i;
	int ret;

	for (i = 0; i < c->n_targets; i++) {
		t = &c->targets[i];
		if (t->sym.kind != VRDU_SYMBOL_TABLE || t->sym.level || !along(c, s, t, &delta))
			continue;
		if (delta < 0) {
			shift_table(c, i, -delta);
			delta = 0;
		}
		if (delta + s->sym->bytes > t->sym.bytes)
			t->sym.bytes = delta + s->sym->bytes;
		t->sym.access |= s->sym->access;
		s->target = i;
		s->delta = delta;
		return 0;
	}
	ret = new_target(c, s);
	if (ret)
		return ret;
	t = &c->targets[c->n_targets - 1];
	t->sym.kind = VRDU_SYMBOL_TABLE;
	t->sym.access = s->sym->access;
	t->sym.entries = c->trips;
	t->sym.bytes = s->sym->bytes;
	t->arg.table = loop_table_create(c->trips);
	if (!t->arg.table)
		return vrdu_nomem();
	for (i = 0; i < c->trips; i++)
		t->arg.table->entries[i] = loop_place(c, s, i)->place;
	s->target = c->n_targets - 1;
	s->delta = 0;
	return 0;
}

/* A table of an inner loop: it moves down a level; equal ones are one. */
static int bind_inner(struct loop_cand *c, struct loop_slot *s)
{
	struct loop_table *table = loop_place(c, s, 0)->table;
	struct loop_target *t;
	uint32_t i;
	int ret;

	s->delta = 0;
	for (i = 0; i < c->n_targets; i++) {
		t = &c->targets[i];
		if (t->sym.kind != VRDU_SYMBOL_TABLE || t->sym.level != s->sym->level + 1u ||
		    t->sym.bytes != s->sym->bytes || !loop_table_equal(t->arg.table, table))
			continue;
		t->sym.access |= s->sym->access;
		s->target = i;
		return 0;
	}
	ret = new_target(c, s);
	if (ret)
		return ret;
	t = &c->targets[c->n_targets - 1];
	t->sym = *s->sym;
	t->sym.level++;
	t->arg.table = table;
	table->refs++;
	s->target = c->n_targets - 1;
	return 0;
}

/* ---- the device's rule ----------------------------------------------- */

static bool different(const void *arg, const struct loop_range *a, const struct loop_range *b)
{
	(void)arg;
	/* Entries of one table count as different ranges. */
	return a->who != b->who || a->iter != b->iter;
}

static int check_alias(struct loop_cand *c)
{
	struct loop_range *r, a, b;
	size_t n = 0, cap = 1;
	uint32_t i, k;
	int ret;

	for (i = 0; i < c->n_targets; i++)
		cap += c->targets[i].arg.table ? c->targets[i].arg.table->n : 1;
	r = malloc(cap * sizeof(*r));
	if (!r)
		return vrdu_nomem();
	for (i = 0; i < c->n_targets; i++) {
		const struct loop_target *t = &c->targets[i];
		const struct loop_table *table = t->arg.table;

		for (k = 0; k < (table ? table->n : 1); k++) {
			uint64_t va = loop_va(table ? &table->entries[k] : &t->arg.place);

			r[n++] = (struct loop_range){
				.lo = va, .hi = va + t->sym.bytes, .who = i, .iter = k,
				.write = t->sym.access & VRDU_SYMBOL_WRITE,
			};
		}
	}
	ret = loop_overlap(r, n, different, c, &a, &b);
	free(r);
	if (ret != LOOP_REFUSED)
		return ret;
	return loop_refuse(c, "ranges of \"%s\" and \"%s\" overlap in the loop at 0x%" PRIx64
			   " and cannot be one argument", c->targets[a.who].name,
			   c->targets[b.who].name, b.lo);
}

int loop_bind(struct loop_cand *c)
{
	uint32_t i;
	int ret;

	for (i = 0; i < c->n_slots; i++)
		c->slots[i].target = VRDU_NONE;
	ret = bind_addresses(c);
	for (i = 0; !ret && i < c->n_slots; i++) {
		struct loop_slot *s = &c->slots[i];

		if (s->sym->kind == VRDU_SYMBOL_TABLE)
			ret = bind_inner(c, s);
		else if (s->kind == VRDU_ARG_TABLE)
			ret = bind_table(c, s);
	}
	return ret ? ret : check_alias(c);
}
