/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the arithmetic: random values of hard classes, the
 * implementations that this CPU can run, and single operations that no
 * compiler flag can fuse, so that the references say exactly what they round.
 */
#ifndef TEST_MATH_H
#define TEST_MATH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "math/fm_math.h"

static inline u32 bits_of(float f)
{
	u32 u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float float_of(u32 u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline u32 canon(float f)
{
	return f != f ? FM_QNAN : bits_of(f);
}

static __attribute__((noinline, unused)) float add1(float a, float b)
{
	return a + b;
}

static __attribute__((noinline, unused)) float mul1(float a, float b)
{
	return a * b;
}

static __attribute__((noinline, unused)) float div1(float a, float b)
{
	return a / b;
}

/* xorshift64*: the same sequence everywhere. */
static u64 test_seed = 0x9e3779b97f4a7c15ull;

static inline u32 rnd(void)
{
	test_seed ^= test_seed >> 12;
	test_seed ^= test_seed << 25;
	test_seed ^= test_seed >> 27;
	return (test_seed * 0x2545f4914f6cdd1dull) >> 32;
}

static inline u32 rnd_below(u32 n)
{
	return rnd() % n;
}

enum value_class { ORDINARY, WIDE, TINY, HUGE_, UNDERFLOW_, SPECIAL, ANY_BITS, CLASSES };

/* Random mantissa and sign with an exponent in [lo, hi]. */
static inline float rnd_exp(int lo, int hi)
{
	u32 r = rnd();
	u32 e = 127 + lo + (int)rnd_below(hi - lo + 1);

	return float_of((r & 0x807fffff) | e << 23);
}

static inline float rnd_value(enum value_class c)
{
	switch (c) {
	case WIDE:
		return rnd_exp(-40, 40);
	case TINY:	/* denormals and signed zeros, among values up to 2^60 */
		switch (rnd_below(4)) {
		case 0:
			return float_of(rnd() & 0x80000000);
		case 1:
			return float_of(rnd() & 0x807fffff);
		case 2:
			return rnd_exp(-126, -100);
		default:
			return rnd_exp(-60, 60);
		}
	case HUGE_:	/* sums and products overflow */
		return rnd_exp(50, 127);
	case UNDERFLOW_:	/* products are denormal or zero */
		return rnd_exp(-78, -58);
	case SPECIAL:
		switch (rnd_below(24)) {
		case 0:
			return float_of(FM_INF | (rnd() & 0x80000000));
		case 1:
			return float_of(FM_INF | (rnd() & 0x80000000) | 1 | (rnd() & 0x7fffff));
		default:
			return rnd_exp(-4, 4);
		}
	case ANY_BITS:
		return float_of(rnd());
	default:
		return rnd_exp(-4, 4);
	}
}

static inline void fill(float *f, size_t n, enum value_class c)
{
	while (n--)
		*f++ = rnd_value(c);
}

/* 1 … 70, and the sizes of real models. */
static inline u32 rnd_size(void)
{
	static const u32 real[] = { 8, 16, 32, 48, 64, 128, 172, 288 };

	return rnd_below(3) ? 1 + rnd_below(70) : real[rnd_below(8)];
}

static inline const struct fm_math_ops *math_impl(unsigned int i)
{
	u32 cpu = 0;

#ifdef __x86_64__
	cpu |= FM_CPU_SSE2;
	if (__builtin_cpu_supports("avx2"))
		cpu |= FM_CPU_AVX2;
#endif
	for (; fm_math_by_index(i); i++)
		if (!(fm_math_by_index(i)->cpu & ~cpu))
			return fm_math_by_index(i);
	return NULL;
}

#define FOR_EACH_IMPL(ops)							\
	for (unsigned int impl_ = 0; ((ops) = math_impl(impl_)) != NULL; impl_++)

static inline void check_bits(const void *got, const void *want, size_t n, const char *what,
			      const struct fm_math_ops *ops)
{
	const u8 *g = got, *w = want;
	u32 a, b;
	size_t i;

	for (i = 0; i < n; i++) {
		memcpy(&a, g + 4 * i, 4);
		memcpy(&b, w + 4 * i, 4);
		if (a != b)
			fail_msg("%s, %s: element %zu of %zu is %08x (%g), expected %08x (%g)",
				 what, ops->name, i, n, a, float_of(a), b, float_of(b));
	}
}

#endif /* TEST_MATH_H */
