// SPDX-License-Identifier: MIT
/*
 * The looped image: the period's images one behind the other inside a new
 * outermost loop. Levels move down by one, address generators get the new
 * symbols, offsets and strides, and what is carried replaces its LOAD and
 * STORE by a CARRY. Then everything is placed anew.
 */
#include "looping.h"

#include <stdio.h>

/**
 * struct maps - where the records of an item's image went.
 * @node: First node.
 * @stream: First stream.
 * @agu: First AGU.
 * @section: First section.
 * @extents: By extent.
 * @slots: First slot of the item.
 */
struct maps {
	uint32_t node;
	uint32_t stream;
	uint32_t agu;
	uint32_t section;
	uint32_t extents[VRDU_MAX_EXTENTS];
	const struct loop_slot *slots;
};

/* Format limits are refusals; anything else fails the analysis. */
static int limit(struct loop_cand *c, int ret)
{
	if (ret == -ENOSPC)
		return loop_refuse(c, "%s", vrdu_last_error());
	return ret;
}

static int copy_string(struct vrdu_edit *e, const struct vrdu_image *image, uint32_t *name)
{
	int ret = vrdu_edit_string(e, vrdu_image_string(image, *name));

	if (ret < 0)
		return ret;
	*name = ret;
	return 0;
}

static int copy_extents(struct vrdu_edit *e, const struct vrdu_image *image, struct maps *m)
{
	const struct vrdu_extent *x = vrdu_image_extent_table(image);
	uint32_t i;
	int ret;

	for (i = 0; i < vrdu_image_header(image)->extents; i++) {
		struct vrdu_extent rec = x[i];

		if (rec.kind == VRDU_EXTENT_PARAM) {
			rec.offset += m->slots[rec.symbol].delta;
			rec.symbol = m->slots[rec.symbol].target;
		}
		ret = vrdu_edit_extent(e, &rec);
		if (ret < 0)
			return ret;
		m->extents[i] = ret;
	}
	return 0;
}

