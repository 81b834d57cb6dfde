/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The 16 lanes of rule d16 as GCC vectors of FM_W floats (4 or 8, set by the
 * including object): each operation means exactly what its twin in
 * math_lanes_scalar.h says. No intrinsics header: kernel units cannot have one.
 *
 * A v16e holds the lanes as bf16 pairs unpack for free: a 32-bit word of two
 * bf16 shifted left is the even element, masked is the odd one. So the even
 * lanes come first, then the odd ones; its fold undoes that.
 */
#ifndef _FM_MATH_LANES_VEC_H
#define _FM_MATH_LANES_VEC_H

#include "math_priv.h"

typedef float vf __attribute__((__vector_size__(FM_W * 4)));
typedef s32 vi __attribute__((__vector_size__(FM_W * 4)));
typedef u32 vu __attribute__((__vector_size__(FM_W * 4)));
typedef vf vf_mem __attribute__((__aligned__(4), __may_alias__));
typedef vu vu_mem __attribute__((__aligned__(1), __may_alias__));
typedef vi vi_mem __attribute__((__aligned__(4), __may_alias__));
typedef double vd __attribute__((__vector_size__(FM_W * 4)));
typedef u64 vdu __attribute__((__vector_size__(FM_W * 4)));
typedef float vfhalf __attribute__((__vector_size__(FM_W * 2)));
typedef u16 vh __attribute__((__vector_size__(FM_W * 2)));
typedef vh vh_mem __attribute__((__aligned__(2), __may_alias__));
typedef s8 vb __attribute__((__vector_size__(FM_W)));
typedef vb vb_mem __attribute__((__aligned__(1), __may_alias__));
typedef s8 v16b __attribute__((__vector_size__(16)));
typedef v16b v16b_mem __attribute__((__aligned__(1), __may_alias__));
typedef char v16c __attribute__((__vector_size__(16)));
typedef s16 v8h __attribute__((__vector_size__(16)));
typedef long long v2q __attribute__((__vector_size__(16)));
typedef long long q_mem __attribute__((__aligned__(1), __may_alias__));
typedef float v4 __attribute__((__vector_size__(16)));
typedef s32 v4i __attribute__((__vector_size__(16)));
typedef v4 v4_mem __attribute__((__aligned__(4), __may_alias__));

/* One operation on all parts of one, two or three v16. */
#if FM_W == 8
typedef struct {
	vf p0, p1;
} v16;

#define FM_DOT_ROWS		4
#define FM_Q8_ROWS		2
#define V16(f, ...)		((v16){ f(0, ##__VA_ARGS__), f(1, ##__VA_ARGS__) })
#define V16_EACH(f, ...)	do { f(0, ##__VA_ARGS__); f(1, ##__VA_ARGS__); } while (0)
#else
typedef struct {
	vf p0, p1, p2, p3;
} v16;

