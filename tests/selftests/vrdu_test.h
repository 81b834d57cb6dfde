/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the selftests share: the node, thin wrappers of the ioctls that return
 * 0 or -errno, syncobjs, and a context that is ready to run something.
 */
#ifndef VRDU_TEST_H
#define VRDU_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <drm/vrdu_accel.h>
#include <drm/vrdu_ring.h>
#include <drm.h>

#include "image.h"

#define PAGE		4096ul
#define NSEC		1000000000ll
#define FOREVER		INT64_MAX
#define SYSFS		"/sys/bus/platform/drivers/vrdu/"
#define VA		0x200000000ull	/* above 4 GiB, so that 32-bit arithmetic shows */

/* Longest time that anything is waited for; generous, emulation is slow. */
#define LIMIT_S		60

static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

static inline int64_t deadline(int seconds)
{
	return now_ns() + seconds * NSEC;
}

/* ---- node ---- */

/* The node of a socket: the accel device whose parent is vrdu.N. */
static inline bool node_path(int socket, char *path, size_t size)
{
	char link[PATH_MAX], target[PATH_MAX], want[32];
	struct stat st;
	ssize_t n;
	int i;

	snprintf(want, sizeof(want), "vrdu.%d", socket);
	for (i = 0; i < 64; i++) {
		snprintf(link, sizeof(link), "/sys/class/accel/accel%d/device", i);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		if (!strrchr(target, '/') || strcmp(strrchr(target, '/') + 1, want))
			continue;
		snprintf(path, size, "/dev/accel/accel%d", i);
		return !stat(path, &st);
	}
	return false;
}

/* devtmpfs makes and removes nodes behind our back: give it time. */
static inline int node_open(int socket)
{
	int64_t end = deadline(5);
	char path[64];

	while (!node_path(socket, path, sizeof(path))) {
		if (now_ns() > end)
			return -ENOENT;
		usleep(10000);
	}
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static inline int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Whole file as text; empty when it cannot be read. */
static inline const char *read_file(const char *path)
{
	static char buf[65536];
	size_t used = 0;
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd >= 0) {
		while (used < sizeof(buf) - 1 &&
		       (n = read(fd, buf + used, sizeof(buf) - 1 - used)) > 0)
			used += n;
		close(fd);
	}
	buf[used] = 0;
	return buf;
}

/* The number behind "key" in a text of "key value" lines, or -1. */
static inline long long text_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	if (!at)
		return -1;
	at += strlen(key);
	while (*at == ':' || *at == ' ' || *at == '\t')
		at++;
	return strtoll(at, NULL, 10);
}

/* ---- ioctls ---- */

static inline int vioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? -errno : 0;
}

static inline int query(int fd, uint32_t type, uint32_t id, void *data, uint32_t size)
{
	struct drm_vrdu_query q = {
		.type = type, .id = id, .size = size, .data = (uintptr_t)data,
	};

	return vioctl(fd, DRM_IOCTL_VRDU_QUERY, &q);
}

static inline int bo_create(int fd, uint64_t size, uint32_t flags, uint32_t *handle)
{
	struct drm_vrdu_bo_create c = { .size = size, .flags = flags };
	int ret = vioctl(fd, DRM_IOCTL_VRDU_BO_CREATE, &c);

	*handle = c.handle;
	return ret;
}

static inline int gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close c = { .handle = handle };

	return vioctl(fd, DRM_IOCTL_GEM_CLOSE, &c);
}

static inline int bo_offset(int fd, uint32_t handle, uint64_t *offset)
{
	struct drm_vrdu_bo_mmap_offset o = { .handle = handle };
	int ret = vioctl(fd, DRM_IOCTL_VRDU_BO_MMAP_OFFSET, &o);

	*offset = o.offset;
	return ret;
}

static inline void *bo_map(int fd, uint32_t handle, size_t size)
{
	uint64_t offset;

	if (bo_offset(fd, handle, &offset))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
}

static inline int ctx_create(int fd, uint32_t *id, uint64_t *status_offset)
{
	struct drm_vrdu_context_create c = { .kind = DRM_VRDU_CONTEXT_BOUNDED };
	int ret = vioctl(fd, DRM_IOCTL_VRDU_CONTEXT_CREATE, &c);

	*id = c.id;
	if (status_offset)
		*status_offset = c.status_offset;
	return ret;
}

