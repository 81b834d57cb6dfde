// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: submission: results, order, syncs, faults, ring space. */
#include <linux/dma-buf.h>
#include "vrdu_test.h"
#include "patience.h"

FIXTURE(submit) {
	int fd;
	struct job job;
};

FIXTURE_SETUP(submit)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, job_init(&self->job, self->fd, 10, 1));
}

FIXTURE_TEARDOWN(submit)
{
	job_fini(&self->job);
	close(self->fd);
}

TEST_F(submit, runs)
{
	uint64_t seqno;

	job_x(&self->job)[3] = 32;
	ASSERT_EQ(0, job_submit(&self->job, &seqno, NULL));
	EXPECT_EQ(1, seqno);
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(42, job_y(&self->job)[3]);
	EXPECT_EQ(10, job_y(&self->job)[0]);
	EXPECT_EQ(1, self->job.status->completed);
	EXPECT_EQ(1, self->job.status->head);
	EXPECT_EQ(0, self->job.status->error);
	EXPECT_EQ(1, self->job.status->counters.calls);
	EXPECT_EQ(10, self->job.status->counters.iterations);
	EXPECT_LT(0, self->job.status->device_ps);
}

/* Each call reads what the one before wrote: order, across one SUBMIT and many. */
TEST_F_TIMEOUT(submit, order, PATIENCE)
{
	enum { N = 256 };
	uint64_t forth[2] = { VA, VA + PAGE }, back[2] = { VA + PAGE, VA };
	struct drm_vrdu_call calls[N];
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	uint64_t seqno;
	int i;

	for (i = 0; i < N; i++)
		calls[i] = (struct drm_vrdu_call) {
			.program = self->job.program, .arg_count = 2,
			.args = (uintptr_t)(i & 1 ? back : forth),
		};
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, calls, N, NULL, 0, &out, 1, &seqno));
	EXPECT_EQ(N, seqno);
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, submit(self->fd, self->job.ctx, &calls[i], 1, NULL, 0, &out, 1,
				    &seqno));
	EXPECT_EQ(2 * N, seqno);
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(2 * N * 10, job_x(&self->job)[0]);
	EXPECT_EQ((2 * N - 1) * 10, job_y(&self->job)[0]);
	EXPECT_EQ(2 * N, self->job.status->completed);
	/* One event a submission. */
	EXPECT_EQ(1 + N, self->job.status->counters.events);
}

TEST_F(submit, out_syncs)
{
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
	};
	uint32_t timeline = syncobj_create(self->fd), binary = syncobj_create(self->fd);
	struct drm_vrdu_sync out[3] = {
		{ .handle = binary },
		{ .handle = timeline, .point = 5 },
		/* Points have 64 bits. */
		{ .handle = timeline, .point = 1ull << 40 },
	};
	struct drm_vrdu_sync in = { .handle = timeline, .point = 1ull << 40 };

	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, NULL, 0, out, 3, NULL));
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, &in, 1, NULL, 0, NULL));
	EXPECT_EQ(0, syncobj_wait(self->fd, binary, 0, deadline(LIMIT_S)));
	EXPECT_EQ(0, syncobj_wait(self->fd, timeline, 5, deadline(LIMIT_S)));
	EXPECT_EQ(0, syncobj_wait(self->fd, timeline, 1ull << 40, deadline(LIMIT_S)));
	/* A point that nobody has promised is refused, not waited for. */
	in.point++;
	EXPECT_EQ(-EINVAL, submit(self->fd, self->job.ctx, &call, 1, &in, 1, NULL, 0, NULL));
	in.point = (1ull << 40) + (1ull << 32);
	EXPECT_EQ(-EINVAL, submit(self->fd, self->job.ctx, &call, 1, &in, 1, NULL, 0, NULL));
	/* A point signalled by hand is one too. */
	ASSERT_EQ(0, syncobj_signal(self->fd, timeline, 1ull << 41));
	in.point = 1ull << 41;
	EXPECT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, &in, 1, out, 1, NULL));
	EXPECT_EQ(0, syncobj_wait(self->fd, binary, 0, deadline(LIMIT_S)));
}

