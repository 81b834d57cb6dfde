/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vrdu rings: the packets that a queue holds and the status page that the
 * device keeps for it.
 *
 * A queue is a ring of 64-byte packets. Its doorbell is a monotonic 64-bit
 * tail (packets written since creation); the device keeps a monotonic head.
 * Each packet is copied once, the copy is validated and used.
 */
#ifndef _UAPI_VRDU_RING_H
#define _UAPI_VRDU_RING_H

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define VRDU_RING_MAX_PACKETS	4096
#define VRDU_MAX_ARGS		64

/** enum vrdu_packet_op - what a packet asks for. */
enum vrdu_packet_op {
	/** @VRDU_PACKET_NOP: does nothing, completes. */
	VRDU_PACKET_NOP = 0,
	/** @VRDU_PACKET_CALL: run a program. */
	VRDU_PACKET_CALL = 1,
};

/** VRDU_CALL_TIMING: advance the clock only; no data is read or written but extents. */
#define VRDU_CALL_TIMING	0x1u
#define VRDU_CALL_FLAGS		(VRDU_CALL_TIMING)

/** VRDU_PACKET_EVENT: raise an event when this packet has completed. */
#define VRDU_PACKET_EVENT	0x1u

/**
 * struct vrdu_packet - one entry of a ring.
 * @op: enum vrdu_packet_op.
 * @flags: %VRDU_PACKET_EVENT.
 * @arg_count: Number of __u64 arguments, equals the program's symbols.
 * @program: Handle of the program in the queue's context.
 * @seqno: Monotonic; written to the status page on completion.
 * @args: Byte offset of the arguments in the queue's argument area.
 * @call_flags: %VRDU_CALL_FLAGS.
 * @pad: Must be zero.
 */
struct vrdu_packet {
	__u8 op;
	__u8 flags;
	__u16 arg_count;
	__u32 program;
	__u64 seqno;
	__u64 args;
	__u32 call_flags;
	__u32 pad[9];
};

/** enum vrdu_fault - why a context faulted. */
enum vrdu_fault {
	/** @VRDU_FAULT_NONE: no fault. */
	VRDU_FAULT_NONE = 0,
	/** @VRDU_FAULT_PACKET: malformed packet. */
	VRDU_FAULT_PACKET = 1,
	/** @VRDU_FAULT_PROGRAM: unknown program or wrong argument count. */
	VRDU_FAULT_PROGRAM = 2,
	/** @VRDU_FAULT_ALIAS: ranges of two arguments overlap and one is written. */
	VRDU_FAULT_ALIAS = 3,
	/** @VRDU_FAULT_READ: read of an unmapped, phantom or misaligned address. */
	VRDU_FAULT_READ = 4,
	/** @VRDU_FAULT_WRITE: write to an unmapped, read-only, phantom or misaligned address. */
	VRDU_FAULT_WRITE = 5,
	/** @VRDU_FAULT_EXTENT: a size read from memory is out of its bounds. */
	VRDU_FAULT_EXTENT = 6,
	/** @VRDU_FAULT_INDEX: an index is out of its bounds. */
	VRDU_FAULT_INDEX = 7,
	/** @VRDU_FAULT_WATCHDOG: the call exceeded its step budget. */
	VRDU_FAULT_WATCHDOG = 8,
	/** @VRDU_FAULT_KILLED: stopped because its context or device goes away. */
	VRDU_FAULT_KILLED = 9,
};

/**
 * struct vrdu_fault_info - where and why.
 * @code: enum vrdu_fault.
 * @program: Handle of the program.
 * @section: Section index.
 * @node: Node index in the section, or ~0.
 * @iteration: Counter of the innermost loop.
 * @pad: Zero.
 * @address: Device address, index or value that was refused.
 * @seqno: Call that faulted.
 */
struct vrdu_fault_info {
	__u32 code;
	__u32 program;
	__u32 section;
	__u32 node;
	__u32 iteration;
	__u32 pad;
	__u64 address;
	__u64 seqno;
};

/**
 * struct vrdu_counters - what the device did for a context; monotonic.
 *
 * All times are modelled picoseconds. @fill, @steady and @drain split the
 * execution of each section run: before its first data arrives from memory,
 * between first and last arrival, after the last.
 *
 * @calls: Calls completed.
 * @runs: Section runs.
 * @iterations: Iterations of section bodies.
 * @firings: Node firings.
 * @program_loads: Configurations loaded into the fabric.
 * @events: Events raised.
 * @hbm_read_bytes: Bytes read through AGCUs.
 * @hbm_write_bytes: Bytes written through AGCUs.
 * @busy_ps: Sum of all phases.
 * @program_load_ps: Program load.
 * @arg_load_ps: Argument load.
 * @fill_ps: Execute: fill.
 * @steady_ps: Execute: steady.
 * @drain_ps: Execute: drain.
 * @done_ps: Done collection and sequencer step.
 * @barrier_ps: Waiting for other sockets.
 * @hbm_busy_ps: Time the memory channel was occupied (overlaps the above).
 */
struct vrdu_counters {
	__u64 calls;
	__u64 runs;
	__u64 iterations;
	__u64 firings;
	__u64 program_loads;
	__u64 events;
	__u64 hbm_read_bytes;
	__u64 hbm_write_bytes;
	__u64 busy_ps;
	__u64 program_load_ps;
	__u64 arg_load_ps;
	__u64 fill_ps;
	__u64 steady_ps;
	__u64 drain_ps;
	__u64 done_ps;
	__u64 barrier_ps;
	__u64 hbm_busy_ps;
};

/**
 * struct vrdu_status - a queue's page that user space can only read.
 * @completed: Sequence number of the last completed call; written last, with
 *	release semantics, after the call's stores and the other fields.
 * @head: Packets consumed.
 * @error: 0, or a negative errno once the context has faulted (sticky).
 * @pad: Zero.
 * @device_ps: The device's modelled clock when @completed was written.
 * @pad2: Zero; the rest has its own cache lines.
 * @fault: First fault.
 * @counters: Totals of the context.
 */
struct vrdu_status {
	__u64 completed;
	__u64 head;
	__s32 error;
	__u32 pad;
	__u64 device_ps;
	__u64 pad2[4];
	struct vrdu_fault_info fault;
	struct vrdu_counters counters;
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_VRDU_RING_H */
