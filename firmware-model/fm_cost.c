// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost model: how long the units of a node are occupied by one firing.
 *
 * Compute nodes: ceil(operations / (units * rate)) cycles of the fabric clock,
 * then the pipeline's depth as latency; rate is macs_per_cycle for products and
 * lanes for everything elementwise. Memory nodes: bytes / (bandwidth *
 * efficiency) on the memory channel, then the latency of an access.
 *
 * Called when a section's shapes are set. Pure arithmetic on counts, in
 * picoseconds; products saturate instead of wrapping.
 */
#include "fm_rt.h"

#define PS_PER_S	1000000000000ull

static u64 mul_sat(u64 a, u64 b)
{
	u64 r;

	/* 2^62 ps are 53 days: far beyond any run, and sums of two still fit. */
	if (check_mul_overflow(a, b, &r) || r >> 62)
		return 1ull << 62;
	return r;
}

/* Channel time of @bytes. Splits the division so that it neither wraps nor loses bits. */
static u64 memory_ps(const struct fm_profile *p, u64 bytes)
{
	u64 rate = p->hbm_bytes_per_s / 1000 * p->hbm_efficiency;	/* bytes per second */
	u64 ps_per_mib = mul_sat(1u << 20, PS_PER_S) / rate;		/* at most 2^62 */

	return mul_sat(bytes >> 20, ps_per_mib) +
	       ((bytes & 0xfffff) * ps_per_mib >> 20);
}

static u64 compute_ps(const struct fm_profile *p, u32 units, u64 ops, u32 rate)
{
	u64 cycles = fm_div_round_up(ops, (u64)units * rate);

	/* 1e9 / kHz is picoseconds; keep the fraction of a cycle. */
	return mul_sat(cycles, 1000000000ull) / p->clock_khz;
}

/* Operations of one firing whose tile has @rows rows, and whether they are products. */
static u64 operations(const struct fm_rt_node *n, u32 rows, bool *macs)
{
	const struct fm_rt_stream *d = n->drive;
	const struct vrdu_node *r = n->rec;
	u64 elems = (u64)rows * d->cols;

	*macs = true;
	switch (n->kind) {
	case VRDU_NODE_MATMUL:
		return mul_sat(elems, n->in[0].stream->rows);
	case VRDU_NODE_ATTN_SCORES:
	case VRDU_NODE_ATTN_VALUES:
		return mul_sat((u64)rows * r->p[0], r->p[2]);
	default:
		break;
	}
	*macs = false;
	switch (n->kind) {
	case VRDU_NODE_SOFTMAX:		/* maximum, exponential with sum, division */
		return 3 * elems;
	case VRDU_NODE_RMSNORM:		/* squares, scale, weight */
		return 3 * elems;
	case VRDU_NODE_ROPE:		/* two products and a sum */
		return 3 * elems;
	case VRDU_NODE_ROPE_ROW:
		return (u64)rows * r->p[0];
	case VRDU_NODE_EW:
		return r->p[0] == VRDU_EW_SILU_MUL ? 4 * elems : elems;
	default:
		return elems;
	}
}

/* Set occupancies and latency of @n for the shapes of this run. */
void fm_cost_node(const struct fm_profile *p, struct fm_rt_node *n)
{
	const struct fm_rt_stream *d = n->drive;
	u32 i;

	for (i = 0; i < 2; i++) {
		u32 rows = i ? d->last_rows : d->tile_rows;
		bool macs;
		u64 ops;

		n->bytes[i] = (u64)rows * d->cols * d->elem_bytes;
		if (n->memory) {
			n->occ[i] = memory_ps(p, n->bytes[i]);
			continue;
		}
		ops = operations(n, rows, &macs);
		n->occ[i] = compute_ps(p, n->rec->units, ops,
				       macs ? p->macs_per_cycle : p->lanes);
	}
	n->latency = n->memory ? 0 : p->pcu_latency_ps;
	if (n->kind == VRDU_NODE_CARRY) {
		/* The value waits in PMU; only the first and the last tile travel. */
		n->occ_first = memory_ps(p, n->bytes[1]);
		n->latency = 0;
	}
}
