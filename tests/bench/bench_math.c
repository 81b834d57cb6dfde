// SPDX-License-Identifier: MIT
/*
 * Speed of the arithmetic: each kernel at a few sizes in each implementation,
 * interleaved in one run, in CPU time of this thread, so that the ratios mean
 * something on a noisy machine. Prints the median of several samples, in GB/s
 * with the least and the greatest, and the ratio to the scalar implementation.
 * The bytes counted are those of the weights, or of what a row op reads (add:
 * and writes).
 *
 *   bench_math [-q] [FILTER]	-q: short samples; FILTER: only kernels containing it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "math/fm_math.h"

#define SAMPLES	7
#define IMPLS	4

static double sample_s = 0.02;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec + 1e-9 * ts.tv_nsec;
}

/* One case: buffers, shape, and the bytes that one run reads or writes. */
struct work {
	const char *name;
	void (*run)(const struct fm_math_ops *ops, const struct work *wk);
	u32 n;
	u32 k;
	double bytes;
};

static float *x, *y, *z, *scales;
static void *w;
static u32 sink[16];

static void run_f32(const struct fm_math_ops *ops, const struct work *wk)
{
	struct fm_matmul a = { .y = y, .x = x, .w = w, .m = 1, .k = wk->k, .n1 = wk->n,
			       .ldw = wk->k };

	ops->matmul_f32(&a);
}

static void run_bf16(const struct fm_math_ops *ops, const struct work *wk)
{
	struct fm_matmul a = { .y = y, .x = x, .w = w, .m = 1, .k = wk->k, .n1 = wk->n,
			       .ldw = wk->k };

	ops->matmul_bf16(&a);
}

static void run_q8(const struct fm_math_ops *ops, const struct work *wk)
{
	struct fm_matmul a = { .y = y, .x = x, .w = w, .scales = scales, .m = 1, .k = wk->k,
			       .n1 = wk->n, .ldw = wk->k, .lds = (wk->k + 31) / 32, .group = 32 };

	ops->matmul_q8(&a);
}

static void run_seq(const struct fm_math_ops *ops, const struct work *wk)
{
	struct fm_matmul_seq a = { .acc = y, .p = x, .v = w, .m = 1, .t = wk->k, .j = wk->n,
				   .sp = 1, .ldv = wk->n };

	ops->matmul_seq_acc(&a);
}

static void run_rmsnorm(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->rmsnorm(y, x, z, wk->n, 0x3727c5ac);
}

static void run_exp_sum(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->exp_sum(y, x, wk->n, 0x3f800000, sink, 0);
}

static void run_silu(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->silu_mul(y, x, z, wk->n);
}

static void run_add(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->add(y, x, z, wk->n);
}

static void run_max(const struct fm_math_ops *ops, const struct work *wk)
{
	sink[0] = FM_NEG_INF;
	ops->max_update(sink, x, wk->n);
}

static void run_argmax(const struct fm_math_ops *ops, const struct work *wk)
{
	struct fm_argmax st;

	fm_argmax_init(&st);
	ops->argmax(&st, x, wk->n, 0);
	sink[0] = st.index;
}

static void run_to_bf16(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->f32_to_bf16(y, x, wk->n);
}

static void run_from_bf16(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->bf16_to_f32(y, w, wk->n);
}

static void run_dequant(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->dequant_q8(y, w, scales, wk->n, 32);
}

static void run_rope(const struct fm_math_ops *ops, const struct work *wk)
{
	ops->rope_row(y, 1234, wk->n, 0x461c4000);
}

#define MAT(name, run, n, k, per)	{ name, run, n, k, (double)(n) * (k) * (per) }
#define ROW(name, run, n, per)		{ name, run, n, 0, (double)(n) * (per) }

