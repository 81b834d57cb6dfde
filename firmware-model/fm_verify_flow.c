// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Verifier, flow: plays the token game of a section with counts alone, and so
 * proves that its buffers are deep enough for every run of it to end.
 *
 * Why a game of two iterations with the largest extents is a proof:
 *
 *  - A firing waits for certain other firings, whatever the schedule is: for
 *    the one that gives its tile, and for the one that frees its space. Nothing
 *    is chosen at run time, so either every schedule ends or every one stalls,
 *    and a stall is a cycle of firings that wait for each other.
 *  - Nothing waits for a later iteration: the one case, a CARRY's feedback,
 *    has room for a whole iteration (fm_verify_graph.c). So a cycle lies in one
 *    iteration. All but the first are alike, and the first has less to wait for.
 *  - More rows only add waiting: firings that were last in their group or
 *    iteration wait, as a later one now is, for all that they waited for before.
 *
 * The smallest extents are played too: the rates must balance for them as well.
 * The sections of an image share %FM_VERIFY_STEPS, which bounds the time of it all.
 *
 * Called by fm_verify.c after fm_verify_graph.c has checked rates and shapes.
 */
#include "fm_verify.h"

static bool is_carry(const struct fmv_node *n)
{
	return n->rec->kind == VRDU_NODE_CARRY;
}

static const struct fmv_stream *drive(const struct fm_verify *v, const struct fmv_node *n)
{
	return &v->streams[n->port[n->kind->drive >= 0 ? n->kind->drive :
				   FMV_OUT + ~n->kind->drive]];
}

/* Does the next firing of @n wait for a tile at input @i? */
static bool needs_tile(const struct fmv_node *n, u32 i)
{
	switch (n->kind->in_pattern[i]) {
	case FM_PORT_HOLD:
		return !n->f;
	case FM_PORT_GROUP:
		return n->tile < (n->window + 1) / 2;
	case FM_PORT_CARRY:
		return n->iter;
	default:
		return true;
	}
}

/* Does it release one? */
static bool frees_tile(const struct fmv_node *n, u32 i)
{
	return n->kind->in_pattern[i] == FM_PORT_HOLD ? n->f + 1 == n->firings : needs_tile(n, i);
}

/* Does it wait for space at output @i? */
static bool needs_space(const struct fmv_node *n, u32 i)
{
	switch (n->kind->out_pattern[i]) {
	case FM_PORT_LAST:
		return !n->f;
	case FM_PORT_GROUP:
		return n->tile >= n->window / 2;
	case FM_PORT_CARRY:
		return n->iter + 1 < n->iters;
	default:
		return true;
	}
}

/* Does it give a tile? */
static bool gives_tile(const struct fmv_node *n, u32 i)
{
	return n->kind->out_pattern[i] == FM_PORT_LAST ? n->f + 1 == n->firings :
							 needs_space(n, i);
}

/* The port at which @n has to wait, or FMV_PORTS if it can fire. */
static u32 blocked_at(const struct fm_verify *v, const struct fmv_node *n)
{
	u32 i;

	for (i = 0; i < n->kind->inputs; i++)
		if (n->edge[i] != VRDU_NONE && needs_tile(n, i) && !v->edges[n->edge[i]].avail)
			return i;
	for (i = 0; i < n->kind->outputs; i++)
		if (n->port[FMV_OUT + i] != VRDU_NONE && needs_space(n, i) &&
		    !v->streams[n->port[FMV_OUT + i]].space)
			return FMV_OUT + i;
	return FMV_PORTS;
}

static void wake(struct fm_verify *v, u32 node, u32 *waiting)
{
	if (v->nodes[node].queued)
		return;
	v->nodes[node].queued = true;
	v->work[(*waiting)++] = node;
}

static void give(struct fm_verify *v, struct fmv_stream *s, u32 *waiting)
{
	u32 k;

	s->space--;
	for (k = s->edges; k != VRDU_NONE; k = v->edges[k].next)
		if (!v->edges[k].avail++)
			wake(v, v->edges[k].node, waiting);
}

/* Consumers that are behind hold the oldest tile; when the last of them lets go, it is free. */
static void release(struct fm_verify *v, struct fmv_edge *e, u32 *waiting)
{
	struct fmv_stream *s = &v->streams[e->stream];
	u32 k;

	e->avail--;
	if (e->gone++ != s->gone || --s->behind)
		return;
	s->gone++;
	s->space++;
	for (k = s->edges; k != VRDU_NONE; k = v->edges[k].next)
		s->behind += v->edges[k].gone == s->gone;
	wake(v, s->producer, waiting);
}

static void fire(struct fm_verify *v, struct fmv_node *n, u32 *waiting)
{
	u32 i;

	for (i = 0; i < n->kind->outputs; i++)
		if (n->port[FMV_OUT + i] != VRDU_NONE && gives_tile(n, i))
			give(v, &v->streams[n->port[FMV_OUT + i]], waiting);
	for (i = 0; i < n->kind->inputs; i++)
		if (n->edge[i] != VRDU_NONE && frees_tile(n, i))
			release(v, &v->edges[n->edge[i]], waiting);
	if (++n->tile == n->window)
		n->tile = 0;
	if (++n->f < n->firings)
		return;
	n->f = 0;
	n->iter++;
}

