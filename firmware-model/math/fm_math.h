/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The device's arithmetic: bit-exact by contract.
 *
 * Every operation gives the same bits from every table of functions (scalar,
 * SSE2, AVX2), from kernel and user space, and however the caller tiles it.
 * The rules:
 *
 *  - A product is one rounded f32 multiply, a sum one rounded f32 add; never
 *    fused. Round to nearest even, denormals kept.
 *  - "d16": a sum over k keeps 16 partial sums that start at +0; element k is
 *    added to lane k mod 16 in increasing k; then l[i] += l[i + 8], + 4, + 2,
 *    + 1. Missing elements of the last row of 16 are skipped.
 *  - "seq": a sum in increasing order of its index, one accumulator.
 *  - "q8": inside a group of weights with one scale, 16 inner lanes as in d16
 *    (element 0 of the group is lane 0), each product being f32(weight) * x;
 *    then outer[i] += inner[i] * scale for all 16 lanes; the outer lanes are
 *    folded at the end of the row.
 *  - A NaN in an output is always 0x7fc00000 (0x7fc0 in bf16).
 *  - exp, sin and cos work in f64 inside and round once to f32.
 *
 * Every operation is total: any bits are fine as input, any size including 0,
 * and any address that is a multiple of the element's size. An output may be
 * the same array as an input of equal element size; otherwise outputs do not
 * overlap inputs. No floating-point type crosses this border: f32 scalars
 * travel as their u32 bits, arrays as untyped pointers whose element type the
 * comment names. Sizes, strides and indices count elements.
 *
 * Inside the kernel an operation may be called only between kernel_fpu_begin()
 * and kernel_fpu_end(); the operations neither sleep nor open sections. The
 * caller tiles its work so that one call stays short: all cost is linear in
 * the sizes, and nothing here limits them.
 *
 * The port header is the only other header that the arithmetic includes.
 */
#ifndef _FM_MATH_H
#define _FM_MATH_H

#include "fm_port.h"

#define FM_QNAN		0x7fc00000u	/* the f32 NaN of every output */
#define FM_INF		0x7f800000u
#define FM_NEG_INF	0xff800000u	/* start value of a running maximum */
#define FM_LANES	16u		/* partial sums of rules d16 and q8 */

/* Features that the host found in the CPU, for fm_math_select(). */
#ifndef FM_CPU_SSE2
#define FM_CPU_SSE2	0x1u
#define FM_CPU_AVX2	0x2u
#endif

/* struct fm_matmul.flags */
#define FM_MATMUL_SCALE	0x1u	/* multiply each finished dot by @scale, one rounding */

/* fm_math_ops.rope_apply() styles: which two elements of a head turn together */
#define FM_ROPE_PAIRS	0u		/* 2i and 2i + 1 */
#define FM_ROPE_HALVES	1u		/* i and i + hd / 2 */

/**
 * struct fm_matmul - y[i][n] = dot(x[i], w[n]) for n in [n0, n1).
 * @y: f32 output, row i at @y + i * @ldy; columns outside [n0, n1) are untouched.
 * @x: f32 activations, row i at @x + i * @ldx.
 * @w: Weights, one row per output column, row n at @w + n * @ldw: f32, bf16 or int8.
 * @scales: f32 scales of int8 weights, row n at @scales + n * @lds, one per
 *	group of @group weights, the last group may be short; unused otherwise.
 * @m: Rows of @x and @y.
 * @k: Elements of a dot.
 * @n0: First column to compute.
 * @n1: One past the last.
 * @ldy: Stride of @y's rows.
 * @ldx: Stride of @x's rows.
 * @ldw: Stride of @w's rows.
 * @lds: Stride of @scales' rows.
 * @group: Weights that share a scale; 0 stands for @k.
 * @scale: f32 bits, used with %FM_MATMUL_SCALE.
 * @flags: FM_MATMUL_*.
 */
