// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: creation, lookup, death. A context dies once: by its owner, by the
 * close of the file or by the unplug; what faulted is only marked (see
 * vrdu_queue.c) and dies later by one of these. Death takes the queue from the
 * device, which waits for the engine to leave, and then ends all submissions;
 * the memory follows with the last reference.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>

#include "vrdu_ctl.h"
#include "vrdu_ctx.h"
#include "vrdu_fw.h"
#include "vrdu_program.h"
#include "vrdu_vm.h"

static void vrdu_ctx_free(struct vrdu_ctx *ctx)
{
	vrdu_queue_fini(ctx);
	vrdu_program_destroy_all(ctx);
	WARN_ON(!xa_empty(&ctx->programs));
	xa_destroy(&ctx->programs);
	if (ctx->vm)
		vrdu_vm_destroy(ctx->vm);
	if (ctx->ctl)
		vrdu_ctl_put(ctx->ctl);
	kfree(ctx);
	vrdu_live_put(VRDU_LIVE_CTX);
}

static void vrdu_ctx_release(struct kref *ref)
{
	vrdu_ctx_free(container_of(ref, struct vrdu_ctx, ref));
}

/** vrdu_ctx_put() - drop a reference; process context. */
void vrdu_ctx_put(struct vrdu_ctx *ctx)
{
	kref_put(&ctx->ref, vrdu_ctx_release);
}

static struct vrdu_ctx *vrdu_ctx_alloc(struct vrdu_file *vf)
{
	struct vrdu_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);

	vrdu_live_get(VRDU_LIVE_CTX);
	kref_init(&ctx->ref);
	ctx->vdev = vf->vdev;
	ctx->file = vf;
	INIT_LIST_HEAD(&ctx->node);
	xa_init_flags(&ctx->programs, XA_FLAGS_ALLOC1);

	ctx->vm = vrdu_vm_create(vf->vdev);
	if (IS_ERR(ctx->vm)) {
		ret = PTR_ERR(ctx->vm);
		ctx->vm = NULL;
		goto err;
	}

	ctx->ctl = vrdu_ctl_create(vf->vdev);
	if (IS_ERR(ctx->ctl)) {
		ret = PTR_ERR(ctx->ctl);
		ctx->ctl = NULL;
		goto err;
	}

	ret = vrdu_queue_init(ctx);
	if (ret)
		goto err;
	return ctx;

err:
	vrdu_ctx_free(ctx);
	return ERR_PTR(ret);
}

static int vrdu_ctx_link(struct vrdu_ctx *ctx)
{
	struct vrdu_device *vdev = ctx->vdev;
	int ret = 0;

	mutex_lock(&vdev->ctx_lock);
	if (vdev->nr_contexts < VRDU_MAX_DEV_CONTEXTS) {
		list_add_tail(&ctx->node, &vdev->contexts);
		vdev->nr_contexts++;
	} else {
		ret = -ENOSPC;
	}
	mutex_unlock(&vdev->ctx_lock);
	return ret;
}

static void vrdu_ctx_unlink(struct vrdu_ctx *ctx)
{
	struct vrdu_device *vdev = ctx->vdev;

	mutex_lock(&vdev->ctx_lock);
	if (!list_empty(&ctx->node)) {
		list_del_init(&ctx->node);
		vdev->nr_contexts--;
	}
	mutex_unlock(&vdev->ctx_lock);
}

/* The end of a context that no lookup finds any more; drops the handle's reference. */
static void vrdu_ctx_end(struct vrdu_ctx *ctx, struct drm_file *file)
{
	vrdu_ctx_kill(ctx, -ECANCELED);
	vrdu_ctx_unlink(ctx);
	vrdu_ctl_revoke(ctx->ctl, file);
	vrdu_ctx_put(ctx);
}

/**
 * vrdu_ctx_create() - CONTEXT_CREATE.
 * @file: Owner.
 * @id: Out: handle.
 * @status_offset: Out: mmap() offset of the status page.
 *
 * Inside drm_dev_enter(), so that an unplug either finds the context in the
 * device's list or lets none be made.
 *
 * Return: 0, -ENODEV, -ENOSPC, -ENOMEM.
 */
int vrdu_ctx_create(struct drm_file *file, u32 *id, u64 *status_offset)
{
	struct vrdu_file *vf = file->driver_priv;
	struct vrdu_ctx *ctx;
	u32 new_id;
	int idx;
	int ret;

	if (!drm_dev_enter(&vf->vdev->drm, &idx))
		return -ENODEV;

	ret = xa_alloc(&vf->contexts, &new_id, NULL, XA_LIMIT(1, VRDU_MAX_CONTEXTS), GFP_KERNEL);
	if (ret) {
		ret = ret == -EBUSY ? -ENOSPC : ret;
		goto out;
	}

	ctx = vrdu_ctx_alloc(vf);
	if (IS_ERR(ctx)) {
		ret = PTR_ERR(ctx);
		goto err_id;
	}
	ctx->id = new_id;

	ret = vrdu_ctl_allow(ctx->ctl, file);
	if (ret)
		goto err_kill;

	ret = vrdu_ctx_link(ctx);
	if (ret)
		goto err_end;

	*id = new_id;
	*status_offset = vrdu_ctl_offset(ctx->ctl);
	/* Cannot fail: the slot exists. From here on another thread may destroy it. */
	xa_store(&vf->contexts, new_id, ctx, GFP_KERNEL);
	goto out;

err_end:
	vrdu_ctl_revoke(ctx->ctl, file);
err_kill:
	vrdu_ctx_kill(ctx, -ECANCELED);
	vrdu_ctx_put(ctx);
err_id:
	xa_erase(&vf->contexts, new_id);
out:
	drm_dev_exit(idx);
	return ret;
}

