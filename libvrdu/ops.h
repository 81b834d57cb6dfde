/* SPDX-License-Identifier: MIT */
/*
 * The seam of libvrdu: everything that a backend does, and nothing else. Two
 * tables exist: node (/dev/accel/accelN) and sim (the firmware model in this
 * process). All files above the seam know only this header.
 *
 * Errors: negative errno, with the sentence in vrdu_last_error() (vrdu_fail()).
 * Arguments were validated by the caller of the table.
 */
#ifndef VRDU_OPS_H
#define VRDU_OPS_H

#include "internal.h"

#include <drm/vrdu_accel.h>

/**
 * struct vrdu_ops - a backend.
 * @name: "node" or "sim".
 * @open: Fill priv, info, va_start, va_end and max_image_bytes of @dev.
 *	@where: node path or profile; NULL: the first or the default.
 * @close: Undo it; no object of the device is alive.
 * @counters: Fill all but the waits, which the library counts.
 * @context_create: Fill priv, id and status of @ctx.
 * @context_destroy: End it; its buffers and programs are gone.
 * @bo_create: Give @bo (size, flags) memory: fill handle or priv.
 * @bo_destroy: Free it; unmapped before.
 * @bo_map: Fill @bo->map with a CPU pointer to all of it; not phantom.
 * @bo_unmap: Undo it; called only when @bo->map is set.
 * @bind: Map all of @bo at @bo->va in its context.
 * @unbind: Remove that mapping; when it returns, the device has left it.
 * @program_create: Make @prog->image resident: fill id. The verifier's text
 *	goes to @log, always NUL-terminated; @log_size > 0.
 * @program_destroy: Drop it.
 * @submit: Put @calls into the context's queue, all or nothing; called with
 *	the context's lock held. Gives the sequence number of the last call.
 * @wait: Block until @seqno is completed, the context has failed, or
 *	@deadline; 0 or -ETIME. The caller looks at the status page.
 * @timeline_create: Fill handle or priv of @t, whose point becomes @value.
 * @timeline_destroy: Drop it.
 * @timeline_query: Point reached.
 * @timeline_signal: Raise it from the host.
 * @timeline_wait: Until @value is reached, submitted already or not.
 */
struct vrdu_ops {
	const char *name;
	int (*open)(struct vrdu_device *dev, const char *where,
		    const struct vrdu_device_opts *opts);
	void (*close)(struct vrdu_device *dev);
	int (*counters)(struct vrdu_device *dev, struct vrdu_host_counters *out);
	int (*context_create)(struct vrdu_context *ctx);
	void (*context_destroy)(struct vrdu_context *ctx);
	int (*bo_create)(struct vrdu_bo *bo);
	void (*bo_destroy)(struct vrdu_bo *bo);
	int (*bo_map)(struct vrdu_bo *bo);
	void (*bo_unmap)(struct vrdu_bo *bo);
	int (*bind)(struct vrdu_bo *bo);
	void (*unbind)(struct vrdu_bo *bo);
	int (*program_create)(struct vrdu_program *prog, char *log, size_t log_size);
	void (*program_destroy)(struct vrdu_program *prog);
	int (*submit)(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
		      const struct vrdu_point *waits, uint32_t n_waits,
		      const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno);
	int (*wait)(struct vrdu_context *ctx, uint64_t seqno, int64_t deadline);
	int (*timeline_create)(struct vrdu_timeline *t, uint64_t value);
	void (*timeline_destroy)(struct vrdu_timeline *t);
	int (*timeline_query)(struct vrdu_timeline *t, uint64_t *value);
	int (*timeline_signal)(struct vrdu_timeline *t, uint64_t value);
	int (*timeline_wait)(struct vrdu_timeline *t, uint64_t value, int64_t deadline);
};

extern const struct vrdu_ops vrdu_node_ops;
extern const struct vrdu_ops vrdu_sim_ops;

#endif /* VRDU_OPS_H */