struct fm_matmul {
	void *y;
	const void *x;
	const void *w;
	const void *scales;
	u32 m;
	u32 k;
	u32 n0;
	u32 n1;
	u32 ldy;
	u32 ldx;
	u32 ldw;
	u32 lds;
	u32 group;
	u32 scale;
	u32 flags;
};

/**
 * struct fm_matmul_seq - acc[i][j] += sum over t of p[i][t] * v[t][j], rule seq.
 * @acc: f32, read and written, row i at @acc + i * @ldacc.
 * @p: f32, element t of row i at @p + i * @ldp + t * @sp.
 * @v: f32, row t at @v + t * @ldv.
 * @m: Rows of @acc.
 * @t: Terms; splitting them over calls in order changes no bit.
 * @j: Columns.
 * @ldacc: Stride of @acc's rows.
 * @ldp: Stride of @p's rows.
 * @sp: Stride of @p's elements.
 * @ldv: Stride of @v's rows.
 */
struct fm_matmul_seq {
	void *acc;
	const void *p;
	const void *v;
	u32 m;
	u32 t;
	u32 j;
	u32 ldacc;
	u32 ldp;
	u32 sp;
	u32 ldv;
};

/**
 * struct fm_argmax - a running argmax.
 * @value: f32 bits of the best element, %FM_QNAN before the first one.
 * @index: Its index; 0 before the first one.
 */
struct fm_argmax {
	u32 value;
	u32 index;
};

/** fm_argmax_init() - before the first element: nothing found, index 0. */
static inline void fm_argmax_init(struct fm_argmax *st)
{
	st->value = FM_QNAN;
	st->index = 0;
}

/**
 * struct fm_math_ops - one implementation of the arithmetic.
 * @name: "scalar", "sse2", "avx2".
 * @cpu: FM_CPU_* bits that it needs.
 * @matmul_f32: f32 weights, rule d16.
 * @matmul_bf16: bf16 weights, widened exactly, rule d16.
 * @matmul_q8: int8 weights, rule q8.
 * @matmul_seq_acc: Accumulate rows times a matrix, rule seq.
 * @rmsnorm: y = w * ((1 / sqrt(ss / f32(n) + eps)) * x), every operation
 *	rounded, ss the d16 sum of squares; f32 arrays of n, eps as bits.
 * @rope_row: out[2i], out[2i + 1] = cos, sin of f32(pos) * freq(i) for i <
 *	hd / 2, the product rounded to f32, freq(i) = exp(-ln(theta) * 2i / hd)
 *	rounded once to f32. An element is NaN where its angle is not finite,
 *	and all are where theta (bits) is not a positive finite number.
 * @rope_apply: y = x (f32, @heads rows of @hd) turned by a rope_row():
 *	a' = a * cos - b * sin, b' = a * sin + b * cos, each product rounded.
 *	The last element of an odd head is copied. y may be x.
 * @max_update: *max (f32 bits, start at %FM_NEG_INF) becomes the maximum of
 *	itself and n elements. A NaN makes it NaN; +0 is above -0. Also the
 *	maximum reduction.
 * @exp_sum: e[i] = exp(x[i] - max), and lane (g + i) mod 16 of the running
 *	state (16 f32, start at 0) += e[i]: @g is the row's index of x[0], so
 *	that a row may come in tiles. e may be x.
 * @sum: lane (g + i) mod 16 of the state += x[i]: the d16 sum reduction.
 * @sum_squares: The same with x[i] * x[i].
 * @fold16: f32 bits of the d16 fold of a state; the state is left alone.
 * @div_scalar: y[i] = x[i] / s, s as f32 bits.
 * @mul_scalar: y[i] = x[i] * s.
 * @exp: y[i] = exp(x[i]), within 0.5001 ulp.
 * @silu_mul: y[i] = (a[i] * (1 / (1 + exp(-a[i])))) * b[i], each operation rounded.
 * @add: y[i] = a[i] + b[i], f32.
 * @sub: y[i] = a[i] - b[i], f32.
 * @mul: y[i] = a[i] * b[i], f32.
 * @larger: y[i] = the larger, with the NaN and zero rules of @max_update.
 * @add_i32: y[i] = a[i] + b[i] modulo 2^32.
 * @add_imm_i32: y[i] = a[i] + imm modulo 2^32.
 * @max_i32: y[i] = the larger, signed.
 * @bf16_to_f32: Widen, exact.
 * @f32_to_bf16: Narrow, to nearest even.
 * @f16_to_f32: Widen, exact, IEEE half precision with its denormals.
 * @i32_to_f32: To nearest even.
 * @dequant_q8: y[i] = f32(q[i]) * scales[i / group]; group 0 stands for n.
 * @argmax: Update a running argmax with n elements, the first of which has
 *	index @g. The lowest index wins ties (+0 and -0 tie); NaN never wins.
 */
