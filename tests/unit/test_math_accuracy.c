// SPDX-License-Identifier: MIT
/*
 * Elementary functions against libm's doubles: exp, sin, cos, the rotary
 * frequencies, 1 / sqrt and SiLU. The bounds are those that fm_math.h promises.
 */
#include <math.h>

#include "test_math.h"

/* Distance of @got from the exact @want, in units of the last place of f32. */
static double ulps(float got, double want)
{
	int e;

	if (got == want)
		return 0;
	frexp(want, &e);
	if (e < -125)
		e = -125;
	return fabs(got - want) / ldexp(1.0, e - 24);
}

static void check_exp(float x, double *worst)
{
	const struct fm_math_ops *ops = fm_math_by_index(0);
	double want = exp((double)x), err;
	float y;

	ops->exp(&y, &x, 1);
	if (want >= 0x1.ffffffp+127) {
		assert_int_equal(bits_of(y), FM_INF);
		return;
	}
	err = ulps(y, want);
	if (err > *worst)
		*worst = err;
	if (!(err <= 0.5001))
		fail_msg("exp(%a) = %a, %g ulp off", x, y, err);
}

static void test_exp(void **state)
{
	const u32 lo = 0x00000001, hi = 0x42d00000;	/* up to 104 */
	double worst = 0;
	u32 u;
	float f;

	(void)state;
	for (u = lo; u < hi; u += 1999) {
		check_exp(float_of(u), &worst);
		check_exp(-float_of(u), &worst);
	}
	/* Where results turn denormal, into zero, and into infinity. */
	for (f = -103.0f; f > -104.5f; f = nextafterf(f, -200.0f))
		check_exp(f, &worst);
	for (f = -87.33f; f > -87.35f; f = nextafterf(f, -200.0f))
		check_exp(f, &worst);
	for (f = 88.72f; f < 88.73f; f = nextafterf(f, 200.0f))
		check_exp(f, &worst);
	check_exp(1e30f, &worst);
	check_exp(-1e30f, &worst);
	check_exp(INFINITY, &worst);
	check_exp(-INFINITY, &worst);
	f = float_of(0xff800001);
	fm_math_by_index(0)->exp(&f, &f, 1);
	assert_int_equal(bits_of(f), FM_QNAN);
	print_message("exp: worst %.6f ulp\n", worst);
}

/* freq(i) rounded once, from long doubles. */
static float ref_freq(float theta, u32 i, u32 hd)
{
	return (float)expl(-logl(theta) * (2.0L * i) / hd);
}

static void check_row(s32 pos, u32 hd, float theta, double *worst)
{
	static float row[512];
	u32 i;

	fm_math_by_index(0)->rope_row(row, pos, hd, bits_of(theta));
	for (i = 0; i < hd / 2; i++) {
		float angle = mul1((float)pos, ref_freq(theta, i, hd));
		double c = ulps(row[2 * i], cos((double)angle));
		double s = ulps(row[2 * i + 1], sin((double)angle));

		if (isinf(angle)) {
			assert_int_equal(bits_of(row[2 * i]), FM_QNAN);
			assert_int_equal(bits_of(row[2 * i + 1]), FM_QNAN);
			continue;
		}
		if (c > *worst)
			*worst = c;
		if (s > *worst)
			*worst = s;
		if (!(c <= 0.51 && s <= 0.51))
			fail_msg("position %d, %u of %u, theta %g: angle %a, cos %a (%g ulp), sin %a (%g ulp)",
				 pos, i, hd, theta, angle, row[2 * i], c, row[2 * i + 1], s);
	}
}

static void test_rope_row(void **state)
{
	static const float thetas[] = { 10000.0f, 500000.0f, 1000000.0f, 1.0f, 0.25f };
	double worst = 0;
	u32 hd, i;
	s32 pos;

	(void)state;
	/* Every frequency of every head size, at position 1. */
	for (hd = 2; hd <= 256; hd += 2)
		for (i = 0; i < 3; i++)
			check_row(1, hd, thetas[i], &worst);
	for (pos = -300; pos < 131072; pos += 7)
		check_row(pos, 16, thetas[(u32)pos % 5], &worst);
	for (i = 0; i < 20000; i++)
		check_row((s32)rnd(), 16, thetas[i % 5], &worst);
	check_row(INT32_MIN, 64, 10000.0f, &worst);
	check_row(INT32_MAX, 64, 10000.0f, &worst);
	/* Frequencies above 1 carry the angle to the end of f32's range. */
	for (i = 0; i < 20000; i++)
		check_row((s32)rnd(), 32, fabsf(rnd_exp(-100, -1)), &worst);
	print_message("sin, cos: worst %.6f ulp\n", worst);
}

/* Whole angles of all magnitudes: the first frequency is one. */
static void test_sincos_sweep(void **state)
{
	double worst = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 400000; i++) {
		s32 pos = (s32)(rnd() >> rnd_below(31));

		check_row(pos, 2, 10000.0f, &worst);
	}
	print_message("sin, cos at integers: worst %.6f ulp\n", worst);
}

static void test_rope_row_total(void **state)
{
	static const u32 bad[] = { 0, 0x80000000, 0xbf800000, FM_INF, FM_NEG_INF, FM_QNAN,
					0x7f800001, 0xff800001, 0x80000001 };
	u32 row[20], i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		memset(row, 0, sizeof(row));
		fm_math_by_index(0)->rope_row(row, 5, 17, bad[i]);
		for (j = 0; j < 16; j++)
			assert_int_equal(row[j], FM_QNAN);
		assert_int_equal(row[16], 0);
	}
	/* Any bits of theta, any head size: nothing but bounded work and defined bits. */
	for (i = 0; i < 20000; i++) {
		fm_math_by_index(0)->rope_row(row, (s32)rnd(), rnd_below(21), rnd());
		for (j = 0; j < 20; j++)
			if ((row[j] & 0x7fffffff) > FM_INF)
				assert_int_equal(row[j], FM_QNAN);
	}
	/* Position 0 does not turn. */
	fm_math_by_index(0)->rope_row(row, 0, 8, bits_of(10000.0f));
	for (j = 0; j < 4; j++) {
		assert_int_equal(row[2 * j], 0x3f800000);
		assert_int_equal(row[2 * j + 1], 0);
	}
}

static void test_rsqrt_and_silu(void **state)
{
	const struct fm_math_ops *ops = fm_math_by_index(0);
	double worst_r = 0, worst_s = 0;
	const float one = 1.0f;
	u32 i;

	(void)state;
	for (i = 0; i < 300000; i++) {
		float x = rnd_exp(-60, 60), y;
		double err;

		/* A row of one: y = x / sqrt(x * x + 0), the square rounded by the rule. */
		ops->rmsnorm(&y, &x, &one, 1, 0);
		err = ulps(y, (double)x / sqrt((double)mul1(x, x)));
		if (err > worst_r)
			worst_r = err;
		x = rnd_exp(-20, 6);
		ops->silu_mul(&y, &x, &one, 1);
		err = ulps(y, (double)x / (1 + exp(-(double)x)));
		if (x > -80 && err > worst_s)
			worst_s = err;
	}
	print_message("x / sqrt: worst %.3f ulp, silu: worst %.3f ulp\n", worst_r, worst_s);
	assert_true(worst_r < 2.6);
	assert_true(worst_s < 3.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exp),
		cmocka_unit_test(test_rope_row),
		cmocka_unit_test(test_sincos_sweep),
		cmocka_unit_test(test_rope_row_total),
		cmocka_unit_test(test_rsqrt_and_silu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
