// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of node kinds, and its small sisters for element types and
 * operations. A new node kind starts here: ports, patterns, types, driver.
 * Shapes, which relate ports to each other, are rules of the verifier
 * (fm_verify_graph.c). Owns constants only; anybody may call.
 */
#include "fm_kinds.h"

#define ELEM(t)	(1u << (t))
#define TOKEN	ELEM(VRDU_ELEM_TOKEN)
#define F32	ELEM(VRDU_ELEM_F32)
#define BF16	ELEM(VRDU_ELEM_BF16)
#define I8	ELEM(VRDU_ELEM_I8)
#define I32	ELEM(VRDU_ELEM_I32)
#define DATA	(F32 | BF16 | I8 | I32)

static const struct fm_kind kinds[FM_KINDS] = {
	[VRDU_NODE_LOAD] = {
		.name = "load", .unit = FM_UNIT_AGCU, .agus = 1, .drive = ~0,
		.inputs = 1, .inputs_min = 0,
		.in_pattern = { FM_PORT_HOLD }, .in_elems = { TOKEN },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { DATA },
	},
	[VRDU_NODE_STORE] = {
		.name = "store", .unit = FM_UNIT_AGCU, .agus = 1, .drive = 0,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH }, .in_elems = { DATA },
		.outputs = 1, .outputs_min = 0,
		.out_pattern = { FM_PORT_LAST }, .out_elems = { TOKEN },
	},
	[VRDU_NODE_GATHER] = {
		.name = "gather", .unit = FM_UNIT_AGCU, .agus = 1, .drive = ~0, .indexed = true,
		.inputs = 2, .inputs_min = 1,
		.in_pattern = { FM_PORT_HOLD, FM_PORT_HOLD }, .in_elems = { I32, TOKEN },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { DATA },
	},
	[VRDU_NODE_SCATTER] = {
		.name = "scatter", .unit = FM_UNIT_AGCU, .agus = 1, .drive = 1, .indexed = true,
		.inputs = 2, .inputs_min = 2,
		.in_pattern = { FM_PORT_HOLD, FM_PORT_EACH }, .in_elems = { I32, DATA },
		.outputs = 1, .outputs_min = 0,
		.out_pattern = { FM_PORT_LAST }, .out_elems = { TOKEN },
	},
	[VRDU_NODE_CARRY] = {
		.name = "carry", .unit = FM_UNIT_AGCU, .agus = 2, .drive = ~0, .params = 1,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_CARRY }, .in_elems = { DATA },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_CARRY }, .out_elems = { DATA },
	},
	[VRDU_NODE_MATMUL] = {
		.name = "matmul", .unit = FM_UNIT_PCU, .drive = 1, .params = 1,
		.inputs = 3, .inputs_min = 2,
		.in_pattern = { FM_PORT_HOLD, FM_PORT_EACH, FM_PORT_EACH },
		.in_elems = { F32, F32 | BF16 | I8, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_LAST }, .out_elems = { F32 },
	},
	[VRDU_NODE_ATTN_SCORES] = {
		.name = "attn_scores", .unit = FM_UNIT_PCU, .drive = 1, .params = 4,
		.inputs = 2, .inputs_min = 2,
		.in_pattern = { FM_PORT_HOLD, FM_PORT_EACH }, .in_elems = { F32, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 },
	},
	[VRDU_NODE_SOFTMAX] = {
		.name = "softmax", .unit = FM_UNIT_PCU, .drive = 0, .scratch = true,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_GROUP }, .in_elems = { F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_GROUP }, .out_elems = { F32 },
	},
	[VRDU_NODE_ATTN_VALUES] = {
		.name = "attn_values", .unit = FM_UNIT_PCU, .drive = 0, .params = 3,
		.inputs = 2, .inputs_min = 2,
		.in_pattern = { FM_PORT_EACH, FM_PORT_EACH }, .in_elems = { F32, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_LAST }, .out_elems = { F32 },
	},
	[VRDU_NODE_RMSNORM] = {
		.name = "rmsnorm", .unit = FM_UNIT_PCU, .drive = 0, .params = 1,
		.inputs = 2, .inputs_min = 2,
		.in_pattern = { FM_PORT_EACH, FM_PORT_HOLD }, .in_elems = { F32, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 },
	},
	[VRDU_NODE_ROPE_ROW] = {
		.name = "rope_row", .unit = FM_UNIT_PCU, .drive = 0, .params = 2,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH }, .in_elems = { I32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 },
	},
	[VRDU_NODE_ROPE] = {
		.name = "rope", .unit = FM_UNIT_PCU, .drive = 0, .params = 2,
		.inputs = 2, .inputs_min = 2,
		.in_pattern = { FM_PORT_EACH, FM_PORT_HOLD }, .in_elems = { F32, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 },
	},
	[VRDU_NODE_EW] = {
		.name = "ew", .unit = FM_UNIT_PCU, .drive = 0, .params = 2,
		.inputs = 2, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH, FM_PORT_EACH }, .in_elems = { F32 | I32, F32 | I32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 | I32 },
	},
	[VRDU_NODE_REDUCE] = {
		.name = "reduce", .unit = FM_UNIT_PCU, .drive = 0, .params = 1,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH }, .in_elems = { F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 },
	},
	[VRDU_NODE_ARGMAX] = {
		.name = "argmax", .unit = FM_UNIT_PCU, .drive = 0,
		.inputs = 1, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH }, .in_elems = { F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { I32 },
	},
	[VRDU_NODE_CAST] = {
		.name = "cast", .unit = FM_UNIT_PCU, .drive = 0, .params = 1,
		.inputs = 2, .inputs_min = 1,
		.in_pattern = { FM_PORT_EACH, FM_PORT_EACH }, .in_elems = { F32 | BF16 | I8, F32 },
		.outputs = 1, .outputs_min = 1,
		.out_pattern = { FM_PORT_EACH }, .out_elems = { F32 | BF16 },
	},
};

