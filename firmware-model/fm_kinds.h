/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Node kinds, element types and operations as data: the one table that the
 * verifier, the executor and text dumps read. Constant; anybody may call.
 */
#ifndef _FM_KINDS_H
#define _FM_KINDS_H

#include "fm_port.h"
#include <drm/vrdu_image.h>

/* One past the largest element type, node kind, elementwise and reduce operation. */
#define FM_ELEMS	(VRDU_ELEM_I32 + 1)
#define FM_KINDS	(VRDU_NODE_CAST + 1)
#define FM_EW_OPS	(VRDU_EW_IMAX + 1)
#define FM_REDUCE_OPS	(VRDU_REDUCE_MAX + 1)

/** enum fm_unit - what a node occupies. */
enum fm_unit {
	/** @FM_UNIT_AGCU: an address generator; the node touches memory. */
	FM_UNIT_AGCU = 0,
	/** @FM_UNIT_PCU: compute units. */
	FM_UNIT_PCU = 1,
};

/** enum fm_pattern - how the firings of a node use a port. */
enum fm_pattern {
	/** @FM_PORT_NONE: there is no such port. */
	FM_PORT_NONE = 0,
	/** @FM_PORT_EACH: every firing takes or gives one tile. */
	FM_PORT_EACH = 1,
	/** @FM_PORT_HOLD: input: one tile, from the first firing until after the last. */
	FM_PORT_HOLD = 2,
	/** @FM_PORT_LAST: output: one tile, room claimed at the first firing, given by the last. */
	FM_PORT_LAST = 3,
	/**
	 * @FM_PORT_GROUP: SOFTMAX. In a group of T tiles and 2T - 1 firings:
	 * input: firings 0 … T-1 take one tile each; output: firings
	 * T-1 … 2T-2 give one each.
	 */
	FM_PORT_GROUP = 4,
	/**
	 * @FM_PORT_CARRY: CARRY, with F tiles per iteration and N iterations.
	 * Output: each of the first N * F firings gives a tile. Input: every
	 * firing but the first F takes a tile; after the last iteration F more
	 * firings only take.
	 */
	FM_PORT_CARRY = 5,
};

/**
 * struct fm_kind - what all nodes of a kind have in common.
 * @name: Lower-case name, as in "matmul".
 * @unit: enum fm_unit.
 * @inputs: Number of inputs; used ones come first.
 * @inputs_min: The inputs from here on are optional.
 * @outputs: Number of outputs.
 * @outputs_min: The outputs from here on are optional.
 * @in_pattern: enum fm_pattern of each input.
 * @out_pattern: enum fm_pattern of each output.
 * @in_elems: Element types of each input, bit 1 << enum vrdu_elem.
 * @out_elems: Element types of each output.
 * @drive: Port whose tiles are the firings of an iteration (SOFTMAX: of the
 *	window): input index if >= 0, otherwise ~(output index).
 * @params: Number of parameters; those from here on are zero.
 * @agus: Number of address generators; the second one may be absent.
 * @indexed: in0 gives the index of the address generator.
 * @scratch: The node has PMUs of its own.
 */
struct fm_kind {
	const char *name;
	u8 unit;
	u8 inputs;
	u8 inputs_min;
	u8 outputs;
	u8 outputs_min;
	u8 in_pattern[VRDU_NODE_INPUTS];
	u8 out_pattern[VRDU_NODE_OUTPUTS];
	u8 in_elems[VRDU_NODE_INPUTS];
	u8 out_elems[VRDU_NODE_OUTPUTS];
	s8 drive;
	u8 params;
	u8 agus;
	bool indexed;
	bool scratch;
};

/**
 * struct fm_ew - an elementwise operation.
 * @name: Lower-case name.
 * @inputs: 1 or 2.
 * @elem: Element type of inputs and output.
 * @immediate: p[1] is an operand; otherwise it is zero.
 */
struct fm_ew {
	const char *name;
	u8 inputs;
	u8 elem;
	bool immediate;
};

/** fm_kind() - the kind numbered @kind (enum vrdu_node_kind), NULL if there is none. */
const struct fm_kind *fm_kind(u16 kind);

/** fm_elem_bytes() - bytes of an element; 0 for TOKEN and for unknown types. */
u32 fm_elem_bytes(u32 elem);

/** fm_elem_name() - lower-case name of an element type, "?" if unknown. */
const char *fm_elem_name(u32 elem);

/** fm_ew_info() - the operation numbered @op (enum vrdu_ew_op), NULL if there is none. */
const struct fm_ew *fm_ew_info(u32 op);

/** fm_reduce_name() - lower-case name of a reduction (enum vrdu_reduce_op), NULL if unknown. */
const char *fm_reduce_name(u32 op);

#endif /* _FM_KINDS_H */
