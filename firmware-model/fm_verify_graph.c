// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Verifier, graph: builds the section at hand in v->nodes, v->streams and
 * v->edges, and checks that every stream has one producer and a consumer, that
 * ports have the element types, shapes and rates that their kind demands, and
 * that parameters mean something. Afterwards every node fires a number of times
 * that all its ports agree on.
 *
 * Called by fm_verify.c; the other fm_verify_*.c rely on it.
 */
#include "fm_verify.h"

static const char * const port_names[FMV_PORTS] = { "in0", "in1", "in2", "in3", "out0", "out1" };

/* Sets of ports. */
#define PORT(p)	(1u << (p))
#define IN0	PORT(0)
#define OUT0	PORT(FMV_OUT)

static const struct vrdu_stream *stream_at(const struct fm_verify *v, u32 node, u32 port)
{
	return v->streams[v->nodes[node].port[port]].rec;
}

static bool has(const struct fm_verify *v, u32 node, u32 port)
{
	return v->nodes[node].port[port] != VRDU_NONE;
}

static u8 pattern(const struct fm_kind *kind, u32 port)
{
	return port < FMV_OUT ? kind->in_pattern[port] : kind->out_pattern[port - FMV_OUT];
}

/* ---- streams by themselves ------------------------------------------- */

static int check_token(struct fm_verify *v, u32 i)
{
	const struct vrdu_stream *s = v->streams[i].rec;

	if (s->flags || s->cols || s->outer != 1 || s->tile_rows != 1 || !fmv_fixed(v, s->rows, 1))
		return fmv_refuse_stream(v, i,
					 "tokens have flags 0, outer 1, rows 1, tile_rows 1, cols 0; it has 0x%x, %u, %u to %u, %u, %u",
					 s->flags, s->outer, fmv_extent(v, s->rows)->min,
					 fmv_extent(v, s->rows)->max, s->tile_rows, s->cols);
	return 0;
}

static int check_tile(struct fm_verify *v, u32 i)
{
	const struct vrdu_stream *s = v->streams[i].rec;
	u64 elems = (u64)s->tile_rows * s->cols;

	if (!s->cols)
		return fmv_refuse_stream(v, i, "has 0 columns");
	if (s->flags & ~VRDU_STREAM_TRANSPOSED)
		return fmv_refuse_stream(v, i, "unknown flags 0x%x", s->flags);
	if (elems > VRDU_MAX_TILE_BYTES / fm_elem_bytes(s->elem))
		return fmv_refuse_stream(v, i, "tile of %u x %u %s exceeds the limit of %u bytes",
					 s->tile_rows, s->cols, fm_elem_name(s->elem),
					 VRDU_MAX_TILE_BYTES);
	return 0;
}

static int check_stream(struct fm_verify *v, u32 i)
{
	struct fmv_stream *st = &v->streams[i];
	const struct vrdu_stream *s = st->rec;
	const struct vrdu_extent *rows;

	if (s->elem >= FM_ELEMS)
		return fmv_refuse_stream(v, i, "unknown element type %u", s->elem);
	if (!s->depth || s->depth > VRDU_MAX_DEPTH)
		return fmv_refuse_stream(v, i, "depth is %u, must be 1 to %u", s->depth,
					 VRDU_MAX_DEPTH);
	if (s->rows >= v->img.n_extents)
		return fmv_refuse_stream(v, i, "rows is extent %u, there are %u", s->rows,
					 v->img.n_extents);
	if (!s->outer || !s->tile_rows)
		return fmv_refuse_stream(v, i, "outer is %u and tile_rows is %u, must be positive",
					 s->outer, s->tile_rows);
	rows = fmv_extent(v, s->rows);
	st->tiles[FMV_MAX] = fm_div_round_up(rows->max, s->tile_rows);
	st->tiles[FMV_MIN] = fm_div_round_up(rows->min, s->tile_rows);
	if ((u64)st->tiles[FMV_MAX] * s->outer > FM_VERIFY_STEPS)
		return fmv_refuse_stream(v, i, "%u groups of %u tiles, the limit is %u in all",
					 s->outer, st->tiles[FMV_MAX], FM_VERIFY_STEPS);
	return s->elem == VRDU_ELEM_TOKEN ? check_token(v, i) : check_tile(v, i);
}

