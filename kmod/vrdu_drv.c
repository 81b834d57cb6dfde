// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module, the drm_driver and the ioctls. This is the only file that sees
 * user pointers: each ioctl checks its struct, copies what it points to into
 * kernel memory, calls the block that does the work, and copies results back.
 * Nothing is copied from or to user memory with a lock held.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>

#include "fm.h"
#include "vrdu_bo.h"
#include "vrdu_bus.h"
#include "vrdu_ctx.h"
#include "vrdu_debugfs.h"
#include "vrdu_device.h"
#include "vrdu_fw.h"
#include "vrdu_program.h"
#include "vrdu_vm.h"

/* Came with 6.12; asked for by feature, as everything here. */
#ifndef FOP_UNSIGNED_OFFSET
#error "vrdu needs Linux 6.12 or newer"
#endif
#ifndef CONFIG_DRM_ACCEL
#error "vrdu needs a kernel with CONFIG_DRM_ACCEL"
#endif
#ifndef CONFIG_64BIT
#error "vrdu needs a 64-bit kernel"
#endif
#ifndef CONFIG_ARCH_HAS_KERNEL_FPU_SUPPORT
#error "vrdu needs an architecture with floating point in the kernel"
#endif

/* What a QUERY may zero-fill, and what a verifier's log may take in the kernel. */
#define VRDU_QUERY_MAX_BYTES	SZ_64K
#define VRDU_LOG_MAX_BYTES	SZ_64K
/* Longest array element of some future user space. */
#define VRDU_STRIDE_MAX		SZ_4K

/* ---- copies ---- */

/*
 * An array of user memory as a kernel array of @elem-sized elements. A shorter
 * stride is refused; what a longer one adds must be zero. NULL if it is empty.
 */
static void *vrdu_array_get(const struct drm_vrdu_array *array, u32 elem, u32 max)
{
	const u8 __user *from = u64_to_user_ptr(array->array);
	u8 *to;
	int ret;
	u32 i;

	if (!array->count)
		return array->stride && array->stride < elem ? ERR_PTR(-EINVAL) : NULL;
	if (array->stride < elem || array->count > max)
		return ERR_PTR(-EINVAL);
	if (array->stride > VRDU_STRIDE_MAX)
		return ERR_PTR(-E2BIG);

	to = kvmalloc_array(array->count, elem, GFP_KERNEL_ACCOUNT);
	if (!to)
		return ERR_PTR(-ENOMEM);

	ret = 0;
	if (array->stride == elem) {
		if (copy_from_user(to, from, (size_t)array->count * elem))
			ret = -EFAULT;
	} else {
		for (i = 0; i < array->count && !ret; i++)
			ret = copy_struct_from_user(to + (size_t)i * elem, elem,
						    from + (size_t)i * array->stride,
						    array->stride);
	}
	if (ret) {
		kvfree(to);
		return ERR_PTR(ret);
	}
	return to;
}

/* The file of an ioctl, which is counted. */
static struct vrdu_file *vrdu_ioctl_file(struct drm_file *file)
{
	struct vrdu_file *vf = file->driver_priv;

	atomic64_inc(&vf->stats.ioctls);
	return vf;
}

/* ---- QUERY ---- */

/**
 * union vrdu_query_data - the answer to a QUERY.
 * @device: For DRM_VRDU_QUERY_DEVICE.
 * @memory: For DRM_VRDU_QUERY_MEMORY.
 * @context: For DRM_VRDU_QUERY_CONTEXT.
 * @host: For DRM_VRDU_QUERY_HOST.
 */
union vrdu_query_data {
	struct drm_vrdu_device_info device;
	struct drm_vrdu_memory_info memory;
	struct drm_vrdu_context_info context;
	struct drm_vrdu_host_counters host;
};

