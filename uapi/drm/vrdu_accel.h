/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vrdu accel uAPI: ioctls of /dev/accel/accelN of the virtual RDU.
 *
 * Rules of this header
 *
 * - Structs are naturally aligned, a multiple of 8 bytes long, without holes;
 *   every pad and every unknown flag must be zero (-EINVAL).
 * - Structs grow only at the end; zero means the old behaviour.
 * - Arrays travel as struct drm_vrdu_array with their stride: a stride smaller
 *   than the element known first is -EINVAL; a longer element is accepted when
 *   its unknown tail is zero (-E2BIG otherwise). Counts are capped.
 * - Object ids (contexts, programs) belong to the open file; 0 is no object.
 * - Timeouts are absolute CLOCK_MONOTONIC nanoseconds. -EAGAIN is never
 *   returned.
 * - Errors: unknown handle -ENOENT, bad argument -EINVAL, faulted or killed
 *   context -ECANCELED, wedged device -EIO, unplugged -ENODEV, device limit
 *   -ENOSPC, host memory -ENOMEM.
 * - Completion is waited for with syncobjs; the status page lets a waiter look
 *   without a system call.
 */
#ifndef _UAPI_VRDU_ACCEL_H
#define _UAPI_VRDU_ACCEL_H

/* In the kernel <drm/drm.h>; for user space libdrm ships it as drm.h. */
#if defined(__KERNEL__)
#include <drm/drm.h>
#else
#include "drm.h"
#endif

