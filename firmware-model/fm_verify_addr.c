// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Verifier, memory: every access of a section stays inside its symbol in all
 * iterations, and accesses that may touch the same bytes have one order, which
 * the streams enforce. So results never depend on the order of firings.
 *
 * Different symbols are told apart when a program is called: there, ranges of
 * which one is written may not overlap, a table's entries among themselves
 * included. Sections are drained one after the other. What is left is a pair of
 * accesses to one symbol in one section, see check_pair().
 *
 * Called by fm_verify.c after fm_verify_flow.c has shown that nothing stalls.
 */
#include "fm_verify.h"

/* ---- ranges ---------------------------------------------------------- */

/**
 * struct span - bytes that an access covers, relative to the symbol.
 * @lo: First byte.
 * @hi: One past the last.
 * @size: Sum of the magnitudes of all address terms: no partial sum exceeds it.
 */
struct span {
	s64 lo;
	s64 hi;
	u64 size;
};

static u64 magnitude(s64 x)
{
	return x < 0 ? -(u64)x : (u64)x;
}

/*
 * Let @count steps of @stride be taken. The step past the last one is counted in
 * @size: counters run ahead. Return: false if the arithmetic could overflow.
 */
static bool widen(struct span *s, s64 stride, u64 count)
{
	u64 size;
	s64 far;

	if (check_mul_overflow(magnitude(stride), count, &size) ||
	    check_add_overflow(s->size, size, &s->size) || s->size > FMV_MAX_BYTES)
		return false;
	far = stride * (s64)(count - 1);
	if (far < 0)
		s->lo += far;
	else
		s->hi += far;
	return true;
}

static u32 data_stream(const struct fm_verify *v, u32 node)
{
	const struct fm_kind *k = v->nodes[node].kind;

	return v->nodes[node].port[k->drive >= 0 ? k->drive : FMV_OUT + ~k->drive];
}

static int check_agu_form(struct fm_verify *v, u32 node, const char *what,
			  const struct vrdu_agu *a)
{
	const struct vrdu_stream *s = v->streams[data_stream(v, node)].rec;
	u32 elem = fm_elem_bytes(s->elem), i;
	u64 row = (u64)s->cols * elem, terms;

	terms = a->offset | a->outer_stride | a->row_stride | a->index_stride;
	for (i = 0; i < VRDU_MAX_LOOP_DEPTH; i++)
		terms |= a->loop_stride[i];
	if (terms & (elem - 1))
		return fmv_refuse_node(v, node,
				       "%s: offset or a stride is no multiple of the %u bytes of %s",
				       what, elem, fm_elem_name(s->elem));
	for (i = v->loop->depth; i < VRDU_MAX_LOOP_DEPTH; i++)
		if (a->loop_stride[i])
			return fmv_refuse_node(v, node,
					       "%s: stride %lld for loop level %u, but there are %u levels",
					       what, (long long)a->loop_stride[i], i,
					       v->loop->depth);
	if (!v->nodes[node].kind->indexed) {
		if (a->index_stride || a->index_limit)
			return fmv_refuse_node(v, node, "%s: index stride or limit without index",
					       what);
		if (a->row_stride < 0 || (u64)a->row_stride != row)
			return fmv_refuse_node(v, node,
					       "%s: row stride is %lld, a row has %llu bytes", what,
					       (long long)a->row_stride,
					       (unsigned long long)row);
	} else if (!a->index_limit) {
		return fmv_refuse_node(v, node, "%s: index limit is 0", what);
	}
	return 0;
}

