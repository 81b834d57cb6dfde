/* SPDX-License-Identifier: MIT */
/*
 * Program images for tests, record by record: nothing is checked or filled in
 * but places, so that wrong images can be made as easily as right ones.
 *
 *	struct mk *m = mk_new("name");
 *	int x = mk_symbol(m, "x", VRDU_SYMBOL_READ, 64);
 *	mk_section(m, "s");
 *	int sx = mk_stream(m, "sx", VRDU_ELEM_F32, 2, 1, mk_extent(m, 1), 1, 16);
 *	mk_load(m, "ld", mk_agu(m, x, 0, 64), sx);
 *	…
 *	mk_run(m, 0);
 *	image = mk_image(m, &size);	(places what has no place yet; free() it)
 *	mk_free(m);
 *
 * Records may be changed at any time before mk_image(); mk_node_of() and its
 * sisters find them by name. Failures of malloc() and full tables abort.
 */
#ifndef _MKIMAGE_H
#define _MKIMAGE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fm.h"
#include "fm_image.h"
#include "fm_kinds.h"

#define MK_NODES	1200
#define MK_STREAMS	1200
#define MK_STRINGS	32768
#define MK_UNPLACED	0xfffffffeu	/* site or PMU that mk_place() fills in */

/**
 * struct mk - an image under construction.
 * @head: Only name, flags and version are used.
 * @section: Section that new nodes and streams belong to: the last one.
 * @profile: Fabric to place on; "tiny" at first.
 */
struct mk {
	struct vrdu_image_header head;
	struct vrdu_symbol symbols[VRDU_MAX_SYMBOLS + 1];
	struct vrdu_extent extents[VRDU_MAX_EXTENTS + 1];
	struct vrdu_section sections[VRDU_MAX_SECTIONS + 1];
	struct vrdu_seq seq[VRDU_MAX_SEQ + 1];
	struct vrdu_node nodes[MK_NODES];
	struct vrdu_stream streams[MK_STREAMS];
	struct vrdu_agu agus[VRDU_MAX_AGUS + 1];
	char strings[MK_STRINGS];
	uint32_t n_symbols, n_extents, n_sections, n_seq, n_nodes, n_streams, n_agus, n_strings;
	const struct fm_profile *profile;
};

static inline uint32_t mk_string(struct mk *m, const char *s)
{
	uint32_t at = m->n_strings, n = strlen(s) + 1;

	assert(at + n <= MK_STRINGS);
	memcpy(m->strings + at, s, n);
	m->n_strings += n;
	return at;
}

static inline struct mk *mk_new(const char *name)
{
	struct mk *m = calloc(1, sizeof(*m));

	assert(m);
	m->profile = fm_profile_find("tiny");
	m->head.magic = VRDU_IMAGE_MAGIC;
	m->head.major = VRDU_IMAGE_MAJOR;
	m->head.minor = VRDU_IMAGE_MINOR;
	m->head.name = mk_string(m, name);
	return m;
}

static inline void mk_free(struct mk *m)
{
	free(m);
}

static inline int mk_symbol(struct mk *m, const char *name, uint8_t access, uint64_t bytes)
{
	assert(m->n_symbols <= VRDU_MAX_SYMBOLS);
	m->symbols[m->n_symbols] = (struct vrdu_symbol){
		.name = mk_string(m, name), .access = access, .bytes = bytes,
	};
	return m->n_symbols++;
}

static inline int mk_table(struct mk *m, const char *name, uint8_t access, uint64_t bytes,
			   uint8_t level, uint32_t entries)
{
	int i = mk_symbol(m, name, access, bytes);

	m->symbols[i].kind = VRDU_SYMBOL_TABLE;
	m->symbols[i].level = level;
	m->symbols[i].entries = entries;
	return i;
}

/* A static size; equal ones share an extent. */
static inline int mk_extent(struct mk *m, uint32_t value)
{
	uint32_t i;

	for (i = 0; i < m->n_extents; i++)
		if (m->extents[i].kind == VRDU_EXTENT_STATIC && m->extents[i].value == value)
			return i;
	assert(m->n_extents <= VRDU_MAX_EXTENTS);
	m->extents[i] = (struct vrdu_extent){ .value = value, .min = value, .max = value };
	return m->n_extents++;
}

static inline int mk_param(struct mk *m, int symbol, uint64_t offset, int32_t bias, uint32_t min,
			   uint32_t max)
{
	assert(m->n_extents <= VRDU_MAX_EXTENTS);
	m->extents[m->n_extents] = (struct vrdu_extent){
		.kind = VRDU_EXTENT_PARAM, .symbol = symbol, .offset = offset, .bias = bias,
		.min = min, .max = max,
	};
	return m->n_extents++;
}

