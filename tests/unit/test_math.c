// SPDX-License-Identifier: MIT
/*
 * Dot products: every implementation against references that are written here
 * from the words of the rules in fm_math.h, over random shapes, strides,
 * alignments and value classes. Two controls (fused, and one accumulator) must
 * differ, or the test could not fail.
 */
#include <math.h>

#include "test_math.h"

#define MAX_K	288
#define MAX_N	24
#define MAX_M	3
#define PAD	5

static float x[MAX_M * (MAX_K + PAD) + 1], w[MAX_N * (MAX_K + PAD) + 1];
static float scales[MAX_N * (MAX_K + PAD)], y[MAX_M * (MAX_N + PAD)], want[MAX_M * (MAX_N + PAD)];
static u16 wh[MAX_N * (MAX_K + PAD) + 1];
static s8 wq[MAX_N * (MAX_K + PAD) + 1];

static float ref_fold(const float *lane)
{
	float l[16];
	int i;

	memcpy(l, lane, sizeof(l));
	for (i = 0; i < 8; i++)
		l[i] = add1(l[i], l[i + 8]);
	for (i = 0; i < 4; i++)
		l[i] = add1(l[i], l[i + 4]);
	for (i = 0; i < 2; i++)
		l[i] = add1(l[i], l[i + 2]);
	return add1(l[0], l[1]);
}

static float ref_d16(const float *a, const float *b, u32 k)
{
	float lane[16] = { 0 };
	u32 i;

	for (i = 0; i < k; i++)
		lane[i % 16] = add1(lane[i % 16], mul1(a[i], b[i]));
	return ref_fold(lane);
}

static float ref_q8(const float *a, const s8 *q, const float *s, u32 k, u32 group)
{
	float outer[16] = { 0 };
	u32 start, i, l;

	for (start = 0; start < k; start += group) {
		float inner[16] = { 0 };

		for (i = 0; i < group && start + i < k; i++)
			inner[i % 16] = add1(inner[i % 16], mul1(q[start + i], a[start + i]));
		for (l = 0; l < 16; l++)
			outer[l] = add1(outer[l], mul1(inner[l], s[start / group]));
	}
	return ref_fold(outer);
}

/* Random shapes and strides; the arrays are 4-byte aligned, odd bytes for int8. */
static void rnd_shape(struct fm_matmul *a)
{
	memset(a, 0, sizeof(*a));
	a->m = 1 + rnd_below(MAX_M);
	a->k = rnd_below(20) ? rnd_size() : 0;
	a->n0 = rnd_below(4);
	a->n1 = rnd_below(20) ? a->n0 + rnd_below(MAX_N - 3) : 0;
	a->ldx = a->k + rnd_below(PAD);
	a->ldw = a->k + rnd_below(PAD);
	a->ldy = MAX_N + rnd_below(PAD);
	if (rnd_below(2)) {
		a->flags = FM_MATMUL_SCALE;
		a->scale = bits_of(rnd_value(rnd_below(8) ? ORDINARY : SPECIAL));
	}
}

static float finish(const struct fm_matmul *a, float dot)
{
	if (a->flags & FM_MATMUL_SCALE)
		dot = mul1(dot, float_of(a->scale));
	return float_of(canon(dot));
}

/* Run @fn of every implementation and compare; outputs outside the tile must keep their bits. */
static void run_all(struct fm_matmul *a, int which, const char *what)
{
	const struct fm_math_ops *ops;

	a->y = y;
	FOR_EACH_IMPL(ops) {
		memset(y, 0xa5, sizeof(y));
		if (which == 0)
			ops->matmul_f32(a);
		else if (which == 1)
			ops->matmul_bf16(a);
		else
			ops->matmul_q8(a);
		check_bits(y, want, sizeof(y) / 4, what, ops);
	}
}

static void test_matmul_f32(void **state)
{
	struct fm_matmul a;
	u32 round, i, n, off;

	(void)state;
	for (round = 0; round < 4000; round++) {
		rnd_shape(&a);
		fill(x, sizeof(x) / 4, rnd_below(CLASSES));
		fill(w, sizeof(w) / 4, rnd_below(CLASSES));
		off = rnd_below(2);
		a.x = x + off;
		a.w = w + off;
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < a.m; i++) {
			const float *xi = x + off + i * a.ldx;

			for (n = a.n0; n < a.n1; n++)
				want[i * a.ldy + n] = finish(&a, ref_d16(xi, w + off + n * a.ldw, a.k));
		}
		run_all(&a, 0, "matmul_f32");
	}
}