static inline int ctx_destroy(int fd, uint32_t id)
{
	struct drm_vrdu_context_destroy d = { .id = id };

	return vioctl(fd, DRM_IOCTL_VRDU_CONTEXT_DESTROY, &d);
}

static inline int vm_bind(int fd, uint32_t ctx, const struct drm_vrdu_bind_op *ops, uint32_t count)
{
	struct drm_vrdu_vm_bind b = {
		.context = ctx, .ops = { sizeof(*ops), count, (uintptr_t)ops },
	};

	return vioctl(fd, DRM_IOCTL_VRDU_VM_BIND, &b);
}

static inline int vm_map(int fd, uint32_t ctx, uint32_t handle, uint64_t va, uint64_t size,
			 uint32_t flags)
{
	struct drm_vrdu_bind_op op = {
		.op = DRM_VRDU_BIND_MAP, .flags = flags, .handle = handle, .va = va, .size = size,
	};

	return vm_bind(fd, ctx, &op, 1);
}

static inline int vm_unmap(int fd, uint32_t ctx, uint64_t va, uint64_t size)
{
	struct drm_vrdu_bind_op op = { .op = DRM_VRDU_BIND_UNMAP, .va = va, .size = size };

	return vm_bind(fd, ctx, &op, 1);
}

static inline int program_create(int fd, uint32_t ctx, const struct image *img, uint32_t *id)
{
	char log[512] = "";
	struct drm_vrdu_program_create c = {
		.context = ctx, .image = (uintptr_t)img, .image_size = sizeof(*img),
		.log = (uintptr_t)log, .log_size = sizeof(log),
	};
	int ret = vioctl(fd, DRM_IOCTL_VRDU_PROGRAM_CREATE, &c);

	if (ret)
		printf("# program refused (%d): %s\n", ret, log);
	*id = c.id;
	return ret;
}

static inline int program_destroy(int fd, uint32_t ctx, uint32_t id)
{
	struct drm_vrdu_program_destroy d = { .context = ctx, .id = id };

	return vioctl(fd, DRM_IOCTL_VRDU_PROGRAM_DESTROY, &d);
}

static inline int submit(int fd, uint32_t ctx, const struct drm_vrdu_call *calls, uint32_t count,
			 const struct drm_vrdu_sync *in, uint32_t nr_in,
			 const struct drm_vrdu_sync *out, uint32_t nr_out, uint64_t *seqno)
{
	struct drm_vrdu_submit s = {
		.context = ctx,
		.calls = { sizeof(*calls), count, (uintptr_t)calls },
		.in_syncs = { sizeof(*in), nr_in, (uintptr_t)in },
		.out_syncs = { sizeof(*out), nr_out, (uintptr_t)out },
	};
	int ret = vioctl(fd, DRM_IOCTL_VRDU_SUBMIT, &s);

	if (seqno)
		*seqno = s.seqno;
	return ret;
}

/* ---- syncobjs ---- */

static inline uint32_t syncobj_create(int fd)
{
	struct drm_syncobj_create c = {};

	return vioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &c) ? 0 : c.handle;
}

static inline int syncobj_destroy(int fd, uint32_t handle)
{
	struct drm_syncobj_destroy d = { .handle = handle };

	return vioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &d);
}

/* @point 0: a binary syncobj. */
static inline int syncobj_wait(int fd, uint32_t handle, uint64_t point, int64_t until)
{
	struct drm_syncobj_timeline_wait t = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .timeout_nsec = until,
		.count_handles = 1,
	};
	struct drm_syncobj_wait w = {
		.handles = (uintptr_t)&handle, .timeout_nsec = until, .count_handles = 1,
	};
	int ret;

	do {
		ret = point ? vioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &t)
			    : vioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &w);
	} while (ret == -EINTR);
	return ret;
}

static inline int syncobj_signal(int fd, uint32_t handle, uint64_t point)
{
	struct drm_syncobj_timeline_array a = {
		.handles = (uintptr_t)&handle, .points = (uintptr_t)&point, .count_handles = 1,
	};

	return vioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &a);
}

/* A sync file of a binary syncobj's present fence: fd or -errno. */
static inline int syncobj_to_sync_file(int fd, uint32_t handle)
{
	struct drm_syncobj_handle h = {
		.handle = handle, .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = vioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &h);

	return ret ? ret : h.fd;
}

/* From <linux/sync_file.h>, as far as needed. */
struct test_fence_info {
	char obj_name[32];
	char driver_name[32];
	__s32 status;
	__u32 flags;
	__u64 timestamp_ns;
};

