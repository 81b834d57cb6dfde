// SPDX-License-Identifier: MIT
/*
 * Graphs: calls and host-visible boundaries, recorded in order. Entries own
 * references to their program and buffers. A call that looping made remembers
 * the calls that it stands for.
 */
#include "graph.h"

static void origin_get(struct vrdu_origin *o)
{
	if (o)
		vrdu_refs_get(&o->refs);
}

static void entry_drop(struct vrdu_entry *e)
{
	uint32_t i;

	for (i = 0; e->args && i < e->arg_count; i++)
		vrdu_bo_unref(e->args[i].bo);
	free(e->args);
	vrdu_program_unref(e->prog);
	vrdu_origin_unref(e->origin);
}

static int entry_copy(struct vrdu_entry *dst, const struct vrdu_entry *src)
{
	uint32_t i;

	*dst = *src;
	dst->args = NULL;
	if (src->arg_count) {
		dst->args = malloc(src->arg_count * sizeof(*dst->args));
		if (!dst->args)
			return vrdu_nomem();
		memcpy(dst->args, src->args, src->arg_count * sizeof(*dst->args));
	}
	for (i = 0; i < dst->arg_count; i++)
		vrdu_bo_ref(dst->args[i].bo);
	vrdu_program_ref(dst->prog);
	origin_get(dst->origin);
	return 0;
}

int vrdu_origin_create(const struct vrdu_entry *entries, uint32_t n, struct vrdu_origin **out)
{
	struct vrdu_origin *o = calloc(1, sizeof(*o));
	int ret;

	if (!o)
		return vrdu_nomem();
	vrdu_refs_init(&o->refs);
	o->entries = calloc(n, sizeof(*o->entries));
	if (!o->entries) {
		vrdu_origin_unref(o);
		return vrdu_nomem();
	}
	for (o->n = 0; o->n < n; o->n++) {
		ret = entry_copy(&o->entries[o->n], &entries[o->n]);
		if (ret) {
			vrdu_origin_unref(o);
			return ret;
		}
	}
	*out = o;
	return 0;
}

void vrdu_origin_unref(struct vrdu_origin *o)
{
	uint32_t i;

	if (!o || !vrdu_refs_put(&o->refs))
		return;
	for (i = 0; i < o->n; i++)
		entry_drop(&o->entries[i]);
	free(o->entries);
	free(o);
}

int vrdu_graph_create(struct vrdu_context *ctx, struct vrdu_graph **out)
{
	struct vrdu_graph *g;

	if (!ctx || !out)
		return vrdu_fail(-EINVAL, "graph: no %s", ctx ? "place for the result" : "context");
	g = calloc(1, sizeof(*g));
	if (!g)
		return vrdu_nomem();
	vrdu_refs_init(&g->refs);
	g->ctx = vrdu_context_ref(ctx);
	*out = g;
	return 0;
}

struct vrdu_graph *vrdu_graph_ref(struct vrdu_graph *g)
{
	if (g)
		vrdu_refs_get(&g->refs);
	return g;
}

void vrdu_graph_unref(struct vrdu_graph *g)
{
	uint32_t i;

	if (!g || !vrdu_refs_put(&g->refs))
		return;
	for (i = 0; i < g->n; i++)
		entry_drop(&g->entries[i]);
	for (i = 0; i < g->n_transients; i++)
		vrdu_bo_unref(g->transients[i]);
	free(g->entries);
	free(g->transients);
	vrdu_context_unref(g->ctx);
	free(g);
}

int vrdu_graph_append(struct vrdu_graph *g, const struct vrdu_entry *e)
{
	int ret;

	if (g->n >= VRDU_GRAPH_MAX)
		return vrdu_fail(-ENOSPC, "graph: more than %u entries", VRDU_GRAPH_MAX);
	/* The array is full at powers of two. */
	if (!(g->n & (g->n - 1))) {
		void *p = realloc(g->entries, (g->n ? 2 * (size_t)g->n : 1) * sizeof(*e));

		if (!p)
			return vrdu_nomem();
		g->entries = p;
	}
	ret = entry_copy(&g->entries[g->n], e);
	if (ret)
		return ret;
	g->n++;
	g->calls += !e->boundary;
	return 0;
}