/* ---- ports: streams and nodes joined --------------------------------- */

static void join(struct fm_verify *v, u32 node, u32 port, u32 stream)
{
	struct fmv_stream *s = &v->streams[stream];
	struct fmv_edge *e;

	v->nodes[node].port[port] = stream;
	if (port >= FMV_OUT) {
		s->producer = node;
		s->port = port - FMV_OUT;
		return;
	}
	e = &v->edges[v->n_edges];
	*e = (struct fmv_edge){ .stream = stream, .node = node, .port = port, .next = s->edges };
	v->nodes[node].edge[port] = v->n_edges;
	s->edges = v->n_edges++;
	s->consumers++;
}

static int check_port(struct fm_verify *v, u32 node, u32 port)
{
	const struct fmv_node *n = &v->nodes[node];
	bool out = port >= FMV_OUT;
	u32 i = out ? port - FMV_OUT : port;
	u32 abs = out ? n->rec->out[i] : n->rec->in[i], stream;
	u8 elems = out ? n->kind->out_elems[i] : n->kind->in_elems[i];

	if (abs == VRDU_NONE) {
		if (i < (out ? n->kind->outputs_min : n->kind->inputs_min))
			return fmv_refuse_node(v, node, "%s is missing", port_names[port]);
		return 0;
	}
	if (i >= (out ? n->kind->outputs : n->kind->inputs))
		return fmv_refuse_node(v, node, "has no %s, but stream %u is there",
				       port_names[port], abs);
	if (abs < v->sect->first_stream || abs - v->sect->first_stream >= v->sect->streams)
		return fmv_refuse_node(v, node, "%s is stream %u, the section has %u to %u",
				       port_names[port], abs, v->sect->first_stream,
				       v->sect->first_stream + v->sect->streams);
	stream = abs - v->sect->first_stream;
	if (!(elems & (1u << v->streams[stream].rec->elem)))
		return fmv_refuse_node(v, node, "%s \"%.63s\" cannot be of type %s",
				       port_names[port], fmv_name(v, v->streams[stream].rec->name),
				       fm_elem_name(v->streams[stream].rec->elem));
	if (out && v->streams[stream].producer != VRDU_NONE)
		return fmv_refuse_node(v, node, "%s \"%.63s\" is written by node %u already",
				       port_names[port], fmv_name(v, v->streams[stream].rec->name),
				       v->streams[stream].producer);
	join(v, node, port, stream);
	return 0;
}

static int check_agu_ref(struct fm_verify *v, u32 node, const char *what, u32 agu)
{
	if (agu == VRDU_NONE)
		return 0;
	if (agu >= v->img.n_agus)
		return fmv_refuse_node(v, node, "%s is %u, there are %u", what, agu,
				       v->img.n_agus);
	if (v->agu_user[agu])
		return fmv_refuse_node(v, node, "%s is %u, which \"%.63s\" uses", what, agu,
				       fmv_name(v, v->img.nodes[v->agu_user[agu] - 1].name));
	v->agu_user[agu] = v->sect->first_node + node + 1;
	return 0;
}

