// SPDX-License-Identifier: MIT
/*
 * Applying kernel looping: a new graph in which what the pass took is one call
 * of a looped program. Equal loops share their program, equal tables their
 * buffer. Each looped call remembers the calls that it stands for.
 */
#include "looping.h"

#include <stdio.h>

/**
 * struct made - objects that this application made, to be shared.
 * @progs: Programs, by their image.
 * @n_progs: Their number.
 * @tables: Tables; @bos has the buffer of each.
 * @bos: Buffers.
 * @n_tables: Their number.
 */
struct made {
	struct vrdu_program **progs;
	uint32_t n_progs;
	const struct loop_table **tables;
	struct vrdu_bo **bos;
	uint32_t n_tables;
};

static void made_free(struct made *m)
{
	uint32_t i;

	for (i = 0; i < m->n_progs; i++)
		vrdu_program_unref(m->progs[i]);
	for (i = 0; i < m->n_tables; i++)
		vrdu_bo_unref(m->bos[i]);
	free(m->progs);
	free(m->tables);
	free(m->bos);
}

static int get_program(struct made *m, struct vrdu_context *ctx, struct vrdu_image *image,
		       struct vrdu_program **out)
{
	uint32_t i;
	void *p;
	int ret;

	/* The pass has made equal images one object. */
	for (i = 0; i < m->n_progs; i++) {
		if (m->progs[i]->image == image) {
			*out = m->progs[i];
			return 0;
		}
	}
	p = realloc(m->progs, (m->n_progs + 1) * sizeof(struct vrdu_program *));
	if (!p)
		return vrdu_nomem();
	m->progs = p;
	ret = vrdu_program_create(ctx, image, out);
	if (!ret)
		m->progs[m->n_progs++] = *out;
	return ret;
}

static int write_table(struct vrdu_context *ctx, const struct loop_table *t, struct vrdu_bo **out)
{
	struct vrdu_bo *bo;
	uint64_t va;
	uint32_t i;
	int ret;

	ret = vrdu_bo_create(ctx, (uint64_t)t->n * sizeof(va), VRDU_BO_READ_ONLY, &bo);
	for (i = 0; !ret && i < t->n; i++) {
		va = loop_va(&t->entries[i]);
		ret = vrdu_bo_write(bo, (uint64_t)i * sizeof(va), &va, sizeof(va));
		if (ret)
			vrdu_bo_unref(bo);
	}
	if (!ret)
		*out = bo;
	return ret;
}

static int get_table(struct made *m, struct vrdu_context *ctx, const struct loop_table *t,
		     struct vrdu_bo **out)
{
	uint32_t i;
	void *p;
	int ret;

	for (i = 0; i < m->n_tables; i++) {
		if (loop_table_equal(m->tables[i], t)) {
			*out = m->bos[i];
			return 0;
		}
	}
	p = realloc(m->tables, (m->n_tables + 1) * sizeof(*m->tables));
	if (!p)
		return vrdu_nomem();
	m->tables = p;
	p = realloc(m->bos, (m->n_tables + 1) * sizeof(*m->bos));
	if (!p)
		return vrdu_nomem();
	m->bos = p;
	ret = write_table(ctx, t, out);
	if (ret)
		return ret;
	m->tables[m->n_tables] = t;
	m->bos[m->n_tables++] = *out;
	return 0;
}

static int append_loop(struct vrdu_graph *to, const struct vrdu_graph *from,
		       const struct loop_item *it, struct made *m)
{
	struct vrdu_arg args[VRDU_MAX_SYMBOLS];
	struct vrdu_entry e = {
		.args = args,
		.arg_count = it->n_args,
		.flags = it->flags,
		.level = to->level,
	};
	uint32_t i;
	int ret;

	ret = get_program(m, from->ctx, it->image, &e.prog);
	for (i = 0; !ret && i < it->n_args; i++) {
		args[i] = it->args[i].place;
		if (!it->args[i].table)
			continue;
		args[i].offset = 0;
		ret = get_table(m, from->ctx, it->args[i].table, &args[i].bo);
	}
	if (!ret)
		ret = vrdu_origin_create(&from->entries[it->first], it->n, &e.origin);
	if (ret)
		return ret;
	ret = vrdu_graph_append(to, &e);
	vrdu_origin_unref(e.origin);
	return ret;
}

int vrdu_looping_apply(struct vrdu_graph *g, const struct vrdu_looping_opts *opts,
		       struct vrdu_graph **out)
{
	struct made m = { 0 };
	struct vrdu_graph *to = NULL;
	struct loop_pass pass;
	uint32_t i;
	int ret;

	if (!out)
		return vrdu_fail(-EINVAL, "looping: no place for the graph");
	ret = loop_pass_run(&pass, g, opts);
	if (ret)
		return ret;
	ret = vrdu_graph_new_like(g, &to);
	if (ret)
		goto out;
	to->level++;
	for (i = 0; !ret && i < pass.n_items; i++) {
		const struct loop_item *it = pass.items[i];

		if (it->loop)
			ret = append_loop(to, g, it, &m);
		else
			ret = vrdu_graph_append(to, &g->entries[it->first]);
	}
	if (!ret) {
		*out = to;
		to = NULL;
	}
	vrdu_graph_unref(to);
out:
	made_free(&m);
	loop_pass_free(&pass);
	return ret;
}
