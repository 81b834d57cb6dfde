// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: submission, ordering, syncs, faults. */
#include "vrdu_test.h"
#include "kselftest_harness.h"

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
	EXPECT_EQ(0, self->job.status->error);
}

TEST_HARNESS_MAIN