static int check_node(struct fm_verify *v, u32 node)
{
	struct fmv_node *n = &v->nodes[node];
	const struct vrdu_node *rec = n->rec;
	bool has_agu = rec->agu != VRDU_NONE;
	u32 i;
	int ret = 0;

	if (!n->kind)
		return fmv_refuse_node(v, node, "unknown kind %u", rec->kind);
	if (rec->flags)
		return fmv_refuse_node(v, node, "flags are 0x%x, must be 0", rec->flags);
	for (i = n->kind->params; i < VRDU_NODE_PARAMS; i++)
		if (rec->p[i])
			return fmv_refuse_node(v, node, "p[%u] is unused, but 0x%x", i, rec->p[i]);
	if (rec->kind != VRDU_NODE_CARRY && !n->kind->agus == has_agu)
		return fmv_refuse_node(v, node, "%s address generator",
				       n->kind->agus ? "needs an" : "has no use for an");
	if (n->kind->agus < 2 && rec->agu2 != VRDU_NONE)
		return fmv_refuse_node(v, node, "has no use for a second address generator");
	for (i = 0; !ret && i < FMV_PORTS; i++)
		ret = check_port(v, node, i);
	if (!ret)
		ret = check_agu_ref(v, node, "agu", rec->agu);
	return ret ? ret : check_agu_ref(v, node, "agu2", rec->agu2);
}

static int check_joined(struct fm_verify *v, u32 i)
{
	if (v->streams[i].producer == VRDU_NONE)
		return fmv_refuse_stream(v, i, "no node writes it");
	if (!v->streams[i].consumers)
		return fmv_refuse_stream(v, i, "no node reads it");
	return 0;
}

/* ---- rates: tiles per firing ----------------------------------------- */

static u32 drive_port(const struct fm_kind *kind)
{
	return kind->drive >= 0 ? kind->drive : FMV_OUT + ~kind->drive;
}

/* One tile per firing of the driver: the same groups, rows and tiles. */
static int check_rate(struct fm_verify *v, u32 node, u32 port, u32 with)
{
	const struct vrdu_stream *a = stream_at(v, node, port), *b = stream_at(v, node, with);

	if (a->outer == b->outer && a->tile_rows == b->tile_rows && fmv_same(v, a->rows, b->rows))
		return 0;
	return fmv_refuse_node(v, node,
			       "%s \"%.63s\" has %u groups of %u to %u rows in tiles of %u, %s \"%.63s\" has %u of %u to %u in tiles of %u%s",
			       port_names[port], fmv_name(v, a->name), a->outer,
			       fmv_extent(v, a->rows)->min, fmv_extent(v, a->rows)->max,
			       a->tile_rows, port_names[with], fmv_name(v, b->name), b->outer,
			       fmv_extent(v, b->rows)->min, fmv_extent(v, b->rows)->max,
			       b->tile_rows, a->rows == b->rows ? "" : " (another extent)");
}

static int check_whole(struct fm_verify *v, u32 node, u32 port)
{
	const struct fmv_stream *s = &v->streams[v->nodes[node].port[port]];

	if (fmv_single(s))
		return 0;
	return fmv_refuse_node(v, node,
			       "%s \"%.63s\" has %u groups of %u tiles, must be whole: 1 of 1",
			       port_names[port], fmv_name(v, s->rec->name), s->rec->outer,
			       s->tiles[FMV_MAX]);
}

static int check_port_rate(struct fm_verify *v, u32 node, u32 port)
{
	const struct fm_kind *kind = v->nodes[node].kind;

	switch (pattern(kind, port)) {
	case FM_PORT_HOLD:
	case FM_PORT_LAST:
		return check_whole(v, node, port);
	default:
		return check_rate(v, node, port, drive_port(kind));
	}
}

/* ---- shapes: rules of each kind -------------------------------------- */

static int need_cols(struct fm_verify *v, u32 node, u32 port, u64 cols, const char *why)
{
	const struct vrdu_stream *s = stream_at(v, node, port);

	if (s->cols == cols)
		return 0;
	return fmv_refuse_node(v, node, "%s \"%.63s\" has %u columns, must have %llu: %s",
			       port_names[port], fmv_name(v, s->name), s->cols,
			       (unsigned long long)cols, why);
}

