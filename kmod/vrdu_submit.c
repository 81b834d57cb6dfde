// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT: builds a submission and puts it into its context's queue. All that
 * can fail comes first: programs, in-fences, out syncobjs with their chain
 * nodes, the fence's memory, ring space. Then, under submit_lock, the context
 * accepts or refuses it as a whole; from there on nothing can fail.
 *
 * In-fences are not waited for here: their callbacks let the queue advance.
 * An in-fence that signals with an error counts as signalled.
 *
 * Called by the SUBMIT ioctl with everything in kernel memory.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <drm/drm_syncobj.h>

#include "vrdu_ctx.h"
#include "vrdu_fence.h"
#include "vrdu_program.h"
#include "vrdu_trace.h"

/**
 * struct vrdu_out - an out sync.
 * @syncobj: With a reference.
 * @chain: Node for a timeline point; NULL for a binary syncobj.
 * @point: Timeline point.
 */
struct vrdu_out {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

static void vrdu_in_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct vrdu_sub *sub = container_of(cb, struct vrdu_in, cb)->sub;
	struct vrdu_ctx *ctx = sub->ctx;

	/* The reaper waits for this callback before it frees sub or lets ctx go. */
	if (atomic_dec_and_test(&sub->pending))
		vrdu_queue_advance(ctx);
}

/**
 * vrdu_sub_free() - free a submission that is in no list.
 * @sub: Submission; it need not be complete.
 *
 * Removing a callback that has run waits for its end by way of the fence's
 * lock, so nothing of @sub is used afterwards. Process context.
 */
void vrdu_sub_free(struct vrdu_sub *sub)
{
	u32 i;

	for (i = 0; i < sub->nr_in; i++) {
		/* Only a fence that got a callback has sub set. */
		if (sub->in[i].sub)
			dma_fence_remove_callback(sub->in[i].fence, &sub->in[i].cb);
		dma_fence_put(sub->in[i].fence);
	}
	kfree(sub->in);
	for (i = 0; i < sub->nr_programs; i++)
		vrdu_program_put(sub->programs[i]);
	kvfree(sub->programs);
	dma_fence_put(sub->fence);
	kfree(sub);
	vrdu_live_put(VRDU_LIVE_SUBMISSION);
}

static int vrdu_sub_get_programs(struct vrdu_sub *sub, const struct vrdu_submit_desc *desc)
{
	struct vrdu_program *prog = NULL;
	u32 i;

	sub->programs = kvcalloc(desc->nr_calls, sizeof(*sub->programs), GFP_KERNEL_ACCOUNT);
	if (!sub->programs)
		return -ENOMEM;

	for (i = 0; i < desc->nr_calls; i++) {
		const struct drm_vrdu_call *call = &desc->calls[i];

		if (!prog || prog->id != call->program) {
			prog = vrdu_program_lookup(sub->ctx, call->program);
			if (!prog)
				return -ENOENT;
			sub->programs[sub->nr_programs++] = prog;
		}
		if (call->pad || call->flags & ~VRDU_CALL_FLAGS ||
		    call->arg_count != prog->symbols)
			return -EINVAL;
	}
	return 0;
}

static int vrdu_sub_get_in(struct vrdu_sub *sub, struct drm_file *file,
			   const struct vrdu_submit_desc *desc)
{
	int ret;
	u32 i;

	if (!desc->nr_in)
		return 0;

	sub->in = kcalloc(desc->nr_in, sizeof(*sub->in), GFP_KERNEL_ACCOUNT);
	if (!sub->in)
		return -ENOMEM;

	for (i = 0; i < desc->nr_in; i++) {
		const struct drm_vrdu_sync *sync = &desc->in_syncs[i];

		if (sync->flags)
			return -EINVAL;
		/* 64-bit point; a point without a fence is an error, not a wait. */
		ret = drm_syncobj_find_fence(file, sync->handle, sync->point, 0,
					     &sub->in[i].fence);
		if (ret)
			return ret;
		sub->nr_in++;
	}
	return 0;
}

static struct vrdu_sub *vrdu_sub_alloc(struct vrdu_ctx *ctx, struct drm_file *file,
				       const struct vrdu_submit_desc *desc)
{
	struct vrdu_sub *sub;
	int ret;

	sub = kzalloc(sizeof(*sub), GFP_KERNEL_ACCOUNT);
	if (!sub)
		return ERR_PTR(-ENOMEM);

	vrdu_live_get(VRDU_LIVE_SUBMISSION);
	sub->ctx = ctx;
	sub->packets = desc->nr_calls;
	INIT_LIST_HEAD(&sub->node);
	/* One is the builder's, so that no callback lets it go before it is queued. */
	atomic_set(&sub->pending, 1);

	ret = vrdu_sub_get_programs(sub, desc);
	if (!ret)
		ret = vrdu_sub_get_in(sub, file, desc);
	if (ret) {
		vrdu_sub_free(sub);
		return ERR_PTR(ret);
	}
	return sub;
}

static void vrdu_out_free(struct vrdu_out *out, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		dma_fence_chain_free(out[i].chain);
		drm_syncobj_put(out[i].syncobj);
	}
	kfree(out);
}

