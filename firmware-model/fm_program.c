// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Programs: from a verified image to run-time state, once; nothing is
 * allocated later. Owns the image's copy, the streams' buffers (which sections
 * share, since one runs at a time) and all bookkeeping.
 *
 * Relies on fm_verify(): indices, shapes and sizes are in bounds here.
 */
#include "fm_rt.h"
#include "fm_image.h"

/* Host memory for the buffers of one program. */
#define MAX_ARENA	(256ull << 20)

/* Ranges of a call: the longest table and all other symbols. They are sorted in each call. */
#define MAX_RANGES	((u64)VRDU_MAX_TRIP + VRDU_MAX_SYMBOLS)

/**
 * struct build - a program under construction.
 * @prog: Program.
 * @img: Parsed view of its image.
 * @log: Author's log.
 * @used: Bytes of arena in the section at hand.
 * @arena: Bytes of arena that the largest section needs.
 */
struct build {
	struct fm_program *prog;
	struct fm_image img;
	struct fm_log *log;
	u64 used;
	u64 arena;
};

static void *take(struct build *b, u64 bytes)
{
	void *p = fm_alloc(bytes);

	if (p)
		b->prog->bytes += bytes;
	return p;
}

/* Loops around each RUN, and whether the innermost is pipelined. */
static void build_loops(struct build *b)
{
	u32 open[VRDU_MAX_LOOP_DEPTH], depth = 0, i;

	for (i = 0; i < b->prog->n_seq; i++) {
		const struct vrdu_seq *s = &b->prog->seq[i];
		struct fm_rt_section *sect;

		switch (s->op) {
		case VRDU_SEQ_LOOP:
			open[depth++] = i;
			break;
		case VRDU_SEQ_END:
			depth--;
			break;
		default:
			sect = &b->prog->sections[s->arg];
			sect->level = depth;
			sect->pipelined = VRDU_NONE;
			if (depth && open[depth - 1] == i - 1 && i + 1 < b->prog->n_seq &&
			    s[1].op == VRDU_SEQ_END) {
				sect->level = depth - 1;
				sect->pipelined = s[-1].arg;
				sect->uses[s[-1].arg] = 1;
			}
			break;
		}
	}
}

static void build_agu(struct build *b, struct fm_rt_agu *agu, u32 index,
		      const struct fm_rt_stream *drive)
{
	const struct vrdu_symbol *sym;

	if (index == VRDU_NONE)
		return;
	agu->rec = &b->img.agus[index];
	sym = &b->prog->symbols[agu->rec->symbol];
	agu->symbol = agu->rec->symbol;
	agu->table = sym->kind == VRDU_SYMBOL_TABLE;
	agu->level = sym->level;
	agu->tile_stride = agu->rec->row_stride * drive->tile_rows;
}

static int build_node(struct build *b, struct fm_rt_section *s, struct fm_rt_node *n,
		      const struct vrdu_node *rec, u32 first_stream)
{
	const struct fm_kind *kind = fm_kind(rec->kind);
	u32 i;

	n->rec = rec;
	n->kind = rec->kind;
	n->index = n - s->nodes;
	n->fire = fm_fire_of(rec->kind);
	n->windowed = rec->kind == VRDU_NODE_CARRY || rec->kind == VRDU_NODE_SOFTMAX;
	n->memory = kind->unit == FM_UNIT_AGCU && !n->windowed;
	n->reads = rec->kind == VRDU_NODE_LOAD || rec->kind == VRDU_NODE_GATHER;
	for (i = 0; i < kind->inputs; i++) {
		struct fm_rt_edge *e = &n->in[i];

		if (rec->in[i] == VRDU_NONE)
			continue;
		e->stream = &s->streams[rec->in[i] - first_stream];
		e->node = n;
		if (kind->in_pattern[i] == FM_PORT_HOLD)
			n->hold[n->holds++] = e;
		else
			n->each[n->eachs++] = e;
		e->stream->edges[e->stream->consumers++] = e;
	}
	for (i = 0; i < kind->outputs; i++) {
		if (rec->out[i] == VRDU_NONE)
			continue;
		n->out[i] = &s->streams[rec->out[i] - first_stream];
		n->out[i]->producer = n;
		if (kind->out_pattern[i] == FM_PORT_LAST)
			n->out_last[n->out_lasts++] = n->out[i];
		else
			n->out_each[n->out_eachs++] = n->out[i];
	}
	n->drive = kind->drive >= 0 ? n->in[kind->drive].stream : n->out[~kind->drive];
	if (n->kind != VRDU_NODE_CARRY || rec->agu != VRDU_NONE)
		build_agu(b, &n->agu[0], rec->agu, n->drive);
	build_agu(b, &n->agu[1], rec->agu2, n->drive);
	return n->fire ? 0 : -EINVAL;
}