#if defined(__cplusplus)
extern "C" {
#endif

#define DRM_VRDU_QUERY			0x00
#define DRM_VRDU_BO_CREATE		0x01
#define DRM_VRDU_BO_MMAP_OFFSET		0x02
#define DRM_VRDU_CONTEXT_CREATE		0x03
#define DRM_VRDU_CONTEXT_DESTROY	0x04
#define DRM_VRDU_VM_BIND		0x05
#define DRM_VRDU_PROGRAM_CREATE		0x06
#define DRM_VRDU_PROGRAM_DESTROY	0x07
#define DRM_VRDU_SUBMIT			0x08

/**
 * struct drm_vrdu_array - an array in user memory.
 * @stride: Bytes from one element to the next.
 * @count: Number of elements.
 * @array: User pointer; ignored when @count is 0.
 */
struct drm_vrdu_array {
	__u32 stride;
	__u32 count;
	__u64 array;
};

/** enum drm_vrdu_query_type - what QUERY tells. */
enum drm_vrdu_query_type {
	/** @DRM_VRDU_QUERY_DEVICE: struct drm_vrdu_device_info. @id 0. */
	DRM_VRDU_QUERY_DEVICE = 0,
	/** @DRM_VRDU_QUERY_MEMORY: struct drm_vrdu_memory_info. @id 0. */
	DRM_VRDU_QUERY_MEMORY = 1,
	/** @DRM_VRDU_QUERY_CONTEXT: struct drm_vrdu_context_info; @id a context of this file. */
	DRM_VRDU_QUERY_CONTEXT = 2,
	/** @DRM_VRDU_QUERY_HOST: struct drm_vrdu_host_counters of this file. @id 0. */
	DRM_VRDU_QUERY_HOST = 3,
};

/**
 * struct drm_vrdu_query - ask about the device.
 * @type: enum drm_vrdu_query_type.
 * @id: Object, by @type.
 * @size: In: bytes at @data, 0 asks for the size. Out: bytes that the kernel has.
 * @pad: Must be zero.
 * @data: User pointer. A short buffer gets a prefix; a longer one is zero-filled
 *	(up to 64 KiB).
 */
struct drm_vrdu_query {
	__u32 type;
	__u32 id;
	__u32 size;
	__u32 pad;
	__u64 data;
};

#define DRM_VRDU_CAP_TIMING	0x1ull	/* VRDU_CALL_TIMING and phantom buffers */

/**
 * struct drm_vrdu_device_info - static facts.
 * @profile: Name of the fabric profile, NUL-terminated.
 * @caps: DRM_VRDU_CAP_* bits.
 * @image_major: Program image version.
 * @image_minor: Program image version.
 * @pcus: Compute units.
 * @pmus: Memory units.
 * @agcus: Address generators.
 * @pmu_bytes: Bytes of a memory unit.
 * @clock_khz: Fabric clock.
 * @instance: Number of this socket.
 * @hbm_bytes: HBM capacity.
 * @hbm_bytes_per_s: HBM bandwidth, modelled.
 * @ddr_bytes: DDR capacity.
 * @va_start: First usable device address.
 * @va_end: End of the device address space.
 * @page_bytes: Granularity of VM_BIND.
 * @max_contexts: Contexts per file.
 * @max_programs: Programs per context.
 * @max_calls: Calls per SUBMIT.
 * @max_image_bytes: Size of a program image.
 * @ring_packets: Packets in a kernel queue's ring.
 * @math: Name of the arithmetic in use ("scalar", "sse2", "avx2"), NUL-terminated.
 */
struct drm_vrdu_device_info {
	__u8 profile[16];
	__u64 caps;
	__u32 image_major;
	__u32 image_minor;
	__u32 pcus;
	__u32 pmus;
	__u32 agcus;
	__u32 pmu_bytes;
	__u32 clock_khz;
	__u32 instance;
	__u64 hbm_bytes;
	__u64 hbm_bytes_per_s;
	__u64 ddr_bytes;
	__u64 va_start;
	__u64 va_end;
	__u32 page_bytes;
	__u32 max_contexts;
	__u32 max_programs;
	__u32 max_calls;
	__u32 max_image_bytes;
	__u32 ring_packets;
	__u8 math[16];
};

/**
 * struct drm_vrdu_memory_info - memory tiers.
 * @hbm_total: Bytes of HBM.
 * @hbm_used: Bytes of all buffers placed in HBM.
 * @ddr_total: Bytes of DDR.
 * @ddr_used: Bytes of all buffers placed in DDR.
 */
struct drm_vrdu_memory_info {
	__u64 hbm_total;
	__u64 hbm_used;
	__u64 ddr_total;
	__u64 ddr_used;
};

/**
 * struct drm_vrdu_context_info - a context's state. Its counters are on its
 * status page.
 * @error: 0 or the negative errno that made it unusable.
 * @programs: Live programs.
 * @mappings: Live mappings.
 * @pad: Zero.
 * @submitted: Last sequence number given out.
 * @completed: Last sequence number completed.
 */
struct drm_vrdu_context_info {
	__s32 error;
	__u32 programs;
	__u32 mappings;
	__u32 pad;
	__u64 submitted;
	__u64 completed;
};

/**
 * struct drm_vrdu_host_counters - what the host side did for this file.
 * @ioctls: Driver ioctls made on this file.
 * @submits: SUBMIT ioctls.
 * @calls: Calls put into rings.
 * @doorbells: Doorbells rung.
 * @wakeups: Times a doorbell had to wake the sleeping device thread.
 * @poll_hits: Times the device thread found work in its polling window.
 * @events: Events handled for this file's contexts.
 * @fences: Fences signalled.
 */
struct drm_vrdu_host_counters {
	__u64 ioctls;
	__u64 submits;
	__u64 calls;
	__u64 doorbells;
	__u64 wakeups;
	__u64 poll_hits;
	__u64 events;
	__u64 fences;
};

#define DRM_VRDU_BO_DDR		0x1u	/* place in DDR rather than HBM */
#define DRM_VRDU_BO_PHANTOM	0x2u	/* size and address but no pages: timing only */

/**
 * struct drm_vrdu_bo_create - make a buffer, zero-filled.
 * @size: In: bytes, > 0. Out: rounded up to pages.
 * @flags: DRM_VRDU_BO_* bits.
 * @handle: Out: GEM handle.
 *
 * -ENOSPC when the tier is full.
 */
struct drm_vrdu_bo_create {
	__u64 size;
	__u32 flags;
	__u32 handle;
};

/**
 * struct drm_vrdu_bo_mmap_offset - where to mmap() a buffer.
 * @handle: GEM handle.
 * @pad: Must be zero.
 * @offset: Out: offset for mmap() with MAP_SHARED. Phantom: -EINVAL.
 */
struct drm_vrdu_bo_mmap_offset {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

/** enum drm_vrdu_context_kind - fixed at creation. */
enum drm_vrdu_context_kind {
	/** @DRM_VRDU_CONTEXT_BOUNDED: calls end in bounded time; dma_fences may leave. */
	DRM_VRDU_CONTEXT_BOUNDED = 0,
};

/**
 * struct drm_vrdu_context_create - make an address space with its kernel queue.
 * @kind: enum drm_vrdu_context_kind.
 * @flags: Must be zero.
 * @id: Out: context id.
 * @pad: Must be zero.
 * @status_offset: Out: mmap() offset of the page with struct vrdu_status;
 *	PROT_READ, MAP_SHARED, one page.
 */
struct drm_vrdu_context_create {
	__u32 kind;
	__u32 flags;
	__u32 id;
	__u32 pad;
	__u64 status_offset;
};

/**
 * struct drm_vrdu_context_destroy - end a context; calls in flight are stopped
 * and their fences signal -ECANCELED.
 * @id: Context.
 * @pad: Must be zero.
 */
struct drm_vrdu_context_destroy {
	__u32 id;
	__u32 pad;
};

/** enum drm_vrdu_bind_op_type - operations of VM_BIND. */
enum drm_vrdu_bind_op_type {
	/** @DRM_VRDU_BIND_MAP: map [bo_offset, + size) at @va; the range must be free. */
	DRM_VRDU_BIND_MAP = 0,
	/** @DRM_VRDU_BIND_UNMAP: remove all of [va, + size); partly covered mappings are split. */
	DRM_VRDU_BIND_UNMAP = 1,
};

#define DRM_VRDU_BIND_READ_ONLY	0x1u	/* the device may not write */

/**
 * struct drm_vrdu_bind_op - one operation.
 * @op: enum drm_vrdu_bind_op_type.
 * @flags: %DRM_VRDU_BIND_READ_ONLY for MAP; 0 for UNMAP.
 * @handle: MAP: GEM handle. UNMAP: 0.
 * @pad: Must be zero.
 * @bo_offset: MAP: page-aligned offset. UNMAP: 0.
 * @va: Page-aligned device address.
 * @size: Page-aligned length, > 0.
 */
struct drm_vrdu_bind_op {
	__u32 op;
	__u32 flags;
	__u32 handle;
	__u32 pad;
	__u64 bo_offset;
	__u64 va;
	__u64 size;
};

#define DRM_VRDU_MAX_BIND_OPS	1024

/**
 * struct drm_vrdu_vm_bind - change a context's address space, all or nothing.
 * @context: Context id.
 * @flags: Must be zero.
 * @ops: Array of struct drm_vrdu_bind_op, 1 … %DRM_VRDU_MAX_BIND_OPS.
 *
 * When it returns, the device has left every old mapping that was removed.
 */
struct drm_vrdu_vm_bind {
	__u32 context;
	__u32 flags;
	struct drm_vrdu_array ops;
};

/**
 * struct drm_vrdu_program_create - verify an image and make it resident.
 * @context: Context id.
 * @flags: Must be zero.
 * @image: User pointer to the image (see vrdu_image.h).
 * @image_size: Bytes.
 * @log_size: In: bytes at @log, 0 for no log. Out: bytes of the whole log
 *	including its NUL, also when the image is refused.
 * @log: User pointer to the verifier's log: node, rule and values.
 * @id: Out: program id in the context.
 * @symbols: Out: number of arguments that a call takes.
 *
 * -EINVAL when the verifier refuses the image; @log then says why.
 */
struct drm_vrdu_program_create {
	__u32 context;
	__u32 flags;
	__u64 image;
	__u32 image_size;
	__u32 log_size;
	__u64 log;
	__u32 id;
	__u32 symbols;
};

/**
 * struct drm_vrdu_program_destroy - drop a program; calls in the ring keep it.
 * @context: Context id.
 * @id: Program id.
 */
struct drm_vrdu_program_destroy {
	__u32 context;
	__u32 id;
};

/**
 * struct drm_vrdu_call - one call of a program.
 * @program: Program id.
 * @flags: VRDU_CALL_* bits (vrdu_ring.h).
 * @arg_count: Number of arguments, equals the program's symbols.
 * @pad: Must be zero.
 * @args: User pointer to @arg_count __u64 values, in symbol order.
 */
struct drm_vrdu_call {
	__u32 program;
	__u32 flags;
	__u32 arg_count;
	__u32 pad;
	__u64 args;
};

/**
 * struct drm_vrdu_sync - a point of a syncobj.
 * @handle: Syncobj handle.
 * @flags: Must be zero.
 * @point: Timeline point; 0 for a binary syncobj.
 */
struct drm_vrdu_sync {
	__u32 handle;
	__u32 flags;
	__u64 point;
};

#define DRM_VRDU_MAX_CALLS	1024	/* per SUBMIT */
#define DRM_VRDU_MAX_SYNCS	64	/* per direction */

/**
 * struct drm_vrdu_submit - put calls into a context's kernel queue, all or nothing.
 * @context: Context id.
 * @flags: Must be zero.
 * @calls: Array of struct drm_vrdu_call, 1 … %DRM_VRDU_MAX_CALLS; they run in
 *	order, after all earlier calls of this context.
 * @in_syncs: Array of struct drm_vrdu_sync: waited for before the first call.
 * @out_syncs: Array of struct drm_vrdu_sync: signalled after the last call, or
 *	with its error.
 * @seqno: Out: sequence number of the last call; vrdu_status.completed reaches it.
 *
 * Waits (interruptibly) for ring space. -EINTR leaves the struct unchanged.
 */
struct drm_vrdu_submit {
	__u32 context;
	__u32 flags;
	struct drm_vrdu_array calls;
	struct drm_vrdu_array in_syncs;
	struct drm_vrdu_array out_syncs;
	__u64 seqno;
};

#define DRM_IOCTL_VRDU_QUERY \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_QUERY, struct drm_vrdu_query)
#define DRM_IOCTL_VRDU_BO_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_BO_CREATE, struct drm_vrdu_bo_create)
#define DRM_IOCTL_VRDU_BO_MMAP_OFFSET \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_BO_MMAP_OFFSET, struct drm_vrdu_bo_mmap_offset)
#define DRM_IOCTL_VRDU_CONTEXT_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_CONTEXT_CREATE, struct drm_vrdu_context_create)
#define DRM_IOCTL_VRDU_CONTEXT_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VRDU_CONTEXT_DESTROY, struct drm_vrdu_context_destroy)
#define DRM_IOCTL_VRDU_VM_BIND \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VRDU_VM_BIND, struct drm_vrdu_vm_bind)
#define DRM_IOCTL_VRDU_PROGRAM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_PROGRAM_CREATE, struct drm_vrdu_program_create)
#define DRM_IOCTL_VRDU_PROGRAM_DESTROY \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VRDU_PROGRAM_DESTROY, struct drm_vrdu_program_destroy)
#define DRM_IOCTL_VRDU_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VRDU_SUBMIT, struct drm_vrdu_submit)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_VRDU_ACCEL_H */
