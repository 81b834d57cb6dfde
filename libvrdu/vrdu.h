/* SPDX-License-Identifier: MIT */
/*
 * libvrdu: user-space library of the virtual Reconfigurable Dataflow Unit.
 *
 * Conventions
 *
 * - Functions return 0 (or a count or index >= 0) or a negative errno. errno
 *   itself is not the channel. vrdu_last_error() has the sentence: object,
 *   argument, cause. The library never prints, aborts or starts a thread.
 * - Objects are opaque and reference-counted. Constructors give one reference
 *   through their last parameter and leave it alone on failure. _unref(NULL)
 *   is fine. A child keeps its parent alive.
 * - Optional parameters travel in structs that begin with their own size; NULL
 *   means defaults; an unknown non-zero tail is -E2BIG.
 * - Deadlines are absolute CLOCK_MONOTONIC nanoseconds: 0 polls, INT64_MAX
 *   waits for ever.
 * - Devices, contexts and timelines are thread-safe; other objects are used by
 *   one thread at a time.
 */
#ifndef VRDU_H
#define VRDU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/vrdu_image.h>
#include <drm/vrdu_ring.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VRDU_VERSION_MAJOR 0
#define VRDU_VERSION_MINOR 1

#define VRDU_API __attribute__((visibility("default")))

struct vrdu_device;
struct vrdu_context;
struct vrdu_bo;
struct vrdu_image;
struct vrdu_program;
struct vrdu_builder;
struct vrdu_timeline;
struct vrdu_graph;
struct vrdu_exec;

/** vrdu_last_error() - sentence about this thread's last failure; "" if none. Never NULL. */
VRDU_API const char *vrdu_last_error(void);

/** vrdu_version() - "major.minor" of the library in use. */
VRDU_API const char *vrdu_version(void);

/* ---- device ---------------------------------------------------------- */

/**
 * struct vrdu_device_opts - how to open a device.
 * @size: sizeof(struct vrdu_device_opts).
 * @threads: sim: threads that share large matrix products; 0 or 1: none.
 * @shuffle: sim, test aid: fire nodes in a pseudo-random order with this seed;
 *	0: off.
 * @cpu_mask: sim, test aid: arithmetic to leave out: bit 0 SSE2, bit 1 AVX2.
 * @spin_ns: How long waiters look at the status page before they block;
 *	0: the default (50 us); UINT64_MAX: not at all.
 */
struct vrdu_device_opts {
	size_t size;
	uint32_t threads;
	uint32_t cpu_mask;
	uint64_t shuffle;
	uint64_t spin_ns;
};

/**
 * vrdu_device_open() - open a device.
 * @selector: "sim" or "sim:PROFILE" for the simulator in this process; a number
 *	N or "/dev/accel/accelN" for a node; NULL: $VRDU_DEVICE, else the first
 *	vrdu node.
 *
 * Return: 0, -ENODEV (none found), -EACCES, -EINVAL, -ENOMEM …
 */
VRDU_API int vrdu_device_open(const char *selector, const struct vrdu_device_opts *opts,
			      struct vrdu_device **out);
VRDU_API struct vrdu_device *vrdu_device_ref(struct vrdu_device *dev);
VRDU_API void vrdu_device_unref(struct vrdu_device *dev);

/**
 * struct vrdu_device_info - static facts (see struct drm_vrdu_device_info).
 * @backend: "node" or "sim".
 * @path: Node path, or "sim:PROFILE".
 * @profile: Fabric profile.
 * @math: Arithmetic in use.
 * @pcus: Compute units.
 * @pmus: Memory units.
 * @agcus: Address generators.
 * @pmu_bytes: Bytes of a memory unit.
 * @clock_khz: Fabric clock.
 * @max_calls: Calls in one submission.
 * @page_bytes: Granularity of device mappings.
 * @instance: Socket number.
 * @hbm_bytes: HBM capacity.
 * @hbm_bytes_per_s: HBM bandwidth (modelled).
 * @ddr_bytes: DDR capacity.
 */
