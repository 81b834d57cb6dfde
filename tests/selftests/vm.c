// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: address spaces. */
#include "vrdu_test.h"
#include "patience.h"

FIXTURE(vm) {
	int fd;
	struct job job;
};

FIXTURE_SETUP(vm)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, job_init(&self->job, self->fd, 5, 1));
}

FIXTURE_TEARDOWN(vm)
{
	job_fini(&self->job);
	close(self->fd);
}

static uint32_t mappings(int fd, uint32_t ctx)
{
	struct drm_vrdu_context_info info = {};

	query(fd, DRM_VRDU_QUERY_CONTEXT, ctx, &info, sizeof(info));
	return info.mappings;
}

/* Run y = x + 5 with x and y at these addresses: 1, or the fence's error. */
static int run_at(struct job *job, uint64_t x, uint64_t y)
{
	uint64_t args[2] = { x, y };
	struct drm_vrdu_call call = {
		.program = job->program, .arg_count = 2, .args = (uintptr_t)args,
	};
	struct drm_vrdu_sync out = { .handle = job->sync };
	int ret;

	ret = submit(job->fd, job->ctx, &call, 1, NULL, 0, &out, 1, NULL);
	if (!ret)
		ret = job_wait(job);
	return ret ? ret : job_fence_status(job);
}

TEST_F(vm, all_or_nothing)
{
	struct drm_vrdu_bind_op ops[4] = {
		{ .op = DRM_VRDU_BIND_UNMAP, .va = VA, .size = PAGE },
		{ .op = DRM_VRDU_BIND_MAP, .handle = self->job.bo, .va = VA + 8 * PAGE,
		  .size = PAGE },
		{ .op = DRM_VRDU_BIND_UNMAP, .va = VA + 8 * PAGE, .size = PAGE },
		{ .op = DRM_VRDU_BIND_MAP, .handle = 12345, .va = VA + 9 * PAGE, .size = PAGE },
	};

	EXPECT_EQ(-ENOENT, vm_bind(self->fd, self->job.ctx, ops, 4));
	EXPECT_EQ(1, mappings(self->fd, self->job.ctx));
	/* The old mapping is whole, and nothing new is there. */
	EXPECT_EQ(1, run_at(&self->job, VA, VA + PAGE));
	EXPECT_EQ(0, vm_map(self->fd, self->job.ctx, self->job.bo, VA + 8 * PAGE, 2 * PAGE, 0));
}

TEST_F(vm, overlap)
{
	uint32_t bo = self->job.bo, ctx = self->job.ctx;

	EXPECT_EQ(-EINVAL, vm_map(self->fd, ctx, bo, VA, PAGE, 0));
	EXPECT_EQ(-EINVAL, vm_map(self->fd, ctx, bo, VA + PAGE, PAGE, 0));
	EXPECT_EQ(-EINVAL, vm_map(self->fd, ctx, bo, VA - PAGE, 2 * PAGE, 0));
	EXPECT_EQ(0, vm_map(self->fd, ctx, bo, VA - PAGE, PAGE, 0));
	EXPECT_EQ(0, vm_map(self->fd, ctx, bo, VA + 2 * PAGE, PAGE, 0));
	EXPECT_EQ(3, mappings(self->fd, ctx));
	/* An unmap of nothing is no error. */
	EXPECT_EQ(0, vm_unmap(self->fd, ctx, VA + 100 * PAGE, 50 * PAGE));
	/* One that covers all. */
	EXPECT_EQ(0, vm_unmap(self->fd, ctx, VA - 10 * PAGE, 50 * PAGE));
	EXPECT_EQ(0, mappings(self->fd, ctx));
}

TEST_F(vm, replaces_in_one_bind)
{
	struct drm_vrdu_bind_op ops[2] = {
		{ .op = DRM_VRDU_BIND_UNMAP, .va = VA, .size = 2 * PAGE },
		{ .op = DRM_VRDU_BIND_MAP, .handle = self->job.bo, .va = VA, .size = 2 * PAGE },
	};
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, vm_bind(self->fd, self->job.ctx, ops, 2));
	EXPECT_EQ(1, mappings(self->fd, self->job.ctx));
	EXPECT_EQ(1, run_at(&self->job, VA, VA + PAGE));
}