static int need_rows(struct fm_verify *v, u32 node, u32 port, u64 rows, const char *why)
{
	const struct vrdu_stream *s = stream_at(v, node, port);

	if (fmv_fixed(v, s->rows, rows))
		return 0;
	return fmv_refuse_node(v, node, "%s \"%.63s\" has %u to %u rows, must have %llu: %s",
			       port_names[port], fmv_name(v, s->name),
			       fmv_extent(v, s->rows)->min, fmv_extent(v, s->rows)->max,
			       (unsigned long long)rows, why);
}

static int need_same_rows(struct fm_verify *v, u32 node, u32 port, u32 with)
{
	const struct vrdu_stream *a = stream_at(v, node, port), *b = stream_at(v, node, with);

	if (fmv_same(v, a->rows, b->rows))
		return 0;
	return fmv_refuse_node(v, node,
			       "%s \"%.63s\" has %u to %u rows (extent %u), %s \"%.63s\" has %u to %u (extent %u)",
			       port_names[port], fmv_name(v, a->name),
			       fmv_extent(v, a->rows)->min, fmv_extent(v, a->rows)->max, a->rows,
			       port_names[with], fmv_name(v, b->name),
			       fmv_extent(v, b->rows)->min, fmv_extent(v, b->rows)->max, b->rows);
}

/* One row, or as many as @with has. */
static int need_one_or_same_rows(struct fm_verify *v, u32 node, u32 port, u32 with)
{
	if (fmv_fixed(v, stream_at(v, node, port)->rows, 1))
		return 0;
	return need_same_rows(v, node, port, with);
}

static int need_elem(struct fm_verify *v, u32 node, u32 port, u32 elem, const char *why)
{
	const struct vrdu_stream *s = stream_at(v, node, port);

	if (s->elem == elem)
		return 0;
	return fmv_refuse_node(v, node, "%s \"%.63s\" is of type %s, must be %s: %s",
			       port_names[port], fmv_name(v, s->name), fm_elem_name(s->elem),
			       fm_elem_name(elem), why);
}

/* Columns, type and layout as @with has; the rate is checked for all ports. */
static int need_like(struct fm_verify *v, u32 node, u32 port, u32 with)
{
	const struct vrdu_stream *a = stream_at(v, node, port), *b = stream_at(v, node, with);
	int ret;

	ret = need_cols(v, node, port, b->cols, "they have one shape");
	if (!ret)
		ret = need_elem(v, node, port, b->elem, "they have one type");
	if (ret || a->flags == b->flags)
		return ret;
	return fmv_refuse_node(v, node, "%s \"%.63s\" and %s \"%.63s\": one is transposed",
			       port_names[port], fmv_name(v, a->name), port_names[with],
			       fmv_name(v, b->name));
}

static int need_param(struct fm_verify *v, u32 node, u32 i, bool ok, const char *rule)
{
	u32 p = v->nodes[node].rec->p[i];

	return ok ? 0 : fmv_refuse_node(v, node, "p[%u] is %u, must be %s", i, p, rule);
}

/* The optional input is there exactly if @wanted. */
static int need_input(struct fm_verify *v, u32 node, u32 port, bool wanted, const char *why)
{
	if (has(v, node, port) == wanted)
		return 0;
	return fmv_refuse_node(v, node, "%s %s: %s", port_names[port],
			       wanted ? "is missing" : "must be absent", why);
}

/* Ports in @must are TRANSPOSED, those in @may can be, the others are not. */
static int check_layout(struct fm_verify *v, u32 node, u32 must, u32 may)
{
	u32 i;

	for (i = 0; i < FMV_PORTS; i++) {
		const struct vrdu_stream *s;
		bool transposed;

		if (!has(v, node, i) || may & PORT(i))
			continue;
		s = stream_at(v, node, i);
		transposed = s->flags & VRDU_STREAM_TRANSPOSED;
		if (transposed != !!(must & PORT(i)))
			return fmv_refuse_node(v, node, "%s \"%.63s\" must%s be transposed",
					       port_names[i], fmv_name(v, s->name),
					       transposed ? " not" : "");
	}
	return 0;
}

static int shape_plain(struct fm_verify *v, u32 node)
{
	return check_layout(v, node, 0, 0);
}

