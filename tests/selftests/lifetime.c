// SPDX-License-Identifier: GPL-2.0-only
/*
 * vrdu selftest: who outlives whom. Files, contexts, fences, mappings, devices
 * and the module end in every order, with work in every state.
 */
#include "vrdu_test.h"
#include "patience.h"

#define DELETE_MODULE	"vrdu"

/* Socket 15 is this test's own. */
#define SOCKET		15
#define SOCKET_NAME	"vrdu.15"

FIXTURE(lifetime) {
	int fd;
};

FIXTURE_SETUP(lifetime)
{
	/* May be left over from a test that failed. */
	write_file(SYSFS "del_device", "15");
	ASSERT_EQ(0, write_file(SYSFS "new_device", "15"));
	self->fd = node_open(SOCKET);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(lifetime)
{
	close(self->fd);
	EXPECT_EQ(0, write_file(SYSFS "del_device", "15"));
}

/* Objects of @kind go down to @count; memory may follow a grace period later. */
static bool live_becomes(const char *kind, long long count)
{
	int64_t end = deadline(LIMIT_S);

	while (live(kind) != count) {
		if (now_ns() > end) {
			printf("# %s: %lld, not %lld\n", kind, live(kind), count);
			return false;
		}
		usleep(20000);
	}
	return true;
}

/* Nothing is left but the open files of this test. */
static bool all_gone(void)
{
	return live_becomes("contexts", 0) && live_becomes("programs", 0) &&
	       live_becomes("mappings", 0) && live_becomes("submissions", 0) &&
	       live_becomes("buffers", 0) && live_becomes("control_pages", 0) &&
	       live_becomes("fences", 0);
}

static bool have_live(void)
{
	return live("contexts") >= 0;
}

/* ---- a process that dies ---- */

/* What the victim is doing when it is killed. */
enum victim {
	IDLE,
	BUSY,			/* engine inside its call */
	WAITING,		/* in a syncobj wait */
	RING_FULL,		/* in SUBMIT, waiting for space */
	UNMAPPING,		/* in VM_BIND, waiting for the engine */
	BEHIND_A_FENCE,		/* its work waits for its other context */
	VICTIMS,
};

static const char * const victim_name[VICTIMS] = {
	"idle", "busy", "waiting", "ring full", "unmapping", "behind a fence",
};

static void be_victim(enum victim what, int ready)
{
	struct drm_vrdu_sync in;
	struct job job, other;
	int fd = node_open(SOCKET);

	if (fd < 0 || job_init(&job, fd, LONG_TRIPS, LONG_OUTER) || job_init(&other, fd, 3, 1))
		_exit(1);
	if (what != IDLE && job_submit(&job, NULL, NULL))
		_exit(2);
	if (what == BEHIND_A_FENCE) {
		in = (struct drm_vrdu_sync) { .handle = job.sync };
		if (job_submit(&other, NULL, &in))
			_exit(3);
	}
	/* The engine is inside. */
	if (what != IDLE)
		usleep(50000);
	if (write(ready, "x", 1) != 1)
		_exit(4);
	switch (what) {
	case WAITING:
		syncobj_wait(fd, job.sync, 0, FOREVER);
		break;
	case RING_FULL:
		while (!job_submit(&job, NULL, NULL))
			;
		break;
	case UNMAPPING:
		vm_unmap(fd, job.ctx, VA, PAGE);
		break;
	default:
		pause();
	}
	_exit(5);
}

TEST_F_TIMEOUT(lifetime, kill, PATIENCE)
{
	int what, status, pipe_fd[2];
	int64_t began;
	pid_t pid;
	char c;

	for (what = 0; what < VICTIMS; what++) {
		ASSERT_EQ(0, pipe(pipe_fd));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			be_victim(what, pipe_fd[1]);
		close(pipe_fd[1]);
		ASSERT_EQ(1, read(pipe_fd[0], &c, 1));
		close(pipe_fd[0]);
		usleep(100000);
		began = now_ns();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(true, WIFSIGNALED(status));
		printf("# killed while %s: gone after %lld ms\n", victim_name[what],
		       (long long)(now_ns() - began) / 1000000);
		if (have_live()) {
			EXPECT_EQ(true, all_gone());
		}
	}
}

TEST_F_TIMEOUT(lifetime, close_with_work, PATIENCE)
{
	struct job job;
	int fd = node_open(SOCKET), sync_fd;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, job_init(&job, fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	sync_fd = syncobj_to_sync_file(fd, job.sync);
	ASSERT_LE(0, sync_fd);
	EXPECT_EQ(0, sync_file_status(sync_fd, NULL));
	/* Mappings hold the file open. */
	munmap(job.mem, 2 * PAGE);
	munmap((void *)job.status, PAGE);
	close(fd);
	EXPECT_EQ(-ECANCELED, sync_file_status(sync_fd, NULL));
	close(sync_fd);
	if (have_live()) {
		EXPECT_EQ(true, all_gone());
	}
}

/* close() in a child takes nothing from the parent. */
TEST_F(lifetime, fork_and_close)
{
	struct job job;
	int status;
	pid_t pid;

	ASSERT_EQ(0, job_init(&job, self->fd, 3, 1));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->fd);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	ASSERT_EQ(0, job_wait(&job));
	EXPECT_EQ(1, job_fence_status(&job));
	job_fini(&job);
}

/* ---- fences ---- */

TEST_F_TIMEOUT(lifetime, fence_outlives_all, PATIENCE)
{
	struct test_fence_info info = {};
	struct job job;
	int fd = node_open(SOCKET), sync_fd;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, job_init(&job, fd, 3, 1));
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	sync_fd = syncobj_to_sync_file(fd, job.sync);
	ASSERT_LE(0, sync_fd);
	ASSERT_EQ(0, job_wait(&job));
	job_fini(&job);
	close(fd);
	close(self->fd);
	self->fd = -1;
	ASSERT_EQ(0, write_file(SYSFS "del_device", "15"));

	/* Queue, context, file and device are gone. The fence tells its names all the same. */
	EXPECT_EQ(1, sync_file_status(sync_fd, &info));
	EXPECT_EQ(0, strcmp(info.driver_name, "vrdu"));
	EXPECT_EQ(0, strncmp(info.obj_name, "socket15-context", 16));
	close(sync_fd);
	if (have_live()) {
		EXPECT_EQ(true, live_becomes("fences", 0));
	}
	ASSERT_EQ(0, write_file(SYSFS "new_device", "15"));
}