static void vrdu_query_device(struct vrdu_device *vdev, struct drm_vrdu_device_info *info)
{
	const struct fm_profile *profile = vdev->profile;

	*info = (struct drm_vrdu_device_info) {
		.caps = DRM_VRDU_CAP_TIMING,
		.image_major = VRDU_IMAGE_MAJOR,
		.image_minor = VRDU_IMAGE_MINOR,
		.pcus = profile->pcus,
		.pmus = profile->pmus,
		.agcus = profile->agcus,
		.pmu_bytes = profile->pmu_bytes,
		.clock_khz = profile->clock_khz,
		.instance = vdev->instance,
		.hbm_bytes = profile->hbm_bytes,
		.hbm_bytes_per_s = profile->hbm_bytes_per_s,
		.ddr_bytes = profile->ddr_bytes,
		.va_start = VRDU_VA_START,
		.va_end = VRDU_VA_END,
		.page_bytes = PAGE_SIZE,
		.max_contexts = VRDU_MAX_CONTEXTS,
		.max_programs = VRDU_MAX_PROGRAMS,
		.max_calls = DRM_VRDU_MAX_CALLS,
		.max_image_bytes = VRDU_IMAGE_MAX_BYTES,
		.ring_packets = VRDU_RING_PACKETS,
	};
	strscpy((char *)info->profile, profile->name, sizeof(info->profile));
	strscpy((char *)info->math, vrdu_fw_math(vdev), sizeof(info->math));
}

static void vrdu_query_memory(struct vrdu_device *vdev, struct drm_vrdu_memory_info *info)
{
	spin_lock(&vdev->mem_lock);
	info->hbm_total = vdev->hbm.total;
	info->hbm_used = vdev->hbm.used;
	info->ddr_total = vdev->ddr.total;
	info->ddr_used = vdev->ddr.used;
	spin_unlock(&vdev->mem_lock);
}

static int vrdu_query_context(struct vrdu_file *vf, u32 id, struct drm_vrdu_context_info *info)
{
	struct vrdu_ctx *ctx = vrdu_ctx_lookup(vf, id);

	if (!ctx)
		return -ENOENT;

	vrdu_ctx_info(ctx, info);
	vrdu_ctx_put(ctx);
	return 0;
}

static void vrdu_query_host(struct vrdu_file *vf, struct drm_vrdu_host_counters *info)
{
	struct vrdu_stats *stats = &vf->stats;

	*info = (struct drm_vrdu_host_counters) {
		.ioctls = atomic64_read(&stats->ioctls),
		.submits = atomic64_read(&stats->submits),
		.calls = atomic64_read(&stats->calls),
		.doorbells = atomic64_read(&stats->doorbells),
		.wakeups = atomic64_read(&stats->wakeups),
		.poll_hits = atomic64_read(&stats->poll_hits),
		.events = atomic64_read(&stats->events),
		.fences = atomic64_read(&stats->fences),
	};
}

static int vrdu_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vrdu_file *vf = vrdu_ioctl_file(file);
	struct drm_vrdu_query *query = data;
	union vrdu_query_data answer = {};
	void __user *to = u64_to_user_ptr(query->data);
	u32 bytes;
	int ret = 0;

	if (query->pad || query->size > VRDU_QUERY_MAX_BYTES)
		return -EINVAL;
	if (query->type != DRM_VRDU_QUERY_CONTEXT && query->id)
		return -EINVAL;

	switch (query->type) {
	case DRM_VRDU_QUERY_DEVICE:
		bytes = sizeof(answer.device);
		vrdu_query_device(vf->vdev, &answer.device);
		break;
	case DRM_VRDU_QUERY_MEMORY:
		bytes = sizeof(answer.memory);
		vrdu_query_memory(vf->vdev, &answer.memory);
		break;
	case DRM_VRDU_QUERY_CONTEXT:
		bytes = sizeof(answer.context);
		ret = vrdu_query_context(vf, query->id, &answer.context);
		break;
	case DRM_VRDU_QUERY_HOST:
		bytes = sizeof(answer.host);
		vrdu_query_host(vf, &answer.host);
		break;
	default:
		return -EINVAL;
	}
	if (ret)
		return ret;

	if (query->size) {
		if (copy_to_user(to, &answer, min(query->size, bytes)))
			return -EFAULT;
		if (query->size > bytes && clear_user(to + bytes, query->size - bytes))
			return -EFAULT;
	}
	query->size = bytes;
	return 0;
}

/* ---- buffers ---- */

