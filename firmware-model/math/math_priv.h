/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared by the floating-point objects of the arithmetic: types for untyped
 * memory, NaN, small copies for tails, and the constants of exp, so that each
 * is stated once. Only objects built with the flags of flags.mk include it.
 */
#ifndef _FM_MATH_PRIV_H
#define _FM_MATH_PRIV_H

#include "fm_port.h"
#include "fm_math.h"

#ifdef __FAST_MATH__
#error "the arithmetic is bit-exact by contract: do not build it with -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "the arithmetic needs float and double evaluated as such (SSE2, not x87)"
#endif

/* Loops over lanes and rows become straight code, so that their arrays are registers. */
#ifdef __clang__
#define FM_UNROLL	_Pragma("clang loop unroll(full)")
#else
#define FM_UNROLL	_Pragma("GCC unroll 16")
#endif

/* @stmt for each row below the constant @rows. */
#define FM_EACH_ROW(stmt)				\
	do {						\
		u32 row;				\
							\
		FM_UNROLL				\
		for (row = 0; row < rows; row++)	\
			stmt;				\
	} while (0)

/* Callers hand over bytes that they know under other types. */
typedef float __attribute__((__may_alias__)) fm_f;
typedef u32 __attribute__((__may_alias__)) fm_u;
typedef u16 __attribute__((__may_alias__)) fm_h;

static __always_inline float fm_float(u32 bits)
{
	float f;

	__builtin_memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Bits of @f, with the one NaN that outputs may hold. */
static __always_inline u32 fm_canon(float f)
{
	u32 bits;

	__builtin_memcpy(&bits, &f, sizeof(bits));
	return f != f ? FM_QNAN : bits;
}

/*
 * exp(x) = 2^n * exp(r), n = rint(x / ln 2), |r| <= ln 2 / 2. Adding FM_EXP_MAGIC
 * rounds to an integer and leaves it in the low bits of the sum, from where it
 * is shifted into the exponent. The Taylor series of degree 10 leaves 3e-13,
 * 1/200000 of half an ulp of f32.
 */
#define FM_EXP_LOG2E	(0x171547652b82fep0 / 0x1p52)
#define FM_EXP_LN2	(0x162e42fefa39efp0 / 0x1p53)
#define FM_EXP_MAGIC	0x18p48
#define FM_EXP_C2	(1.0 / 2)
#define FM_EXP_C3	(1.0 / 6)
#define FM_EXP_C4	(1.0 / 24)
#define FM_EXP_C5	(1.0 / 120)
#define FM_EXP_C6	(1.0 / 720)
#define FM_EXP_C7	(1.0 / 5040)
#define FM_EXP_C8	(1.0 / 40320)
#define FM_EXP_C9	(1.0 / 362880)
#define FM_EXP_C10	(1.0 / 3628800)

/* Below and above these, exp() in f32 is 0 and infinity anyway. */
#define FM_EXP_LO	(-105.0f)
#define FM_EXP_HI	89.0f

/* Half precision's infinity with its exponent at f32's place, before the bias. */
#define FM_F16_INF	0x0f800000

/* exp() of |x| <= 700; garbage without undefined behaviour beyond and for NaN. */
static __always_inline double fm_exp64(double x)
{
	double t = x * FM_EXP_LOG2E + FM_EXP_MAGIC;
	double r = x - (t - FM_EXP_MAGIC) * FM_EXP_LN2;
	double p = FM_EXP_C10;
	u64 n, bits;

	p = p * r + FM_EXP_C9;
	p = p * r + FM_EXP_C8;
	p = p * r + FM_EXP_C7;
	p = p * r + FM_EXP_C6;
	p = p * r + FM_EXP_C5;
	p = p * r + FM_EXP_C4;
	p = p * r + FM_EXP_C3;
	p = p * r + FM_EXP_C2;
	p = p * r + 1.0;
	p = p * r + 1.0;
	__builtin_memcpy(&n, &t, sizeof(n));
	__builtin_memcpy(&bits, &p, sizeof(bits));
	bits += n << 52;
	__builtin_memcpy(&p, &bits, sizeof(p));
	return p;
}

/* Copy @n < 16 elements of @size bytes in a few wide steps: tails of rows are hot. */
static __always_inline void fm_copy(void *dst, const void *src, u32 n, u32 size)
{
	u8 *d = dst;
	const u8 *s = src;

	if (n & 8) {
		__builtin_memcpy(d, s, 8 * size);
		d += 8 * size;
		s += 8 * size;
	}
	if (n & 4) {
		__builtin_memcpy(d, s, 4 * size);
		d += 4 * size;
		s += 4 * size;
	}
	if (n & 2) {
		__builtin_memcpy(d, s, 2 * size);
		d += 2 * size;
		s += 2 * size;
	}
	if (n & 1)
		__builtin_memcpy(d, s, size);
}

#endif /* _FM_MATH_PRIV_H */
