// SPDX-License-Identifier: MIT
/*
 * Timelines: monotonic 64-bit semaphores of a device, a timeline syncobj on a
 * node. Checks here, work in the backend.
 */
#include "ops.h"

#include <inttypes.h>

int vrdu_timeline_create(struct vrdu_device *dev, uint64_t value, struct vrdu_timeline **out)
{
	struct vrdu_timeline *t;
	int ret;

	if (!dev || !out)
		return vrdu_fail(-EINVAL, "timeline: no %s",
				 dev ? "place for the result" : "device");
	t = calloc(1, sizeof(*t));
	if (!t)
		return vrdu_nomem();
	vrdu_refs_init(&t->refs);
	t->dev = dev;
	ret = dev->ops->timeline_create(t, value);
	if (ret) {
		free(t);
		return ret;
	}
	vrdu_device_ref(dev);
	*out = t;
	return 0;
}

struct vrdu_timeline *vrdu_timeline_ref(struct vrdu_timeline *t)
{
	if (t)
		vrdu_refs_get(&t->refs);
	return t;
}

void vrdu_timeline_unref(struct vrdu_timeline *t)
{
	if (!t || !vrdu_refs_put(&t->refs))
		return;
	t->dev->ops->timeline_destroy(t);
	vrdu_device_unref(t->dev);
	free(t);
}

int vrdu_timeline_query(struct vrdu_timeline *t, uint64_t *value)
{
	if (!t || !value)
		return vrdu_fail(-EINVAL, "timeline: no %s",
				 t ? "place for the value" : "timeline");
	return t->dev->ops->timeline_query(t, value);
}

int vrdu_timeline_signal(struct vrdu_timeline *t, uint64_t value)
{
	uint64_t now;
	int ret;

	ret = vrdu_timeline_query(t, value ? &now : NULL);
	if (ret)
		return ret;
	if (value <= now)
		return vrdu_fail(-EINVAL, "timeline: point %" PRIu64 " is not after %" PRIu64,
				 value, now);
	return t->dev->ops->timeline_signal(t, value);
}

int vrdu_timeline_wait(struct vrdu_timeline *t, uint64_t value, int64_t deadline)
{
	int ret;

	if (!t)
		return vrdu_fail(-EINVAL, "timeline: there is none");
	if (deadline < 0)
		return vrdu_fail(-EINVAL, "timeline: deadline %" PRId64 " is negative", deadline);
	if (!value)
		return 0;
	ret = t->dev->ops->timeline_wait(t, value, deadline);
	if (ret == -ETIME)
		return vrdu_fail(ret, "timeline: point %" PRIu64 " is not reached", value);
	return ret;
}
