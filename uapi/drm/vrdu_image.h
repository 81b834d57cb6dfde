/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vrdu program image: a placed dataflow graph for the virtual RDU.
 *
 * An image is one little-endian blob: a header, then tables of fixed-size
 * records, each found by an offset and a count in the header, then a string
 * table. Nothing in it is a pointer. It is checked in full when a program is
 * created, before anything runs.
 *
 * Model of computation
 *
 * - A *section* is one configuration of the fabric: nodes on sites, joined by
 *   streams. It executes as a Kahn process network: a node fires when its
 *   input tiles and its output space are there.
 * - A *stream* carries tiles (tokens) from one producer to one or more
 *   consumers. Its buffer holds @depth tiles; a tile leaves it when every
 *   consumer has released it.
 * - The *sequence* is a loop nest over sections: LOOP … END brackets around
 *   RUN entries. A LOOP whose body is exactly one RUN is *pipelined*: the
 *   next iteration starts as soon as buffers have space. All other section
 *   boundaries drain the fabric.
 * - An *extent* is a size: a constant, or a 32-bit word in device memory read
 *   each time a RUN (for a pipelined loop: the whole loop) begins.
 * - An *AGU* record (address generator) says where a node reads or writes.
 *
 * Rates. In one iteration a stream carries
 * outer * ceil(rows / tile_rows) tiles; tile t of a group holds
 * min(tile_rows, rows - t * tile_rows) valid rows. Node kinds differ in how
 * their firings consume (see enum vrdu_node_kind): EACH firing takes or gives
 * one tile; HOLD takes one tile per iteration, at the first firing, and
 * releases it after the last; LAST gives one tile per iteration, space being
 * claimed at the first firing.
 *
 * Version rule: new node kinds, element types and flags raise
 * %VRDU_IMAGE_MINOR; records only grow at the end and then raise
 * %VRDU_IMAGE_MAJOR.
 */
#ifndef _UAPI_VRDU_IMAGE_H
#define _UAPI_VRDU_IMAGE_H

#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

#define VRDU_IMAGE_MAGIC	0x55445256u	/* "VRDU" */
#define VRDU_IMAGE_MAJOR	1
#define VRDU_IMAGE_MINOR	0

#define VRDU_IMAGE_MAX_BYTES	0x100000u	/* whole image */
#define VRDU_MAX_SYMBOLS	64
#define VRDU_MAX_EXTENTS	256
#define VRDU_MAX_SECTIONS	16
#define VRDU_MAX_SEQ		64
#define VRDU_MAX_LOOP_DEPTH	3
#define VRDU_MAX_TRIP		0x100000u
#define VRDU_MAX_NODES		512		/* in a section */
#define VRDU_MAX_STREAMS	1024		/* in a section */
#define VRDU_MAX_AGUS		2048		/* in an image */
#define VRDU_MAX_DEPTH		256		/* tiles in a stream's buffer */
#define VRDU_MAX_TILE_BYTES	0x4000000u
#define VRDU_NODE_INPUTS	4
#define VRDU_NODE_OUTPUTS	2
#define VRDU_NODE_PARAMS	8
#define VRDU_NONE		0xffffffffu	/* no stream, no AGU, no name */

/**
 * struct vrdu_image_header - start of an image; offsets are bytes from here.
 * @magic: %VRDU_IMAGE_MAGIC.
 * @major: %VRDU_IMAGE_MAJOR.
 * @minor: At most the reader's %VRDU_IMAGE_MINOR.
 * @size: Bytes of the whole image.
 * @crc32: CRC-32 (IEEE 802.3, reflected, init and final xor ~0) of the whole
 *	image with this field as zero.
 * @flags: Must be zero.
 * @name: Offset of the program's name in the string table.
 * @symbols_off: Offset of the struct vrdu_symbol table, 8-byte aligned.
 * @symbols: Number of symbols.
 * @extents_off: Offset of the struct vrdu_extent table, 8-byte aligned.
 * @extents: Number of extents.
 * @sections_off: Offset of the struct vrdu_section table, 8-byte aligned.
 * @sections: Number of sections.
 * @seq_off: Offset of the struct vrdu_seq table, 8-byte aligned.
 * @seqs: Number of sequence entries.
 * @nodes_off: Offset of the struct vrdu_node table, 8-byte aligned.
 * @nodes: Number of nodes of all sections.
 * @streams_off: Offset of the struct vrdu_stream table, 8-byte aligned.
 * @streams: Number of streams of all sections.
 * @agus_off: Offset of the struct vrdu_agu table, 8-byte aligned.
 * @agus: Number of AGU records.
 * @strings_off: Offset of the string table.
 * @strings: Bytes of the string table; the last byte is NUL.
 * @pad: Must be zero.
 *
 * Tables appear in the order of the fields, do not overlap, and lie inside
 * @size.
 */
