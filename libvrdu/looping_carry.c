// SPDX-License-Identifier: MIT
/*
 * Values that stay on chip: recognising a LOAD and a STORE between which a
 * value goes around a loop, and replacing the two by a CARRY node.
 *
 * The LOAD must be the only reader and the STORE the only writer of their
 * symbols, of one dense shape, and the LOAD free to start at once. The verifier
 * has proved that accesses to the same bytes have one order: such a LOAD comes
 * before such a STORE.
 */
#include "looping.h"

#include <stdio.h>

static const char *symbol_name(const struct vrdu_image *image, uint32_t i)
{
	return vrdu_image_string(image, vrdu_image_symbol_table(image)[i].name);
}

/* Nodes that use @symbol through an address generator; the last one is kept. */
static uint32_t users(const struct vrdu_image *image, uint32_t symbol, uint32_t kind,
		      uint32_t *node)
{
	const struct vrdu_image_header *h = vrdu_image_header(image);
	const struct vrdu_agu *agus = vrdu_image_agu_table(image);
	const struct vrdu_node *n = vrdu_image_node_table(image);
	uint32_t i, count = 0;

	for (i = 0; i < h->nodes; i++, n++) {
		if ((n->agu == VRDU_NONE || agus[n->agu].symbol != symbol) &&
		    (n->agu2 == VRDU_NONE || agus[n->agu2].symbol != symbol))
			continue;
		count++;
		if (n->kind == kind)
			*node = i;
	}
	return count;
}

static bool extent_reads(const struct vrdu_image *image, uint32_t symbol)
{
	const struct vrdu_extent *e = vrdu_image_extent_table(image);
	uint32_t i;

	for (i = 0; i < vrdu_image_header(image)->extents; i++)
		if (e[i].kind == VRDU_EXTENT_PARAM && e[i].symbol == symbol)
			return true;
	return false;
}

static bool same_extent(const struct vrdu_image *image, uint32_t a, uint32_t b)
{
	const struct vrdu_extent *e = vrdu_image_extent_table(image);

	return a == b || (e[a].min == e[a].max && e[b].min == e[b].max && e[a].min == e[b].min);
}

bool loop_carry_find(const struct vrdu_image *image, uint32_t in, uint32_t out,
		     struct loop_carry *carry, char *why, size_t size)
{
	const struct vrdu_stream *streams = vrdu_image_stream_table(image);
	const struct vrdu_node *nodes = vrdu_image_node_table(image);
	const struct vrdu_agu *agus = vrdu_image_agu_table(image), *la, *sa;
	const char *rd = symbol_name(image, in), *wr = symbol_name(image, out);
	uint32_t load = VRDU_NONE, store = VRDU_NONE, n_in, n_out, tiles;
	const struct vrdu_stream *ls, *ss;

	n_in = users(image, in, VRDU_NODE_LOAD, &load);
	n_out = users(image, out, VRDU_NODE_STORE, &store);
	if (load == VRDU_NONE || n_in != 1u + (in == out)) {
		snprintf(why, size, "\"%.40s\" is not read by exactly one LOAD", rd);
		return false;
	}
	if (store == VRDU_NONE || n_out != 1u + (in == out)) {
		snprintf(why, size, "\"%.40s\" is not written by exactly one STORE", wr);
		return false;
	}
	if (extent_reads(image, in) || extent_reads(image, out)) {
		snprintf(why, size, "a size is read from \"%.40s\"", rd);
		return false;
	}
	if (nodes[load].in[0] != VRDU_NONE) {
		snprintf(why, size, "the LOAD of \"%.40s\" waits for another access", rd);
		return false;
	}
	ls = &streams[nodes[load].out[0]];
	ss = &streams[nodes[store].in[0]];
	la = &agus[nodes[load].agu];
	sa = &agus[nodes[store].agu];
	if (ls->elem != ss->elem || ls->flags || ss->flags || ls->outer != 1 || ss->outer != 1 ||
	    ls->tile_rows != ss->tile_rows || ls->cols != ss->cols ||
	    !same_extent(image, ls->rows, ss->rows)) {
		snprintf(why, size, "\"%.40s\" is read and \"%.40s\" written in different shapes",
			 rd, wr);
		return false;
	}
	if (la->offset != sa->offset) {
		snprintf(why, size, "\"%.40s\" is read at %lld and \"%.40s\" written at %lld", rd,
			 (long long)la->offset, wr, (long long)sa->offset);
		return false;
	}
	tiles = (vrdu_image_extent_table(image)[ls->rows].max - 1) / ls->tile_rows + 1;
	if (tiles > VRDU_MAX_DEPTH) {
		snprintf(why, size, "\"%.40s\" has %u tiles, a buffer holds %u", rd, tiles,
			 VRDU_MAX_DEPTH);
		return false;
	}
	carry->load = load;
	carry->store = store;
	return true;
}

/* Nobody waits for the STORE any more: other symbols' bytes are other bytes. */
static void drop_token(struct vrdu_edit *e, uint32_t token)
{
	uint32_t i, j;

	for (i = 0; i < e->n_nodes; i++)
		for (j = 0; j < VRDU_NODE_INPUTS; j++)
			if (e->nodes[i].in[j] == token)
				e->nodes[i].in[j] = VRDU_NONE;
	vrdu_edit_remove_stream(e, 0, token);
}

void loop_carry_rewrite(struct vrdu_edit *e, uint32_t load, uint32_t store, bool keep_store)
{
	struct vrdu_node *l = &e->nodes[load], *s = &e->nodes[store];
	uint32_t feedback = s->in[0], token = s->out[0], tiles;
	struct vrdu_stream *st = &e->streams[feedback];

	l->kind = VRDU_NODE_CARRY;
	l->in[0] = feedback;
	l->agu2 = keep_store ? VRDU_NONE : s->agu;
	/* All tiles of an iteration wait in the feedback for the next one. */
	tiles = (e->extents[st->rows].max - 1) / st->tile_rows + 1;
	if (st->depth < tiles)
		st->depth = tiles;
	if (keep_store)
		return;
	s->out[0] = VRDU_NONE;
	if (token != VRDU_NONE)
		drop_token(e, token);
	vrdu_edit_remove_node(e, 0, store);
}
