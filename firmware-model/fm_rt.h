/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Run-time state of a program: what fm_program.c builds once, the token game
 * (fm_game.c) moves, the node actions (fm_fire*.c) compute on, and the cost
 * model (fm_cost.c) times. Private to the firmware model.
 *
 * Everything here belongs to the thread that runs the program. Times are
 * modelled picoseconds, in a run counted from its own beginning: so they stay
 * far from the end of the range, however long the device has been in use.
 */
#ifndef _FM_RT_H
#define _FM_RT_H

#include "fm.h"
#include "fm_kinds.h"
#include "math/fm_math.h"

struct fm_run;
struct fm_rt_node;
struct fm_rt_stream;

/**
 * struct fm_rt_slot - one tile of a stream's buffer.
 * @data: The tile: a place in the program's arena, or (zero-copy loads) in
 *	device memory.
 * @ready: When its contents are there.
 * @free: When the last consumer so far has left it.
 * @pend: Consumers that still hold it.
 */
struct fm_rt_slot {
	void *data;
	u64 ready;
	u64 free;
	u32 pend;
};

/**
 * struct fm_rt_edge - a consumer's end of a stream.
 * @stream: Stream.
 * @node: Consumer.
 * @avail: Tiles it has not yet released.
 * @slot: Slot of the next one.
 */
struct fm_rt_edge {
	struct fm_rt_stream *stream;
	struct fm_rt_node *node;
	u32 avail;
	u32 slot;
};

/**
 * struct fm_rt_stream - a stream.
 * @slots: @depth slots.
 * @depth: Tiles of buffer.
 * @space: Free slots.
 * @wr: Slot of the next tile written.
 * @consumers: Number of @edges.
 * @edges: Consumers' ends.
 * @producer: Producing node.
 * @rows_extent: Extent of the rows of a group.
 * @outer: Groups per iteration.
 * @tile_rows: Rows of a full tile.
 * @cols: Columns.
 * @elem_bytes: Bytes of an element, 0 for TOKEN.
 * @elem: enum vrdu_elem.
 * @dynamic: @rows_extent is read from memory.
 * @transposed: Tiles are stored by columns (%VRDU_STREAM_TRANSPOSED).
 * @rows: Rows of a group in this run.
 * @tiles: Tiles of a group in this run.
 * @last_rows: Rows of a group's last tile in this run.
 */
struct fm_rt_stream {
	struct fm_rt_slot *slots;
	u32 depth;
	u32 space;
	u32 wr;
	u32 consumers;
	struct fm_rt_edge **edges;
	struct fm_rt_node *producer;
	u32 rows_extent;
	u32 outer;
	u32 tile_rows;
	u32 cols;
	u32 elem_bytes;
	u32 elem;
	bool dynamic;
	bool transposed;
	u32 rows;
	u32 tiles;
	u32 last_rows;
};

/**
 * struct fm_rt_agu - address generator of a node.
 * @symbol: Symbol index.
 * @table: Whether that symbol is a table.
 * @level: Loop level that indexes the table.
 * @rec: The image's record (program's own copy).
 * @tile_stride: Bytes from a tile to the next in a group.
 * @off: Offset from the base for the current iteration.
 */
struct fm_rt_agu {
	u32 symbol;
	bool table;
	u32 level;
	const struct vrdu_agu *rec;
	s64 tile_stride;
	s64 off;
};

/** fm_fire_fn - compute one firing of a node. Return: 0 or a negative errno. */
typedef int (*fm_fire_fn)(struct fm_run *run, struct fm_rt_node *node);

/**
 * struct fm_rt_node - a node.
 * @fire: Its action.
 * @kind: enum vrdu_node_kind.
 * @index: Index in the section.
 * @memory: Occupies the memory channel (AGCU nodes other than CARRY).
 * @reads: Such a node that reads.
 * @windowed: CARRY and SOFTMAX: which firings take and give is their own affair.
 * @missing: Tiles and spaces that its next firing lacks; 0: in the ready heap.
 * @eachs: Number of @each.
 * @holds: Number of @hold.
 * @out_eachs: Number of @out_each.
 * @out_lasts: Number of @out_last.
 * @each: Inputs of which each firing takes a tile.
 * @hold: Inputs held for a whole iteration.
 * @out_each: Outputs to which each firing gives a tile.
 * @out_last: Outputs to which the last firing of an iteration gives.
 * @f: Firing in the iteration.
 * @firings: Firings of an iteration in this run.
 * @group: Group of the driving stream.
 * @tile: Tile in the group (SOFTMAX: firing in the group).
 * @tiles: Tiles of a group (SOFTMAX: firings of a group).
 * @iter: Iteration.
 * @trips: Iterations of this run (CARRY: one more).
 * @start: When the next firing can start, as far as is known.
 * @unit_free: When its units can start again.
 * @occ: Occupancy of a firing with a full tile and with a group's last tile.
 * @occ_first: CARRY: occupancy of the initial load and the final store.
 * @latency: From the end of the occupancy to the result.
 * @bytes: AGCU: bytes of a full and of a group's last tile.
 * @in: Inputs.
 * @out: Outputs.
 * @drive: Stream that drives the firings.
 * @agu: Address generators.
 * @rec: The image's record (program's own copy).
 * @scratch: SOFTMAX: one group; otherwise NULL.
 */
