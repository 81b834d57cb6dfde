// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The token game: one run of a section as a Kahn process network.
 *
 * A node is ready when its input tiles and its output space are there; its
 * start time is then known: the latest of inputs ready, space free and units
 * free. Ready nodes fire in the order of that time, which makes the shared
 * memory channel first come, first served in modelled time. Firing never makes
 * another node ready in the past, so the order is a total one, and the clock
 * depends on nothing but program, arguments and profile.
 *
 * With run->data clear only the clock moves. With run->timed clear only data
 * is computed, in a pseudo-random order: by Kahn's theorem the same results.
 *
 * Called by fm_exec.c; calls the node actions through node->fire.
 */
#include "fm_rt.h"

/* struct fm_rt_node.missing of a node that has done all its iterations; never counted down to 0. */
#define FINISHED	U32_MAX

/* Bits of a ready key that hold the node: VRDU_MAX_NODES of them. */
#define NODE_BITS	9
#define MAX_SINCE	(U64_MAX >> NODE_BITS)

/* What resetting 16 slots of a stream costs in work units. */
#define FM_SLOTS_WORK	16

/* Work units that a firing costs besides its arithmetic: bounds the time to breathe(). */
#define FM_FIRING_WORK	64

/**
 * struct game - a game in progress.
 * @run: Run.
 * @start: Modelled time at which it began.
 * @heap: Ready nodes, a binary heap of ready_key().
 * @ready: Their number.
 * @active: Nodes that have not finished all iterations.
 */
struct game {
	struct fm_run *run;
	u64 start;
	u64 *heap;
	u32 ready;
	u32 active;
};

/*
 * A ready node as one number: start time since the run began, then the index
 * of the node, which breaks ties. A run of more than 2^55 ps (ten hours) is a
 * fault; starts beyond that share the last key.
 */
static inline u64 ready_key(u64 since, u32 node)
{
	if (since > MAX_SINCE)
		since = MAX_SINCE;
	return since << NODE_BITS | node;
}

static inline void push(struct game *g, u64 key)
{
	u64 *heap = g->heap;
	u32 i = g->ready++;

	while (i) {
		u32 up = (i - 1) / 2;

		if (key >= heap[up])
			break;
		heap[i] = heap[up];
		i = up;
	}
	heap[i] = key;
}

/*
 * Takes the least key. The hole goes down to a leaf without looking at the
 * key that will fill it, so that no step depends on an unpredictable branch;
 * that key, a leaf itself, then seldom has far to go up.
 */
static inline u64 pop(struct game *g)
{
	u64 *heap = g->heap, top = heap[0], key;
	u32 n = --g->ready, i = 0, down;

	key = heap[n];
	while ((down = 2 * i + 1) + 1 < n) {
		down += heap[down + 1] < heap[down];
		heap[i] = heap[down];
		i = down;
	}
	if (down < n) {
		heap[i] = heap[down];
		i = down;
	}
	while (i && key < heap[(i - 1) / 2]) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = key;
	return top;
}

static inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Does this firing of a CARRY or SOFTMAX take a tile? */
static inline bool takes(const struct fm_rt_node *n)
{
	if (n->kind == VRDU_NODE_CARRY)
		return n->iter;
	return n->tile < (n->tiles + 1) / 2;
}

/* Does it give one? */
static inline bool gives(const struct fm_rt_node *n)
{
	if (n->kind == VRDU_NODE_CARRY)
		return n->iter + 1 < n->trips;
	return n->tile >= n->tiles / 2;
}

/* Counts the edges without a tile; *at becomes the time at which the others have theirs. */
static inline u32 waiting(struct fm_rt_edge *const *edges, u32 n, u64 *at)
{
	u32 missing = 0, i;

	for (i = 0; i < n; i++) {
		const struct fm_rt_edge *e = edges[i];

		if (e->avail)
			*at = later(*at, e->stream->slots[e->slot].ready);
		else
			missing++;
	}
	return missing;
}

/* The same for streams without room. */
static inline u32 full(struct fm_rt_stream *const *streams, u32 n, u64 *at)
{
	u32 missing = 0, i;

	for (i = 0; i < n; i++) {
		const struct fm_rt_stream *s = streams[i];

		if (s->space)
			*at = later(*at, s->slots[s->wr].free);
		else
			missing++;
	}
	return missing;
}

/* How many tiles and spaces the next firing lacks; with none *t is its start time. */
static inline u32 lacks(const struct fm_rt_node *n, u64 *t)
{
	u32 missing = 0;

	*t = n->unit_free;
	if (unlikely(n->windowed))
		return (takes(n) ? waiting(n->each, 1, t) : 0) +
		       (gives(n) ? full(n->out_each, 1, t) : 0);
	if (!n->f)
		missing = waiting(n->hold, n->holds, t) + full(n->out_last, n->out_lasts, t);
	return missing + waiting(n->each, n->eachs, t) + full(n->out_each, n->out_eachs, t);
}

