// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Shapes of a run: extents become rows and tiles of streams, firings and costs
 * of nodes. A section without dynamic extents is shaped once, when its program
 * is created; the others each time they run.
 *
 * Called by fm_program.c and fm_exec.c. Sizes were bounded by the verifier.
 */
#include "fm_rt.h"

static void shape_stream(const struct fm_program *prog, struct fm_rt_stream *s)
{
	s->rows = prog->values[s->rows_extent];
	s->tiles = (s->rows - 1) / s->tile_rows + 1;
	s->last_rows = s->rows - (s->tiles - 1) * s->tile_rows;
}

static void shape_node(const struct fm_profile *profile, struct fm_rt_node *n)
{
	n->tiles = n->drive->tiles;
	if (n->kind == VRDU_NODE_SOFTMAX)
		n->tiles = 2 * n->tiles - 1;
	n->firings = n->drive->outer * n->tiles;
	fm_cost_node(profile, n);
}

/**
 * fm_shape() - set shapes of a section from prog->values.
 * @prog: Program.
 * @s: Its section.
 * @all: All of them; otherwise those that depend on a dynamic extent.
 */
void fm_shape(const struct fm_program *prog, struct fm_rt_section *s, bool all)
{
	u32 i;

	for (i = 0; i < s->n_streams; i++)
		if (all || s->streams[i].dynamic)
			shape_stream(prog, &s->streams[i]);
	for (i = 0; i < s->n_nodes; i++)
		if (all || s->nodes[i].drive->dynamic)
			shape_node(prog->profile, &s->nodes[i]);
}

/**
 * fm_read_extents() - read dynamic sizes of the program from memory.
 * @run: Call in execution.
 * @used: Per extent: whether to read it.
 *
 * Each word is read once. They belong to the run that begins now; an extent of
 * another section may be out of bounds at this moment, which is that section's
 * affair: only those that @used marks are checked.
 */
int fm_read_extents(struct fm_run *run, const u8 *used)
{
	struct fm_program *prog = run->prog;
	u32 i;

	for (i = 0; i < prog->n_extents; i++) {
		const struct vrdu_extent *e = &prog->extents[i];
		const u32 *p;
		u64 addr;
		s64 v;

		if (e->kind == VRDU_EXTENT_STATIC || !used[i])
			continue;
		addr = prog->addr[e->symbol] + e->offset;
		if (prog->base[e->symbol])
			p = (const u32 *)(prog->base[e->symbol] + e->offset);
		else
			p = run->dev->ops->translate(run->call->vm, addr, sizeof(*p),
						     FM_ACCESS_READ);
		if (!p)
			return fm_fault(run, VRDU_FAULT_READ, NULL, addr);
		v = (s64)(s32)FM_READ_ONCE(*p) + e->bias;
		if (v < e->min || v > e->max)
			return fm_fault(run, VRDU_FAULT_EXTENT, NULL, (u64)v);
		prog->values[i] = (u32)v;
	}
	return 0;
}
