// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: programs: refusal with a log, handles, lifetime. */
#include "vrdu_test.h"
#include "patience.h"

FIXTURE(program) {
	int fd;
	struct job job;
	struct image img;
};

FIXTURE_SETUP(program)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, job_init(&self->job, self->fd, 5, 1));
	image_add(&self->img, 4, JOB_COLS);
}

FIXTURE_TEARDOWN(program)
{
	job_fini(&self->job);
	close(self->fd);
}

static int create(int fd, uint32_t ctx, const void *img, uint32_t size, char *log,
		  uint32_t *log_size)
{
	struct drm_vrdu_program_create c = {
		.context = ctx, .image = (uintptr_t)img, .image_size = size,
		.log = (uintptr_t)log, .log_size = *log_size,
	};
	int ret = vioctl(fd, DRM_IOCTL_VRDU_PROGRAM_CREATE, &c);

	*log_size = c.log_size;
	return ret;
}

TEST_F(program, add)
{
	uint64_t args[3] = { VA, VA + 256, VA + PAGE };
	struct drm_vrdu_call call = { .arg_count = 3, .args = (uintptr_t)args };
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	volatile int32_t *mem = self->job.mem;
	int i;

	ASSERT_EQ(0, program_create(self->fd, self->job.ctx, &self->img, &call.program));
	for (i = 0; i < 64; i++) {
		mem[i] = i * 3;
		mem[64 + i] = 1000 - i;
	}
	ASSERT_EQ(0, submit(self->fd, self->job.ctx, &call, 1, NULL, 0, &out, 1, NULL));
	ASSERT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	for (i = 0; i < 64; i++)
		EXPECT_EQ(1000 + 2 * i, mem[PAGE / 4 + i]);
}

TEST_F(program, refused_with_log)
{
	char log[2048], shorter[16];
	uint32_t size, whole;
	struct image bad;

	bad = self->img;
	bad.node[2].p[0] = 99;
	image_seal(&bad);
	memset(log, 0x7f, sizeof(log));
	size = sizeof(log);
	EXPECT_EQ(-EINVAL, create(self->fd, self->job.ctx, &bad, sizeof(bad), log, &size));
	ASSERT_LT(1, size);
	ASSERT_LE(size, sizeof(log));
	EXPECT_EQ(size - 1, strnlen(log, sizeof(log)));
	printf("# %s\n", log);
	whole = size;

	/* A short buffer gets a prefix, and the size of the whole. */
	memset(shorter, 0x7f, sizeof(shorter));
	size = 8;
	EXPECT_EQ(-EINVAL, create(self->fd, self->job.ctx, &bad, sizeof(bad), shorter, &size));
	EXPECT_EQ(whole, size);
	EXPECT_EQ(0, memcmp(shorter, log, 7));
	EXPECT_EQ(0, shorter[7]);
	EXPECT_EQ(0x7f, shorter[8]);

	size = 0;
	EXPECT_EQ(-EINVAL, create(self->fd, self->job.ctx, &bad, sizeof(bad), NULL, &size));
	EXPECT_EQ(whole, size);
	/* An absurd size is no request for memory; a bad pointer does not hide the verdict. */
	size = ~0u;
	EXPECT_EQ(-EINVAL, create(self->fd, self->job.ctx, &bad, sizeof(bad), log, &size));
	size = 64;
	EXPECT_EQ(-EINVAL, create(self->fd, self->job.ctx, &bad, sizeof(bad), (char *)8, &size));
}