static inline u64 random_key(struct fm_run *run)
{
	u64 x = run->rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	run->rng = x;
	return x;
}

static inline void ready(struct game *g, struct fm_rt_node *n)
{
	u64 since = g->run->timed ? n->start - g->start : random_key(g->run) >> NODE_BITS;

	push(g, ready_key(since, n->index));
}

/* After its firing (and at the start): what does the node wait for now? */
static void rearm(struct game *g, struct fm_rt_node *n)
{
	if (n->iter == n->trips) {
		n->missing = FINISHED;
		return;
	}
	n->missing = lacks(n, &n->start);
	if (!n->missing)
		ready(g, n);
}

/*
 * An edge of the node got its first tile, or a stream its first room. Every one
 * of them counts, once: an edge or stream that the next firing does not need
 * (held, or claimed already) is not empty or full now, and so does not change
 * to the contrary. CARRY and SOFTMAX do not need all of theirs always.
 */
static inline void unblock(struct game *g, struct fm_rt_node *n, u64 when)
{
	if (unlikely(n->windowed)) {
		if (n->missing && n->missing != FINISHED)
			rearm(g, n);
		return;
	}
	n->start = later(n->start, when);
	if (!--n->missing)
		ready(g, n);
}

static inline void give(struct game *g, struct fm_rt_stream *s, u64 when)
{
	struct fm_rt_slot *slot = &s->slots[s->wr];
	u32 i;

	slot->ready = when;
	slot->pend = s->consumers;
	s->space--;
	s->wr = s->wr + 1 == s->depth ? 0 : s->wr + 1;
	for (i = 0; i < s->consumers; i++) {
		struct fm_rt_edge *e = s->edges[i];

		if (!e->avail++)
			unblock(g, e->node, when);
	}
}

static inline void release(struct game *g, struct fm_rt_edge *e, u64 when)
{
	struct fm_rt_stream *s = e->stream;
	struct fm_rt_slot *slot = &s->slots[e->slot];

	e->avail--;
	e->slot = e->slot + 1 == s->depth ? 0 : e->slot + 1;
	slot->free = later(slot->free, when);
	if (--slot->pend)
		return;
	if (!s->space++)
		unblock(g, s->producer, slot->free);
}

/* Does a carried tile come from memory, or go there, with this firing? */
static inline bool carry_travels(const struct fm_rt_node *n)
{
	if (!n->iter)
		return n->rec->agu != VRDU_NONE;
	return n->iter + 1 == n->trips && n->rec->agu2 != VRDU_NONE;
}

/* Advance modelled time over a firing that starts at t. Gives the end of its occupancy. */
static inline u64 advance(struct fm_run *run, struct fm_rt_node *n, u64 t, u64 *ready)
{
	struct fm_device *dev = run->dev;
	bool edge = n->kind == VRDU_NODE_CARRY && carry_travels(n);
	u32 last = n->tile + 1 == n->tiles;
	u64 end = t + (edge ? n->occ_first : n->occ[last]);
	bool reads = false;

	if (n->memory || edge) {
		u64 at = later(t, run->hbm_free);
		u64 occ = end - t;

		end = at + occ;
		run->hbm_free = end;
		run->hbm_busy += occ;
		reads = edge ? !n->iter : n->reads;
		if (reads)
			run->hbm_read += n->bytes[last];
		else
			run->hbm_written += n->bytes[last];
		*ready = end + dev->profile->hbm_latency_ps;
	} else {
		*ready = end + n->latency;
	}
	n->unit_free = end;
	run->last_end = later(run->last_end, *ready);
	if (reads) {
		if (*ready < run->first_arrival)
			run->first_arrival = *ready;
		run->last_arrival = later(run->last_arrival, *ready);
	}
	return end;
}

/* Move to the node's next firing, tile, group and iteration. */
static inline void step(struct fm_run *run, struct game *g, struct fm_rt_node *n)
{
	u32 i;

	if (++n->tile == n->tiles) {
		n->tile = 0;
		n->group++;
	}
	if (++n->f < n->firings)
		return;
	n->f = 0;
	n->tile = 0;
	n->group = 0;
	if (++n->iter == n->trips) {
		g->active--;
		return;
	}
	if (run->sect->pipelined == VRDU_NONE || n->kind == VRDU_NODE_CARRY)
		return;
	for (i = 0; i < 2; i++)
		if (n->agu[i].rec)
			n->agu[i].off += n->agu[i].rec->loop_stride[run->sect->level];
}

