/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The 16 lanes of rule d16 as GCC vectors of FM_W floats (4 or 8, set by the
 * including object): each operation means exactly what its twin in
 * math_lanes_scalar.h says. No intrinsics header: kernel units cannot have one.
 *
 * "Even first" lanes are as bf16 pairs unpack for free: a 32-bit word of two
 * bf16 shifted left is the even element, masked it is the odd one. So the even
 * lanes come first, then the odd ones, and the fold undoes that.
 */
#ifndef _FM_MATH_LANES_VEC_H
#define _FM_MATH_LANES_VEC_H

#include "math_priv.h"

/* Vectors of FM_W lanes. */
typedef float __attribute__((__vector_size__(FM_W * 4))) vf;
typedef s32 __attribute__((__vector_size__(FM_W * 4))) vi;
typedef u32 __attribute__((__vector_size__(FM_W * 4))) vu;
typedef u16 __attribute__((__vector_size__(FM_W * 2))) vh;

/* The same register as doubles, and the floats that fill one of those. */
typedef double __attribute__((__vector_size__(FM_W * 4))) vd;
typedef u64 __attribute__((__vector_size__(FM_W * 4))) vdu;
typedef float __attribute__((__vector_size__(FM_W * 2))) vfhalf;

/* 16 bytes, whatever FM_W is, and the 8 bytes that widen to a register. */
typedef float __attribute__((__vector_size__(16))) v4f;
typedef s32 __attribute__((__vector_size__(16))) v4i;
typedef u64 __attribute__((__vector_size__(16))) v2q;
typedef u16 __attribute__((__vector_size__(16))) v8h;
typedef char __attribute__((__vector_size__(16))) v16c;
typedef s8 __attribute__((__vector_size__(8))) v8b;

#define FM_PARTS	(16 / FM_W)

struct v16 {
	vf p[FM_PARTS];		/* lanes FM_W * i and on */
};

/* Weight rows that a matmul walks at once: as many as the registers hold. */
#define FM_DOT_ROWS	(FM_W / 2)
#define FM_Q8_ROWS	(FM_W / 4)

/* @stmt for each part @i below @n, unrolled into registers. */
#define FM_EACH_PART(n, stmt)				\
	do {						\
		int i;					\
							\
		FM_UNROLL				\
		for (i = 0; i < (n); i++)		\
			stmt;				\
	} while (0)

/* A v16 whose part @i is @expr. */
#define FM_PART_MAP(expr)				\
	({						\
		struct v16 r_;				\
							\
		FM_EACH_PART(FM_PARTS, r_.p[i] = (expr)); \
		r_;					\
	})

static __always_inline vf vf_set1(float f)
{
#if FM_W == 8
	return (vf){ f, f, f, f, f, f, f, f };
#else
	return (vf){ f, f, f, f };
#endif
}