/* Room for @bytes in the arena: its offset, 64-byte aligned. */
static u64 arena_place(struct build *b, u64 bytes)
{
	u64 at = b->used;

	b->used += fm_div_round_up(bytes, 64) * 64;
	return at;
}

/* Tiles of loads live in device memory; all others in the arena. Offsets first, pointers later. */
static void place_buffers(struct build *b, struct fm_rt_section *s)
{
	u32 i, j;

	b->used = 0;
	for (i = 0; i < s->n_streams; i++) {
		struct fm_rt_stream *st = &s->streams[i];
		u64 tile = (u64)st->tile_rows * st->cols * st->elem_bytes;

		if (st->producer->kind == VRDU_NODE_LOAD || !tile)
			continue;
		for (j = 0; j < st->depth; j++) {
			u64 at = arena_place(b, tile);

			st->slots[j].data = b->prog->arena ? b->prog->arena + at : NULL;
		}
	}
	for (i = 0; i < s->n_nodes; i++) {
		struct fm_rt_node *n = &s->nodes[i];
		u64 at;

		if (n->kind != VRDU_NODE_SOFTMAX)
			continue;
		at = arena_place(b, (u64)b->prog->extents[n->drive->rows_extent].max *
				 n->drive->cols * sizeof(u32));
		n->scratch = b->prog->arena ? b->prog->arena + at : NULL;
	}
	b->arena = max_t(u64, b->arena, b->used);
}

static int build_streams(struct build *b, struct fm_rt_section *s, const struct vrdu_section *rec)
{
	u32 *consumers, i, j;
	int ret = -ENOMEM;

	consumers = fm_alloc((u64)rec->streams * sizeof(*consumers) + 1);
	if (!consumers)
		return -ENOMEM;
	for (i = 0; i < rec->nodes; i++) {
		const struct vrdu_node *n = &b->img.nodes[rec->first_node + i];

		for (j = 0; j < fm_kind(n->kind)->inputs; j++)
			if (n->in[j] != VRDU_NONE)
				consumers[n->in[j] - rec->first_stream]++;
	}
	for (i = 0; i < s->n_streams; i++) {
		const struct vrdu_stream *r = &b->img.streams[rec->first_stream + i];
		struct fm_rt_stream *st = &s->streams[i];

		st->depth = r->depth;
		st->outer = r->outer;
		st->rows_extent = r->rows;
		st->tile_rows = r->tile_rows;
		st->cols = r->cols;
		st->elem = r->elem;
		st->elem_bytes = fm_elem_bytes(r->elem);
		st->transposed = r->flags & VRDU_STREAM_TRANSPOSED;
		st->slots = take(b, r->depth * sizeof(*st->slots));
		st->edges = take(b, consumers[i] * sizeof(struct fm_rt_edge *));
		if (!st->slots || !st->edges)
			goto out;
		s->uses[r->rows] = 1;
		st->dynamic = b->prog->extents[r->rows].kind != VRDU_EXTENT_STATIC;
		s->dynamic |= st->dynamic;
	}
	ret = 0;
out:
	fm_free(consumers);
	return ret;
}