struct vrdu_image_header {
	__u32 magic;
	__u16 major;
	__u16 minor;
	__u32 size;
	__u32 crc32;
	__u32 flags;
	__u32 name;
	__u32 symbols_off;
	__u32 symbols;
	__u32 extents_off;
	__u32 extents;
	__u32 sections_off;
	__u32 sections;
	__u32 seq_off;
	__u32 seqs;
	__u32 nodes_off;
	__u32 nodes;
	__u32 streams_off;
	__u32 streams;
	__u32 agus_off;
	__u32 agus;
	__u32 strings_off;
	__u32 strings;
	__u32 pad[2];
};

/** enum vrdu_symbol_kind - what an argument of a call is. */
enum vrdu_symbol_kind {
	/** @VRDU_SYMBOL_ADDR: device address of a memory range. */
	VRDU_SYMBOL_ADDR = 0,
	/**
	 * @VRDU_SYMBOL_TABLE: device address of __u64 addresses, one per
	 * iteration of loop level @level; entry i is the range of iteration i.
	 */
	VRDU_SYMBOL_TABLE = 1,
};

#define VRDU_SYMBOL_READ	0x1u	/* the program reads the range */
#define VRDU_SYMBOL_WRITE	0x2u	/* the program writes the range */

/**
 * struct vrdu_symbol - one argument of the program.
 * @name: Offset in the string table.
 * @kind: enum vrdu_symbol_kind.
 * @access: %VRDU_SYMBOL_READ and %VRDU_SYMBOL_WRITE: at least one.
 * @level: %VRDU_SYMBOL_TABLE: loop level (0 outermost) that indexes it.
 * @pad: Must be zero.
 * @entries: %VRDU_SYMBOL_TABLE: number of entries; otherwise 0.
 * @pad2: Must be zero.
 * @bytes: Length of the range (of each entry's range). All accesses stay in
 *	it. Ranges of different symbols of one call must not overlap when one
 *	of them is written.
 */
struct vrdu_symbol {
	__u32 name;
	__u8 kind;
	__u8 access;
	__u8 level;
	__u8 pad;
	__u32 entries;
	__u32 pad2;
	__u64 bytes;
};

/** enum vrdu_extent_kind - where a size comes from. */
enum vrdu_extent_kind {
	/** @VRDU_EXTENT_STATIC: @value is the size. */
	VRDU_EXTENT_STATIC = 0,
	/** @VRDU_EXTENT_PARAM: (__s32 at symbol + offset) + bias, in [min, max]. */
	VRDU_EXTENT_PARAM = 1,
};

/**
 * struct vrdu_extent - a size, static or read from memory.
 * @kind: enum vrdu_extent_kind.
 * @value: Static size, 1 … 2^30. PARAM: 0.
 * @symbol: PARAM: index of an ADDR symbol with read access. STATIC: 0.
 * @bias: PARAM: added to the word read. STATIC: 0.
 * @offset: PARAM: byte offset of a 4-byte aligned __s32 in the symbol. STATIC: 0.
 * @min: Smallest legal size, >= 1. STATIC: equals @value.
 * @max: Largest legal size, <= 2^30. STATIC: equals @value.
 *
 * A PARAM value outside [min, max] is a context fault.
 */
struct vrdu_extent {
	__u32 kind;
	__u32 value;
	__u32 symbol;
	__s32 bias;
	__u64 offset;
	__u32 min;
	__u32 max;
};

/**
 * struct vrdu_section - one configuration of the fabric.
 * @name: Offset in the string table.
 * @first_node: Index of its first node. Sections own consecutive runs, in order.
 * @nodes: Number of nodes, >= 1.
 * @first_stream: Index of its first stream.
 * @streams: Number of streams.
 * @pad: Must be zero.
 */
