// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Verifier, capacity: every node of a section sits on units of its own, every
 * buffer and scratch in PMUs of its own that are large enough.
 *
 * Works on the checked graph of the section at hand; uses v->owner, a map of
 * the fabric. Called by fm_verify.c.
 */
#include "fm_verify.h"

/* Kinds of units: enum fm_unit, then memory units. */
#define PMU	2
#define UNITS	3

static const char * const unit_names[UNITS] = {
	[FM_UNIT_AGCU] = "AGCU",
	[FM_UNIT_PCU] = "PCU",
	[PMU] = "PMU",
};

/**
 * struct tenant - who occupies units.
 * @is_stream: A stream's buffer; otherwise a node or its scratch.
 * @index: Stream or node.
 */
struct tenant {
	bool is_stream;
	u32 index;
};

/* An entry of the map: 0 is free. */
static u32 encode(struct tenant t)
{
	return 1 + 2 * t.index + t.is_stream;
}

static const char *tenant_name(const struct fm_verify *v, u32 code)
{
	u32 i = (code - 1) / 2;

	return fmv_name(v, (code - 1) & 1 ? v->streams[i].rec->name : v->nodes[i].rec->name);
}

static void at(struct fm_verify *v, struct tenant t)
{
	if (t.is_stream)
		fmv_at_stream(v, t.index);
	else
		fmv_at_node(v, t.index);
}

/* Take units [first, first + count) of a kind for @t. @taken: per kind, so far. */
static int occupy(struct fm_verify *v, struct tenant t, u32 unit, u32 first, u32 count,
		  u32 *taken)
{
	const struct fm_profile *p = v->profile;
	const u32 size[UNITS] = { p->agcus, p->pcus, p->pmus };
	const u32 base[UNITS] = { 0, p->agcus, p->agcus + p->pcus };
	u32 *map = v->owner + base[unit], i;

	if (!count || first >= size[unit] || count > size[unit] - first) {
		at(v, t);
		return fmv_refuse(v, "sits on %u %ss from %u on, the fabric has %u", count,
				  unit_names[unit], first, size[unit]);
	}
	for (i = first; i < first + count; i++) {
		if (map[i]) {
			at(v, t);
			return fmv_refuse(v, "sits on %s %u, which \"%.63s\" occupies",
					  unit_names[unit], i, tenant_name(v, map[i]));
		}
		map[i] = encode(t);
	}
	taken[unit] += count;
	return 0;
}

static int fits(struct fm_verify *v, struct tenant t, u64 bytes, u32 pmus)
{
	u64 room = (u64)pmus * v->profile->pmu_bytes;

	if (bytes <= room)
		return 0;
	at(v, t);
	return fmv_refuse(v, "needs %llu bytes, its %u PMUs hold %llu", (unsigned long long)bytes,
			  pmus, (unsigned long long)room);
}

static int place_node(struct fm_verify *v, u32 i, u32 *taken)
{
	const struct fmv_node *n = &v->nodes[i];
	const struct vrdu_node *rec = n->rec;
	const struct vrdu_stream *s;
	struct tenant t = { false, i };
	int ret;

	if (n->kind->unit == FM_UNIT_AGCU && rec->units != 1)
		return fmv_refuse_node(v, i, "sits on %u AGCUs, must be 1", rec->units);
	ret = occupy(v, t, n->kind->unit, rec->site, rec->units, taken);
	if (ret)
		return ret;
	if (!n->kind->scratch) {
		if (rec->pmu || rec->pmus)
			return fmv_refuse_node(v, i, "has no scratch, but %u PMUs from %u on",
					       rec->pmus, rec->pmu);
		return 0;
	}
	ret = occupy(v, t, PMU, rec->pmu, rec->pmus, taken);
	if (ret)
		return ret;
	s = v->streams[n->port[0]].rec;
	return fits(v, t, (u64)fmv_extent(v, s->rows)->max * s->cols * fm_elem_bytes(s->elem),
		    rec->pmus);
}

static int place_stream(struct fm_verify *v, u32 i, u32 *taken)
{
	const struct vrdu_stream *s = v->streams[i].rec;
	struct tenant t = { true, i };
	int ret;

	if (s->elem == VRDU_ELEM_TOKEN) {
		if (s->pmu || s->pmus)
			return fmv_refuse_stream(v, i, "tokens need no PMU, it has %u from %u on",
						 s->pmus, s->pmu);
		return 0;
	}
	ret = occupy(v, t, PMU, s->pmu, s->pmus, taken);
	return ret ? ret : fits(v, t, s->depth * fmv_tile_bytes(s), s->pmus);
}

int fmv_place(struct fm_verify *v)
{
	const struct fm_profile *p = v->profile;
	u32 taken[UNITS] = { 0 }, i;
	int ret = 0;

	memset(v->owner, 0, ((u64)p->agcus + p->pcus + p->pmus) * sizeof(*v->owner));
	for (i = 0; !ret && i < v->sect->nodes; i++)
		ret = place_node(v, i, taken);
	for (i = 0; !ret && i < v->sect->streams; i++)
		ret = place_stream(v, i, taken);
	for (i = 0; !ret && i < UNITS; i++)
		v->used[i] = max_t(u32, v->used[i], taken[i]);
	return ret;
}
