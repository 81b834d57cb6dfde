/* SPDX-License-Identifier: MIT */
/*
 * Inside a graph: what recording, looping and launching share.
 */
#ifndef VRDU_GRAPH_H
#define VRDU_GRAPH_H

#include "internal.h"

#define VRDU_GRAPH_MAX	(1u << 20)	/* entries of a graph */

/**
 * struct vrdu_origin - calls that a looped call stands for; shared, constant.
 * @refs: References.
 * @n: Number of entries.
 * @entries: The calls; each with its own origin.
 */
struct vrdu_origin {
	atomic_uint refs;
	uint32_t n;
	struct vrdu_entry *entries;
};

/**
 * struct vrdu_entry - an entry of a graph: a call or a boundary.
 * @boundary: 0 for a call, else enum vrdu_boundary.
 * @prog: Program; referenced.
 * @args: @arg_count arguments, their buffers referenced; NULL: none.
 * @arg_count: Their number.
 * @flags: VRDU_CALL_* bits.
 * @level: Level of looping that made it; 0: recorded.
 * @origin: @level > 0: what it stands for; referenced.
 */
struct vrdu_entry {
	enum vrdu_boundary boundary;
	struct vrdu_program *prog;
	struct vrdu_arg *args;
	uint32_t arg_count;
	uint32_t flags;
	uint32_t level;
	struct vrdu_origin *origin;
};

/**
 * struct vrdu_graph - a recording.
 * @refs: References.
 * @ctx: Context; referenced.
 * @entries: Calls and boundaries in order.
 * @n: Their number.
 * @calls: Number of calls among them.
 * @transients: Buffers that nobody looks at afterwards; referenced.
 * @n_transients: Their number.
 * @level: How many times looping was applied.
 */
struct vrdu_graph {
	atomic_uint refs;
	struct vrdu_context *ctx;
	struct vrdu_entry *entries;
	uint32_t n;
	uint32_t calls;
	struct vrdu_bo **transients;
	uint32_t n_transients;
	uint32_t level;
};

/** vrdu_graph_append() - copy @e to the end of @g, with references of its own. */
int vrdu_graph_append(struct vrdu_graph *g, const struct vrdu_entry *e);

/** vrdu_graph_new_like() - an empty graph with context, transients and level of @g. */
int vrdu_graph_new_like(const struct vrdu_graph *g, struct vrdu_graph **out);

/** vrdu_graph_is_transient() - was @bo promised to be unobserved? */
bool vrdu_graph_is_transient(const struct vrdu_graph *g, const struct vrdu_bo *bo);

/** vrdu_origin_create() - an origin with copies of @n entries. */
int vrdu_origin_create(const struct vrdu_entry *entries, uint32_t n, struct vrdu_origin **out);

/** vrdu_origin_unref() - drop a reference; NULL is fine. */
void vrdu_origin_unref(struct vrdu_origin *o);

#endif /* VRDU_GRAPH_H */
