/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Firmware model of the virtual RDU: the device itself, as a library.
 *
 * Its hosts are the device half of vrdu.ko and libvrdu's sim backend. A host
 * creates a device, creates programs from images (the verifier runs there),
 * gives the device queues, and polls them from the device's own thread.
 * Nothing here allocates, sleeps or locks while a program runs, except through
 * the host's operations below.
 *
 * Threading: a struct fm_device and its queues belong to one thread at a time.
 * fm_program_create() and _destroy() may run anywhere; a program may be run by
 * one device at a time.
 */
#ifndef _FM_H
#define _FM_H

#include "fm_port.h"
#include <drm/vrdu_image.h>
#include <drm/vrdu_ring.h>

struct fm_device;
struct fm_program;

/**
 * struct fm_profile - a fabric: size and speed. One table in fm_profile.c.
 * @name: Short name, at most 15 characters.
 * @pcus: Compute units.
 * @pmus: Memory units.
 * @agcus: Address generators.
 * @pmu_bytes: Bytes of a memory unit.
 * @clock_khz: Fabric clock.
 * @macs_per_cycle: Multiply-accumulates of one PCU in a cycle.
 * @lanes: Elementwise lanes of one PCU.
 * @hbm_bytes: HBM capacity.
 * @hbm_bytes_per_s: Peak HBM bandwidth.
 * @hbm_efficiency: Attainable share of it in 1/1000.
 * @ddr_bytes: DDR capacity.
 * @hbm_latency_ps: First access through an AGCU.
 * @pcu_latency_ps: Depth of a PCU's pipeline.
 * @program_load_ps: Loading a configuration.
 * @arg_load_ps: Argument load: fixed part.
 * @arg_load_each_ps: Argument load: per argument.
 * @start_ps: Start token over the mesh.
 * @done_ps: Done collection and sequencer step.
 */
struct fm_profile {
	const char *name;
	u32 pcus;
	u32 pmus;
	u32 agcus;
	u32 pmu_bytes;
	u32 clock_khz;
	u32 macs_per_cycle;
	u32 lanes;
	u64 hbm_bytes;
	u64 hbm_bytes_per_s;
	u32 hbm_efficiency;
	u64 ddr_bytes;
	u64 hbm_latency_ps;
	u64 pcu_latency_ps;
	u64 program_load_ps;
	u64 arg_load_ps;
	u64 arg_load_each_ps;
	u64 start_ps;
	u64 done_ps;
};

/** fm_profile_at() - profile number @i, NULL past the end; 0 is the default (sn40l). */
const struct fm_profile *fm_profile_at(u32 i);

/** fm_profile_find() - profile called @name, NULL if there is none. */
const struct fm_profile *fm_profile_find(const char *name);

#define FM_CPU_SSE2	0x1u
#define FM_CPU_AVX2	0x2u

#define FM_ACCESS_READ	0x1u
#define FM_ACCESS_WRITE	0x2u

/**
 * struct fm_host_ops - what a host lends to a running program.
 * @translate: Host pointer to [addr, addr + len) of address space @vm, or NULL
 *	when it is not all inside one mapping, not writable (WRITE) or phantom.
 *	Valid until the call ends. Must not sleep. len > 0; addr + len may wrap
 *	(then NULL).
 * @fpu_begin: Open a floating-point section (kernel_fpu_begin); may be NULL.
 *	Sections do not nest and stay under ~100 us of native work.
 * @fpu_end: Close it; NULL exactly when @fpu_begin is.
 * @breathe: Called outside floating-point sections, at least once per
 *	FM_QUANTUM work units: may reschedule. Returns true when the call must
 *	stop (context killed, device going away). May be NULL.
 * @parallel: Run @fn(arg, part) for part = 0 … parts-1, possibly at once, and
 *	return when all are done; called inside a floating-point section only if
 *	@fpu_begin is NULL. May be NULL: one thread.
 * @parts: Parts that @parallel likes; 0 or 1: one thread.
 * @now: Host time in ns, for choosing the fastest arithmetic when a device is
 *	created; NULL takes the widest. Never part of a result.
 */
struct fm_host_ops {
	void *(*translate)(void *vm, u64 addr, u64 len, u32 access);
	void (*fpu_begin)(void);
	void (*fpu_end)(void);
	bool (*breathe)(void *host);
	void (*parallel)(void *host, void (*fn)(void *arg, u32 part), void *arg, u32 parts);
	u32 parts;
	u64 (*now)(void);
};

/* Work units (multiply-accumulates or elements) between two calls of breathe(). */
#define FM_QUANTUM	(64u * 1024)

/**
 * struct fm_log - text for the author of a program; always NUL-terminated.
 * @buf: Caller's buffer, or NULL.
 * @size: Its bytes.
 * @len: Bytes that the whole text needs without its NUL; may exceed @size.
 */
struct fm_log {
	char *buf;
	size_t size;
	size_t len;
};

