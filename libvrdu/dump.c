// SPDX-License-Identifier: MIT
/*
 * The text form of an image: every record and every field, for people and for
 * diffs. Stable: the same image gives the same text. Images need not have been
 * verified: what cannot be named is printed as a number.
 */
#include "image_edit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/**
 * struct out - where text goes.
 * @emit: Receiver.
 * @arg: Its cookie.
 * @image: What is dumped.
 */
struct out {
	void (*emit)(void *arg, const char *text);
	void *arg;
	const struct vrdu_image *image;
};

static void put(const struct out *o, const char *fmt, ...) VRDU_PRINTF(2, 3);

static void put(const struct out *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	o->emit(o->arg, text);
}

/* Names come from the image: of any length and with any bytes. */
static void put_name(const struct out *o, uint32_t offset)
{
	const char *s = vrdu_image_string(o->image, offset);
	char text[80];
	size_t n = 0;

	text[n++] = '"';
	for (; *s && n < sizeof(text) - 8; s++)
		n += snprintf(text + n, sizeof(text) - n,
			      *s < ' ' || *s > '~' || *s == '"' || *s == '\\' ? "\\x%02x" : "%c",
			      (unsigned char)*s);
	snprintf(text + n, sizeof(text) - n, *s ? "…\"" : "\"");
	o->emit(o->arg, text);
}

static const char *name_of(const char *const *names, size_t n, uint32_t i)
{
	static _Thread_local char other[16];

	if (i < n && names[i])
		return names[i];
	snprintf(other, sizeof(other), "?%u", i);
	return other;
}

static const char *const elem_names[] = {
	[VRDU_ELEM_TOKEN] = "token",
	[VRDU_ELEM_F32] = "f32",
	[VRDU_ELEM_BF16] = "bf16",
	[VRDU_ELEM_I8] = "i8",
	[VRDU_ELEM_I32] = "i32",
};

static const char *const kind_names[] = {
	[VRDU_NODE_LOAD] = "load",
	[VRDU_NODE_STORE] = "store",
	[VRDU_NODE_GATHER] = "gather",
	[VRDU_NODE_SCATTER] = "scatter",
	[VRDU_NODE_CARRY] = "carry",
	[VRDU_NODE_MATMUL] = "matmul",
	[VRDU_NODE_ATTN_SCORES] = "attn_scores",
	[VRDU_NODE_SOFTMAX] = "softmax",
	[VRDU_NODE_ATTN_VALUES] = "attn_values",
	[VRDU_NODE_RMSNORM] = "rmsnorm",
	[VRDU_NODE_ROPE_ROW] = "rope_row",
	[VRDU_NODE_ROPE] = "rope",
	[VRDU_NODE_EW] = "ew",
	[VRDU_NODE_REDUCE] = "reduce",
	[VRDU_NODE_ARGMAX] = "argmax",
	[VRDU_NODE_CAST] = "cast",
};

static const char *const ew_names[] = {
	[VRDU_EW_ADD] = "add",
	[VRDU_EW_MUL] = "mul",
	[VRDU_EW_SUB] = "sub",
	[VRDU_EW_MAX] = "max",
	[VRDU_EW_SILU_MUL] = "silu_mul",
	[VRDU_EW_IADD] = "iadd",
	[VRDU_EW_IADD_IMM] = "iadd_imm",
	[VRDU_EW_IMAX] = "imax",
};

static const char *const reduce_names[] = {
	[VRDU_REDUCE_SUM] = "sum",
	[VRDU_REDUCE_MAX] = "max",
};

static const char *const access_names[] = { "none", "read", "write", "read|write" };

#define NAME(names, i)	name_of(names, ARRAY_LEN(names), i)

static void put_symbols(const struct out *o, const struct vrdu_image_header *h)
{
	const struct vrdu_symbol *s = vrdu_image_symbol_table(o->image);
	uint32_t i;

	for (i = 0; i < h->symbols; i++, s++) {
		put(o, "symbol %u ", i);
		put_name(o, s->name);
		put(o, " %s %s, %" PRIu64 " bytes",
		    s->kind == VRDU_SYMBOL_ADDR ? "addr" :
		    s->kind == VRDU_SYMBOL_TABLE ? "table" : "?kind",
		    NAME(access_names, s->access), (uint64_t)s->bytes);
		if (s->kind != VRDU_SYMBOL_ADDR || s->level || s->entries)
			put(o, ", level %u, %u entries", s->level, s->entries);
		if (s->kind > VRDU_SYMBOL_TABLE || s->pad || s->pad2)
			put(o, ", kind %u, pads %u, %u", s->kind, s->pad, s->pad2);
		put(o, "\n");
	}
}