static int vrdu_ioctl_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vrdu_bo_create *args = data;

	vrdu_ioctl_file(file);
	if (args->flags & ~(DRM_VRDU_BO_DDR | DRM_VRDU_BO_PHANTOM))
		return -EINVAL;

	return vrdu_bo_create(file, &args->size, args->flags, &args->handle);
}

static int vrdu_ioctl_bo_mmap_offset(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vrdu_bo_mmap_offset *args = data;

	vrdu_ioctl_file(file);
	if (args->pad)
		return -EINVAL;

	return vrdu_bo_mmap_offset(file, args->handle, &args->offset);
}

/* ---- contexts ---- */

static int vrdu_ioctl_context_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vrdu_context_create *args = data;

	vrdu_ioctl_file(file);
	if (args->kind != DRM_VRDU_CONTEXT_BOUNDED || args->flags || args->pad)
		return -EINVAL;

	return vrdu_ctx_create(file, &args->id, &args->status_offset);
}

static int vrdu_ioctl_context_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vrdu_context_destroy *args = data;

	vrdu_ioctl_file(file);
	if (args->pad)
		return -EINVAL;

	return vrdu_ctx_destroy(file, args->id);
}

static int vrdu_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vrdu_file *vf = vrdu_ioctl_file(file);
	struct drm_vrdu_vm_bind *args = data;
	struct drm_vrdu_bind_op *ops;
	struct vrdu_ctx *ctx;
	int ret;

	if (args->flags || !args->ops.count)
		return -EINVAL;

	ops = vrdu_array_get(&args->ops, sizeof(*ops), DRM_VRDU_MAX_BIND_OPS);
	if (IS_ERR(ops))
		return PTR_ERR(ops);

	ret = -ENOENT;
	ctx = vrdu_ctx_lookup(vf, args->context);
	if (!ctx)
		goto out;

	ret = vrdu_ctx_check(ctx);
	if (!ret)
		ret = vrdu_vm_bind(ctx->vm, file, ops, args->ops.count);
	/* Killed while the engine was inside: the queue is stopped, end its work. */
	if (ret == -EINTR)
		vrdu_ctx_kill(ctx, -ECANCELED);
	vrdu_ctx_put(ctx);
out:
	kvfree(ops);
	return ret;
}

/* ---- programs ---- */

static int vrdu_program_from_user(struct vrdu_ctx *ctx, struct drm_vrdu_program_create *args,
				  struct fm_log *log)
{
	void *image;
	u32 symbols;
	u32 id;
	int ret;

	/* A private copy, so that what was verified is what is used. */
	image = kvmalloc(args->image_size, GFP_KERNEL_ACCOUNT);
	if (!image)
		return -ENOMEM;

	ret = -EFAULT;
	if (copy_from_user(image, u64_to_user_ptr(args->image), args->image_size))
		goto out;

	ret = vrdu_program_create(ctx, image, args->image_size, log, &id, &symbols);
	if (!ret) {
		args->id = id;
		args->symbols = symbols;
	}
out:
	kvfree(image);
	return ret;
}

static int vrdu_ioctl_program_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vrdu_file *vf = vrdu_ioctl_file(file);
	struct drm_vrdu_program_create *args = data;
	struct fm_log log = { .size = min_t(u32, args->log_size, VRDU_LOG_MAX_BYTES) };
	struct vrdu_ctx *ctx;
	int ret;

	if (args->flags || !args->image_size || args->image_size > VRDU_IMAGE_MAX_BYTES)
		return -EINVAL;

	ctx = vrdu_ctx_lookup(vf, args->context);
	if (!ctx)
		return -ENOENT;

	ret = vrdu_ctx_check(ctx);
	if (ret)
		goto out;

	if (log.size) {
		log.buf = kvzalloc(log.size, GFP_KERNEL_ACCOUNT);
		if (!log.buf) {
			ret = -ENOMEM;
			goto out;
		}
	}

	ret = vrdu_program_from_user(ctx, args, &log);
	/* The log is for the refused as well; a fault on it must not hide the verdict. */
	if (log.size && copy_to_user(u64_to_user_ptr(args->log), log.buf,
				     min(log.size, log.len + 1)) && !ret) {
		vrdu_program_destroy(ctx, args->id);
		ret = -EFAULT;
	}
	args->log_size = log.len ? log.len + 1 : 0;
	kvfree(log.buf);