struct vrdu_device_info {
	char backend[8];
	char path[64];
	char profile[16];
	char math[16];
	uint32_t pcus;
	uint32_t pmus;
	uint32_t agcus;
	uint32_t pmu_bytes;
	uint32_t clock_khz;
	uint32_t max_calls;
	uint32_t page_bytes;
	uint32_t instance;
	uint64_t hbm_bytes;
	uint64_t hbm_bytes_per_s;
	uint64_t ddr_bytes;
};

/** vrdu_device_get_info() - fill @size bytes of @info (sizeof of the caller's struct). */
VRDU_API int vrdu_device_get_info(struct vrdu_device *dev, struct vrdu_device_info *info,
				  size_t size);

/**
 * struct vrdu_host_counters - what the host did since the device was opened.
 * @ioctls: Driver and syncobj ioctls made by this library (node), or the calls
 *	of the sim backend that stand for them: none, so 0.
 * @submits: Submissions, counted by the driver (node) or the sim backend.
 * @calls: Calls put into rings, counted likewise.
 * @doorbells: Doorbells rung.
 * @wakeups: Doorbells that woke a sleeping device thread.
 * @poll_hits: Work found inside the device's polling window.
 * @events: Events handled by the driver.
 * @waits: Waits made through this library.
 * @waits_blocked: Of those, waits that blocked in the kernel.
 */
struct vrdu_host_counters {
	uint64_t ioctls;
	uint64_t submits;
	uint64_t calls;
	uint64_t doorbells;
	uint64_t wakeups;
	uint64_t poll_hits;
	uint64_t events;
	uint64_t waits;
	uint64_t waits_blocked;
};

VRDU_API int vrdu_device_get_counters(struct vrdu_device *dev, struct vrdu_host_counters *out,
				      size_t size);

/* ---- context and memory ---------------------------------------------- */

/** vrdu_context_create() - an address space with one queue. */
VRDU_API int vrdu_context_create(struct vrdu_device *dev, struct vrdu_context **out);
VRDU_API struct vrdu_context *vrdu_context_ref(struct vrdu_context *ctx);
VRDU_API void vrdu_context_unref(struct vrdu_context *ctx);
VRDU_API struct vrdu_device *vrdu_context_device(struct vrdu_context *ctx);

/**
 * struct vrdu_context_status - what the status page says.
 * @error: 0 or the sticky -errno.
 * @completed: Last completed call.
 * @device_ps: Modelled device clock.
 * @fault: First fault.
 * @counters: Totals; times are modelled.
 */
struct vrdu_context_status {
	int32_t error;
	uint64_t completed;
	uint64_t device_ps;
	struct vrdu_fault_info fault;
	struct vrdu_counters counters;
};

/** vrdu_context_get_status() - read the status page; no system call. */
VRDU_API int vrdu_context_get_status(struct vrdu_context *ctx, struct vrdu_context_status *out,
				     size_t size);

/** vrdu_fault_describe() - one sentence about @fault into @buf. Return: length as snprintf. */
VRDU_API int vrdu_fault_describe(const struct vrdu_fault_info *fault, char *buf, size_t size);

#define VRDU_BO_DDR		0x1u	/* place in DDR */
#define VRDU_BO_PHANTOM		0x2u	/* size and address but no pages: timing only */
#define VRDU_BO_READ_ONLY	0x4u	/* the device may not write */

/**
 * vrdu_bo_create() - a zeroed buffer, mapped into the context's address space.
 * @size: Bytes; rounded up to pages.
 * @flags: VRDU_BO_* bits.
 */
VRDU_API int vrdu_bo_create(struct vrdu_context *ctx, uint64_t size, uint32_t flags,
			    struct vrdu_bo **out);
VRDU_API struct vrdu_bo *vrdu_bo_ref(struct vrdu_bo *bo);

/** vrdu_bo_unref() - last reference: unmapped from device and CPU, freed. */
VRDU_API void vrdu_bo_unref(struct vrdu_bo *bo);
VRDU_API uint64_t vrdu_bo_size(const struct vrdu_bo *bo);
VRDU_API uint64_t vrdu_bo_address(const struct vrdu_bo *bo);