struct test_sync_file_info {
	char name[32];
	__s32 status;
	__u32 flags;
	__u32 num_fences;
	__u32 pad;
	__u64 sync_fence_info;
};

#define TEST_SYNC_IOC_FILE_INFO	_IOWR('>', 4, struct test_sync_file_info)

/* 1 signalled, 0 active, negative: the fence's error; -ENOTTY if it cannot be asked. */
static inline int sync_file_status(int sync_fd, struct test_fence_info *fence)
{
	struct test_fence_info one;
	struct test_sync_file_info info = {
		.num_fences = 1, .sync_fence_info = (uintptr_t)(fence ? fence : &one),
	};

	if (ioctl(sync_fd, TEST_SYNC_IOC_FILE_INFO, &info))
		return -ENOTTY;
	return info.status;
}

/* ---- a context with a program and memory ---- */

#define JOB_COLS	16u
#define JOB_BYTES	(JOB_COLS * 4)

/**
 * struct job - something to run: y = program(x), with x and y in one buffer.
 * @fd: Node.
 * @ctx: Context.
 * @bo: Buffer, two pages: x in the first, y in the second; at VA.
 * @mem: Its mapping.
 * @program: Program with two symbols.
 * @sync: Syncobj for out.
 * @status: The context's status page.
 */
struct job {
	int fd;
	uint32_t ctx;
	uint32_t bo;
	int32_t *mem;
	uint32_t program;
	uint32_t sync;
	const struct vrdu_status *status;
};

/* The job adds @trips to each element of x, @outer times over. */
static inline int job_init(struct job *job, int fd, uint32_t trips, uint32_t outer)
{
	uint64_t offset;
	struct image img;
	int ret;

	memset(job, 0, sizeof(*job));
	job->fd = fd;
	ret = ctx_create(fd, &job->ctx, &offset);
	if (ret)
		return ret;
	job->status = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, offset);
	if (job->status == MAP_FAILED)
		return -errno;
	ret = bo_create(fd, 2 * PAGE, 0, &job->bo);
	if (ret)
		return ret;
	job->mem = bo_map(fd, job->bo, 2 * PAGE);
	if (job->mem == MAP_FAILED)
		return -errno;
	ret = vm_map(fd, job->ctx, job->bo, VA, 2 * PAGE, 0);
	if (ret)
		return ret;
	image_count(&img, JOB_COLS, trips, outer);
	ret = program_create(fd, job->ctx, &img, &job->program);
	if (ret)
		return ret;
	job->sync = syncobj_create(fd);
	return job->sync ? 0 : -EINVAL;
}

static inline volatile int32_t *job_x(struct job *job)
{
	return job->mem;
}

static inline volatile int32_t *job_y(struct job *job)
{
	return job->mem + PAGE / 4;
}

/* One call; the out sync is job->sync (binary), the in sync is optional. */
static inline int job_submit(struct job *job, uint64_t *seqno, const struct drm_vrdu_sync *in)
{
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call = {
		.program = job->program, .arg_count = 2, .args = (uintptr_t)args,
	};
	struct drm_vrdu_sync out = { .handle = job->sync };

	return submit(job->fd, job->ctx, &call, 1, in, in ? 1 : 0, &out, 1, seqno);
}

static inline int job_wait(struct job *job)
{
	return syncobj_wait(job->fd, job->sync, 0, deadline(LIMIT_S));
}

/* Status of the last call's fence: 1, 0 or the error. */
static inline int job_fence_status(struct job *job)
{
	int sync_fd = syncobj_to_sync_file(job->fd, job->sync);
	int status;

	if (sync_fd < 0)
		return sync_fd;
	status = sync_file_status(sync_fd, NULL);
	close(sync_fd);
	return status;
}

static inline void job_fini(struct job *job)
{
	ctx_destroy(job->fd, job->ctx);
	gem_close(job->fd, job->bo);
	syncobj_destroy(job->fd, job->sync);
	munmap((void *)job->status, PAGE);
	munmap(job->mem, 2 * PAGE);
}

/* A count that takes very long, in steps that end soon when stopped. */
#define LONG_TRIPS	VRDU_MAX_TRIP
#define LONG_OUTER	64u

static inline long long live(const char *what)
{
	return text_number(read_file("/sys/kernel/debug/vrdu/live"), what);
}

#endif /* VRDU_TEST_H */
