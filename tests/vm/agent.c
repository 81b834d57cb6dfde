// SPDX-License-Identifier: MIT
/*
 * agent.c - the first process of the test machine.
 *
 * It is /init of the initramfs: it mounts the pseudo file systems, finds the
 * virtio-serial port "vrdu.agent" and then serves the host: take a file, run a
 * command, report its output and exit status, forward the kernel log.  Nothing
 * else talks on the port.  The host side is vmlib/link.py; the frame format is
 * described in agent.h.
 *
 * As process 1 it must never touch the driver under test: an oops in process 1
 * is a panic.  So modules are loaded, unloaded and read from children only; the
 * same binary is also those children's program ("agent load", "agent unload").
 * Files of the core kernel's /proc it reads itself: a process costs the debug
 * kernel a fifth of a second.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define WORK_DIR	"/t"
#define MAX_STRINGS	512

/** struct put_state - the file that the host is sending; fd is -1 when there is none. */
struct put_state {
	int fd;
	int err;
	uint64_t left;
};

/** struct run_state - the command that runs; pid is 0 when there is none. */
struct run_state {
	pid_t pid;
	int out[2];		/* read ends of stdout and stderr, -1 when closed */
	bool exited;
	int status;
	struct rusage usage;
	struct timespec start;
};

static int sigfd = -1;
static struct put_state put = { .fd = -1 };
static struct run_state run = { .out = { -1, -1 } };
static uint8_t payload[FRAME_MAX + 1];

/* ---- files --------------------------------------------------------------- */

static void make_parents(const char *path)
{
	char dir[PATH_MAX];

	for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(s - path), path);
		mkdir(dir, 0755);
	}
}

static void put_finish(void)
{
	if (put.fd >= 0 && close(put.fd) && !put.err)
		put.err = -errno;
	put.fd = -1;
	send_done(put.err, "%s", put.err ? strerror(-put.err) : "");
}

static void put_begin(uint32_t len)
{
	char *path = (char *)payload + 12;
	uint32_t mode;

	if (len <= 12)
		return send_done(-EINVAL, "short PUT frame");
	payload[len] = 0;
	memcpy(&mode, payload, 4);
	memcpy(&put.left, payload + 4, 8);
	put.err = 0;
	make_parents(path);
	unlink(path);
	put.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (put.fd < 0 || fchmod(put.fd, mode & 07777))
		put.err = -errno;
	if (!put.left)
		put_finish();
}

static void put_data(uint32_t len)
{
	const uint8_t *p = payload;
	uint32_t n = len;

	while (n && !put.err) {
		ssize_t done = write(put.fd, p, n);

		if (done < 0 && errno != EINTR)
			put.err = -errno;
		if (done > 0) {
			p += done;
			n -= done;
		}
	}
	if (len > put.left)
		put.err = -EPROTO;
	put.left -= len > put.left ? put.left : len;
	if (!put.left)
		put_finish();
}

