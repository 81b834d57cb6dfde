// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Node actions, arithmetic side: each computes one firing of a compute kind by
 * the operations of math/fm_math.h, in pieces that stay within a quantum of
 * work. Input and output tiles come from the streams' slots; nothing here
 * touches device memory by address, allocates, or steers by data.
 *
 * Called by the token game through node->fire, inside a floating-point section.
 */
#include "fm_rt.h"

/* Elements of a row that one operation works on: a quarter of a quantum. */
#define PIECE		(FM_QUANTUM / 4)

/* Products that one operation computes: about 100 us of slow arithmetic. */
#define PRODUCTS	(4u * FM_QUANTUM)

/* Weights below this do not repay sharing them among threads. */
#define PARALLEL_BYTES	(100u * 1024)

/**
 * struct shared_matmul - a product whose columns are split among threads.
 * @a: The whole product.
 * @fn: Operation.
 * @parts: Number of parts.
 */
struct shared_matmul {
	const struct fm_matmul *a;
	void (*fn)(const struct fm_matmul *a);
	u32 parts;
};

static void matmul_part(void *arg, u32 part)
{
	struct shared_matmul *s = arg;
	struct fm_matmul a = *s->a;
	u64 n = a.n1;

	/* Parts start at multiples of 8 columns: rows of weights are worked on in eights. */
	a.n0 = (u32)(n * part / s->parts) & ~7u;
	if (part + 1 < s->parts)
		a.n1 = (u32)(n * (part + 1) / s->parts) & ~7u;
	if (a.n0 < a.n1)
		s->fn(&a);
}

/* All columns of @a from 0 to a->n1, in pieces of some columns. */
static int matmul_rows(struct fm_run *run, struct fm_matmul *a,
		       void (*fn)(const struct fm_matmul *a))
{
	u64 column = (u64)a->m * a->k + 1;
	u32 n = a->n1, step = FM_QUANTUM / column;
	int ret;

	/* Eights are fastest; long rows do without. */
	step = step > 8 ? step & ~7u : min_t(u32, max_t(u32, PRODUCTS / column, 1), 8);
	for (a->n0 = 0; a->n0 < n; a->n0 = a->n1) {
		a->n1 = n - a->n0 > step ? a->n0 + step : n;
		fn(a);
		ret = fm_work(run, column * (a->n1 - a->n0));
		if (ret)
			return ret;
	}
	return 0;
}

/* All columns of @a from 0 to a->n1, a few rows at a time if they are long. */
static int matmul(struct fm_run *run, struct fm_matmul *a, void (*fn)(const struct fm_matmul *a),
		  u32 elem_bytes)
{
	const struct fm_host_ops *ops = run->dev->ops;
	u32 m = a->m, n = a->n1, step = max_t(u32, PRODUCTS / 8 / (a->k + 1), 1), i;
	int ret;

	if (ops->parallel && ops->parts > 1 && !ops->fpu_begin &&
	    (u64)n * a->k * elem_bytes >= PARALLEL_BYTES) {
		struct shared_matmul s = { a, fn, ops->parts };

		ops->parallel(run->dev->host, matmul_part, &s, s.parts);
		return fm_work(run, FM_QUANTUM);
	}
	for (i = 0; i < m; i += a->m) {
		a->m = min_t(u32, m - i, step);
		a->n1 = n;
		ret = matmul_rows(run, a, fn);
		if (ret)
			return ret;
		a->x = (const u32 *)a->x + (size_t)a->m * a->ldx;
		a->y = (u32 *)a->y + (size_t)a->m * a->ldy;
	}
	return 0;
}

int fm_fire_matmul(struct fm_run *run, struct fm_rt_node *n)
{
	const struct fm_rt_stream *x = n->in[0].stream, *w = n->in[1].stream, *y = n->out[0];
	struct fm_matmul a = {
		.y = (u32 *)fm_out(n, 0) + (size_t)n->tile * w->tile_rows,
		.x = fm_in(n, 0),
		.w = fm_in(n, 1),
		.m = x->rows,
		.k = x->cols,
		.n1 = fm_rows(w, n->tile),
		.ldy = y->cols,
		.ldx = x->cols,
		.ldw = w->cols,
		.group = n->rec->p[0],
	};

	switch (w->elem) {
	case VRDU_ELEM_F32:
		return matmul(run, &a, run->math->matmul_f32, w->elem_bytes);
	case VRDU_ELEM_BF16:
		return matmul(run, &a, run->math->matmul_bf16, w->elem_bytes);
	default:
		a.scales = fm_in(n, 2);
		a.lds = n->in[2].stream->cols;
		return matmul(run, &a, run->math->matmul_q8, w->elem_bytes);
	}
}

