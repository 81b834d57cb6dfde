/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Operations on one row: elementwise, casts, norms, the pieces of softmax,
 * reductions, argmax. A template like math_matmul.h. What cannot change a bit
 * (elementwise work, maxima) is done 16 elements at a time from any start; what
 * can (sums) goes to the lane of the element's index in its whole row.
 */
#ifndef _FM_MATH_ROWS_H
#define _FM_MATH_ROWS_H

enum row_op {
	ROW_SAME,
	ROW_EXP,
	ROW_ADD,
	ROW_SUB,
	ROW_MUL,
	ROW_DIV,
	ROW_MAX,
	ROW_SILU_MUL,
};

enum row_elem {
	ELEM_F32,
	ELEM_BF16,
	ELEM_F16,
	ELEM_I32,
};

/* a * (1 / (1 + exp(-a))) * b, from the left. */
static __always_inline struct v16 v16_silu_mul(struct v16 a, struct v16 b)
{
	struct v16 one = v16_set1(1.0f);
	struct v16 e = v16_exp(v16_sub(v16_set1(0.0f), a));

	return v16_mul(v16_mul(a, v16_div(one, v16_add(one, e))), b);
}

static __always_inline struct v16 row_apply(enum row_op op, struct v16 a, struct v16 b)
{
	switch (op) {
	case ROW_SAME:
		return v16_canon(a);
	case ROW_EXP:
		return v16_exp(a);
	case ROW_ADD:
		return v16_canon(v16_add(a, b));
	case ROW_SUB:
		return v16_canon(v16_sub(a, b));
	case ROW_MUL:
		return v16_canon(v16_mul(a, b));
	case ROW_DIV:
		return v16_canon(v16_div(a, b));
	case ROW_MAX:
		return v16_max(a, b);
	case ROW_SILU_MUL:
		return v16_canon(v16_silu_mul(a, b));
	}
	return a;
}

static __always_inline struct v16 row_load(enum row_elem elem, const void *p)
{
	switch (elem) {
	case ELEM_F32:
		return v16_ld(p);
	case ELEM_BF16:
		return v16_ld_bf16(p);
	case ELEM_F16:
		return v16_ld_f16(p);
	case ELEM_I32:
		return v16_ld_s32(p);
	}
	return v16_set1(0.0f);
}

/* y[i] = op(x[i], b); the operation and the type are constants at every call. */
static __always_inline void row_unary(enum row_op op, enum row_elem elem, fm_f *y, const u8 *x,
				      u32 n, struct v16 b)
{
	const u32 size = elem == ELEM_BF16 || elem == ELEM_F16 ? 2 : 4;
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		v16_st(y + i, row_apply(op, row_load(elem, x + i * size), b));
	if (i < n) {
		u8 buf[64] = {};

		fm_copy(buf, x + i * size, n - i, size);
		v16_st_n(y + i, row_apply(op, row_load(elem, buf), b), n - i);
	}
}

/* y[i] = op(a[i], b[i]). */
static __always_inline void row_binary(enum row_op op, fm_f *y, const fm_f *a, const fm_f *b, u32 n)
{
	struct v16 v;
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		v16_st(y + i, row_apply(op, v16_ld(a + i), v16_ld(b + i)));
	if (i < n) {
		v = row_apply(op, v16_ld_n(a + i, n - i), v16_ld_n(b + i, n - i));
		v16_st_n(y + i, v, n - i);
	}
}

static void row_add(void *y, const void *a, const void *b, u32 n)
{
	row_binary(ROW_ADD, y, a, b, n);
}

static void row_sub(void *y, const void *a, const void *b, u32 n)
{
	row_binary(ROW_SUB, y, a, b, n);
}

static void row_mul(void *y, const void *a, const void *b, u32 n)
{
	row_binary(ROW_MUL, y, a, b, n);
}

static void row_max(void *y, const void *a, const void *b, u32 n)
{
	row_binary(ROW_MAX, y, a, b, n);
}

static void row_silu_mul(void *y, const void *a, const void *b, u32 n)
{
	row_binary(ROW_SILU_MUL, y, a, b, n);
}