/**
 * vrdu_ctx_lookup() - the context of a handle, with a reference.
 * @vf: File.
 * @id: Handle.
 *
 * Return: the context or NULL.
 */
struct vrdu_ctx *vrdu_ctx_lookup(struct vrdu_file *vf, u32 id)
{
	struct vrdu_ctx *ctx;

	xa_lock(&vf->contexts);
	ctx = xa_load(&vf->contexts, id);
	if (ctx)
		kref_get(&ctx->ref);
	xa_unlock(&vf->contexts);
	return ctx;
}

/**
 * vrdu_ctx_destroy() - CONTEXT_DESTROY.
 * @file: Owner.
 * @id: Handle.
 *
 * Return: 0 or -ENOENT.
 */
int vrdu_ctx_destroy(struct drm_file *file, u32 id)
{
	struct vrdu_file *vf = file->driver_priv;
	struct vrdu_ctx *ctx;

	/* Not xa_erase(): a reserved id must stay with its creator. */
	xa_lock(&vf->contexts);
	ctx = xa_load(&vf->contexts, id);
	if (ctx)
		__xa_erase(&vf->contexts, id);
	xa_unlock(&vf->contexts);
	if (!ctx)
		return -ENOENT;

	vrdu_ctx_end(ctx, file);
	return 0;
}

/** vrdu_ctx_close() - the file is closed: end all its contexts. */
void vrdu_ctx_close(struct drm_file *file)
{
	struct vrdu_file *vf = file->driver_priv;
	struct vrdu_ctx *ctx;
	unsigned long id;

	xa_for_each(&vf->contexts, id, ctx) {
		xa_erase(&vf->contexts, id);
		vrdu_ctx_end(ctx, file);
	}
}

/* After this nothing of @ctx is queued or rung any more. */
static void vrdu_ctx_set_error(struct vrdu_ctx *ctx, int error)
{
	spin_lock_irq(&ctx->lock);
	if (!ctx->error)
		ctx->error = error;
	spin_unlock_irq(&ctx->lock);
}

/**
 * vrdu_ctx_unplug() - the device is unplugged: kill every context of every file.
 * @vdev: Device.
 *
 * All of them stop first, so that work of one that waits for the fence of
 * another does not start when that one dies.
 */
void vrdu_ctx_unplug(struct vrdu_device *vdev)
{
	struct vrdu_ctx *ctx;

	mutex_lock(&vdev->ctx_lock);
	list_for_each_entry(ctx, &vdev->contexts, node)
		vrdu_ctx_set_error(ctx, -ENODEV);
	list_for_each_entry(ctx, &vdev->contexts, node)
		vrdu_ctx_kill(ctx, -ENODEV);
	mutex_unlock(&vdev->ctx_lock);
}

/**
 * vrdu_ctx_kill() - no more work by this context.
 * @ctx: Context; may be dead already, or dying in another thread.
 * @error: What its fences get, and the status page.
 *
 * When it returns, the engine has left and all fences have signalled, except
 * those that another thread is just signalling.
 */
void vrdu_ctx_kill(struct vrdu_ctx *ctx, int error)
{
	vrdu_ctx_set_error(ctx, error);
	wake_up_all(&ctx->space);

	vrdu_fw_queue_detach(ctx->fwq, error);
	vrdu_queue_abort(ctx, error);
}

/** vrdu_ctx_check() - 0, or the error of a context that takes no more work. */
int vrdu_ctx_check(struct vrdu_ctx *ctx)
{
	int error;

	spin_lock_irq(&ctx->lock);
	error = ctx->error;
	spin_unlock_irq(&ctx->lock);

	if (!error)
		return 0;
	return error == -ENODEV ? -ENODEV : -ECANCELED;
}

/** vrdu_ctx_info() - QUERY of a context. */
void vrdu_ctx_info(struct vrdu_ctx *ctx, struct drm_vrdu_context_info *info)
{
	info->programs = vrdu_program_count(ctx);
	info->mappings = READ_ONCE(ctx->vm->mappings);

	spin_lock_irq(&ctx->lock);
	info->error = ctx->error;
	info->completed = ctx->completed;
	spin_unlock_irq(&ctx->lock);
	/* After completed, so that it never looks smaller. */
	info->submitted = READ_ONCE(ctx->seqno);
}
