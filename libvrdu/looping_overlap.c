// SPDX-License-Identifier: MIT
/*
 * Overlaps among many address ranges: one sweep over them in the order of their
 * starts. Ranges that only read are allowed to overlap; the first pair with a
 * writer that the caller minds ends the search, so that the sweep stays linear
 * but for pairs that the caller excuses.
 */
#include "looping.h"

static int by_start(const void *p, const void *q)
{
	const struct loop_range *a = p, *b = q;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->who != b->who)
		return a->who < b->who ? -1 : 1;
	return (a->iter > b->iter) - (a->iter < b->iter);
}

/* Compare @r with the open ranges of @list; those that ended drop out. */
static bool hits(uint32_t *list, uint32_t *n, const struct loop_range *ranges,
		 const struct loop_range *r,
		 bool (*conflict)(const void *arg, const struct loop_range *a,
				  const struct loop_range *b),
		 const void *arg, struct loop_range *a)
{
	uint32_t i, k = 0;
	bool hit = false;

	for (i = 0; i < *n; i++) {
		const struct loop_range *o = &ranges[list[i]];

		if (o->hi <= r->lo)
			continue;
		list[k++] = list[i];
		if (!hit && conflict(arg, o, r)) {
			*a = *o;
			hit = true;
		}
	}
	*n = k;
	return hit;
}

int loop_overlap(struct loop_range *ranges, size_t n,
		 bool (*conflict)(const void *arg, const struct loop_range *a,
				  const struct loop_range *b),
		 const void *arg, struct loop_range *a, struct loop_range *b)
{
	uint32_t *readers = malloc((n + 1) * sizeof(*readers));
	uint32_t *writers = malloc((n + 1) * sizeof(*writers));
	uint32_t n_readers = 0, n_writers = 0;
	int ret = 0;
	size_t i;

	if (!readers || !writers) {
		ret = vrdu_nomem();
		goto out;
	}
	qsort(ranges, n, sizeof(*ranges), by_start);
	for (i = 0; i < n; i++) {
		const struct loop_range *r = &ranges[i];

		if (hits(writers, &n_writers, ranges, r, conflict, arg, a) ||
		    (r->write && hits(readers, &n_readers, ranges, r, conflict, arg, a))) {
			*b = *r;
			ret = LOOP_REFUSED;
			goto out;
		}
		if (r->write)
			writers[n_writers++] = i;
		else
			readers[n_readers++] = i;
	}
out:
	free(readers);
	free(writers);
	return ret;
}