int fm_fire_attn_scores(struct fm_run *run, struct fm_rt_node *n)
{
	u32 heads = n->rec->p[0], kv_heads = n->rec->p[1], hd = n->rec->p[2];
	u32 share = heads / kv_heads, rows = fm_rows(n->drive, n->tile), h;
	u32 *out = fm_out(n, 0);
	const u32 *q = (const u32 *)fm_in(n, 0) + (size_t)n->group * heads * hd;
	const u32 *k = fm_in(n, 1);
	int ret;

	for (h = 0; h < kv_heads; h++) {
		struct fm_matmul a = {
			.y = out + (size_t)h * share * n->drive->tile_rows,
			.x = q + (size_t)h * share * hd,
			.w = k + (size_t)h * hd,
			.m = share,
			.k = hd,
			.n1 = rows,
			.ldy = n->drive->tile_rows,
			.ldx = hd,
			.ldw = kv_heads * hd,
			.scale = n->rec->p[3],
			.flags = FM_MATMUL_SCALE,
		};

		ret = matmul(run, &a, run->math->matmul_f32, sizeof(u32));
		if (ret)
			return ret;
	}
	return 0;
}

/* The maximum of a row. */
static int row_max(struct fm_run *run, u32 *max, const u32 *x, u32 n)
{
	u32 i;
	int ret = 0;

	*max = FM_NEG_INF;
	for (i = 0; !ret && i < n; i += PIECE) {
		u32 part = min_t(u32, n - i, PIECE);

		run->math->max_update(max, x + i, part);
		ret = fm_work(run, part);
	}
	return ret;
}

/* One finished row of n scores to probabilities. */
static int softmax_row(struct fm_run *run, u32 *y, const u32 *x, u32 n)
{
	const struct fm_math_ops *m = run->math;
	u32 state[FM_LANES] = { 0 };
	u32 step = FM_QUANTUM / 16, i, sum, max;
	int ret = row_max(run, &max, x, n);

	if (ret)
		return ret;
	for (i = 0; i < n; i += step) {
		u32 part = min_t(u32, n - i, step);

		m->exp_sum(y + i, x + i, part, max, state, i);
		ret = fm_work(run, 12ull * part);
		if (ret)
			return ret;
	}
	sum = m->fold16(state);
	for (i = 0; i < n; i += PIECE) {
		u32 part = min_t(u32, n - i, PIECE);

		m->div_scalar(y + i, y + i, part, sum);
		ret = fm_work(run, 2ull * part);
		if (ret)
			return ret;
	}
	return 0;
}

int fm_fire_softmax(struct fm_run *run, struct fm_rt_node *n)
{
	const struct fm_rt_stream *s = n->drive;
	u32 total = s->rows, heads = s->cols, ld = s->tile_rows, last = s->tiles - 1, h, rows;
	u32 *scratch = n->scratch;
	int ret;

	/* A group in one tile needs no scratch. */
	if (!last) {
		const u32 *x = fm_in(n, 0);
		u32 *y = fm_out(n, 0);

		for (h = 0; h < heads; h++, x += ld, y += ld) {
			ret = softmax_row(run, y, x, total);
			if (ret)
				return ret;
		}
		return 0;
	}
	if (n->tile <= last) {
		const u32 *x = fm_in(n, 0);

		rows = fm_rows(s, n->tile);
		for (h = 0; h < heads; h++) {
			ret = fm_copy_bytes(run, scratch + (size_t)h * total +
					    (size_t)n->tile * ld, x + (size_t)h * ld,
					    (u64)rows * sizeof(u32));
			if (ret)
				return ret;
		}
	}
	if (n->tile == last) {
		for (h = 0; h < heads; h++) {
			u32 *x = scratch + (size_t)h * total;

			ret = softmax_row(run, x, x, total);
			if (ret)
				return ret;
		}
	}
	if (n->tile >= last) {
		u32 tile = n->tile - last;
		u32 *y = fm_out(n, 0);

		rows = fm_rows(s, tile);
		for (h = 0; h < heads; h++) {
			ret = fm_copy_bytes(run, y + (size_t)h * ld, scratch +
					    (size_t)h * total + (size_t)tile * ld,
					    (u64)rows * sizeof(u32));
			if (ret)
				return ret;
		}
	}
	return 0;
}

