// SPDX-License-Identifier: MIT
/*
 * Placement: which units of the fabric each node and each stream buffer gets.
 *
 * Address generators and memory units are handed out in order. Compute nodes
 * get one PCU, products (matmul, attention) a share of the rest in proportion
 * to their multiply-accumulates in an iteration, but never more than finish a
 * tile in one cycle. Sections are first placed side by side, so that the whole
 * program stays on the fabric; if they do not fit, each gets the fabric to
 * itself and is loaded when it runs.
 *
 * Called by the builder and by the looping pass. Streams' indices must be in
 * range; everything else is the verifier's affair.
 */
#include "image_edit.h"

#include <inttypes.h>

/**
 * struct cursor - units handed out so far.
 * @agcu: Address generators.
 * @pcu: Compute units.
 * @pmu: Memory units.
 */
struct cursor {
	uint64_t agcu;
	uint64_t pcu;
	uint64_t pmu;
};

static uint64_t rows_max(const struct vrdu_edit *e, const struct vrdu_stream *s)
{
	return s->rows < e->n_extents ? e->extents[s->rows].max : 1;
}

static const struct vrdu_stream *input(const struct vrdu_edit *e, const struct vrdu_node *n,
				       uint32_t i)
{
	return n->in[i] < e->n_streams ? &e->streams[n->in[i]] : NULL;
}

/* Multiply-accumulates of an iteration and of its largest tile; 0: no product. */
static unsigned __int128 macs(const struct vrdu_edit *e, const struct vrdu_node *n, bool tile)
{
	const struct vrdu_stream *a = input(e, n, 0), *b = input(e, n, 1);
	uint64_t rows;

	if (!a || !b)
		return 0;
	switch (n->kind) {
	case VRDU_NODE_MATMUL:
		rows = rows_max(e, b);
		if (tile && b->tile_rows < rows)
			rows = b->tile_rows;
		return (unsigned __int128)rows_max(e, a) * rows * b->cols;
	case VRDU_NODE_ATTN_SCORES:
	case VRDU_NODE_ATTN_VALUES:
		rows = rows_max(e, b);
		if (tile && b->tile_rows < rows)
			rows = b->tile_rows;
		return (unsigned __int128)(tile ? 1 : b->outer) * rows * n->p[0] * n->p[2];
	default:
		return 0;
	}
}

/* Memory units for @bytes; more than any fabric has when absurd. */
static uint64_t pmus(const struct vrdu_fabric *fabric, unsigned __int128 bytes)
{
	unsigned __int128 n = (bytes + fabric->pmu_bytes - 1) / fabric->pmu_bytes;

	return n > UINT32_MAX ? UINT32_MAX : (uint64_t)n;
}

static uint64_t stream_pmus(const struct vrdu_fabric *fabric, const struct vrdu_stream *s)
{
	return pmus(fabric, (unsigned __int128)s->depth * s->tile_rows *
		    ((uint64_t)s->cols * vrdu_elem_bytes(s->elem)));
}

static uint64_t scratch_pmus(const struct vrdu_edit *e, const struct vrdu_fabric *fabric,
			     const struct vrdu_node *n)
{
	const struct vrdu_stream *s = input(e, n, 0);

	if (n->kind != VRDU_NODE_SOFTMAX || !s)
		return 0;
	return pmus(fabric, (unsigned __int128)rows_max(e, s) * s->cols * 4);
}

/**
 * struct share - how products divide the PCUs that single-unit nodes leave.
 * @spare: PCUs beyond one for each compute node.
 * @macs: Sum over all products.
 */
struct share {
	uint64_t spare;
	unsigned __int128 macs;
};

static uint32_t node_units(const struct vrdu_edit *e, const struct vrdu_fabric *fabric,
			   const struct vrdu_node *n, const struct share *share)
{
	unsigned __int128 all = macs(e, n, false), useful;
	uint64_t units;

	if (!all || !share->macs)
		return 1;
	units = 1 + (uint64_t)(share->spare * all / share->macs);
	useful = (macs(e, n, true) + fabric->macs_per_cycle - 1) / fabric->macs_per_cycle;
	if (units > fabric->pcus)
		units = fabric->pcus;
	return units > useful ? (uint32_t)useful : (uint32_t)units;
}

static struct share count_share(const struct vrdu_edit *e, const struct vrdu_fabric *fabric,
				uint32_t first, uint32_t n)
{
	struct share share = { 0 };
	uint64_t ones = 0;
	uint32_t i;

	for (i = first; i < first + n; i++) {
		if (vrdu_node_agcu(e->nodes[i].kind))
			continue;
		ones++;
		share.macs += macs(e, &e->nodes[i], false);
	}
	share.spare = ones < fabric->pcus ? fabric->pcus - ones : 0;
	return share;
}

static void place_section(struct vrdu_edit *e, const struct vrdu_fabric *fabric,
			  const struct vrdu_section *s, const struct share *share,
			  struct cursor *at)
{
	uint32_t i;

	for (i = s->first_node; i < s->first_node + s->nodes; i++) {
		struct vrdu_node *n = &e->nodes[i];
		uint64_t scratch = scratch_pmus(e, fabric, n);

		if (vrdu_node_agcu(n->kind)) {
			n->site = at->agcu++;
			n->units = 1;
		} else {
			n->site = at->pcu;
			n->units = node_units(e, fabric, n, share);
			at->pcu += n->units;
		}
		n->pmu = scratch ? at->pmu : 0;
		n->pmus = scratch;
		at->pmu += scratch;
	}
	for (i = s->first_stream; i < s->first_stream + s->streams; i++) {
		struct vrdu_stream *st = &e->streams[i];
		uint64_t n = stream_pmus(fabric, st);

		st->pmu = n ? at->pmu : 0;
		st->pmus = n;
		at->pmu += n;
	}
}

static int check_fit(const struct vrdu_edit *e, const struct vrdu_fabric *fabric,
		     uint32_t section, const struct cursor *at)
{
	const char *name = e->strings + e->sections[section].name;
	const struct {
		const char *what;
		uint64_t need;
		uint32_t have;
	} units[] = {
		{ "address generators", at->agcu, fabric->agcus },
		{ "compute units", at->pcu, fabric->pcus },
		{ "memory units", at->pmu, fabric->pmus },
	};
	uint32_t i;

	for (i = 0; i < ARRAY_LEN(units); i++)
		if (units[i].need > units[i].have)
			return vrdu_fail(-ENOSPC, "placement: section \"%s\" needs %" PRIu64
					 " %s, %s has %u", name, units[i].need, units[i].what,
					 fabric->name, units[i].have);
	return 0;
}

int vrdu_place(struct vrdu_edit *e, const struct vrdu_fabric *fabric)
{
	struct share share = count_share(e, fabric, 0, e->n_nodes);
	struct cursor at = { 0 };
	uint32_t i;
	int ret;

	for (i = 0; i < e->n_sections; i++)
		place_section(e, fabric, &e->sections[i], &share, &at);
	if (at.agcu <= fabric->agcus && at.pcu <= fabric->pcus && at.pmu <= fabric->pmus)
		return 0;
	for (i = 0; i < e->n_sections; i++) {
		const struct vrdu_section *s = &e->sections[i];

		at = (struct cursor){ 0 };
		share = count_share(e, fabric, s->first_node, s->nodes);
		place_section(e, fabric, s, &share, &at);
		ret = check_fit(e, fabric, i, &at);
		if (ret)
			return ret;
	}
	return 0;
}
