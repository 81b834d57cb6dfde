// SPDX-License-Identifier: MIT
/*
 * agent-port.c - the agent's end of the virtio-serial port, and the kernel log.
 *
 * Owns the two descriptors and the checksum; used by agent.c only.  Writing
 * blocks until the host has taken the bytes: the host always reads.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent.h"

static int port = -1;
static int kmsg = -1;
static uint32_t crc_table[8][256];

void die(const char *what)
{
	int err = errno;
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		dprintf(fd, "<2>vrdu-agent: %s: %s\n", what, strerror(err));
	exit(1);
}

static void crc_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0);
		crc_table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int k = 1; k < 8; k++)
			crc_table[k][i] = (crc_table[k - 1][i] >> 8) ^
					  crc_table[0][crc_table[k - 1][i] & 0xff];
}

/* The zlib CRC, eight bytes a step: the emulated CPU pays for every byte of a transfer. */
static uint32_t crc32(const uint8_t *p, size_t n)
{
	uint32_t c = ~0u;

	for (; n >= 8; n -= 8, p += 8) {
		uint32_t a, b;

		memcpy(&a, p, 4);
		memcpy(&b, p + 4, 4);
		a ^= c;
		c = crc_table[7][a & 0xff] ^ crc_table[6][(a >> 8) & 0xff] ^
		    crc_table[5][(a >> 16) & 0xff] ^ crc_table[4][a >> 24] ^
		    crc_table[3][b & 0xff] ^ crc_table[2][(b >> 8) & 0xff] ^
		    crc_table[1][(b >> 16) & 0xff] ^ crc_table[0][b >> 24];
	}
	while (n--)
		c = (c >> 8) ^ crc_table[0][(c ^ *p++) & 0xff];
	return ~c;
}

static void port_wait(short events)
{
	struct pollfd pfd = { .fd = port, .events = events };

	/* POLLHUP while the host end is away would spin: give it time to come back. */
	if (poll(&pfd, 1, -1) > 0 && (pfd.revents & POLLHUP) && !(pfd.revents & events))
		usleep(10000);
}

static void port_write(const void *buf, size_t n)
{
	const uint8_t *p = buf;

	while (n) {
		ssize_t done = write(port, p, n);

		if (done > 0) {
			p += done;
			n -= done;
		} else if (done < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE) {
			die("write to the port");
		} else {
			port_wait(POLLOUT);
		}
	}
}

static void port_read(void *buf, size_t n)
{
	uint8_t *p = buf;

	while (n) {
		ssize_t done = read(port, p, n);

		if (done > 0) {
			p += done;
			n -= done;
		} else if (done < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE) {
			die("read from the port");
		} else {
			port_wait(POLLIN);
		}
	}
}

void send_frame(uint16_t type, uint16_t chan, const void *data, uint32_t len)
{
	static uint8_t buf[sizeof(struct frame) + FRAME_MAX];
	struct frame f = {
		.magic = FRAME_MAGIC, .type = type, .chan = chan, .len = len,
		.crc = crc32(data, len),
	};

	memcpy(buf, &f, sizeof(f));
	memcpy(buf + sizeof(f), data, len);
	port_write(buf, sizeof(f) + len);
}

void send_done(int err, const char *fmt, ...)
{
	struct {
		int32_t err;
		char text[252];
	} msg = { .err = err };
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(msg.text, sizeof(msg.text), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(msg.text))
		n = sizeof(msg.text) - 1;
	send_frame(G_DONE, 0, &msg, 4 + n);
}

void forward_log(void)
{
	static char rec[8192];
	static const char lost[] = "4,0,0,-;vrdu-agent: kernel log records were overwritten unread";

	for (;;) {
		ssize_t n = read(kmsg, rec, sizeof(rec));

		if (n > 0)
			send_frame(G_LOG, 0, rec, n);
		else if (n < 0 && errno == EPIPE)
			send_frame(G_LOG, 1, lost, sizeof(lost) - 1);
		else if (n == 0 || errno != EINTR)
			return;
	}
}

void receive_frame(struct frame *f, uint8_t *payload)
{
	port_read(f, sizeof(*f));
	if (f->magic != FRAME_MAGIC || f->len > FRAME_MAX) {
		errno = EPROTO;
		die("the host's frame");
	}
	port_read(payload, f->len);
	if (crc32(payload, f->len) != f->crc) {
		errno = EBADMSG;
		die("checksum of the host's frame");
	}
}

static bool find_port(void)
{
	DIR *dir = opendir("/sys/class/virtio-ports");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		char path[300], name[64] = "";
		int fd;

		snprintf(path, sizeof(path), "/sys/class/virtio-ports/%s/name", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (read(fd, name, sizeof(name) - 1) < 0)
			name[0] = 0;
		close(fd);
		name[strcspn(name, "\n")] = 0;
		if (strcmp(name, PORT_NAME))
			continue;
		snprintf(path, sizeof(path), "/dev/%s", d->d_name);
		port = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return port >= 0;
}

void port_open(void)
{
	crc_init();
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0)
		die("/dev/kmsg");
	for (int i = 0; !find_port(); i++) {
		if (i == 3000) {
			errno = ENODEV;
			die("virtio port " PORT_NAME);
		}
		usleep(20000);
	}
}

int port_fd(void)
{
	return port;
}

int log_fd(void)
{
	return kmsg;
}
