/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The verifier's working state, shared by fm_verify*.c and nobody else.
 *
 * One struct fm_verify lives for one fm_verify() call. Sections are checked
 * one after the other in the same arrays; indices of nodes, streams and edges
 * are relative to the section at hand.
 */
#ifndef _FM_VERIFY_H
#define _FM_VERIFY_H

#include "fm.h"
#include "fm_image.h"
#include "fm_kinds.h"

#define FMV_MAX_EXTENT	0x40000000u
#define FMV_MAX_BYTES	0x1000000000000000ull	/* of a symbol, and of any sum of address terms */
#define FMV_MAX_STEPS	0x10000000000ull	/* firings of a call */

/* A tile count of an extent choice: streams and the token game have one per choice. */
enum fmv_choice { FMV_MAX, FMV_MIN, FMV_CHOICES };

/* Ports of a node in one numbering: inputs, then outputs. */
#define FMV_OUT		VRDU_NODE_INPUTS
#define FMV_PORTS	(VRDU_NODE_INPUTS + VRDU_NODE_OUTPUTS)

/**
 * struct fmv_loops - the loops around the RUN of a section.
 * @depth: Their number.
 * @trips: Largest trip count of each, outermost first; 1 beyond @depth.
 * @pipelined: The innermost loop contains this RUN alone.
 * @run: There is such a RUN.
 */
struct fmv_loops {
	u32 depth;
	u32 trips[VRDU_MAX_LOOP_DEPTH];
	bool pipelined;
	bool run;
};

/**
 * struct fmv_edge - a consumer's end of a stream.
 * @stream: Stream.
 * @node: Consumer.
 * @port: Its input.
 * @next: Next edge of the same stream, or %VRDU_NONE.
 * @avail: Game: tiles that it has not released.
 * @gone: Game: tiles that it has released.
 */
struct fmv_edge {
	u32 stream;
	u32 node;
	u32 port;
	u32 next;
	u32 avail;
	u32 gone;
};

/**
 * struct fmv_stream - a stream.
 * @rec: Its record.
 * @producer: Node that writes it, %VRDU_NONE until that is known.
 * @port: That node's output.
 * @edges: First consumer, or %VRDU_NONE.
 * @consumers: Their number.
 * @tiles: Tiles per group, by choice of extents.
 * @space: Game: free tiles of the buffer.
 * @gone: Game: tiles that all consumers have released.
 * @behind: Game: consumers that have released no more than that.
 */
struct fmv_stream {
	const struct vrdu_stream *rec;
	u32 producer;
	u32 port;
	u32 edges;
	u32 consumers;
	u32 tiles[FMV_CHOICES];
	u32 space;
	u32 gone;
	u32 behind;
};

/**
 * struct fmv_node - a node.
 * @rec: Its record.
 * @kind: Its kind.
 * @port: Stream at each port (enum numbering above), or %VRDU_NONE.
 * @edge: Edge at each input, or %VRDU_NONE.
 * @window: Game: firings of a group.
 * @firings: Game: firings of an iteration.
 * @iters: Game: iterations, the CARRY's final firings counted as one more.
 * @f: Game: firing in the iteration.
 * @tile: Game: firing in the group.
 * @iter: Game: iteration.
 * @queued: Game: waiting to be looked at.
 */
struct fmv_node {
	const struct vrdu_node *rec;
	const struct fm_kind *kind;
	u32 port[FMV_PORTS];
	u32 edge[VRDU_NODE_INPUTS];
	u32 window;
	u32 firings;
	u32 iters;
	u32 f;
	u32 tile;
	u32 iter;
	bool queued;
};

/**
 * struct fmv_access - what a node does to a symbol in one iteration.
 * @agu: Address generator.
 * @node: Node.
 * @write: Writes; otherwise reads.
 * @final: CARRY's store after the last iteration.
 * @lo: First byte touched, loop terms left out.
 * @hi: One past the last.
 */
struct fmv_access {
	const struct vrdu_agu *agu;
	u32 node;
	bool write;
	bool final;
	s64 lo;
	s64 hi;
};