int fm_fire_attn_values(struct fm_run *run, struct fm_rt_node *n)
{
	u32 heads = n->rec->p[0], kv_heads = n->rec->p[1], hd = n->rec->p[2];
	u32 share = heads / kv_heads, rows = fm_rows(n->drive, n->tile), ld = n->drive->tile_rows;
	u32 h, i, part, step = max_t(u32, FM_QUANTUM / (share * hd + 1), 1);
	u32 *out = (u32 *)fm_out(n, 0) + (size_t)n->group * heads * hd;
	const u32 *p = fm_in(n, 0), *v = fm_in(n, 1);
	int ret = n->tile ? 0 : fm_zero(run, out, (u64)heads * hd * sizeof(u32));

	if (ret)
		return ret;
	for (h = 0; h < kv_heads; h++) {
		for (i = 0; i < rows; i += part) {
			struct fm_matmul_seq a = {
				.acc = out + (size_t)h * share * hd,
				.p = p + (size_t)h * share * ld + i,
				.v = v + (size_t)i * kv_heads * hd + (size_t)h * hd,
				.m = share,
				.j = hd,
				.ldacc = hd,
				.ldp = ld,
				.sp = 1,
				.ldv = kv_heads * hd,
			};

			part = min_t(u32, rows - i, step);
			a.t = part;
			run->math->matmul_seq_acc(&a);
			ret = fm_work(run, (u64)share * hd * part);
			if (ret)
				return ret;
		}
	}
	return 0;
}

int fm_fire_rmsnorm(struct fm_run *run, struct fm_rt_node *n)
{
	u32 rows = fm_rows(n->drive, n->tile), cols = n->drive->cols, r;
	const u32 *x = fm_in(n, 0);
	u32 *y = fm_out(n, 0);
	int ret;

	for (r = 0; r < rows; r++, x += cols, y += cols) {
		run->math->rmsnorm(y, x, fm_in(n, 1), cols, n->rec->p[0]);
		ret = fm_work(run, 3ull * cols);
		if (ret)
			return ret;
	}
	return 0;
}

int fm_fire_rope_row(struct fm_run *run, struct fm_rt_node *n)
{
	u32 rows = fm_rows(n->drive, n->tile), hd = n->rec->p[0], r;
	const s32 *pos = fm_in(n, 0);
	u32 *y = fm_out(n, 0);
	int ret;

	for (r = 0; r < rows; r++, y += hd) {
		run->math->rope_row(y, FM_READ_ONCE(pos[r]), hd, n->rec->p[1]);
		ret = fm_work(run, 32ull * hd);
		if (ret)
			return ret;
	}
	return 0;
}

