// SPDX-License-Identifier: MIT
/*
 * Images in pieces: appending and removing records within the format's limits,
 * and putting the pieces together again. Knows layout, not meaning.
 */
#include "image_edit.h"

/* Room for one more record of @size in an array of @n: full at powers of two. */
static void *grow(void *array, uint32_t n, size_t size)
{
	if (n && (n < 8 || (n & (n - 1))))
		return array;
	return realloc(array, (n ? (size_t)n * 2 : 8) * size);
}

#define APPEND(e, array, count, rec, limit, what) ({				\
	int _ret;								\
	if ((e)->count >= (limit)) {						\
		_ret = vrdu_fail(-ENOSPC, "image: more than %u %ss", (unsigned)(limit), what); \
	} else {								\
		void *_p = grow((e)->array, (e)->count, sizeof(*(e)->array));	\
		if (!_p) {							\
			_ret = vrdu_nomem();					\
		} else {							\
			(e)->array = _p;					\
			(e)->array[(e)->count] = *(rec);			\
			_ret = (e)->count++;					\
		}								\
	}									\
	_ret;									\
})

int vrdu_edit_init(struct vrdu_edit *e, const char *name)
{
	int ret;

	memset(e, 0, sizeof(*e));
	ret = vrdu_edit_string(e, name);
	if (ret < 0)
		return ret;
	e->name = ret;
	return 0;
}

void vrdu_edit_free(struct vrdu_edit *e)
{
	free(e->strings);
	free(e->symbols);
	free(e->extents);
	free(e->sections);
	free(e->seqs);
	free(e->nodes);
	free(e->streams);
	free(e->agus);
	memset(e, 0, sizeof(*e));
}

int vrdu_edit_string(struct vrdu_edit *e, const char *text)
{
	size_t n = strlen(text) + 1;
	char *p;

	if (n > VRDU_IMAGE_MAX_BYTES - e->n_strings)
		return vrdu_fail(-ENOSPC, "image: names exceed %u bytes", VRDU_IMAGE_MAX_BYTES);
	p = realloc(e->strings, e->n_strings + n);
	if (!p)
		return vrdu_nomem();
	e->strings = p;
	memcpy(p + e->n_strings, text, n);
	e->n_strings += n;
	return e->n_strings - n;
}

int vrdu_edit_symbol(struct vrdu_edit *e, const struct vrdu_symbol *rec)
{
	return APPEND(e, symbols, n_symbols, rec, VRDU_MAX_SYMBOLS, "symbol");
}

int vrdu_edit_extent(struct vrdu_edit *e, const struct vrdu_extent *rec)
{
	uint32_t i;

	for (i = 0; i < e->n_extents; i++)
		if (!memcmp(&e->extents[i], rec, sizeof(*rec)))
			return i;
	return APPEND(e, extents, n_extents, rec, VRDU_MAX_EXTENTS, "extent");
}

int vrdu_edit_static(struct vrdu_edit *e, uint32_t value)
{
	struct vrdu_extent rec = {
		.kind = VRDU_EXTENT_STATIC,
		.value = value,
		.min = value,
		.max = value,
	};

	return vrdu_edit_extent(e, &rec);
}

int vrdu_edit_section(struct vrdu_edit *e, const struct vrdu_section *rec)
{
	return APPEND(e, sections, n_sections, rec, VRDU_MAX_SECTIONS, "section");
}

int vrdu_edit_seq(struct vrdu_edit *e, uint32_t op, uint32_t arg)
{
	struct vrdu_seq rec = { .op = op, .arg = arg };

	return APPEND(e, seqs, n_seqs, &rec, VRDU_MAX_SEQ, "sequence entry");
}

int vrdu_edit_node(struct vrdu_edit *e, const struct vrdu_node *rec)
{
	return APPEND(e, nodes, n_nodes, rec, VRDU_MAX_SECTIONS * VRDU_MAX_NODES, "node");
}

int vrdu_edit_stream(struct vrdu_edit *e, const struct vrdu_stream *rec)
{
	return APPEND(e, streams, n_streams, rec, VRDU_MAX_SECTIONS * VRDU_MAX_STREAMS, "stream");
}

int vrdu_edit_agu(struct vrdu_edit *e, const struct vrdu_agu *rec)
{
	return APPEND(e, agus, n_agus, rec, VRDU_MAX_AGUS, "AGU");
}