/* Loads and stores at any address; each becomes one instruction. */
static __always_inline vf vf_ld(const void *p)
{
	vf v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static __always_inline void vf_st(void *p, vf v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

static __always_inline vi vi_ld(const void *p)
{
	vi v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static __always_inline vu vu_ld_u16(const void *p)
{
	vh v;

	__builtin_memcpy(&v, p, sizeof(v));
	return __builtin_convertvector(v, vu);
}

static __always_inline v4f v4f_ld(const void *p)
{
	v4f v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static __always_inline void v4f_st(void *p, v4f v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

static __always_inline v2q v2q_ld8(const void *p)
{
	v2q v = { 0, 0 };

	__builtin_memcpy(&v, p, 8);
	return v;
}

static __always_inline vf vf_sel(vi mask, vf yes, vf no)
{
	return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

static __always_inline vf vf_qnan(void)
{
	return vf_set1(fm_float(FM_QNAN));
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
	vf lo = vf_set1(FM_EXP_LO), hi = vf_set1(FM_EXP_HI), y;
	vi nan = x != x;
	vfhalf y0, y1;

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

static __always_inline struct v16 v16_set1(float f)
{
	return FM_PART_MAP(vf_set1(f));
}

static __always_inline struct v16 v16_ld(const void *p)
{
	const fm_f *f = p;

	return FM_PART_MAP(vf_ld(f + FM_W * i));
}

static __always_inline void v16_st(void *p, struct v16 v)
{
	fm_f *f = p;

	FM_EACH_PART(FM_PARTS, vf_st(f + FM_W * i, v.p[i]));
}

/* The first @n < 16 elements, zeros behind them. */
#if FM_W == 8
static __always_inline vi vi_below(s32 n)
{
	const vi lane = { 0, 1, 2, 3, 4, 5, 6, 7 };

	return lane < n;
}

static __always_inline struct v16 v16_ld_n(const void *p, u32 n)
{
	const fm_f *f = p;

	/* Masked loads: a store of pieces and a load of the whole would stall. */
	return FM_PART_MAP(__builtin_ia32_maskloadps256((const vf *)(f + 8 * i),
							vi_below((s32)n - 8 * i)));
}
#else
static __always_inline struct v16 v16_ld_n(const void *p, u32 n)
{
	float buf[16] = {};

	fm_copy(buf, p, n, 4);
	return v16_ld(buf);
}
#endif

static __always_inline void v16_st_n(void *p, struct v16 v, u32 n)
{
	float buf[16];

	v16_st(buf, v);
	fm_copy(p, buf, n, 4);
}

static __always_inline struct v16 v16_add(struct v16 a, struct v16 b)
{
	return FM_PART_MAP(a.p[i] + b.p[i]);
}

static __always_inline struct v16 v16_sub(struct v16 a, struct v16 b)
{
	return FM_PART_MAP(a.p[i] - b.p[i]);
}

static __always_inline struct v16 v16_mul(struct v16 a, struct v16 b)
{
	return FM_PART_MAP(a.p[i] * b.p[i]);
}

static __always_inline struct v16 v16_div(struct v16 a, struct v16 b)
{
	return FM_PART_MAP(a.p[i] / b.p[i]);
}

/* Two roundings: the build forbids contraction. */
static __always_inline struct v16 v16_mac(struct v16 acc, struct v16 a, struct v16 b)
{
	return FM_PART_MAP(acc.p[i] + a.p[i] * b.p[i]);
}

static __always_inline struct v16 v16_canon(struct v16 a)
{
	return FM_PART_MAP(vf_canon(a.p[i]));
}

static __always_inline struct v16 v16_max(struct v16 a, struct v16 b)
{
	return FM_PART_MAP(vf_max(a.p[i], b.p[i]));
}

static __always_inline float v16_hmax(struct v16 a)
{
	float r, buf[FM_W];
	vf m = a.p[0];
	int i;

	for (i = 1; i < FM_PARTS; i++)
		m = vf_max(m, a.p[i]);
	vf_st(buf, m);
	r = buf[0];
	for (i = 1; i < FM_W; i++)
		r = vf_max(vf_set1(r), vf_set1(buf[i]))[0];
	return r;
}

static __always_inline struct v16 v16_pick_gt(struct v16 m, struct v16 x)
{
	return FM_PART_MAP(vf_sel(x.p[i] > m.p[i], x.p[i], m.p[i]));
}

static __always_inline struct v16 v16_exp(struct v16 a)
{
	return FM_PART_MAP(vf_exp(a.p[i]));
}

/* Lanes i + 8, then i + 4: what is left of the fold is in 4 lanes. */
static __always_inline v4f v16_fold_to4(struct v16 a)
{
#if FM_W == 8
	vf s = a.p[0] + a.p[1];

	return __builtin_shufflevector(s, s, 0, 1, 2, 3) +
	       __builtin_shufflevector(s, s, 4, 5, 6, 7);
#else
	return (a.p[0] + a.p[2]) + (a.p[1] + a.p[3]);
#endif
}

/* The same from even first lanes: 0 2 4 6 … 14, 1 3 5 7 … 15. */
static __always_inline v4f v16_fold_to4_even(struct v16 a)
{
	v4f e, o;

#if FM_W == 8
	e = __builtin_shufflevector(a.p[0], a.p[0], 0, 1, 2, 3) +
	    __builtin_shufflevector(a.p[0], a.p[0], 4, 5, 6, 7);
	o = __builtin_shufflevector(a.p[1], a.p[1], 0, 1, 2, 3) +
	    __builtin_shufflevector(a.p[1], a.p[1], 4, 5, 6, 7);
#else
	e = a.p[0] + a.p[1];
	o = a.p[2] + a.p[3];
#endif
	/* e is 0 2 4 6 and o is 1 3 5 7; the result is 0 1 2 3 + 4 5 6 7. */
	return __builtin_shufflevector(e, o, 0, 4, 1, 5) +
	       __builtin_shufflevector(e, o, 2, 6, 3, 7);
}

static __always_inline v4f v4f_canon(v4f a)
{
	v4i nan = a != a;

	return (v4f)(((v4i)a & ~nan) | (nan & FM_QNAN));
}

static __always_inline float v4f_fold(v4f s)
{
	s = s + __builtin_shufflevector(s, s, 2, 3, 2, 3);
	return s[0] + s[1];
}

static __always_inline float v16_fold(struct v16 a)
{
	return v4f_fold(v16_fold_to4(a));
}

/* Lane order to even first. */
static __always_inline struct v16 v16_even(struct v16 x)
{
	struct v16 r;

#if FM_W == 8
	r.p[0] = __builtin_shufflevector(x.p[0], x.p[1], 0, 2, 4, 6, 8, 10, 12, 14);
	r.p[1] = __builtin_shufflevector(x.p[0], x.p[1], 1, 3, 5, 7, 9, 11, 13, 15);
#else
	r.p[0] = __builtin_shufflevector(x.p[0], x.p[1], 0, 2, 4, 6);
	r.p[1] = __builtin_shufflevector(x.p[2], x.p[3], 0, 2, 4, 6);
	r.p[2] = __builtin_shufflevector(x.p[0], x.p[1], 1, 3, 5, 7);
	r.p[3] = __builtin_shufflevector(x.p[2], x.p[3], 1, 3, 5, 7);
#endif
	return r;
}

static __always_inline struct v16 v16_ld_bf16_even(const void *p)
{
	const fm_h *h = p;
	struct v16 r;

	FM_EACH_PART(FM_PARTS / 2, {
		vu w = (vu)vi_ld(h + 2 * FM_W * i);

		r.p[i] = (vf)(w << 16);
		r.p[i + FM_PARTS / 2] = (vf)(w & 0xffff0000);
	});
	return r;
}

#if FM_W == 8
static __always_inline struct v16 v16_ld_bf16_even_n(const void *p, u32 n)
{
	const fm_h *h = p;
	vu w = (vu)__builtin_ia32_maskloadd256((const vi *)p, vi_below(n / 2));

	if (n % 2)	/* half a word */
		w |= (vu)(vi_below(n / 2 + 1) & ~vi_below(n / 2)) & h[n - 1];
	return (struct v16){ { (vf)(w << 16), (vf)(w & 0xffff0000) } };
}
#else
static __always_inline struct v16 v16_ld_bf16_even_n(const void *p, u32 n)
{
	u16 buf[16] = {};

	fm_copy(buf, p, n, 2);
	return v16_ld_bf16_even(buf);
}
#endif

static __always_inline struct v16 v16_ld_bf16(const void *p)
{
	const fm_h *h = p;

	return FM_PART_MAP((vf)(vu_ld_u16(h + FM_W * i) << 16));
}

static __always_inline void vf_st_bf16(void *p, vf a)
{
	vu u = (vu)vf_canon(a);
	vh h = __builtin_convertvector((u + 0x7fff + ((u >> 16) & 1)) >> 16, vh);

	__builtin_memcpy(p, &h, sizeof(h));
}

static __always_inline void v16_st_bf16(void *p, struct v16 v)
{
	fm_h *h = p;

	FM_EACH_PART(FM_PARTS, vf_st_bf16(h + FM_W * i, v.p[i]));
}

static __always_inline vf vf_from_f16(vu w)
{
	vu mag = (w & 0x7fff) << 13;
	vf f = (vf)mag * 0x1p112f;
	vi huge = (vi)mag >= FM_F16_INF, nan = (vi)mag > FM_F16_INF;

	f = vf_sel(huge, (vf)(mag | FM_INF), f);
	f = (vf)((vu)f | (w & 0x8000) << 16);
	return vf_sel(nan, vf_qnan(), f);
}

static __always_inline struct v16 v16_ld_f16(const void *p)
{
	const fm_h *h = p;

	return FM_PART_MAP(vf_from_f16(vu_ld_u16(h + FM_W * i)));
}

/* Eight bytes to floats: one part of eight or two of four. */
#if FM_W == 8
static __always_inline void vf_ld_s8(vf *part, const s8 *q)
{
	v2q b = v2q_ld8(q);

#ifdef __clang__
	part[0] = __builtin_convertvector((v8b)b[0], vf);
#else
	/* GCC 12 takes a conversion of bytes apart one by one. */
	part[0] = __builtin_convertvector((vi)__builtin_ia32_pmovsxbd256((v16c)b), vf);
#endif
}
#else
static __always_inline void vf_ld_s8(vf *part, const s8 *q)
{
	v16c b = (v16c)v2q_ld8(q);
	v8h w;

	/* Each byte to the top of a word, then of a doubleword; then down with its sign. */
	b = __builtin_shufflevector(b, b, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
	w = (v8h)b;
	part[0] = (vf)__builtin_shufflevector(w, w, 0, 0, 1, 1, 2, 2, 3, 3);
	part[1] = (vf)__builtin_shufflevector(w, w, 4, 4, 5, 5, 6, 6, 7, 7);
	part[0] = __builtin_convertvector((vi)part[0] >> 24, vf);
	part[1] = __builtin_convertvector((vi)part[1] >> 24, vf);
}
#endif

static __always_inline struct v16 v16_ld_s8(const void *p)
{
	const s8 *q = p;
	struct v16 r;

	vf_ld_s8(r.p, q);
	vf_ld_s8(r.p + FM_PARTS / 2, q + 8);
	return r;
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

	return FM_PART_MAP(__builtin_convertvector(vi_ld(u + FM_W * i), vf));
}

/*
 * The end of @rows (1, 2 or 4) dots with neighbouring results: fold, scale where
 * @scaled, one NaN. @even: the lanes are even first.
 */
static __always_inline void lanes_store_dots(void *y, u32 rows, bool even, bool scaled, float scale,
					     const struct v16 *acc)
{
	v4f part[4], ab, cd, r;

	FM_EACH_ROW(part[row] = even ? v16_fold_to4_even(acc[row]) : v16_fold_to4(acc[row]));
	if (rows == 1) {
		float f = v4f_fold(part[0]);

		*(fm_u *)y = fm_canon(scaled ? f * scale : f);
		return;
	}
	/* Lanes 0 + 2 and 1 + 3 of two rows at a time, then the last sum of all rows. */
	ab = __builtin_shufflevector(part[0], part[1], 0, 4, 1, 5) +
	     __builtin_shufflevector(part[0], part[1], 2, 6, 3, 7);
	cd = ab;
	if (rows == 4)
		cd = __builtin_shufflevector(part[2], part[3], 0, 4, 1, 5) +
		     __builtin_shufflevector(part[2], part[3], 2, 6, 3, 7);
	r = __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
	    __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
	if (scaled)
		r *= scale;
	r = v4f_canon(r);
	__builtin_memcpy(y, &r, rows * 4);
}

/* Rule seq for fewer than 16 columns: t terms p[t * sp] * v[t][0 .. j-1]. */
static __always_inline void lanes_seq_tail(fm_f *acc, const fm_f *p, size_t sp, const fm_f *v,
					   size_t ldv, u32 t, u32 j)
{
	u32 c = 0, i;

	for (; c + FM_W <= j; c += FM_W) {
		vf a = vf_ld(acc + c);

		for (i = 0; i < t; i++)
			a += p[i * sp] * vf_ld(v + i * ldv + c);
		vf_st(acc + c, vf_canon(a));
	}
	for (; c + 4 <= j; c += 4) {
		v4f a = v4f_ld(acc + c);

		for (i = 0; i < t; i++)
			a += p[i * sp] * v4f_ld(v + i * ldv + c);
		v4f_st(acc + c, v4f_canon(a));
	}
	for (; c < j; c++) {
		float a = acc[c];

		for (i = 0; i < t; i++)
			a += p[i * sp] * v[i * ldv + c];
		*(fm_u *)(acc + c) = fm_canon(a);
	}
}

#endif /* _FM_MATH_LANES_VEC_H */
