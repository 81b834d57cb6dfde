// SPDX-License-Identifier: MIT
/*
 * The node backend: the driver's ioctls on /dev/accel/accelN, and the DRM core's
 * syncobj ioctls on the same file. Each object of the library is one object of
 * the driver; nothing is cached but what the driver fixed at creation.
 *
 * All ioctls go through one wrapper, which counts them and restarts on EINTR
 * only: a driver's lasting answer must never make a caller spin.
 *
 * To block on a call, each context has a timeline syncobj whose points are
 * sequence numbers; every submission signals it.
 */
#define _GNU_SOURCE
#include "ops.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ACCEL_DIR	"/dev/accel"
#define MAX_NODES	256

/**
 * struct node_device - an open node.
 * @fd: Its file.
 * @ioctls: Ioctls made.
 */
struct node_device {
	int fd;
	atomic_ullong ioctls;
};

/**
 * struct node_context - what the library keeps for a context.
 * @done: Timeline syncobj that every submission signals.
 * @point: Its last point.
 * @exact: Points equal sequence numbers, as far as seen.
 * @map_bytes: Length of the status page's mapping.
 */
struct node_context {
	uint32_t done;
	uint64_t point;
	bool exact;
	size_t map_bytes;
};

static int node_ioctl(struct vrdu_device *dev, unsigned long request, void *arg)
{
	struct node_device *nd = dev->priv;
	int ret;

	do {
		atomic_fetch_add_explicit(&nd->ioctls, 1, memory_order_relaxed);
		ret = ioctl(nd->fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

static uint64_t user_ptr(const void *p)
{
	return (uintptr_t)p;
}

/* ---- device ---- */

static int query(struct vrdu_device *dev, uint32_t type, uint32_t id, void *data, uint32_t size)
{
	struct drm_vrdu_query q = {
		.type = type,
		.id = id,
		.size = size,
		.data = user_ptr(data),
	};

	memset(data, 0, size);
	return node_ioctl(dev, DRM_IOCTL_VRDU_QUERY, &q);
}

/* Is @fd a node of our driver? */
static bool is_vrdu(int fd)
{
	char name[16] = "";
	struct drm_version v = { .name = name, .name_len = sizeof(name) - 1 };

	if (ioctl(fd, DRM_IOCTL_VERSION, &v))
		return false;
	return !strcmp(name, "vrdu");
}

static int open_path(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), err = errno;

	if (fd < 0)
		return vrdu_fail(-err, "cannot open %s: %s%s", path, strerror(err),
				 err == EACCES ? " (is the user in the node's group?)" : "");
	if (is_vrdu(fd))
		return fd;
	close(fd);
	return vrdu_fail(-ENODEV, "%s is not a node of the vrdu driver", path);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The first vrdu node that can be opened; the reason of the first failure otherwise. */
static int open_first(char *path, size_t size)
{
	uint32_t numbers[MAX_NODES], n = 0, i;
	struct dirent *e;
	int fd, err = 0;
	DIR *dir;

	dir = opendir(ACCEL_DIR);
	while (dir && n < MAX_NODES && (e = readdir(dir)))
		if (sscanf(e->d_name, "accel%u", &numbers[n]) == 1)
			n++;
	if (dir)
		closedir(dir);
	qsort(numbers, n, sizeof(*numbers), by_number);
	for (i = 0; i < n; i++) {
		snprintf(path, size, ACCEL_DIR "/accel%u", numbers[i]);
		fd = open_path(path);
		if (fd >= 0)
			return fd;
		if (!err || err == -ENODEV)
			err = fd;
	}
	if (err && err != -ENODEV)
		return err;
	return vrdu_fail(-ENODEV, "no vrdu device: none of %u nodes in " ACCEL_DIR " is one", n);
}

static void fill_info(struct vrdu_device *dev, const struct drm_vrdu_device_info *d)
{
	struct vrdu_device_info *info = &dev->info;

	snprintf(info->profile, sizeof(info->profile), "%.15s", (const char *)d->profile);
	snprintf(info->math, sizeof(info->math), "%.15s", (const char *)d->math);
	info->pcus = d->pcus;
	info->pmus = d->pmus;
	info->agcus = d->agcus;
	info->pmu_bytes = d->pmu_bytes;
	info->clock_khz = d->clock_khz;
	info->max_calls = d->max_calls;
	info->page_bytes = d->page_bytes;
	info->instance = d->instance;
	info->hbm_bytes = d->hbm_bytes;
	info->hbm_bytes_per_s = d->hbm_bytes_per_s;
	info->ddr_bytes = d->ddr_bytes;
	dev->va_start = d->va_start;
	dev->va_end = d->va_end;
	dev->max_image_bytes = d->max_image_bytes;
}

static void node_close(struct vrdu_device *dev)
{
	struct node_device *nd = dev->priv;

	close(nd->fd);
	free(nd);
}

static int node_open(struct vrdu_device *dev, const char *where,
		     const struct vrdu_device_opts *opts)
{
	struct drm_vrdu_device_info info;
	struct node_device *nd;
	char path[300];
	int ret;

	if (opts->threads > 1 || opts->shuffle || opts->cpu_mask)
		return vrdu_fail(-EINVAL, "device: threads, shuffle and cpu_mask are for sim only");
	nd = calloc(1, sizeof(*nd));
	if (!nd)
		return vrdu_nomem();
	dev->priv = nd;
	snprintf(path, sizeof(path), "%s", where ? where : "");
	nd->fd = where ? open_path(path) : open_first(path, sizeof(path));
	if (nd->fd < 0) {
		ret = nd->fd;
		free(nd);
		return ret;
	}
	snprintf(dev->info.path, sizeof(dev->info.path), "%.63s", path);
	ret = query(dev, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info));
	if (ret) {
		vrdu_fail(ret, "%s: cannot query the device: %s", path, strerror(-ret));
		goto fail;
	}
	if (info.image_major != VRDU_IMAGE_MAJOR) {
		ret = vrdu_fail(-ENODEV, "%s: program image version %u.%u, this library makes %u.%u",
				path, info.image_major, info.image_minor, VRDU_IMAGE_MAJOR,
				VRDU_IMAGE_MINOR);
		goto fail;
	}
	if (!info.page_bytes || info.va_start >= info.va_end) {
		ret = vrdu_fail(-EPROTO, "%s: address space 0x%" PRIx64 " … 0x%" PRIx64
				" in pages of %u", path, (uint64_t)info.va_start,
				(uint64_t)info.va_end, info.page_bytes);
		goto fail;
	}
	fill_info(dev, &info);
	return 0;
fail:
	node_close(dev);
	return ret;
}

static int node_counters(struct vrdu_device *dev, struct vrdu_host_counters *out)
{
	struct node_device *nd = dev->priv;
	struct drm_vrdu_host_counters c;
	int ret;

	/* Before the query, which shall not count itself. */
	out->ioctls = atomic_load(&nd->ioctls);
	ret = query(dev, DRM_VRDU_QUERY_HOST, 0, &c, sizeof(c));
	if (ret)
		return vrdu_fail(ret, "host counters: %s", strerror(-ret));
	atomic_fetch_sub(&nd->ioctls, 1);
	out->submits = c.submits;
	out->calls = c.calls;
	out->doorbells = c.doorbells;
	out->wakeups = c.wakeups;
	out->poll_hits = c.poll_hits;
	out->events = c.events;
	return 0;
}

/* ---- syncobjs ---- */

static int syncobj_create(struct vrdu_device *dev, uint32_t *handle)
{
	struct drm_syncobj_create c = { 0 };
	int ret = node_ioctl(dev, DRM_IOCTL_SYNCOBJ_CREATE, &c);

	*handle = c.handle;
	return ret;
}

static void syncobj_destroy(struct vrdu_device *dev, uint32_t handle)
{
	struct drm_syncobj_destroy d = { .handle = handle };

	node_ioctl(dev, DRM_IOCTL_SYNCOBJ_DESTROY, &d);
}

static int syncobj_wait(struct vrdu_device *dev, uint32_t handle, uint64_t point, int64_t deadline)
{
	struct drm_syncobj_timeline_wait w = {
		.handles = user_ptr(&handle),
		.points = user_ptr(&point),
		.timeout_nsec = deadline,
		.count_handles = 1,
		.flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
	};
	int ret;

	/* The kernel counts in ticks and may give up to one too early. */
	do {
		ret = node_ioctl(dev, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &w);
	} while (ret == -ETIME && vrdu_now() < (uint64_t)deadline);
	return ret;
}

static int node_timeline_signal(struct vrdu_timeline *t, uint64_t value)
{
	struct drm_syncobj_timeline_array a = {
		.handles = user_ptr(&t->handle),
		.points = user_ptr(&value),
		.count_handles = 1,
	};
	int ret = node_ioctl(t->dev, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &a);

	return ret ? vrdu_fail(ret, "timeline: cannot signal: %s", strerror(-ret)) : 0;
}

static void node_timeline_destroy(struct vrdu_timeline *t)
{
	syncobj_destroy(t->dev, t->handle);
}

static int node_timeline_create(struct vrdu_timeline *t, uint64_t value)
{
	int ret = syncobj_create(t->dev, &t->handle);

	if (ret)
		return vrdu_fail(ret, "timeline: cannot create: %s", strerror(-ret));
	if (value)
		ret = node_timeline_signal(t, value);
	if (ret)
		node_timeline_destroy(t);
	return ret;
}

static int node_timeline_query(struct vrdu_timeline *t, uint64_t *value)
{
	struct drm_syncobj_timeline_array a = {
		.handles = user_ptr(&t->handle),
		.points = user_ptr(value),
		.count_handles = 1,
	};
	int ret = node_ioctl(t->dev, DRM_IOCTL_SYNCOBJ_QUERY, &a);

	return ret ? vrdu_fail(ret, "timeline: cannot query: %s", strerror(-ret)) : 0;
}

static int node_timeline_wait(struct vrdu_timeline *t, uint64_t value, int64_t deadline)
{
	int ret = syncobj_wait(t->dev, t->handle, value, deadline);

	if (ret && ret != -ETIME)
		vrdu_fail(ret, "timeline: cannot wait: %s", strerror(-ret));
	return ret;
}

/* ---- context ---- */

static void *map_offset(struct vrdu_device *dev, uint64_t offset, uint64_t size, int prot)
{
	struct node_device *nd = dev->priv;

	return mmap(NULL, size, prot, MAP_SHARED, nd->fd, offset);
}

static int node_context_create(struct vrdu_context *ctx)
{
	struct drm_vrdu_context_create c = { .kind = DRM_VRDU_CONTEXT_BOUNDED };
	struct drm_vrdu_context_destroy d = { 0 };
	struct node_context *nc = calloc(1, sizeof(*nc));
	void *page;
	int ret;

	if (!nc)
		return vrdu_nomem();
	ret = syncobj_create(ctx->dev, &nc->done);
	if (ret) {
		vrdu_fail(ret, "context: cannot create a syncobj: %s", strerror(-ret));
		goto fail_free;
	}
	ret = node_ioctl(ctx->dev, DRM_IOCTL_VRDU_CONTEXT_CREATE, &c);
	if (ret) {
		vrdu_fail(ret, "context: cannot create: %s", strerror(-ret));
		goto fail_sync;
	}
	nc->exact = true;
	nc->map_bytes = sysconf(_SC_PAGESIZE);
	page = map_offset(ctx->dev, c.status_offset, nc->map_bytes, PROT_READ);
	if (page == MAP_FAILED) {
		ret = vrdu_fail(-errno, "context: cannot map the status page: %s",
				strerror(errno));
		goto fail_context;
	}
	ctx->id = c.id;
	ctx->status = page;
	ctx->priv = nc;
	return 0;

fail_context:
	d.id = c.id;
	node_ioctl(ctx->dev, DRM_IOCTL_VRDU_CONTEXT_DESTROY, &d);
fail_sync:
	syncobj_destroy(ctx->dev, nc->done);
fail_free:
	free(nc);
	return ret;
}

static void node_context_destroy(struct vrdu_context *ctx)
{
	struct drm_vrdu_context_destroy d = { .id = ctx->id };
	struct node_context *nc = ctx->priv;

	munmap((void *)ctx->status, nc->map_bytes);
	node_ioctl(ctx->dev, DRM_IOCTL_VRDU_CONTEXT_DESTROY, &d);
	syncobj_destroy(ctx->dev, nc->done);
	free(nc);
}

/* ---- buffers ---- */

static int node_bo_create(struct vrdu_bo *bo)
{
	struct drm_vrdu_bo_create c = { .size = bo->size };
	int ret;

	if (bo->flags & VRDU_BO_DDR)
		c.flags |= DRM_VRDU_BO_DDR;
	if (bo->flags & VRDU_BO_PHANTOM)
		c.flags |= DRM_VRDU_BO_PHANTOM;
	ret = node_ioctl(bo->ctx->dev, DRM_IOCTL_VRDU_BO_CREATE, &c);
	if (ret)
		return vrdu_fail(ret, "buffer: cannot create %" PRIu64 " bytes in %s: %s", bo->size,
				 bo->flags & VRDU_BO_DDR ? "DDR" : "HBM", strerror(-ret));
	bo->handle = c.handle;
	return 0;
}

static void node_bo_destroy(struct vrdu_bo *bo)
{
	struct drm_gem_close c = { .handle = bo->handle };

	node_ioctl(bo->ctx->dev, DRM_IOCTL_GEM_CLOSE, &c);
}

static int node_bo_map(struct vrdu_bo *bo)
{
	struct drm_vrdu_bo_mmap_offset o = { .handle = bo->handle };
	void *p;
	int ret;

	ret = node_ioctl(bo->ctx->dev, DRM_IOCTL_VRDU_BO_MMAP_OFFSET, &o);
	if (ret)
		return vrdu_fail(ret, "buffer: no mapping offset: %s", strerror(-ret));
	p = map_offset(bo->ctx->dev, o.offset, bo->size, PROT_READ | PROT_WRITE);
	if (p == MAP_FAILED)
		return vrdu_fail(-errno, "buffer: cannot map %" PRIu64 " bytes: %s", bo->size,
				 strerror(errno));
	bo->map = p;
	return 0;
}

static void node_bo_unmap(struct vrdu_bo *bo)
{
	munmap(bo->map, bo->size);
	bo->map = NULL;
}

static int vm_bind(struct vrdu_bo *bo, const struct drm_vrdu_bind_op *op)
{
	struct drm_vrdu_vm_bind b = {
		.context = bo->ctx->id,
		.ops = { .stride = sizeof(*op), .count = 1, .array = user_ptr(op) },
	};

	return node_ioctl(bo->ctx->dev, DRM_IOCTL_VRDU_VM_BIND, &b);
}

static int node_bind(struct vrdu_bo *bo)
{
	struct drm_vrdu_bind_op op = {
		.op = DRM_VRDU_BIND_MAP,
		.flags = bo->flags & VRDU_BO_READ_ONLY ? DRM_VRDU_BIND_READ_ONLY : 0,
		.handle = bo->handle,
		.va = bo->va,
		.size = bo->size,
	};
	int ret = vm_bind(bo, &op);

	return ret ? vrdu_fail(ret, "buffer: cannot map %" PRIu64 " bytes at 0x%" PRIx64 ": %s",
			       bo->size, bo->va, strerror(-ret)) : 0;
}

static void node_unbind(struct vrdu_bo *bo)
{
	struct drm_vrdu_bind_op op = {
		.op = DRM_VRDU_BIND_UNMAP,
		.va = bo->va,
		.size = bo->size,
	};

	vm_bind(bo, &op);
}

/* ---- programs ---- */

static int node_program_create(struct vrdu_program *prog, char *log, size_t log_size)
{
	struct drm_vrdu_program_create c = {
		.context = prog->ctx->id,
		.image = user_ptr(prog->image->data),
		.image_size = prog->image->size,
		.log_size = log_size,
		.log = user_ptr(log),
	};
	int ret = node_ioctl(prog->ctx->dev, DRM_IOCTL_VRDU_PROGRAM_CREATE, &c);

	log[log_size - 1] = '\0';
	if (ret)
		return vrdu_fail(ret, "program: cannot create: %s", strerror(-ret));
	prog->id = c.id;
	return 0;
}

static void node_program_destroy(struct vrdu_program *prog)
{
	struct drm_vrdu_program_destroy d = { .context = prog->ctx->id, .id = prog->id };

	node_ioctl(prog->ctx->dev, DRM_IOCTL_VRDU_PROGRAM_DESTROY, &d);
}

/* ---- submission ---- */

static void fill_syncs(struct drm_vrdu_sync *syncs, const struct vrdu_point *points, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		syncs[i] = (struct drm_vrdu_sync){
			.handle = points[i].timeline->handle,
			.point = points[i].value,
		};
}

static int node_submit(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
		       const struct vrdu_point *waits, uint32_t n_waits,
		       const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno)
{
	struct drm_vrdu_sync in[DRM_VRDU_MAX_SYNCS], out[DRM_VRDU_MAX_SYNCS];
	struct node_context *nc = ctx->priv;
	struct drm_vrdu_submit s = {
		.context = ctx->id,
		.calls = { .stride = sizeof(*calls), .count = n, .array = user_ptr(calls) },
		.in_syncs = { .stride = sizeof(*in), .count = n_waits, .array = user_ptr(in) },
		.out_syncs = {
			.stride = sizeof(*out), .count = n_signals + 1, .array = user_ptr(out),
		},
	};
	int ret;

	fill_syncs(in, waits, n_waits);
	fill_syncs(out, signals, n_signals);
	/* One more, the library's own: the caller's are fewer than the limit. */
	out[n_signals] = (struct drm_vrdu_sync){ .handle = nc->done, .point = nc->point + n };
	ret = node_ioctl(ctx->dev, DRM_IOCTL_VRDU_SUBMIT, &s);
	if (ret)
		return vrdu_fail(ret, "submit: %u calls to context %u: %s", n, ctx->id,
				 strerror(-ret));
	nc->point += n;
	if (nc->point != s.seqno)
		nc->exact = false;
	*seqno = s.seqno;
	return 0;
}

static int node_wait(struct vrdu_context *ctx, uint64_t seqno, int64_t deadline)
{
	struct node_context *nc = ctx->priv;
	uint64_t point;
	int ret;

	pthread_mutex_lock(&ctx->lock);
	/* Should the driver number otherwise, the last point covers every call. */
	point = nc->exact ? seqno : nc->point;
	pthread_mutex_unlock(&ctx->lock);
	ret = syncobj_wait(ctx->dev, nc->done, point, deadline);
	if (ret && ret != -ETIME)
		vrdu_fail(ret, "wait: context %u, call %" PRIu64 ": %s", ctx->id, seqno,
			  strerror(-ret));
	return ret;
}

const struct vrdu_ops vrdu_node_ops = {
	.name = "node",
	.open = node_open,
	.close = node_close,
	.counters = node_counters,
	.context_create = node_context_create,
	.context_destroy = node_context_destroy,
	.bo_create = node_bo_create,
	.bo_destroy = node_bo_destroy,
	.bo_map = node_bo_map,
	.bo_unmap = node_bo_unmap,
	.bind = node_bind,
	.unbind = node_unbind,
	.program_create = node_program_create,
	.program_destroy = node_program_destroy,
	.submit = node_submit,
	.wait = node_wait,
	.timeline_create = node_timeline_create,
	.timeline_destroy = node_timeline_destroy,
	.timeline_query = node_timeline_query,
	.timeline_signal = node_timeline_signal,
	.timeline_wait = node_timeline_wait,
};
