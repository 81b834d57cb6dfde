// SPDX-License-Identifier: MIT
/*
 * What a decoded token costs on the simulator, and how much of it is not
 * arithmetic. All times are CPU time of the thread, which runs the device too.
 *
 *	bench_decode MODEL [SMALL-MODEL]
 *
 * "whole" decodes; "clock only" makes the same calls in timing mode: token
 * game, sequencer, command processor, submission and wait, but no arithmetic.
 * One JSON object per line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llama/decode.h"

#define POSITIONS	64u
#define ROUNDS		9u
#define MAX_CALLS	1024u
#define TIMING_ROUNDS	200u

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void must(int ret, const struct error *err, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "bench_decode: %s: %s\n", what,
		err->text[0] ? err->text : vrdu_last_error());
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* ns per position of whole decodes. */
static double whole(struct decoder *d, struct decode_plan *p, uint32_t positions)
{
	const int32_t bos = 1;
	struct error err = { "" };
	double v[ROUNDS];
	uint32_t i;

	for (i = 0; i < ROUNDS; i++) {
		double start;

		must(decoder_begin(d, &bos, 1, 0, &err), &err, "begin");
		start = cpu_ns();
		while (decoder_position(d) < positions)
			must(decode_plan_advance(p, &err), &err, "decode");
		v[i] = (cpu_ns() - start) / positions;
	}
	return median(v, ROUNDS);
}

/* ns per position of the same calls without arithmetic; *per_call: ns of one call. */
static double clock_only(struct vrdu_context *ctx, struct decode_plan *p, double *per_call)
{
	static struct vrdu_call calls[MAX_CALLS];
	struct vrdu_graph *g = decode_plan_graph(p);
	uint32_t n = vrdu_graph_calls(g), i, r;
	struct error err = { "" };
	double v[ROUNDS], ns;

	if (n > MAX_CALLS) {
		fprintf(stderr, "bench_decode: %u calls are too many\n", n);
		exit(1);
	}
	for (i = 0; i < n; i++) {
		must(vrdu_graph_get_call(g, i, &calls[i]), &err, "call");
		calls[i].flags |= VRDU_CALL_TIMING;
	}
	for (r = 0; r < ROUNDS; r++) {
		double start = cpu_ns();

		for (i = 0; i < TIMING_ROUNDS; i++) {
			uint64_t seqno;

			must(vrdu_submit(ctx, calls, n, NULL, 0, NULL, 0, &seqno), &err, "submit");
			must(vrdu_wait(ctx, seqno, INT64_MAX), &err, "wait");
		}
		v[r] = (cpu_ns() - start) / TIMING_ROUNDS;
	}
	ns = median(v, ROUNDS);
	*per_call = ns / n;
	return ns / decode_plan_positions(p);
}

static void bench(const char *path)
{
	struct error err = { "" };
	struct decode_opts opts = { 0 };
	struct vrdu_device *dev;
	struct vrdu_context *ctx;
	struct model *m;
	struct decoder *d;
	uint32_t mode, positions;

	must(model_open(path, &m, &err), &err, path);
	must(vrdu_device_open("sim", NULL, &dev), &err, "sim");
	must(vrdu_context_create(dev, &ctx), &err, "context");
	must(decoder_create(ctx, m, &opts, &d, &err), &err, "decoder");
	positions = m->config.context < POSITIONS ? m->config.context : POSITIONS;
	for (mode = 0; mode < DECODE_MODES; mode++) {
		struct decode_plan *p;
		double ns, idle = 0, call = 0;

		must(decode_plan_create(d, mode, mode == DECODE_TOKEN_LOOP ? 8 : 1,
					&p, &err), &err, "plan");
		ns = whole(d, p, positions / 8 * 8);
		must(decoder_begin(d, &(int32_t){ 1 }, 1, 0, &err), &err, "begin");
		if (decode_plan_graph(p))
			idle = clock_only(ctx, p, &call);
		printf("{\"model\": \"%s\", \"mode\": \"%s\", \"layers\": %u, "
		       "\"whole_ns_per_token\": %.0f", path, decode_mode_name(mode),
		       m->config.layers, ns);
		if (idle)
			printf(", \"clock_only_ns_per_token\": %.0f, "
			       "\"clock_only_ns_per_layer\": %.0f, \"clock_only_ns_per_call\": %.0f",
			       idle, idle / m->config.layers, call);
		printf("}\n");
		decode_plan_destroy(p);
	}
	decoder_destroy(d);
	vrdu_context_unref(ctx);
	vrdu_device_unref(dev);
	model_close(m);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_decode MODEL...\n");
		return 2;
	}
	for (i = 1; i < argc; i++)
		bench(argv[i]);
	return 0;
}
