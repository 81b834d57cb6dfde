// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: GEM objects backed by shmem pages. All pages are taken in the
 * CREATE ioctl, so that the caller is charged and the device thread never
 * allocates; they stay until the object goes. Phantom buffers have a size and
 * a tier but no pages.
 *
 * User mappings are shared only and insert pages by file offset, never by
 * the distance from vm_start, which a partial munmap changes. After an unplug
 * they show a zeroed page instead of raising SIGBUS.
 *
 * Called by the ioctls (vrdu_drv.c), by vrdu_vm.c, and by GEM and PRIME.
 */
#include <linux/dma-buf.h>
#include <linux/iosys-map.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/shmem_fs.h>
#include <linux/vmalloc.h>
#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "vrdu_bo.h"

/* Pages that one fault inserts around its address. */
#define VRDU_BO_FAULT_AROUND	16

static void vrdu_bo_put_pages(struct vrdu_bo *bo)
{
	size_t i;

	if (!bo->pages)
		return;

	/* An unfinished array ends at its first NULL. */
	for (i = 0; i < bo->base.size >> PAGE_SHIFT && bo->pages[i]; i++)
		put_page(bo->pages[i]);
	mapping_clear_unevictable(bo->base.filp->f_mapping);
	kvfree(bo->pages);
	bo->pages = NULL;
}

/* Like drm_gem_get_pages(), but a killed caller does not fill memory to the end. */
static int vrdu_bo_get_pages(struct vrdu_bo *bo)
{
	struct address_space *mapping = bo->base.filp->f_mapping;
	size_t n = bo->base.size >> PAGE_SHIFT;
	struct page *page;
	size_t i;
	int ret;

	bo->pages = kvcalloc(n, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!bo->pages)
		return -ENOMEM;

	/* The pages are kept: not the movable zone, and rather an error than the OOM killer. */
	mapping_set_gfp_mask(mapping, GFP_USER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	mapping_set_unevictable(mapping);

	for (i = 0; i < n; i++) {
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			goto err;
		}
		page = shmem_read_mapping_page(mapping, i);
		if (IS_ERR(page)) {
			ret = PTR_ERR(page);
			goto err;
		}
		bo->pages[i] = page;
		cond_resched();
	}
	return 0;

err:
	vrdu_bo_put_pages(bo);
	return ret;
}

static void vrdu_bo_gem_free(struct drm_gem_object *obj)
{
	struct vrdu_device *vdev = to_vrdu_device(obj->dev);
	struct vrdu_bo *bo = to_vrdu_bo(obj);

	if (bo->vaddr)
		vunmap(bo->vaddr);
	vrdu_bo_put_pages(bo);
	if (bo->dummy)
		__free_page(bo->dummy);
	vrdu_device_uncharge(vdev, bo->flags, obj->size);
	drm_gem_object_release(obj);
	mutex_destroy(&bo->lock);
	kfree(bo);
	vrdu_live_put(VRDU_LIVE_BO);
}

static struct dma_buf *vrdu_bo_gem_export(struct drm_gem_object *obj, int flags)
{
	if (vrdu_bo_is_phantom(to_vrdu_bo(obj)))
		return ERR_PTR(-EINVAL);

	return drm_gem_prime_export(obj, flags);
}

static struct sg_table *vrdu_bo_gem_sg_table(struct drm_gem_object *obj)
{
	return drm_prime_pages_to_sg(obj->dev, to_vrdu_bo(obj)->pages, obj->size >> PAGE_SHIFT);
}

static int vrdu_bo_gem_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct vrdu_bo *bo = to_vrdu_bo(obj);
	int ret;

	ret = vrdu_bo_vmap(bo);
	if (!ret)
		iosys_map_set_vaddr(map, bo->vaddr);
	return ret;
}

static int vrdu_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (vrdu_bo_is_phantom(to_vrdu_bo(obj)))
		return -EINVAL;
	/* Copy-on-write of a PFN mapping is a BUG_ON in mm: never let one be made. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;

	vm_flags_set(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

static enum drm_gem_object_status vrdu_bo_gem_status(struct drm_gem_object *obj)
{
	return vrdu_bo_is_phantom(to_vrdu_bo(obj)) ? 0 : DRM_GEM_OBJECT_RESIDENT;
}

static vm_fault_t vrdu_bo_fault_dummy(struct vrdu_bo *bo, struct vm_fault *vmf)
{
	mutex_lock(&bo->lock);
	if (!bo->dummy)
		bo->dummy = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	mutex_unlock(&bo->lock);
	if (!bo->dummy)
		return VM_FAULT_OOM;

	return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(bo->dummy));
}

static vm_fault_t vrdu_bo_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	struct vrdu_bo *bo = to_vrdu_bo(obj);
	unsigned long start = drm_vma_node_start(&obj->vma_node);
	unsigned long first, last, i, at;
	vm_fault_t ret;
	int idx;

	at = vmf->pgoff - start;
	if (at >= obj->size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;

	if (!drm_dev_enter(obj->dev, &idx))
		return vrdu_bo_fault_dummy(bo, vmf);

	ret = vmf_insert_pfn(vma, vmf->address, page_to_pfn(bo->pages[at]));

	/* The neighbours in the same aligned block, as far as this VMA goes. */
	first = max(round_down(at, VRDU_BO_FAULT_AROUND), vma->vm_pgoff - start);
	last = min3(round_down(at, VRDU_BO_FAULT_AROUND) + VRDU_BO_FAULT_AROUND,
		    vma->vm_pgoff - start + vma_pages(vma), obj->size >> PAGE_SHIFT);
	for (i = first; i < last && ret == VM_FAULT_NOPAGE; i++)
		if (i != at)
			ret = vmf_insert_pfn(vma, vma->vm_start +
					     ((start + i - vma->vm_pgoff) << PAGE_SHIFT),
					     page_to_pfn(bo->pages[i]));

	drm_dev_exit(idx);
	return ret;
}