TEST_F(vm, split)
{
	uint32_t bo, ctx = self->job.ctx;
	uint64_t at = VA + 32 * PAGE;
	int32_t *mem;

	ASSERT_EQ(0, bo_create(self->fd, 8 * PAGE, 0, &bo));
	mem = bo_map(self->fd, bo, 8 * PAGE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(0, vm_map(self->fd, ctx, bo, at, 8 * PAGE, 0));
	ASSERT_EQ(0, vm_unmap(self->fd, ctx, at + 3 * PAGE, 2 * PAGE));
	EXPECT_EQ(3, mappings(self->fd, ctx));

	/* Both ends still show the right pages. */
	mem[2 * PAGE / 4] = 100;
	mem[5 * PAGE / 4] = 200;
	EXPECT_EQ(1, run_at(&self->job, at + 2 * PAGE, VA));
	EXPECT_EQ(105, job_x(&self->job)[0]);
	EXPECT_EQ(1, run_at(&self->job, at + 5 * PAGE, VA));
	EXPECT_EQ(205, job_x(&self->job)[0]);
	/* A mapping keeps the buffer. */
	gem_close(self->fd, bo);
	EXPECT_EQ(1, run_at(&self->job, at + 5 * PAGE, VA));
	/* The hole is one. */
	EXPECT_EQ(-EIO, run_at(&self->job, at + 3 * PAGE, VA));
	EXPECT_EQ(VRDU_FAULT_READ, self->job.status->fault.code);
	EXPECT_EQ(at + 3 * PAGE, self->job.status->fault.address);
}

TEST_F(vm, read_only)
{
	uint64_t at = VA + 32 * PAGE;

	ASSERT_EQ(0, vm_map(self->fd, self->job.ctx, self->job.bo, at, 2 * PAGE,
			    DRM_VRDU_BIND_READ_ONLY));
	EXPECT_EQ(1, run_at(&self->job, at, VA + PAGE));
	/* A split keeps the right. */
	ASSERT_EQ(0, vm_unmap(self->fd, self->job.ctx, at, PAGE));
	EXPECT_EQ(-EIO, run_at(&self->job, VA, at + PAGE));
	EXPECT_EQ(VRDU_FAULT_WRITE, self->job.status->fault.code);
	EXPECT_EQ(at + PAGE, self->job.status->fault.address);
}

TEST_F(vm, phantom_access)
{
	uint64_t at = VA + 32 * PAGE;
	uint32_t bo;

	ASSERT_EQ(0, bo_create(self->fd, PAGE, DRM_VRDU_BO_PHANTOM, &bo));
	ASSERT_EQ(0, vm_map(self->fd, self->job.ctx, bo, at, PAGE, 0));
	EXPECT_EQ(-EIO, run_at(&self->job, at, VA));
	EXPECT_EQ(VRDU_FAULT_READ, self->job.status->fault.code);
}

/* The two halves of a range in two mappings do not make one range. */
TEST_F(vm, border)
{
	uint64_t at = VA + 32 * PAGE;

	ASSERT_EQ(0, vm_map(self->fd, self->job.ctx, self->job.bo, at, PAGE, 0));
	EXPECT_EQ(1, run_at(&self->job, at + PAGE - JOB_BYTES, VA));
	EXPECT_EQ(-EIO, run_at(&self->job, at + PAGE - JOB_BYTES + 4, VA));
}

TEST_F(vm, addresses_that_wrap)
{
	EXPECT_EQ(-EIO, run_at(&self->job, ~0ull - 3, VA));
	EXPECT_EQ(VRDU_FAULT_READ, self->job.status->fault.code);
}

TEST_F(vm, separate_spaces)
{
	struct job other;

	ASSERT_EQ(0, job_init(&other, self->fd, 5, 1));
	ASSERT_EQ(0, vm_map(self->fd, self->job.ctx, self->job.bo, VA + 32 * PAGE, PAGE, 0));
	EXPECT_EQ(-EIO, run_at(&other, VA + 32 * PAGE, VA));
	EXPECT_EQ(1, run_at(&self->job, VA + 32 * PAGE, VA));
	job_fini(&other);
}

static long long engine_ns(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return text_number(read_file(path), "drm-engine-fabric:");
}

/* An unmap returns when the engine has left: the call has ended by then. */
TEST_F_TIMEOUT(vm, unmap_waits, PATIENCE)
{
	struct job slow;
	uint64_t seqno, done;
	long long began;
	int i, status, waited = 0;

	ASSERT_EQ(0, job_init(&slow, self->fd, 400000, 1));
	for (i = 0; i < 3; i++) {
		began = engine_ns(self->fd);
		ASSERT_EQ(0, job_submit(&slow, &seqno, NULL));
		/* Until the engine has been inside for a while, or is out already. */
		while (slow.status->completed < seqno && engine_ns(self->fd) - began < NSEC / 50)
			;
		ASSERT_EQ(0, vm_unmap(self->fd, slow.ctx, VA, 2 * PAGE));
		done = slow.status->completed;

		/* The engine was inside and is out, or it came late to its store and faults. */
		ASSERT_EQ(0, job_wait(&slow));
		status = job_fence_status(&slow);
		if (status != 1) {
			EXPECT_EQ(-EIO, status);
			break;
		}
		EXPECT_EQ(seqno, done);
		waited++;
		ASSERT_EQ(0, vm_map(self->fd, slow.ctx, slow.bo, VA, 2 * PAGE, 0));
	}
	printf("# the engine was inside %d times\n", waited);
	job_fini(&slow);
}

TEST_F_TIMEOUT(vm, limit, PATIENCE)
{
	enum { BATCH = 1024, MAX = 16384 };
	static struct drm_vrdu_bind_op ops[BATCH];
	uint64_t at = VA + 1024 * PAGE;
	int i, k;

	for (i = 0; i < MAX / BATCH; i++) {
		for (k = 0; k < BATCH; k++) {
			ops[k] = (struct drm_vrdu_bind_op) {
				.op = DRM_VRDU_BIND_MAP, .handle = self->job.bo, .va = at,
				.size = PAGE,
			};
			at += 2 * PAGE;
		}
		/* The job has one mapping already, so the last batch does not fit. */
		ASSERT_EQ(i == MAX / BATCH - 1 ? -ENOSPC : 0,
			  vm_bind(self->fd, self->job.ctx, ops, BATCH));
	}
	EXPECT_EQ(MAX - BATCH + 1, mappings(self->fd, self->job.ctx));
	ASSERT_EQ(0, vm_bind(self->fd, self->job.ctx, ops, BATCH - 1));
	EXPECT_EQ(MAX, mappings(self->fd, self->job.ctx));
	EXPECT_EQ(1, run_at(&self->job, VA + 1024 * PAGE, VA + PAGE));
	EXPECT_EQ(1, run_at(&self->job, at - 4 * PAGE, VA + PAGE));
	/* A hole in the middle of the only two-page mapping needs a mapping more. */
	EXPECT_EQ(0, vm_unmap(self->fd, self->job.ctx, VA + 1024 * PAGE, 1ull << 40));
	EXPECT_EQ(1, mappings(self->fd, self->job.ctx));
}

TEST_HARNESS_MAIN