#define FM_DOT_ROWS		2
#define FM_Q8_ROWS		1
#define V16(f, ...)		((v16){ f(0, ##__VA_ARGS__), f(1, ##__VA_ARGS__), \
					f(2, ##__VA_ARGS__), f(3, ##__VA_ARGS__) })
#define V16_EACH(f, ...)	do { f(0, ##__VA_ARGS__); f(1, ##__VA_ARGS__); \
				     f(2, ##__VA_ARGS__); f(3, ##__VA_ARGS__); } while (0)
#endif
#define V16_PART(i, a)		((a).p##i)

static __always_inline vf vf_sel(vi mask, vf yes, vf no)
{
	return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

static __always_inline vf vf_set1(float f)
{
#if FM_W == 8
	return (vf){ f, f, f, f, f, f, f, f };
#else
	return (vf){ f, f, f, f };
#endif
}

static __always_inline vf vf_qnan(void)
{
	return (vf)((vu){} + FM_QNAN);
}

static __always_inline vf vf_canon(vf a)
{
	return vf_sel(a != a, vf_qnan(), a);
}

static __always_inline vf vf_max(vf a, vf b)
{
	vf r = vf_sel(a > b, a, b);

	r = vf_sel(a == b, (vf)((vi)a & (vi)b), r);
	return vf_sel((a != a) | (b != b), vf_qnan(), r);
}

static __always_inline vf vf_pick_gt(vf m, vf x)
{
	return vf_sel(x > m, x, m);
}

/* fm_exp64() on a vector. */
static __always_inline vd vd_exp(vd x)
{
	vd t = x * FM_EXP_LOG2E + FM_EXP_MAGIC;
	vd r = x - (t - FM_EXP_MAGIC) * FM_EXP_LN2;
	vd p = r * FM_EXP_C10 + FM_EXP_C9;

	p = p * r + FM_EXP_C8;
	p = p * r + FM_EXP_C7;
	p = p * r + FM_EXP_C6;
	p = p * r + FM_EXP_C5;
	p = p * r + FM_EXP_C4;
	p = p * r + FM_EXP_C3;
	p = p * r + FM_EXP_C2;
	p = p * r + 1.0;
	p = p * r + 1.0;
	return (vd)((vdu)p + ((vdu)t << 52));
}

static __always_inline vf vf_exp(vf x)
{
	vi nan = x != x;
	vf lo = vf_set1(FM_EXP_LO), hi = vf_set1(FM_EXP_HI);
	vfhalf y0, y1;
	vf y;

	x = vf_sel(x < lo, lo, x);
	x = vf_sel(x > hi, hi, x);
#if FM_W == 8
	y0 = __builtin_shufflevector(x, x, 0, 1, 2, 3);
	y1 = __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
	y0 = __builtin_shufflevector(x, x, 0, 1);
	y1 = __builtin_shufflevector(x, x, 2, 3);
#endif
	y0 = __builtin_convertvector(vd_exp(__builtin_convertvector(y0, vd)), vfhalf);
	y1 = __builtin_convertvector(vd_exp(__builtin_convertvector(y1, vd)), vfhalf);
#if FM_W == 8
	y = __builtin_shufflevector(y0, y1, 0, 1, 2, 3, 4, 5, 6, 7);
#else
	y = __builtin_shufflevector(y0, y1, 0, 1, 2, 3);
#endif
	return vf_sel(nan, vf_qnan(), y);
}

static __always_inline v16 v16_set1(float f)
{
	vf v = vf_set1(f);

#define PART(i)	v
	return V16(PART);
#undef PART
}

static __always_inline v16 v16_ld(const void *p)
{
	const fm_f *f = p;

#define PART(i)	(*(const vf_mem *)(f + FM_W * (i)))
	return V16(PART);
#undef PART
}

static __always_inline void v16_st(void *p, v16 v)
{
	fm_f *f = p;

#define PART(i)	(*(vf_mem *)(f + FM_W * (i)) = v.p##i)
	V16_EACH(PART);
#undef PART
}

#define V16_BINARY(name, expr)					\
static __always_inline v16 name(v16 a, v16 b)			\
{								\
	return V16(expr);					\
}

#define PART_ADD(i)	(a.p##i + b.p##i)
#define PART_SUB(i)	(a.p##i - b.p##i)
#define PART_MUL(i)	(a.p##i * b.p##i)
#define PART_DIV(i)	(a.p##i / b.p##i)
#define PART_MAX(i)	vf_max(a.p##i, b.p##i)
#define PART_GT(i)	vf_pick_gt(a.p##i, b.p##i)
V16_BINARY(v16_add, PART_ADD)
V16_BINARY(v16_sub, PART_SUB)
V16_BINARY(v16_mul, PART_MUL)
V16_BINARY(v16_div, PART_DIV)
V16_BINARY(v16_max, PART_MAX)
V16_BINARY(v16_pick_gt, PART_GT)

/* Two roundings: the build forbids contraction. */
static __always_inline v16 v16_mac(v16 acc, v16 a, v16 b)
{
#define PART(i)	(acc.p##i + a.p##i * b.p##i)
	return V16(PART);
#undef PART
}

static __always_inline v16 v16_canon(v16 a)
{
#define PART(i)	vf_canon(a.p##i)
	return V16(PART);
#undef PART
}

static __always_inline v16 v16_exp(v16 a)
{
#define PART(i)	vf_exp(a.p##i)
	return V16(PART);
#undef PART
}

static __always_inline v16 v16_ld_n(const void *p, u32 n)
{
	float buf[16] __attribute__((__aligned__(32))) = {};

#if FM_W == 8
	if (n == 8)
		return (v16){ *(const vf_mem *)p, (vf){} };
#endif
	fm_copy(buf, p, n, 4);
	return v16_ld(buf);
}

static __always_inline void v16_st_n(void *p, v16 v, u32 n)
{
	float buf[16] __attribute__((__aligned__(32)));

	v16_st(buf, v);
	fm_copy(p, buf, n, 4);
}

/* Lanes i and i + 8, then i and i + 4: what is left of the fold is in 4 lanes. */
static __always_inline v4 v16_fold_to4(v16 a)
{
#if FM_W == 8
	vf s = a.p0 + a.p1;

	return __builtin_shufflevector(s, s, 0, 1, 2, 3) +
	       __builtin_shufflevector(s, s, 4, 5, 6, 7);
#else
	return (a.p0 + a.p2) + (a.p1 + a.p3);
#endif
}

/* The same from even lanes first: 0 2 4 6 … 14, 1 3 5 7 … 15. */
static __always_inline v4 v16e_fold_to4(v16 a)
{
	v4 e, o;

#if FM_W == 8
	e = __builtin_shufflevector(a.p0, a.p0, 0, 1, 2, 3) +
	    __builtin_shufflevector(a.p0, a.p0, 4, 5, 6, 7);
	o = __builtin_shufflevector(a.p1, a.p1, 0, 1, 2, 3) +
	    __builtin_shufflevector(a.p1, a.p1, 4, 5, 6, 7);
#else
	e = a.p0 + a.p1;
	o = a.p2 + a.p3;
#endif
	/* e is 0 2 4 6 and o is 1 3 5 7; the result is 0 1 2 3 + 4 5 6 7. */
	return __builtin_shufflevector(e, o, 0, 4, 1, 5) +
	       __builtin_shufflevector(e, o, 2, 6, 3, 7);
}

static __always_inline v4 v4_canon(v4 a)
{
	v4i nan = a != a;

	return (v4)(((v4i)a & ~nan) | (nan & FM_QNAN));
}

static __always_inline float v4_fold(v4 s)
{
	s = s + __builtin_shufflevector(s, s, 2, 3, 2, 3);
	return s[0] + s[1];
}

static __always_inline float v16_fold(v16 a)
{
	return v4_fold(v16_fold_to4(a));
}

static __always_inline float v16_hmax(v16 a)
{
	vf m = vf_max(a.p0, a.p1);
	float r, buf[FM_W];
	int i;

#if FM_W == 4
	m = vf_max(m, vf_max(a.p2, a.p3));
#endif
	*(vf_mem *)buf = m;
	r = buf[0];
	for (i = 1; i < FM_W; i++)
		r = vf_max(vf_set1(r), vf_set1(buf[i]))[0];
	return r;
}

typedef v16 v16e;

static __always_inline v16e v16e_ld(const void *p)
{
	v16 x = v16_ld(p);

#if FM_W == 8
	return (v16e){ __builtin_shufflevector(x.p0, x.p1, 0, 2, 4, 6, 8, 10, 12, 14),
		       __builtin_shufflevector(x.p0, x.p1, 1, 3, 5, 7, 9, 11, 13, 15) };
#else
	return (v16e){ __builtin_shufflevector(x.p0, x.p1, 0, 2, 4, 6),
		       __builtin_shufflevector(x.p2, x.p3, 0, 2, 4, 6),
		       __builtin_shufflevector(x.p0, x.p1, 1, 3, 5, 7),
		       __builtin_shufflevector(x.p2, x.p3, 1, 3, 5, 7) };
#endif
}

static __always_inline v16e v16e_ld_bf16(const void *p)
{
	const u8 *b = p;
	vu w0 = *(const vu_mem *)b;
#if FM_W == 8
	return (v16e){ (vf)(w0 << 16), (vf)(w0 & 0xffff0000) };
#else
	vu w1 = *(const vu_mem *)(b + 16);

	return (v16e){ (vf)(w0 << 16), (vf)(w1 << 16),
		       (vf)(w0 & 0xffff0000), (vf)(w1 & 0xffff0000) };
#endif
}

static __always_inline float v16e_fold(v16e a)
{
	return v4_fold(v16e_fold_to4(a));
}

/*
 * The end of @rows (1, 2 or 4) dots with neighbouring results: fold, scale where
 * @scaled, one NaN. @bf16: the lanes are v16e.
 */
static __always_inline void lanes_store_dots(void *y, u32 rows, bool bf16, bool scaled, float scale,
					     v16 a, v16 b, v16 c, v16 d)
{
	v4 ra = bf16 ? v16e_fold_to4(a) : v16_fold_to4(a);
	v4 rb, rc, rd, ab, cd, r;
	fm_u *out = y;

	if (rows == 1) {
		float f = v4_fold(ra);

		*out = fm_canon(scaled ? f * scale : f);
		return;
	}
	/* Lanes 0 + 2 and 1 + 3 of two rows at a time, then the last sum of all rows. */
	rb = bf16 ? v16e_fold_to4(b) : v16_fold_to4(b);
	ab = __builtin_shufflevector(ra, rb, 0, 4, 1, 5) +
	     __builtin_shufflevector(ra, rb, 2, 6, 3, 7);
	if (rows == 2) {
		cd = ab;
	} else {
		rc = bf16 ? v16e_fold_to4(c) : v16_fold_to4(c);
		rd = bf16 ? v16e_fold_to4(d) : v16_fold_to4(d);
		cd = __builtin_shufflevector(rc, rd, 0, 4, 1, 5) +
		     __builtin_shufflevector(rc, rd, 2, 6, 3, 7);
	}
	r = __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	if (scaled)
		r *= scale;
	r = v4_canon(r);
	if (rows == 2)
		*(q_mem *)out = ((v2q)r)[0];
	else
		*(v4_mem *)out = r;
}

static __always_inline v16 v16_ld_bf16(const void *p)
{
	const fm_h *h = p;

#define PART(i)	((vf)(__builtin_convertvector(*(const vh_mem *)(h + FM_W * (i)), vu) << 16))
	return V16(PART);
#undef PART
}

static __always_inline vh vf_to_bf16(vf a)
{
	vu u = (vu)vf_canon(a);

	return __builtin_convertvector((u + 0x7fff + ((u >> 16) & 1)) >> 16, vh);
}

static __always_inline void v16_st_bf16(void *p, v16 v)
{
	fm_h *h = p;

#define PART(i)	(*(vh_mem *)(h + FM_W * (i)) = vf_to_bf16(v.p##i))
	V16_EACH(PART);
#undef PART
}

static __always_inline vf vf_from_f16(vh h)
{
	vu w = __builtin_convertvector(h, vu);
	vu mag = (w & 0x7fff) << 13;
	vf f = (vf)mag * 0x1p112f;
	vi huge = (vi)mag >= 0x0f800000, nan = (vi)mag > 0x0f800000;

	f = vf_sel(huge, (vf)(mag | FM_INF), f);
	f = (vf)((vu)f | (w & 0x8000) << 16);
	return vf_sel(nan, vf_qnan(), f);
}

static __always_inline v16 v16_ld_f16(const void *p)
{
	const fm_h *h = p;

#define PART(i)	vf_from_f16(*(const vh_mem *)(h + FM_W * (i)))
	return V16(PART);
#undef PART
}

/* Sign extension; GCC 12 takes a conversion of byte vectors apart element by element. */
static __always_inline v16 v16_ld_s8(const void *p)
{
	const u8 *q = p;
#if FM_W == 8 && defined(__clang__)
	const vb b0 = *(const vb_mem *)q, b1 = *(const vb_mem *)(q + 8);

	return (v16){ __builtin_convertvector(__builtin_convertvector(b0, vi), vf),
		      __builtin_convertvector(__builtin_convertvector(b1, vi), vf) };
#elif FM_W == 8
	const v2q q0 = { *(const q_mem *)q }, q1 = { *(const q_mem *)(q + 8) };

	return (v16){ __builtin_convertvector((vi)__builtin_ia32_pmovsxbd256((v16c)q0), vf),
		      __builtin_convertvector((vi)__builtin_ia32_pmovsxbd256((v16c)q1), vf) };
#else
	const v16b b = *(const v16b_mem *)q;
	/* Each byte into the top of a word, then of a doubleword, then down with its sign. */
	const v8h lo = (v8h)__builtin_shufflevector(b, b, 0, 0, 1, 1, 2, 2, 3, 3,
						    4, 4, 5, 5, 6, 6, 7, 7);
	const v8h hi = (v8h)__builtin_shufflevector(b, b, 8, 8, 9, 9, 10, 10, 11, 11,
						    12, 12, 13, 13, 14, 14, 15, 15);
	const vi d0 = (vi)__builtin_shufflevector(lo, lo, 0, 0, 1, 1, 2, 2, 3, 3);
	const vi d1 = (vi)__builtin_shufflevector(lo, lo, 4, 4, 5, 5, 6, 6, 7, 7);
	const vi d2 = (vi)__builtin_shufflevector(hi, hi, 0, 0, 1, 1, 2, 2, 3, 3);
	const vi d3 = (vi)__builtin_shufflevector(hi, hi, 4, 4, 5, 5, 6, 6, 7, 7);

	return (v16){ __builtin_convertvector(d0 >> 24, vf), __builtin_convertvector(d1 >> 24, vf),
		      __builtin_convertvector(d2 >> 24, vf), __builtin_convertvector(d3 >> 24, vf) };
#endif
}

static __always_inline v16 v16_ld_s32(const void *p)
{
	const fm_u *u = p;

#define PART(i)	__builtin_convertvector(*(const vi_mem *)(u + FM_W * (i)), vf)
	return V16(PART);
#undef PART
}

/* Rule seq for fewer than 16 columns: t terms p[t * sp] * v[t][0 .. j-1]. */
static __always_inline void lanes_seq_tail(fm_f *acc, const fm_f *p, size_t sp, const fm_f *v,
					   size_t ldv, u32 t, u32 j)
{
	u32 c = 0, i;

	for (; c + FM_W <= j; c += FM_W) {
		vf a = *(vf_mem *)(acc + c);

		for (i = 0; i < t; i++)
			a += p[i * sp] * *(const vf_mem *)(v + i * ldv + c);
		*(vf_mem *)(acc + c) = vf_canon(a);
	}
	for (; c + 4 <= j; c += 4) {
		v4 a = *(v4_mem *)(acc + c);

		for (i = 0; i < t; i++)
			a += p[i * sp] * *(const v4_mem *)(v + i * ldv + c);
		*(v4_mem *)(acc + c) = v4_canon(a);
	}
	for (; c < j; c++) {
		float a = acc[c];

		for (i = 0; i < t; i++)
			a += p[i * sp] * v[i * ldv + c];
		*(fm_u *)(acc + c) = fm_canon(a);
	}
}

#endif /* _FM_MATH_LANES_VEC_H */
