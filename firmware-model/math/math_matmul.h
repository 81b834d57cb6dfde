/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Dot products over 16 lanes: rules d16, q8 and seq of fm_math.h. A template:
 * each per-ISA object includes it after its lanes. Several weight rows are
 * walked at once, which hides the adders' latency and shares the loads of x;
 * a row's own order of additions, and so its bits, never depends on that.
 *
 * Row counts and the weight type are constants at every call, so that each
 * inlined copy is straight code.
 */
#ifndef _FM_MATH_MATMUL_H
#define _FM_MATH_MATMUL_H

/* 16 or @n < 16 elements of x and of a weight row, in one order of lanes. */
static __always_inline struct v16 dot_x(const void *p, u32 n, bool bf16)
{
	struct v16 x = n == 16 ? v16_ld(p) : v16_ld_n(p, n);

	return bf16 ? v16_even(x) : x;
}

static __always_inline struct v16 dot_w(const void *p, u32 n, bool bf16)
{
	if (bf16)
		return n == 16 ? v16_ld_bf16_even(p) : v16_ld_bf16_even_n(p, n);
	return n == 16 ? v16_ld(p) : v16_ld_n(p, n);
}

/* y[0 .. @rows - 1] (1, 2 or 4): dots of x with the rows at w, w + pitch, … (bytes). */
static __always_inline void dot_rows(const struct fm_matmul *a, fm_f *y, const fm_f *x, const u8 *w,
				     size_t pitch, u32 rows, bool bf16)
{
	const u32 size = bf16 ? 2 : 4, k = a->k;
	struct v16 acc[4], xv;
	size_t i;

	FM_EACH_ROW(acc[row] = v16_set1(0.0f));
	for (i = 0; i + 16 <= k; i += 16) {
		xv = dot_x(x + i, 16, bf16);
		FM_EACH_ROW(acc[row] = v16_mac(acc[row], xv, dot_w(w + row * pitch, 16, bf16)));
		w += 16 * size;
	}
	if (i < k) {
		/* Zeros in the missing places: a sum that starts at +0 keeps its bits. */
		const u32 n = (k - i) % 16;

		xv = dot_x(x + i, n, bf16);
		FM_EACH_ROW(acc[row] = v16_mac(acc[row], xv, dot_w(w + row * pitch, n, bf16)));
	}
	lanes_store_dots(y, rows, bf16, a->flags & FM_MATMUL_SCALE, fm_float(a->scale), acc);
}

static __always_inline void matmul_d16(const struct fm_matmul *a, bool bf16)
{
	const size_t pitch = (size_t)a->ldw * (bf16 ? 2 : 4);
	const fm_f *x = a->x;
	const u8 *w = a->w;
	fm_f *y = a->y;
	size_t n, i;

	for (n = a->n0; n + FM_DOT_ROWS <= a->n1; n += FM_DOT_ROWS) {
		for (i = 0; i < a->m; i++) {
			dot_rows(a, y + i * a->ldy + n, x + i * a->ldx, w + n * pitch, pitch,
				 FM_DOT_ROWS, bf16);
		}
	}
	for (; n < a->n1; n++) {
		for (i = 0; i < a->m; i++) {
			dot_rows(a, y + i * a->ldy + n, x + i * a->ldx, w + n * pitch, pitch, 1,
				 bf16);
		}
	}
}

static void matmul_f32(const struct fm_matmul *a)
{
	matmul_d16(a, false);
}

static void matmul_bf16(const struct fm_matmul *a)
{
	matmul_d16(a, true);
}

/* One group of @n weights in @rows (1 or 2) rows, @ldw and @lds apart, onto the outer lanes. */
static __always_inline void q8_group(struct v16 *outer, const fm_f *x, const s8 *w, size_t ldw,
				     u32 n, const fm_f *s, size_t lds, u32 rows)
{
	struct v16 inner[2], xv;
	size_t i;

	FM_EACH_ROW(inner[row] = v16_set1(0.0f));
	for (i = 0; i + 16 <= n; i += 16) {
		xv = v16_ld(x + i);
		FM_EACH_ROW(inner[row] = v16_mac(inner[row], v16_ld_s8(w + row * ldw + i), xv));
	}
	if (i < n) {
		xv = v16_ld_n(x + i, n - i);
		FM_EACH_ROW(inner[row] = v16_mac(inner[row],
						 v16_ld_s8_n(w + row * ldw + i, n - i), xv));
	}
	FM_EACH_ROW(outer[row] = v16_mac(outer[row], inner[row], v16_set1(s[row * lds])));
}

