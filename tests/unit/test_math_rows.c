// SPDX-License-Identifier: MIT
/*
 * Row operations: every implementation against references written here from
 * the words of fm_math.h, over sizes, alignments, value classes and tiles.
 * exp itself is checked against libm in test_math_accuracy.c; here its bits
 * from the scalar implementation are the reference for the others.
 */
#include <math.h>

#include "test_math.h"

#define MAX	300

static float a[MAX + 20], b[MAX + 20], y[MAX + 20], want[MAX + 20];
static const struct fm_math_ops *ops;

static float ref_fold(const float *lane)
{
	float l[16];
	int i, step;

	memcpy(l, lane, sizeof(l));
	for (step = 8; step; step /= 2)
		for (i = 0; i < step; i++)
			l[i] = add1(l[i], l[i + step]);
	return l[0];
}

static float ref_max(float p, float q)
{
	if (p != p || q != q)
		return float_of(FM_QNAN);
	if (p == 0 && q == 0)
		return bits_of(p) == 0 || bits_of(q) == 0 ? 0.0f : p;
	return p > q ? p : q;
}

static u32 rnd_n(void)
{
	return rnd_below(8) ? rnd_size() : 0;
}

static void fill_both(void)
{
	fill(a, MAX + 20, rnd_below(CLASSES));
	fill(b, MAX + 20, rnd_below(CLASSES));
}

static float ref_binary(int which, float p, float q)
{
	switch (which) {
	case 0:
		return add1(p, q);
	case 1:
		return add1(p, -q);
	case 2:
		return mul1(p, q);
	default:
		return ref_max(p, q);
	}
}

static void test_binary(void **state)
{
	u32 round, i, n, off, which;

	(void)state;
	for (round = 0; round < 4000; round++) {
		fill_both();
		n = rnd_n();
		off = rnd_below(3);
		which = rnd_below(4);
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < n; i++)
			want[off + i] = float_of(canon(ref_binary(which, a[off + i], b[i])));
		FOR_EACH_IMPL(ops) {
			void (*fn)(void *, const void *, const void *, u32) =
				which == 0 ? ops->add : which == 1 ? ops->sub :
				which == 2 ? ops->mul : ops->larger;

			memset(y, 0xa5, sizeof(y));
			fn(y + off, a + off, b, n);
			check_bits(y, want, MAX + 20, "binary", ops);
			/* In place. */
			memcpy(y + off, a + off, n * 4);
			fn(y + off, y + off, b, n);
			check_bits(y, want, MAX + 20, "binary in place", ops);
		}
	}
}

static void test_scalar_operand(void **state)
{
	u32 round, i, n, s;

	(void)state;
	for (round = 0; round < 2000; round++) {
		fill_both();
		n = rnd_n();
		s = bits_of(rnd_value(rnd_below(CLASSES)));
		FOR_EACH_IMPL(ops) {
			for (i = 0; i < n; i++)
				want[i] = float_of(canon(mul1(a[i], float_of(s))));
			ops->mul_scalar(y, a, n, s);
			check_bits(y, want, n, "mul_scalar", ops);
			for (i = 0; i < n; i++)
				want[i] = float_of(canon(div1(a[i], float_of(s))));
			ops->div_scalar(y, a, n, s);
			check_bits(y, want, n, "div_scalar", ops);
		}
	}
}

static void test_i32(void **state)
{
	u32 p[80], q[80], r[80], ref[80], round, i, n;

	(void)state;
	for (round = 0; round < 500; round++) {
		n = rnd_below(71);
		for (i = 0; i < n; i++) {
			p[i] = rnd_below(2) ? rnd() : rnd_below(100) - 50;
			q[i] = rnd_below(2) ? rnd() : rnd_below(100) - 50;
		}
		FOR_EACH_IMPL(ops) {
			for (i = 0; i < n; i++)
				ref[i] = p[i] + q[i];
			ops->add_i32(r, p, q, n);
			check_bits(r, ref, n, "add_i32", ops);
			for (i = 0; i < n; i++)
				ref[i] = p[i] + 0x80000005u;
			ops->add_imm_i32(r, p, n, (s32)0x80000005u);
			check_bits(r, ref, n, "add_imm_i32", ops);
			for (i = 0; i < n; i++)
				ref[i] = (s32)p[i] < (s32)q[i] ? q[i] : p[i];
			ops->max_i32(r, p, q, n);
			check_bits(r, ref, n, "max_i32", ops);
			for (i = 0; i < n; i++)
				ref[i] = bits_of((float)(s32)p[i]);
			ops->i32_to_f32(r, p, n);
			check_bits(r, ref, n, "i32_to_f32", ops);
		}
	}
}