static const struct {
	const char *name;
	u32 bytes;
} elems[FM_ELEMS] = {
	[VRDU_ELEM_TOKEN] = { "token", 0 },
	[VRDU_ELEM_F32] = { "f32", 4 },
	[VRDU_ELEM_BF16] = { "bf16", 2 },
	[VRDU_ELEM_I8] = { "i8", 1 },
	[VRDU_ELEM_I32] = { "i32", 4 },
};

static const struct fm_ew ew_ops[FM_EW_OPS] = {
	[VRDU_EW_ADD] = { "add", 2, VRDU_ELEM_F32, false },
	[VRDU_EW_MUL] = { "mul", 2, VRDU_ELEM_F32, false },
	[VRDU_EW_SUB] = { "sub", 2, VRDU_ELEM_F32, false },
	[VRDU_EW_MAX] = { "max", 2, VRDU_ELEM_F32, false },
	[VRDU_EW_SILU_MUL] = { "silu_mul", 2, VRDU_ELEM_F32, false },
	[VRDU_EW_IADD] = { "iadd", 2, VRDU_ELEM_I32, false },
	[VRDU_EW_IADD_IMM] = { "iadd_imm", 1, VRDU_ELEM_I32, true },
	[VRDU_EW_IMAX] = { "imax", 2, VRDU_ELEM_I32, false },
};

static const char * const reduce_names[FM_REDUCE_OPS] = {
	[VRDU_REDUCE_SUM] = "sum",
	[VRDU_REDUCE_MAX] = "max",
};

const struct fm_kind *fm_kind(u16 kind)
{
	return kind < FM_KINDS && kinds[kind].name ? &kinds[kind] : NULL;
}

u32 fm_elem_bytes(u32 elem)
{
	return elem < FM_ELEMS ? elems[elem].bytes : 0;
}

const char *fm_elem_name(u32 elem)
{
	return elem < FM_ELEMS ? elems[elem].name : "?";
}

const struct fm_ew *fm_ew_info(u32 op)
{
	return op < FM_EW_OPS ? &ew_ops[op] : NULL;
}

const char *fm_reduce_name(u32 op)
{
	return op < FM_REDUCE_OPS ? reduce_names[op] : NULL;
}