static void test_matmul_bf16(void **state)
{
	static float wide[MAX_N * (MAX_K + PAD) + 1];
	struct fm_matmul a;
	u32 round, i, n, off;

	(void)state;
	for (round = 0; round < 4000; round++) {
		rnd_shape(&a);
		fill(x, sizeof(x) / 4, rnd_below(CLASSES));
		fill(wide, sizeof(wide) / 4, rnd_below(CLASSES));
		for (i = 0; i < sizeof(wh) / 2; i++) {
			wh[i] = bits_of(wide[i]) >> 16;
			wide[i] = float_of((u32)wh[i] << 16);
		}
		off = rnd_below(2);
		a.x = x + off;
		a.w = wh + off;
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < a.m; i++) {
			const float *xi = x + off + i * a.ldx;

			for (n = a.n0; n < a.n1; n++)
				want[i * a.ldy + n] =
					finish(&a, ref_d16(xi, wide + off + n * a.ldw, a.k));
		}
		run_all(&a, 1, "matmul_bf16");
	}
}

static void test_matmul_q8(void **state)
{
	static const u32 groups[] = { 32, 64, 16, 1, 24, 128 };
	struct fm_matmul a;
	u32 round, i, n, off, group;

	(void)state;
	for (round = 0; round < 4000; round++) {
		rnd_shape(&a);
		fill(x, sizeof(x) / 4, rnd_below(CLASSES));
		fill(scales, sizeof(scales) / 4, rnd_below(CLASSES));
		for (i = 0; i < sizeof(wq); i++)
			wq[i] = rnd();
		off = rnd_below(2);
		group = rnd_below(3) ? groups[rnd_below(6)] : 1 + rnd_below(80);
		a.group = rnd_below(10) ? group : 0;
		if (!a.group)
			group = a.k ? a.k : 1;
		a.lds = (a.k + group - 1) / group + rnd_below(PAD);
		a.x = x + off;
		a.w = wq + off;
		a.scales = scales;
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < a.m; i++)
			for (n = a.n0; n < a.n1; n++)
				want[i * a.ldy + n] =
					finish(&a, ref_q8(x + off + i * a.ldx, wq + off + n * a.ldw,
							  scales + n * a.lds, a.k, group));
		run_all(&a, 2, "matmul_q8");
	}
}

static void test_matmul_seq(void **state)
{
	enum { T = 40, J = 150 };
	static float p[MAX_M * 3 * (T + PAD)], v[(T + 1) * (J + PAD)];
	static float start[MAX_M * (J + PAD)], acc[MAX_M * (J + PAD)], ref[MAX_M * (J + PAD)];
	const struct fm_math_ops *ops;
	struct fm_matmul_seq a;
	u32 round, i, t, j, split;

	(void)state;
	for (round = 0; round < 3000; round++) {
		a.m = 1 + rnd_below(MAX_M);
		a.t = rnd_below(T + 1);
		a.j = rnd_below(3) ? rnd_below(J + 1) : 8u << rnd_below(5);
		a.sp = 1 + rnd_below(3);
		a.ldp = a.sp * a.t + rnd_below(PAD);
		a.ldv = a.j + rnd_below(PAD);
		a.ldacc = a.j + rnd_below(PAD);
		fill(p, sizeof(p) / 4, rnd_below(CLASSES));
		fill(v, sizeof(v) / 4, rnd_below(CLASSES));
		fill(start, sizeof(start) / 4, rnd_below(CLASSES));
		memcpy(ref, start, sizeof(ref));
		for (i = 0; i < a.m; i++) {
			for (j = 0; j < a.j; j++) {
				float f = ref[i * a.ldacc + j];

				for (t = 0; t < a.t; t++)
					f = add1(f, mul1(p[i * a.ldp + t * a.sp],
							 v[t * a.ldv + j]));
				ref[i * a.ldacc + j] = float_of(canon(f));
			}
		}
		FOR_EACH_IMPL(ops) {
			struct fm_matmul_seq part = a;

			/* In two calls: the terms' order is all that counts. */
			memcpy(acc, start, sizeof(acc));
			split = rnd_below(a.t + 1);
			part.acc = acc;
			part.p = p;
			part.v = v;
			part.t = split;
			ops->matmul_seq_acc(&part);
			part.p = p + (size_t)split * a.sp;
			part.v = v + (size_t)split * a.ldv;
			part.t = a.t - split;
			ops->matmul_seq_acc(&part);
			check_bits(acc, ref, sizeof(acc) / 4, "matmul_seq_acc", ops);
		}
	}
}