/* IEEE half from its definition: (-1)^s * m * 2^(e - 25), in exact arithmetic. */
static u32 ref_f16(u16 h)
{
	int e = (h >> 10) & 31, m = h & 1023;

	if (e == 31)
		return m ? FM_QNAN : FM_INF | (u32)(h & 0x8000) << 16;
	return bits_of((h & 0x8000 ? -1.0f : 1.0f) * ldexpf(e ? m + 1024 : m, (e ? e : 1) - 25));
}

/* Nearest even by comparing the distances to both neighbours in doubles. */
static u16 ref_bf16(float f)
{
	u32 u = bits_of(f), lo = u & 0xffff0000, rest = u & 0xffff;

	if (f != f)
		return 0x7fc0;
	if (rest > 0x8000 || (rest == 0x8000 && (lo & 0x10000)))
		lo += 0x10000;
	return lo >> 16;
}

static void test_casts(void **state)
{
	static u16 h[65536], out[65536];
	static u32 f[65536], ref[65536];
	u32 i, round, n;

	(void)state;
	for (i = 0; i < 65536; i++)
		h[i] = i;
	FOR_EACH_IMPL(ops) {
		for (i = 0; i < 65536; i++)
			ref[i] = ref_f16(i);
		ops->f16_to_f32(f, h, 65536);
		check_bits(f, ref, 65536, "f16_to_f32", ops);
		for (i = 0; i < 65536; i++)
			ref[i] = canon(float_of(i << 16));
		ops->bf16_to_f32(f, h, 65536);
		check_bits(f, ref, 65536, "bf16_to_f32", ops);
		/* And back: all but the NaN patterns return. */
		ops->f32_to_bf16(out, f, 65536);
		for (i = 0; i < 65536; i++)
			if (out[i] != ((i & 0x7fff) > 0x7f80 ? 0x7fc0 : i))
				fail_msg("bf16 %04x came back as %04x", i, out[i]);
	}
	for (round = 0; round < 3000; round++) {
		n = rnd_n();
		fill(a, MAX, rnd_below(CLASSES));
		for (i = 0; i < n; i++)	/* ties */
			if (!rnd_below(4))
				a[i] = float_of((bits_of(a[i]) & 0xffff0000) | 0x8000);
		FOR_EACH_IMPL(ops) {
			memset(out, 0xa5, (MAX + 1) * 2);
			ops->f32_to_bf16(out + 1, a, n);
			for (i = 0; i < n; i++)
				if (out[i + 1] != ref_bf16(a[i]))
					fail_msg("f32_to_bf16, %s: %08x became %04x", ops->name,
						 bits_of(a[i]), out[i + 1]);
			assert_int_equal(out[0], 0xa5a5);
			assert_int_equal(out[n + 1], 0xa5a5);
			/* Odd sizes and addresses of the widening casts. */
			for (i = 0; i < n; i++)
				want[i] = float_of(canon(float_of((u32)out[i + 1] << 16)));
			ops->bf16_to_f32(y, out + 1, n);
			check_bits(y, want, n, "bf16_to_f32", ops);
			for (i = 0; i < n; i++)
				want[i] = float_of(ref_f16(out[i + 1]));
			ops->f16_to_f32(y, out + 1, n);
			check_bits(y, want, n, "f16_to_f32", ops);
		}
	}
}

static void test_dequant(void **state)
{
	s8 q[MAX + 1];
	u32 round, i, n, group, arg, off;

	(void)state;
	for (round = 0; round < 3000; round++) {
		n = rnd_n();
		arg = rnd_below(6) ? 1 + rnd_below(80) : 0;
		group = arg ? arg : n;
		off = rnd_below(2);
		for (i = 0; i < sizeof(q); i++)
			q[i] = rnd();
		fill(b, MAX + 20, rnd_below(CLASSES));
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < n; i++)
			want[i] = float_of(canon(mul1(q[off + i], b[i / group])));
		FOR_EACH_IMPL(ops) {
			memset(y, 0xa5, sizeof(y));
			ops->dequant_q8(y, q + off, b, n, arg);
			check_bits(y, want, MAX + 20, "dequant_q8", ops);
		}
	}
}