/** vrdu_bo_map() - CPU pointer to the whole buffer, valid until the last unref. */
VRDU_API int vrdu_bo_map(struct vrdu_bo *bo, void **out);

/** vrdu_bo_write() / vrdu_bo_read() - bounds-checked copies through the mapping. */
VRDU_API int vrdu_bo_write(struct vrdu_bo *bo, uint64_t offset, const void *src, size_t n);
VRDU_API int vrdu_bo_read(struct vrdu_bo *bo, uint64_t offset, void *dst, size_t n);

/* ---- images, programs, builder --------------------------------------- */

/** vrdu_image_from_memory() - copy an image; header and CRC are checked, no more. */
VRDU_API int vrdu_image_from_memory(const void *data, size_t size, struct vrdu_image **out);

/** vrdu_image_from_file() - read an image file. */
VRDU_API int vrdu_image_from_file(const char *path, struct vrdu_image **out);
VRDU_API int vrdu_image_to_file(const struct vrdu_image *image, const char *path);
VRDU_API struct vrdu_image *vrdu_image_ref(struct vrdu_image *image);
VRDU_API void vrdu_image_unref(struct vrdu_image *image);
VRDU_API const void *vrdu_image_data(const struct vrdu_image *image, size_t *size);

/** vrdu_image_symbols() - number of arguments that a call takes. */
VRDU_API uint32_t vrdu_image_symbols(const struct vrdu_image *image);

/** vrdu_image_symbol() - copy of symbol @i and its name (valid while @image is). */
VRDU_API int vrdu_image_symbol(const struct vrdu_image *image, uint32_t i,
			       struct vrdu_symbol *symbol, const char **name);

/** vrdu_image_find_symbol() - index of the symbol called @name, or -ENOENT. */
VRDU_API int vrdu_image_find_symbol(const struct vrdu_image *image, const char *name);

/**
 * vrdu_image_verify() - the device's verifier, without a device.
 * @profile: Fabric profile, NULL for the default.
 * @log: Buffer for its text, may be NULL.
 *
 * Return: 0, or -EINVAL with the log and vrdu_last_error() saying why.
 */
VRDU_API int vrdu_image_verify(const struct vrdu_image *image, const char *profile, char *log,
			       size_t log_size);

/**
 * vrdu_image_dump() - text form, for people.
 * @emit: Called with pieces of text.
 */
VRDU_API int vrdu_image_dump(const struct vrdu_image *image,
			     void (*emit)(void *arg, const char *text), void *arg);

/** vrdu_program_create() - verify @image and make it resident in @ctx. */
VRDU_API int vrdu_program_create(struct vrdu_context *ctx, struct vrdu_image *image,
				 struct vrdu_program **out);
VRDU_API struct vrdu_program *vrdu_program_ref(struct vrdu_program *prog);
VRDU_API void vrdu_program_unref(struct vrdu_program *prog);
VRDU_API struct vrdu_image *vrdu_program_image(struct vrdu_program *prog);

/**
 * vrdu_builder_create() - start a program image.
 * @profile: Fabric to place it on, NULL for the default.
 *
 * The builder records; the first error is kept and every later call returns
 * it, so that a caller may check vrdu_builder_finish() alone.
 */
VRDU_API int vrdu_builder_create(const char *name, const char *profile, struct vrdu_builder **out);
VRDU_API void vrdu_builder_unref(struct vrdu_builder *b);

/** vrdu_builder_symbol() - an ADDR argument. Return: its index. */
VRDU_API int vrdu_builder_symbol(struct vrdu_builder *b, const char *name, uint32_t access,
				 uint64_t bytes);

/** vrdu_builder_table() - a TABLE argument indexed by loop level @level. Return: its index. */
VRDU_API int vrdu_builder_table(struct vrdu_builder *b, const char *name, uint32_t access,
				uint64_t bytes, uint32_t level, uint32_t entries);

/** vrdu_builder_extent() - a static size (shared when equal). Return: extent index. */
VRDU_API int vrdu_builder_extent(struct vrdu_builder *b, uint32_t value);

/** vrdu_builder_extent_param() - a size read from memory. Return: extent index. */
VRDU_API int vrdu_builder_extent_param(struct vrdu_builder *b, uint32_t symbol, uint64_t offset,
				       int32_t bias, uint32_t min, uint32_t max);

