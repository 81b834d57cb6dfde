/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vrdu.ko: contexts and their kernel queue; verbs in vrdu_ctx.c (life),
 * vrdu_queue.c (ring, completion) and vrdu_submit.c (building).
 */
#ifndef VRDU_CTX_H
#define VRDU_CTX_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vrdu_device.h"

struct vrdu_ctl;
struct vrdu_fw_queue;
struct vrdu_program;
struct vrdu_vm;

/**
 * struct vrdu_ctx - a context: an address space, programs, a kernel queue.
 * @ref: One reference is the handle's, one each running ioctl's.
 * @vdev: Device.
 * @file: File that owns it; outlives it.
 * @id: Handle in the file.
 * @node: In vdev->contexts, under vdev->ctx_lock; empty once destroyed.
 * @vm: Address space.
 * @ctl: Status page.
 * @programs: struct vrdu_program by handle (1 … VRDU_MAX_PROGRAMS).
 *
 * @fwq: The device's side of the queue.
 * @ring: VRDU_RING_PACKETS packets. A slot is written by the submitter that
 *	reserved it and read by the device once the doorbell has passed it.
 * @args: VRDU_MAX_ARGS arguments for each slot of @ring.
 * @doorbell: Monotonic tail; written under @lock, by vrdu_fw_doorbell() only.
 * @fence_context: Timeline of the fences.
 * @reap_work: Reaps ended submissions when somebody waits for their programs.
 *
 * @submit_lock: One submitter or reaper at a time; guards @reserved and @seqno.
 * @reserved: Packets accepted since creation.
 * @seqno: Last sequence number given out.
 *
 * @lock: Guards the rest; taken by fence callbacks, so always irq-safe.
 * @error: 0, or why nothing is accepted any more; sticky.
 * @reap_wanted: A destroyed program waits for the end of its calls.
 * @queued: Submissions that wait for in-fences, or behind one that does.
 * @inflight: Submissions in the ring.
 * @done: Ended submissions, to be reaped.
 * @retired: Packets of ended submissions.
 * @pushed: Packets made visible to the device: the doorbell.
 * @completed: Sequence number of the last submission that ended.
 * @space: Woken when @retired or @error changes.
 */
struct vrdu_ctx {
	struct kref ref;
	struct vrdu_device *vdev;
	struct vrdu_file *file;
	u32 id;
	struct list_head node;
	struct vrdu_vm *vm;
	struct vrdu_ctl *ctl;
	struct xarray programs;

	struct vrdu_fw_queue *fwq;
	struct vrdu_packet *ring;
	u64 *args;
	u64 doorbell;
	u64 fence_context;
	struct work_struct reap_work;

	/* Below vrdu_device.ctx_lock, above vrdu_vm.lock. */
	struct mutex submit_lock;
	u64 reserved;
	u64 seqno;

	/* Below any dma_fence.lock. */
	spinlock_t lock;
	int error;
	bool reap_wanted;
	struct list_head queued;
	struct list_head inflight;
	struct list_head done;
	u64 retired;
	u64 pushed;
	u64 completed;
	wait_queue_head_t space;
};

/**
 * struct vrdu_in - an in-fence of a submission.
 * @cb: Callback on @fence; removed, or known to have run, before it is freed.
 * @fence: The fence, with a reference.
 * @sub: The submission.
 */
struct vrdu_in {
	struct dma_fence_cb cb;
	struct dma_fence *fence;
	struct vrdu_sub *sub;
};

/**
 * struct vrdu_sub - a submission: the calls of one SUBMIT, with one fence.
 * @node: In one of the context's lists.
 * @ctx: Context.
 * @fence: Out-fence, with a reference.
 * @packets: Packets in the ring.
 * @last: Sequence number of the last one.
 * @pending: In-fences not yet signalled, plus one while it is being built.
 * @in: In-fences.
 * @nr_in: Their number.
 * @programs: Programs that the calls use, each with a reference; runs of calls
 *	of one program share one.
 * @nr_programs: Their number.
 */
struct vrdu_sub {
	struct list_head node;
	struct vrdu_ctx *ctx;
	struct dma_fence *fence;
	u32 packets;
	u64 last;
	atomic_t pending;
	struct vrdu_in *in;
	u32 nr_in;
	struct vrdu_program **programs;
	u32 nr_programs;
};

/**
 * struct vrdu_submit_desc - a SUBMIT in kernel memory.
 * @calls: Calls; their args pointers are not used.
 * @nr_calls: 1 … DRM_VRDU_MAX_CALLS.
 * @args: Arguments of all calls, one after the other.
 * @in_syncs: In syncs.
 * @nr_in: At most DRM_VRDU_MAX_SYNCS.
 * @out_syncs: Out syncs.
 * @nr_out: At most DRM_VRDU_MAX_SYNCS.
 */
struct vrdu_submit_desc {
	const struct drm_vrdu_call *calls;
	u32 nr_calls;
	const u64 *args;
	const struct drm_vrdu_sync *in_syncs;
	u32 nr_in;
	const struct drm_vrdu_sync *out_syncs;
	u32 nr_out;
};

/* vrdu_ctx.c */
int vrdu_ctx_create(struct drm_file *file, u32 *id, u64 *status_offset);
int vrdu_ctx_destroy(struct drm_file *file, u32 id);
void vrdu_ctx_close(struct drm_file *file);
void vrdu_ctx_unplug(struct vrdu_device *vdev);
void vrdu_ctx_kill(struct vrdu_ctx *ctx, int error);
int vrdu_ctx_check(struct vrdu_ctx *ctx);
struct vrdu_ctx *vrdu_ctx_lookup(struct vrdu_file *vf, u32 id);
void vrdu_ctx_put(struct vrdu_ctx *ctx);
void vrdu_ctx_info(struct vrdu_ctx *ctx, struct drm_vrdu_context_info *info);

/* vrdu_queue.c */
int vrdu_queue_init(struct vrdu_ctx *ctx);
void vrdu_queue_fini(struct vrdu_ctx *ctx);
int vrdu_queue_reserve(struct vrdu_ctx *ctx, u32 packets);
void vrdu_queue_fill(struct vrdu_ctx *ctx, const struct vrdu_submit_desc *desc);
int vrdu_queue_add(struct vrdu_ctx *ctx, struct vrdu_sub *sub);
void vrdu_queue_advance(struct vrdu_ctx *ctx);
void vrdu_queue_complete(struct vrdu_ctx *ctx, u64 seqno, int error);
void vrdu_queue_abort(struct vrdu_ctx *ctx, int error);
void vrdu_queue_reap(struct vrdu_ctx *ctx);
void vrdu_queue_reap_soon(struct vrdu_ctx *ctx);

/* vrdu_submit.c */
int vrdu_submit(struct vrdu_ctx *ctx, struct drm_file *file, const struct vrdu_submit_desc *desc,
		u64 *seqno);
void vrdu_sub_free(struct vrdu_sub *sub);

#endif /* VRDU_CTX_H */