struct vrdu_section {
	__u32 name;
	__u32 first_node;
	__u32 nodes;
	__u32 first_stream;
	__u32 streams;
	__u32 pad;
};

/** enum vrdu_seq_op - entries of the sequence. */
enum vrdu_seq_op {
	/** @VRDU_SEQ_LOOP: repeat up to the matching END; @arg is an extent: the trip count. */
	VRDU_SEQ_LOOP = 0,
	/** @VRDU_SEQ_END: end of the innermost open loop. @arg 0. */
	VRDU_SEQ_END = 1,
	/** @VRDU_SEQ_RUN: run section @arg. */
	VRDU_SEQ_RUN = 2,
};

/**
 * struct vrdu_seq - an entry of the sequence.
 * @op: enum vrdu_seq_op.
 * @arg: Extent (LOOP), 0 (END), section (RUN).
 *
 * Loops nest at most %VRDU_MAX_LOOP_DEPTH deep and are not empty. Each section
 * is run by exactly one RUN entry.
 */
struct vrdu_seq {
	__u32 op;
	__u32 arg;
};

/** enum vrdu_elem - element types of streams. */
enum vrdu_elem {
	/** @VRDU_ELEM_TOKEN: no data; orders two nodes. cols 0, rows 1, tile_rows 1. */
	VRDU_ELEM_TOKEN = 0,
	/** @VRDU_ELEM_F32: IEEE binary32. */
	VRDU_ELEM_F32 = 1,
	/** @VRDU_ELEM_BF16: bfloat16. */
	VRDU_ELEM_BF16 = 2,
	/** @VRDU_ELEM_I8: signed bytes, values of Q8_0 blocks. */
	VRDU_ELEM_I8 = 3,
	/** @VRDU_ELEM_I32: signed 32-bit. */
	VRDU_ELEM_I32 = 4,
};

/** VRDU_STREAM_TRANSPOSED: a tile is stored [cols][tile_rows]: column c, row r
 * at c * tile_rows + r (also in a last, partly filled tile).
 */
#define VRDU_STREAM_TRANSPOSED	0x1u

/**
 * struct vrdu_stream - tiles from one node to one or more others.
 * @name: Offset in the string table.
 * @elem: enum vrdu_elem.
 * @flags: %VRDU_STREAM_TRANSPOSED.
 * @depth: Tiles that the buffer holds, 1 … %VRDU_MAX_DEPTH.
 * @outer: Groups per iteration, static, >= 1.
 * @rows: Extent index: rows of a group.
 * @tile_rows: Rows of a full tile, >= 1.
 * @cols: Elements of a row.
 * @pmu: First PMU of the buffer (row-major index in the grid).
 * @pmus: Number of PMUs; depth * tile bytes <= pmus * PMU bytes. 0 for TOKEN.
 * @pad: Must be zero.
 */
struct vrdu_stream {
	__u32 name;
	__u8 elem;
	__u8 flags;
	__u16 depth;
	__u32 outer;
	__u32 rows;
	__u32 tile_rows;
	__u32 cols;
	__u32 pmu;
	__u32 pmus;
	__u32 pad[2];
};

/**
 * struct vrdu_agu - an address generator.
 * @symbol: Index of the symbol that holds the base.
 * @flags: Must be zero.
 * @offset: Bytes from the base.
 * @loop_stride: Bytes per iteration of each enclosing loop, outermost first;
 *	0 beyond the depth of the section's RUN.
 * @outer_stride: Bytes per group of the stream.
 * @row_stride: Bytes per row. LOAD, STORE, CARRY: cols * element size (dense).
 * @index_stride: GATHER, SCATTER: bytes per unit of the index. Otherwise 0.
 * @index_limit: GATHER, SCATTER: index is in [0, index_limit). Otherwise 0.
 * @pad: Must be zero.
 *
 * address = base + offset + sum(loop counter * loop_stride)
 *	   + group * outer_stride + row * row_stride + index * index_stride
 *
 * where for GATHER and SCATTER *row* is the row of the data stream within its
 * group. The base of a TABLE symbol is its entry for the current iteration.
 */
struct vrdu_agu {
	__u32 symbol;
	__u32 flags;
	__s64 offset;
	__s64 loop_stride[VRDU_MAX_LOOP_DEPTH];
	__s64 outer_stride;
	__s64 row_stride;
	__s64 index_stride;
	__u32 index_limit;
	__u32 pad;
};