void vrdu_edit_remove_node(struct vrdu_edit *e, uint32_t section, uint32_t index)
{
	uint32_t i;

	memmove(&e->nodes[index], &e->nodes[index + 1],
		(e->n_nodes - index - 1) * sizeof(*e->nodes));
	e->n_nodes--;
	e->sections[section].nodes--;
	for (i = section + 1; i < e->n_sections; i++)
		e->sections[i].first_node--;
}

static void shift_index(uint32_t *ref, uint32_t removed)
{
	if (*ref != VRDU_NONE && *ref > removed)
		--*ref;
}

void vrdu_edit_remove_stream(struct vrdu_edit *e, uint32_t section, uint32_t index)
{
	uint32_t i, j;

	memmove(&e->streams[index], &e->streams[index + 1],
		(e->n_streams - index - 1) * sizeof(*e->streams));
	e->n_streams--;
	e->sections[section].streams--;
	for (i = section + 1; i < e->n_sections; i++)
		e->sections[i].first_stream--;
	for (i = 0; i < e->n_nodes; i++) {
		for (j = 0; j < VRDU_NODE_INPUTS; j++)
			shift_index(&e->nodes[i].in[j], index);
		for (j = 0; j < VRDU_NODE_OUTPUTS; j++)
			shift_index(&e->nodes[i].out[j], index);
	}
}

/* Where a table goes; the end moves behind it. */
static uint32_t lay(size_t *end, uint32_t n, size_t record)
{
	size_t at = *end;

	*end += n * record;
	return at;
}

int vrdu_edit_finish(const struct vrdu_edit *e, struct vrdu_image **out)
{
	struct vrdu_image_header h = {
		.magic = VRDU_IMAGE_MAGIC,
		.major = VRDU_IMAGE_MAJOR,
		.minor = VRDU_IMAGE_MINOR,
		.name = e->name,
		.symbols = e->n_symbols,
		.extents = e->n_extents,
		.sections = e->n_sections,
		.seqs = e->n_seqs,
		.nodes = e->n_nodes,
		.streams = e->n_streams,
		.agus = e->n_agus,
		.strings = e->n_strings,
	};
	size_t end = sizeof(h);
	char *data;
	int ret;

	/* All records are multiples of 8 bytes: the tables stay aligned. */
	h.symbols_off = lay(&end, h.symbols, sizeof(*e->symbols));
	h.extents_off = lay(&end, h.extents, sizeof(*e->extents));
	h.sections_off = lay(&end, h.sections, sizeof(*e->sections));
	h.seq_off = lay(&end, h.seqs, sizeof(*e->seqs));
	h.nodes_off = lay(&end, h.nodes, sizeof(*e->nodes));
	h.streams_off = lay(&end, h.streams, sizeof(*e->streams));
	h.agus_off = lay(&end, h.agus, sizeof(*e->agus));
	h.strings_off = lay(&end, h.strings, 1);
	if (end > VRDU_IMAGE_MAX_BYTES)
		return vrdu_fail(-ENOSPC, "image: %zu bytes, limit %u", end, VRDU_IMAGE_MAX_BYTES);
	h.size = end;
	data = calloc(1, end);
	if (!data)
		return vrdu_nomem();
#define PUT(off, array, n) \
	do { if (n) memcpy(data + h.off, e->array, (n) * sizeof(*e->array)); } while (0)
	PUT(symbols_off, symbols, h.symbols);
	PUT(extents_off, extents, h.extents);
	PUT(sections_off, sections, h.sections);
	PUT(seq_off, seqs, h.seqs);
	PUT(nodes_off, nodes, h.nodes);
	PUT(streams_off, streams, h.streams);
	PUT(agus_off, agus, h.agus);
	PUT(strings_off, strings, h.strings);
#undef PUT
	memcpy(data, &h, sizeof(h));
	h.crc32 = vrdu_image_crc32(data, end);
	memcpy(data, &h, sizeof(h));
	ret = vrdu_image_adopt(data, end, out);
	if (ret)
		free(data);
	return ret;
}

uint32_t vrdu_elem_bytes(uint32_t elem)
{
	static const uint8_t bytes[] = {
		[VRDU_ELEM_TOKEN] = 0,
		[VRDU_ELEM_F32] = 4,
		[VRDU_ELEM_BF16] = 2,
		[VRDU_ELEM_I8] = 1,
		[VRDU_ELEM_I32] = 4,
	};

	return elem < ARRAY_LEN(bytes) ? bytes[elem] : 0;
}

bool vrdu_node_agcu(uint32_t kind)
{
	return kind >= VRDU_NODE_LOAD && kind <= VRDU_NODE_CARRY;
}
