/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: buffers; see vrdu_bo.c. */
#ifndef VRDU_BO_H
#define VRDU_BO_H

#include <drm/drm_gem.h>

#include "vrdu_device.h"

/**
 * struct vrdu_bo - a buffer in device memory.
 * @base: GEM object.
 * @flags: DRM_VRDU_BO_* bits; they choose tier and phantom.
 * @pages: All pages of the buffer, from creation to the end; NULL if phantom.
 * @lock: Guards @vaddr and @dummy.
 * @vaddr: Kernel mapping, made at the first bind or PRIME vmap and kept; or NULL.
 * @dummy: Page shown to mappings after the unplug; private to this buffer, so
 *	that nothing leaks between files. NULL until needed.
 */
struct vrdu_bo {
	struct drm_gem_object base;
	u32 flags;
	struct page **pages;
	/* Below vrdu_vm.lock and dma_resv. */
	struct mutex lock;
	void *vaddr;
	struct page *dummy;
};

int vrdu_bo_create(struct drm_file *file, u64 *size, u32 flags, u32 *handle);
int vrdu_bo_mmap_offset(struct drm_file *file, u32 handle, u64 *offset);
struct vrdu_bo *vrdu_bo_lookup(struct drm_file *file, u32 handle);
int vrdu_bo_vmap(struct vrdu_bo *bo);

static inline struct vrdu_bo *to_vrdu_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct vrdu_bo, base);
}

static inline bool vrdu_bo_is_phantom(const struct vrdu_bo *bo)
{
	return bo->flags & DRM_VRDU_BO_PHANTOM;
}

#endif /* VRDU_BO_H */
