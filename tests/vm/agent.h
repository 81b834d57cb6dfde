/* SPDX-License-Identifier: MIT */
/* agent.h - the frames of the virtio-serial port, and the functions that move them. */
#ifndef VRDU_VM_AGENT_H
#define VRDU_VM_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FRAME_MAGIC	0x55445256u	/* "VRDU" */
#define FRAME_MAX	(64u * 1024)
#define PORT_NAME	"vrdu.agent"

/** enum frame_type - what a frame says; the first block comes from the host. */
enum frame_type {
	H_HELLO = 1,	/* u64 seconds, u32 nanoseconds, 32 random bytes */
	H_PUT = 2,	/* u32 mode, u64 size, path */
	H_DATA = 3,	/* bytes of the file being put */
	H_RUN = 4,	/* u32 argc, u32 envc, strings: cwd, argv, env */
	H_SIGNAL = 5,	/* u32 signal for the process group of the command */
	H_KILLALL = 6,	/* end every process but this one */
	H_SYNC = 7,	/* answer when the kernel log has been forwarded */
	H_READ = 8,	/* path of a file of /proc: its bytes on channel 1, then G_DONE */

	G_READY = 101,	/* text: kernel release */
	G_DONE = 102,	/* s32 0 or -errno, text */
	G_OUT = 103,	/* chan 1 or 2: bytes the command wrote */
	G_EXIT = 104,	/* s32 wait status, u64 ns, u64 user us, u64 system us */
	G_LOG = 105,	/* one record of /dev/kmsg as the kernel prints it */
};

struct frame {
	uint32_t magic;
	uint16_t type;
	uint16_t chan;
	uint32_t len;
	uint32_t crc;
} __attribute__((packed));

/** die() - end process 1, and with it the machine, with a word in the kernel log. */
void die(const char *what) __attribute__((noreturn));

/** port_open() - open the port and the kernel log; waits a minute for the port to appear. */
void port_open(void);

/** port_fd(), log_fd() - for poll(). */
int port_fd(void);
int log_fd(void);

/** receive_frame() - the next frame of the host; its payload (FRAME_MAX + 1 bytes of room). */
void receive_frame(struct frame *f, uint8_t *payload);

/** send_frame() - len is at most FRAME_MAX. */
void send_frame(uint16_t type, uint16_t chan, const void *data, uint32_t len);

/** send_done() - the answer to most requests: 0 or -errno, and a text. */
void send_done(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** forward_log() - send the records of the kernel log that were not sent yet. */
void forward_log(void);

#endif