static int shape_indexed(struct fm_verify *v, u32 node)
{
	u32 data = drive_port(v->nodes[node].kind);
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_cols(v, node, 0, 1, "an index is one column");
	return ret ? ret : need_one_or_same_rows(v, node, 0, data);
}

static int shape_carry(struct fm_verify *v, u32 node)
{
	const struct vrdu_node *rec = v->nodes[node].rec;
	const struct fmv_stream *in = &v->streams[v->nodes[node].port[0]];
	bool zeros = rec->p[0], has_agu = rec->agu != VRDU_NONE;
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_param(v, node, 0, rec->p[0] <= 1, "0 (load) or 1 (zeros)");
	if (!ret && zeros == has_agu)
		ret = fmv_refuse_node(v, node, "p[0] is %u, but %s address generator", rec->p[0],
				      zeros ? "there is an" : "there is no");
	if (!ret)
		ret = need_like(v, node, 0, FMV_OUT);
	if (!ret && in->rec->outer != 1)
		ret = fmv_refuse_node(v, node, "in0 \"%.63s\" has %u groups, must have 1",
				      fmv_name(v, in->rec->name), in->rec->outer);
	/* All tiles of an iteration wait there for the next one. */
	if (!ret && in->rec->depth < in->tiles[FMV_MAX])
		ret = fmv_refuse_node(v, node,
				      "in0 \"%.63s\" holds %u tiles, must hold an iteration: %u",
				      fmv_name(v, in->rec->name), in->rec->depth,
				      in->tiles[FMV_MAX]);
	return ret;
}

static int shape_matmul(struct fm_verify *v, u32 node)
{
	const struct vrdu_stream *x = stream_at(v, node, 0), *w = stream_at(v, node, 1);
	const struct vrdu_stream *y = stream_at(v, node, FMV_OUT);
	u32 group = v->nodes[node].rec->p[0];
	bool quant = w->elem == VRDU_ELEM_I8;
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_cols(v, node, 1, x->cols, "as in0, whose columns they meet");
	if (!ret && w->outer != 1)
		ret = fmv_refuse_node(v, node, "in1 \"%.63s\" has %u groups, must have 1",
				      fmv_name(v, w->name), w->outer);
	if (!ret)
		ret = need_rows(v, node, 1, y->cols, "the columns of out0");
	if (!ret)
		ret = need_same_rows(v, node, FMV_OUT, 0);
	if (!ret)
		ret = need_input(v, node, 2, quant, "scales go with weights of type i8");
	if (!ret)
		ret = need_param(v, node, 0, quant == !!group,
				 quant ? "the weights that share a scale" : "0: no scales");
	if (!ret && quant)
		ret = need_cols(v, node, 2, fm_div_round_up(w->cols, group),
				"one for each group of weights");
	return ret;
}

/* p[0] heads, p[1] KV heads, p[2] head size. */
static int check_heads(struct fm_verify *v, u32 node)
{
	const u32 *p = v->nodes[node].rec->p;
	int ret;

	ret = need_param(v, node, 1, p[1], "positive");
	if (!ret)
		ret = need_param(v, node, 0, p[0] && p[0] % p[1] == 0, "a multiple of p[1]");
	return ret ? ret : need_param(v, node, 2, p[2], "positive");
}

static int shape_attn_scores(struct fm_verify *v, u32 node)
{
	const u32 *p = v->nodes[node].rec->p;
	int ret = check_layout(v, node, OUT0, 0);

	if (!ret)
		ret = check_heads(v, node);
	if (!ret)
		ret = need_cols(v, node, 0, (u64)p[0] * p[2], "heads times head size");
	if (!ret)
		ret = need_cols(v, node, 1, (u64)p[1] * p[2], "KV heads times head size");
	if (!ret)
		ret = need_rows(v, node, 0, stream_at(v, node, 1)->outer, "the groups of in1");
	return ret ? ret : need_cols(v, node, FMV_OUT, p[0], "the heads");
}

