// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel queue of a context: ring space, the order of submissions, the
 * doorbell, and what happens when calls end.
 *
 *	reserve → fill → add → (in-fences) → advance → complete → reap
 *
 * A submission has its ring slots from the moment it is accepted, so its
 * packets are written in place by the submitter; entering the ring later, when
 * the in-fences have signalled, is only a doorbell, which a fence callback can
 * do. Space is given back by whole submissions, in order.
 *
 * advance, complete and abort are fence-signalling code: spinlocks only, no
 * allocation, nothing freed. Ended submissions are freed by reap, in process
 * context under submit_lock, which also guarantees that no callback of theirs
 * still runs.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vrdu_ctl.h"
#include "vrdu_ctx.h"
#include "vrdu_fence.h"
#include "vrdu_fw.h"
#include "vrdu_program.h"
#include "vrdu_trace.h"
#include "vrdu_vm.h"

#define VRDU_RING_MASK	(VRDU_RING_PACKETS - 1)

static_assert(!(VRDU_RING_PACKETS & VRDU_RING_MASK));
static_assert(VRDU_RING_PACKETS <= VRDU_RING_MAX_PACKETS);
static_assert(VRDU_RING_PACKETS >= DRM_VRDU_MAX_CALLS);
static_assert(sizeof(struct vrdu_packet) == 64);
static_assert(sizeof(struct vrdu_status) <= PAGE_SIZE);

static void vrdu_queue_reap_work(struct work_struct *work)
{
	struct vrdu_ctx *ctx = container_of(work, struct vrdu_ctx, reap_work);

	mutex_lock(&ctx->submit_lock);
	vrdu_queue_reap(ctx);
	mutex_unlock(&ctx->submit_lock);
}

/**
 * vrdu_queue_init() - make the queue and attach it to the device.
 * @ctx: Context with address space and status page; nobody else has it yet.
 *
 * Return: 0 or -ENOMEM; vrdu_queue_fini() cleans up after both.
 */
int vrdu_queue_init(struct vrdu_ctx *ctx)
{
	struct vrdu_fw_queue_desc desc;
	size_t args_bytes = VRDU_RING_PACKETS * VRDU_MAX_ARGS * sizeof(*ctx->args);

	mutex_init(&ctx->submit_lock);
	spin_lock_init(&ctx->lock);
	INIT_LIST_HEAD(&ctx->queued);
	INIT_LIST_HEAD(&ctx->inflight);
	INIT_LIST_HEAD(&ctx->done);
	init_waitqueue_head(&ctx->space);
	INIT_WORK(&ctx->reap_work, vrdu_queue_reap_work);
	ctx->fence_context = dma_fence_context_alloc(1);

	ctx->ring = kvcalloc(VRDU_RING_PACKETS, sizeof(*ctx->ring), GFP_KERNEL_ACCOUNT);
	ctx->args = kvzalloc(args_bytes, GFP_KERNEL_ACCOUNT);
	if (!ctx->ring || !ctx->args)
		return -ENOMEM;

	desc = (struct vrdu_fw_queue_desc) {
		.ring = ctx->ring,
		.entries = VRDU_RING_PACKETS,
		.doorbell = &ctx->doorbell,
		.args = (const u8 *)ctx->args,
		.args_bytes = args_bytes,
		.status = vrdu_ctl_vaddr(ctx->ctl),
		.vm = ctx->vm,
		.owner = ctx,
		.program = vrdu_program_device_lookup,
		.stats = &ctx->file->stats,
	};
	ctx->fwq = vrdu_fw_queue_create(ctx->vdev, &desc);
	if (IS_ERR(ctx->fwq)) {
		int ret = PTR_ERR(ctx->fwq);

		ctx->fwq = NULL;
		return ret;
	}
	ctx->vm->fwq = ctx->fwq;
	return 0;
}

/**
 * vrdu_queue_fini() - free the queue.
 * @ctx: Context that was killed, or never got a queue.
 */
void vrdu_queue_fini(struct vrdu_ctx *ctx)
{
	if (ctx->fwq) {
		disable_work_sync(&ctx->reap_work);
		mutex_lock(&ctx->submit_lock);
		vrdu_queue_reap(ctx);
		mutex_unlock(&ctx->submit_lock);
		WARN_ON(!list_empty(&ctx->queued) || !list_empty(&ctx->inflight));
		vrdu_fw_queue_free(ctx->fwq);
	}
	kvfree(ctx->args);
	kvfree(ctx->ring);
}