static int check_agu_symbol(struct fm_verify *v, u32 node, const char *what,
			    const struct vrdu_agu *a, bool write)
{
	const struct vrdu_symbol *sym = &v->img.symbols[a->symbol];
	const char *name = fmv_name(v, sym->name);
	const struct fmv_loops *l = v->loop;

	if (!(sym->access & (write ? VRDU_SYMBOL_WRITE : VRDU_SYMBOL_READ)))
		return fmv_refuse_node(v, node, "%s: symbol \"%.63s\" has no %s access", what, name,
				       write ? "write" : "read");
	if (sym->kind != VRDU_SYMBOL_TABLE)
		return 0;
	if (sym->level >= l->depth)
		return fmv_refuse_node(v, node,
				       "%s: table \"%.63s\" is indexed by loop level %u, but there are %u levels",
				       what, name, sym->level, l->depth);
	if (l->trips[sym->level] > sym->entries)
		return fmv_refuse_node(v, node,
				       "%s: table \"%.63s\" has %u entries, its loop up to %u trips",
				       what, name, sym->entries, l->trips[sym->level]);
	if (a->loop_stride[sym->level])
		return fmv_refuse_node(v, node,
				       "%s: table \"%.63s\" and a stride of %lld for the same loop level %u",
				       what, name, (long long)a->loop_stride[sym->level],
				       sym->level);
	return 0;
}

/* A CARRY goes to memory before the first and after the last iteration: those have one place. */
static int check_agu_carry(struct fm_verify *v, u32 node, const char *what,
			   const struct vrdu_agu *a)
{
	const struct vrdu_symbol *sym = &v->img.symbols[a->symbol];
	u32 inner = v->loop->depth - 1;

	if (!v->loop->pipelined)
		return 0;
	if (a->loop_stride[inner])
		return fmv_refuse_node(v, node,
				       "%s: stride %lld for the loop that the value is carried through",
				       what, (long long)a->loop_stride[inner]);
	if (sym->kind == VRDU_SYMBOL_TABLE && sym->level == inner)
		return fmv_refuse_node(v, node,
				       "%s: table \"%.63s\" of the loop that the value is carried through",
				       what, fmv_name(v, sym->name));
	return 0;
}

static int add_access(struct fm_verify *v, u32 node, u32 agu, bool write, bool final)
{
	const char *what = final ? "agu2" : "agu";
	const struct vrdu_agu *a = &v->img.agus[agu];
	const struct vrdu_symbol *sym = &v->img.symbols[a->symbol];
	const struct fmv_stream *st = &v->streams[data_stream(v, node)];
	const struct vrdu_stream *s = st->rec;
	u64 row = (u64)s->cols * fm_elem_bytes(s->elem);
	u64 padded = (u64)st->tiles[FMV_MAX] * s->tile_rows;
	struct span in, all, tile;
	bool ok = magnitude(a->offset) <= FMV_MAX_BYTES;
	u32 i;
	int ret;

	ret = check_agu_form(v, node, what, a);
	if (!ret)
		ret = check_agu_symbol(v, node, what, a, write);
	if (!ret && v->nodes[node].rec->kind == VRDU_NODE_CARRY)
		ret = check_agu_carry(v, node, what, a);
	if (ret)
		return ret;
	if (ok)
		in = (struct span){ a->offset, a->offset + row, row + magnitude(a->offset) };
	ok = ok && widen(&in, a->outer_stride, s->outer) &&
	     widen(&in, a->row_stride, fmv_extent(v, s->rows)->max);
	if (ok && a->index_limit)
		ok = widen(&in, a->index_stride, a->index_limit);
	if (!ok)
		goto overflow;
	all = in;
	tile = in;
	/* Rows are stepped over by whole tiles, also the missing rows of the last one. */
	ok = widen(&tile, a->row_stride, padded);
	for (i = 0; ok && i < v->loop->depth; i++)
		ok = widen(&all, a->loop_stride[i], v->loop->trips[i]);
	if (!ok)
		goto overflow;
	if (all.lo < 0 || (u64)all.hi > sym->bytes)
		return fmv_refuse_node(v, node,
				       "%s: covers bytes %lld to %lld of symbol \"%.63s\", which has %llu",
				       what, (long long)all.lo, (long long)all.hi,
				       fmv_name(v, sym->name), (unsigned long long)sym->bytes);
	v->access[v->n_access++] = (struct fmv_access){
		.agu = a, .node = node, .write = write, .final = final, .lo = in.lo, .hi = in.hi,
	};
	return 0;
overflow:
	return fmv_refuse_node(v, node, "%s: address terms add up to more than 2^60", what);
}