static inline int mk_section(struct mk *m, const char *name)
{
	assert(m->n_sections <= VRDU_MAX_SECTIONS);
	m->sections[m->n_sections] = (struct vrdu_section){
		.name = mk_string(m, name), .first_node = m->n_nodes,
		.first_stream = m->n_streams,
	};
	return m->n_sections++;
}

/* @rows is an extent. */
static inline int mk_stream(struct mk *m, const char *name, uint8_t elem, uint16_t depth,
			    uint32_t outer, int rows, uint32_t tile_rows, uint32_t cols)
{
	assert(m->n_streams < MK_STREAMS && m->n_sections);
	m->streams[m->n_streams] = (struct vrdu_stream){
		.name = mk_string(m, name), .elem = elem, .depth = depth, .outer = outer,
		.rows = rows, .tile_rows = tile_rows, .cols = cols, .pmu = MK_UNPLACED,
	};
	m->sections[m->n_sections - 1].streams++;
	return m->n_streams++;
}

static inline int mk_transposed(struct mk *m, const char *name, uint16_t depth, uint32_t outer,
				int rows, uint32_t tile_rows, uint32_t cols)
{
	int i = mk_stream(m, name, VRDU_ELEM_F32, depth, outer, rows, tile_rows, cols);

	m->streams[i].flags = VRDU_STREAM_TRANSPOSED;
	return i;
}

static inline int mk_token(struct mk *m, const char *name)
{
	return mk_stream(m, name, VRDU_ELEM_TOKEN, 1, 1, mk_extent(m, 1), 1, 0);
}

static inline int mk_agu(struct mk *m, int symbol, int64_t offset, int64_t row_stride)
{
	assert(m->n_agus <= VRDU_MAX_AGUS);
	m->agus[m->n_agus] = (struct vrdu_agu){
		.symbol = symbol, .offset = offset, .row_stride = row_stride,
	};
	return m->n_agus++;
}

static inline int mk_index_agu(struct mk *m, int symbol, int64_t offset, int64_t row_stride,
			       int64_t index_stride, uint32_t index_limit)
{
	int i = mk_agu(m, symbol, offset, row_stride);

	m->agus[i].index_stride = index_stride;
	m->agus[i].index_limit = index_limit;
	return i;
}

/* Streams that are not there, AGUs too: -1. */
static inline struct vrdu_node *mk_node(struct mk *m, const char *name, uint16_t kind, int in0,
					int in1, int in2, int out0)
{
	struct vrdu_node *n = &m->nodes[m->n_nodes];

	assert(m->n_nodes < MK_NODES && m->n_sections);
	*n = (struct vrdu_node){
		.name = mk_string(m, name), .kind = kind, .in = { in0, in1, in2, VRDU_NONE },
		.out = { out0, VRDU_NONE }, .agu = VRDU_NONE, .agu2 = VRDU_NONE,
		.site = MK_UNPLACED, .units = 1, .pmu = 0, .pmus = 0,
	};
	if (kind == VRDU_NODE_SOFTMAX)
		n->pmu = MK_UNPLACED;
	m->sections[m->n_sections - 1].nodes++;
	m->n_nodes++;
	return n;
}

static inline void mk_load(struct mk *m, const char *name, int agu, int out)
{
	mk_node(m, name, VRDU_NODE_LOAD, -1, -1, -1, out)->agu = agu;
}

static inline void mk_store(struct mk *m, const char *name, int agu, int in)
{
	mk_node(m, name, VRDU_NODE_STORE, in, -1, -1, -1)->agu = agu;
}

static inline void mk_ew(struct mk *m, const char *name, uint32_t op, int a, int b, int out)
{
	mk_node(m, name, VRDU_NODE_EW, a, b, -1, out)->p[0] = op;
}

static inline void mk_op(struct mk *m, uint32_t op, uint32_t arg)
{
	assert(m->n_seq <= VRDU_MAX_SEQ);
	m->seq[m->n_seq++] = (struct vrdu_seq){ op, arg };
}

static inline void mk_loop(struct mk *m, int extent)
{
	mk_op(m, VRDU_SEQ_LOOP, extent);
}

static inline void mk_end(struct mk *m)
{
	mk_op(m, VRDU_SEQ_END, 0);
}

static inline void mk_run(struct mk *m, int section)
{
	mk_op(m, VRDU_SEQ_RUN, section);
}

static inline const char *mk_name(const struct mk *m, uint32_t at)
{
	return at < m->n_strings ? m->strings + at : "";
}

/* Records by name; abort when there is none. */
static inline struct vrdu_node *mk_node_of(struct mk *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_nodes; i++)
		if (!strcmp(mk_name(m, m->nodes[i].name), name))
			return &m->nodes[i];
	abort();
}