static int build_section(struct build *b, u32 index)
{
	const struct vrdu_section *rec = &b->img.sections[index];
	struct fm_rt_section *s = &b->prog->sections[index];
	u32 i;
	int ret;

	s->n_nodes = rec->nodes;
	s->n_streams = rec->streams;
	s->nodes = take(b, (u64)rec->nodes * sizeof(*s->nodes));
	s->streams = take(b, (u64)rec->streams * sizeof(*s->streams) + 1);
	s->uses = take(b, VRDU_MAX_EXTENTS);
	if (!s->nodes || !s->streams || !s->uses)
		return -ENOMEM;
	ret = build_streams(b, s, rec);
	if (ret)
		return ret;
	for (i = 0; i < rec->nodes; i++) {
		ret = build_node(b, s, &s->nodes[i], &b->img.nodes[rec->first_node + i],
				 rec->first_stream);
		if (ret)
			return ret;
	}
	place_buffers(b, s);
	return 0;
}

/* A node or stream buffer: units [first, first + n) of a kind of unit. */
struct site {
	u32 unit;
	u32 first;
	u32 n;
};

static u32 section_sites(const struct build *b, u32 section, struct site *sites)
{
	const struct vrdu_section *rec = &b->img.sections[section];
	u32 i, n = 0;

	for (i = 0; i < rec->nodes; i++) {
		const struct vrdu_node *node = &b->img.nodes[rec->first_node + i];

		sites[n++] = (struct site){ fm_kind(node->kind)->unit, node->site, node->units };
		sites[n++] = (struct site){ ~0u, node->pmu, node->pmus };
	}
	for (i = 0; i < rec->streams; i++) {
		const struct vrdu_stream *st = &b->img.streams[rec->first_stream + i];

		sites[n++] = (struct site){ ~0u, st->pmu, st->pmus };
	}
	return n;
}

/* Do all sections fit side by side? Marks units per section in a map of the grid. */
static int build_resident(struct build *b)
{
	const struct fm_profile *p = b->prog->profile;
	u32 base[3] = { 0, p->agcus, p->agcus + p->pcus };
	u32 units = p->agcus + p->pcus + p->pmus, i, j, k;
	struct site *sites;
	u8 *map;

	b->prog->resident = true;
	if (b->prog->n_sections == 1)
		return 0;
	sites = fm_alloc((2ull * VRDU_MAX_NODES + VRDU_MAX_STREAMS) * sizeof(*sites));
	map = fm_alloc(units);
	if (!sites || !map) {
		fm_free(sites);
		fm_free(map);
		return -ENOMEM;
	}
	for (i = 0; i < b->prog->n_sections; i++) {
		u32 n = section_sites(b, i, sites);

		for (j = 0; j < n; j++) {
			u32 at = base[sites[j].unit == ~0u ? 2 : sites[j].unit] + sites[j].first;

			for (k = at; k < at + sites[j].n; k++) {
				if (map[k])
					b->prog->resident = false;
				map[k] = 1;
			}
		}
	}
	fm_free(sites);
	fm_free(map);
	return 0;
}

/* What a call needs for its arguments: tables and the overlap check. */
static int build_args(struct build *b)
{
	struct fm_program *prog = b->prog;
	u64 ranges = 0;
	u32 i;

	for (i = 0; i < prog->n_symbols; i++) {
		const struct vrdu_symbol *s = &prog->symbols[i];

		ranges += s->kind == VRDU_SYMBOL_TABLE ? s->entries : 1;
		if (ranges > MAX_RANGES) {
			fm_log(b->log, "tables have %llu entries or more in all, limit %u\n",
			       (unsigned long long)ranges, VRDU_MAX_TRIP);
			return -EINVAL;
		}
		if (s->kind != VRDU_SYMBOL_TABLE)
			continue;
		prog->table[i] = take(b, (u64)s->entries * sizeof(u64));
		if (!prog->table[i])
			return -ENOMEM;
	}
	prog->n_ranges = ranges;
	prog->ranges = take(b, ranges * sizeof(*prog->ranges) + 1);
	return prog->ranges ? 0 : -ENOMEM;
}