out:
	vrdu_ctx_put(ctx);
	return ret;
}

static int vrdu_ioctl_program_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vrdu_file *vf = vrdu_ioctl_file(file);
	struct drm_vrdu_program_destroy *args = data;
	struct vrdu_ctx *ctx;
	int ret;

	ctx = vrdu_ctx_lookup(vf, args->context);
	if (!ctx)
		return -ENOENT;

	ret = vrdu_program_destroy(ctx, args->id);
	vrdu_ctx_put(ctx);
	return ret;
}

/* ---- SUBMIT ---- */

/* The arguments of all calls in one kernel array; NULL if they have none. */
static u64 *vrdu_submit_args_get(const struct drm_vrdu_call *calls, u32 count)
{
	size_t total = 0;
	u64 *args, *to;
	u32 i;

	for (i = 0; i < count; i++) {
		if (calls[i].arg_count > VRDU_MAX_ARGS)
			return ERR_PTR(-EINVAL);
		total += calls[i].arg_count;
	}
	if (!total)
		return NULL;

	args = kvmalloc_array(total, sizeof(*args), GFP_KERNEL_ACCOUNT);
	if (!args)
		return ERR_PTR(-ENOMEM);

	to = args;
	for (i = 0; i < count; i++) {
		if (copy_from_user(to, u64_to_user_ptr(calls[i].args),
				   calls[i].arg_count * sizeof(*args))) {
			kvfree(args);
			return ERR_PTR(-EFAULT);
		}
		to += calls[i].arg_count;
	}
	return args;
}

static void vrdu_submit_desc_put(struct vrdu_submit_desc *desc)
{
	kvfree(desc->calls);
	kvfree(desc->args);
	kvfree(desc->in_syncs);
	kvfree(desc->out_syncs);
}

static int vrdu_submit_desc_get(struct vrdu_submit_desc *desc, const struct drm_vrdu_submit *args)
{
	void *p;
	int ret;

	*desc = (struct vrdu_submit_desc) {};

	p = vrdu_array_get(&args->calls, sizeof(*desc->calls), DRM_VRDU_MAX_CALLS);
	if (IS_ERR(p))
		return PTR_ERR(p);
	desc->calls = p;
	desc->nr_calls = args->calls.count;

	p = vrdu_array_get(&args->in_syncs, sizeof(*desc->in_syncs), DRM_VRDU_MAX_SYNCS);
	if (IS_ERR(p))
		goto err;
	desc->in_syncs = p;
	desc->nr_in = args->in_syncs.count;

	p = vrdu_array_get(&args->out_syncs, sizeof(*desc->out_syncs), DRM_VRDU_MAX_SYNCS);
	if (IS_ERR(p))
		goto err;
	desc->out_syncs = p;
	desc->nr_out = args->out_syncs.count;

	p = vrdu_submit_args_get(desc->calls, desc->nr_calls);
	if (IS_ERR(p))
		goto err;
	desc->args = p;
	return 0;

err:
	ret = PTR_ERR(p);
	vrdu_submit_desc_put(desc);
	return ret;
}

static int vrdu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vrdu_file *vf = vrdu_ioctl_file(file);
	struct drm_vrdu_submit *args = data;
	struct vrdu_submit_desc desc;
	struct vrdu_ctx *ctx;
	int ret;

	if (args->flags || !args->calls.count)
		return -EINVAL;

	ret = vrdu_submit_desc_get(&desc, args);
	if (ret)
		return ret;

	ctx = vrdu_ctx_lookup(vf, args->context);
	if (ctx) {
		ret = vrdu_submit(ctx, file, &desc, &args->seqno);
		vrdu_ctx_put(ctx);
	} else {
		ret = -ENOENT;
	}
	vrdu_submit_desc_put(&desc);
	return ret;
}

/* ---- files ---- */

static int vrdu_open(struct drm_device *drm, struct drm_file *file)
{
	struct vrdu_file *vf;

	vf = kzalloc(sizeof(*vf), GFP_KERNEL_ACCOUNT);
	if (!vf)
		return -ENOMEM;

	vf->vdev = to_vrdu_device(drm);
	xa_init_flags(&vf->contexts, XA_FLAGS_ALLOC1);
	file->driver_priv = vf;
	vrdu_live_get(VRDU_LIVE_FILE);
	return 0;
}

