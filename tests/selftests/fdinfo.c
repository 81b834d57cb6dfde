// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: /proc/self/fdinfo. */
#include "vrdu_test.h"
#include "patience.h"

FIXTURE(fdinfo) {
	int fd;
	char path[64];
};

FIXTURE_SETUP(fdinfo)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	snprintf(self->path, sizeof(self->path), "/proc/self/fdinfo/%d", self->fd);
}

FIXTURE_TEARDOWN(fdinfo)
{
	close(self->fd);
}

TEST_F(fdinfo, keys)
{
	const char *text = read_file(self->path);

	EXPECT_NE(NULL, strstr(text, "drm-driver:\tvrdu\n"));
	EXPECT_NE(NULL, strstr(text, "drm-client-id:\t"));
	EXPECT_NE(NULL, strstr(text, "drm-engine-capacity-fabric:\t1\n"));
	EXPECT_EQ(0, text_number(text, "drm-engine-fabric:"));
	EXPECT_EQ(0, text_number(text, "drm-total-memory:"));
}

TEST_F(fdinfo, memory)
{
	uint32_t real, phantom;
	const char *text;

	ASSERT_EQ(0, bo_create(self->fd, 16 * PAGE, 0, &real));
	ASSERT_EQ(0, bo_create(self->fd, 1ull << 30, DRM_VRDU_BO_PHANTOM, &phantom));
	text = read_file(self->path);
	EXPECT_NE(NULL, strstr(text, "drm-total-memory:\t1048640 KiB\n"));
	/* A phantom has no pages. */
	EXPECT_NE(NULL, strstr(text, "drm-resident-memory:\t64 KiB\n"));
}

/* Time is fresh: it grows while a call runs, and only for the file that runs it. */
TEST_F_TIMEOUT(fdinfo, busy_while_running, PATIENCE)
{
	long long first, second, third, done;
	int other = node_open(0);
	char other_path[64];
	struct job job;

	ASSERT_LE(0, other);
	snprintf(other_path, sizeof(other_path), "/proc/self/fdinfo/%d", other);
	ASSERT_EQ(0, job_init(&job, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	usleep(200000);
	first = text_number(read_file(self->path), "drm-engine-fabric:");
	usleep(100000);
	second = text_number(read_file(self->path), "drm-engine-fabric:");
	usleep(100000);
	third = text_number(read_file(self->path), "drm-engine-fabric:");
	EXPECT_EQ(0, job_fence_status(&job));
	EXPECT_LT(0, first);
	EXPECT_LE(first + NSEC / 10, second);
	EXPECT_LE(second + NSEC / 10, third);
	EXPECT_EQ(0, text_number(read_file(other_path), "drm-engine-fabric:"));

	/* What the dead context used stays counted. */
	ASSERT_EQ(0, ctx_destroy(self->fd, job.ctx));
	done = text_number(read_file(self->path), "drm-engine-fabric:");
	EXPECT_LE(third, done);
	usleep(50000);
	EXPECT_EQ(done, text_number(read_file(self->path), "drm-engine-fabric:"));
	job_fini(&job);
}

TEST_HARNESS_MAIN