struct fm_rt_node {
	fm_fire_fn fire;
	u16 kind;
	u16 index;
	bool memory;
	bool reads;
	bool windowed;
	u8 eachs;
	u8 holds;
	u8 out_eachs;
	u8 out_lasts;
	u32 missing;
	u32 f;
	u32 firings;
	u32 group;
	u32 tile;
	u32 tiles;
	u32 iter;
	u32 trips;
	u64 start;
	u64 unit_free;
	u64 occ[2];
	u64 occ_first;
	u64 latency;
	u64 bytes[2];
	struct fm_rt_edge *each[VRDU_NODE_INPUTS];
	struct fm_rt_edge *hold[VRDU_NODE_INPUTS];
	struct fm_rt_stream *out_each[VRDU_NODE_OUTPUTS];
	struct fm_rt_stream *out_last[VRDU_NODE_OUTPUTS];
	struct fm_rt_edge in[VRDU_NODE_INPUTS];
	struct fm_rt_stream *out[VRDU_NODE_OUTPUTS];
	struct fm_rt_stream *drive;
	struct fm_rt_agu agu[2];
	const struct vrdu_node *rec;
	void *scratch;
};

/**
 * struct fm_rt_section - a section.
 * @nodes: Nodes.
 * @n_nodes: Their number.
 * @streams: Streams.
 * @n_streams: Their number.
 * @level: Loops around its RUN, the pipelined one excepted.
 * @pipelined: Extent of the pipelined loop's trip count, or %VRDU_NONE.
 * @dynamic: Some shape depends on an extent that is read from memory.
 * @uses: Per extent: whether this section's run needs its value.
 */
struct fm_rt_section {
	struct fm_rt_node *nodes;
	u32 n_nodes;
	struct fm_rt_stream *streams;
	u32 n_streams;
	u32 level;
	u32 pipelined;
	bool dynamic;
	u8 *uses;
};

/**
 * struct fm_range - a range that a call may touch, for the overlap check.
 * @start: First address.
 * @end: One past the last.
 * @write: Whether it may be written.
 */
struct fm_range {
	u64 start;
	u64 end;
	bool write;
};

/**
 * struct fm_program - a verified program with everything that running it needs.
 * @image: Its own copy of the image.
 * @serial: Tells configurations apart: the image's CRC.
 * @profile: Fabric.
 * @symbols: In @image.
 * @n_symbols: Number.
 * @extents: In @image.
 * @n_extents: Number.
 * @seq: In @image.
 * @n_seq: Number.
 * @sections: Run-time sections.
 * @n_sections: Number.
 * @resident: All sections fit on the fabric side by side.
 * @values: Extent values of the current run.
 * @base: Per symbol: host pointer to its whole range, or NULL.
 * @addr: Per symbol: device address of the range (ADDR).
 * @table: Per symbol: entries of a TABLE, copied at the start of a call.
 * @ranges: Ranges of a call, for the overlap check.
 * @n_ranges: Their number.
 * @heap: Ready heap, as long as the largest section.
 * @arena: Stream buffers; sections share it.
 * @bytes: Host memory held.
 */
struct fm_program {
	void *image;
	u64 serial;
	const struct fm_profile *profile;
	const struct vrdu_symbol *symbols;
	u32 n_symbols;
	const struct vrdu_extent *extents;
	u32 n_extents;
	const struct vrdu_seq *seq;
	u32 n_seq;
	struct fm_rt_section *sections;
	u32 n_sections;
	bool resident;
	u32 values[VRDU_MAX_EXTENTS];
	u8 *base[VRDU_MAX_SYMBOLS];
	u64 addr[VRDU_MAX_SYMBOLS];
	u64 *table[VRDU_MAX_SYMBOLS];
	struct fm_range *ranges;
	u32 n_ranges;
	u64 *heap;
	u8 *arena;
	size_t bytes;
};

