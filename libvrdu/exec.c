// SPDX-License-Identifier: MIT
/*
 * Launching graphs. Instantiation does once what each submission would do
 * again: checks, addresses, and the cut into submissions. A launch is then a
 * row of ioctls, with waits where the graph has host-visible boundaries.
 */
#include "graph.h"
#include "ops.h"

/**
 * struct segment - one submission.
 * @first: First call.
 * @n: Number of calls; 0: only the boundary.
 * @wait: The host waits behind it.
 */
struct segment {
	uint32_t first;
	uint32_t n;
	bool wait;
};

/**
 * struct vrdu_exec - a graph ready to launch.
 * @refs: References.
 * @graph: A frozen copy: keeps programs and buffers alive.
 * @calls: Calls as the driver takes them.
 * @args: Their arguments.
 * @segments: Submissions.
 * @n_segments: Their number.
 * @submissions: Of those, the ones that have calls.
 */
struct vrdu_exec {
	atomic_uint refs;
	struct vrdu_graph *graph;
	struct drm_vrdu_call *calls;
	uint64_t *args;
	struct segment *segments;
	uint32_t n_segments;
	uint32_t submissions;
};

static void exec_free(struct vrdu_exec *x)
{
	vrdu_graph_unref(x->graph);
	free(x->calls);
	free(x->args);
	free(x->segments);
	free(x);
}

static int copy_graph(const struct vrdu_graph *g, struct vrdu_graph **out)
{
	struct vrdu_graph *copy;
	uint32_t i;
	int ret;

	ret = vrdu_graph_new_like(g, &copy);
	for (i = 0; !ret && i < g->n; i++) {
		ret = vrdu_graph_append(copy, &g->entries[i]);
		if (ret)
			vrdu_graph_unref(copy);
	}
	if (!ret)
		*out = copy;
	return ret;
}

/* Translate all calls; addresses of buffers never change. */
static void translate(struct vrdu_exec *x)
{
	uint64_t *arg = x->args;
	uint32_t i, j, n = 0;

	for (i = 0; i < x->graph->n; i++) {
		const struct vrdu_entry *e = &x->graph->entries[i];

		if (e->boundary)
			continue;
		x->calls[n++] = (struct drm_vrdu_call){
			.program = e->prog->id,
			.flags = e->flags,
			.arg_count = e->arg_count,
			.args = (uintptr_t)arg,
		};
		for (j = 0; j < e->arg_count; j++)
			*arg++ = e->args[j].bo->va + e->args[j].offset;
	}
}

static void cut(struct vrdu_exec *x, uint32_t batch)
{
	struct segment s = { 0 };
	uint32_t i;

	for (i = 0; i < x->graph->n; i++) {
		enum vrdu_boundary b = x->graph->entries[i].boundary;

		if (!b && ++s.n < batch)
			continue;
		/* A full submission, or a boundary, which needs one only to end it or to wait. */
		s.wait = b == VRDU_BOUNDARY_WAIT || b == VRDU_BOUNDARY_READBACK;
		if (s.n || s.wait) {
			x->segments[x->n_segments++] = s;
			x->submissions += !!s.n;
		}
		s = (struct segment){ .first = s.first + s.n };
	}
	if (s.n) {
		x->segments[x->n_segments++] = s;
		x->submissions++;
	}
}

int vrdu_graph_instantiate(struct vrdu_graph *g, uint32_t batch, struct vrdu_exec **out)
{
	struct vrdu_exec *x;
	size_t args = 0;
	uint32_t i;
	int ret;

	if (!g || !out)
		return vrdu_fail(-EINVAL, "exec: no %s", g ? "place for the result" : "graph");
	if (batch > g->ctx->dev->info.max_calls)
		return vrdu_fail(-EINVAL, "exec: batches of %u calls, the device takes %u", batch,
				 g->ctx->dev->info.max_calls);
	x = calloc(1, sizeof(*x));
	if (!x)
		return vrdu_nomem();
	vrdu_refs_init(&x->refs);
	ret = copy_graph(g, &x->graph);
	if (ret)
		goto fail;
	for (i = 0; i < g->n; i++)
		args += g->entries[i].arg_count;
	x->calls = calloc(g->calls + 1, sizeof(*x->calls));
	x->args = calloc(args + 1, sizeof(*x->args));
	x->segments = calloc((size_t)g->n + 1, sizeof(*x->segments));
	if (!x->calls || !x->args || !x->segments) {
		ret = vrdu_nomem();
		goto fail;
	}
	translate(x);
	cut(x, batch ? batch : g->ctx->dev->info.max_calls);
	*out = x;
	return 0;
fail:
	exec_free(x);
	return ret;
}

struct vrdu_exec *vrdu_exec_ref(struct vrdu_exec *exec)
{
	if (exec)
		vrdu_refs_get(&exec->refs);
	return exec;
}

void vrdu_exec_unref(struct vrdu_exec *exec)
{
	if (exec && vrdu_refs_put(&exec->refs))
		exec_free(exec);
}

uint32_t vrdu_exec_submissions(const struct vrdu_exec *exec)
{
	return exec ? exec->submissions : 0;
}

int vrdu_exec_launch(struct vrdu_exec *exec, uint64_t *seqno)
{
	struct vrdu_context *ctx;
	uint64_t last;
	uint32_t i;
	int ret;

	if (!exec)
		return vrdu_fail(-EINVAL, "exec: there is none");
	ctx = exec->graph->ctx;
	pthread_mutex_lock(&ctx->lock);
	last = ctx->submitted;
	pthread_mutex_unlock(&ctx->lock);
	for (i = 0; i < exec->n_segments; i++) {
		const struct segment *s = &exec->segments[i];

		if (s->n) {
			ret = vrdu_submit_raw(ctx, &exec->calls[s->first], s->n, NULL, 0, NULL, 0,
					      &last);
			if (ret)
				return ret;
		}
		if (s->wait) {
			ret = vrdu_wait(ctx, last, INT64_MAX);
			if (ret)
				return ret;
		}
	}
	if (seqno)
		*seqno = last;
	return 0;
}