static void put_extents(const struct out *o, const struct vrdu_image_header *h)
{
	const struct vrdu_extent *e = vrdu_image_extent_table(o->image);
	uint32_t i;

	for (i = 0; i < h->extents; i++, e++) {
		if (e->kind == VRDU_EXTENT_STATIC && e->min == e->value && e->max == e->value &&
		    !e->symbol && !e->bias && !e->offset) {
			put(o, "extent %u static %u\n", i, e->value);
			continue;
		}
		put(o, "extent %u ", i);
		if (e->kind == VRDU_EXTENT_PARAM)
			put(o, "param");
		else
			put(o, "kind %u", e->kind);
		put(o, " symbol %u ", e->symbol);
		if (e->symbol < h->symbols)
			put_name(o, vrdu_image_symbol_table(o->image)[e->symbol].name);
		put(o, " offset %" PRIu64 ", bias %d, %u … %u", (uint64_t)e->offset, e->bias, e->min,
		    e->max);
		if (e->value)
			put(o, ", value %u", e->value);
		put(o, "\n");
	}
}

static void put_stream(const struct out *o, uint32_t i)
{
	const struct vrdu_stream *s = &vrdu_image_stream_table(o->image)[i];
	uint32_t k;

	put(o, "  stream %u ", i);
	put_name(o, s->name);
	put(o, " %s, outer %u, rows extent %u, tile %u x %u, depth %u, pmu %u + %u",
	    NAME(elem_names, s->elem), s->outer, s->rows, s->tile_rows, s->cols, s->depth, s->pmu,
	    s->pmus);
	if (s->flags & VRDU_STREAM_TRANSPOSED)
		put(o, ", transposed");
	if (s->flags & ~VRDU_STREAM_TRANSPOSED)
		put(o, ", flags 0x%x", s->flags);
	for (k = 0; k < ARRAY_LEN(s->pad); k++)
		if (s->pad[k])
			put(o, ", pad%u %u", k, s->pad[k]);
	put(o, "\n");
}

/* A node parameter that is the bits of a float is shown as both. */
static void put_param(const struct out *o, const struct vrdu_node *n, uint32_t i)
{
	bool real = (n->kind == VRDU_NODE_ATTN_SCORES && i == 3) ||
		    (n->kind == VRDU_NODE_RMSNORM && i == 0) ||
		    (n->kind == VRDU_NODE_ROPE_ROW && i == 1);
	float f;

	memcpy(&f, &n->p[i], sizeof(f));
	if (n->kind == VRDU_NODE_EW && i == 0)
		put(o, " %s", NAME(ew_names, n->p[i]));
	else if (n->kind == VRDU_NODE_REDUCE && i == 0)
		put(o, " %s", NAME(reduce_names, n->p[i]));
	else if (real)
		put(o, " p%u=0x%08x(%.9g)", i, n->p[i], (double)f);
	else if (n->p[i])
		put(o, " p%u=%u", i, n->p[i]);
}

static void put_ports(const struct out *o, const char *what, const uint32_t *ports, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (ports[i] != VRDU_NONE)
			put(o, " %s%u=%u", what, i, ports[i]);
}

static void put_node(const struct out *o, uint32_t i, uint32_t first)
{
	const struct vrdu_node *n = &vrdu_image_node_table(o->image)[i];
	uint32_t k;

	put(o, "  node %u ", i - first);
	put_name(o, n->name);
	put(o, " %s", NAME(kind_names, n->kind));
	for (k = 0; k < VRDU_NODE_PARAMS; k++)
		put_param(o, n, k);
	put_ports(o, "in", n->in, VRDU_NODE_INPUTS);
	put_ports(o, "out", n->out, VRDU_NODE_OUTPUTS);
	put_ports(o, "agu", &n->agu, 1);
	if (n->agu2 != VRDU_NONE)
		put(o, " agu2=%u", n->agu2);
	put(o, " %s %u + %u", vrdu_node_agcu(n->kind) ? "agcu" : "pcu", n->site, n->units);
	if (n->pmus || n->pmu)
		put(o, " pmu %u + %u", n->pmu, n->pmus);
	if (n->flags)
		put(o, " flags 0x%x", n->flags);
	put(o, "\n");
}