static bool vrdu_queue_has_space(struct vrdu_ctx *ctx, u32 packets)
{
	bool space;

	spin_lock_irq(&ctx->lock);
	space = ctx->error || ctx->reserved - ctx->retired + packets <= VRDU_RING_PACKETS;
	spin_unlock_irq(&ctx->lock);
	return space;
}

/**
 * vrdu_queue_reserve() - wait until @packets slots are free.
 * @ctx: Context; the caller holds submit_lock, so that they stay free.
 * @packets: 1 … VRDU_RING_PACKETS.
 *
 * Return: 0, -ERESTARTSYS, -ECANCELED or -ENODEV.
 */
int vrdu_queue_reserve(struct vrdu_ctx *ctx, u32 packets)
{
	int ret;

	lockdep_assert_held(&ctx->submit_lock);

	ret = wait_event_interruptible(ctx->space, vrdu_queue_has_space(ctx, packets));
	return ret ? ret : vrdu_ctx_check(ctx);
}

/**
 * vrdu_queue_fill() - write packets and arguments into reserved slots.
 * @ctx: Context; the caller holds submit_lock.
 * @desc: Checked submission.
 *
 * The device does not look there before vrdu_queue_advance().
 */
void vrdu_queue_fill(struct vrdu_ctx *ctx, const struct vrdu_submit_desc *desc)
{
	const u64 *args = desc->args;
	u32 i;

	lockdep_assert_held(&ctx->submit_lock);

	for (i = 0; i < desc->nr_calls; i++) {
		const struct drm_vrdu_call *call = &desc->calls[i];
		u32 slot = (ctx->reserved + i) & VRDU_RING_MASK;
		u64 *to = ctx->args + (size_t)slot * VRDU_MAX_ARGS;

		memcpy(to, args, call->arg_count * sizeof(*args));
		args += call->arg_count;

		ctx->ring[slot] = (struct vrdu_packet) {
			.op = VRDU_PACKET_CALL,
			/* One event for the whole submission. */
			.flags = i == desc->nr_calls - 1 ? VRDU_PACKET_EVENT : 0,
			.arg_count = call->arg_count,
			.program = call->program,
			.seqno = ctx->seqno + 1 + i,
			.args = (u8 *)to - (u8 *)ctx->args,
			.call_flags = call->flags,
		};
	}
}

/**
 * vrdu_queue_add() - accept a submission whose slots are filled.
 * @ctx: Context; the caller holds submit_lock.
 * @sub: Submission with its fence started and its callbacks installed.
 *
 * Return: 0, or -ECANCELED, -ENODEV: the context died, nothing happened.
 */
int vrdu_queue_add(struct vrdu_ctx *ctx, struct vrdu_sub *sub)
{
	int error;

	lockdep_assert_held(&ctx->submit_lock);

	spin_lock_irq(&ctx->lock);
	error = ctx->error;
	if (!error) {
		list_add_tail(&sub->node, &ctx->queued);
		WRITE_ONCE(ctx->seqno, sub->last);
		ctx->reserved += sub->packets;
	}
	spin_unlock_irq(&ctx->lock);

	if (!error)
		return 0;
	return error == -ENODEV ? -ENODEV : -ECANCELED;
}

/**
 * vrdu_queue_advance() - let the device see what needs not wait any longer.
 * @ctx: Context.
 *
 * Any context, also under a foreign fence's lock.
 */
void vrdu_queue_advance(struct vrdu_ctx *ctx)
{
	struct vrdu_sub *sub, *next;
	unsigned long flags;
	u64 tail;

	spin_lock_irqsave(&ctx->lock, flags);
	tail = ctx->pushed;
	if (!ctx->error) {
		list_for_each_entry_safe(sub, next, &ctx->queued, node) {
			/* The fences' effects before the doorbell. */
			if (atomic_read_acquire(&sub->pending))
				break;
			list_move_tail(&sub->node, &ctx->inflight);
			tail += sub->packets;
		}
	}
	if (tail != ctx->pushed) {
		ctx->pushed = tail;
		vrdu_fw_doorbell(ctx->fwq, tail);
	}
	spin_unlock_irqrestore(&ctx->lock, flags);
}

