/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The table of one implementation, last of the template: an object that has
 * included its lanes, math_matmul.h and math_rows.h names it here. Rotary
 * embeddings are a few hundred scalar operations per token, so all tables
 * share one copy (math_rope.c).
 */
#ifndef _FM_MATH_TABLE_H
#define _FM_MATH_TABLE_H

#include "math_impl.h"

#define FM_MATH_TABLE(symbol, label, features)		\
const struct fm_math_ops symbol = {			\
	.name = label,					\
	.cpu = features,				\
	.matmul_f32 = matmul_f32,			\
	.matmul_bf16 = matmul_bf16,			\
	.matmul_q8 = matmul_q8,				\
	.matmul_seq_acc = matmul_seq_acc,		\
	.rmsnorm = row_rmsnorm,				\
	.rope_row = fm_math_rope_row,			\
	.rope_apply = fm_math_rope_apply,		\
	.max_update = row_max_update,			\
	.exp_sum = row_exp_sum,				\
	.sum = row_sum,					\
	.sum_squares = row_sum_squares,			\
	.fold16 = row_fold16,				\
	.div_scalar = row_div_scalar,			\
	.mul_scalar = row_mul_scalar,			\
	.exp = row_exp,					\
	.silu_mul = row_silu_mul,			\
	.add = row_add,					\
	.sub = row_sub,					\
	.mul = row_mul,					\
	.larger = row_max,					\
	.add_i32 = row_add_i32,				\
	.add_imm_i32 = row_add_imm_i32,			\
	.max_i32 = row_max_i32,				\
	.bf16_to_f32 = row_bf16_to_f32,			\
	.f32_to_bf16 = row_f32_to_bf16,			\
	.f16_to_f32 = row_f16_to_f32,			\
	.i32_to_f32 = row_i32_to_f32,			\
	.dequant_q8 = row_dequant_q8,			\
	.argmax = row_argmax,				\
}

#endif /* _FM_MATH_TABLE_H */