/**
 * enum vrdu_node_kind - the primitive operations.
 *
 * F is the number of firings per iteration; "whole" means one tile per
 * iteration (outer 1, tile_rows = rows); shapes are [rows x cols].
 */
enum vrdu_node_kind {
	/** @VRDU_NODE_LOAD: [in0 TOKEN HOLD] -> out0 EACH. Reads dense tiles. F = tiles of out0. */
	VRDU_NODE_LOAD = 1,
	/** @VRDU_NODE_STORE: in0 EACH -> [out0 TOKEN LAST]. Dense tiles. F = tiles of in0. */
	VRDU_NODE_STORE = 2,
	/**
	 * @VRDU_NODE_GATHER: in0 I32 whole [1 or R x 1] HOLD, [in1 TOKEN HOLD]
	 * -> out0 EACH, rows R. Row r of out0 is read with index in0[r], or
	 * in0[0] if that has one row. F = tiles of out0.
	 */
	VRDU_NODE_GATHER = 3,
	/**
	 * @VRDU_NODE_SCATTER: in0 I32 whole [1 or R x 1] HOLD, in1 EACH
	 * -> [out0 TOKEN LAST]. The inverse of GATHER. F = tiles of in1.
	 */
	VRDU_NODE_SCATTER = 4,
	/**
	 * @VRDU_NODE_CARRY: in0 EACH (feedback) -> out0 EACH. A loop-carried
	 * value kept in PMU. Iteration 0 of the section's pipelined loop gives
	 * tiles read through agu (@p[0] bit 0 clear) or zeros (bit 0 set);
	 * iteration i gives what in0 took in iteration i - 1. The tiles of the
	 * last iteration are written through agu2 unless that is VRDU_NONE.
	 * in0 and out0 have the same shape, outer 1. F = tiles of out0, and as
	 * many more after the last iteration.
	 */
	VRDU_NODE_CARRY = 5,
	/**
	 * @VRDU_NODE_MATMUL: in0 X F32 whole [M x K] HOLD, in1 W EACH, rows N,
	 * cols K, outer 1, F32, BF16 or I8; I8: in2 F32 EACH, rows N, cols
	 * ceil(K / p[0]), scales of groups of p[0] elements -> out0 F32 whole
	 * [M x N] LAST. out = X * W^T by rule d16. F = tiles of in1.
	 */
	VRDU_NODE_MATMUL = 16,
	/**
	 * @VRDU_NODE_ATTN_SCORES: in0 Q F32 whole [M x p[0]*p[2]] HOLD, in1 K
	 * F32 EACH, outer M, rows n, cols p[1]*p[2] -> out0 F32 TRANSPOSED
	 * EACH, outer M, rows n, cols p[0], same tile_rows. p[0] heads, p[1]
	 * KV heads (divides p[0]), p[2] head size, p[3] bits of the f32 scale.
	 * out[t][h] = scale * dot16(q[h], k[t][h / (p[0]/p[1])]).
	 */
	VRDU_NODE_ATTN_SCORES = 17,
	/**
	 * @VRDU_NODE_SOFTMAX: in0 F32 TRANSPOSED EACH -> out0 same shape.
	 * Over the rows of a group, per column. F = outer * (2T - 1), T tiles
	 * in a group: T firings take, the last of them and those after give.
	 * Its scratch holds one group.
	 */
	VRDU_NODE_SOFTMAX = 18,
	/**
	 * @VRDU_NODE_ATTN_VALUES: in0 P F32 TRANSPOSED EACH, outer M, rows n,
	 * cols p[0], in1 V F32 EACH, outer M, rows n, cols p[1]*p[2], same
	 * tile_rows -> out0 F32 whole [M x p[0]*p[2]] LAST, by rule seq.
	 * p as for ATTN_SCORES (p[3] 0).
	 */
	VRDU_NODE_ATTN_VALUES = 19,
	/**
	 * @VRDU_NODE_RMSNORM: in0 F32 EACH [R x D], in1 F32 whole [1 x D] HOLD
	 * -> out0 F32 EACH [R x D]. p[0] bits of the f32 epsilon.
	 */
	VRDU_NODE_RMSNORM = 20,
	/**
	 * @VRDU_NODE_ROPE_ROW: in0 I32 EACH [R x 1] positions -> out0 F32 EACH
	 * [R x p[0]]: cos, sin pairs of head size p[0]; p[1] bits of theta.
	 */
	VRDU_NODE_ROPE_ROW = 21,
	/**
	 * @VRDU_NODE_ROPE: in0 F32 EACH [R x heads*p[0]], in1 F32 whole
	 * [1 or R x p[0]] HOLD -> out0 as in0. p[1]: 0 pairs (2i, 2i+1), 1
	 * halves (i, i + p[0]/2).
	 */
	VRDU_NODE_ROPE = 22,
	/**
	 * @VRDU_NODE_EW: elementwise, in0 EACH [, in1 EACH] -> out0 EACH, all of
	 * one shape and type. p[0] enum vrdu_ew_op, p[1] immediate.
	 */
	VRDU_NODE_EW = 23,
	/**
	 * @VRDU_NODE_REDUCE: in0 F32 EACH [R x C] -> out0 F32 EACH [R x 1].
	 * p[0] enum vrdu_reduce_op. Sums by rule d16.
	 */
	VRDU_NODE_REDUCE = 24,
	/** @VRDU_NODE_ARGMAX: in0 F32 EACH [R x C] -> out0 I32 EACH [R x 1]. Lowest index wins. */
	VRDU_NODE_ARGMAX = 25,
	/**
	 * @VRDU_NODE_CAST: in0 EACH -> out0 EACH, same shape. BF16 -> F32,
	 * F32 -> BF16, or I8 with in1 F32 EACH scales [R x ceil(C/p[0])] -> F32.
	 */
	VRDU_NODE_CAST = 26,
};