/* SUBMIT does not wait for its in-fences, the queue does, and in order. */
TEST_F_TIMEOUT(submit, in_fence_pending, PATIENCE)
{
	struct job slow;
	struct drm_vrdu_sync in;
	uint64_t seqno;
	int i;

	ASSERT_EQ(0, job_init(&slow, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	in = (struct drm_vrdu_sync) { .handle = slow.sync };
	ASSERT_EQ(0, job_submit(&self->job, NULL, &in));
	/* Behind it, without an in-fence: must not overtake. */
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, job_submit(&self->job, &seqno, NULL));
	EXPECT_EQ(6, seqno);
	usleep(100000);
	EXPECT_EQ(0, self->job.status->completed);
	EXPECT_EQ(0, job_fence_status(&self->job));
	EXPECT_EQ(-ETIME, syncobj_wait(self->fd, self->job.sync, 0, now_ns()));

	/* The end of the slow one, by force, lets them go. */
	ASSERT_EQ(0, ctx_destroy(self->fd, slow.ctx));
	EXPECT_EQ(-ECANCELED, job_fence_status(&slow));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	EXPECT_EQ(6, self->job.status->completed);
	job_fini(&slow);
}

/* From <drm/vgem_drm.h>, as far as needed. */
struct test_vgem_attach {
	__u32 handle;
	__u32 flags;
	__u32 out_fence;
	__u32 pad;
};

struct test_vgem_signal {
	__u32 fence;
	__u32 flags;
};

#define TEST_VGEM_ATTACH	DRM_IOWR(DRM_COMMAND_BASE + 1, struct test_vgem_attach)
#define TEST_VGEM_SIGNAL	DRM_IOW(DRM_COMMAND_BASE + 2, struct test_vgem_signal)

static int vgem_open(void)
{
	char name[16] = "", path[64];
	int i, fd;

	for (i = 0; i < 16; i++) {
		struct drm_version v = { .name = name, .name_len = sizeof(name) - 1 };

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		if (!vioctl(fd, DRM_IOCTL_VERSION, &v) && !strncmp(name, "vgem", 4))
			return fd;
		close(fd);
	}
	return -1;
}

/* A fence of another driver, in a syncobj of @fd: its handle, or 0. */
static uint32_t vgem_fence(int fd, int vgem, uint32_t *out_fence)
{
	struct drm_mode_create_dumb dumb = { .height = 1, .width = 64, .bpp = 32 };
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_RW };
	struct drm_syncobj_handle import = {
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
	};
	struct test_vgem_attach attach = { .flags = 1 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC };

	if (vioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
		return 0;
	attach.handle = dumb.handle;
	prime.handle = dumb.handle;
	if (vioctl(vgem, TEST_VGEM_ATTACH, &attach) ||
	    vioctl(vgem, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime) ||
	    vioctl(prime.fd, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync))
		return 0;
	*out_fence = attach.out_fence;
	import.handle = syncobj_create(fd);
	import.fd = sync.fd;
	if (vioctl(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &import))
		return 0;
	close(sync.fd);
	close(prime.fd);
	return import.handle;
}

/* Another driver's fences: one is signalled by a call, one by a timer interrupt. */
TEST_F_TIMEOUT(submit, foreign_fences, PATIENCE)
{
	struct drm_vrdu_sync in = {};
	struct test_vgem_signal signal = {};
	uint32_t fence;
	int vgem = vgem_open();

	if (vgem < 0)
		SKIP(return, "vgem is not loaded");
	in.handle = vgem_fence(self->fd, vgem, &signal.fence);
	ASSERT_NE(0, in.handle);
	ASSERT_EQ(0, job_submit(&self->job, NULL, &in));
	usleep(50000);
	EXPECT_EQ(0, self->job.status->completed);
	ASSERT_EQ(0, vioctl(vgem, TEST_VGEM_SIGNAL, &signal));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));

	/* vgem's own limit is 10 s; then its timer signals with an error, and the job runs. */
	in.handle = vgem_fence(self->fd, vgem, &fence);
	ASSERT_NE(0, in.handle);
	ASSERT_EQ(0, job_submit(&self->job, NULL, &in));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	EXPECT_EQ(2, self->job.status->completed);
	close(vgem);
}

