/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The 16 lanes of rule d16 as 16 plain floats: the readable statement of what
 * each lane operation means, for any CPU with IEEE arithmetic. The vector twin
 * is math_lanes_vec.h; math_matmul.h and math_rows.h are written over either.
 */
#ifndef _FM_MATH_LANES_SCALAR_H
#define _FM_MATH_LANES_SCALAR_H

#include "math_priv.h"

struct v16 {
	float l[16];		/* lane by lane */
};

/* Weight rows that a matmul walks at once. */
#define FM_DOT_ROWS	1
#define FM_Q8_ROWS	1

/* A v16 whose lane @i is @expr. */
#define FM_LANE_MAP(expr)			\
	({					\
		struct v16 r_;			\
		int i;				\
						\
		for (i = 0; i < 16; i++)	\
			r_.l[i] = (expr);	\
		r_;				\
	})

/* The same unrolled into registers, for what dot products consist of. */
#define FM_LANE_DOT(expr)			\
	({					\
		struct v16 r_;			\
		int i;				\
						\
		FM_UNROLL			\
		for (i = 0; i < 16; i++)	\
			r_.l[i] = (expr);	\
		r_;				\
	})

static __always_inline struct v16 v16_set1(float f)
{
	return FM_LANE_DOT(f);
}

static __always_inline struct v16 v16_ld(const void *p)
{
	const fm_f *f = p;

	return FM_LANE_DOT(f[i]);
}

static __always_inline void v16_st(void *p, struct v16 v)
{
	fm_f *f = p;
	int i;

	for (i = 0; i < 16; i++)
		f[i] = v.l[i];
}

static __always_inline struct v16 v16_ld_n(const void *p, u32 n)
{
	struct v16 v = v16_set1(0.0f);

	fm_copy(&v, p, n, 4);
	return v;
}

static __always_inline void v16_st_n(void *p, struct v16 v, u32 n)
{
	fm_copy(p, &v, n, 4);
}

static __always_inline struct v16 v16_add(struct v16 a, struct v16 b)
{
	return FM_LANE_MAP(a.l[i] + b.l[i]);
}

static __always_inline struct v16 v16_sub(struct v16 a, struct v16 b)
{
	return FM_LANE_MAP(a.l[i] - b.l[i]);
}

static __always_inline struct v16 v16_mul(struct v16 a, struct v16 b)
{
	return FM_LANE_MAP(a.l[i] * b.l[i]);
}

static __always_inline struct v16 v16_div(struct v16 a, struct v16 b)
{
	return FM_LANE_MAP(a.l[i] / b.l[i]);
}

/* Two roundings: the build forbids contraction. */
static __always_inline struct v16 v16_mac(struct v16 acc, struct v16 a, struct v16 b)
{
	return FM_LANE_DOT(acc.l[i] + a.l[i] * b.l[i]);
}

static __always_inline struct v16 v16_canon(struct v16 a)
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

static __always_inline struct v16 v16_max(struct v16 a, struct v16 b)
{
	return FM_LANE_MAP(lane_max(a.l[i], b.l[i]));
}

static __always_inline float v16_hmax(struct v16 a)
{
	float m = a.l[0];
	int i;

	for (i = 1; i < 16; i++)
		m = lane_max(m, a.l[i]);
	return m;
}

/* @x where it is greater, else @m: a NaN in @x never gets in. */
static __always_inline struct v16 v16_pick_gt(struct v16 m, struct v16 x)
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

static __always_inline struct v16 v16_exp(struct v16 a)
{
	return FM_LANE_MAP(lane_exp(a.l[i]));
}

static __always_inline float v16_fold(struct v16 a)
{
	int step, i;

	for (step = 8; step; step >>= 1)
		for (i = 0; i < step; i++)
			a.l[i] += a.l[i + step];
	return a.l[0];
}

static __always_inline struct v16 v16_ld_bf16(const void *p)
{
	const fm_h *h = p;

	return FM_LANE_DOT(fm_float((u32)h[i] << 16));
}

static __always_inline void v16_st_bf16(void *p, struct v16 v)
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

	if (mag >= FM_F16_INF)
		f = fm_float(mag | FM_INF);
	return fm_float(fm_canon(f) | (mag > FM_F16_INF ? 0 : (h & 0x8000) << 16));
}

static __always_inline struct v16 v16_ld_f16(const void *p)
{
	const fm_h *h = p;

	return FM_LANE_MAP(lane_f16(h[i]));
}

static __always_inline struct v16 v16_ld_s8(const void *p)
{
	const s8 *q = p;

	return FM_LANE_DOT((float)q[i]);
}

static __always_inline struct v16 v16_ld_s8_n(const void *p, u32 n)
{
	s8 buf[16] = {};

	fm_copy(buf, p, n, 1);
	return v16_ld_s8(buf);
}

static __always_inline struct v16 v16_ld_s32(const void *p)
{
	const fm_u *u = p;

	return FM_LANE_MAP((float)(s32)u[i]);
}

/* Even first lanes are lane order here: nothing is cheaper than a shift. */
#define v16_even(x)		(x)
#define v16_ld_bf16_even	v16_ld_bf16

static __always_inline struct v16 v16_ld_bf16_even_n(const void *p, u32 n)
{
	u16 buf[16] = {};

	fm_copy(buf, p, n, 2);
	return v16_ld_bf16(buf);
}

/*
 * The end of @rows dots with neighbouring results: fold, scale where @scaled,
 * one NaN. @even: the lanes are even first.
 */
static __always_inline void lanes_store_dots(void *y, u32 rows, bool even, bool scaled, float scale,
					     const struct v16 *acc)
{
	fm_u *out = y;
	u32 i;

	(void)even;
	for (i = 0; i < rows; i++) {
		float f = v16_fold(acc[i]);

		out[i] = fm_canon(scaled ? f * scale : f);
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