/** enum vrdu_ew_op - elementwise operations. */
enum vrdu_ew_op {
	/** @VRDU_EW_ADD: F32 in0 + in1. */
	VRDU_EW_ADD = 0,
	/** @VRDU_EW_MUL: F32 in0 * in1. */
	VRDU_EW_MUL = 1,
	/** @VRDU_EW_SUB: F32 in0 - in1. */
	VRDU_EW_SUB = 2,
	/** @VRDU_EW_MAX: F32 max(in0, in1). */
	VRDU_EW_MAX = 3,
	/** @VRDU_EW_SILU_MUL: F32 silu(in0) * in1. */
	VRDU_EW_SILU_MUL = 4,
	/** @VRDU_EW_IADD: I32 in0 + in1, wraps. */
	VRDU_EW_IADD = 5,
	/** @VRDU_EW_IADD_IMM: I32 in0 + (__s32)p[1], wraps; unary. */
	VRDU_EW_IADD_IMM = 6,
	/** @VRDU_EW_IMAX: I32 max(in0, in1). */
	VRDU_EW_IMAX = 7,
};

/** enum vrdu_reduce_op - row reductions. */
enum vrdu_reduce_op {
	/** @VRDU_REDUCE_SUM: sum, 16 lanes. */
	VRDU_REDUCE_SUM = 0,
	/** @VRDU_REDUCE_MAX: maximum. */
	VRDU_REDUCE_MAX = 1,
};

/**
 * struct vrdu_node - an operation on a site.
 * @name: Offset in the string table.
 * @kind: enum vrdu_node_kind.
 * @flags: Must be zero.
 * @in: Streams read, absolute indices in the image; %VRDU_NONE where unused.
 * @out: Streams written.
 * @agu: Address generator of memory nodes, else %VRDU_NONE.
 * @agu2: CARRY: address generator of the final store or %VRDU_NONE.
 * @site: First unit (row-major): AGCU for LOAD, STORE, GATHER, SCATTER and
 *	CARRY, otherwise PCU.
 * @units: Number of consecutive units; 1 for AGCU nodes.
 * @pmu: First PMU of the node's scratch (SOFTMAX), else 0.
 * @pmus: Number of scratch PMUs, else 0.
 * @p: Parameters by kind; unused ones are zero.
 */
struct vrdu_node {
	__u32 name;
	__u16 kind;
	__u16 flags;
	__u32 in[VRDU_NODE_INPUTS];
	__u32 out[VRDU_NODE_OUTPUTS];
	__u32 agu;
	__u32 agu2;
	__u32 site;
	__u32 units;
	__u32 pmu;
	__u32 pmus;
	__u32 p[VRDU_NODE_PARAMS];
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_VRDU_IMAGE_H */