static void put_sections(const struct out *o, const struct vrdu_image_header *h)
{
	const struct vrdu_section *s = vrdu_image_section_table(o->image);
	uint64_t i, k;

	for (i = 0; i < h->sections; i++, s++) {
		put(o, "section %" PRIu64 " ", i);
		put_name(o, s->name);
		put(o, ": nodes %u + %u, streams %u + %u", s->first_node, s->nodes,
		    s->first_stream, s->streams);
		if (s->pad)
			put(o, ", pad %u", s->pad);
		put(o, "\n");
		for (k = s->first_stream; k < (uint64_t)s->first_stream + s->streams; k++) {
			if (k >= h->streams) {
				put(o, "  (streams beyond the table)\n");
				break;
			}
			put_stream(o, k);
		}
		for (k = s->first_node; k < (uint64_t)s->first_node + s->nodes; k++) {
			if (k >= h->nodes) {
				put(o, "  (nodes beyond the table)\n");
				break;
			}
			put_node(o, k, s->first_node);
		}
	}
}

static void put_agus(const struct out *o, const struct vrdu_image_header *h)
{
	const struct vrdu_agu *a = vrdu_image_agu_table(o->image);
	uint32_t i, k;

	for (i = 0; i < h->agus; i++, a++) {
		put(o, "agu %u symbol %u ", i, a->symbol);
		if (a->symbol < h->symbols)
			put_name(o, vrdu_image_symbol_table(o->image)[a->symbol].name);
		put(o, " offset %" PRId64 ", row %" PRId64, (int64_t)a->offset,
		    (int64_t)a->row_stride);
		if (a->outer_stride)
			put(o, ", outer %" PRId64, (int64_t)a->outer_stride);
		for (k = 0; k < VRDU_MAX_LOOP_DEPTH; k++)
			if (a->loop_stride[k])
				put(o, ", loop%u %" PRId64, k, (int64_t)a->loop_stride[k]);
		if (a->index_stride || a->index_limit)
			put(o, ", index %" PRId64 " below %u", (int64_t)a->index_stride,
			    a->index_limit);
		if (a->flags || a->pad)
			put(o, ", flags 0x%x, pad %u", a->flags, a->pad);
		put(o, "\n");
	}
}

static void put_sequence(const struct out *o, const struct vrdu_image_header *h)
{
	const struct vrdu_seq *s = vrdu_image_seq_table(o->image);
	const struct vrdu_extent *e = vrdu_image_extent_table(o->image);
	uint32_t i, depth = 1;

	put(o, "sequence\n");
	for (i = 0; i < h->seqs; i++, s++) {
		if (s->op == VRDU_SEQ_END && depth > 1)
			depth--;
		put(o, "%*s", depth < 16 ? (int)depth * 2 : 32, "");
		switch (s->op) {
		case VRDU_SEQ_LOOP:
			put(o, "loop extent %u", s->arg);
			if (s->arg < h->extents && e[s->arg].kind == VRDU_EXTENT_STATIC)
				put(o, " (%u)", e[s->arg].value);
			put(o, "\n");
			depth++;
			break;
		case VRDU_SEQ_END:
			put(o, s->arg ? "end %u\n" : "end\n", s->arg);
			break;
		case VRDU_SEQ_RUN:
			put(o, "run section %u\n", s->arg);
			break;
		default:
			put(o, "?%u %u\n", s->op, s->arg);
			break;
		}
	}
}

int vrdu_image_dump(const struct vrdu_image *image, void (*emit)(void *arg, const char *text),
		    void *arg)
{
	struct out o = { .emit = emit, .arg = arg, .image = image };
	const struct vrdu_image_header *h;

	if (!image || !emit)
		return vrdu_fail(-EINVAL, "dump: no %s", image ? "receiver" : "image");
	h = vrdu_image_header(image);
	put(&o, "image ");
	put_name(&o, h->name);
	put(&o, " version %u.%u, %u bytes, crc 0x%08x", h->major, h->minor, h->size, h->crc32);
	if (h->flags || h->pad[0] || h->pad[1])
		put(&o, ", flags 0x%x, pads %u, %u", h->flags, h->pad[0], h->pad[1]);
	put(&o, "\n");
	put_symbols(&o, h);
	put_extents(&o, h);
	put_sections(&o, h);
	put_sequence(&o, h);
	put_agus(&o, h);
	return 0;
}
