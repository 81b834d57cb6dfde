/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The 16 lanes of rule d16 as 16 plain floats: the readable statement of what
 * each lane operation means, for any CPU with IEEE arithmetic. The vector twin
 * is math_lanes_vec.h; math_matmul.h and math_rows.h are written over either.
 *
 * A type v16 is 16 f32 in lane order. A type v16e is 16 f32 in the order in
 * which it is cheapest to widen bf16; here that is lane order too.
 */
#ifndef _FM_MATH_LANES_SCALAR_H
#define _FM_MATH_LANES_SCALAR_H

#include "math_priv.h"

typedef struct {
	float l[16];
} v16;

/* Weight rows that a matmul walks at once. */
#define FM_DOT_ROWS	1
#define FM_Q8_ROWS	1

/* 16 sums in registers, not in an array. */
#ifdef __clang__
#define FM_UNROLL16	_Pragma("clang loop unroll(full)")
#else
#define FM_UNROLL16	_Pragma("GCC unroll 16")
#endif

#define FM_LANE_MAP(expr)			\
	({					\
		v16 r_;				\
		int i;				\
						\
		FM_UNROLL16			\
		for (i = 0; i < 16; i++)	\
			r_.l[i] = (expr);	\
		r_;				\
	})

static __always_inline v16 v16_set1(float f)
{
	return FM_LANE_MAP(f);
}

static __always_inline v16 v16_ld(const void *p)
{
	const fm_f *f = p;

	return FM_LANE_MAP(f[i]);
}

static __always_inline void v16_st(void *p, v16 v)
{
	fm_f *f = p;
	int i;

	for (i = 0; i < 16; i++)
		f[i] = v.l[i];
}

static __always_inline v16 v16_ld_n(const void *p, u32 n)
{
	v16 v = v16_set1(0.0f);

	fm_copy(&v, p, n, 4);
	return v;
}

static __always_inline void v16_st_n(void *p, v16 v, u32 n)
{
	fm_copy(p, &v, n, 4);
}

static __always_inline v16 v16_add(v16 a, v16 b)
{
	return FM_LANE_MAP(a.l[i] + b.l[i]);
}

static __always_inline v16 v16_sub(v16 a, v16 b)
{
	return FM_LANE_MAP(a.l[i] - b.l[i]);
}

static __always_inline v16 v16_mul(v16 a, v16 b)
{
	return FM_LANE_MAP(a.l[i] * b.l[i]);
}

static __always_inline v16 v16_div(v16 a, v16 b)
{
	return FM_LANE_MAP(a.l[i] / b.l[i]);
}

/* Two roundings: the build forbids contraction. */
static __always_inline v16 v16_mac(v16 acc, v16 a, v16 b)
{
	return FM_LANE_MAP(acc.l[i] + a.l[i] * b.l[i]);
}

static __always_inline v16 v16_canon(v16 a)
{
	return FM_LANE_MAP(fm_float(fm_canon(a.l[i])));
}

/* The maximum: a NaN wins, and +0 is above -0 (equal values: the AND of the bits). */
static __always_inline float lane_max(float a, float b)
{
	if (a != a || b != b)
		return fm_float(FM_QNAN);
	if (a == b)
		return fm_float(fm_canon(a) & fm_canon(b));
	return a > b ? a : b;
}

static __always_inline v16 v16_max(v16 a, v16 b)
{
	return FM_LANE_MAP(lane_max(a.l[i], b.l[i]));
}

static __always_inline float v16_hmax(v16 a)
{
	float m = a.l[0];
	int i;

	for (i = 1; i < 16; i++)
		m = lane_max(m, a.l[i]);
	return m;
}

/* @x where it is greater, else @m: a NaN in @x never gets in. */
static __always_inline v16 v16_pick_gt(v16 m, v16 x)
{
	return FM_LANE_MAP(x.l[i] > m.l[i] ? x.l[i] : m.l[i]);
}

static __always_inline float lane_exp(float x)
{
	if (x != x)
		return fm_float(FM_QNAN);
	if (x < FM_EXP_LO)
		x = FM_EXP_LO;
	if (x > FM_EXP_HI)
		x = FM_EXP_HI;
	return (float)fm_exp64(x);
}

static __always_inline v16 v16_exp(v16 a)
{
	return FM_LANE_MAP(lane_exp(a.l[i]));
}

static __always_inline float v16_fold(v16 a)
{
	int step, i;

	for (step = 8; step; step >>= 1)
		for (i = 0; i < step; i++)
			a.l[i] += a.l[i + step];
	return a.l[0];
}

static __always_inline v16 v16_ld_bf16(const void *p)
{
	const fm_h *h = p;

	return FM_LANE_MAP(fm_float((u32)h[i] << 16));
}

static __always_inline void v16_st_bf16(void *p, v16 v)
{
	fm_h *h = p;
	int i;

	for (i = 0; i < 16; i++) {
		u32 u = fm_canon(v.l[i]);

		h[i] = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
	}
}

/* Scaling by 2^112 moves half's exponent into place, denormals included. */
static __always_inline float lane_f16(u32 h)
{
	u32 mag = (h & 0x7fff) << 13;
	float f = fm_float(mag) * 0x1p112f;

	if (mag >= 0x0f800000)
		f = fm_float(mag | FM_INF);
	return fm_float(fm_canon(f) | (mag > 0x0f800000 ? 0 : (h & 0x8000) << 16));
}

static __always_inline v16 v16_ld_f16(const void *p)
{
	const fm_h *h = p;

	return FM_LANE_MAP(lane_f16(h[i]));
}

static __always_inline v16 v16_ld_s8(const void *p)
{
	const s8 *q = p;

	return FM_LANE_MAP((float)q[i]);
}

static __always_inline v16 v16_ld_s32(const void *p)
{
	const fm_u *u = p;

	return FM_LANE_MAP((float)(s32)u[i]);
}

typedef v16 v16e;
#define v16e_ld		v16_ld
#define v16e_ld_bf16	v16_ld_bf16
#define v16e_fold	v16_fold

/* The end of a dot: fold, scale where @scaled, one NaN. @bf16: the lanes are a v16e. */
static __always_inline void lanes_store_dot(void *y, v16 acc, bool bf16, bool scaled, float scale)
{
	float f = bf16 ? v16e_fold(acc) : v16_fold(acc);

	*(fm_u *)y = fm_canon(scaled ? f * scale : f);
}

/* The same for @rows (1, 2 or 4) dots with neighbouring results. */
static __always_inline void lanes_store_dots(void *y, u32 rows, bool bf16, bool scaled, float scale,
					     v16 a, v16 b, v16 c, v16 d)
{
	fm_f *f = y;

	lanes_store_dot(f, a, bf16, scaled, scale);
	if (rows > 1)
		lanes_store_dot(f + 1, b, bf16, scaled, scale);
	if (rows > 2) {
		lanes_store_dot(f + 2, c, bf16, scaled, scale);
		lanes_store_dot(f + 3, d, bf16, scaled, scale);
	}
}

/* Rule seq for fewer than 16 columns: t terms p[t * sp] * v[t][0 .. j-1]. */
static __always_inline void lanes_seq_tail(fm_f *acc, const fm_f *p, size_t sp, const fm_f *v,
					   size_t ldv, u32 t, u32 j)
{
	u32 c, i;

	for (c = 0; c < j; c++) {
		float a = acc[c];

		for (i = 0; i < t; i++)
			a += p[i * sp] * v[i * ldv + c];
		*(fm_u *)(acc + c) = fm_canon(a);
	}
}

#endif /* _FM_MATH_LANES_SCALAR_H */
