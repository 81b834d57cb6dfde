// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The verifier: what it accepts runs to a defined end on this fabric, whatever
 * the arguments. This file drives it and checks what sections share: symbols,
 * extents, the sequence, ownership of nodes and streams. The rules of one
 * section are in fm_verify_graph.c (shapes and rates), fm_verify_place.c
 * (capacity), fm_verify_flow.c (deadlock freedom) and fm_verify_addr.c (memory),
 * applied in this order, so that each may rely on those before.
 *
 * Called by fm_program_create() and directly by anybody who wants the log.
 */
#include "fm_verify.h"

int fmv_refuse(struct fm_verify *v, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fm_vlog(v->log, fmt, args);
	va_end(args);
	fm_log(v->log, "\n");
	return -EINVAL;
}

void fmv_at_node(struct fm_verify *v, u32 node)
{
	const struct vrdu_node *n = &v->img.nodes[v->sect->first_node + node];
	const struct fm_kind *kind = fm_kind(n->kind);

	fm_log(v->log, "%.63s: node %u \"%.63s\" (%s): ", fmv_name(v, v->sect->name), node,
	       fmv_name(v, n->name), kind ? kind->name : "?");
}

void fmv_at_stream(struct fm_verify *v, u32 stream)
{
	const struct vrdu_stream *s = &v->img.streams[v->sect->first_stream + stream];

	fm_log(v->log, "%.63s: stream %u \"%.63s\": ", fmv_name(v, v->sect->name), stream,
	       fmv_name(v, s->name));
}

int fmv_refuse_node(struct fm_verify *v, u32 node, const char *fmt, ...)
{
	va_list args;

	fmv_at_node(v, node);
	va_start(args, fmt);
	fm_vlog(v->log, fmt, args);
	va_end(args);
	fm_log(v->log, "\n");
	return -EINVAL;
}

int fmv_refuse_stream(struct fm_verify *v, u32 stream, const char *fmt, ...)
{
	va_list args;

	fmv_at_stream(v, stream);
	va_start(args, fmt);
	fm_vlog(v->log, fmt, args);
	va_end(args);
	fm_log(v->log, "\n");
	return -EINVAL;
}

static int check_symbol(struct fm_verify *v, u32 i)
{
	const struct vrdu_symbol *s = &v->img.symbols[i];
	const char *name = fmv_name(v, s->name);
	bool table = s->kind == VRDU_SYMBOL_TABLE;

	if (s->kind > VRDU_SYMBOL_TABLE)
		return fmv_refuse(v, "symbol %u \"%.63s\": unknown kind %u", i, name, s->kind);
	if (!s->access || s->access & ~(VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE))
		return fmv_refuse(v,
				  "symbol %u \"%.63s\": access is 0x%x, must be read, write or both",
				  i, name, s->access);
	if (!s->bytes || s->bytes > FMV_MAX_BYTES)
		return fmv_refuse(v, "symbol %u \"%.63s\": %llu bytes, must be 1 to 2^60", i, name,
				  (unsigned long long)s->bytes);
	if (table ? !s->entries || s->entries > VRDU_MAX_TRIP : s->entries)
		return fmv_refuse(v, "symbol %u \"%.63s\": %u entries, must be %s", i, name,
				  s->entries, table ? "1 to 1048576 (table)" : "0 (not a table)");
	if (table ? s->level >= VRDU_MAX_LOOP_DEPTH : s->level)
		return fmv_refuse(v, "symbol %u \"%.63s\": level is %u, must be %s", i, name,
				  s->level, table ? "0 to 2" : "0 (not a table)");
	return 0;
}

static int check_static(struct fm_verify *v, u32 i)
{
	const struct vrdu_extent *e = &v->img.extents[i];

	if (!e->value || e->value > FMV_MAX_EXTENT)
		return fmv_refuse(v, "extent %u: value is %u, must be 1 to 2^30", i, e->value);
	if (e->min != e->value || e->max != e->value)
		return fmv_refuse(v, "extent %u: static %u, but min is %u and max is %u", i,
				  e->value, e->min, e->max);
	if (e->symbol || e->bias || e->offset)
		return fmv_refuse(v, "extent %u: static, but symbol, bias or offset is not 0", i);
	return 0;
}

static int check_param(struct fm_verify *v, u32 i)
{
	const struct vrdu_extent *e = &v->img.extents[i];
	const struct vrdu_symbol *s;

	if (e->value)
		return fmv_refuse(v, "extent %u: read from memory, but value is %u", i, e->value);
	if (!e->min || e->min > e->max || e->max > FMV_MAX_EXTENT)
		return fmv_refuse(v, "extent %u: from %u to %u, must be ordered and in 1 to 2^30",
				  i, e->min, e->max);
	if (e->symbol >= v->img.n_symbols)
		return fmv_refuse(v, "extent %u: symbol %u, there are %u", i, e->symbol,
				  v->img.n_symbols);
	s = &v->img.symbols[e->symbol];
	if (s->kind != VRDU_SYMBOL_ADDR || !(s->access & VRDU_SYMBOL_READ))
		return fmv_refuse(v,
				  "extent %u: symbol \"%.63s\" must be an address with read access",
				  i, fmv_name(v, s->name));
	if (e->offset & 3 || s->bytes < 4 || e->offset > s->bytes - 4)
		return fmv_refuse(v,
				  "extent %u: offset %llu, must be aligned and inside the %llu bytes of symbol \"%.63s\"",
				  i, (unsigned long long)e->offset, (unsigned long long)s->bytes,
				  fmv_name(v, s->name));
	return 0;
}