static void test_rmsnorm(void **state)
{
	u32 round, i, n, eps;

	(void)state;
	for (round = 0; round < 3000; round++) {
		float lane[16] = { 0 }, ss;

		fill_both();
		n = rnd_n();
		eps = rnd_below(4) ? bits_of(1e-5f) : bits_of(rnd_value(rnd_below(CLASSES)));
		for (i = 0; i < n; i++)
			lane[i % 16] = add1(lane[i % 16], mul1(a[i], a[i]));
		ss = add1(div1(ref_fold(lane), n), float_of(eps));
		ss = div1(1.0f, sqrtf(ss));
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < n; i++)
			want[i] = float_of(canon(mul1(b[i], mul1(ss, a[i]))));
		FOR_EACH_IMPL(ops) {
			memset(y, 0xa5, sizeof(y));
			ops->rmsnorm(y, a, b, n, eps);
			check_bits(y, want, MAX + 20, "rmsnorm", ops);
		}
	}
}

/* Running maxima, sums and argmax over a row that comes in random tiles. */
static void test_reductions(void **state)
{
	u32 round, i, n, at, g0;

	(void)state;
	for (round = 0; round < 3000; round++) {
		float lane[2][16] = { 0 }, st[2][16], m = -INFINITY;
		u32 best = 0, got, fold[2];
		bool found = false;

		fill(a, MAX, rnd_below(CLASSES));
		n = rnd_n();
		if (!rnd_below(8))	/* nothing to find, or only NaN */
			for (i = 0; i < n; i++)
				a[i] = rnd_below(3) ? float_of(FM_QNAN) : -INFINITY;
		else if (!rnd_below(4))	/* ties */
			for (i = 0; i < n; i++)
				a[i] = rnd_below(2) ? 0.0f : float_of(0x80000000u | rnd_below(2));
		g0 = rnd_below(3) ? rnd_below(100) : 0;
		for (i = 0; i < n; i++) {
			u32 l = (g0 + i) % 16;

			lane[0][l] = add1(lane[0][l], a[i]);
			lane[1][l] = add1(lane[1][l], mul1(a[i], a[i]));
			m = ref_max(m, a[i]);
			if (a[i] == a[i] && (!found || a[i] > a[best])) {
				best = i;
				found = true;
			}
		}
		FOR_EACH_IMPL(ops) {
			struct fm_argmax arg;
			u32 part;

			memset(st, 0, sizeof(st));
			got = FM_NEG_INF;
			fm_argmax_init(&arg);
			for (at = 0; at < n; at += part) {
				part = 1 + rnd_below(n - at);
				ops->sum(st[0], a + at, part, g0 + at);
				ops->sum_squares(st[1], a + at, part, g0 + at);
				ops->max_update(&got, a + at, part);
				ops->argmax(&arg, a + at, part, g0 + at);
			}
			for (i = 0; i < 16; i++) {
				want[i] = float_of(canon(lane[0][i]));
				want[16 + i] = float_of(canon(lane[1][i]));
			}
			check_bits(st, want, 32, "sum lanes", ops);
			fold[0] = ops->fold16(st[0]);
			fold[1] = ops->fold16(st[1]);
			assert_int_equal(fold[0], canon(ref_fold(lane[0])));
			assert_int_equal(fold[1], canon(ref_fold(lane[1])));
			assert_int_equal(got, canon(m));
			assert_int_equal(arg.value, found ? bits_of(a[best]) : FM_QNAN);
			assert_int_equal(arg.index, found ? g0 + best : 0);
		}
	}
}

/* A vocabulary's worth: several blocks, the best one anywhere. */
static void test_argmax_long(void **state)
{
	enum { N = 33000 };
	static float row[N];
	struct fm_argmax arg;
	u32 round, i, best;

	(void)state;
	for (round = 0; round < 30; round++) {
		for (best = 0, i = 0; i < N; i++) {
			row[i] = (float)(int)(rnd_below(40000) - 30000);
			if (row[i] > row[best])
				best = i;
		}
		FOR_EACH_IMPL(ops) {
			fm_argmax_init(&arg);
			ops->argmax(&arg, row, N, 0);
			assert_int_equal(arg.index, best);
			assert_int_equal(arg.value, bits_of(row[best]));
		}
	}
}