static inline struct vrdu_stream *mk_stream_of(struct mk *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_streams; i++)
		if (!strcmp(mk_name(m, m->streams[i].name), name))
			return &m->streams[i];
	abort();
}

static inline struct vrdu_symbol *mk_symbol_of(struct mk *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_symbols; i++)
		if (!strcmp(mk_name(m, m->symbols[i].name), name))
			return &m->symbols[i];
	abort();
}

static inline struct vrdu_agu *mk_agu_of(struct mk *m, const char *node)
{
	return &m->agus[mk_node_of(m, node)->agu];
}

static inline uint32_t mk_pmus(const struct mk *m, uint64_t bytes)
{
	return (bytes + m->profile->pmu_bytes - 1) / m->profile->pmu_bytes;
}

/* Give units to what has none: each section gets the fabric from its start. */
static inline void mk_place(struct mk *m)
{
	uint32_t s, i;

	for (s = 0; s < m->n_sections; s++) {
		const struct vrdu_section *r = &m->sections[s];
		uint32_t unit[2] = { 0, 0 }, pmu = 0;

		for (i = r->first_stream; i < r->first_stream + r->streams; i++) {
			struct vrdu_stream *t = &m->streams[i];

			if (t->pmu != MK_UNPLACED)
				continue;
			t->pmus = mk_pmus(m, (uint64_t)t->depth * t->tile_rows * t->cols *
					  fm_elem_bytes(t->elem));
			t->pmu = t->pmus ? pmu : 0;
			pmu += t->pmus;
		}
		for (i = r->first_node; i < r->first_node + r->nodes; i++) {
			struct vrdu_node *n = &m->nodes[i];
			const struct fm_kind *k = fm_kind(n->kind);

			if (n->site == MK_UNPLACED && k) {
				n->site = unit[k->unit];
				unit[k->unit] += n->units;
			}
			if (n->pmu == MK_UNPLACED && n->in[0] < m->n_streams) {
				const struct vrdu_stream *t = &m->streams[n->in[0]];

				n->pmu = pmu;
				n->pmus = mk_pmus(m, 4ull * m->extents[t->rows].max * t->cols);
				pmu += n->pmus;
			}
		}
	}
}

static inline uint32_t mk_table_at(uint8_t *image, uint32_t *at, const void *records,
				   uint64_t bytes)
{
	uint32_t off = (*at + 7) & ~7u;

	if (image && bytes)
		memcpy(image + off, records, bytes);
	*at = off + bytes;
	return off;
}

/* Write the tables behind the header @h, which gets their places; with @image NULL only count. */
static inline void mk_write(const struct mk *m, struct vrdu_image_header *h, uint8_t *image)
{
	uint32_t at = sizeof(*h);

	*h = m->head;
	h->symbols = m->n_symbols;
	h->extents = m->n_extents;
	h->sections = m->n_sections;
	h->seqs = m->n_seq;
	h->nodes = m->n_nodes;
	h->streams = m->n_streams;
	h->agus = m->n_agus;
	h->strings = m->n_strings;
	h->symbols_off = mk_table_at(image, &at, m->symbols, h->symbols * sizeof(*m->symbols));
	h->extents_off = mk_table_at(image, &at, m->extents, h->extents * sizeof(*m->extents));
	h->sections_off = mk_table_at(image, &at, m->sections,
				      h->sections * sizeof(*m->sections));
	h->seq_off = mk_table_at(image, &at, m->seq, h->seqs * sizeof(*m->seq));
	h->nodes_off = mk_table_at(image, &at, m->nodes, h->nodes * sizeof(*m->nodes));
	h->streams_off = mk_table_at(image, &at, m->streams, h->streams * sizeof(*m->streams));
	h->agus_off = mk_table_at(image, &at, m->agus, h->agus * sizeof(*m->agus));
	h->strings_off = mk_table_at(image, &at, m->strings, h->strings);
	h->size = at;
}

/* Make the checksum of an image right again. */
static inline void mk_seal(void *image, uint32_t size)
{
	((struct vrdu_image_header *)image)->crc32 = fm_image_crc(image, size);
}

/* The image; free() it. */
static inline void *mk_image(struct mk *m, uint32_t *size)
{
	struct vrdu_image_header h;
	uint8_t *image;

	mk_place(m);
	mk_write(m, &h, NULL);
	image = calloc(1, h.size);
	assert(image);
	mk_write(m, &h, image);
	memcpy(image, &h, sizeof(h));
	mk_seal(image, h.size);
	*size = h.size;
	return image;
}

#endif /* _MKIMAGE_H */
