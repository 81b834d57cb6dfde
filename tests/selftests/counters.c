// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: host counters, the device's polling window, its sleep. */
#include "vrdu_test.h"
#include "patience.h"

#define POLL_US	"/sys/module/vrdu/parameters/poll_us"

FIXTURE(counters) {
	int fd;
	struct job job;
	char poll_us[16];
};

FIXTURE_SETUP(counters)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, job_init(&self->job, self->fd, 2, 1));
	snprintf(self->poll_us, sizeof(self->poll_us), "%lld",
		 strtoll(read_file(POLL_US), NULL, 10));
}

FIXTURE_TEARDOWN(counters)
{
	EXPECT_EQ(0, write_file(POLL_US, self->poll_us));
	job_fini(&self->job);
	close(self->fd);
}

static struct drm_vrdu_host_counters host(int fd)
{
	struct drm_vrdu_host_counters c = {};

	query(fd, DRM_VRDU_QUERY_HOST, 0, &c, sizeof(c));
	return c;
}

TEST_F_TIMEOUT(counters, add_up, PATIENCE)
{
	struct drm_vrdu_host_counters a, b;
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call[4];
	struct drm_vrdu_sync out = { .handle = self->job.sync };
	int i;

	for (i = 0; i < 4; i++)
		call[i] = (struct drm_vrdu_call) {
			.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
		};
	a = host(self->fd);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, submit(self->fd, self->job.ctx, call, 4, NULL, 0, &out, 1, NULL));
		ASSERT_EQ(0, job_wait(&self->job));
	}
	/* Refused: an ioctl, and nothing else. */
	ASSERT_EQ(-EINVAL, submit(self->fd, self->job.ctx, call, 0, NULL, 0, &out, 1, NULL));
	b = host(self->fd);
	EXPECT_EQ(12, b.ioctls - a.ioctls);
	EXPECT_EQ(10, b.submits - a.submits);
	EXPECT_EQ(40, b.calls - a.calls);
	EXPECT_EQ(10, b.doorbells - a.doorbells);
	EXPECT_EQ(10, b.events - a.events);
	EXPECT_EQ(10, b.fences - a.fences);
	EXPECT_GE(10, b.wakeups - a.wakeups);
	EXPECT_GE(10, b.poll_hits - a.poll_hits);
}

/* Another file's work does not show. */
TEST_F(counters, per_file)
{
	struct drm_vrdu_host_counters a, b;
	int other = node_open(0);

	ASSERT_LE(0, other);
	a = host(other);
	ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
	ASSERT_EQ(0, job_wait(&self->job));
	b = host(other);
	EXPECT_EQ(1, b.ioctls - a.ioctls);
	EXPECT_EQ(0, b.submits + b.calls + b.doorbells + b.events + b.fences + b.wakeups +
		  b.poll_hits);
}

/* Inside the polling window no doorbell has to wake anybody. */
TEST_F_TIMEOUT(counters, poll_window, PATIENCE)
{
	struct drm_vrdu_host_counters a, b;
	int64_t began, longest;
	int round, i;

	ASSERT_EQ(0, write_file(POLL_US, "100000"));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
		ASSERT_EQ(0, job_wait(&self->job));
		a = host(self->fd);
		longest = 0;
		began = now_ns();
		for (i = 0; i < 20; i++) {
			ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
			ASSERT_EQ(0, job_wait(&self->job));
			longest = now_ns() - began > longest ? now_ns() - began : longest;
			began = now_ns();
		}
		b = host(self->fd);
		/* A host that was away for the whole window proves nothing: again. */
		if (longest > 80 * 1000000)
			continue;
		EXPECT_EQ(0, b.wakeups - a.wakeups);
		EXPECT_EQ(20, b.doorbells - a.doorbells);
		EXPECT_LT(0, b.poll_hits - a.poll_hits);
		return;
	}
	SKIP(return, "the host is too slow to stay inside the window");
}

static long long sleeps(void)
{
	return text_number(read_file("/sys/kernel/debug/accel/vrdu.0/device"), "sleeps:");
}

/* Asleep, it is woken by the next doorbell, each time; an idle device does nothing. */
TEST_F_TIMEOUT(counters, sleep_and_wake, PATIENCE)
{
	struct drm_vrdu_host_counters a, b;
	long long slept;
	int64_t end;
	int i;

	if (sleeps() < 0)
		SKIP(return, "no debugfs");
	ASSERT_EQ(0, write_file(POLL_US, "0"));
	ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
	ASSERT_EQ(0, job_wait(&self->job));
	usleep(300000);
	a = host(self->fd);
	for (i = 0; i < 10; i++) {
		slept = sleeps();
		ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
		ASSERT_EQ(0, job_wait(&self->job));
		/* Until it sleeps again. */
		end = deadline(LIMIT_S);
		while (sleeps() == slept && now_ns() < end)
			usleep(1000);
		EXPECT_LT(slept, sleeps());
		usleep(20000);
	}
	b = host(self->fd);
	EXPECT_EQ(10, b.wakeups - a.wakeups);
	EXPECT_EQ(0, b.poll_hits - a.poll_hits);

	slept = sleeps();
	usleep(500000);
	EXPECT_EQ(slept, sleeps());
}

/* Doorbells at every distance from the end of the window: none is lost. */
TEST_F_TIMEOUT(counters, no_lost_doorbell, PATIENCE)
{
	struct drm_vrdu_host_counters a, b;
	int i;

	ASSERT_EQ(0, write_file(POLL_US, "500"));
	a = host(self->fd);
	for (i = 0; i < 400; i++) {
		int64_t until;

		ASSERT_EQ(0, job_submit(&self->job, NULL, NULL));
		ASSERT_EQ(0, job_wait(&self->job));
		until = now_ns() + (400 + i % 200) * 1000;
		while (now_ns() < until)
			;
	}
	b = host(self->fd);
	EXPECT_EQ(400, b.fences - a.fences);
	printf("# %d doorbells: %d woke the device, %d were found by polling\n", 400,
	       (int)(b.wakeups - a.wakeups), (int)(b.poll_hits - a.poll_hits));
}

TEST_HARNESS_MAIN
