// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Which implementations this build has, the choice between them, and the self
 * test that a host runs before it trusts one. No floating point in here: the
 * object needs no special flags and works on bits only.
 */
#include "fm_port.h"
#include "math_impl.h"

static const struct fm_math_ops *const tables[] = {
	&fm_math_scalar,
#ifdef __x86_64__
	&fm_math_sse2,
	&fm_math_avx2,
#endif
};

const struct fm_math_ops *fm_math_by_index(u32 i)
{
	return i < ARRAY_SIZE(tables) ? tables[i] : NULL;
}

const struct fm_math_ops *fm_math_select(u32 cpu_features)
{
	u32 i = ARRAY_SIZE(tables);

	while (--i)
		if (!(tables[i]->cpu & ~cpu_features))
			break;
	return tables[i];
}

/* Sizes of the self test: two rows of 16 lanes and a tail, and rows over a block of 4. */
#define ST_K		37u
#define ST_ROWS		5u
#define ST_GROUP	24u

/* Inputs and outputs of the self test, all f32 bits. */
struct selftest {
	u32 a[ST_K];			/* ordinary values */
	u32 b[ST_K];			/* any bits */
	u32 w[ST_ROWS * ST_K];		/* ordinary; also read as bf16 and int8 */
	u32 want[ST_K + 16];		/* of the scalar implementation */
	u32 got[ST_K + 16];		/* of the one under test */
};

typedef void (*selftest_fn)(const struct fm_math_ops *ops, const struct selftest *s, u32 *out);

static void matmul_args(struct fm_matmul *a, const struct selftest *s, u32 *out)
{
	*a = (struct fm_matmul) {
		.y = out, .x = s->a, .w = s->w, .scales = s->a,
		.m = 1, .k = ST_K, .n0 = 0, .n1 = ST_ROWS,
		.ldy = ST_ROWS, .ldx = ST_K, .ldw = ST_K, .lds = 2,
		.group = ST_GROUP, .scale = 0x3eaaaaab, .flags = FM_MATMUL_SCALE,
	};
}

static void st_matmul_f32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	struct fm_matmul a;

	matmul_args(&a, s, out);
	ops->matmul_f32(&a);
}

static void st_matmul_bf16(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	struct fm_matmul a;

	matmul_args(&a, s, out);
	ops->matmul_bf16(&a);
}

static void st_matmul_q8(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	struct fm_matmul a;

	matmul_args(&a, s, out);
	ops->matmul_q8(&a);
}

static void st_matmul_seq(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	struct fm_matmul_seq a = {
		.acc = out, .p = s->b, .v = s->w,
		.m = 1, .t = ST_ROWS, .j = ST_K,
		.ldacc = ST_K, .ldp = ST_K, .sp = 3, .ldv = ST_K,
	};

	ops->matmul_seq_acc(&a);
}

static void st_rmsnorm(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->rmsnorm(out, s->a, s->w, ST_K, 0x3727c5ac);
}

static void st_rope_row(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->rope_row(out, (s32)s->b[0], ST_K, 0x461c4000);
}

static void st_rope_apply(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->rope_apply(out, s->b, s->a, 2, ST_K / 2, FM_ROPE_HALVES);
}

static void st_max_update(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	out[0] = FM_NEG_INF;
	ops->max_update(out, s->a, ST_K);
	out[1] = FM_NEG_INF;
	ops->max_update(out + 1, s->b, ST_K);
}

static void st_exp_sum(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->exp_sum(out, s->a, ST_K, 0x40400000, out + ST_K, 5);
}

static void st_sum(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->sum(out, s->a, ST_K, 3);
	ops->sum(out + 16, s->b, ST_K, 0);
}

static void st_sum_squares(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->sum_squares(out, s->a, ST_K, 3);
}

static void st_fold16(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	out[0] = ops->fold16(s->a);
	out[1] = ops->fold16(s->b);
}

static void st_div_scalar(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->div_scalar(out, s->b, ST_K, 0x40490fdb);
}