/** vrdu_builder_section() - open a section: later streams and nodes belong to it. Return: index. */
VRDU_API int vrdu_builder_section(struct vrdu_builder *b, const char *name);

/**
 * struct vrdu_stream_desc - shape of a stream (see struct vrdu_stream).
 * @elem: enum vrdu_elem.
 * @flags: %VRDU_STREAM_TRANSPOSED.
 * @depth: Tiles; 0: 2.
 * @outer: Groups; 0: 1.
 * @rows: Extent index.
 * @tile_rows: Rows of a tile; 0: all (the extent's maximum).
 * @cols: Elements of a row.
 */
struct vrdu_stream_desc {
	uint8_t elem;
	uint8_t flags;
	uint16_t depth;
	uint32_t outer;
	uint32_t rows;
	uint32_t tile_rows;
	uint32_t cols;
};

/** vrdu_builder_stream() - a stream in the open section. Return: its index. */
VRDU_API int vrdu_builder_stream(struct vrdu_builder *b, const char *name,
				 const struct vrdu_stream_desc *desc);

/**
 * vrdu_builder_agu() - an address generator for one node. A row_stride of 0 is filled in
 * as dense for LOAD, STORE and CARRY. Return: index.
 */
VRDU_API int vrdu_builder_agu(struct vrdu_builder *b, const struct vrdu_agu *agu);

/**
 * struct vrdu_node_desc - a node (see struct vrdu_node). Unused indices: VRDU_NONE.
 * @kind: enum vrdu_node_kind.
 * @in: Streams read.
 * @out: Streams written.
 * @agu: AGU index.
 * @agu2: AGU index.
 * @p: Parameters.
 */
struct vrdu_node_desc {
	uint16_t kind;
	uint32_t in[VRDU_NODE_INPUTS];
	uint32_t out[VRDU_NODE_OUTPUTS];
	uint32_t agu;
	uint32_t agu2;
	uint32_t p[VRDU_NODE_PARAMS];
};

/** VRDU_NODE_DESC_INIT - all indices VRDU_NONE. */
#define VRDU_NODE_DESC_INIT(k) { .kind = (k),					\
	.in = { VRDU_NONE, VRDU_NONE, VRDU_NONE, VRDU_NONE },			\
	.out = { VRDU_NONE, VRDU_NONE }, .agu = VRDU_NONE, .agu2 = VRDU_NONE }

/** vrdu_builder_node() - a node in the open section. Return: its index. */
VRDU_API int vrdu_builder_node(struct vrdu_builder *b, const char *name,
			       const struct vrdu_node_desc *desc);

/** vrdu_builder_loop() / _end() / _run() - append to the sequence. */
VRDU_API int vrdu_builder_loop(struct vrdu_builder *b, uint32_t extent);
VRDU_API int vrdu_builder_end(struct vrdu_builder *b);
VRDU_API int vrdu_builder_run(struct vrdu_builder *b, uint32_t section);

/**
 * vrdu_builder_finish() - place the nodes and buffers and give the image. An
 * empty sequence becomes one RUN per section, in order.
 */
VRDU_API int vrdu_builder_finish(struct vrdu_builder *b, struct vrdu_image **out);

/* ---- submission ------------------------------------------------------ */

/**
 * struct vrdu_arg - an argument: a place in a buffer.
 * @bo: Buffer.
 * @offset: Bytes into it.
 */
struct vrdu_arg {
	struct vrdu_bo *bo;
	uint64_t offset;
};

/**
 * struct vrdu_call - one call of a program.
 * @prog: Program.
 * @args: One per symbol, in order.
 * @arg_count: Their number.
 * @flags: VRDU_CALL_* bits.
 */
struct vrdu_call {
	struct vrdu_program *prog;
	const struct vrdu_arg *args;
	uint32_t arg_count;
	uint32_t flags;
};

/**
 * struct vrdu_point - a point of a timeline.
 * @timeline: Timeline.
 * @value: Point.
 */
struct vrdu_point {
	struct vrdu_timeline *timeline;
	uint64_t value;
};