static int find_accesses(struct fm_verify *v)
{
	u32 i;
	int ret = 0;

	v->n_access = 0;
	for (i = 0; !ret && i < v->sect->nodes; i++) {
		const struct vrdu_node *n = v->nodes[i].rec;
		bool write = n->kind == VRDU_NODE_STORE || n->kind == VRDU_NODE_SCATTER;

		if (n->agu != VRDU_NONE)
			ret = add_access(v, i, n->agu, write, false);
		if (!ret && n->agu2 != VRDU_NONE)
			ret = add_access(v, i, n->agu2, true, true);
	}
	return ret;
}

/* ---- order ----------------------------------------------------------- */

/*
 * Vertices are the nodes; a CARRY has a second one for what comes in (its in0
 * and final store), since within an iteration nothing leads from in0 to out0.
 * What is known about a path from a to b, in each iteration:
 */
#define REACH	0x01	/* a's first firing is before b's first, a's last before b's last */
#define BARRIER	0x02	/* a's last firing is before b's first: a single tile passed between */
#define INSTEP	0x04	/* a's firing f is before b's firing f, for every f */
#define QUEUED	0x80	/* to be looked at */

static u32 in_vertex(const struct fm_verify *v, u32 node)
{
	return v->nodes[node].rec->kind == VRDU_NODE_CARRY ? VRDU_MAX_NODES + node : node;
}

/* What the vertex @from contributes to its neighbour over a stream. */
static u8 over_stream(const struct fm_verify *v, u8 from, const struct fmv_edge *e)
{
	const struct fmv_stream *s = &v->streams[e->stream];
	u8 out = v->nodes[s->producer].kind->out_pattern[s->port];
	u8 in = v->nodes[e->node].kind->in_pattern[e->port], bits = REACH;

	if (from & BARRIER || fmv_single(s))
		bits |= BARRIER;
	if (from & INSTEP && (out == FM_PORT_EACH || out == FM_PORT_CARRY) &&
	    (in == FM_PORT_EACH || in == FM_PORT_CARRY))
		bits |= INSTEP;
	return bits;
}

static void learn(struct fm_verify *v, u8 *reach, u32 vertex, u8 bits, u32 *waiting)
{
	if ((reach[vertex] & bits) == bits)
		return;
	if (!(reach[vertex] & QUEUED))
		v->work[(*waiting)++] = vertex;
	reach[vertex] |= bits | QUEUED;
}

/* reach[0]: what leads from @node to each vertex. */
static void look_forward(struct fm_verify *v, u32 node)
{
	u8 *reach = v->reach[0];
	u32 waiting = 0, i, k;

	memset(reach, 0, sizeof(v->reach[0]));
	learn(v, reach, node, REACH, &waiting);
	while (waiting) {
		u32 at = v->work[--waiting];

		reach[at] &= ~QUEUED;
		for (i = 0; at < VRDU_MAX_NODES && i < VRDU_NODE_OUTPUTS; i++) {
			u32 s = v->nodes[at].port[FMV_OUT + i];

			k = s == VRDU_NONE ? VRDU_NONE : v->streams[s].edges;
			for (; k != VRDU_NONE; k = v->edges[k].next)
				learn(v, reach, in_vertex(v, v->edges[k].node),
				      over_stream(v, reach[at], &v->edges[k]), &waiting);
		}
	}
}