/**
 * struct fm_device - a socket.
 * @profile: Fabric.
 * @ops: Host.
 * @host: Its cookie.
 * @math: Arithmetic.
 * @clock: Modelled time; wraps after 213 days, only differences mean something.
 * @loaded: Serial of the configuration on the fabric.
 * @loaded_section: Its section; 0 when all sections are resident.
 * @loaded_valid: Whether there is one.
 * @shuffle: Seed of the shuffled order, 0 off.
 */
struct fm_device {
	const struct fm_profile *profile;
	const struct fm_host_ops *ops;
	void *host;
	const struct fm_math_ops *math;
	u64 clock;
	u64 loaded;
	u32 loaded_section;
	bool loaded_valid;
	u64 shuffle;
};

/**
 * struct fm_run - a call in execution; lives on the device thread's stack.
 * @dev: Device.
 * @prog: Program.
 * @call: Call.
 * @math: Arithmetic.
 * @sect: Section in execution.
 * @fault: Where a failure is described.
 * @counters: Counters of the context.
 * @counter: Loop counters, outermost first, the pipelined loop excepted.
 * @timed: The token game advances the clock.
 * @data: The token game computes.
 * @fpu: A floating-point section is open.
 * @work: Work units since breathe().
 * @rng: State of the shuffled order.
 * @hbm_free: When the memory channel is free.
 * @first_arrival: First data from memory in this run.
 * @last_arrival: Last data from memory in this run.
 * @last_end: Latest end of a firing.
 * @firings: Firings of this run.
 * @hbm_busy: Channel time of this run.
 * @hbm_read: Bytes read in this run.
 * @hbm_written: Bytes written in this run.
 */
struct fm_run {
	struct fm_device *dev;
	struct fm_program *prog;
	const struct fm_call *call;
	const struct fm_math_ops *math;
	struct fm_rt_section *sect;
	struct vrdu_fault_info *fault;
	struct vrdu_counters *counters;
	u32 counter[VRDU_MAX_LOOP_DEPTH];
	bool timed;
	bool data;
	bool fpu;
	u32 work;
	u64 rng;
	u64 hbm_free;
	u64 first_arrival;
	u64 last_arrival;
	u64 last_end;
	u64 firings;
	u64 hbm_busy;
	u64 hbm_read;
	u64 hbm_written;
};

/* fm_game.c */
int fm_game_reset(struct fm_run *run, u64 start);
int fm_game(struct fm_run *run, u64 start);

/* fm_shape.c */
void fm_shape(const struct fm_program *prog, struct fm_rt_section *s, bool all);
int fm_read_extents(struct fm_run *run, const u8 *used);

/* fm_cost.c */
void fm_cost_node(const struct fm_profile *profile, struct fm_rt_node *node);

/* fm_fire.c */
fm_fire_fn fm_fire_of(u16 kind);
int fm_breathe(struct fm_run *run);
int fm_fault(struct fm_run *run, u32 code, const struct fm_rt_node *node, u64 address);
int fm_copy_bytes(struct fm_run *run, void *dst, const void *src, u64 bytes);
int fm_zero(struct fm_run *run, void *dst, u64 bytes);
void *fm_agu_ptr(struct fm_run *run, struct fm_rt_node *node, u32 which, s64 off, u64 len,
		 u32 access);

/* fm_fire_math.c: one action per compute kind */
int fm_fire_matmul(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_attn_scores(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_softmax(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_attn_values(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_rmsnorm(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_rope_row(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_rope(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_ew(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_reduce(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_argmax(struct fm_run *run, struct fm_rt_node *node);
int fm_fire_cast(struct fm_run *run, struct fm_rt_node *node);

/**
 * fm_work() - account for @units of work; breathe when a quantum is used up.
 *
 * Return: 0 or -ECANCELED.
 */
static inline int fm_work(struct fm_run *run, u64 units)
{
	if (likely(units < FM_QUANTUM - run->work)) {
		run->work += units;
		return 0;
	}
	return fm_breathe(run);
}

/** fm_in() - data of the tile at input @i. */
static inline void *fm_in(const struct fm_rt_node *node, u32 i)
{
	const struct fm_rt_edge *e = &node->in[i];

	return e->stream->slots[e->slot].data;
}

/** fm_out() - room for the next tile of output @i. */
static inline void *fm_out(const struct fm_rt_node *node, u32 i)
{
	struct fm_rt_stream *s = node->out[i];

	return s->slots[s->wr].data;
}

/** fm_rows() - valid rows of tile @tile of a group of @s. */
static inline u32 fm_rows(const struct fm_rt_stream *s, u32 tile)
{
	return tile + 1 == s->tiles ? s->last_rows : s->tile_rows;
}

#endif /* _FM_RT_H */