/**
 * vrdu_submit() - put calls into the context's queue, in order, all or nothing.
 * @calls: 1 … max_calls of the device; one ioctl.
 * @waits: Points to wait for first; something must have been submitted or
 *	signalled for each (-EINVAL otherwise). At most 63.
 * @signals: Points to signal afterwards, also when a call fails. At most 63.
 * @seqno: Sequence number of the last call; may be NULL.
 */
VRDU_API int vrdu_submit(struct vrdu_context *ctx, const struct vrdu_call *calls, uint32_t n,
			 const struct vrdu_point *waits, uint32_t n_waits,
			 const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno);

/**
 * vrdu_wait() - until call @seqno has completed: looks at the status page for
 * the device's spin time, then blocks.
 *
 * Return: 0, -ETIME, or the context's error: -EFAULT memory, index or size fault,
 * -EINVAL overlapping arguments, -ECANCELED, -ENODEV …; vrdu_last_error() then
 * names program, node and address.
 */
VRDU_API int vrdu_wait(struct vrdu_context *ctx, uint64_t seqno, int64_t deadline);

/** vrdu_timeline_create() - a timeline semaphore (a timeline syncobj on a node). */
VRDU_API int vrdu_timeline_create(struct vrdu_device *dev, uint64_t value,
				  struct vrdu_timeline **out);
VRDU_API struct vrdu_timeline *vrdu_timeline_ref(struct vrdu_timeline *t);
VRDU_API void vrdu_timeline_unref(struct vrdu_timeline *t);
VRDU_API int vrdu_timeline_query(struct vrdu_timeline *t, uint64_t *value);
VRDU_API int vrdu_timeline_signal(struct vrdu_timeline *t, uint64_t value);
VRDU_API int vrdu_timeline_wait(struct vrdu_timeline *t, uint64_t value, int64_t deadline);

/* ---- graphs and kernel looping --------------------------------------- */

/** vrdu_graph_create() - an empty recording for @ctx. */
VRDU_API int vrdu_graph_create(struct vrdu_context *ctx, struct vrdu_graph **out);
VRDU_API struct vrdu_graph *vrdu_graph_ref(struct vrdu_graph *g);
VRDU_API void vrdu_graph_unref(struct vrdu_graph *g);

/** vrdu_graph_call() - record a call, after everything recorded before. */
VRDU_API int vrdu_graph_call(struct vrdu_graph *g, const struct vrdu_call *call);

/** enum vrdu_boundary - host-visible events between calls. */
enum vrdu_boundary {
	/** @VRDU_BOUNDARY_WAIT: the host waits here. */
	VRDU_BOUNDARY_WAIT = 1,
	/** @VRDU_BOUNDARY_READBACK: the host reads results here. */
	VRDU_BOUNDARY_READBACK = 2,
	/** @VRDU_BOUNDARY_SIGNAL: somebody else is signalled here. */
	VRDU_BOUNDARY_SIGNAL = 3,
};

/**
 * vrdu_graph_boundary() - record a host-visible event: submissions end here and no loop
 * spans it.
 */
VRDU_API int vrdu_graph_boundary(struct vrdu_graph *g, enum vrdu_boundary kind);

/**
 * vrdu_graph_transient() - promise that nobody but the graph's own calls looks
 * at @bo, also not at a boundary: intermediate values in it need not be written.
 */
VRDU_API int vrdu_graph_transient(struct vrdu_graph *g, struct vrdu_bo *bo);

/** vrdu_graph_calls() - number of calls recorded. */
VRDU_API uint32_t vrdu_graph_calls(const struct vrdu_graph *g);

/**
 * vrdu_graph_get_call() - call @i as recorded; pointers are valid while @g is
 * unchanged.
 */
VRDU_API int vrdu_graph_get_call(const struct vrdu_graph *g, uint32_t i, struct vrdu_call *out);