int vrdu_graph_call(struct vrdu_graph *g, const struct vrdu_call *call)
{
	struct vrdu_entry e = { 0 };
	int ret;

	if (!g || !call)
		return vrdu_fail(-EINVAL, "graph: no %s", g ? "call" : "graph");
	ret = vrdu_call_check(g->ctx, call, g->calls);
	if (ret)
		return ret;
	e.prog = call->prog;
	e.args = (struct vrdu_arg *)call->args;
	e.arg_count = call->arg_count;
	e.flags = call->flags;
	return vrdu_graph_append(g, &e);
}

int vrdu_graph_boundary(struct vrdu_graph *g, enum vrdu_boundary kind)
{
	struct vrdu_entry e = { .boundary = kind };

	if (!g)
		return vrdu_fail(-EINVAL, "graph: there is none");
	if (kind < VRDU_BOUNDARY_WAIT || kind > VRDU_BOUNDARY_SIGNAL)
		return vrdu_fail(-EINVAL, "graph: unknown boundary %u", kind);
	return vrdu_graph_append(g, &e);
}

bool vrdu_graph_is_transient(const struct vrdu_graph *g, const struct vrdu_bo *bo)
{
	uint32_t i;

	for (i = 0; i < g->n_transients; i++)
		if (g->transients[i] == bo)
			return true;
	return false;
}

int vrdu_graph_transient(struct vrdu_graph *g, struct vrdu_bo *bo)
{
	void *p;

	if (!g || !bo)
		return vrdu_fail(-EINVAL, "graph: no %s", g ? "buffer" : "graph");
	if (bo->ctx != g->ctx)
		return vrdu_fail(-EINVAL, "graph: the buffer belongs to another context");
	if (vrdu_graph_is_transient(g, bo))
		return 0;
	p = realloc(g->transients, (g->n_transients + 1) * sizeof(struct vrdu_bo *));
	if (!p)
		return vrdu_nomem();
	g->transients = p;
	g->transients[g->n_transients++] = vrdu_bo_ref(bo);
	return 0;
}

int vrdu_graph_new_like(const struct vrdu_graph *g, struct vrdu_graph **out)
{
	struct vrdu_graph *n;
	uint32_t i;
	int ret;

	ret = vrdu_graph_create(g->ctx, &n);
	for (i = 0; !ret && i < g->n_transients; i++) {
		ret = vrdu_graph_transient(n, g->transients[i]);
		if (ret)
			vrdu_graph_unref(n);
	}
	if (ret)
		return ret;
	n->level = g->level;
	*out = n;
	return 0;
}

uint32_t vrdu_graph_calls(const struct vrdu_graph *g)
{
	return g ? g->calls : 0;
}

int vrdu_graph_get_call(const struct vrdu_graph *g, uint32_t i, struct vrdu_call *out)
{
	uint32_t k, calls = 0;

	if (!g || !out)
		return vrdu_fail(-EINVAL, "graph: no %s", g ? "place for the call" : "graph");
	if (i >= g->calls)
		return vrdu_fail(-EINVAL, "graph: call %u, there are %u", i, g->calls);
	/* Without boundaries the index is the entry. */
	k = g->calls == g->n ? i : 0;
	calls = k;
	for (;; k++) {
		if (g->entries[k].boundary)
			continue;
		if (calls++ == i)
			break;
	}
	*out = (struct vrdu_call){
		.prog = g->entries[k].prog,
		.args = g->entries[k].args,
		.arg_count = g->entries[k].arg_count,
		.flags = g->entries[k].flags,
	};
	return 0;
}
