// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control pages: a kernel page that user space maps and can only read (the
 * status page of a queue). It is a GEM object without a handle, so that it has
 * an mmap offset, an access list and a lifetime that follows its mappings;
 * it can never be exported, because a dma-buf mapping would escape the unplug.
 *
 * Made and freed by vrdu_ctx.c; the page is written by the device half.
 */
#include <linux/mm.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>

#include "vrdu_ctl.h"

/**
 * struct vrdu_ctl - a control page.
 * @base: GEM object; one reference is the context's, one each mapping's.
 * @page: The page, zeroed at creation, charged to the creator.
 */
struct vrdu_ctl {
	struct drm_gem_object base;
	struct page *page;
};

static struct vrdu_ctl *to_vrdu_ctl(struct drm_gem_object *obj)
{
	return container_of(obj, struct vrdu_ctl, base);
}

static void vrdu_ctl_gem_free(struct drm_gem_object *obj)
{
	struct vrdu_ctl *ctl = to_vrdu_ctl(obj);

	drm_gem_object_release(obj);
	if (ctl->page)
		__free_page(ctl->page);
	kfree(ctl);
	vrdu_live_put(VRDU_LIVE_CTL);
}

static struct dma_buf *vrdu_ctl_gem_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int vrdu_ctl_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;

	/* Without the MAY bits mprotect() cannot give back what mmap() refuses. */
	vm_flags_mod(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	return 0;
}

static vm_fault_t vrdu_ctl_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct drm_gem_object *obj = vma->vm_private_data;
	unsigned long pfn = page_to_pfn(to_vrdu_ctl(obj)->page);
	vm_fault_t ret;
	int idx;

	/* One page: the offset manager lets nobody map more or beside it. */
	if (!drm_dev_enter(obj->dev, &idx))
		return vmf_insert_pfn(vma, vmf->address, my_zero_pfn(vmf->address));

	ret = vmf_insert_pfn(vma, vmf->address, pfn);
	drm_dev_exit(idx);
	return ret;
}

static const struct vm_operations_struct vrdu_ctl_vm_ops = {
	.fault = vrdu_ctl_fault,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs vrdu_ctl_funcs = {
	.free = vrdu_ctl_gem_free,
	.export = vrdu_ctl_gem_export,
	.mmap = vrdu_ctl_gem_mmap,
	.vm_ops = &vrdu_ctl_vm_ops,
};

/**
 * vrdu_ctl_create() - a zeroed control page that nobody may map yet.
 * @vdev: Device.
 *
 * Return: the page or an ERR_PTR (-ENOMEM, -ENOSPC).
 */
struct vrdu_ctl *vrdu_ctl_create(struct vrdu_device *vdev)
{
	struct vrdu_ctl *ctl;
	int ret = -ENOMEM;

	ctl = kzalloc(sizeof(*ctl), GFP_KERNEL_ACCOUNT);
	if (!ctl)
		return ERR_PTR(-ENOMEM);

	vrdu_live_get(VRDU_LIVE_CTL);
	ctl->base.funcs = &vrdu_ctl_funcs;
	drm_gem_private_object_init(&vdev->drm, &ctl->base, PAGE_SIZE);

	ctl->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!ctl->page)
		goto err;

	ret = drm_gem_create_mmap_offset(&ctl->base);
	if (ret)
		goto err;
	return ctl;

err:
	vrdu_ctl_put(ctl);
	return ERR_PTR(ret);
}

/** vrdu_ctl_allow() - let @file map the page. Return: 0 or -ENOMEM. */
int vrdu_ctl_allow(struct vrdu_ctl *ctl, struct drm_file *file)
{
	return drm_vma_node_allow(&ctl->base.vma_node, file);
}

/** vrdu_ctl_revoke() - no new mapping by @file; those that exist stay. */
void vrdu_ctl_revoke(struct vrdu_ctl *ctl, struct drm_file *file)
{
	drm_vma_node_revoke(&ctl->base.vma_node, file);
}

/** vrdu_ctl_put() - drop the context's reference. */
void vrdu_ctl_put(struct vrdu_ctl *ctl)
{
	drm_gem_object_put(&ctl->base);
}

/** vrdu_ctl_vaddr() - where the kernel writes the page. */
void *vrdu_ctl_vaddr(struct vrdu_ctl *ctl)
{
	return page_address(ctl->page);
}

/** vrdu_ctl_offset() - where user space maps the page. */
u64 vrdu_ctl_offset(struct vrdu_ctl *ctl)
{
	return drm_vma_node_offset_addr(&ctl->base.vma_node);
}
