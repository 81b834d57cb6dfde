// SPDX-License-Identifier: MIT
/*
 * Buffers: memory with a device address. Each is mapped whole when it is made
 * and unmapped with its last reference. Addresses come from a next-fit search
 * with a page of nothing after each buffer, so that an overrun faults and an
 * address is not soon used again.
 */
#include "ops.h"

#include <inttypes.h>

/* The list neighbour after which [va, va + need) is free, searching from @from upwards. */
static bool find_gap(struct vrdu_context *ctx, uint64_t from, uint64_t need, uint64_t *va,
		     struct vrdu_bo **prev)
{
	uint64_t guard = ctx->dev->info.page_bytes, at = from;
	struct vrdu_bo *b, *before = NULL;

	for (b = ctx->bos; b; before = b, b = b->next) {
		if (b->va + b->size <= at)
			continue;
		if (b->va >= at && b->va - at >= need)
			break;
		at = b->va + b->size + guard;
	}
	if (at > ctx->dev->va_end || ctx->dev->va_end - at < need)
		return false;
	*va = at;
	*prev = before;
	return true;
}

/* Give @bo an address and a place in the list. */
static int va_take(struct vrdu_context *ctx, struct vrdu_bo *bo)
{
	uint64_t guard = ctx->dev->info.page_bytes;
	struct vrdu_bo *prev;
	int ret = 0;

	pthread_mutex_lock(&ctx->lock);
	if (!find_gap(ctx, ctx->next_va, bo->size + guard, &bo->va, &prev) &&
	    !find_gap(ctx, ctx->dev->va_start, bo->size + guard, &bo->va, &prev)) {
		ret = vrdu_fail(-ENOSPC, "buffer: no free address range of %" PRIu64 " bytes",
				bo->size);
		goto out;
	}
	ctx->next_va = bo->va + bo->size + guard;
	bo->prev = prev;
	bo->next = prev ? prev->next : ctx->bos;
	if (bo->next)
		bo->next->prev = bo;
	if (prev)
		prev->next = bo;
	else
		ctx->bos = bo;
out:
	pthread_mutex_unlock(&ctx->lock);
	return ret;
}

static void va_give(struct vrdu_context *ctx, struct vrdu_bo *bo)
{
	pthread_mutex_lock(&ctx->lock);
	if (bo->prev)
		bo->prev->next = bo->next;
	else
		ctx->bos = bo->next;
	if (bo->next)
		bo->next->prev = bo->prev;
	pthread_mutex_unlock(&ctx->lock);
}

int vrdu_bo_create(struct vrdu_context *ctx, uint64_t size, uint32_t flags, struct vrdu_bo **out)
{
	uint64_t page;
	struct vrdu_bo *bo;
	int ret;

	if (!ctx || !out)
		return vrdu_fail(-EINVAL, "buffer: no %s", ctx ? "place for the result" : "context");
	page = ctx->dev->info.page_bytes;
	if (!size)
		return vrdu_fail(-EINVAL, "buffer: size is 0");
	if (flags & ~(VRDU_BO_DDR | VRDU_BO_PHANTOM | VRDU_BO_READ_ONLY))
		return vrdu_fail(-EINVAL, "buffer: unknown flags 0x%x", flags);
	if (size > ctx->dev->va_end - ctx->dev->va_start - 2 * page)
		return vrdu_fail(-ENOSPC, "buffer: %" PRIu64 " bytes exceed the address space", size);
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return vrdu_nomem();
	vrdu_refs_init(&bo->refs);
	bo->ctx = ctx;
	bo->size = (size + page - 1) / page * page;
	bo->flags = flags;
	ret = ctx->dev->ops->bo_create(bo);
	if (ret)
		goto fail_free;
	ret = va_take(ctx, bo);
	if (ret)
		goto fail_destroy;
	ret = ctx->dev->ops->bind(bo);
	if (ret)
		goto fail_va;
	vrdu_context_ref(ctx);
	*out = bo;
	return 0;

fail_va:
	va_give(ctx, bo);
fail_destroy:
	ctx->dev->ops->bo_destroy(bo);
fail_free:
	free(bo);
	return ret;
}

struct vrdu_bo *vrdu_bo_ref(struct vrdu_bo *bo)
{
	if (bo)
		vrdu_refs_get(&bo->refs);
	return bo;
}

void vrdu_bo_unref(struct vrdu_bo *bo)
{
	struct vrdu_context *ctx;

	if (!bo || !vrdu_refs_put(&bo->refs))
		return;
	ctx = bo->ctx;
	ctx->dev->ops->unbind(bo);
	va_give(ctx, bo);
	if (bo->map)
		ctx->dev->ops->bo_unmap(bo);
	ctx->dev->ops->bo_destroy(bo);
	free(bo);
	vrdu_context_unref(ctx);
}

uint64_t vrdu_bo_size(const struct vrdu_bo *bo)
{
	return bo ? bo->size : 0;
}

uint64_t vrdu_bo_address(const struct vrdu_bo *bo)
{
	return bo ? bo->va : 0;
}

static int map(struct vrdu_bo *bo)
{
	if (!bo)
		return vrdu_fail(-EINVAL, "buffer: there is none");
	if (bo->flags & VRDU_BO_PHANTOM)
		return vrdu_fail(-EINVAL, "buffer at 0x%" PRIx64 " is phantom: it has no pages to map",
				 bo->va);
	return bo->map ? 0 : bo->ctx->dev->ops->bo_map(bo);
}

int vrdu_bo_map(struct vrdu_bo *bo, void **out)
{
	int ret;

	if (!out)
		return vrdu_fail(-EINVAL, "buffer: no place for the pointer");
	ret = map(bo);
	if (!ret)
		*out = bo->map;
	return ret;
}

static int check_range(struct vrdu_bo *bo, uint64_t offset, const void *data, size_t n)
{
	int ret = map(bo);

	if (ret)
		return ret;
	if (n && !data)
		return vrdu_fail(-EINVAL, "buffer: no data");
	if (offset > bo->size || n > bo->size - offset)
		return vrdu_fail(-EINVAL, "buffer: %zu bytes at %" PRIu64 " exceed its %" PRIu64,
				 n, offset, bo->size);
	return 0;
}

int vrdu_bo_write(struct vrdu_bo *bo, uint64_t offset, const void *src, size_t n)
{
	int ret = check_range(bo, offset, src, n);

	if (!ret && n)
		memcpy((char *)bo->map + offset, src, n);
	return ret;
}

int vrdu_bo_read(struct vrdu_bo *bo, uint64_t offset, void *dst, size_t n)
{
	int ret = check_range(bo, offset, dst, n);

	if (!ret && n)
		memcpy(dst, (const char *)bo->map + offset, n);
	return ret;
}