/* A context that dies while its work still waits for a foreign fence. */
TEST_F_TIMEOUT(submit, destroyed_while_waiting, PATIENCE)
{
	struct job slow;
	struct drm_vrdu_sync in[3];
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
	};
	struct drm_vrdu_sync out = { .handle = self->job.sync };

	ASSERT_EQ(0, job_init(&slow, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	in[0] = in[1] = in[2] = (struct drm_vrdu_sync) { .handle = slow.sync };
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, in, 3, &out, 1, NULL));
	ASSERT_EQ(0, ctx_destroy(self->fd, self->job.ctx));
	EXPECT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(-ECANCELED, job_fence_status(&self->job));
	EXPECT_EQ(0, job_fence_status(&slow));
	job_fini(&slow);
}

TEST_F(submit, fault)
{
	uint64_t bad[2] = { VA, VA + 2 * PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)bad,
	};
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	struct drm_vrdu_context_info info;
	struct job other;
	uint64_t seqno;

	ASSERT_EQ(0, job_init(&other, self->fd, 10, 1));
	ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, NULL, 0, &out, 1, &seqno));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(-EIO, job_fence_status(&self->job));
	EXPECT_GT(0, self->job.status->error);
	EXPECT_EQ(VRDU_FAULT_WRITE, self->job.status->fault.code);
	EXPECT_EQ(VA + 2 * PAGE, self->job.status->fault.address);
	EXPECT_EQ(self->job.program, self->job.status->fault.program);
	EXPECT_EQ(seqno, self->job.status->fault.seqno);

	/* Sticky for this context; the others go on. */
	EXPECT_EQ(-ECANCELED, job_submit(&self->job, NULL, NULL));
	EXPECT_EQ(-ECANCELED, vm_unmap(self->fd, self->job.ctx, VA, PAGE));
	ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_CONTEXT, self->job.ctx, &info, sizeof(info)));
	EXPECT_EQ(-EIO, info.error);
	EXPECT_EQ(seqno, info.submitted);
	ASSERT_EQ(0, job_submit(&other, NULL, NULL));
	ASSERT_EQ(0, job_wait(&other));
	EXPECT_EQ(1, job_fence_status(&other));
	job_fini(&other);
}

/* What stands behind a fault, in the ring and before it, is cancelled. */
TEST_F_TIMEOUT(submit, fault_cancels_the_rest, PATIENCE)
{
	uint64_t bad[2] = { VA, VA + 2 * PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)bad,
	};
	uint32_t sync[4];
	struct drm_vrdu_sync out, in;
	struct job slow;
	int i, sync_fd;

	ASSERT_EQ(0, job_init(&slow, self->fd, 20000, 1));
	ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	in = (struct drm_vrdu_sync) { .handle = slow.sync };
	for (i = 0; i < 4; i++) {
		sync[i] = syncobj_create(self->fd);
		out = (struct drm_vrdu_sync) { .handle = sync[i] };
		ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, &in, 1, &out, 1, NULL));
	}
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, syncobj_wait(self->fd, sync[i], 0, deadline(LIMIT_S)));
		sync_fd = syncobj_to_sync_file(self->fd, sync[i]);
		EXPECT_EQ(i ? -ECANCELED : -EIO, sync_file_status(sync_fd, NULL));
		close(sync_fd);
	}
	EXPECT_EQ(1, job_fence_status(&slow));
	job_fini(&slow);
}