static int check_extent(struct fm_verify *v, u32 i)
{
	switch (v->img.extents[i].kind) {
	case VRDU_EXTENT_STATIC:
		return check_static(v, i);
	case VRDU_EXTENT_PARAM:
		return check_param(v, i);
	default:
		return fmv_refuse(v, "extent %u: unknown kind %u", i, v->img.extents[i].kind);
	}
}

static int check_loop(struct fm_verify *v, u32 i, u32 depth)
{
	u32 extent = v->img.seq[i].arg;

	if (depth == VRDU_MAX_LOOP_DEPTH)
		return fmv_refuse(v, "sequence %u: loops nest deeper than %u", i,
				  VRDU_MAX_LOOP_DEPTH);
	if (extent >= v->img.n_extents)
		return fmv_refuse(v, "sequence %u: trip count is extent %u, there are %u", i,
				  extent, v->img.n_extents);
	if (fmv_extent(v, extent)->max > VRDU_MAX_TRIP)
		return fmv_refuse(v, "sequence %u: loop of up to %u trips, the limit is %u", i,
				  fmv_extent(v, extent)->max, VRDU_MAX_TRIP);
	return 0;
}

/* @open: positions of the LOOP entries around position @i, @depth of them. */
static int check_run(struct fm_verify *v, u32 i, const u32 *open, u32 depth)
{
	const struct vrdu_seq *seq = v->img.seq;
	struct fmv_loops *l;
	u32 k;

	if (seq[i].arg >= v->img.n_sections)
		return fmv_refuse(v, "sequence %u: runs section %u, there are %u", i, seq[i].arg,
				  v->img.n_sections);
	l = &v->loops[seq[i].arg];
	if (l->run)
		return fmv_refuse(v, "sequence %u: section %u \"%.63s\" is run a second time", i,
				  seq[i].arg, fmv_name(v, v->img.sections[seq[i].arg].name));
	l->run = true;
	l->depth = depth;
	for (k = 0; k < VRDU_MAX_LOOP_DEPTH; k++)
		l->trips[k] = k < depth ? fmv_extent(v, seq[open[k]].arg)->max : 1;
	l->pipelined = depth && open[depth - 1] == i - 1 && i + 1 < v->img.n_seq &&
		       seq[i + 1].op == VRDU_SEQ_END;
	return 0;
}

static int check_sequence(struct fm_verify *v)
{
	u32 open[VRDU_MAX_LOOP_DEPTH] = { 0 }, depth = 0, i;
	int ret = 0;

	for (i = 0; !ret && i < v->img.n_seq; i++) {
		const struct vrdu_seq *s = &v->img.seq[i];

		switch (s->op) {
		case VRDU_SEQ_LOOP:
			ret = check_loop(v, i, depth);
			if (!ret)
				open[depth++] = i;
			break;
		case VRDU_SEQ_END:
			if (!depth || s->arg)
				ret = fmv_refuse(v, "sequence %u: %s", i, depth ?
						 "argument of an end must be 0" :
						 "end without a loop");
			else if (open[--depth] == i - 1)
				ret = fmv_refuse(v, "sequence %u: empty loop", i);
			break;
		case VRDU_SEQ_RUN:
			ret = check_run(v, i, open, depth);
			break;
		default:
			ret = fmv_refuse(v, "sequence %u: unknown operation %u", i, s->op);
			break;
		}
	}
	if (!ret && depth)
		ret = fmv_refuse(v, "sequence %u: loop without an end", open[depth - 1]);
	for (i = 0; !ret && i < v->img.n_sections; i++)
		if (!v->loops[i].run)
			ret = fmv_refuse(v, "section %u \"%.63s\": no run in the sequence", i,
					 fmv_name(v, v->img.sections[i].name));
	return ret;
}