struct fm_math_ops {
	const char *name;
	u32 cpu;

	void (*matmul_f32)(const struct fm_matmul *a);
	void (*matmul_bf16)(const struct fm_matmul *a);
	void (*matmul_q8)(const struct fm_matmul *a);
	void (*matmul_seq_acc)(const struct fm_matmul_seq *a);

	void (*rmsnorm)(void *y, const void *x, const void *w, u32 n, u32 eps);
	void (*rope_row)(void *out, s32 pos, u32 hd, u32 theta);
	void (*rope_apply)(void *y, const void *x, const void *row, u32 heads, u32 hd, u32 style);

	void (*max_update)(u32 *max, const void *x, u32 n);
	void (*exp_sum)(void *e, const void *x, u32 n, u32 max, void *state, u32 g);
	void (*sum)(void *state, const void *x, u32 n, u32 g);
	void (*sum_squares)(void *state, const void *x, u32 n, u32 g);
	u32 (*fold16)(const void *state);
	void (*div_scalar)(void *y, const void *x, u32 n, u32 s);
	void (*mul_scalar)(void *y, const void *x, u32 n, u32 s);
	void (*exp)(void *y, const void *x, u32 n);
	void (*silu_mul)(void *y, const void *a, const void *b, u32 n);

	void (*add)(void *y, const void *a, const void *b, u32 n);
	void (*sub)(void *y, const void *a, const void *b, u32 n);
	void (*mul)(void *y, const void *a, const void *b, u32 n);
	void (*larger)(void *y, const void *a, const void *b, u32 n);
	void (*add_i32)(void *y, const void *a, const void *b, u32 n);
	void (*add_imm_i32)(void *y, const void *a, u32 n, s32 imm);
	void (*max_i32)(void *y, const void *a, const void *b, u32 n);

	void (*bf16_to_f32)(void *y, const void *x, u32 n);
	void (*f32_to_bf16)(void *y, const void *x, u32 n);
	void (*f16_to_f32)(void *y, const void *x, u32 n);
	void (*i32_to_f32)(void *y, const void *x, u32 n);
	void (*dequant_q8)(void *y, const void *q, const void *scales, u32 n, u32 group);

	void (*argmax)(struct fm_argmax *st, const void *x, u32 n, u32 g);
};

/**
 * fm_math_by_index() - implementation number @i of this build.
 * @i: 0 is the scalar one, always there; faster ones follow.
 *
 * The caller checks @cpu before it calls any operation. Return: NULL past the end.
 */
const struct fm_math_ops *fm_math_by_index(u32 i);

/**
 * fm_math_select() - the fastest implementation that a CPU can run.
 * @cpu_features: FM_CPU_* bits that the host found. %FM_CPU_AVX2 also says
 *	that the operating system keeps the wide registers.
 *
 * Never NULL.
 */
const struct fm_math_ops *fm_math_select(u32 cpu_features);

/**
 * fm_math_selftest() - compare each operation with the scalar one, bit for bit.
 * @ops: The implementation to try; the CPU must have its features.
 *
 * Call it inside a floating-point section. It takes some ten microseconds and
 * about 2 KiB of stack. Return: 0, or the number (from 1, in the order of
 * struct fm_math_ops) of the first operation that differs.
 */
int fm_math_selftest(const struct fm_math_ops *ops);

#endif /* _FM_MATH_H */