TEST_F(program, hostile_images)
{
	static unsigned char big[VRDU_IMAGE_MAX_BYTES + 1];
	uint32_t size, i;
	struct image bad;

#define REFUSED(ptr, bytes) ({ \
	size = 0; \
	create(self->fd, self->job.ctx, ptr, bytes, NULL, &size); \
})
	EXPECT_EQ(-EINVAL, REFUSED(&self->img, 0));
	EXPECT_EQ(-EINVAL, REFUSED(&self->img, 1));
	EXPECT_EQ(-EINVAL, REFUSED(&self->img, sizeof(self->img) - 1));
	EXPECT_EQ(-EINVAL, REFUSED(big, sizeof(big)));
	EXPECT_EQ(-EINVAL, REFUSED(big, VRDU_IMAGE_MAX_BYTES));
	EXPECT_EQ(-EINVAL, REFUSED(big, ~0u));
	EXPECT_EQ(-EFAULT, REFUSED((void *)16, 4096));

	/* Every 32-bit word of the records in turn to its worst values. */
	for (i = 4; i < offsetof(struct image, strings) / 4; i++) {
		static const uint32_t worst[] = { 0xffffffffu, 0x80000000u, 0x7fffffffu };
		unsigned int k;

		for (k = 0; k < 3; k++) {
			bad = self->img;
			((uint32_t *)&bad)[i] = worst[k];
			image_seal(&bad);
			/* Refused, or harmless: both are fine, surviving is the test. */
			size = 0;
			create(self->fd, self->job.ctx, &bad, sizeof(bad), NULL, &size);
		}
	}
	bad = self->img;
	bad.h.crc32 ^= 1;
	EXPECT_EQ(-EINVAL, REFUSED(&bad, sizeof(bad)));
	bad = self->img;
	bad.h.major++;
	image_seal(&bad);
	EXPECT_EQ(-EINVAL, REFUSED(&bad, sizeof(bad)));
#undef REFUSED
}

TEST_F(program, handles)
{
	uint32_t a, other_ctx;
	int other;

	ASSERT_EQ(0, program_create(self->fd, self->job.ctx, &self->img, &a));
	EXPECT_EQ(-ENOENT, program_destroy(self->fd, self->job.ctx, 0));
	EXPECT_EQ(-ENOENT, program_destroy(self->fd, self->job.ctx, ~0u));
	EXPECT_EQ(-ENOENT, program_destroy(self->fd, self->job.ctx + 7, a));
	/* Of another context, of another file. */
	ASSERT_EQ(0, ctx_create(self->fd, &other_ctx, NULL));
	EXPECT_EQ(-ENOENT, program_destroy(self->fd, other_ctx, a));
	other = node_open(0);
	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, program_destroy(other, self->job.ctx, a));
	close(other);

	EXPECT_EQ(0, program_destroy(self->fd, self->job.ctx, a));
	EXPECT_EQ(-ENOENT, program_destroy(self->fd, self->job.ctx, a));
	/* Gone: no call takes it. */
	self->job.program = a;
	EXPECT_EQ(-ENOENT, job_submit(&self->job, NULL, NULL));
}

TEST_F_TIMEOUT(program, limit, PATIENCE)
{
	struct drm_vrdu_device_info info;
	uint32_t id, i;

	ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	for (i = 1; i < info.max_programs; i++)
		ASSERT_EQ(0, program_create(self->fd, self->job.ctx, &self->img, &id));
	EXPECT_EQ(-ENOSPC, program_create(self->fd, self->job.ctx, &self->img, &id));
	EXPECT_EQ(0, program_destroy(self->fd, self->job.ctx, 7));
	EXPECT_EQ(0, program_create(self->fd, self->job.ctx, &self->img, &id));
}

/* Calls in the ring keep a destroyed program, and its id. */
TEST_F_TIMEOUT(program, destroyed_while_running, PATIENCE)
{
	struct job slow;
	struct image img;
	uint32_t id;
	int i;

	ASSERT_EQ(0, job_init(&slow, self->fd, 50000, 1));
	image_count(&img, JOB_COLS, 1, 1);
	job_x(&slow)[0] = 1;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, job_submit(&slow, NULL, NULL));
	ASSERT_EQ(0, program_destroy(self->fd, slow.ctx, slow.program));
	EXPECT_EQ(-ENOENT, job_submit(&slow, NULL, NULL));
	if (!job_fence_status(&slow)) {
		ASSERT_EQ(0, program_create(self->fd, slow.ctx, &img, &id));
		/* Still running after that: then the id cannot be the old one. */
		if (!job_fence_status(&slow))
			EXPECT_NE(slow.program, id);
	}
	ASSERT_EQ(0, job_wait(&slow));
	EXPECT_EQ(1, job_fence_status(&slow));
	EXPECT_EQ(50001, job_y(&slow)[0]);
	job_fini(&slow);
}

TEST_HARNESS_MAIN