/* Signal what was taken off the lists, in order, and leave it to the reaper. */
static void vrdu_queue_finish(struct vrdu_ctx *ctx, struct list_head *ended, int first_error,
			      int other_error)
{
	struct vrdu_sub *sub;
	unsigned long flags;
	int error = first_error;
	u64 packets = 0;
	u64 fences = 0;
	u64 last = 0;
	bool reap;

	if (list_empty(ended))
		return;

	/* Counters first: who waits for the fence may ask for them. */
	list_for_each_entry(sub, ended, node) {
		packets += sub->packets;
		last = sub->last;
		fences++;
	}
	atomic64_add(fences, &ctx->file->stats.fences);
	spin_lock_irqsave(&ctx->lock, flags);
	ctx->retired += packets;
	ctx->completed = max(ctx->completed, last);
	spin_unlock_irqrestore(&ctx->lock, flags);

	list_for_each_entry(sub, ended, node) {
		trace_vrdu_fence(ctx->vdev->instance, ctx->id, sub->last, error);
		vrdu_fence_signal(sub->fence, error);
		error = other_error;
	}

	spin_lock_irqsave(&ctx->lock, flags);
	list_splice_tail_init(ended, &ctx->done);
	reap = ctx->reap_wanted;
	ctx->reap_wanted = false;
	spin_unlock_irqrestore(&ctx->lock, flags);

	if (wq_has_sleeper(&ctx->space))
		wake_up_all(&ctx->space);
	if (reap)
		queue_work(system_unbound_wq, &ctx->reap_work);
}

/**
 * vrdu_queue_complete() - the device says that calls have ended.
 * @ctx: Context.
 * @seqno: Last call that completed, or that faulted.
 * @error: 0, or the error for its submission; all later ones, in the ring or
 *	waiting, are cancelled, and the context takes no more.
 *
 * Event handler only. A sequence number beyond what was rung is the device's
 * mistake and completes no more than that.
 */
void vrdu_queue_complete(struct vrdu_ctx *ctx, u64 seqno, int error)
{
	struct vrdu_sub *sub, *next;
	LIST_HEAD(ended);
	LIST_HEAD(failed);
	unsigned long flags;
	int rest = -ECANCELED;

	spin_lock_irqsave(&ctx->lock, flags);
	list_for_each_entry_safe(sub, next, &ctx->inflight, node) {
		if (error ? sub->last >= seqno : sub->last > seqno)
			break;
		list_move_tail(&sub->node, &ended);
	}
	if (error) {
		/* A context that is being killed passes its own reason on. */
		if (ctx->error) {
			error = ctx->error;
			rest = ctx->error;
		} else {
			ctx->error = error;
		}
		list_splice_tail_init(&ctx->inflight, &failed);
		list_splice_tail_init(&ctx->queued, &failed);
	}
	spin_unlock_irqrestore(&ctx->lock, flags);

	vrdu_queue_finish(ctx, &ended, 0, 0);
	vrdu_queue_finish(ctx, &failed, error, rest);
}

/**
 * vrdu_queue_abort() - end all submissions of a dying context.
 * @ctx: Context, detached from the device, with its error set.
 * @error: What the fences get.
 */
void vrdu_queue_abort(struct vrdu_ctx *ctx, int error)
{
	LIST_HEAD(ended);

	spin_lock_irq(&ctx->lock);
	list_splice_tail_init(&ctx->inflight, &ended);
	list_splice_tail_init(&ctx->queued, &ended);
	spin_unlock_irq(&ctx->lock);

	vrdu_queue_finish(ctx, &ended, error, error);
}

/**
 * vrdu_queue_reap() - free ended submissions.
 * @ctx: Context; the caller holds submit_lock.
 */
void vrdu_queue_reap(struct vrdu_ctx *ctx)
{
	struct vrdu_sub *sub, *next;
	LIST_HEAD(dead);

	lockdep_assert_held(&ctx->submit_lock);

	spin_lock_irq(&ctx->lock);
	list_splice_tail_init(&ctx->done, &dead);
	spin_unlock_irq(&ctx->lock);

	list_for_each_entry_safe(sub, next, &dead, node)
		vrdu_sub_free(sub);
}

/**
 * vrdu_queue_reap_soon() - reap what has ended, and again when more ends.
 * @ctx: Context.
 */
void vrdu_queue_reap_soon(struct vrdu_ctx *ctx)
{
	spin_lock_irq(&ctx->lock);
	ctx->reap_wanted = true;
	spin_unlock_irq(&ctx->lock);

	queue_work(system_unbound_wq, &ctx->reap_work);
}