/**
 * struct fm_verify - a verification in progress. Arrays are as long as the
 * largest section of the image can need.
 * @img: Image.
 * @profile: Fabric.
 * @log: Author's log.
 * @loops: Loops of each section.
 * @sect: Section at hand.
 * @loop: Its loops.
 * @nodes: Its nodes.
 * @streams: Its streams.
 * @edges: Its edges.
 * @n_edges: Their number.
 * @access: Its memory accesses.
 * @n_access: Their number.
 * @reach: Order: what is known about each vertex, see fm_verify_addr.c.
 * @work: Order and game: vertices or nodes waiting to be looked at.
 * @agu_user: By AGU of the image: 1 + node of the image that uses it, or 0.
 * @owner: By unit of the fabric: who sits there.
 * @room: The memory that the arrays are in.
 * @steps: Firings of a call, at most.
 * @played: Game: firings with the largest extents, of all sections so far.
 * @used: Most PCUs, PMUs and AGCUs of any section.
 */
struct fm_verify {
	struct fm_image img;
	const struct fm_profile *profile;
	struct fm_log *log;
	struct fmv_loops loops[VRDU_MAX_SECTIONS];
	const struct vrdu_section *sect;
	const struct fmv_loops *loop;
	struct fmv_node *nodes;
	struct fmv_stream *streams;
	struct fmv_edge *edges;
	u32 n_edges;
	struct fmv_access *access;
	u32 n_access;
	u8 reach[2][2 * VRDU_MAX_NODES];
	u16 work[2 * VRDU_MAX_NODES];
	u32 *agu_user;
	u32 *owner;
	void *room;
	u64 steps;
	u64 played;
	u32 used[3];
};

/* fm_log.c */
__printf(2, 0) void fm_vlog(struct fm_log *log, const char *fmt, va_list args);

/* fm_verify.c: refusals; they log one sentence and return -EINVAL */
__printf(2, 3) int fmv_refuse(struct fm_verify *v, const char *fmt, ...);
__printf(3, 4) int fmv_refuse_node(struct fm_verify *v, u32 node, const char *fmt, ...);
__printf(3, 4) int fmv_refuse_stream(struct fm_verify *v, u32 stream, const char *fmt, ...);

/* fm_verify.c: the beginning of such a sentence, for a fmv_refuse() that follows */
void fmv_at_node(struct fm_verify *v, u32 node);
void fmv_at_stream(struct fm_verify *v, u32 stream);

/* fm_verify_graph.c: streams, nodes, ports, types, shapes and rates of a section */
int fmv_graph(struct fm_verify *v);

/* fm_verify_place.c: sites and buffers of a section */
int fmv_place(struct fm_verify *v);

/* fm_verify_addr.c: address ranges and the order of memory accesses of a section */
int fmv_addr(struct fm_verify *v);

/* fm_verify_flow.c: deadlock freedom of a section */
int fmv_flow(struct fm_verify *v);

/** fmv_name() - a name, for printing with "%.63s". */
static inline const char *fmv_name(const struct fm_verify *v, u32 offset)
{
	return fm_image_name(&v->img, offset);
}

/** fmv_extent() - extent @i. */
static inline const struct vrdu_extent *fmv_extent(const struct fm_verify *v, u32 i)
{
	return &v->img.extents[i];
}

/** fmv_same() - do two extents always have the same value? */
static inline bool fmv_same(const struct fm_verify *v, u32 a, u32 b)
{
	const struct vrdu_extent *x = fmv_extent(v, a), *y = fmv_extent(v, b);

	return a == b || (x->min == x->max && y->min == y->max && x->min == y->min);
}

/** fmv_fixed() - does an extent always have the value @value? */
static inline bool fmv_fixed(const struct fm_verify *v, u32 i, u64 value)
{
	return fmv_extent(v, i)->min == value && fmv_extent(v, i)->max == value;
}

/** fmv_single() - does a stream carry exactly one tile per iteration, whatever the extents? */
static inline bool fmv_single(const struct fmv_stream *s)
{
	return s->rec->outer == 1 && s->tiles[FMV_MAX] == 1;
}

/** fmv_tile_bytes() - bytes of a full tile; the product was checked with the stream. */
static inline u64 fmv_tile_bytes(const struct vrdu_stream *s)
{
	return (u64)s->tile_rows * s->cols * fm_elem_bytes(s->elem);
}

#endif /* _FM_VERIFY_H */
