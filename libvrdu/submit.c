// SPDX-License-Identifier: MIT
/*
 * Submission: calls are checked in full, translated into the driver's records
 * in the context's scratch, and handed to the backend in one go. Graphs, which
 * do the first two steps once, enter at vrdu_submit_raw().
 */
#include "ops.h"

#include <inttypes.h>

int vrdu_call_check(struct vrdu_context *ctx, const struct vrdu_call *call, uint32_t index)
{
	const struct vrdu_symbol *symbols;
	uint32_t i;

	if (!call->prog)
		return vrdu_fail(-EINVAL, "call %u: no program", index);
	if (call->prog->ctx != ctx)
		return vrdu_fail(-EINVAL, "call %u: the program belongs to another context", index);
	if (call->flags & ~VRDU_CALL_FLAGS)
		return vrdu_fail(-EINVAL, "call %u: unknown flags 0x%x", index, call->flags);
	if (call->arg_count != call->prog->symbols)
		return vrdu_fail(-EINVAL, "call %u: %u arguments, program \"%s\" takes %u", index,
				 call->arg_count,
				 vrdu_image_string(call->prog->image,
						   vrdu_image_header(call->prog->image)->name),
				 call->prog->symbols);
	if (call->arg_count && !call->args)
		return vrdu_fail(-EINVAL, "call %u: no arguments", index);
	symbols = vrdu_image_symbol_table(call->prog->image);
	for (i = 0; i < call->arg_count; i++) {
		const struct vrdu_arg *a = &call->args[i];
		uint64_t span = vrdu_symbol_span(&symbols[i]);
		const char *name = vrdu_image_string(call->prog->image, symbols[i].name);

		if (!a->bo)
			return vrdu_fail(-EINVAL, "call %u: argument \"%s\" has no buffer", index,
					 name);
		if (a->bo->ctx != ctx)
			return vrdu_fail(-EINVAL,
					 "call %u: argument \"%s\" is a buffer of another context",
					 index, name);
		if (a->offset > a->bo->size || span > a->bo->size - a->offset)
			return vrdu_fail(-EINVAL, "call %u: argument \"%s\", %" PRIu64
					 " bytes at %" PRIu64 ", exceeds its buffer of %" PRIu64,
					 index, name, span, a->offset, a->bo->size);
	}
	return 0;
}

/* Make the scratch long enough; the context is locked. */
static int reserve(struct vrdu_context *ctx, uint32_t calls, uint32_t args)
{
	void *p;

	if (calls > ctx->calls_cap) {
		p = realloc(ctx->calls, (size_t)calls * sizeof(*ctx->calls));
		if (!p)
			return vrdu_nomem();
		ctx->calls = p;
		ctx->calls_cap = calls;
	}
	if (args > ctx->args_cap) {
		p = realloc(ctx->args, (size_t)args * sizeof(*ctx->args));
		if (!p)
			return vrdu_nomem();
		ctx->args = p;
		ctx->args_cap = args;
	}
	return 0;
}

static int check_points(struct vrdu_context *ctx, const char *what, const struct vrdu_point *points,
			uint32_t n)
{
	/* A backend may need one for itself. */
	const uint32_t limit = DRM_VRDU_MAX_SYNCS - 1;
	uint32_t i;

	if (n > limit)
		return vrdu_fail(-EINVAL, "submit: %u %ss, limit %u", n, what, limit);
	if (n && !points)
		return vrdu_fail(-EINVAL, "submit: no %ss", what);
	for (i = 0; i < n; i++) {
		if (!points[i].timeline || points[i].timeline->dev != ctx->dev)
			return vrdu_fail(-EINVAL, "submit: %s %u has no timeline of this device",
					 what, i);
		if (!points[i].value)
			return vrdu_fail(-EINVAL, "submit: %s %u is point 0", what, i);
	}
	return 0;
}

static int submit_locked(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
			 const struct vrdu_point *waits, uint32_t n_waits,
			 const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno)
{
	uint64_t last;
	int ret;

	/* The page knows of a failure before the driver has heard of it. */
	if (__atomic_load_n(&ctx->status->error, __ATOMIC_ACQUIRE))
		return -ECANCELED;
	ret = ctx->dev->ops->submit(ctx, calls, n, waits, n_waits, signals, n_signals, &last);
	if (ret)
		return ret;
	ctx->submitted = last;
	if (seqno)
		*seqno = last;
	return 0;
}

/* A submission to a failed context says what failed. Not under the lock. */
static int explain(struct vrdu_context *ctx, int ret)
{
	if (ret == -ECANCELED && __atomic_load_n(&ctx->status->error, __ATOMIC_ACQUIRE))
		return vrdu_context_error(ctx, ret);
	return ret;
}

int vrdu_submit_raw(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
		    const struct vrdu_point *waits, uint32_t n_waits,
		    const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno)
{
	int ret;

	pthread_mutex_lock(&ctx->lock);
	ret = submit_locked(ctx, calls, n, waits, n_waits, signals, n_signals, seqno);
	pthread_mutex_unlock(&ctx->lock);
	return explain(ctx, ret);
}

int vrdu_submit(struct vrdu_context *ctx, const struct vrdu_call *calls, uint32_t n,
		const struct vrdu_point *waits, uint32_t n_waits,
		const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno)
{
	uint32_t i, j, args = 0;
	uint64_t *arg;
	int ret;

	if (!ctx || !calls)
		return vrdu_fail(-EINVAL, "submit: no %s", ctx ? "calls" : "context");
	if (!n || n > ctx->dev->info.max_calls)
		return vrdu_fail(-EINVAL, "submit: %u calls, not 1 … %u", n,
				 ctx->dev->info.max_calls);
	for (i = 0; i < n; i++) {
		ret = vrdu_call_check(ctx, &calls[i], i);
		if (ret)
			return ret;
		args += calls[i].arg_count;
	}
	ret = check_points(ctx, "wait", waits, n_waits);
	if (!ret)
		ret = check_points(ctx, "signal", signals, n_signals);
	if (ret)
		return ret;
	pthread_mutex_lock(&ctx->lock);
	ret = reserve(ctx, n, args);
	if (ret)
		goto out;
	arg = ctx->args;
	for (i = 0; i < n; i++) {
		ctx->calls[i] = (struct drm_vrdu_call){
			.program = calls[i].prog->id,
			.flags = calls[i].flags,
			.arg_count = calls[i].arg_count,
			.args = (uintptr_t)arg,
		};
		for (j = 0; j < calls[i].arg_count; j++)
			*arg++ = calls[i].args[j].bo->va + calls[i].args[j].offset;
	}
	ret = submit_locked(ctx, ctx->calls, n, waits, n_waits, signals, n_signals, seqno);
out:
	pthread_mutex_unlock(&ctx->lock);
	return explain(ctx, ret);
}