static int copy_agus(struct loop_cand *c, struct vrdu_edit *e, const struct vrdu_image *image,
		     const struct maps *m)
{
	const struct vrdu_agu *a = vrdu_image_agu_table(image);
	uint32_t i, k;
	int ret;

	for (i = 0; i < vrdu_image_header(image)->agus; i++) {
		const struct loop_slot *s = &m->slots[a[i].symbol];
		struct vrdu_agu rec = a[i];

		if (rec.loop_stride[VRDU_MAX_LOOP_DEPTH - 1])
			return loop_refuse(c, "its loops nest %u deep already",
					   VRDU_MAX_LOOP_DEPTH);
		rec.symbol = s->target;
		rec.offset += s->delta;
		for (k = VRDU_MAX_LOOP_DEPTH - 1; k; k--)
			rec.loop_stride[k] = rec.loop_stride[k - 1];
		rec.loop_stride[0] = s->kind == VRDU_ARG_AFFINE ? s->stride : 0;
		ret = vrdu_edit_agu(e, &rec);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void shift(uint32_t *refs, uint32_t n, uint32_t by)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (refs[i] != VRDU_NONE)
			refs[i] += by;
}

static int copy_section(struct vrdu_edit *e, const struct vrdu_image *image,
			const struct vrdu_section *sect, const struct maps *m)
{
	const struct vrdu_node *nodes = vrdu_image_node_table(image);
	const struct vrdu_stream *streams = vrdu_image_stream_table(image);
	struct vrdu_section rec = *sect;
	uint32_t i;
	int ret;

	rec.first_node += m->node;
	rec.first_stream += m->stream;
	ret = copy_string(e, image, &rec.name);
	if (!ret)
		ret = vrdu_edit_section(e, &rec);
	for (i = 0; ret >= 0 && i < sect->streams; i++) {
		struct vrdu_stream st = streams[sect->first_stream + i];

		st.rows = m->extents[st.rows];
		ret = copy_string(e, image, &st.name);
		if (!ret)
			ret = vrdu_edit_stream(e, &st);
	}
	for (i = 0; ret >= 0 && i < sect->nodes; i++) {
		struct vrdu_node n = nodes[sect->first_node + i];

		shift(n.in, VRDU_NODE_INPUTS, m->stream);
		shift(n.out, VRDU_NODE_OUTPUTS, m->stream);
		shift(&n.agu, 1, m->agu);
		shift(&n.agu2, 1, m->agu);
		ret = copy_string(e, image, &n.name);
		if (!ret)
			ret = vrdu_edit_node(e, &n);
	}
	return ret < 0 ? ret : 0;
}

static int copy_sequence(struct vrdu_edit *e, const struct vrdu_image *image, const struct maps *m)
{
	const struct vrdu_seq *s = vrdu_image_seq_table(image);
	uint32_t i;
	int ret = 0;

	for (i = 0; ret >= 0 && i < vrdu_image_header(image)->seqs; i++) {
		uint32_t arg = s[i].arg;

		if (s[i].op == VRDU_SEQ_LOOP)
			arg = m->extents[arg];
		else if (s[i].op == VRDU_SEQ_RUN)
			arg += m->section;
		ret = vrdu_edit_seq(e, s[i].op, arg);
	}
	return ret < 0 ? ret : 0;
}

static int append(struct loop_cand *c, struct vrdu_edit *e, const struct vrdu_image *image,
		  const struct loop_slot *slots)
{
	struct maps m = {
		.node = e->n_nodes,
		.stream = e->n_streams,
		.agu = e->n_agus,
		.section = e->n_sections,
		.slots = slots,
	};
	uint32_t i;
	int ret;

	ret = copy_extents(e, image, &m);
	if (!ret)
		ret = copy_agus(c, e, image, &m);
	for (i = 0; !ret && i < vrdu_image_header(image)->sections; i++)
		ret = copy_section(e, image, &vrdu_image_section_table(image)[i], &m);
	return ret ? ret : copy_sequence(e, image, &m);
}

static int add_targets(const struct loop_cand *c, struct vrdu_edit *e)
{
	uint32_t i;
	int ret;

	for (i = 0; i < c->n_targets; i++) {
		struct vrdu_symbol sym = c->targets[i].sym;

		ret = vrdu_edit_string(e, c->targets[i].name);
		if (ret < 0)
			return ret;
		sym.name = ret;
		ret = vrdu_edit_symbol(e, &sym);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* One carry at a time: each rewrite moves the nodes behind it. */
static int rewrite_carries(struct loop_cand *c, struct vrdu_edit *e)
{
	const struct vrdu_image *image = c->items[0]->image;
	uint32_t gone[VRDU_MAX_SYMBOLS], n_gone = 0, i, k;
	struct loop_carry carry;
	char why[160];

	for (i = 0; i < c->n_slots; i++) {
		const struct loop_slot *s = &c->slots[i];
		uint32_t load, store;

		if (s->kind != VRDU_ARG_CARRIED || !(s->sym->access & VRDU_SYMBOL_READ))
			continue;
		if (!loop_carry_find(image, s->symbol, c->slots[s->partner].symbol, &carry, why,
				     sizeof(why)))
			return loop_refuse(c, "%s", why);
		load = carry.load;
		store = carry.store;
		for (k = 0; k < n_gone; k++) {
			load -= gone[k] < carry.load;
			store -= gone[k] < carry.store;
		}
		loop_carry_rewrite(e, load, store, s->kept);
		if (!s->kept)
			gone[n_gone++] = carry.store;
	}
	return 0;
}

static void loop_name(const struct loop_cand *c, char *name, size_t size)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < c->period && n < size; i++) {
		const struct vrdu_image *image = c->items[i]->image;

		n += snprintf(name + n, size - n, "%s%.40s", i ? "+" : "",
			      vrdu_image_string(image, vrdu_image_header(image)->name));
	}
	if (n > size - 16)
		n = size - 16;
	snprintf(name + n, size - n, "*%u", c->trips);
}

static int build(struct loop_cand *c, struct vrdu_edit *e)
{
	uint32_t i, slot = 0;
	int ret;

	ret = add_targets(c, e);
	if (ret)
		return ret;
	ret = vrdu_edit_static(e, c->trips);
	if (ret >= 0)
		ret = vrdu_edit_seq(e, VRDU_SEQ_LOOP, ret);
	for (i = 0; ret >= 0 && i < c->period; i++) {
		ret = append(c, e, c->items[i]->image, &c->slots[slot]);
		if (ret)
			return ret;
		slot += c->items[i]->n_args;
	}
	if (ret >= 0)
		ret = vrdu_edit_seq(e, VRDU_SEQ_END, 0);
	if (ret < 0)
		return ret;
	return c->pipelined ? rewrite_carries(c, e) : 0;
}

int loop_image(struct loop_cand *c)
{
	struct vrdu_fabric fabric;
	struct vrdu_edit e;
	char name[128];
	int ret;

	if (vrdu_fabric_find(c->g->ctx->dev->info.profile, &fabric))
		return loop_refuse(c, "the device's profile \"%s\" is not known here",
				   c->g->ctx->dev->info.profile);
	loop_name(c, name, sizeof(name));
	ret = vrdu_edit_init(&e, name);
	if (!ret)
		ret = build(c, &e);
	if (!ret)
		ret = vrdu_place(&e, &fabric);
	if (!ret)
		ret = vrdu_edit_finish(&e, &c->image);
	vrdu_edit_free(&e);
	return limit(c, ret);
}
