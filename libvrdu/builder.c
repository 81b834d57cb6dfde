// SPDX-License-Identifier: MIT
/*
 * The builder: programs made call by call. It records, fills in defaults and
 * refuses what cannot be recorded; whether the program is right is for the
 * verifier to say. The first error sticks: every later call returns it.
 */
#include "image_edit.h"

#include <stdio.h>

/**
 * struct vrdu_builder - a program under construction.
 * @edit: What was recorded.
 * @fabric: Where it will be placed.
 * @err: First error.
 * @text: Its sentence.
 * @open_loops: Loops of the sequence that have no END yet.
 */
struct vrdu_builder {
	struct vrdu_edit edit;
	struct vrdu_fabric fabric;
	int err;
	char text[256];
	uint32_t open_loops;
};

int vrdu_builder_create(const char *name, const char *profile, struct vrdu_builder **out)
{
	struct vrdu_builder *b;
	int ret;

	if (!name || !out)
		return vrdu_fail(-EINVAL, "builder: no %s", name ? "place for the result" : "name");
	b = calloc(1, sizeof(*b));
	if (!b)
		return vrdu_nomem();
	ret = vrdu_fabric_find(profile, &b->fabric);
	if (!ret)
		ret = vrdu_edit_init(&b->edit, name);
	if (ret) {
		vrdu_builder_unref(b);
		return ret;
	}
	*out = b;
	return 0;
}

void vrdu_builder_unref(struct vrdu_builder *b)
{
	if (!b)
		return;
	vrdu_edit_free(&b->edit);
	free(b);
}

/* Keep the first error together with its sentence. */
static int keep(struct vrdu_builder *b, int ret)
{
	if (ret < 0 && !b->err) {
		b->err = ret;
		snprintf(b->text, sizeof(b->text), "%s", vrdu_last_error());
	}
	return ret;
}

/* Every entry point starts here. */
static int enter(struct vrdu_builder *b)
{
	if (!b)
		return vrdu_fail(-EINVAL, "builder: there is none");
	return b->err ? vrdu_fail(b->err, "%s", b->text) : 0;
}

static int add_string(struct vrdu_builder *b, const char *name, const char *what, uint32_t *offset)
{
	int ret;

	if (!name)
		return vrdu_fail(-EINVAL, "builder: %s without a name", what);
	ret = vrdu_edit_string(&b->edit, name);
	if (ret < 0)
		return ret;
	*offset = ret;
	return 0;
}

static int add_symbol(struct vrdu_builder *b, const char *name, struct vrdu_symbol *s)
{
	int ret = add_string(b, name, "symbol", &s->name);

	if (ret)
		return ret;
	if (!s->access || s->access & ~(VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE))
		return vrdu_fail(-EINVAL, "builder: symbol \"%s\": access 0x%x", name, s->access);
	if (!s->bytes)
		return vrdu_fail(-EINVAL, "builder: symbol \"%s\" has 0 bytes", name);
	return vrdu_edit_symbol(&b->edit, s);
}

int vrdu_builder_symbol(struct vrdu_builder *b, const char *name, uint32_t access, uint64_t bytes)
{
	struct vrdu_symbol s = {
		.kind = VRDU_SYMBOL_ADDR,
		.access = access > 0xff ? 0xff : access,
		.bytes = bytes,
	};
	int ret = enter(b);

	return ret ? ret : keep(b, add_symbol(b, name, &s));
}

int vrdu_builder_table(struct vrdu_builder *b, const char *name, uint32_t access, uint64_t bytes,
		       uint32_t level, uint32_t entries)
{
	struct vrdu_symbol s = {
		.kind = VRDU_SYMBOL_TABLE,
		.access = access > 0xff ? 0xff : access,
		.level = level,
		.entries = entries,
		.bytes = bytes,
	};
	int ret = enter(b);

	if (ret)
		return ret;
	if (level >= VRDU_MAX_LOOP_DEPTH)
		return keep(b, vrdu_fail(-EINVAL, "builder: table \"%s\": loop level %u, limit %u",
					 name ? name : "", level, VRDU_MAX_LOOP_DEPTH));
	return keep(b, add_symbol(b, name, &s));
}

int vrdu_builder_extent(struct vrdu_builder *b, uint32_t value)
{
	int ret = enter(b);

	if (ret)
		return ret;
	if (!value || value > 1u << 30)
		return keep(b, vrdu_fail(-EINVAL, "builder: extent %u, not 1 … 2^30", value));
	return keep(b, vrdu_edit_static(&b->edit, value));
}