/* The file's syncobjs and GEM handles are gone already; contexts hold their own references. */
static void vrdu_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct vrdu_file *vf = file->driver_priv;

	vrdu_ctx_close(file);
	xa_destroy(&vf->contexts);
	kfree(vf);
	vrdu_live_put(VRDU_LIVE_FILE);
}

static void vrdu_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct vrdu_file *vf = file->driver_priv;

	drm_printf(p, "drm-engine-fabric:\t%llu ns\n", vrdu_fw_busy_ns(vf->vdev, &vf->stats));
	drm_printf(p, "drm-engine-capacity-fabric:\t1\n");
	drm_show_memory_stats(p, file);
}

static const struct drm_ioctl_desc vrdu_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VRDU_QUERY, vrdu_ioctl_query, 0),
	DRM_IOCTL_DEF_DRV(VRDU_BO_CREATE, vrdu_ioctl_bo_create, 0),
	DRM_IOCTL_DEF_DRV(VRDU_BO_MMAP_OFFSET, vrdu_ioctl_bo_mmap_offset, 0),
	DRM_IOCTL_DEF_DRV(VRDU_CONTEXT_CREATE, vrdu_ioctl_context_create, 0),
	DRM_IOCTL_DEF_DRV(VRDU_CONTEXT_DESTROY, vrdu_ioctl_context_destroy, 0),
	DRM_IOCTL_DEF_DRV(VRDU_VM_BIND, vrdu_ioctl_vm_bind, 0),
	DRM_IOCTL_DEF_DRV(VRDU_PROGRAM_CREATE, vrdu_ioctl_program_create, 0),
	DRM_IOCTL_DEF_DRV(VRDU_PROGRAM_DESTROY, vrdu_ioctl_program_destroy, 0),
	DRM_IOCTL_DEF_DRV(VRDU_SUBMIT, vrdu_ioctl_submit, 0),
};

static const struct file_operations vrdu_fops = {
	.owner = THIS_MODULE,
	DRM_ACCEL_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

const struct drm_driver vrdu_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM | DRIVER_GEM_GPUVA | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = vrdu_open,
	.postclose = vrdu_postclose,
	.show_fdinfo = vrdu_show_fdinfo,
	.ioctls = vrdu_ioctls,
	.num_ioctls = ARRAY_SIZE(vrdu_ioctls),
	.fops = &vrdu_fops,
	.name = VRDU_NAME,
	.desc = "Virtual reconfigurable dataflow unit",
#ifdef VRDU_HAVE_DRM_DRIVER_DATE
	.date = "20261201",
#endif
	/* 1.0: first version of the interface. */
	.major = 1,
	.minor = 0,
};

/* ---- module ---- */

static void vrdu_exit_check(void)
{
	int total = 0;
	int i;

	for (i = 0; i < VRDU_LIVE_KINDS; i++) {
		int count = atomic_read(&vrdu_live_count[i]);

		if (count)
			pr_err(VRDU_NAME ": %d %s still live\n", count, vrdu_live_name[i]);
		total += abs(count);
	}
	WARN_ON(total);
	pr_info(VRDU_NAME ": unloaded, %d objects live\n", total);
}

static int __init vrdu_init(void)
{
	int ret;

	vrdu_debugfs_module_init();
	ret = vrdu_bus_init();
	if (ret)
		vrdu_debugfs_module_fini();
	return ret;
}

static void __exit vrdu_exit(void)
{
	vrdu_bus_fini();
	vrdu_debugfs_module_fini();
	/* The last fences' memory is freed by callbacks in this module's text. */
	rcu_barrier();
	synchronize_rcu_tasks();
	vrdu_exit_check();
}

module_init(vrdu_init);
module_exit(vrdu_exit);

MODULE_AUTHOR("The vrdu authors");
MODULE_DESCRIPTION("DRM accel driver of a virtual reconfigurable dataflow unit");
MODULE_LICENSE("GPL");