/* reach[1]: what leads from each vertex to @vertex. */
static void look_backward(struct fm_verify *v, u32 vertex)
{
	u8 *reach = v->reach[1];
	u32 waiting = 0, i;

	memset(reach, 0, sizeof(v->reach[1]));
	learn(v, reach, vertex, REACH | INSTEP, &waiting);
	while (waiting) {
		u32 at = v->work[--waiting], node = at % VRDU_MAX_NODES;

		reach[at] &= ~QUEUED;
		if (at != in_vertex(v, node))
			continue;
		for (i = 0; i < VRDU_NODE_INPUTS; i++) {
			u32 k = v->nodes[node].edge[i];

			if (k != VRDU_NONE)
				learn(v, reach, v->streams[v->edges[k].stream].producer,
				      over_stream(v, reach[at], &v->edges[k]), &waiting);
		}
	}
}

/* Do both touch the same bytes with the same tile, and different bytes with different tiles? */
static bool in_place(const struct fm_verify *v, const struct fmv_access *a,
		     const struct fmv_access *b)
{
	const struct vrdu_stream *s = v->streams[data_stream(v, a->node)].rec;
	const struct vrdu_stream *t = v->streams[data_stream(v, b->node)].rec;
	u64 group = (u64)fmv_extent(v, s->rows)->max * s->cols * fm_elem_bytes(s->elem);

	return !v->nodes[a->node].kind->indexed && !v->nodes[b->node].kind->indexed &&
	       a->agu->offset == b->agu->offset &&
	       !memcmp(a->agu->loop_stride, b->agu->loop_stride, sizeof(a->agu->loop_stride)) &&
	       a->agu->outer_stride == b->agu->outer_stride &&
	       a->agu->row_stride == b->agu->row_stride &&
	       s->outer == t->outer && s->tile_rows == t->tile_rows &&
	       fmv_same(v, s->rows, t->rows) &&
	       (s->outer == 1 || magnitude(a->agu->outer_stride) >= group);
}

/*
 * Is everything that @x does in an iteration over before @s, a writer, begins to
 * write (or tile by tile, where they work in place)? Knows look_backward(@s).
 * Loads do not copy: the tile stays in memory until its readers are done with it.
 */
static bool before(const struct fm_verify *v, const struct fmv_access *x,
		   const struct fmv_access *s)
{
	const u8 *reach = v->reach[1];
	u8 enough = in_place(v, x, s) ? BARRIER | INSTEP : BARRIER;
	u32 k;

	if (x->final)
		return false;
	if (v->nodes[x->node].rec->kind != VRDU_NODE_LOAD)
		return reach[x->node] & enough;
	for (k = v->streams[data_stream(v, x->node)].edges; k != VRDU_NONE; k = v->edges[k].next)
		if (!(reach[in_vertex(v, v->edges[k].node)] & enough))
			return false;
	return true;
}

/* Is everything that @s, a writer, does in an iteration over before @x begins? */
static bool after(const struct fm_verify *v, const struct fmv_access *x,
		  const struct fmv_access *s)
{
	if (s->final)
		return false;
	return v->reach[0][x->final ? VRDU_MAX_NODES + x->node : x->node] & BARRIER;
}

/* Ranges of a and b with all loop terms in which they differ; level @inner too if @apart. */
static void ranges(const struct fm_verify *v, const struct fmv_access *a,
		   const struct fmv_access *b, bool apart, struct span *x, struct span *y)
{
	u32 i;

	*x = (struct span){ a->lo, a->hi, 0 };
	*y = (struct span){ b->lo, b->hi, 0 };
	for (i = 0; i < v->loop->depth; i++) {
		bool equal = a->agu->loop_stride[i] == b->agu->loop_stride[i];

		if (equal && !(apart && i == v->loop->depth - 1))
			continue;
		/* Sums were bounded when the accesses were found. */
		widen(x, a->agu->loop_stride[i], v->loop->trips[i]);
		widen(y, b->agu->loop_stride[i], v->loop->trips[i]);
	}
}

static bool meet(const struct span *x, const struct span *y)
{
	return x->lo < y->hi && y->lo < x->hi;
}