static struct vrdu_out *vrdu_out_alloc(struct drm_file *file, const struct vrdu_submit_desc *desc)
{
	struct vrdu_out *out;
	int ret;
	u32 i;

	if (!desc->nr_out)
		return NULL;

	out = kcalloc(desc->nr_out, sizeof(*out), GFP_KERNEL_ACCOUNT);
	if (!out)
		return ERR_PTR(-ENOMEM);

	for (i = 0; i < desc->nr_out; i++) {
		const struct drm_vrdu_sync *sync = &desc->out_syncs[i];

		ret = -EINVAL;
		if (sync->flags)
			goto err;
		ret = -ENOENT;
		out[i].syncobj = drm_syncobj_find(file, sync->handle);
		if (!out[i].syncobj)
			goto err;
		out[i].point = sync->point;
		if (!sync->point)
			continue;
		ret = -ENOMEM;
		out[i].chain = dma_fence_chain_alloc();
		if (!out[i].chain) {
			i++;
			goto err;
		}
	}
	return out;

err:
	vrdu_out_free(out, i);
	return ERR_PTR(ret);
}

static void vrdu_out_publish(struct vrdu_out *out, u32 count, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (out[i].chain)
			drm_syncobj_add_point(out[i].syncobj, out[i].chain, fence, out[i].point);
		else
			drm_syncobj_replace_fence(out[i].syncobj, fence);
		out[i].chain = NULL;
	}
}

/* Callbacks before the submission is in a list: nobody else can end it yet. */
static void vrdu_sub_arm(struct vrdu_sub *sub)
{
	u32 i;

	for (i = 0; i < sub->nr_in; i++) {
		struct vrdu_in *in = &sub->in[i];

		in->sub = sub;
		atomic_inc(&sub->pending);
		/* An error means: has signalled. */
		if (dma_fence_add_callback(in->fence, &in->cb, vrdu_in_signalled))
			atomic_dec(&sub->pending);
	}
}

static int vrdu_submit_locked(struct vrdu_ctx *ctx, struct vrdu_sub *sub,
			      struct vrdu_fence **fence, struct vrdu_out *out,
			      const struct vrdu_submit_desc *desc)
{
	bool signalling;
	int ret;

	lockdep_assert_held(&ctx->submit_lock);

	vrdu_queue_reap(ctx);
	ret = vrdu_queue_reserve(ctx, sub->packets);
	if (ret)
		return ret;

	vrdu_queue_fill(ctx, desc);
	sub->last = ctx->seqno + desc->nr_calls;
	sub->fence = vrdu_fence_start(*fence, ctx->vdev->instance, ctx->id, ctx->fence_context,
				      sub->last);
	*fence = NULL;
	vrdu_sub_arm(sub);

	signalling = dma_fence_begin_signalling();
	ret = vrdu_queue_add(ctx, sub);
	if (!ret) {
		/* sub stays valid: it is freed under submit_lock only. */
		atomic64_inc(&ctx->file->stats.submits);
		atomic64_add(desc->nr_calls, &ctx->file->stats.calls);
		trace_vrdu_submit(ctx->vdev->instance, ctx->id, sub->last, desc->nr_calls,
				  sub->nr_in);
		if (atomic_dec_and_test(&sub->pending))
			vrdu_queue_advance(ctx);
		vrdu_out_publish(out, desc->nr_out, sub->fence);
	}
	dma_fence_end_signalling(signalling);
	return ret;
}

/**
 * vrdu_submit() - put calls into the context's queue, all or nothing.
 * @ctx: Context.
 * @file: Owner of the syncobjs.
 * @desc: The submission; counts are checked, contents are not.
 * @seqno: Out: sequence number of the last call.
 *
 * Return: 0, -EINVAL, -ENOENT, -ENOMEM, -ECANCELED, -ENODEV, -ERESTARTSYS.
 */
int vrdu_submit(struct vrdu_ctx *ctx, struct drm_file *file, const struct vrdu_submit_desc *desc,
		u64 *seqno)
{
	struct vrdu_fence *fence;
	struct vrdu_out *out;
	struct vrdu_sub *sub;
	int ret;

	ret = vrdu_ctx_check(ctx);
	if (ret)
		return ret;

	sub = vrdu_sub_alloc(ctx, file, desc);
	if (IS_ERR(sub))
		return PTR_ERR(sub);

	out = vrdu_out_alloc(file, desc);
	if (IS_ERR(out)) {
		ret = PTR_ERR(out);
		goto err_sub;
	}

	fence = vrdu_fence_alloc();
	if (!fence) {
		ret = -ENOMEM;
		goto err_out;
	}

	ret = mutex_lock_interruptible(&ctx->submit_lock);
	if (!ret) {
		ret = vrdu_submit_locked(ctx, sub, &fence, out, desc);
		if (!ret) {
			*seqno = sub->last;
			sub = NULL;
		}
		mutex_unlock(&ctx->submit_lock);
	}

	if (fence)
		vrdu_fence_free(fence);
err_out:
	vrdu_out_free(out, desc->nr_out);
err_sub:
	if (sub)
		vrdu_sub_free(sub);
	return ret;
}