/* Sections own consecutive runs of nodes and streams, in order, and leave none out. */
static int check_sections(struct fm_verify *v)
{
	u32 node = 0, stream = 0, i;

	for (i = 0; i < v->img.n_sections; i++) {
		const struct vrdu_section *s = &v->img.sections[i];
		const char *name = fmv_name(v, s->name);

		if (!s->nodes || s->nodes > VRDU_MAX_NODES || s->streams > VRDU_MAX_STREAMS)
			return fmv_refuse(v,
					  "section %u \"%.63s\": %u nodes and %u streams, must be 1 to %u and at most %u",
					  i, name, s->nodes, s->streams, VRDU_MAX_NODES,
					  VRDU_MAX_STREAMS);
		if (s->first_node != node || s->first_stream != stream)
			return fmv_refuse(v,
					  "section %u \"%.63s\": starts at node %u and stream %u, must at %u and %u",
					  i, name, s->first_node, s->first_stream, node, stream);
		node += s->nodes;
		stream += s->streams;
		if (node > v->img.n_nodes || stream > v->img.n_streams)
			break;
	}
	if (node != v->img.n_nodes || stream != v->img.n_streams)
		return fmv_refuse(v,
				  "image: sections own %u nodes and %u streams, there are %u and %u",
				  node, stream, v->img.n_nodes, v->img.n_streams);
	return 0;
}

static int check_agus(struct fm_verify *v)
{
	u32 i;

	for (i = 0; i < v->img.n_agus; i++) {
		const struct vrdu_agu *a = &v->img.agus[i];

		if (a->flags)
			return fmv_refuse(v, "agu %u: flags are 0x%x, must be 0", i, a->flags);
		if (a->symbol >= v->img.n_symbols)
			return fmv_refuse(v, "agu %u: symbol %u, there are %u", i, a->symbol,
					  v->img.n_symbols);
	}
	return 0;
}

static int check_agus_used(struct fm_verify *v)
{
	u32 i;

	for (i = 0; i < v->img.n_agus; i++)
		if (!v->agu_user[i])
			return fmv_refuse(v, "agu %u: no node uses it", i);
	return 0;
}

static int check_each_section(struct fm_verify *v)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < v->img.n_sections; i++) {
		v->sect = &v->img.sections[i];
		v->loop = &v->loops[i];
		ret = fmv_graph(v);
		if (!ret)
			ret = fmv_place(v);
		if (!ret)
			ret = fmv_flow(v);
		if (!ret)
			ret = fmv_addr(v);
	}
	return ret;
}

static int check_all(struct fm_verify *v)
{
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < v->img.n_symbols; i++)
		ret = check_symbol(v, i);
	for (i = 0; !ret && i < v->img.n_extents; i++)
		ret = check_extent(v, i);
	if (!ret)
		ret = check_sequence(v);
	if (!ret)
		ret = check_sections(v);
	if (!ret)
		ret = check_agus(v);
	if (!ret)
		ret = check_each_section(v);
	return ret ? ret : check_agus_used(v);
}

static void summary(struct fm_verify *v)
{
	const struct fm_profile *p = v->profile;

	fm_log(v->log,
	       "program \"%.63s\": %u sections, %u nodes, %u streams, %u symbols; up to %u of %u PCUs, %u of %u PMUs, %u of %u AGCUs; up to %llu firings a call; image of %u bytes\n",
	       fmv_name(v, v->img.header->name), v->img.n_sections, v->img.n_nodes,
	       v->img.n_streams, v->img.n_symbols, v->used[FM_UNIT_PCU], p->pcus, v->used[2],
	       p->pmus, v->used[FM_UNIT_AGCU], p->agcus, (unsigned long long)v->steps,
	       v->img.header->size);
}

/* The next @bytes of v->room, of which @used are taken; with v->room NULL only count. */
static void *carve(struct fm_verify *v, u64 *used, u64 bytes)
{
	void *at = v->room ? v->room + *used : NULL;

	*used += fm_div_round_up(bytes, 8) * 8;
	return at;
}

static u64 lay_out(struct fm_verify *v)
{
	const struct fm_profile *p = v->profile;
	u64 nodes = min_t(u32, v->img.n_nodes, VRDU_MAX_NODES);
	u64 streams = min_t(u32, v->img.n_streams, VRDU_MAX_STREAMS);
	u64 units = (u64)p->agcus + p->pcus + p->pmus, used = 0;

	v->nodes = carve(v, &used, nodes * sizeof(*v->nodes));
	v->streams = carve(v, &used, streams * sizeof(*v->streams));
	v->edges = carve(v, &used, nodes * VRDU_NODE_INPUTS * sizeof(*v->edges));
	v->access = carve(v, &used, nodes * 2 * sizeof(*v->access));
	v->agu_user = carve(v, &used, v->img.n_agus * sizeof(*v->agu_user));
	v->owner = carve(v, &used, units * sizeof(*v->owner));
	return used;
}

static int make_room(struct fm_verify *v)
{
	v->room = fm_alloc(lay_out(v));
	if (!v->room)
		return -ENOMEM;
	lay_out(v);
	return 0;
}

int fm_verify(const void *image, u32 size, const struct fm_profile *profile, struct fm_log *log)
{
	struct fm_verify *v = fm_alloc(sizeof(*v));
	int ret;

	if (!v)
		return -ENOMEM;
	v->profile = profile;
	v->log = log;
	ret = fm_image_parse(image, size, &v->img, log);
	if (!ret)
		ret = make_room(v);
	if (!ret)
		ret = check_all(v);
	if (!ret)
		summary(v);
	fm_free(v->room);
	fm_free(v);
	return ret;
}
