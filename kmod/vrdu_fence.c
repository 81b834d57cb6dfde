// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion fences. A fence leaves the driver through syncobjs and sync
 * files and may outlive its queue, context, file and device, so it contains
 * all that its operations need: its own lock and its timeline's name. Each
 * holds a reference to the module, dropped when its memory goes.
 *
 * Allocated by vrdu_submit.c before anything is published; signalled by
 * vrdu_queue.c with none of the driver's locks held.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "vrdu_device.h"
#include "vrdu_fence.h"

/**
 * struct vrdu_fence - a fence.
 * @base: The fence; its memory is freed after an RCU grace period.
 * @lock: The fence's lock. One per fence: a callback of one fence may take the
 *	lock of another context, never of the same fence.
 * @timeline: Name: socket and context.
 */
struct vrdu_fence {
	struct dma_fence base;
	/* See @lock. */
	spinlock_t lock;
	char timeline[32];
};

static struct vrdu_fence *to_vrdu_fence(struct dma_fence *fence)
{
	return container_of(fence, struct vrdu_fence, base);
}

static const char *vrdu_fence_driver_name(struct dma_fence *fence)
{
	return VRDU_NAME;
}

static const char *vrdu_fence_timeline_name(struct dma_fence *fence)
{
	return to_vrdu_fence(fence)->timeline;
}

static void vrdu_fence_free_rcu(struct rcu_head *rcu)
{
	vrdu_fence_free(to_vrdu_fence(container_of(rcu, struct dma_fence, rcu)));
}

static void vrdu_fence_release(struct dma_fence *fence)
{
	call_rcu(&fence->rcu, vrdu_fence_free_rcu);
}

static const struct dma_fence_ops vrdu_fence_ops = {
	.get_driver_name = vrdu_fence_driver_name,
	.get_timeline_name = vrdu_fence_timeline_name,
	.release = vrdu_fence_release,
};

/**
 * vrdu_fence_alloc() - memory of a fence, not yet a fence.
 *
 * Return: the memory, or NULL. Give it to vrdu_fence_start() or
 * vrdu_fence_free().
 */
struct vrdu_fence *vrdu_fence_alloc(void)
{
	struct vrdu_fence *fence;

	fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);
	if (!fence)
		return NULL;

	spin_lock_init(&fence->lock);
	__module_get(THIS_MODULE);
	vrdu_live_get(VRDU_LIVE_FENCE);
	return fence;
}

/** vrdu_fence_free() - free a fence that was never started, or is dead. */
void vrdu_fence_free(struct vrdu_fence *fence)
{
	kfree(fence);
	vrdu_live_put(VRDU_LIVE_FENCE);
	module_put(THIS_MODULE);
}

/**
 * vrdu_fence_start() - make the memory a fence; cannot fail.
 * @fence: From vrdu_fence_alloc().
 * @instance: Socket, for the name.
 * @ctx: Context id, for the name.
 * @context: Timeline of the context.
 * @seqno: Point on it.
 *
 * Return: the fence with one reference, the caller's.
 */
struct dma_fence *vrdu_fence_start(struct vrdu_fence *fence, u32 instance, u32 ctx,
				   u64 context, u64 seqno)
{
	snprintf(fence->timeline, sizeof(fence->timeline), "socket%u-context%u", instance, ctx);
	dma_fence_init(&fence->base, &vrdu_fence_ops, &fence->lock, context, seqno);
	return &fence->base;
}

/**
 * vrdu_fence_signal() - the end of a fence.
 * @fence: A fence of this driver, not signalled.
 * @error: 0 or a negative errno for the waiters.
 */
void vrdu_fence_signal(struct dma_fence *fence, int error)
{
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal(fence);
}