static const struct work works[] = {
	MAT("matmul_f32", run_f32, 64, 64, 4),
	MAT("matmul_f32", run_f32, 172, 64, 4),
	MAT("matmul_f32", run_f32, 64, 172, 4),
	MAT("matmul_f32", run_f32, 288, 768, 4),
	MAT("matmul_f32", run_f32, 2048, 2048, 4),
	MAT("matmul_f32", run_f32, 4096, 4096, 4),
	MAT("matmul_f32", run_f32, 256, 8, 4),
	MAT("matmul_bf16", run_bf16, 64, 64, 2),
	MAT("matmul_bf16", run_bf16, 64, 172, 2),
	MAT("matmul_bf16", run_bf16, 288, 768, 2),
	MAT("matmul_bf16", run_bf16, 2048, 2048, 2),
	MAT("matmul_bf16", run_bf16, 4096, 4096, 2),
	MAT("matmul_q8 /32", run_q8, 64, 64, 1.125),
	MAT("matmul_q8 /32", run_q8, 288, 768, 1.125),
	MAT("matmul_q8 /32", run_q8, 2048, 2048, 1.125),
	MAT("matmul_seq", run_seq, 8, 256, 4),
	MAT("matmul_seq", run_seq, 64, 256, 4),
	MAT("matmul_seq", run_seq, 128, 256, 4),
	ROW("rmsnorm", run_rmsnorm, 288, 4),
	ROW("rmsnorm", run_rmsnorm, 4096, 4),
	ROW("exp_sum", run_exp_sum, 256, 4),
	ROW("exp_sum", run_exp_sum, 4096, 4),
	ROW("silu_mul", run_silu, 768, 4),
	ROW("add", run_add, 4096, 12),
	ROW("max_update", run_max, 4096, 4),
	ROW("argmax", run_argmax, 32000, 4),
	ROW("f32_to_bf16", run_to_bf16, 4096, 4),
	ROW("bf16_to_f32", run_from_bf16, 4096, 4),
	ROW("dequant_q8", run_dequant, 4096, 4),
	ROW("rope_row", run_rope, 128, 4),
};

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static void bench(const struct work *wk, const struct fm_math_ops *const *ops, int impls)
{
	double t[IMPLS][SAMPLES], scalar = 0;
	unsigned long reps[IMPLS], r;
	int i, s;

	for (i = 0; i < impls; i++) {
		double start, took;

		for (reps[i] = 1;; reps[i] *= 2) {
			start = now();
			for (r = 0; r < reps[i]; r++)
				wk->run(ops[i], wk);
			took = now() - start;
			if (took > sample_s)
				break;
		}
	}
	for (s = 0; s < SAMPLES; s++) {
		for (i = 0; i < impls; i++) {
			double start = now();

			for (r = 0; r < reps[i]; r++)
				wk->run(ops[i], wk);
			t[i][s] = (now() - start) / reps[i];
		}
	}
	for (i = 0; i < impls; i++) {
		qsort(t[i], SAMPLES, sizeof(double), by_value);
		if (!i)
			scalar = t[0][SAMPLES / 2];
		printf("%-14s %6u x %-5u %-7s %10.2f %8.2f (%.2f-%.2f) %8.2f\n", wk->name, wk->n,
		       wk->k, ops[i]->name, t[i][SAMPLES / 2] * 1e6, wk->bytes / t[i][SAMPLES / 2] * 1e-9,
		       wk->bytes / t[i][SAMPLES - 1] * 1e-9, wk->bytes / t[i][0] * 1e-9,
		       scalar / t[i][SAMPLES / 2]);
	}
}

int main(int argc, char **argv)
{
	const struct fm_math_ops *ops[IMPLS];
	const size_t elems = 4096 * 4096;
	const char *filter = "";
	u32 seed = 1;
	int impls = 0;
	size_t i;

	for (i = 1; i < (size_t)argc; i++) {
		if (!strcmp(argv[i], "-q"))
			sample_s = 0.002;
		else
			filter = argv[i];
	}
	for (i = 0; impls < IMPLS && fm_math_by_index(i); i++) {
		const struct fm_math_ops *o = fm_math_by_index(i);

#ifdef __x86_64__
		if ((o->cpu & FM_CPU_AVX2) && !__builtin_cpu_supports("avx2"))
			continue;
#endif
		ops[impls++] = o;
	}
	x = malloc(32768 * 4);
	y = malloc(32768 * 4);
	z = malloc(32768 * 4);
	w = malloc(elems * 4);
	scales = malloc(elems / 32 * 4);
	if (!x || !y || !z || !w || !scales) {
		perror("bench_math");
		return 1;
	}
	/* Values near 1 whose bytes are also harmless as bf16 and int8. */
	for (i = 0; i < elems; i++) {
		seed = seed * 1664525 + 1013904223;
		((u32 *)w)[i] = (seed & 0x803f803f) | 0x3f803f80;
		if (i < 32768) {
			memcpy(x + i, (u32 *)w + i, 4);
			memcpy(z + i, (u32 *)w + i, 4);
		}
		if (i < elems / 32)
			scales[i] = 0.01f;
	}
	printf("%-14s %14s %-7s %10s %8s (min-max)  x scalar\n", "kernel", "n x k", "impl", "us",
	       "GB/s");
	for (i = 0; i < ARRAY_SIZE(works); i++)
		if (strstr(works[i].name, filter))
			bench(&works[i], ops, impls);
	return 0;
}