static void read_file(uint32_t len)
{
	static uint8_t buf[32 * 1024];
	ssize_t n;
	int fd;

	payload[len] = 0;
	if (strncmp((char *)payload, "/proc/", 6))
		return send_done(-EINVAL, "not a file of /proc");
	fd = open((char *)payload, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return send_done(-errno, "%s", strerror(errno));
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		send_frame(G_OUT, 1, buf, n);
	n = n < 0 ? -errno : 0;
	close(fd);
	send_done(n, "%s", n ? strerror(-n) : "");
}

/* ---- commands ------------------------------------------------------------ */

static void run_child(char *cwd, char **argv, char **envp, int out, int err)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	for (int s = 1; s < NSIG; s++)
		sigaction(s, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (chdir(cwd))
		dprintf(2, "vrdu-agent: %s: %s\n", cwd, strerror(errno));
	environ = envp;
	execvp(argv[0], argv);
	dprintf(2, "vrdu-agent: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void run_begin(uint32_t len)
{
	static char *str[MAX_STRINGS + 2];
	uint32_t argc, envc, n = 0, at = 8;
	int out[2], err[2];

	if (len < 8)
		return send_done(-EINVAL, "short RUN frame");
	payload[len] = 0;
	memcpy(&argc, payload, 4);
	memcpy(&envc, payload + 4, 4);
	if (run.pid)
		return send_done(-EBUSY, "a command runs already");
	if (!argc || argc > MAX_STRINGS || envc > MAX_STRINGS || argc + envc + 3 > MAX_STRINGS)
		return send_done(-E2BIG, "%u arguments and %u variables", argc, envc);
	/* Strings in order: cwd, argv, env.  A NULL goes between argv and env. */
	while (at < len && n < argc + envc + 2) {
		if (n == argc + 1)
			str[n++] = NULL;
		str[n++] = (char *)payload + at;
		at += strlen((char *)payload + at) + 1;
	}
	if (!envc && n == argc + 1)
		str[n++] = NULL;
	str[n] = NULL;
	if (n != argc + envc + 2)
		return send_done(-EINVAL, "RUN frame lacks strings");

	if (pipe2(out, O_CLOEXEC))
		return send_done(-errno, "pipe");
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return send_done(-errno, "pipe");
	}
	clock_gettime(CLOCK_MONOTONIC, &run.start);
	run.exited = false;
	run.pid = fork();
	if (!run.pid)
		run_child(str[0], str + 1, str + argc + 2, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (run.pid < 0) {
		run.pid = 0;
		close(out[0]);
		close(err[0]);
		return send_done(-errno, "fork");
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	run.out[0] = out[0];
	run.out[1] = err[0];
}

/* Forward what stands in one pipe; false when nothing (more) is there. */
static bool pump(int which)
{
	static uint8_t buf[32 * 1024];
	ssize_t n = read(run.out[which], buf, sizeof(buf));

	if (n > 0) {
		send_frame(G_OUT, which + 1, buf, n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(run.out[which]);
		run.out[which] = -1;
	}
	return false;
}

/* Children that outlive the command may hold its pipes: what is written by now counts. */
static void run_end(void)
{
	struct {
		int32_t status;
		uint64_t ns, user, sys;
	} __attribute__((packed)) msg = { .status = run.status };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < 2; i++) {
		while (run.out[i] >= 0 && pump(i))
			;
		if (run.out[i] >= 0)
			close(run.out[i]);
		run.out[i] = -1;
	}
	msg.ns = (now.tv_sec - run.start.tv_sec) * 1000000000ull + now.tv_nsec - run.start.tv_nsec;
	msg.user = run.usage.ru_utime.tv_sec * 1000000ull + run.usage.ru_utime.tv_usec;
	msg.sys = run.usage.ru_stime.tv_sec * 1000000ull + run.usage.ru_stime.tv_usec;
	run.pid = 0;
	forward_log();
	send_frame(G_EXIT, 0, &msg, sizeof(msg));
}

static void reap(void)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	int status;
	pid_t pid;

	while (read(sigfd, &info, sizeof(info)) > 0)
		;
	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0) {
		if (pid == run.pid) {
			run.status = status;
			run.usage = usage;
			run.exited = true;
		}
	}
}

/* User processes but this one, zombies not counted. */
static int count_processes(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int n = 0;

	while (dir && (d = readdir(dir))) {
		char path[300], buf[512], *end, state;
		int fd, ppid, pid = atoi(d->d_name);
		ssize_t len;

		if (pid <= 2)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		len = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		buf[len > 0 ? len : 0] = 0;
		/* pid (name) state ppid; the name may hold anything, kernel threads are children of 2 */
		end = strrchr(buf, ')');
		if (end && sscanf(end + 1, " %c %d", &state, &ppid) == 2)
			n += ppid != 2 && state != 'Z' && state != 'X';
	}
	if (dir)
		closedir(dir);
	return n;
}

static void kill_all(void)
{
	int before;

	/* Orphans become children of process 1, so without children nothing is left. */
	reap();
	if (waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD)
		return send_done(0, "0 0");
	before = count_processes();
	kill(-1, SIGKILL);
	/* A process in an uninterruptible sleep stays: the host is told, and decides. */
	for (int i = 0; i < 200 && count_processes(); i++) {
		usleep(5000);
		reap();
	}
	send_done(0, "%d %d", before, count_processes());
}

static void hello(uint32_t len)
{
	struct {
		int entropy_count;
		int buf_size;
		uint8_t buf[32];
	} pool = { .entropy_count = 256, .buf_size = 32 };
	struct timespec now;
	struct utsname uts;
	uint64_t sec;
	uint32_t nsec;
	int fd;

	if (len >= 44) {
		memcpy(&sec, payload, 8);
		memcpy(&nsec, payload + 8, 4);
		now.tv_sec = sec;
		now.tv_nsec = nsec;
		clock_settime(CLOCK_REALTIME, &now);
		/* Every thawed copy would draw the same random numbers otherwise. */
		memcpy(pool.buf, payload + 12, 32);
		fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			ioctl(fd, RNDADDENTROPY, &pool);
			ioctl(fd, RNDRESEEDCRNG);
			close(fd);
		}
	}
	uname(&uts);
	send_frame(G_READY, 0, uts.release, strlen(uts.release));
}

static void serve_frame(void)
{
	struct frame f;

	receive_frame(&f, payload);
	switch (f.type) {
	case H_HELLO:
		return hello(f.len);
	case H_PUT:
		return put_begin(f.len);
	case H_DATA:
		return put_data(f.len);
	case H_RUN:
		return run_begin(f.len);
	case H_SIGNAL:
		if (run.pid)
			kill(-run.pid, payload[0]);
		return;
	case H_KILLALL:
		return kill_all();
	case H_SYNC:
		forward_log();
		return send_done(0, "logged");
	case H_READ:
		return read_file(f.len);
	default:
		send_done(-ENOSYS, "unknown frame type %u", f.type);
	}
}

/* ---- life of process 1 ---------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		dprintf(2, "vrdu-agent: %s: %s\n", path, strerror(errno));
	close(fd);
}

static void mount_all(void)
{
	static const struct {
		const char *type, *dir, *opts;
	} fs[] = {
		{ "proc", "/proc", "" },
		{ "sysfs", "/sys", "" },
		{ "devtmpfs", "/dev", "mode=755" },
		{ "devpts", "/dev/pts", "" },
		{ "tmpfs", "/dev/shm", "mode=1777" },
		{ "tmpfs", "/tmp", "mode=1777" },
		{ "debugfs", "/sys/kernel/debug", "" },
		{ "tracefs", "/sys/kernel/tracing", "" },
		{ "configfs", "/sys/kernel/config", "" },
		{ "cgroup2", "/sys/fs/cgroup", "" },
	};

	for (size_t i = 0; i < sizeof(fs) / sizeof(fs[0]); i++) {
		mkdir(fs[i].dir, 0755);
		/* What a kernel lacks, the test that needs it will name. */
		mount(fs[i].type, fs[i].dir, fs[i].type, 0, fs[i].opts);
	}
	mkdir(WORK_DIR, 0755);
}