static void st_mul_scalar(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->mul_scalar(out, s->b, ST_K, 0x40490fdb);
}

static void st_exp(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->exp(out, s->b, ST_K);
}

static void st_silu_mul(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->silu_mul(out, s->a, s->b, ST_K);
}

static void st_add(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->add(out, s->a, s->b, ST_K);
}

static void st_sub(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->sub(out, s->a, s->w, ST_K);
}

static void st_mul(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->mul(out, s->a, s->b, ST_K);
}

static void st_max(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	void (*fn)(void *y, const void *a, const void *b, u32 n) = ops->larger;

	fn(out, s->a, s->b, ST_K);
}

static void st_add_i32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->add_i32(out, s->a, s->b, ST_K);
}

static void st_add_imm_i32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->add_imm_i32(out, s->b, ST_K, -3);
}

static void st_max_i32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->max_i32(out, s->a, s->b, ST_K);
}

static void st_bf16_to_f32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->bf16_to_f32(out, s->b, ST_K);
}

static void st_f32_to_bf16(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->f32_to_bf16(out, s->b, ST_K);
}

static void st_f16_to_f32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->f16_to_f32(out, s->b, ST_K);
}

static void st_i32_to_f32(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->i32_to_f32(out, s->b, ST_K);
}

static void st_dequant_q8(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	ops->dequant_q8(out, s->b, s->a, ST_K, ST_GROUP);
}

static void st_argmax(const struct fm_math_ops *ops, const struct selftest *s, u32 *out)
{
	struct fm_argmax st;

	fm_argmax_init(&st);
	ops->argmax(&st, s->b, ST_K, 7);
	ops->argmax(&st, s->a, ST_K, 7 + ST_K);
	out[0] = st.value;
	out[1] = st.index;
}

/* In the order of struct fm_math_ops: a failure is reported by position. */
static const selftest_fn selftests[] = {
	st_matmul_f32, st_matmul_bf16, st_matmul_q8, st_matmul_seq, st_rmsnorm, st_rope_row,
	st_rope_apply, st_max_update, st_exp_sum, st_sum, st_sum_squares, st_fold16,
	st_div_scalar, st_mul_scalar, st_exp, st_silu_mul, st_add, st_sub, st_mul, st_max,
	st_add_i32, st_add_imm_i32, st_max_i32, st_bf16_to_f32, st_f32_to_bf16, st_f16_to_f32,
	st_i32_to_f32, st_dequant_q8, st_argmax,
};

static u32 next_random(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed ^ *seed >> 15;
}

/* +-2^-4 … 2^4 with random mantissas. */
static u32 ordinary(u32 *seed)
{
	u32 r = next_random(seed);

	return (r & 0x807fffff) | ((123 + (r >> 23) % 8) << 23);
}

int fm_math_selftest(const struct fm_math_ops *ops)
{
	struct selftest s;
	u32 seed = 1, i;

	for (i = 0; i < ST_K; i++) {
		s.a[i] = ordinary(&seed);
		s.b[i] = next_random(&seed);
	}
	for (i = 0; i < ST_ROWS * ST_K; i++)
		s.w[i] = ordinary(&seed);
	/* Where implementations like to part: zeros, denormals, infinities, NaN. */
	s.b[1] = 0x80000000;
	s.b[2] = 0x00000001;
	s.b[3] = 0x807fffff;
	s.b[17] = FM_INF;
	s.b[18] = FM_NEG_INF;
	s.b[33] = 0xffc12345;
	s.b[34] = 0x7f800001;

	for (i = 0; i < ARRAY_SIZE(selftests); i++) {
		memset(s.want, 0, sizeof(s.want));
		memset(s.got, 0, sizeof(s.got));
		selftests[i](&fm_math_scalar, &s, s.want);
		selftests[i](ops, &s, s.got);
		if (memcmp(s.want, s.got, sizeof(s.want)))
			return i + 1;
	}
	return 0;
}
