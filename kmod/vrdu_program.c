// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs: images that the verifier accepted, resident in a context. The
 * context's xarray is at once the user's name space and the device's program
 * table; an entry leaves it when the last call that uses it has been reaped,
 * so a destroyed id is not given out again while the ring still names it.
 *
 * Called by the ioctls, by vrdu_submit.c (lookups) and by the device half.
 */
#include <linux/slab.h>

#include "fm.h"
#include "vrdu_ctx.h"
#include "vrdu_program.h"

/**
 * vrdu_program_create() - verify an image and make it a program.
 * @ctx: Context.
 * @image: Kernel copy of the image, 8-byte aligned.
 * @size: Bytes.
 * @log: Receives the verifier's text, also on refusal.
 * @id: Out: handle.
 * @symbols: Out: arguments of a call.
 *
 * Return: 0, -EINVAL (refused), -ENOSPC (too many programs), -ENOMEM.
 */
int vrdu_program_create(struct vrdu_ctx *ctx, const void *image, u32 size, struct fm_log *log,
			u32 *id, u32 *symbols)
{
	struct vrdu_program *prog;
	u32 new_id;
	int ret;

	/* The handle is reserved empty and shows the program when that is complete. */
	ret = xa_alloc(&ctx->programs, &new_id, NULL, XA_LIMIT(1, VRDU_MAX_PROGRAMS), GFP_KERNEL);
	if (ret)
		return ret == -EBUSY ? -ENOSPC : ret;

	prog = kzalloc(sizeof(*prog), GFP_KERNEL_ACCOUNT);
	if (!prog) {
		ret = -ENOMEM;
		goto err_id;
	}

	ret = fm_program_create(image, size, ctx->vdev->profile, log, &prog->fm);
	if (ret)
		goto err_free;

	kref_init(&prog->ref);
	prog->ctx = ctx;
	prog->id = new_id;
	prog->symbols = fm_program_symbols(prog->fm);
	*id = prog->id;
	*symbols = prog->symbols;
	vrdu_live_get(VRDU_LIVE_PROGRAM);

	/* Cannot fail: the slot exists. From here on another thread may destroy it. */
	xa_store(&ctx->programs, new_id, prog, GFP_KERNEL);
	return 0;

err_free:
	kfree(prog);
err_id:
	xa_erase(&ctx->programs, new_id);
	return ret;
}

static void vrdu_program_release(struct kref *ref)
{
	struct vrdu_program *prog = container_of(ref, struct vrdu_program, ref);

	xa_erase(&prog->ctx->programs, prog->id);
	fm_program_destroy(prog->fm);
	kfree(prog);
	vrdu_live_put(VRDU_LIVE_PROGRAM);
}

/** vrdu_program_put() - drop a reference; process context. */
void vrdu_program_put(struct vrdu_program *prog)
{
	kref_put(&prog->ref, vrdu_program_release);
}

/**
 * vrdu_program_lookup() - the live program of a handle, with a reference.
 * @ctx: Context.
 * @id: Handle.
 *
 * Return: the program or NULL.
 */
struct vrdu_program *vrdu_program_lookup(struct vrdu_ctx *ctx, u32 id)
{
	struct vrdu_program *prog;

	xa_lock(&ctx->programs);
	prog = xa_load(&ctx->programs, id);
	if (prog && !prog->destroyed)
		kref_get(&prog->ref);
	else
		prog = NULL;
	xa_unlock(&ctx->programs);
	return prog;
}

/**
 * vrdu_program_destroy() - drop the user's handle; calls in the ring keep it.
 * @ctx: Context.
 * @id: Handle.
 *
 * Return: 0 or -ENOENT.
 */
int vrdu_program_destroy(struct vrdu_ctx *ctx, u32 id)
{
	struct vrdu_program *prog;

	xa_lock(&ctx->programs);
	prog = xa_load(&ctx->programs, id);
	if (prog && !prog->destroyed)
		prog->destroyed = true;
	else
		prog = NULL;
	xa_unlock(&ctx->programs);
	if (!prog)
		return -ENOENT;

	vrdu_program_put(prog);
	/* Calls that have ended but were not reaped may hold the rest. */
	vrdu_queue_reap_soon(ctx);
	return 0;
}

/** vrdu_program_destroy_all() - drop all handles of a dead context. */
void vrdu_program_destroy_all(struct vrdu_ctx *ctx)
{
	struct vrdu_program *prog;
	unsigned long id;

	xa_for_each(&ctx->programs, id, prog)
		if (!prog->destroyed)
			vrdu_program_put(prog);
}

/** vrdu_program_count() - programs that have a handle. */
u32 vrdu_program_count(struct vrdu_ctx *ctx)
{
	struct vrdu_program *prog;
	unsigned long id;
	u32 count = 0;

	xa_lock(&ctx->programs);
	xa_for_each(&ctx->programs, id, prog)
		count += !prog->destroyed;
	xa_unlock(&ctx->programs);
	return count;
}

/**
 * vrdu_program_device_lookup() - what the device runs for handle @id.
 * @owner: Context.
 * @id: Handle, from a packet.
 *
 * Device thread. The submission that the packet belongs to holds the program.
 *
 * Return: the program or NULL.
 */
struct fm_program *vrdu_program_device_lookup(void *owner, u32 id)
{
	struct vrdu_ctx *ctx = owner;
	struct vrdu_program *prog = xa_load(&ctx->programs, id);

	return prog ? prog->fm : NULL;
}