/* Set up the board. Return: firings that the whole game takes. */
static u64 set_up(struct fm_verify *v, enum fmv_choice choice, u32 iters)
{
	u64 total = 0;
	u32 i, k;

	for (i = 0; i < v->sect->streams; i++) {
		struct fmv_stream *s = &v->streams[i];

		s->space = s->rec->depth;
		s->gone = 0;
		s->behind = s->consumers;
		for (k = s->edges; k != VRDU_NONE; k = v->edges[k].next) {
			v->edges[k].avail = 0;
			v->edges[k].gone = 0;
		}
	}
	for (i = 0; i < v->sect->nodes; i++) {
		struct fmv_node *n = &v->nodes[i];
		const struct fmv_stream *s = drive(v, n);

		n->window = s->tiles[choice];
		if (n->rec->kind == VRDU_NODE_SOFTMAX)
			n->window = 2 * n->window - 1;
		n->firings = n->window * s->rec->outer;
		n->iters = iters + is_carry(n);
		n->f = 0;
		n->tile = 0;
		n->iter = 0;
		n->queued = false;
		total += (u64)n->firings * n->iters;
	}
	return total;
}

/* The node for which @node waits at @port. */
static u32 waits_for(const struct fm_verify *v, u32 node, u32 port)
{
	const struct fmv_stream *s = &v->streams[v->nodes[node].port[port]];
	u32 k;

	if (port < FMV_OUT)
		return s->producer;
	for (k = s->edges; v->edges[k].gone != s->gone; k = v->edges[k].next)
		;
	return v->edges[k].node;
}

/*
 * Name the culprit of a stall. Following who waits for whom leads from any node
 * that is not done into a cycle; in it a full buffer tells more than an empty one.
 */
static int refuse_stall(struct fm_verify *v, u32 node)
{
	u32 left = 2 * v->sect->nodes, port = blocked_at(v, &v->nodes[node]), other;
	const struct fmv_node *n;
	const struct fmv_stream *s;

	while (port < FMV_PORTS && left && !(left < v->sect->nodes && port >= FMV_OUT)) {
		node = waits_for(v, node, port);
		port = blocked_at(v, &v->nodes[node]);
		left--;
	}
	n = &v->nodes[node];
	if (port == FMV_PORTS)
		return fmv_refuse_node(v, node, "deadlock: others wait for it when it is done");
	s = &v->streams[n->port[port]];
	other = waits_for(v, node, port);
	if (port < FMV_OUT)
		return fmv_refuse_node(v, node,
				       "deadlock: stalls at firing %u of %u in iteration %u: in%u \"%.63s\" is empty, and node %u \"%.63s\", which fills it, waits for this node",
				       n->f, n->firings, n->iter, port, fmv_name(v, s->rec->name),
				       other, fmv_name(v, v->nodes[other].rec->name));
	return fmv_refuse_node(v, node,
			       "deadlock: stalls at firing %u of %u in iteration %u: out%u \"%.63s\" is full with %u tiles, and node %u \"%.63s\" waits for this node before it takes one",
			       n->f, n->firings, n->iter, port - FMV_OUT,
			       fmv_name(v, s->rec->name), s->rec->depth, other,
			       fmv_name(v, v->nodes[other].rec->name));
}

static int check_end(struct fm_verify *v)
{
	u32 i;

	for (i = 0; i < v->sect->nodes; i++)
		if (v->nodes[i].iter < v->nodes[i].iters)
			return refuse_stall(v, i);
	for (i = 0; i < v->sect->streams; i++)
		if (v->streams[i].space != v->streams[i].rec->depth)
			return fmv_refuse_stream(v, i, "keeps %u tiles at the end",
						 v->streams[i].rec->depth - v->streams[i].space);
	return 0;
}

static int play(struct fm_verify *v, enum fmv_choice choice)
{
	bool looped = v->loop->pipelined && v->loop->trips[v->loop->depth - 1] > 1;
	u64 total = set_up(v, choice, looped ? 2 : 1);
	u32 waiting = 0, i;

	/* The smallest extents take no more: they double the work at most. */
	if (choice == FMV_MAX)
		v->played += total;
	if (v->played > FM_VERIFY_STEPS)
		return fmv_refuse(v,
				  "%.63s: too large to prove free of deadlock: %llu firings in %u iterations, up to here %llu, the limit is %u: use larger tiles",
				  fmv_name(v, v->sect->name), (unsigned long long)total,
				  looped ? 2 : 1, (unsigned long long)v->played, FM_VERIFY_STEPS);
	for (i = v->sect->nodes; i--;)
		wake(v, i, &waiting);
	while (waiting) {
		struct fmv_node *n = &v->nodes[v->work[--waiting]];

		n->queued = false;
		while (n->iter < n->iters && blocked_at(v, n) == FMV_PORTS)
			fire(v, n, &waiting);
	}
	return check_end(v);
}

/* Add this section's firings in a call, at most; the board is set up for the largest extents. */
static int count_steps(struct fm_verify *v)
{
	u64 steps = 0;
	u32 i;

	for (i = 0; i < v->sect->nodes; i++)
		steps += (u64)v->nodes[i].firings * (1 + is_carry(&v->nodes[i]));
	for (i = 0; i < v->loop->depth; i++)
		if (check_mul_overflow(steps, (u64)v->loop->trips[i], &steps))
			steps = U64_MAX;
	if (check_add_overflow(v->steps, steps, &v->steps))
		v->steps = U64_MAX;
	if (v->steps <= FMV_MAX_STEPS)
		return 0;
	return fmv_refuse(v,
			  "%.63s: up to here a call takes %llu firings or more, the limit is 2^40",
			  fmv_name(v, v->sect->name), (unsigned long long)v->steps);
}

int fmv_flow(struct fm_verify *v)
{
	bool dynamic = false;
	u32 i;
	int ret = play(v, FMV_MAX);

	for (i = 0; i < v->sect->streams; i++)
		dynamic |= v->streams[i].tiles[FMV_MIN] != v->streams[i].tiles[FMV_MAX];
	if (!ret)
		ret = count_steps(v);
	if (!ret && dynamic)
		ret = play(v, FMV_MIN);
	return ret;
}
