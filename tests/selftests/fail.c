// SPDX-License-Identifier: GPL-2.0-only
/*
 * vrdu selftest: every allocation and user copy of every ioctl fails once.
 * Needs a kernel with fault injection (the project's checking kernel); is
 * skipped elsewhere. What leaks shows in the live counters and to kmemleak.
 */
#include "vrdu_test.h"
#include "patience.h"

#define FAILSLAB	"/sys/kernel/debug/failslab/"
#define FAILPAGE	"/sys/kernel/debug/fail_page_alloc/"
#define FAILCOPY	"/sys/kernel/debug/fail_usercopy/"

static bool injection(void)
{
	/* Blocking allocations too, single pages too, and no report for each. */
	write_file(FAILPAGE "ignore-gfp-wait", "N");
	write_file(FAILPAGE "min-order", "0");
	write_file(FAILPAGE "verbose", "0");
	write_file(FAILCOPY "verbose", "0");
	write_file(FAILSLAB "verbose", "0");
	return !access("/proc/self/fail-nth", W_OK) &&
	       !write_file(FAILSLAB "ignore-gfp-wait", "N");
}

/* The nth chance to fail from now on in this task is taken; 0: none. */
static void arm(int nth_fd, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	/* The copy of this text may be the chance that was armed before: once more. */
	if (pwrite(nth_fd, text, strlen(text), 0) < 0 &&
	    pwrite(nth_fd, text, strlen(text), 0) < 0)
		abort();
}

/* True if the chance was taken. */
static bool disarm(int nth_fd)
{
	char text[16] = "";
	ssize_t got = pread(nth_fd, text, sizeof(text) - 1, 0);

	arm(nth_fd, 0);
	/* A read that fails took the chance itself: the operation had none left. */
	return got > 0 && !atoi(text);
}

FIXTURE(fail) {
	int nth;
	int fd;
	struct job job;
};

FIXTURE_SETUP(fail)
{
	self->fd = -1;
	if (!injection())
		SKIP(return, "no fault injection in this kernel");
	self->nth = open("/proc/self/fail-nth", O_RDWR);
	ASSERT_LE(0, self->nth);
}

FIXTURE_TEARDOWN(fail)
{
	if (self->fd >= 0)
		close(self->fd);
}

static int op_open(struct job *job)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/accel/accel0");
	fd = open(path, O_RDWR);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int op_context(struct job *job)
{
	uint32_t id;

	return ctx_create(job->fd, &id, NULL);
}

static int op_buffer(struct job *job)
{
	uint32_t handle;

	return bo_create(job->fd, 8 * PAGE, 0, &handle);
}

static int op_phantom(struct job *job)
{
	uint32_t handle;

	return bo_create(job->fd, 1ull << 32, DRM_VRDU_BO_PHANTOM, &handle);
}

/* Cuts the mapping, and maps a buffer for the first time. */
static int op_bind(struct job *job)
{
	struct drm_vrdu_bind_op ops[3] = {
		{ .op = DRM_VRDU_BIND_UNMAP, .va = VA + PAGE, .size = PAGE },
		{ .op = DRM_VRDU_BIND_MAP, .handle = job->bo, .va = VA + 16 * PAGE,
		  .size = PAGE },
		{ .op = DRM_VRDU_BIND_UNMAP, .va = VA + 16 * PAGE, .size = PAGE },
	};

	return vm_bind(job->fd, job->ctx, ops, 3);
}

static int op_program(struct job *job)
{
	char log[256];
	struct image img;
	struct drm_vrdu_program_create c = {
		.context = job->ctx, .image = (uintptr_t)&img, .image_size = sizeof(img),
		.log = (uintptr_t)log, .log_size = sizeof(log),
	};

	image_add(&img, 4, JOB_COLS);
	return vioctl(job->fd, DRM_IOCTL_VRDU_PROGRAM_CREATE, &c);
}