static int build_arena(struct build *b)
{
	u32 i;

	if (b->arena > MAX_ARENA) {
		fm_log(b->log, "stream buffers need %llu bytes of host memory, limit %llu\n",
		       (unsigned long long)b->arena, (unsigned long long)MAX_ARENA);
		return -EINVAL;
	}
	b->prog->arena = take(b, b->arena + 64);
	if (!b->prog->arena)
		return -ENOMEM;
	for (i = 0; i < b->prog->n_sections; i++)
		place_buffers(b, &b->prog->sections[i]);
	return 0;
}

static int build(struct build *b)
{
	struct fm_program *prog = b->prog;
	u32 i, nodes = 1;
	int ret;

	prog->symbols = b->img.symbols;
	prog->n_symbols = b->img.n_symbols;
	prog->extents = b->img.extents;
	prog->n_extents = b->img.n_extents;
	prog->seq = b->img.seq;
	prog->n_seq = b->img.n_seq;
	prog->n_sections = b->img.n_sections;
	prog->sections = take(b, prog->n_sections * sizeof(*prog->sections));
	if (!prog->sections)
		return -ENOMEM;
	for (i = 0; i < prog->n_extents; i++)
		prog->values[i] = prog->extents[i].max;
	for (i = 0; i < prog->n_sections; i++) {
		ret = build_section(b, i);
		if (ret)
			return ret;
		nodes = max_t(u32, nodes, prog->sections[i].n_nodes);
	}
	build_loops(b);
	ret = build_arena(b);
	if (!ret)
		ret = build_resident(b);
	if (!ret)
		ret = build_args(b);
	if (ret)
		return ret;
	prog->heap = take(b, nodes * sizeof(*prog->heap));
	if (!prog->heap)
		return -ENOMEM;
	for (i = 0; i < prog->n_sections; i++)
		fm_shape(prog, &prog->sections[i], true);
	return 0;
}

int fm_program_create(const void *image, u32 size, const struct fm_profile *profile,
		      struct fm_log *log, struct fm_program **out)
{
	struct build b = { .log = log };
	int ret;

	ret = fm_verify(image, size, profile, log);
	if (ret)
		return ret;
	b.prog = fm_alloc(sizeof(*b.prog));
	if (!b.prog)
		return -ENOMEM;
	b.prog->profile = profile;
	b.prog->bytes = sizeof(*b.prog);
	b.prog->image = take(&b, size);
	if (!b.prog->image) {
		ret = -ENOMEM;
		goto fail;
	}
	memcpy(b.prog->image, image, size);
	ret = fm_image_parse(b.prog->image, size, &b.img, log);
	if (!ret)
		ret = build(&b);
	if (ret)
		goto fail;
	b.prog->serial = b.img.header->crc32;
	*out = b.prog;
	return 0;
fail:
	fm_program_destroy(b.prog);
	return ret;
}

static void destroy_section(struct fm_rt_section *s)
{
	u32 i;

	for (i = 0; s->streams && i < s->n_streams; i++) {
		fm_free(s->streams[i].slots);
		fm_free(s->streams[i].edges);
	}
	fm_free(s->streams);
	fm_free(s->nodes);
	fm_free(s->uses);
}

void fm_program_destroy(struct fm_program *prog)
{
	u32 i;

	if (!prog)
		return;
	for (i = 0; prog->sections && i < prog->n_sections; i++)
		destroy_section(&prog->sections[i]);
	for (i = 0; i < VRDU_MAX_SYMBOLS; i++)
		fm_free(prog->table[i]);
	fm_free(prog->sections);
	fm_free(prog->ranges);
	fm_free(prog->heap);
	fm_free(prog->arena);
	fm_free(prog->image);
	fm_free(prog);
}

u32 fm_program_symbols(const struct fm_program *prog)
{
	return prog->n_symbols;
}

size_t fm_program_bytes(const struct fm_program *prog)
{
	return prog->bytes;
}