static void loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &ifr);
		close(fd);
	}
}

static void __attribute__((noreturn)) agent(void)
{
	sigset_t set;

	mount_all();
	loopback_up();
	sethostname("vrdu-vm", 7);
	/* The serial console is what is left when the machine dies.  Its emulation is slow,
	 * so it gets what a checker says (notice and worse); the port gets everything.
	 */
	write_file("/proc/sys/kernel/printk", "6");
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigfd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (sigfd < 0)
		die("signalfd");
	port_open();
	for (;;) {
		struct pollfd pfd[] = {
			{ .fd = port_fd(), .events = POLLIN },
			{ .fd = log_fd(), .events = POLLIN },
			{ .fd = sigfd, .events = POLLIN },
			{ .fd = run.out[0], .events = POLLIN },
			{ .fd = run.out[1], .events = POLLIN },
		};

		if (poll(pfd, 5, -1) < 0 && errno != EINTR)
			die("poll");
		if (pfd[1].revents)
			forward_log();
		for (int i = 0; i < 2; i++)
			if (run.out[i] >= 0 && pfd[3 + i].revents)
				pump(i);
		if (pfd[2].revents)
			reap();
		if (run.pid && run.exited)
			run_end();
		if (pfd[0].revents & POLLIN)
			serve_frame();
		else if (pfd[0].revents & (POLLHUP | POLLERR))
			usleep(10000);
	}
}

static int load(const char *path, const char *params)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, params, 0)) {
		if (errno == EEXIST)
			return 0;
		fprintf(stderr, "load %s: %s\n", path, strerror(errno));
		return 1;
	}
	return 0;
}

static int unload(const char *name)
{
	/* Objects freed by delayed work may still hold a reference for an instant. */
	for (int i = 0; i < 100; i++) {
		if (!syscall(SYS_delete_module, name, O_NONBLOCK) || errno == ENOENT)
			return 0;
		if (errno != EAGAIN)
			break;
		usleep(10000);
	}
	fprintf(stderr, "unload %s: %s\n", name,
		errno == EAGAIN ? "still in use" : strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	if (getpid() == 1)
		agent();
	if (argc >= 3 && !strcmp(argv[1], "load"))
		return load(argv[2], argc > 3 ? argv[3] : "");
	if (argc == 3 && !strcmp(argv[1], "unload"))
		return unload(argv[2]);
	fprintf(stderr, "usage: agent load FILE [PARAMETERS] | agent unload NAME\n");
	return 2;
}
