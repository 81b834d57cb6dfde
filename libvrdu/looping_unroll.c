// SPDX-License-Identifier: MIT
/*
 * Undoing kernel looping: every call that the last application made is replaced
 * by the calls that it stands for. What was recorded afterwards stays.
 */
#include "graph.h"

static int append_unrolled(struct vrdu_graph *to, const struct vrdu_graph *g,
			   const struct vrdu_entry *e)
{
	uint32_t i;
	int ret = 0;

	if (!e->origin || e->level != g->level)
		return vrdu_graph_append(to, e);
	for (i = 0; !ret && i < e->origin->n; i++)
		ret = vrdu_graph_append(to, &e->origin->entries[i]);
	return ret;
}

int vrdu_looping_unroll(struct vrdu_graph *g, struct vrdu_graph **out)
{
	struct vrdu_graph *to;
	uint32_t i;
	int ret;

	if (!g || !out)
		return vrdu_fail(-EINVAL, "unroll: no %s", g ? "place for the graph" : "graph");
	ret = vrdu_graph_new_like(g, &to);
	if (ret)
		return ret;
	for (i = 0; !ret && i < g->n; i++)
		ret = append_unrolled(to, g, &g->entries[i]);
	if (ret) {
		vrdu_graph_unref(to);
		return ret;
	}
	to->level -= !!to->level;
	*out = to;
	return 0;
}