int vrdu_builder_extent_param(struct vrdu_builder *b, uint32_t symbol, uint64_t offset,
			      int32_t bias, uint32_t min, uint32_t max)
{
	struct vrdu_extent rec = {
		.kind = VRDU_EXTENT_PARAM,
		.symbol = symbol,
		.bias = bias,
		.offset = offset,
		.min = min,
		.max = max,
	};
	int ret = enter(b);

	if (ret)
		return ret;
	if (symbol >= b->edit.n_symbols)
		return keep(b, vrdu_fail(-EINVAL, "builder: extent of symbol %u, there are %u",
					 symbol, b->edit.n_symbols));
	if (!min || min > max || max > 1u << 30)
		return keep(b, vrdu_fail(-EINVAL, "builder: extent in %u … %u, not in 1 … 2^30", min,
					 max));
	return keep(b, vrdu_edit_extent(&b->edit, &rec));
}

int vrdu_builder_section(struct vrdu_builder *b, const char *name)
{
	struct vrdu_section s = { 0 };
	int ret = enter(b);

	if (ret)
		return ret;
	s.first_node = b->edit.n_nodes;
	s.first_stream = b->edit.n_streams;
	ret = add_string(b, name, "section", &s.name);
	return keep(b, ret ? ret : vrdu_edit_section(&b->edit, &s));
}

/* The open section, NULL with a sentence if there is none. */
static struct vrdu_section *open_section(struct vrdu_builder *b)
{
	if (b->edit.n_sections)
		return &b->edit.sections[b->edit.n_sections - 1];
	vrdu_fail(-EINVAL, "builder: no section is open");
	return NULL;
}

static int add_stream(struct vrdu_builder *b, const char *name,
		      const struct vrdu_stream_desc *desc)
{
	struct vrdu_section *section = open_section(b);
	struct vrdu_stream s = { 0 };
	int ret;

	if (!section || !desc)
		return section ? vrdu_fail(-EINVAL, "builder: stream without a description") :
				 -EINVAL;
	if (desc->rows >= b->edit.n_extents)
		return vrdu_fail(-EINVAL, "builder: stream \"%s\": extent %u, there are %u",
				 name ? name : "", desc->rows, b->edit.n_extents);
	if (section->streams >= VRDU_MAX_STREAMS)
		return vrdu_fail(-ENOSPC, "builder: more than %u streams in a section",
				 VRDU_MAX_STREAMS);
	ret = add_string(b, name, "stream", &s.name);
	if (ret)
		return ret;
	s.elem = desc->elem;
	s.flags = desc->flags;
	s.depth = desc->depth ? desc->depth : 2;
	s.outer = desc->outer ? desc->outer : 1;
	s.rows = desc->rows;
	s.tile_rows = desc->tile_rows ? desc->tile_rows : b->edit.extents[desc->rows].max;
	s.cols = desc->cols;
	ret = vrdu_edit_stream(&b->edit, &s);
	if (ret >= 0)
		section->streams++;
	return ret;
}

int vrdu_builder_stream(struct vrdu_builder *b, const char *name,
			const struct vrdu_stream_desc *desc)
{
	int ret = enter(b);

	return ret ? ret : keep(b, add_stream(b, name, desc));
}

int vrdu_builder_agu(struct vrdu_builder *b, const struct vrdu_agu *agu)
{
	int ret = enter(b);

	if (ret)
		return ret;
	if (!agu)
		return keep(b, vrdu_fail(-EINVAL, "builder: no AGU record"));
	if (agu->symbol >= b->edit.n_symbols)
		return keep(b, vrdu_fail(-EINVAL, "builder: AGU of symbol %u, there are %u",
					 agu->symbol, b->edit.n_symbols));
	return keep(b, vrdu_edit_agu(&b->edit, agu));
}

/* Rows of LOAD, STORE and CARRY are dense; a stride of 0 says so. */
static void fill_stride(struct vrdu_builder *b, uint32_t agu, uint32_t stream)
{
	const struct vrdu_stream *s;

	if (agu == VRDU_NONE || stream == VRDU_NONE || b->edit.agus[agu].row_stride)
		return;
	s = &b->edit.streams[stream];
	b->edit.agus[agu].row_stride = (int64_t)s->cols * vrdu_elem_bytes(s->elem);
}