/* ---- the module ---- */

static int delete_module(void)
{
	return syscall(SYS_delete_module, DELETE_MODULE, O_NONBLOCK) ? -errno : 0;
}

TEST_F(lifetime, rmmod_busy)
{
	struct job job;
	int sync_fd;

	/* Open. */
	EXPECT_EQ(-EAGAIN, delete_module());
	ASSERT_EQ(0, job_init(&job, self->fd, 3, 1));
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	sync_fd = syncobj_to_sync_file(self->fd, job.sync);
	ASSERT_LE(0, sync_fd);
	ASSERT_EQ(0, job_wait(&job));
	job_fini(&job);
	close(self->fd);
	self->fd = -1;
	/* Only a fence is left: it counts. */
	EXPECT_EQ(-EAGAIN, delete_module());
	close(sync_fd);
}

/* ---- the device ---- */

TEST_F(lifetime, new_and_del)
{
	EXPECT_EQ(-EEXIST, write_file(SYSFS "new_device", "15"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "16"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "-1"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "x"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", " "));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "14 no-such-profile"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "14 tiny more"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "new_device", "14 a-name-that-is-much-too-long"));
	EXPECT_EQ(-ENOENT, write_file(SYSFS "del_device", "14"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "del_device", "99"));
	EXPECT_EQ(-EINVAL, write_file(SYSFS "del_device", "15 15"));
}

TEST_F_TIMEOUT(lifetime, profiles_and_many, PATIENCE)
{
	struct drm_vrdu_device_info info = {};
	char text[16];
	int i, fd;

	for (i = 1; i < 15; i++) {
		snprintf(text, sizeof(text), "%d tiny", i);
		ASSERT_EQ(0, write_file(SYSFS "new_device", text));
	}
	fd = node_open(7);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, query(fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	EXPECT_EQ(7, info.instance);
	EXPECT_EQ(0, strcmp((char *)info.profile, "tiny"));
	for (i = 1; i < 15; i++) {
		snprintf(text, sizeof(text), "%d", i);
		ASSERT_EQ(0, write_file(SYSFS "del_device", text));
	}
	EXPECT_EQ(-ENODEV, query(fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	close(fd);
}

struct waiter {
	struct job *job;
	int ret;
};

static void *wait_for_job(void *arg)
{
	struct waiter *w = arg;

	w->ret = job_wait(w->job);
	return NULL;
}

static void *submit_until_error(void *arg)
{
	struct waiter *w = arg;

	do {
		w->ret = job_submit(w->job, NULL, NULL);
	} while (!w->ret);
	return NULL;
}

/* The device goes while files are open, memory is mapped and threads wait. */
TEST_F_TIMEOUT(lifetime, unbind_with_everything, PATIENCE)
{
	struct drm_vrdu_device_info info;
	struct waiter waiter, submitter;
	pthread_t wait_thread, submit_thread;
	struct drm_vrdu_sync in;
	struct job job, full, behind;
	int sync_fd, behind_fd, fd;
	uint64_t offset;
	uint32_t ctx;

	ASSERT_EQ(0, job_init(&job, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_init(&full, self->fd, LONG_TRIPS, LONG_OUTER));
	ASSERT_EQ(0, job_init(&behind, self->fd, 3, 1));
	ASSERT_EQ(0, bo_offset(self->fd, job.bo, &offset));
	job_x(&job)[0] = 42;
	ASSERT_EQ(0, job_submit(&job, NULL, NULL));
	in = (struct drm_vrdu_sync) { .handle = job.sync };
	ASSERT_EQ(0, job_submit(&behind, NULL, &in));
	sync_fd = syncobj_to_sync_file(self->fd, job.sync);
	ASSERT_LE(0, sync_fd);
	behind_fd = syncobj_to_sync_file(self->fd, behind.sync);
	ASSERT_LE(0, behind_fd);
	waiter = (struct waiter) { .job = &job };
	submitter = (struct waiter) { .job = &full };
	ASSERT_EQ(0, pthread_create(&wait_thread, NULL, wait_for_job, &waiter));
	ASSERT_EQ(0, pthread_create(&submit_thread, NULL, submit_until_error, &submitter));
	usleep(200000);

	ASSERT_EQ(0, write_file(SYSFS "unbind", SOCKET_NAME));

	/* Waiters come back: the fences have ended, with the reason. */
	pthread_join(wait_thread, NULL);
	pthread_join(submit_thread, NULL);
	EXPECT_EQ(-ENODEV, submitter.ret);
	EXPECT_EQ(true, waiter.ret == 0 || waiter.ret == -ENODEV);
	EXPECT_EQ(-ENODEV, sync_file_status(sync_fd, NULL));
	/* Its in-fence ended first, but nothing ran any more. */
	EXPECT_EQ(-ENODEV, sync_file_status(behind_fd, NULL));
	close(sync_fd);
	close(behind_fd);

	/* Memory that was mapped stays accessible and empty; no SIGBUS. */
	EXPECT_EQ(0, job_x(&job)[0]);
	job_y(&job)[5] = 1;
	EXPECT_EQ(0, job.status->completed);

	/* Every ioctl says so; no new mapping. */
	EXPECT_EQ(-ENODEV, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	EXPECT_EQ(-ENODEV, ctx_create(self->fd, &ctx, NULL));
	EXPECT_EQ(-ENODEV, bo_create(self->fd, PAGE, 0, &ctx));
	EXPECT_EQ(-ENODEV, job_submit(&job, NULL, NULL));
	EXPECT_EQ(-ENODEV, ctx_destroy(self->fd, job.ctx));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset));

	/* Bound again it is a new device; the old file stays dead. */
	ASSERT_EQ(0, write_file(SYSFS "bind", SOCKET_NAME));
	fd = node_open(SOCKET);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, query(fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	EXPECT_EQ(-ENODEV, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	close(fd);
	munmap((void *)job.status, PAGE);
	munmap(job.mem, 2 * PAGE);
}

/* Two buffers do not share what they show after the unplug. */
TEST_F(lifetime, dummy_is_private)
{
	uint32_t a, b;
	char *x, *y;

	ASSERT_EQ(0, bo_create(self->fd, 2 * PAGE, 0, &a));
	ASSERT_EQ(0, bo_create(self->fd, 2 * PAGE, 0, &b));
	x = bo_map(self->fd, a, 2 * PAGE);
	y = bo_map(self->fd, b, 2 * PAGE);
	ASSERT_NE(MAP_FAILED, x);
	ASSERT_NE(MAP_FAILED, y);
	memset(x, 1, 2 * PAGE);
	ASSERT_EQ(0, write_file(SYSFS "unbind", SOCKET_NAME));
	EXPECT_EQ(0, x[0]);
	x[3] = 9;
	EXPECT_EQ(0, y[3]);
	munmap(x, 2 * PAGE);
	munmap(y, 2 * PAGE);
	ASSERT_EQ(0, write_file(SYSFS "bind", SOCKET_NAME));
}

/* Refused calls keep no section of the device open: an unbind follows each at once. */
TEST_F_TIMEOUT(lifetime, unbind_after_refusals, PATIENCE)
{
	struct job job;
	struct image img;
	uint32_t id;
	int round;

	for (round = 0; round < 4; round++) {
		int fd = node_open(SOCKET);

		ASSERT_LE(0, fd);
		ASSERT_EQ(0, job_init(&job, fd, 3, 1));
		switch (round) {
		case 0:
			EXPECT_EQ(-EINVAL, vm_map(fd, job.ctx, job.bo, VA, PAGE, 0));
			break;
		case 1:
			image_add(&img, 1, 1);
			img.h.flags = 1;
			EXPECT_EQ(-EINVAL, program_create(fd, job.ctx, &img, &id));
			break;
		case 2:
			job.program = 99;
			EXPECT_EQ(-ENOENT, job_submit(&job, NULL, NULL));
			break;
		case 3:
			while (!ctx_create(fd, &id, NULL))
				;
			break;
		}
		ASSERT_EQ(0, write_file(SYSFS "unbind", SOCKET_NAME));
		munmap((void *)job.status, PAGE);
		munmap(job.mem, 2 * PAGE);
		close(fd);
		ASSERT_EQ(0, write_file(SYSFS "bind", SOCKET_NAME));
	}
}

/* ---- races ---- */

static volatile bool racing;
static int race_fd;

/* Guesses handles that the other thread is just making. */
static void *destroy_guessed(void *arg)
{
	uint32_t id;

	while (racing)
		for (id = 1; id < 6; id++) {
			ctx_destroy(race_fd, id);
			program_destroy(race_fd, id, 1);
		}
	return NULL;
}

static void *read_debugfs(void *arg)
{
	while (racing) {
		read_file("/sys/kernel/debug/accel/" SOCKET_NAME "/contexts");
		read_file("/sys/kernel/debug/accel/" SOCKET_NAME "/device");
		read_file("/sys/kernel/debug/accel/" SOCKET_NAME "/gem_names");
		read_file("/sys/kernel/debug/vrdu/live");
	}
	return NULL;
}

TEST_F_TIMEOUT(lifetime, guessed_handles, PATIENCE)
{
	pthread_t destroyer, reader;
	int64_t end;
	struct job job;
	int rounds = 0;

	race_fd = self->fd;
	racing = true;
	ASSERT_EQ(0, pthread_create(&destroyer, NULL, destroy_guessed, NULL));
	ASSERT_EQ(0, pthread_create(&reader, NULL, read_debugfs, NULL));
	end = deadline(5);
	while (now_ns() < end) {
		/* May fail anywhere; must not crash, leak or hang. */
		if (!job_init(&job, self->fd, 50, 1) && !job_submit(&job, NULL, NULL))
			EXPECT_EQ(0, job_wait(&job));
		if (job.mem && job.mem != MAP_FAILED && job.status != MAP_FAILED)
			job_fini(&job);
		else
			ctx_destroy(self->fd, job.ctx);
		rounds++;
	}
	racing = false;
	pthread_join(destroyer, NULL);
	pthread_join(reader, NULL);
	printf("# %d rounds\n", rounds);
}

/* Submissions of one thread race with kills of the context by another. */
TEST_F_TIMEOUT(lifetime, submit_and_destroy, PATIENCE)
{
	struct waiter submitter;
	pthread_t thread;
	struct job job;
	int i;

	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, job_init(&job, self->fd, 20, 1));
		submitter = (struct waiter) { .job = &job };
		ASSERT_EQ(0, pthread_create(&thread, NULL, submit_until_error, &submitter));
		usleep(1000 * (i % 7));
		ASSERT_EQ(0, ctx_destroy(self->fd, job.ctx));
		pthread_join(thread, NULL);
		EXPECT_EQ(true, submitter.ret == -ENOENT || submitter.ret == -ECANCELED);
		/* The last fence ended, with or without success. */
		if (job.status->head) {
			EXPECT_EQ(0, job_wait(&job));
		}
		job_fini(&job);
	}
}

TEST_HARNESS_MAIN