/* exp has the same bits alone, in softmax tiles, and in every implementation. */
static void test_softmax(void **state)
{
	const struct fm_math_ops *ref = fm_math_by_index(0);
	u32 round, i, n, at, part;

	(void)state;
	for (round = 0; round < 3000; round++) {
		float lane[16] = { 0 }, st[16];
		u32 max, sum;

		fill(a, MAX, rnd_below(CLASSES));
		n = rnd_n();
		for (i = 0; i < n && !rnd_below(2); i++)
			a[i] = float_of(FM_NEG_INF);
		max = FM_NEG_INF;
		ref->max_update(&max, a, n);
		for (i = 0; i < n; i++) {
			float d = add1(a[i], -float_of(max));

			ref->exp(&want[i], &d, 1);
			lane[i % 16] = add1(lane[i % 16], want[i]);
		}
		sum = canon(ref_fold(lane));
		FOR_EACH_IMPL(ops) {
			float e[MAX];
			u32 g0 = 16 * rnd_below(3);

			for (i = 0; i < n; i++)
				b[i] = add1(a[i], -float_of(max));
			ops->exp(y, b, n);
			check_bits(y, want, n, "exp", ops);
			memset(st, 0, sizeof(st));
			memcpy(e, a, sizeof(e));	/* in place, in tiles */
			for (at = 0; at < n; at += part) {
				part = 1 + rnd_below(n - at);
				ops->exp_sum(e + at, e + at, part, max, st, g0 + at);
			}
			check_bits(e, want, n, "exp_sum", ops);
			assert_int_equal(ops->fold16(st), sum);
			ops->div_scalar(e, e, n, sum);
			for (i = 0; i < n; i++)
				y[i] = float_of(canon(div1(want[i], float_of(sum))));
			check_bits(e, y, n, "softmax", ops);
		}
	}
}

static void test_silu(void **state)
{
	const struct fm_math_ops *ref = fm_math_by_index(0);
	u32 round, i, n;

	(void)state;
	for (round = 0; round < 3000; round++) {
		fill_both();
		n = rnd_n();
		memset(want, 0xa5, sizeof(want));
		for (i = 0; i < n; i++) {
			float d = -a[i], e;

			ref->exp(&e, &d, 1);
			e = div1(1.0f, add1(1.0f, e));
			want[i] = float_of(canon(mul1(mul1(a[i], e), b[i])));
		}
		FOR_EACH_IMPL(ops) {
			memset(y, 0xa5, sizeof(y));
			ops->silu_mul(y, a, b, n);
			check_bits(y, want, MAX + 20, "silu_mul", ops);
		}
	}
}

static void test_rope_apply(void **state)
{
	u32 round, i, h, heads, hd, style;

	(void)state;
	for (round = 0; round < 2000; round++) {
		fill_both();
		hd = rnd_below(33);
		heads = rnd_below(9);
		style = rnd_below(2);
		memset(want, 0xa5, sizeof(want));
		for (h = 0; h < heads; h++) {
			const float *x = a + h * hd;
			float *o = want + h * hd;

			for (i = 0; i < hd / 2; i++) {
				u32 p = style ? i : 2 * i, q = style ? i + hd / 2 : 2 * i + 1;
				float c = b[2 * i], s = b[2 * i + 1];

				o[p] = float_of(canon(add1(mul1(x[p], c), -mul1(x[q], s))));
				o[q] = float_of(canon(add1(mul1(x[p], s), mul1(x[q], c))));
			}
			if (hd % 2)
				o[hd - 1] = float_of(canon(x[hd - 1]));
		}
		FOR_EACH_IMPL(ops) {
			memset(y, 0xa5, sizeof(y));
			ops->rope_apply(y, a, b, heads, hd, style);
			check_bits(y, want, MAX + 20, "rope_apply", ops);
			memcpy(y, a, heads * hd * 4);
			ops->rope_apply(y, y, b, heads, hd, style);
			check_bits(y, want, MAX + 20, "rope_apply in place", ops);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_scalar_operand),
		cmocka_unit_test(test_i32),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_dequant),
		cmocka_unit_test(test_rmsnorm),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_argmax_long),
		cmocka_unit_test(test_softmax),
		cmocka_unit_test(test_silu),
		cmocka_unit_test(test_rope_apply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
