/* SPDX-License-Identifier: MIT */
/*
 * libvrdu internal: the objects and the helpers that its files share. Nothing
 * here is visible outside the library.
 *
 * Locks: vrdu_context.lock guards the context's lists, its address allocator
 * and submission; a backend's own locks come after it. Reference counts are
 * atomic.
 */
#ifndef VRDU_INTERNAL_H
#define VRDU_INTERNAL_H

#include "vrdu.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct vrdu_ops;

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

#define VRDU_PRINTF(a, b) __attribute__((format(printf, a, b)))

/**
 * struct vrdu_device - an open device.
 * @refs: References.
 * @ops: Backend.
 * @priv: Backend's own.
 * @info: Static facts.
 * @va_start: First usable device address.
 * @va_end: End of the address space.
 * @max_image_bytes: Largest program image.
 * @spin_ns: Time that waiters look at the status page before they block.
 * @waits: Waits made.
 * @waits_blocked: Of those, the ones that blocked.
 */
struct vrdu_device {
	atomic_uint refs;
	const struct vrdu_ops *ops;
	void *priv;
	struct vrdu_device_info info;
	uint64_t va_start;
	uint64_t va_end;
	uint32_t max_image_bytes;
	uint64_t spin_ns;
	atomic_ullong waits;
	atomic_ullong waits_blocked;
};

/**
 * struct vrdu_context - an address space with its queue.
 * @refs: References.
 * @dev: Device; referenced.
 * @priv: Backend's own.
 * @id: Backend's handle.
 * @status: Status page; written by the device.
 * @lock: Guards all below.
 * @bos: Buffers by ascending address.
 * @next_va: Where the search for a free range starts.
 * @programs: Programs alive.
 * @submitted: Last sequence number given out.
 * @calls: Scratch of submissions, @calls_cap long.
 * @calls_cap: Its length.
 * @args: Scratch of their arguments, @args_cap long.
 * @args_cap: Its length.
 */
struct vrdu_context {
	atomic_uint refs;
	struct vrdu_device *dev;
	void *priv;
	uint32_t id;
	const struct vrdu_status *status;
	pthread_mutex_t lock;
	struct vrdu_bo *bos;
	uint64_t next_va;
	struct vrdu_program *programs;
	uint64_t submitted;
	struct drm_vrdu_call *calls;
	uint32_t calls_cap;
	uint64_t *args;
	uint32_t args_cap;
};

/**
 * struct vrdu_bo - a buffer.
 * @refs: References.
 * @ctx: Context; referenced.
 * @size: Bytes, whole pages.
 * @flags: VRDU_BO_* bits.
 * @handle: node: GEM handle.
 * @priv: sim: memory, NULL for phantom.
 * @va: Device address.
 * @map: CPU mapping or NULL.
 * @prev: Neighbour in the context's list; by its lock.
 * @next: Neighbour in the context's list; by its lock.
 */
struct vrdu_bo {
	atomic_uint refs;
	struct vrdu_context *ctx;
	uint64_t size;
	uint32_t flags;
	uint32_t handle;
	void *priv;
	uint64_t va;
	void *map;
	struct vrdu_bo *prev;
	struct vrdu_bo *next;
};

/**
 * struct vrdu_image - an image: header, CRC and table bounds are right.
 * @refs: References.
 * @data: Bytes, 8-byte aligned.
 * @size: Their number.
 */
struct vrdu_image {
	atomic_uint refs;
	void *data;
	size_t size;
};

/**
 * struct vrdu_program - an image resident in a context.
 * @refs: References.
 * @ctx: Context; referenced.
 * @image: Image; referenced.
 * @id: Backend's handle.
 * @symbols: Arguments of a call.
 * @priv: Backend's own.
 * @prev: Neighbour in the context's list; by its lock.
 * @next: Neighbour in the context's list; by its lock.
 */
struct vrdu_program {
	atomic_uint refs;
	struct vrdu_context *ctx;
	struct vrdu_image *image;
	uint32_t id;
	uint32_t symbols;
	void *priv;
	struct vrdu_program *prev;
	struct vrdu_program *next;
};

/**
 * struct vrdu_timeline - a timeline semaphore.
 * @refs: References.
 * @dev: Device; referenced.
 * @handle: node: syncobj.
 * @priv: sim: its state.
 */
struct vrdu_timeline {
	atomic_uint refs;
	struct vrdu_device *dev;
	uint32_t handle;
	void *priv;
};

/**
 * struct vrdu_fabric - what placement has to know of a profile.
 * @name: Profile.
 * @pcus: Compute units.
 * @pmus: Memory units.
 * @agcus: Address generators.
 * @pmu_bytes: Bytes of a memory unit.
 * @macs_per_cycle: Multiply-accumulates of one PCU in a cycle.
 */