/** enum vrdu_arg_class - what looping proved about an argument. */
enum vrdu_arg_class {
	/** @VRDU_ARG_INVARIANT: the same place in every iteration. */
	VRDU_ARG_INVARIANT = 0,
	/** @VRDU_ARG_AFFINE: base + i * stride in one buffer. */
	VRDU_ARG_AFFINE = 1,
	/** @VRDU_ARG_CARRIED: written by call i, read by call i + 1. */
	VRDU_ARG_CARRIED = 2,
	/** @VRDU_ARG_TABLE: irregular places, read from a table. */
	VRDU_ARG_TABLE = 3,
};

/**
 * struct vrdu_loop_arg - verdict about one argument of a candidate.
 * @symbol: Name.
 * @kind: enum vrdu_arg_class.
 * @stride: AFFINE: bytes per iteration.
 * @reason: Sentence: why this class, or what spoils it.
 */
struct vrdu_loop_arg {
	const char *symbol;
	uint32_t kind;
	int64_t stride;
	const char *reason;
};

/**
 * struct vrdu_loop_candidate - a run of calls that was considered.
 * @first: First call.
 * @period: Calls in one iteration (1: the same program again and again).
 * @trips: Iterations.
 * @taken: Whether it becomes a loop.
 * @depth: 0 for a loop over calls; 1 for a loop over loops.
 * @program: Name of its first program.
 * @reason: Sentence: why it was or was not taken.
 * @args: Verdicts, @arg_count of them; may be NULL.
 * @arg_count: Their number.
 */
struct vrdu_loop_candidate {
	uint32_t first;
	uint32_t period;
	uint32_t trips;
	bool taken;
	uint32_t depth;
	const char *program;
	const char *reason;
	const struct vrdu_loop_arg *args;
	uint32_t arg_count;
};

struct vrdu_loop_report;

/**
 * struct vrdu_looping_opts - what the pass may do.
 * @size: sizeof(struct vrdu_looping_opts).
 * @min_trips: Shortest run worth a loop; 0: 2.
 * @max_depth: 1: loops over calls; 2: also loops over periods that contain
 *	loops (the token loop); 0: 2.
 */
struct vrdu_looping_opts {
	size_t size;
	uint32_t min_trips;
	uint32_t max_depth;
};

/** vrdu_looping_analyze() - find loops and say why; changes nothing. */
VRDU_API int vrdu_looping_analyze(struct vrdu_graph *g, const struct vrdu_looping_opts *opts,
				  struct vrdu_loop_report **out);
VRDU_API void vrdu_loop_report_unref(struct vrdu_loop_report *r);
VRDU_API uint32_t vrdu_loop_report_count(const struct vrdu_loop_report *r);
VRDU_API int vrdu_loop_report_at(const struct vrdu_loop_report *r, uint32_t i,
				 struct vrdu_loop_candidate *out);

/**
 * vrdu_looping_apply() - a new graph in which every run taken is one call of a
 * new, looped program. Programs are created in the graph's context and pass
 * the verifier like any other.
 */
VRDU_API int vrdu_looping_apply(struct vrdu_graph *g, const struct vrdu_looping_opts *opts,
				struct vrdu_graph **out);

/** vrdu_looping_unroll() - the exact inverse: the calls that were looped. */
VRDU_API int vrdu_looping_unroll(struct vrdu_graph *g, struct vrdu_graph **out);

/**
 * vrdu_graph_instantiate() - check and freeze a graph for launching.
 * @batch: Calls per submission; 0: as many as the device takes.
 */
VRDU_API int vrdu_graph_instantiate(struct vrdu_graph *g, uint32_t batch, struct vrdu_exec **out);
VRDU_API struct vrdu_exec *vrdu_exec_ref(struct vrdu_exec *exec);
VRDU_API void vrdu_exec_unref(struct vrdu_exec *exec);

/** vrdu_exec_submissions() - ioctls that one launch makes. */
VRDU_API uint32_t vrdu_exec_submissions(const struct vrdu_exec *exec);

/**
 * vrdu_exec_launch() - submit the graph. Waits at its WAIT and READBACK boundaries.
 * @seqno: Last call's sequence number; may be NULL.
 */
VRDU_API int vrdu_exec_launch(struct vrdu_exec *exec, uint64_t *seqno);

#ifdef __cplusplus
}
#endif

#endif /* VRDU_H */