/* The same product in any tiles of columns and rows has the same bits. */
static void test_tiles(void **state)
{
	const struct fm_math_ops *ops;
	struct fm_matmul a;
	u32 round, n, m, which;

	(void)state;
	for (round = 0; round < 1000; round++) {
		rnd_shape(&a);
		a.n0 = 0;
		a.n1 = MAX_N;
		fill(x, sizeof(x) / 4, rnd_below(CLASSES));
		fill(w, sizeof(w) / 4, rnd_below(CLASSES));
		fill(scales, sizeof(scales) / 4, ORDINARY);
		a.x = x;
		a.w = w;
		a.scales = scales;
		a.group = 1 + rnd_below(70);
		a.lds = (a.k + a.group - 1) / a.group;
		which = rnd_below(3);
		FOR_EACH_IMPL(ops) {
			void (*fn)(const struct fm_matmul *arg) = which == 0 ? ops->matmul_f32 :
				which == 1 ? ops->matmul_bf16 : ops->matmul_q8;
			struct fm_matmul part = a;

			memset(want, 0xa5, sizeof(want));
			a.y = want;
			fn(&a);
			memset(y, 0xa5, sizeof(y));
			part.m = 1;
			for (m = 0; m < a.m; m++) {
				part.y = y + m * a.ldy;
				part.x = x + m * a.ldx;
				for (n = 0; n < MAX_N; n = part.n1) {
					part.n0 = n;
					part.n1 = n + 1 + rnd_below(MAX_N - n);
					fn(&part);
				}
			}
			check_bits(y, want, sizeof(y) / 4, "tiles", ops);
		}
	}
}

/*
 * If the rule were broken by contraction or by another order, would the tests
 * above see it? Both wrong versions must differ in a good share of the rows.
 */
static void test_controls_differ(void **state)
{
	int fused = 0, naive = 0, rows = 2000, i, k;

	(void)state;
	for (i = 0; i < rows; i++) {
		float lane[16] = { 0 }, sum = 0.0f, f;

		fill(x, 288, ORDINARY);
		fill(w, 288, ORDINARY);
		for (k = 0; k < 288; k++) {
			lane[k % 16] = fmaf(x[k], w[k], lane[k % 16]);
			sum = add1(sum, mul1(x[k], w[k]));
		}
		f = ref_d16(x, w, 288);
		fused += canon(ref_fold(lane)) != canon(f);
		naive += canon(sum) != canon(f);
	}
	print_message("controls: fused differs in %d, one accumulator in %d of %d rows\n", fused,
		      naive, rows);
	assert_true(fused > rows / 10);
	assert_true(naive > rows / 10);
}

static struct fm_math_ops broken;

static void broken_silu(void *yp, const void *a, const void *b, u32 n)
{
	u32 last;

	fm_math_by_index(0)->silu_mul(yp, a, b, n);
	memcpy(&last, (u8 *)yp + 4 * (n - 1), 4);
	last ^= 1;
	memcpy((u8 *)yp + 4 * (n - 1), &last, 4);
}

static void test_selftest(void **state)
{
	const struct fm_math_ops *ops;

	(void)state;
	FOR_EACH_IMPL(ops)
		assert_int_equal(fm_math_selftest(ops), 0);
	broken = *fm_math_by_index(0);
	broken.silu_mul = broken_silu;
	/* Its place in struct fm_math_ops. */
	assert_int_equal(fm_math_selftest(&broken), 16);
}

static void test_select(void **state)
{
	(void)state;
	assert_string_equal(fm_math_select(0)->name, "scalar");
#ifdef __x86_64__
	assert_string_equal(fm_math_select(FM_CPU_SSE2)->name, "sse2");
	assert_string_equal(fm_math_select(FM_CPU_SSE2 | FM_CPU_AVX2)->name, "avx2");
	assert_string_equal(fm_math_select(~0u)->name, "avx2");
#endif
	assert_null(fm_math_by_index(1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matmul_f32),
		cmocka_unit_test(test_matmul_bf16),
		cmocka_unit_test(test_matmul_q8),
		cmocka_unit_test(test_matmul_seq),
		cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_controls_differ),
		cmocka_unit_test(test_selftest),
		cmocka_unit_test(test_select),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
