// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's interrupt handler: takes the device's events and ends what they
 * speak of. It runs where the device raises it, on the device's thread, and
 * behaves as an interrupt handler must: no sleeping, no allocation.
 */
#include <linux/errno.h>

#include "vrdu_ctx.h"
#include "vrdu_event.h"
#include "vrdu_fw.h"
#include "vrdu_trace.h"

/* What the waiter of a fence shall see. */
static int vrdu_event_errno(int error)
{
	switch (error) {
	case 0:
	case -ETIME:
	case -ECANCELED:
		return error;
	default:
		return -EIO;
	}
}

/** vrdu_event_interrupt() - the device has put something into its event ring. */
void vrdu_event_interrupt(struct vrdu_device *vdev)
{
	struct vrdu_event event;

	while (vrdu_fw_event_pop(vdev, &event)) {
		struct vrdu_ctx *ctx = event.owner;

		atomic64_inc(&ctx->file->stats.events);
		trace_vrdu_event(vdev->instance, ctx->id, event.seqno, event.error);
		vrdu_queue_complete(ctx, event.seqno, vrdu_event_errno(event.error));
	}
}
