// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rotary position embedding: the row of cosines and sines for a position, and
 * its application. Scalar and shared by all implementations; doubles inside,
 * one rounding to f32 at the end. Reached only through struct fm_math_ops.
 */
#include "math_priv.h"
#include "math_impl.h"

/* pi / 2 in three parts; the first two have 33 bits, so that 20-bit multiples are exact. */
#define PIO2_1		(0x1921fb544p0 / 0x1p32)
#define PIO2_2		(0x10b4611a6p0 / 0x1p66)
#define PIO2_3		(0x13198a2e037073p0 / 0x1p121)
#define TWO_OVER_PI	(0x145f306dc9c883p0 / 0x1p53)
#define PIO2_2M62	(0x1921fb54442d18p0 / 0x1p114)	/* pi / 2 * 2^-62 */

/* Angles from here on are reduced in integers. */
#define ANGLE_LARGE	0x1p20

/* 2 / pi: 32 zero bits before the point, then the bits after it. */
static const u32 two_over_pi[] = {
	0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
};

/* ln(x) of a positive finite number that was an f32. */
static double ln64(double x)
{
	double s, z, p;
	u64 bits;
	int e;

	__builtin_memcpy(&bits, &x, sizeof(bits));
	/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)). */
	e = (int)((bits - 0x3fe6a09e667f3bcdull + (1023ull << 52)) >> 52) - 1023;
	bits -= (u64)(s64)e << 52;
	__builtin_memcpy(&x, &bits, sizeof(x));
	/* ln(m) = 2 * artanh(s); s * s < 0.0295, so that ten terms leave 1e-18. */
	s = (x - 1.0) / (x + 1.0);
	z = s * s;
	p = 1.0 / 21;
	p = p * z + 1.0 / 19;
	p = p * z + 1.0 / 17;
	p = p * z + 1.0 / 15;
	p = p * z + 1.0 / 13;
	p = p * z + 1.0 / 11;
	p = p * z + 1.0 / 9;
	p = p * z + 1.0 / 7;
	p = p * z + 1.0 / 5;
	p = p * z + 1.0 / 3;
	return e * FM_EXP_LN2 + (2.0 * s + 2.0 * s * z * p);
}

/*
 * Quadrant and rest of m * 2^e, m < 2^24, -30 <= e <= 104, in units of pi / 2:
 * multiply by a window of 96 bits of 2 / pi. Bits of weight 2^-j with j <= e - 2
 * only add multiples of 4; the window starts after them, so that the product
 * modulo 2^96 is the angle modulo 4 with 94 bits after the point, exact to 2^-70.
 */
static double reduce_large(u32 m, int e, u32 *quadrant)
{
	const u32 *t = two_over_pi + (e + 30) / 32;
	const u32 sh = (e + 30) % 32;
	const u32 w0 = ((u64)t[0] << 32 | t[1]) << sh >> 32;
	const u32 w1 = ((u64)t[1] << 32 | t[2]) << sh >> 32;
	const u32 w2 = ((u64)t[2] << 32 | t[3]) << sh >> 32;
	u64 hi;

	/* The upper 64 of the 96 bits: 2 of quadrant, 62 after the point. */
	hi = ((u64)m * w0 << 32) + (u64)m * w1 + ((u64)m * w2 >> 32);
	*quadrant = (hi + (1ull << 61)) >> 62;
	hi -= (u64)*quadrant << 62;
	return (double)(s64)hi * PIO2_2M62;
}

/* Both for any f32 angle; NaN for infinities and NaN. */
static void sincos64(double *sine, double *cosine, float angle)
{
	double x = angle, r, z, s, c, t;
	u32 bits = fm_canon(angle), q;
	u64 n;
	int e;

	if ((bits & FM_INF) == FM_INF) {
		*sine = fm_float(FM_QNAN);
		*cosine = *sine;
		return;
	}
	if (x > -ANGLE_LARGE && x < ANGLE_LARGE) {
		t = x * TWO_OVER_PI + FM_EXP_MAGIC;
		__builtin_memcpy(&n, &t, sizeof(n));
		q = (u32)n;
		t = t - FM_EXP_MAGIC;
		r = x - t * PIO2_1;
		r = r - t * PIO2_2;
		r = r - t * PIO2_3;
	} else {
		e = (int)((bits >> 23) & 0xff) - 150;
		r = reduce_large((bits & 0x7fffff) | 0x800000, e, &q);
		if (x < 0.0) {
			r = -r;
			q = -q;
		}
	}
	z = r * r;
	s = 1.0 / 6227020800.0;
	s = s * z - 1.0 / 39916800;
	s = s * z + 1.0 / 362880;
	s = s * z - 1.0 / 5040;
	s = s * z + 1.0 / 120;
	s = s * z - 1.0 / 6;
	s = r + r * z * s;
	c = -1.0 / 87178291200.0;
	c = c * z + 1.0 / 479001600;
	c = c * z - 1.0 / 3628800;
	c = c * z + 1.0 / 40320;
	c = c * z - 1.0 / 720;
	c = c * z + 1.0 / 24;
	c = c * z - 1.0 / 2;
	c = 1.0 + z * c;
	t = q & 1 ? c : s;
	*cosine = q & 1 ? s : c;
	*sine = q & 2 ? -t : t;
	if ((q + 1) & 2)
		*cosine = -*cosine;
}

void fm_math_rope_row(void *out, s32 pos, u32 hd, u32 theta)
{
	const bool valid = theta - 1 < FM_INF - 1;	/* positive and finite */
	const double ln = valid ? ln64(fm_float(theta)) : 0.0;
	double s, c;
	fm_u *o = out;
	u32 i;

	for (i = 0; i < hd / 2; i++) {
		float freq = (float)fm_exp64(-(ln * (double)(2 * i) / (double)hd));

		sincos64(&s, &c, valid ? (float)pos * freq : fm_float(FM_QNAN));
		o[2 * (size_t)i] = fm_canon((float)c);
		o[2 * (size_t)i + 1] = fm_canon((float)s);
	}
}

void fm_math_rope_apply(void *yp, const void *xp, const void *rowp, u32 heads, u32 hd, u32 style)
{
	const u32 half = hd / 2;
	const u32 apart = style == FM_ROPE_HALVES ? half : 1;
	const u32 step = style == FM_ROPE_HALVES ? 1 : 2;
	const fm_f *row = rowp;
	u32 head, i;

	for (head = 0; head < heads; head++) {
		const fm_f *x = (const fm_f *)xp + (size_t)head * hd;
		fm_u *y = (fm_u *)yp + (size_t)head * hd;

		for (i = 0; i < half; i++) {
			size_t at = (size_t)i * step;
			float c = row[2 * (size_t)i], s = row[2 * (size_t)i + 1];
			float a = x[at], b = x[at + apart];

			y[at] = fm_canon(a * c - b * s);
			y[at + apart] = fm_canon(a * s + b * c);
		}
		if (hd % 2)
			y[hd - 1] = fm_canon(x[hd - 1]);
	}
}