struct vrdu_fabric {
	const char *name;
	uint32_t pcus;
	uint32_t pmus;
	uint32_t agcus;
	uint32_t pmu_bytes;
	uint32_t macs_per_cycle;
};

/* ---- error.c ---- */

/** vrdu_fail() - keep a sentence for vrdu_last_error() and return @err. */
int vrdu_fail(int err, const char *fmt, ...) VRDU_PRINTF(2, 3);

/** vrdu_nomem() - the sentence for -ENOMEM. */
int vrdu_nomem(void);

/**
 * vrdu_opts_read() - copy a size-prefixed struct.
 * @dst: Caller's struct, @known bytes; zeroed first.
 * @src: User's struct or NULL.
 *
 * Return: 0, -EINVAL, -E2BIG.
 */
int vrdu_opts_read(void *dst, size_t known, const void *src);

/** vrdu_copy_out() - give @size bytes of a struct of @known bytes; the rest is zeroed. */
void vrdu_copy_out(void *dst, size_t size, const void *src, size_t known);

/* ---- small helpers ---- */

static inline void vrdu_refs_init(atomic_uint *refs)
{
	atomic_init(refs, 1);
}

static inline void vrdu_refs_get(atomic_uint *refs)
{
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

/* True when the last reference is gone. */
static inline bool vrdu_refs_put(atomic_uint *refs)
{
	return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/** vrdu_now() - CLOCK_MONOTONIC in nanoseconds. */
uint64_t vrdu_now(void);

/* Between two looks of a spinning waiter. */
static inline void vrdu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/* ---- context.c ---- */

/** vrdu_context_error() - turn the context's failure @err into a sentence and return it. */
int vrdu_context_error(struct vrdu_context *ctx, int err);

/* ---- submit.c ---- */

struct drm_vrdu_call;

/** vrdu_call_check() - is @call well formed for @ctx? All sizes and ranges. */
int vrdu_call_check(struct vrdu_context *ctx, const struct vrdu_call *call, uint32_t index);

/** vrdu_submit_raw() - submit calls that were checked and translated before. */
int vrdu_submit_raw(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
		    const struct vrdu_point *waits, uint32_t n_waits,
		    const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno);

/* ---- image.c ---- */

/** vrdu_image_adopt() - an image object around @data, which it then owns; checks it. */
int vrdu_image_adopt(void *data, size_t size, struct vrdu_image **out);

/** vrdu_image_header() - header of a checked image. */
static inline const struct vrdu_image_header *vrdu_image_header(const struct vrdu_image *image)
{
	return image->data;
}

/* Tables of a checked image. */
#define VRDU_IMAGE_TABLE(name, type, off)					\
static inline const struct type *vrdu_image_##name(const struct vrdu_image *image)	\
{										\
	return (const void *)((const char *)image->data +			\
			      vrdu_image_header(image)->off);			\
}
VRDU_IMAGE_TABLE(symbol_table, vrdu_symbol, symbols_off)
VRDU_IMAGE_TABLE(extent_table, vrdu_extent, extents_off)
VRDU_IMAGE_TABLE(section_table, vrdu_section, sections_off)
VRDU_IMAGE_TABLE(seq_table, vrdu_seq, seq_off)
VRDU_IMAGE_TABLE(node_table, vrdu_node, nodes_off)
VRDU_IMAGE_TABLE(stream_table, vrdu_stream, streams_off)
VRDU_IMAGE_TABLE(agu_table, vrdu_agu, agus_off)
#undef VRDU_IMAGE_TABLE

/** vrdu_image_string() - string at @offset of the string table; "?" when out of it. */
const char *vrdu_image_string(const struct vrdu_image *image, uint32_t offset);

/** vrdu_crc32() - CRC-32 (IEEE 802.3) of an image, its crc32 field taken as zero. */
uint32_t vrdu_image_crc32(const void *data, size_t size);

/** vrdu_symbol_span() - bytes behind an argument of symbol @s: the range, or the table. */
static inline uint64_t vrdu_symbol_span(const struct vrdu_symbol *s)
{
	return s->kind == VRDU_SYMBOL_TABLE ? (uint64_t)s->entries * 8 : s->bytes;
}

/* ---- sim.c: what the firmware model knows without a device ---- */

/** vrdu_fabric_find() - profile @name (NULL: the default); -EINVAL if unknown. */
int vrdu_fabric_find(const char *name, struct vrdu_fabric *out);

/** vrdu_verify() - the device's verifier; @log always NUL-terminated, @log_size > 0. */
int vrdu_verify(const void *data, size_t size, const char *profile, char *log, size_t log_size);

#endif /* VRDU_INTERNAL_H */