static int shape_softmax(struct fm_verify *v, u32 node)
{
	int ret = check_layout(v, node, IN0 | OUT0, 0);

	return ret ? ret : need_like(v, node, FMV_OUT, 0);
}

static int shape_attn_values(struct fm_verify *v, u32 node)
{
	const u32 *p = v->nodes[node].rec->p;
	int ret = check_layout(v, node, IN0, 0);

	if (!ret)
		ret = check_heads(v, node);
	if (!ret)
		ret = need_cols(v, node, 0, p[0], "the heads");
	if (!ret)
		ret = need_cols(v, node, 1, (u64)p[1] * p[2], "KV heads times head size");
	if (!ret)
		ret = need_cols(v, node, FMV_OUT, (u64)p[0] * p[2], "heads times head size");
	return ret ? ret : need_rows(v, node, FMV_OUT, stream_at(v, node, 0)->outer,
				     "the groups of in0");
}

static int shape_rmsnorm(struct fm_verify *v, u32 node)
{
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_rows(v, node, 1, 1, "one weight for each column");
	if (!ret)
		ret = need_cols(v, node, 1, stream_at(v, node, 0)->cols, "as in0");
	return ret ? ret : need_like(v, node, FMV_OUT, 0);
}

/* Head sizes are even: an odd element has no partner. */
static bool even(u32 n)
{
	return n && !(n & 1);
}

static int shape_rope_row(struct fm_verify *v, u32 node)
{
	u32 size = v->nodes[node].rec->p[0];
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_param(v, node, 0, even(size), "even and positive");
	if (!ret)
		ret = need_cols(v, node, 0, 1, "a position is one column");
	return ret ? ret : need_cols(v, node, FMV_OUT, size, "the head size");
}

static int shape_rope(struct fm_verify *v, u32 node)
{
	const u32 *p = v->nodes[node].rec->p;
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_param(v, node, 0, even(p[0]) && stream_at(v, node, 0)->cols % p[0] == 0,
				 "even, positive and a divisor of in0's columns");
	if (!ret)
		ret = need_param(v, node, 1, p[1] <= 1, "0 (pairs) or 1 (halves)");
	if (!ret)
		ret = need_cols(v, node, 1, p[0], "the head size");
	if (!ret)
		ret = need_one_or_same_rows(v, node, 1, 0);
	return ret ? ret : need_like(v, node, FMV_OUT, 0);
}

static int shape_ew(struct fm_verify *v, u32 node)
{
	const u32 *p = v->nodes[node].rec->p;
	const struct fm_ew *op = fm_ew_info(p[0]);
	int ret;

	ret = need_param(v, node, 0, op, "an elementwise operation");
	if (!ret)
		ret = need_param(v, node, 1, op->immediate || !p[1], "0: no immediate");
	if (!ret)
		ret = need_input(v, node, 1, op->inputs == 2, op->name);
	if (!ret)
		ret = need_elem(v, node, 0, op->elem, op->name);
	if (!ret && op->inputs == 2)
		ret = need_like(v, node, 1, 0);
	return ret ? ret : need_like(v, node, FMV_OUT, 0);
}

static int shape_reduce(struct fm_verify *v, u32 node)
{
	int ret = check_layout(v, node, 0, 0);

	if (!ret)
		ret = need_param(v, node, 0, fm_reduce_name(v->nodes[node].rec->p[0]),
				 "a reduction");
	return ret ? ret : need_cols(v, node, FMV_OUT, 1, "a row becomes one value");
}

static int shape_argmax(struct fm_verify *v, u32 node)
{
	int ret = check_layout(v, node, 0, 0);

	return ret ? ret : need_cols(v, node, FMV_OUT, 1, "a row becomes one index");
}