int fm_fire_rope(struct fm_run *run, struct fm_rt_node *n)
{
	const struct fm_rt_stream *s = n->drive, *table = n->in[1].stream;
	u32 rows = fm_rows(s, n->tile), hd = n->rec->p[0], r, h, part;
	u32 heads = s->cols / hd, step = max_t(u32, PIECE / hd, 1);
	const u32 *x = fm_in(n, 0), *row = fm_in(n, 1);
	u32 *y = fm_out(n, 0);
	int ret;

	for (r = 0; r < rows; r++, x += s->cols, y += s->cols) {
		size_t at = table->rows == 1 ? 0 : (size_t)n->tile * s->tile_rows + r;

		for (h = 0; h < heads; h += part) {
			part = min_t(u32, heads - h, step);
			run->math->rope_apply(y + (size_t)h * hd, x + (size_t)h * hd,
					      row + at * hd, part, hd, n->rec->p[1]);
			ret = fm_work(run, 3ull * part * hd);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* Elements of the tile in the driving stream's buffer, unused rows of a transposed tile too. */
static u64 elements(const struct fm_rt_node *n)
{
	const struct fm_rt_stream *s = n->drive;

	return (u64)s->cols * (s->transposed ? s->tile_rows : fm_rows(s, n->tile));
}

static void ew(const struct fm_math_ops *m, const struct vrdu_node *rec, u32 *y, const u32 *a,
	       const u32 *b, u32 n)
{
	switch (rec->p[0]) {
	case VRDU_EW_ADD:
		m->add(y, a, b, n);
		return;
	case VRDU_EW_MUL:
		m->mul(y, a, b, n);
		return;
	case VRDU_EW_SUB:
		m->sub(y, a, b, n);
		return;
	case VRDU_EW_MAX:
		m->larger(y, a, b, n);
		return;
	case VRDU_EW_SILU_MUL:
		m->silu_mul(y, a, b, n);
		return;
	case VRDU_EW_IADD:
		m->add_i32(y, a, b, n);
		return;
	case VRDU_EW_IADD_IMM:
		m->add_imm_i32(y, a, n, (s32)rec->p[1]);
		return;
	default:
		m->max_i32(y, a, b, n);
		return;
	}
}

int fm_fire_ew(struct fm_run *run, struct fm_rt_node *n)
{
	u64 left = elements(n);
	const u32 *a = fm_in(n, 0), *b = n->in[1].stream ? fm_in(n, 1) : NULL;
	u32 *y = fm_out(n, 0), part;
	u32 cost = n->rec->p[0] == VRDU_EW_SILU_MUL ? 12 : 1;
	int ret;

	for (; left; left -= part) {
		part = min_t(u64, left, FM_QUANTUM / 16);
		ew(run->math, n->rec, y, a, b, part);
		ret = fm_work(run, (u64)cost * part);
		if (ret)
			return ret;
		y += part;
		a += part;
		b = b ? b + part : NULL;
	}
	return 0;
}

/* The sum of a row. */
static int row_sum(struct fm_run *run, u32 *sum, const u32 *x, u32 n)
{
	u32 state[FM_LANES] = { 0 }, i;
	int ret = 0;

	for (i = 0; !ret && i < n; i += PIECE) {
		u32 part = min_t(u32, n - i, PIECE);

		run->math->sum(state, x + i, part, i);
		ret = fm_work(run, part);
	}
	*sum = run->math->fold16(state);
	return ret;
}

int fm_fire_reduce(struct fm_run *run, struct fm_rt_node *n)
{
	u32 rows = fm_rows(n->drive, n->tile), cols = n->drive->cols, r;
	const u32 *x = fm_in(n, 0);
	u32 *y = fm_out(n, 0);
	int ret = 0;

	for (r = 0; !ret && r < rows; r++, x += cols)
		ret = n->rec->p[0] == VRDU_REDUCE_SUM ? row_sum(run, &y[r], x, cols) :
							row_max(run, &y[r], x, cols);
	return ret;
}

int fm_fire_argmax(struct fm_run *run, struct fm_rt_node *n)
{
	u32 rows = fm_rows(n->drive, n->tile), cols = n->drive->cols, r, i;
	const u32 *x = fm_in(n, 0);
	s32 *y = fm_out(n, 0);
	int ret;

	for (r = 0; r < rows; r++, x += cols) {
		struct fm_argmax best;

		fm_argmax_init(&best);
		for (i = 0; i < cols; i += PIECE) {
			u32 part = min_t(u32, cols - i, PIECE);

			run->math->argmax(&best, x + i, part, i);
			ret = fm_work(run, part);
			if (ret)
				return ret;
		}
		y[r] = (s32)best.index;
	}
	return 0;
}

/* A row of @n elements; @scales only for int8, one for each @group elements. */
static int cast_row(struct fm_run *run, u8 *y, const u8 *x, u32 n, u32 elem, const u32 *scales,
		    u32 group)
{
	/* Pieces are made of whole groups, or lie inside one. */
	u32 step = group && group < PIECE ? PIECE - PIECE % group : PIECE, i, part;
	u32 out_bytes = elem == VRDU_ELEM_F32 ? 2 : 4;
	int ret;

	for (i = 0; i < n; i += part) {
		void *to = y + (size_t)i * out_bytes;
		const void *from = x + (size_t)i * fm_elem_bytes(elem);

		part = min_t(u32, n - i, step);
		if (group >= PIECE)
			part = min_t(u32, part, group - i % group);
		if (elem == VRDU_ELEM_BF16)
			run->math->bf16_to_f32(to, from, part);
		else if (elem == VRDU_ELEM_F32)
			run->math->f32_to_bf16(to, from, part);
		else
			run->math->dequant_q8(to, from, scales + i / group, part, group);
		ret = fm_work(run, part);
		if (ret)
			return ret;
	}
	return 0;
}

int fm_fire_cast(struct fm_run *run, struct fm_rt_node *n)
{
	const struct fm_rt_stream *s = n->drive, *d = n->out[0], *sc = n->in[1].stream;
	u32 rows = s->transposed ? s->tile_rows : fm_rows(s, n->tile), cols = s->cols, r;
	const u32 *scales = sc ? fm_in(n, 1) : NULL;
	const u8 *x = fm_in(n, 0);
	u8 *y = fm_out(n, 0);
	int ret = 0;

	for (r = 0; !ret && r < rows; r++) {
		ret = cast_row(run, y, x, cols, s->elem, scales, n->rec->p[0]);
		x += (size_t)cols * s->elem_bytes;
		y += (size_t)cols * d->elem_bytes;
		if (scales)
			scales += sc->cols;
	}
	return ret;
}