/* y[0 .. @rows - 1]: dots of x with the int8 rows from @n on. */
static __always_inline void q8_rows(const struct fm_matmul *a, fm_f *y, const fm_f *x, size_t n,
				    u32 group, u32 rows)
{
	const s8 *w = (const s8 *)a->w + n * a->ldw;
	const fm_f *s = (const fm_f *)a->scales + n * a->lds;
	const size_t k = a->k;
	struct v16 outer[2];
	size_t i = 0;

	FM_EACH_ROW(outer[row] = v16_set1(0.0f));
	for (; k - i >= group; i += group, s++)
		q8_group(outer, x + i, w + i, a->ldw, group, s, a->lds, rows);
	if (i < k)
		q8_group(outer, x + i, w + i, a->ldw, k - i, s, a->lds, rows);
	lanes_store_dots(y, rows, false, a->flags & FM_MATMUL_SCALE, fm_float(a->scale), outer);
}

static __always_inline void matmul_group(const struct fm_matmul *a, u32 group)
{
	const fm_f *x = a->x;
	fm_f *y = a->y;
	size_t n, i;

	for (n = a->n0; n + FM_Q8_ROWS <= a->n1; n += FM_Q8_ROWS)
		for (i = 0; i < a->m; i++)
			q8_rows(a, y + i * a->ldy + n, x + i * a->ldx, n, group, FM_Q8_ROWS);
	for (; n < a->n1; n++)
		for (i = 0; i < a->m; i++)
			q8_rows(a, y + i * a->ldy + n, x + i * a->ldx, n, group, 1);
}

static void matmul_q8(const struct fm_matmul *a)
{
	u32 group = a->group ? a->group : a->k;

	if (group == 32)
		matmul_group(a, 32);
	else if (group == 64)
		matmul_group(a, 64);
	else
		matmul_group(a, group ? group : 1);
}

/* Columns [0, 16 * @parts) of one row, @parts 1 or 2. */
static __always_inline void seq_cols(fm_f *acc, const fm_f *p, size_t sp, const fm_f *v,
				     size_t ldv, u32 t, u32 parts)
{
	struct v16 a0 = v16_ld(acc), a1 = a0;
	u32 i;

	if (parts > 1)
		a1 = v16_ld(acc + 16);
	for (i = 0; i < t; i++) {
		struct v16 pv = v16_set1(*p);

		a0 = v16_mac(a0, pv, v16_ld(v));
		if (parts > 1)
			a1 = v16_mac(a1, pv, v16_ld(v + 16));
		p += sp;
		v += ldv;
	}
	v16_st(acc, v16_canon(a0));
	if (parts > 1)
		v16_st(acc + 16, v16_canon(a1));
}

static void matmul_seq_acc(const struct fm_matmul_seq *a)
{
	const fm_f *v = a->v;
	size_t i, j;

	for (i = 0; i < a->m; i++) {
		fm_f *acc = (fm_f *)a->acc + i * a->ldacc;
		const fm_f *p = (const fm_f *)a->p + i * a->ldp;

		for (j = 0; j + 32 <= a->j; j += 32)
			seq_cols(acc + j, p, a->sp, v + j, a->ldv, a->t, 2);
		if (j + 16 <= a->j) {
			seq_cols(acc + j, p, a->sp, v + j, a->ldv, a->t, 1);
			j += 16;
		}
		if (j < a->j)
			lanes_seq_tail(acc + j, p, a->sp, v + j, a->ldv, a->t, a->j - j);
	}
}

#endif /* _FM_MATH_MATMUL_H */