/* May a in one iteration of the pipelined loop and b in another touch the same bytes? */
static bool meet_across(const struct fm_verify *v, const struct fmv_access *a,
			const struct fmv_access *b, s64 *span)
{
	const struct vrdu_symbol *sym = &v->img.symbols[a->agu->symbol];
	u32 inner = v->loop->depth - 1;
	s64 stride = a->agu->loop_stride[inner];
	struct span x, y;

	if (sym->kind == VRDU_SYMBOL_TABLE && sym->level == inner)
		return false;
	ranges(v, a, b, false, &x, &y);
	*span = max_t(s64, x.hi, y.hi) - min_t(s64, x.lo, y.lo);
	if (stride == b->agu->loop_stride[inner] && magnitude(stride) >= (u64)*span)
		return false;
	ranges(v, a, b, true, &x, &y);
	return meet(&x, &y);
}

static int refuse_pair(struct fm_verify *v, const struct fmv_access *s,
		       const struct fmv_access *x)
{
	fmv_at_node(v, s->node);
	return fmv_refuse(v,
			  "memory order: writes symbol \"%.63s\", of which node %u \"%.63s\" %s the same bytes, and no stream orders them",
			  fmv_name(v, v->img.symbols[s->agu->symbol].name), x->node,
			  fmv_name(v, v->nodes[x->node].rec->name), x->write ? "writes" : "reads");
}

static int refuse_across(struct fm_verify *v, const struct fmv_access *s,
			 const struct fmv_access *x, s64 span)
{
	fmv_at_node(v, s->node);
	return fmv_refuse(v,
			  "loop-carried dependence through memory: writes symbol \"%.63s\", of which node %u \"%.63s\" %s the same bytes in another iteration: use a carry node (or equal loop strides of %lld bytes and more)",
			  fmv_name(v, v->img.symbols[s->agu->symbol].name), x->node,
			  fmv_name(v, v->nodes[x->node].rec->name), x->write ? "writes" : "reads",
			  (long long)span);
}

/*
 * A writer and another access to the same symbol. In an iteration their order
 * must follow from the streams, or their bytes differ. Between iterations of a
 * pipelined loop, which overlap, only the latter will do: no stream holds back
 * the next iteration of one until this iteration of the other is over.
 *
 * A CARRY reads before and writes after all iterations of all other nodes that
 * the streams put behind or before it in one iteration, since every node's
 * iterations are in order; its loop stride is 0, so that ranges() covers all
 * iterations of the other node if that has one.
 */
static int check_pair(struct fm_verify *v, const struct fmv_access *s,
		      const struct fmv_access *x, bool *looked)
{
	bool carry = v->nodes[s->node].rec->kind == VRDU_NODE_CARRY ||
		     v->nodes[x->node].rec->kind == VRDU_NODE_CARRY;
	struct span a, b;
	s64 span;

	ranges(v, s, x, false, &a, &b);
	if (meet(&a, &b)) {
		if (!*looked) {
			look_forward(v, s->node);
			look_backward(v, s->final ? VRDU_MAX_NODES + s->node : s->node);
			*looked = true;
		}
		if (!before(v, x, s) && !after(v, x, s))
			return refuse_pair(v, s, x);
	}
	if (!carry && v->loop->pipelined && v->loop->trips[v->loop->depth - 1] > 1 &&
	    meet_across(v, s, x, &span))
		return refuse_across(v, s, x, span);
	return 0;
}

int fmv_addr(struct fm_verify *v)
{
	u32 i, j;
	int ret = find_accesses(v);

	for (i = 0; !ret && i < v->n_access; i++) {
		const struct fmv_access *s = &v->access[i];
		bool looked = false;

		for (j = 0; s->write && !ret && j < v->n_access; j++) {
			const struct fmv_access *x = &v->access[j];

			/* Pairs of writers once; a node's own firings have an order. */
			if (x->agu->symbol != s->agu->symbol || x->node == s->node ||
			    (x->write && j < i))
				continue;
			ret = check_pair(v, s, x, &looked);
		}
	}
	return ret;
}