static int op_submit(struct job *job)
{
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call[3];
	struct drm_vrdu_sync out[2] = { { .handle = job->sync }, { .handle = job->sync } };
	struct drm_vrdu_sync in = { .handle = job->sync };
	int i, ret;

	for (i = 0; i < 3; i++)
		call[i] = (struct drm_vrdu_call) {
			.program = job->program, .arg_count = 2, .args = (uintptr_t)args,
		};
	out[1].point = 7;
	ret = submit(job->fd, job->ctx, call, 3, &in, 1, out, 2, NULL);
	return ret;
}

static int op_query(struct job *job)
{
	struct drm_vrdu_device_info info;

	return query(job->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info));
}

/* First touch of a mapping, through the kernel so that a failure is no signal. */
static int op_fault(struct job *job)
{
	char *mem = bo_map(job->fd, job->bo, 2 * PAGE);
	int ret;

	if (mem == MAP_FAILED)
		return -errno;
	ret = query(job->fd, DRM_VRDU_QUERY_DEVICE, 0, mem + PAGE, 64);
	munmap(mem, 2 * PAGE);
	return ret;
}

static bool expected(int ret)
{
	return !ret || ret == -ENOMEM || ret == -EFAULT;
}

/* A fresh file each time, so that no failure hides behind an earlier one's leftovers. */
static void sweep(struct __test_metadata *_metadata, int nth, const char *name,
		  int (*op)(struct job *job))
{
	struct drm_vrdu_context_info info;
	int n, ret, fd, failed = 0;
	struct job job;
	bool taken;

	for (n = 1; n < 500; n++) {
		fd = node_open(0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, job_init(&job, fd, 2, 1));
		/* A fence for the in sync. */
		ASSERT_EQ(0, job_submit(&job, NULL, NULL));
		ASSERT_EQ(0, job_wait(&job));

		arm(nth, n);
		ret = op(&job);
		taken = disarm(nth);
		failed += taken && ret;
		EXPECT_EQ(true, expected(ret)) {
			TH_LOG("%s, chance %d: %d", name, n, ret);
		}

		/* All or nothing, and the context is as good as before. */
		if (ret && op == op_bind) {
			ASSERT_EQ(0, query(fd, DRM_VRDU_QUERY_CONTEXT, job.ctx, &info,
					   sizeof(info)));
			EXPECT_EQ(1, info.mappings);
		}
		if (op != op_bind) {
			ASSERT_EQ(0, job_submit(&job, NULL, NULL));
			ASSERT_EQ(0, job_wait(&job));
			EXPECT_EQ(1, job_fence_status(&job));
		}
		job_fini(&job);
		close(fd);
		if (!taken)
			break;
	}
	EXPECT_LT(0, failed);
	EXPECT_GT(500, n);
	printf("# %s: %d chances, %d failures\n", name, n - 1, failed);
}

#define SWEEP(name) \
TEST_F_TIMEOUT(fail, name, PATIENCE) \
{ \
	int64_t end; \
	sweep(_metadata, self->nth, #name, op_##name); \
	/* Memory of fences follows after a grace period. */ \
	end = deadline(LIMIT_S); \
	while ((live("fences") || live("submissions")) && now_ns() < end) \
		usleep(20000); \
	EXPECT_EQ(0, live("files")); \
	EXPECT_EQ(0, live("contexts")); \
	EXPECT_EQ(0, live("programs")); \
	EXPECT_EQ(0, live("buffers")); \
	EXPECT_EQ(0, live("control_pages")); \
	EXPECT_EQ(0, live("mappings")); \
	EXPECT_EQ(0, live("fences")); \
	EXPECT_EQ(0, live("submissions")); \
}

SWEEP(open)
SWEEP(context)
SWEEP(buffer)
SWEEP(phantom)
SWEEP(bind)
SWEEP(program)
SWEEP(submit)
SWEEP(query)
SWEEP(fault)

TEST_HARNESS_MAIN