static int fire(struct game *g, struct fm_rt_node *n, u64 t)
{
	struct fm_run *run = g->run;
	u32 eachs = n->eachs, out_eachs = n->out_eachs, i;
	bool last = n->f + 1 == n->firings;
	u64 end = 0, done = 0;
	int ret;

	if (run->data) {
		ret = n->fire(run, n);
		if (ret)
			return ret;
	}
	ret = fm_work(run, FM_FIRING_WORK);
	if (unlikely(ret))
		return ret;
	if (run->timed) {
		end = advance(run, n, t, &done);
		run->firings++;
		/* No sum of times ever comes near its end: bounded by the cost of one firing. */
		if (unlikely(run->last_end > MAX_SINCE))
			return fm_fault(run, VRDU_FAULT_WATCHDOG, n, run->last_end);
	}
	if (unlikely(n->windowed)) {
		eachs = takes(n);
		out_eachs = gives(n);
	}

	/* The firing is over before its effects wake anybody, this node included. */
	step(run, g, n);
	for (i = 0; i < out_eachs; i++)
		give(g, n->out_each[i], done);
	for (i = 0; i < eachs; i++)
		release(g, n->each[i], end);
	if (last) {
		for (i = 0; i < n->out_lasts; i++)
			give(g, n->out_last[i], done);
		for (i = 0; i < n->holds; i++)
			release(g, n->hold[i], end);
	}
	rearm(g, n);
	return 0;
}

static void reset_stream(struct fm_rt_stream *s, u64 start)
{
	u32 i;

	s->space = s->depth;
	s->wr = 0;
	for (i = 0; i < s->depth; i++) {
		s->slots[i].ready = start;
		s->slots[i].free = start;
		s->slots[i].pend = 0;
	}
	for (i = 0; i < s->consumers; i++) {
		s->edges[i]->avail = 0;
		s->edges[i]->slot = 0;
	}
}

static void reset_node(struct fm_run *run, struct fm_rt_node *n, u32 trips, u64 start)
{
	u32 i, l;

	n->f = 0;
	n->group = 0;
	n->tile = 0;
	n->iter = 0;
	n->trips = n->kind == VRDU_NODE_CARRY ? trips + 1 : trips;
	n->unit_free = start;
	for (i = 0; i < 2; i++) {
		struct fm_rt_agu *agu = &n->agu[i];

		if (!agu->rec)
			continue;
		agu->off = agu->rec->offset;
		for (l = 0; l < run->sect->level; l++)
			agu->off += agu->rec->loop_stride[l] * (s64)run->counter[l];
	}
}

/**
 * fm_game_reset() - set up the current section of @run for fm_game().
 * @run: Call in execution; @run->sect is the section.
 * @start: Modelled time at which it starts.
 *
 * Outside floating-point sections: buffers may have a hundred thousand slots.
 * Return: 0 or -ECANCELED.
 */
int fm_game_reset(struct fm_run *run, u64 start)
{
	struct fm_rt_section *s = run->sect;
	u32 trips = s->pipelined == VRDU_NONE ? 1 : run->prog->values[s->pipelined], i;
	int ret;

	run->firings = 0;
	run->hbm_free = start;
	run->hbm_busy = 0;
	run->hbm_read = 0;
	run->hbm_written = 0;
	run->last_end = start;
	run->first_arrival = U64_MAX;
	run->last_arrival = start;
	for (i = 0; i < s->n_streams; i++) {
		reset_stream(&s->streams[i], start);
		ret = fm_work(run, s->streams[i].depth / 16 * FM_SLOTS_WORK);
		if (ret)
			return ret;
	}
	for (i = 0; i < s->n_nodes; i++)
		reset_node(run, &s->nodes[i], trips, start);
	return 0;
}

/**
 * fm_game() - run the current section of @run once: all iterations of its
 * pipelined loop, or one.
 * @run: Call in execution, after fm_game_reset().
 * @start: Modelled time at which it starts.
 *
 * run->last_end, first_arrival and last_arrival are set when run->timed; what
 * was counted so far is added to the counters in any case.
 * Return: 0 or the failure of a node.
 */
int fm_game(struct fm_run *run, u64 start)
{
	struct fm_rt_section *s = run->sect;
	u32 trips = s->pipelined == VRDU_NONE ? 1 : run->prog->values[s->pipelined];
	struct game g = {
		.run = run, .start = start, .heap = run->prog->heap, .active = s->n_nodes,
	};
	int ret = 0;
	u32 i;

	for (i = 0; i < s->n_nodes; i++)
		rearm(&g, &s->nodes[i]);
	while (g.ready && !ret) {
		struct fm_rt_node *n = &s->nodes[pop(&g) & (VRDU_MAX_NODES - 1)];

		ret = fire(&g, n, n->start);
	}
	run->counters->firings += run->firings;
	run->counters->hbm_busy_ps += run->hbm_busy;
	run->counters->hbm_read_bytes += run->hbm_read;
	run->counters->hbm_write_bytes += run->hbm_written;
	if (ret)
		return ret;
	/* The verifier proved that no program stalls; a stall is a fault of ours, not a hang. */
	if (g.active)
		return fm_fault(run, VRDU_FAULT_WATCHDOG, NULL, g.active);
	if (run->timed)
		run->counters->iterations += trips;
	return 0;
}
