// SPDX-License-Identifier: MIT
/*
 * Liveness: does a later call of the graph read what an iteration leaves in a
 * transient buffer? Looks at the calls that follow, in order, until one reads
 * the bytes or they are overwritten as a whole.
 *
 * A symbol's write access does not say that all of it is written; a dense STORE
 * of static shape does.
 */
#include "looping.h"

/* Calls to look at; what is not overwritten by then counts as read. */
#define MAX_CALLS	16384u

/* Bytes of @symbol that every call of @image certainly writes: [lo, hi), maybe none. */
static void surely_written(const struct vrdu_image *image, uint32_t symbol, uint64_t *lo,
			   uint64_t *hi)
{
	const struct vrdu_node *n = vrdu_image_node_table(image);
	const struct vrdu_agu *agus = vrdu_image_agu_table(image);
	const struct vrdu_extent *e = vrdu_image_extent_table(image);
	uint32_t i;

	*lo = 0;
	*hi = 0;
	for (i = 0; i < vrdu_image_header(image)->nodes; i++) {
		const struct vrdu_stream *s;
		uint64_t bytes;

		if (n[i].kind != VRDU_NODE_STORE || agus[n[i].agu].symbol != symbol)
			continue;
		s = &vrdu_image_stream_table(image)[n[i].in[0]];
		/* The first group of the first iteration: loops and groups have at least one. */
		bytes = (uint64_t)e[s->rows].min * s->cols * vrdu_elem_bytes(s->elem);
		if (bytes <= *hi - *lo)
			continue;
		*lo = agus[n[i].agu].offset;
		*hi = *lo + bytes;
	}
}

static bool meets(uint64_t lo, uint64_t hi, uint64_t a, uint64_t b)
{
	return lo < b && a < hi;
}

/* Does the call read any of [lo, hi)? Tables may lead anywhere. */
static bool reads(const struct vrdu_entry *e, uint64_t lo, uint64_t hi)
{
	const struct vrdu_symbol *sym = vrdu_image_symbol_table(e->prog->image);
	uint32_t i;

	for (i = 0; i < e->arg_count; i++) {
		uint64_t va = loop_va(&e->args[i]);

		if (sym[i].access & VRDU_SYMBOL_READ &&
		    (sym[i].kind != VRDU_SYMBOL_ADDR || meets(lo, hi, va, va + sym[i].bytes)))
			return true;
	}
	return false;
}

/* What is left of [lo, hi) after the call's sure writes, as far as they reach its ends. */
static void overwrite(const struct vrdu_entry *e, uint64_t *lo, uint64_t *hi)
{
	const struct vrdu_symbol *sym = vrdu_image_symbol_table(e->prog->image);
	uint64_t va, a, b;
	uint32_t i;

	for (i = 0; i < e->arg_count && *lo < *hi; i++) {
		va = loop_va(&e->args[i]);
		if (sym[i].kind != VRDU_SYMBOL_ADDR || !(sym[i].access & VRDU_SYMBOL_WRITE) ||
		    !meets(*lo, *hi, va, va + sym[i].bytes))
			continue;
		surely_written(e->prog->image, i, &a, &b);
		if (a + va <= *lo && b + va > *lo)
			*lo = b + va;
		if (a + va < *hi && b + va >= *hi)
			*hi = a + va;
	}
}

bool loop_live(const struct vrdu_graph *g, uint32_t from, uint64_t lo, uint64_t hi)
{
	uint32_t i, calls = 0;

	for (i = from; i < g->n && lo < hi; i++) {
		const struct vrdu_entry *e = &g->entries[i];

		if (e->boundary)
			continue;
		if (++calls > MAX_CALLS || reads(e, lo, hi))
			return true;
		overwrite(e, &lo, &hi);
	}
	return false;
}