static int check_refs(struct vrdu_builder *b, const char *name, const struct vrdu_node_desc *d)
{
	const struct vrdu_edit *e = &b->edit;
	uint32_t i;

	for (i = 0; i < VRDU_NODE_INPUTS; i++)
		if (d->in[i] != VRDU_NONE && d->in[i] >= e->n_streams)
			return vrdu_fail(-EINVAL, "builder: node \"%s\": in%u is stream %u, there are %u",
					 name, i, d->in[i], e->n_streams);
	for (i = 0; i < VRDU_NODE_OUTPUTS; i++)
		if (d->out[i] != VRDU_NONE && d->out[i] >= e->n_streams)
			return vrdu_fail(-EINVAL,
					 "builder: node \"%s\": out%u is stream %u, there are %u",
					 name, i, d->out[i], e->n_streams);
	if ((d->agu != VRDU_NONE && d->agu >= e->n_agus) ||
	    (d->agu2 != VRDU_NONE && d->agu2 >= e->n_agus))
		return vrdu_fail(-EINVAL, "builder: node \"%s\": AGU %u, %u, there are %u", name,
				 d->agu, d->agu2, e->n_agus);
	return 0;
}

static int add_node(struct vrdu_builder *b, const char *name, const struct vrdu_node_desc *desc)
{
	struct vrdu_section *section = open_section(b);
	struct vrdu_node n = { 0 };
	int ret;

	if (!section || !desc)
		return section ? vrdu_fail(-EINVAL, "builder: node without a description") :
				 -EINVAL;
	if (section->nodes >= VRDU_MAX_NODES)
		return vrdu_fail(-ENOSPC, "builder: more than %u nodes in a section",
				 VRDU_MAX_NODES);
	ret = add_string(b, name, "node", &n.name);
	if (!ret)
		ret = check_refs(b, name, desc);
	if (ret)
		return ret;
	n.kind = desc->kind;
	memcpy(n.in, desc->in, sizeof(n.in));
	memcpy(n.out, desc->out, sizeof(n.out));
	n.agu = desc->agu;
	n.agu2 = desc->agu2;
	memcpy(n.p, desc->p, sizeof(n.p));
	if (n.kind == VRDU_NODE_LOAD || n.kind == VRDU_NODE_CARRY)
		fill_stride(b, n.agu, n.out[0]);
	if (n.kind == VRDU_NODE_STORE)
		fill_stride(b, n.agu, n.in[0]);
	if (n.kind == VRDU_NODE_CARRY)
		fill_stride(b, n.agu2, n.in[0]);
	ret = vrdu_edit_node(&b->edit, &n);
	if (ret >= 0)
		section->nodes++;
	return ret;
}

int vrdu_builder_node(struct vrdu_builder *b, const char *name, const struct vrdu_node_desc *desc)
{
	int ret = enter(b);

	return ret ? ret : keep(b, add_node(b, name, desc));
}

int vrdu_builder_loop(struct vrdu_builder *b, uint32_t extent)
{
	int ret = enter(b);

	if (ret)
		return ret;
	if (extent >= b->edit.n_extents)
		return keep(b, vrdu_fail(-EINVAL, "builder: loop of extent %u, there are %u", extent,
					 b->edit.n_extents));
	ret = keep(b, vrdu_edit_seq(&b->edit, VRDU_SEQ_LOOP, extent));
	if (ret < 0)
		return ret;
	b->open_loops++;
	return 0;
}

int vrdu_builder_end(struct vrdu_builder *b)
{
	int ret = enter(b);

	if (ret)
		return ret;
	if (!b->open_loops)
		return keep(b, vrdu_fail(-EINVAL, "builder: end without a loop"));
	ret = keep(b, vrdu_edit_seq(&b->edit, VRDU_SEQ_END, 0));
	if (ret < 0)
		return ret;
	b->open_loops--;
	return 0;
}

int vrdu_builder_run(struct vrdu_builder *b, uint32_t section)
{
	int ret = enter(b);

	if (ret)
		return ret;
	if (section >= b->edit.n_sections)
		return keep(b, vrdu_fail(-EINVAL, "builder: run of section %u, there are %u", section,
					 b->edit.n_sections));
	ret = keep(b, vrdu_edit_seq(&b->edit, VRDU_SEQ_RUN, section));
	return ret < 0 ? ret : 0;
}

int vrdu_builder_finish(struct vrdu_builder *b, struct vrdu_image **out)
{
	uint32_t i;
	int ret = enter(b);

	if (ret)
		return ret;
	if (!out)
		return vrdu_fail(-EINVAL, "builder: no place for the result");
	if (b->open_loops)
		return keep(b, vrdu_fail(-EINVAL, "builder: %u loops have no end", b->open_loops));
	if (!b->edit.n_seqs) {
		for (i = 0; i < b->edit.n_sections; i++) {
			ret = vrdu_builder_run(b, i);
			if (ret)
				return ret;
		}
	}
	ret = vrdu_place(&b->edit, &b->fabric);
	if (!ret)
		ret = vrdu_edit_finish(&b->edit, out);
	return keep(b, ret);
}