static int shape_cast(struct fm_verify *v, u32 node)
{
	const struct vrdu_stream *in = stream_at(v, node, 0), *out = stream_at(v, node, FMV_OUT);
	u32 group = v->nodes[node].rec->p[0];
	bool quant = in->elem == VRDU_ELEM_I8;
	int ret;

	ret = check_layout(v, node, 0, quant ? 0 : IN0 | OUT0);
	if (!ret && in->flags != out->flags)
		ret = fmv_refuse_node(v, node, "in0 and out0: one is transposed");
	if (!ret)
		ret = need_elem(v, node, FMV_OUT,
				in->elem == VRDU_ELEM_F32 ? VRDU_ELEM_BF16 : VRDU_ELEM_F32,
				"what in0's type is cast to");
	if (!ret)
		ret = need_cols(v, node, FMV_OUT, in->cols, "as in0");
	if (!ret)
		ret = need_input(v, node, 1, quant, "scales go with values of type i8");
	if (!ret)
		ret = need_param(v, node, 0, quant == !!group,
				 quant ? "the values that share a scale" : "0: no scales");
	if (!ret && quant)
		ret = need_cols(v, node, 1, fm_div_round_up(in->cols, group),
				"one for each group of values");
	return ret;
}

static int (* const shapes[FM_KINDS])(struct fm_verify *v, u32 node) = {
	[VRDU_NODE_LOAD] = shape_plain,
	[VRDU_NODE_STORE] = shape_plain,
	[VRDU_NODE_GATHER] = shape_indexed,
	[VRDU_NODE_SCATTER] = shape_indexed,
	[VRDU_NODE_CARRY] = shape_carry,
	[VRDU_NODE_MATMUL] = shape_matmul,
	[VRDU_NODE_ATTN_SCORES] = shape_attn_scores,
	[VRDU_NODE_SOFTMAX] = shape_softmax,
	[VRDU_NODE_ATTN_VALUES] = shape_attn_values,
	[VRDU_NODE_RMSNORM] = shape_rmsnorm,
	[VRDU_NODE_ROPE_ROW] = shape_rope_row,
	[VRDU_NODE_ROPE] = shape_rope,
	[VRDU_NODE_EW] = shape_ew,
	[VRDU_NODE_REDUCE] = shape_reduce,
	[VRDU_NODE_ARGMAX] = shape_argmax,
	[VRDU_NODE_CAST] = shape_cast,
};

static int check_shape(struct fm_verify *v, u32 node)
{
	const struct fmv_node *n = &v->nodes[node];
	u32 i;
	int ret = 0;

	for (i = 0; !ret && i < FMV_PORTS; i++)
		if (has(v, node, i))
			ret = check_port_rate(v, node, i);
	return ret ? ret : shapes[n->rec->kind](v, node);
}

static void reset(struct fm_verify *v)
{
	u32 i, k;

	v->n_edges = 0;
	for (i = 0; i < v->sect->streams; i++)
		v->streams[i] = (struct fmv_stream){
			.rec = &v->img.streams[v->sect->first_stream + i],
			.producer = VRDU_NONE,
			.edges = VRDU_NONE,
		};
	for (i = 0; i < v->sect->nodes; i++) {
		struct fmv_node *n = &v->nodes[i];

		*n = (struct fmv_node){ .rec = &v->img.nodes[v->sect->first_node + i] };
		n->kind = fm_kind(n->rec->kind);
		for (k = 0; k < FMV_PORTS; k++)
			n->port[k] = VRDU_NONE;
		for (k = 0; k < VRDU_NODE_INPUTS; k++)
			n->edge[k] = VRDU_NONE;
	}
}

int fmv_graph(struct fm_verify *v)
{
	u32 i;
	int ret = 0;

	reset(v);
	for (i = 0; !ret && i < v->sect->streams; i++)
		ret = check_stream(v, i);
	for (i = 0; !ret && i < v->sect->nodes; i++)
		ret = check_node(v, i);
	for (i = 0; !ret && i < v->sect->streams; i++)
		ret = check_joined(v, i);
	for (i = 0; !ret && i < v->sect->nodes; i++)
		ret = check_shape(v, i);
	return ret;
}
