// SPDX-License-Identifier: MIT
/*
 * What the looping pass works on: the entries of a graph as items, with the
 * calls that would fault marked, and the contents of tables to come.
 */
#include "looping.h"

struct loop_table *loop_table_create(uint32_t n)
{
	struct loop_table *t = calloc(1, sizeof(*t) + (size_t)n * sizeof(t->entries[0]));

	if (t) {
		t->refs = 1;
		t->n = n;
	}
	return t;
}

void loop_table_put(struct loop_table *t)
{
	if (t && !--t->refs)
		free(t);
}

bool loop_table_equal(const struct loop_table *a, const struct loop_table *b)
{
	uint32_t i;

	if (a == b)
		return true;
	if (!a || !b || a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (a->entries[i].bo != b->entries[i].bo ||
		    a->entries[i].offset != b->entries[i].offset)
			return false;
	return true;
}

void loop_item_free(struct loop_item *it)
{
	uint32_t i;

	if (!it)
		return;
	for (i = 0; i < it->n_args; i++)
		loop_table_put(it->args[i].table);
	free(it->args);
	vrdu_image_unref(it->image);
	free(it);
}

static bool any_conflict(const void *arg, const struct loop_range *a, const struct loop_range *b)
{
	(void)arg;
	(void)a;
	(void)b;
	return true;
}

/* Calls that the device would refuse keep their fault: they are left alone. */
static int find_fault(struct loop_item *it)
{
	const struct vrdu_symbol *sym = vrdu_image_symbol_table(it->image);
	struct loop_range r[VRDU_MAX_SYMBOLS], a, b;
	uint32_t i, n = 0;
	int ret;

	for (i = 0; i < it->n_args; i++) {
		uint64_t va = loop_va(&it->args[i].place);

		if (va & 3)
			it->bad = "an argument is not 4-byte aligned";
		if (sym[i].kind != VRDU_SYMBOL_ADDR)
			continue;
		r[n++] = (struct loop_range){
			.lo = va, .hi = va + sym[i].bytes, .who = i,
			.write = sym[i].access & VRDU_SYMBOL_WRITE,
		};
	}
	ret = loop_overlap(r, n, any_conflict, NULL, &a, &b);
	if (ret == LOOP_REFUSED)
		it->bad = "two of its arguments overlap and one is written";
	return ret < 0 ? ret : 0;
}

static int make_item(const struct vrdu_graph *g, uint32_t i, uint32_t call, struct loop_item **out)
{
	const struct vrdu_entry *e = &g->entries[i];
	struct loop_item *it = calloc(1, sizeof(*it));
	uint32_t k;
	int ret;

	if (!it)
		return vrdu_nomem();
	it->boundary = e->boundary;
	it->first = i;
	it->n = 1;
	it->call = call;
	*out = it;
	if (e->boundary)
		return 0;
	it->prog = e->prog;
	it->image = vrdu_image_ref(e->prog->image);
	it->flags = e->flags;
	it->args = calloc(e->arg_count + 1, sizeof(*it->args));
	if (!it->args) {
		ret = vrdu_nomem();
		goto fail;
	}
	it->n_args = e->arg_count;
	for (k = 0; k < e->arg_count; k++)
		it->args[k].place = e->args[k];
	ret = find_fault(it);
	if (!ret)
		return 0;
fail:
	loop_item_free(it);
	return ret;
}

int loop_make_items(struct loop_pass *pass)
{
	const struct vrdu_graph *g = pass->g;
	uint32_t call = 0;
	int ret;

	pass->items = calloc((size_t)g->n + 1, sizeof(*pass->items));
	if (!pass->items)
		return vrdu_nomem();
	for (; pass->n_items < g->n; pass->n_items++) {
		ret = make_item(g, pass->n_items, call, &pass->items[pass->n_items]);
		if (ret)
			return ret;
		call += !g->entries[pass->n_items].boundary;
	}
	return 0;
}