#define WATCHDOG	"/sys/module/vrdu/parameters/watchdog_ms"

TEST_F_TIMEOUT(submit, watchdog, PATIENCE)
{
	struct job slow;
	char old[16];

	snprintf(old, sizeof(old), "%lld", strtoll(read_file(WATCHDOG), NULL, 10));
	ASSERT_EQ(0, job_init(&slow, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, write_file(WATCHDOG, "200"));
	ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	EXPECT_EQ(0, job_wait(&slow));
	ASSERT_EQ(0, write_file(WATCHDOG, old));
	EXPECT_EQ(-ETIME, job_fence_status(&slow));
	EXPECT_EQ(-ETIME, slow.status->error);
	EXPECT_EQ(VRDU_FAULT_WATCHDOG, slow.status->fault.code);
	EXPECT_EQ(-ECANCELED, job_submit(&slow, NULL, NULL));
	/* The device goes on with the next. */
	ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	job_fini(&slow);
}

/* Slower than the others but alive: completes once, as a success. */
TEST_F_TIMEOUT(submit, slow_is_not_hung, PATIENCE)
{
	struct job slow;

	ASSERT_EQ(0, job_init(&slow, self->fd, 50000, 1));
	ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	ASSERT_EQ(0, job_wait(&slow));
	EXPECT_EQ(1, job_fence_status(&slow));
	EXPECT_EQ(50000, job_y(&slow)[0]);
	job_fini(&slow);
}

struct filler {
	struct job *job;
	int ret;
};

static void nothing(int sig)
{
}

/* Fills the ring behind a call that does not end; returns what stopped it. */
static void *fill_ring(void *arg)
{
	struct filler *f = arg;

	do {
		f->ret = job_submit(f->job, NULL, NULL);
	} while (!f->ret);
	return NULL;
}

TEST_F_TIMEOUT(submit, ring_full, PATIENCE)
{
	enum { N = 1000 };
	static struct drm_vrdu_call calls[N];
	uint64_t args[2] = { VA, VA + PAGE };
	struct sigaction sa = { .sa_handler = nothing };
	struct drm_vrdu_submit s;
	struct filler f;
	struct job slow;
	pthread_t thread;
	uint64_t seqno = 0;
	int i;

	ASSERT_EQ(0, job_init(&slow, self->fd, LONG_TRIPS, LONG_OUTER));
	for (i = 0; i < N; i++)
		calls[i] = (struct drm_vrdu_call) {
			.program = slow.program, .arg_count = 2, .args = (uintptr_t)args,
		};
	ASSERT_EQ(0, submit(self->fd, slow.ctx, calls, N, NULL, 0, NULL, 0, &seqno));

	/* No room for as many again: waits; a signal ends it with the struct unchanged. */
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	s = (struct drm_vrdu_submit) {
		.context = slow.ctx, .calls = { sizeof(calls[0]), N, (uintptr_t)calls },
		.seqno = 0x1234,
	};
	alarm(1);
	EXPECT_EQ(-EINTR, vioctl(self->fd, DRM_IOCTL_VRDU_SUBMIT, &s));
	EXPECT_EQ(0x1234, s.seqno);

	f = (struct filler) { .job = &slow };
	ASSERT_EQ(0, pthread_create(&thread, NULL, fill_ring, &f));
	/* Until the ring is full; then the thread sleeps for space. */
	do {
		struct drm_vrdu_context_info info = {};

		usleep(20000);
		ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_CONTEXT, slow.ctx, &info,
				   sizeof(info)));
		seqno = info.submitted;
	} while (seqno < 1024);
	EXPECT_EQ(1024, seqno);

	/* The context's end wakes it. */
	ASSERT_EQ(0, ctx_destroy(self->fd, slow.ctx));
	pthread_join(thread, NULL);
	EXPECT_NE(0, f.ret);
	EXPECT_EQ(true, f.ret == -ECANCELED || f.ret == -ENOENT);
	job_fini(&slow);
}