static void row_exp(void *y, const void *x, u32 n)
{
	row_unary(ROW_EXP, ELEM_F32, y, x, n, v16_set1(0.0f));
}

static void row_mul_scalar(void *y, const void *x, u32 n, u32 s)
{
	row_unary(ROW_MUL, ELEM_F32, y, x, n, v16_set1(fm_float(s)));
}

static void row_div_scalar(void *y, const void *x, u32 n, u32 s)
{
	row_unary(ROW_DIV, ELEM_F32, y, x, n, v16_set1(fm_float(s)));
}

static void row_bf16_to_f32(void *y, const void *x, u32 n)
{
	row_unary(ROW_SAME, ELEM_BF16, y, x, n, v16_set1(0.0f));
}

static void row_f16_to_f32(void *y, const void *x, u32 n)
{
	row_unary(ROW_SAME, ELEM_F16, y, x, n, v16_set1(0.0f));
}

static void row_i32_to_f32(void *y, const void *x, u32 n)
{
	row_unary(ROW_SAME, ELEM_I32, y, x, n, v16_set1(0.0f));
}

static void row_f32_to_bf16(void *yp, const void *xp, u32 n)
{
	const fm_f *x = xp;
	fm_h *y = yp;
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		v16_st_bf16(y + i, v16_ld(x + i));
	if (i < n) {
		u16 buf[16];

		v16_st_bf16(buf, v16_ld_n(x + i, n - i));
		fm_copy(y + i, buf, n - i, 2);
	}
}

static void row_dequant_q8(void *yp, const void *qp, const void *scales, u32 n, u32 group)
{
	const fm_f *s = scales;
	const s8 *q = qp;
	fm_f *y = yp;
	size_t i = 0;

	if (!group)
		group = n;
	while (i < n) {
		size_t end = n - i > group ? i + group : n;
		const struct v16 sv = v16_set1(*s++);

		for (; i + 16 <= end; i += 16)
			v16_st(y + i, v16_canon(v16_mul(v16_ld_s8(q + i), sv)));
		if (i < end) {
			struct v16 v = v16_mul(v16_ld_s8_n(q + i, end - i), sv);

			v16_st_n(y + i, v16_canon(v), end - i);
			i = end;
		}
	}
}

/* Rows of i32 are positions and token numbers: short, so plain loops. */
static void row_add_i32(void *yp, const void *ap, const void *bp, u32 n)
{
	const fm_u *a = ap, *b = bp;
	fm_u *y = yp;
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = a[i] + b[i];
}

static void row_add_imm_i32(void *yp, const void *ap, u32 n, s32 imm)
{
	const fm_u *a = ap;
	fm_u *y = yp;
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = a[i] + (u32)imm;
}

static void row_max_i32(void *yp, const void *ap, const void *bp, u32 n)
{
	const fm_u *a = ap, *b = bp;
	fm_u *y = yp;
	size_t i;

	for (i = 0; i < n; i++)
		y[i] = (s32)a[i] > (s32)b[i] ? a[i] : b[i];
}

static void row_max_update(u32 *max, const void *xp, u32 n)
{
	const fm_f *x = xp;
	struct v16 m = v16_set1(fm_float(*max));
	size_t i;

	for (i = 0; i + 16 <= n; i += 16)
		m = v16_max(m, v16_ld(x + i));
	for (; i < n; i++)
		m = v16_max(m, v16_set1(x[i]));
	*max = fm_canon(v16_hmax(m));
}

/* Up to 16 elements @v to the lanes from @lane on, which do not wrap. */
static __always_inline void sum_some(fm_f *state, struct v16 v, u32 lane, u32 n)
{
	float buf[16];
	u32 i;

	v16_st(buf, v);
	for (i = 0; i < n; i++)
		*(fm_u *)(state + lane + i) = fm_canon(state[lane + i] + buf[i]);
}

/* Elements of the tile before the first that belongs to lane 0. */
static __always_inline u32 sum_head(u32 g, u32 n)
{
	u32 head = -g % FM_LANES;

	return head < n ? head : n;
}