static const struct vm_operations_struct vrdu_bo_vm_ops = {
	.fault = vrdu_bo_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs vrdu_bo_funcs = {
	.free = vrdu_bo_gem_free,
	.export = vrdu_bo_gem_export,
	.get_sg_table = vrdu_bo_gem_sg_table,
	.vmap = vrdu_bo_gem_vmap,
	.mmap = vrdu_bo_gem_mmap,
	.status = vrdu_bo_gem_status,
	.vm_ops = &vrdu_bo_vm_ops,
};

static struct vrdu_bo *vrdu_bo_alloc(struct vrdu_device *vdev, u64 size, u32 flags)
{
	struct vrdu_bo *bo;
	int ret;

	ret = vrdu_device_charge(vdev, flags, size);
	if (ret)
		return ERR_PTR(ret);

	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo) {
		vrdu_device_uncharge(vdev, flags, size);
		return ERR_PTR(-ENOMEM);
	}

	vrdu_live_get(VRDU_LIVE_BO);
	mutex_init(&bo->lock);
	bo->flags = flags;
	bo->base.funcs = &vrdu_bo_funcs;

	if (flags & DRM_VRDU_BO_PHANTOM) {
		drm_gem_private_object_init(&vdev->drm, &bo->base, size);
		return bo;
	}

	/* From here on the object can be dropped by its reference. */
	ret = drm_gem_object_init(&vdev->drm, &bo->base, size);
	if (!ret)
		ret = drm_gem_create_mmap_offset(&bo->base);
	if (!ret)
		ret = vrdu_bo_get_pages(bo);
	if (ret) {
		drm_gem_object_put(&bo->base);
		/* shmem may say "no space" when it finds no inode: here that is a full tier. */
		return ERR_PTR(ret == -ENOSPC ? -ENOMEM : ret);
	}
	return bo;
}

/**
 * vrdu_bo_create() - BO_CREATE.
 * @file: Owner of the handle.
 * @size: In: bytes. Out: rounded up to pages.
 * @flags: DRM_VRDU_BO_* bits, checked.
 * @handle: Out: GEM handle.
 *
 * Return: 0, -EINVAL (size 0), -ENOSPC (tier full), -ENOMEM, -EINTR (killed).
 */
int vrdu_bo_create(struct drm_file *file, u64 *size, u32 flags, u32 *handle)
{
	struct vrdu_device *vdev = to_vrdu_device(file->minor->dev);
	struct vrdu_bo *bo;
	u64 bytes;
	int ret;

	if (!*size)
		return -EINVAL;
	/* Before rounding: a tier is far below the point where rounding wraps. */
	if (*size > vrdu_device_tier(vdev, flags)->total)
		return -ENOSPC;
	bytes = round_up(*size, PAGE_SIZE);
	if (!(flags & DRM_VRDU_BO_PHANTOM) && bytes >> PAGE_SHIFT > totalram_pages())
		return -ENOMEM;

	bo = vrdu_bo_alloc(vdev, bytes, flags);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = drm_gem_handle_create(file, &bo->base, handle);
	drm_gem_object_put(&bo->base);
	if (!ret)
		*size = bytes;
	return ret;
}

/**
 * vrdu_bo_mmap_offset() - BO_MMAP_OFFSET.
 * @file: Owner of the handle.
 * @handle: GEM handle.
 * @offset: Out: for mmap().
 *
 * Return: 0, -ENOENT, -EINVAL (phantom).
 */
int vrdu_bo_mmap_offset(struct drm_file *file, u32 handle, u64 *offset)
{
	struct vrdu_bo *bo = vrdu_bo_lookup(file, handle);
	int ret = 0;

	if (!bo)
		return -ENOENT;
	if (vrdu_bo_is_phantom(bo))
		ret = -EINVAL;
	else
		*offset = drm_vma_node_offset_addr(&bo->base.vma_node);
	drm_gem_object_put(&bo->base);
	return ret;
}

/**
 * vrdu_bo_lookup() - the buffer of a handle, with a reference.
 * @file: Owner of the handle.
 * @handle: GEM handle.
 *
 * Every object with a handle is a buffer: control pages have none, and foreign
 * dma-bufs cannot be imported.
 *
 * Return: the buffer or NULL.
 */
struct vrdu_bo *vrdu_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_vrdu_bo(obj) : NULL;
}

/**
 * vrdu_bo_vmap() - make sure that bo->vaddr is set; it stays until the end.
 * @bo: Buffer, not phantom.
 *
 * Return: 0 or -ENOMEM.
 */
int vrdu_bo_vmap(struct vrdu_bo *bo)
{
	int ret = 0;

	mutex_lock(&bo->lock);
	if (!bo->vaddr)
		bo->vaddr = vmap(bo->pages, bo->base.size >> PAGE_SHIFT, VM_MAP, PAGE_KERNEL);
	if (!bo->vaddr)
		ret = -ENOMEM;
	mutex_unlock(&bo->lock);
	return ret;
}