TEST_F_TIMEOUT(submit, many_calls, PATIENCE)
{
	enum { N = DRM_VRDU_MAX_CALLS };
	static struct drm_vrdu_call calls[N];
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	uint64_t seqno;
	int i;

	for (i = 0; i < N; i++)
		calls[i] = (struct drm_vrdu_call) {
			.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
		};
	/* More than a ring's worth: the third waits for space and gets it. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, submit(self->fd, self->job.ctx, calls, N, NULL, 0, &out, 1, &seqno));
	EXPECT_EQ(3 * N, seqno);
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(3 * N, self->job.status->completed);
	EXPECT_EQ(3 * N, self->job.status->counters.calls);
}

TEST_F(submit, timing_only)
{
	uint64_t args[2] = { VA + 64 * PAGE, VA + 65 * PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .flags = VRDU_CALL_TIMING, .arg_count = 2,
		.args = (uintptr_t)args,
	};
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	uint64_t before;
	uint32_t bo;

	ASSERT_EQ(0, bo_create(self->fd, 2 * PAGE, DRM_VRDU_BO_PHANTOM, &bo));
	ASSERT_EQ(0, vm_map(self->fd, self->job.ctx, bo, VA + 64 * PAGE, 2 * PAGE, 0));
	before = self->job.status->device_ps;
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, NULL, 0, &out, 1, NULL));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	EXPECT_LT(before, self->job.status->device_ps);
}

/* Every call is restartable: all of it under a storm of signals. */
TEST_F_TIMEOUT(submit, signal_storm, PATIENCE)
{
	struct sigaction sa = { .sa_handler = nothing };
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t timer;
	int i, ret;

	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, NULL, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &each, NULL));
	for (i = 0; i < 100; i++) {
		do {
			ret = job_submit(&self->job, NULL, NULL);
		} while (ret == -EINTR);
		ASSERT_EQ(0, ret);
		ASSERT_EQ(0, job_wait(&self->job));
	}
	timer_delete(timer);
	EXPECT_EQ(100, self->job.status->completed);
}

/* A thread that flips the arguments in user memory changes nothing that was accepted. */
static uint64_t flipped[2];
static volatile bool flipping;

static void *flip(void *arg)
{
	while (flipping) {
		__atomic_store_n(&flipped[1], VA + 99 * PAGE, __ATOMIC_RELAXED);
		__atomic_store_n(&flipped[1], VA + PAGE, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F_TIMEOUT(submit, double_fetch, PATIENCE)
{
	struct drm_vrdu_sync out;
	struct drm_vrdu_call call;
	struct job job;
	pthread_t thread;
	int i, good = 0, status;

	flipped[0] = VA;
	flipped[1] = VA + PAGE;
	flipping = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, flip, NULL));
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, job_init(&job, self->fd, 2, 1));
		call = (struct drm_vrdu_call) {
			.program = job.program, .arg_count = 2, .args = (uintptr_t)flipped,
		};
		out = (struct drm_vrdu_sync) { .handle = job.sync };
		ASSERT_EQ(0, submit(self->fd, job.ctx, &call, 1, NULL, 0, &out, 1, NULL));
		ASSERT_EQ(0, job_wait(&job));
		status = job_fence_status(&job);
		/* One or the other, by what was copied; the fault names exactly that. */
		if (status == 1) {
			EXPECT_EQ(2, job_y(&job)[0]);
			good++;
		} else {
			EXPECT_EQ(-EIO, status);
			EXPECT_EQ(VA + 99 * PAGE, job.status->fault.address);
		}
		job_fini(&job);
	}
	flipping = false;
	pthread_join(thread, NULL);
	printf("# %d of 30 ran\n", good);
}

TEST_HARNESS_MAIN