static void row_exp_sum(void *ep, const void *xp, u32 n, u32 max, void *sp, u32 g)
{
	const struct v16 mv = v16_set1(fm_float(max));
	const fm_f *x = xp;
	fm_f *e = ep, *state = sp;
	size_t i = sum_head(g, n);
	struct v16 v, acc;

	if (i) {
		v = v16_exp(v16_sub(v16_ld_n(x, i), mv));
		v16_st_n(e, v, i);
		sum_some(state, v, g % FM_LANES, i);
	}
	acc = v16_ld(state);
	for (; i + 16 <= n; i += 16) {
		v = v16_exp(v16_sub(v16_ld(x + i), mv));
		v16_st(e + i, v);
		acc = v16_add(acc, v);
	}
	v16_st(state, v16_canon(acc));
	if (i < n) {
		v = v16_exp(v16_sub(v16_ld_n(x + i, n - i), mv));
		v16_st_n(e + i, v, n - i);
		sum_some(state, v, 0, n - i);
	}
}

static __always_inline void sum_lanes(fm_f *state, const fm_f *x, u32 n, u32 g, bool square)
{
	size_t i = sum_head(g, n);
	struct v16 v, acc;

	if (i) {
		v = v16_ld_n(x, i);
		sum_some(state, square ? v16_mul(v, v) : v, g % FM_LANES, i);
	}
	acc = v16_ld(state);
	for (; i + 16 <= n; i += 16) {
		v = v16_ld(x + i);
		acc = square ? v16_mac(acc, v, v) : v16_add(acc, v);
	}
	v16_st(state, v16_canon(acc));
	if (i < n) {
		v = v16_ld_n(x + i, n - i);
		sum_some(state, square ? v16_mul(v, v) : v, 0, n - i);
	}
}

static void row_sum(void *state, const void *x, u32 n, u32 g)
{
	sum_lanes(state, x, n, g, false);
}

static void row_sum_squares(void *state, const void *x, u32 n, u32 g)
{
	sum_lanes(state, x, n, g, true);
}

static u32 row_fold16(const void *state)
{
	return fm_canon(v16_fold(v16_ld(state)));
}

static void row_rmsnorm(void *yp, const void *xp, const void *wp, u32 n, u32 eps)
{
	const fm_f *x = xp, *w = wp;
	float state[16] = {};
	fm_f *y = yp;
	float ss;
	size_t i;
	struct v16 inv;

	sum_lanes((fm_f *)state, x, n, 0, true);
	ss = v16_fold(v16_ld(state));
	ss = ss / (float)n + fm_float(eps);
	inv = v16_set1(1.0f / __builtin_sqrtf(ss));
	for (i = 0; i + 16 <= n; i += 16)
		v16_st(y + i, v16_canon(v16_mul(v16_ld(w + i), v16_mul(inv, v16_ld(x + i)))));
	if (i < n) {
		struct v16 v = v16_mul(inv, v16_ld_n(x + i, n - i));

		v = v16_mul(v16_ld_n(w + i, n - i), v);
		v16_st_n(y + i, v16_canon(v), n - i);
	}
}

/* Blocks first look for something better at all, and only then for where. */
#define ARGMAX_BLOCK	512u

static void row_argmax(struct fm_argmax *st, const void *xp, u32 n, u32 g)
{
	const fm_f *x = xp;
	size_t start, end, i;

	for (start = 0; start < n; start = end) {
		float best = fm_float(st->value), m = fm_float(FM_NEG_INF);
		struct v16 mv = v16_set1(m);

		end = n - start > ARGMAX_BLOCK ? start + ARGMAX_BLOCK : n;
		for (i = start; i + 16 <= end; i += 16)
			mv = v16_pick_gt(mv, v16_ld(x + i));
		for (; i < end; i++)
			m = x[i] > m ? x[i] : m;
		mv = v16_pick_gt(mv, v16_set1(m));
		m = v16_hmax(mv);
		if (m <= best)
			continue;
		/* Also reached when nothing was found yet (best is NaN). */
		for (i = start; i < end && x[i] != m; i++)
			;
		if (i < end) {
			st->value = fm_canon(x[i]);
			st->index = g + (u32)i;
		}
	}
}

#endif /* _FM_MATH_ROWS_H */