/** fm_log() - append to the log; what does not fit is counted, not stored. */
__printf(2, 3) void fm_log(struct fm_log *log, const char *fmt, ...);

/**
 * fm_verify() - check an image in full.
 * @image: The image; the caller's private copy, 8-byte aligned.
 * @size: Bytes.
 * @profile: Fabric that it shall run on.
 * @log: Receives node, rule and values of the first refusal, or a summary.
 *
 * Pure: no allocation that outlives it. Bounded: the image's size and
 * %FM_VERIFY_STEPS bound its work. Return: 0, -EINVAL (refused), -ENOMEM.
 */
int fm_verify(const void *image, u32 size, const struct fm_profile *profile, struct fm_log *log);

/* Abstract firings that the verifier spends on deadlock freedom, for all sections together. */
#define FM_VERIFY_STEPS	0x100000u

/**
 * fm_program_create() - verify @image and build everything that running it needs.
 * @out: The program; the caller owns it. @image may be freed afterwards.
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int fm_program_create(const void *image, u32 size, const struct fm_profile *profile,
		      struct fm_log *log, struct fm_program **out);

/** fm_program_destroy() - free it; NULL is fine. Must not be running. */
void fm_program_destroy(struct fm_program *prog);

/** fm_program_symbols() - number of arguments of a call. */
u32 fm_program_symbols(const struct fm_program *prog);

/** fm_program_bytes() - host memory that it holds. */
size_t fm_program_bytes(const struct fm_program *prog);

/**
 * fm_device_create() - a socket.
 * @profile: Fabric.
 * @ops: Host operations; must outlive the device.
 * @host: Cookie for breathe() and parallel().
 * @cpu: FM_CPU_* bits: arithmetic to choose from; the result's bits never depend on it.
 * @out: The device.
 */
int fm_device_create(const struct fm_profile *profile, const struct fm_host_ops *ops, void *host,
		     u32 cpu, struct fm_device **out);

/** fm_device_destroy() - free it; NULL is fine. */
void fm_device_destroy(struct fm_device *dev);

/** fm_device_clock() - modelled time in picoseconds since creation. */
u64 fm_device_clock(const struct fm_device *dev);

/** fm_device_math() - name of the arithmetic chosen. */
const char *fm_device_math(const struct fm_device *dev);

/**
 * fm_device_shuffle() - test aid: fire ready nodes in pseudo-random order.
 * @seed: 0 restores the order of modelled time.
 *
 * Neither results nor modelled time depend on it; tests prove that.
 */
void fm_device_shuffle(struct fm_device *dev, u64 seed);

/**
 * struct fm_call - a call of a program.
 * @prog: Program.
 * @id: Its handle, for fault reports and to tell programs apart.
 * @args: fm_program_symbols() values, in symbol order.
 * @arg_count: Their number, checked.
 * @flags: VRDU_CALL_* bits.
 * @vm: Cookie for translate().
 */
struct fm_call {
	struct fm_program *prog;
	u32 id;
	const u64 *args;
	u32 arg_count;
	u32 flags;
	void *vm;
};

/**
 * fm_device_run() - execute a call to its end.
 * @fault: Filled on failure (seqno excepted).
 * @counters: Added to, also on failure.
 *
 * Return: 0; -EFAULT memory or index fault; -EINVAL bad arguments; -ECANCELED
 * stopped by breathe(); -ETIME step budget. Never anything undefined: whatever
 * fm_verify() accepted runs to one of these.
 */
int fm_device_run(struct fm_device *dev, const struct fm_call *call,
		  struct vrdu_fault_info *fault, struct vrdu_counters *counters);

/**
 * struct fm_queue - the device's view of a ring. Owned by the device thread.
 * @ring: @entries packets; may be written by somebody else at any time.
 * @entries: Power of two, at most %VRDU_RING_MAX_PACKETS.
 * @doorbell: Monotonic tail, read with acquire.
 * @head: Packets consumed.
 * @args: Argument area.
 * @args_bytes: Its size.
 * @status: Status page, written by the device only.
 * @vm: Address space cookie of its calls.
 * @owner: Cookie for the two operations below.
 * @program: Program of handle @id, or NULL; valid until the call ends.
 * @event: Packet @seqno completed with %VRDU_PACKET_EVENT set, or the queue
 *	faulted (@error). Called by the device thread after the status page is
 *	written.
 */
struct fm_queue {
	struct vrdu_packet *ring;
	u32 entries;
	const u64 *doorbell;
	u64 head;
	const u8 *args;
	u64 args_bytes;
	struct vrdu_status *status;
	void *vm;
	void *owner;
	struct fm_program *(*program)(void *owner, u32 id);
	void (*event)(void *owner, u64 seqno, int error);
};

/**
 * fm_queue_poll() - consume at most @budget packets.
 *
 * After a fault the queue consumes nothing more: status->error is set and
 * event() called once with that error. Return: packets consumed.
 */
u32 fm_queue_poll(struct fm_device *dev, struct fm_queue *queue, u32 budget);

#endif /* _FM_H */
