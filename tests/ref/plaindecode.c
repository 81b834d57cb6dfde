// SPDX-License-Identifier: MIT
/*
 * The plain decoder loop: what a C programmer writes without a library.
 *
 *	plaindecode MODEL --ids 1,403,407 --tokens N [--weights bf16|f32] [--repeat R]
 *
 * Float activations, one float accumulator per dot product, no intrinsics, no
 * threads. bf16 weights stay bf16 and are widened in the inner loop. It is the
 * yardstick for host speed, built with -O3 -march=native, and no reference for
 * numbers: that is refdecode.
 *
 * Prints one line of JSON: the ids and the measured times of R runs, in
 * nanoseconds per computed position. Loading is not timed.
 */
#include "refdecode.h"
#include "refargs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_REPEAT	1000

static const char usage[] =
	"usage: plaindecode MODEL --ids 1,403,407 --tokens N [--weights bf16|f32] [--repeat R]\n"
	"Decodes greedily with plain float loops and prints ids and measured times as JSON.\n";

/* A matrix in one of two element types; the other pointer is NULL. */
struct matrix {
	uint16_t *half;
	float *full;
};

struct layer {
	float *attn_norm;
	float *ffn_norm;
	struct matrix q;
	struct matrix k;
	struct matrix v;
	struct matrix o;
	struct matrix gate;
	struct matrix down;
	struct matrix up;
};

/* The float model; sizes come from the reference model that it was made of. */
struct plain {
	const struct ref_model *ref;
	struct layer *layer;
	struct matrix embedding;
	struct matrix output;
	float *output_norm;
	float *key;
	float *value;
	float *cos;
	float *sin;
	float *x;
	float *h;
	float *q;
	float *a;
	float *gate;
	float *up;
	float *score;
	float *logits;
};

/* Memory or the end: this program has nothing to do without it. */
static void *room(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		fprintf(stderr, "plaindecode: no memory for %zu elements\n", count);
		exit(1);
	}
	return memory;
}

static float *floats(const double *from, size_t count)
{
	float *to = room(count, sizeof(*to));

	for (size_t i = 0; i < count; i++)
		to[i] = (float)from[i];
	return to;
}

/* Round to nearest, ties to even. */
static uint16_t to_bf16(double value)
{
	float single = (float)value;
	uint32_t bits;

	memcpy(&bits, &single, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static struct matrix matrix(const double *from, size_t count, int half)
{
	struct matrix m = { 0 };

	if (!half) {
		m.full = floats(from, count);
		return m;
	}
	m.half = room(count, sizeof(*m.half));
	for (size_t i = 0; i < count; i++)
		m.half[i] = to_bf16(from[i]);
	return m;
}

static void convert(struct plain *p, const struct ref_model *m, int half)
{
	size_t width = m->kv_heads * m->head_size;

	memset(p, 0, sizeof(*p));
	p->ref = m;
	p->layer = room(m->layers, sizeof(*p->layer));
	for (size_t l = 0; l < m->layers; l++) {
		const struct ref_layer *from = &m->layer[l];
		struct layer *to = &p->layer[l];

		to->attn_norm = floats(from->attn_norm, m->dim);
		to->ffn_norm = floats(from->ffn_norm, m->dim);
		to->q = matrix(from->attn_q, m->dim * m->dim, half);
		to->k = matrix(from->attn_k, width * m->dim, half);
		to->v = matrix(from->attn_v, width * m->dim, half);
		to->o = matrix(from->attn_output, m->dim * m->dim, half);
		to->gate = matrix(from->ffn_gate, m->hidden * m->dim, half);
		to->down = matrix(from->ffn_down, m->dim * m->hidden, half);
		to->up = matrix(from->ffn_up, m->hidden * m->dim, half);
	}
	p->embedding = matrix(m->token_embd, m->vocab * m->dim, half);
	p->output = p->embedding;
	if (m->output != m->token_embd)
		p->output = matrix(m->output, m->vocab * m->dim, half);
	p->output_norm = floats(m->output_norm, m->dim);
	p->key = room(m->layers * m->context * width, sizeof(float));
	p->value = room(m->layers * m->context * width, sizeof(float));
	p->cos = room(m->head_size / 2, sizeof(float));
	p->sin = room(m->head_size / 2, sizeof(float));
	p->x = room(m->dim, sizeof(float));
	p->h = room(m->dim, sizeof(float));
	p->q = room(m->dim, sizeof(float));
	p->a = room(m->dim, sizeof(float));
	p->gate = room(m->hidden, sizeof(float));
	p->up = room(m->hidden, sizeof(float));
	p->score = room(m->context, sizeof(float));
	p->logits = room(m->vocab, sizeof(float));
}

static void release_matrix(struct matrix *m)
{
	free(m->half);
	free(m->full);
}

static void release(struct plain *p)
{
	for (size_t l = 0; l < p->ref->layers; l++) {
		struct layer *w = &p->layer[l];

		free(w->attn_norm);
		free(w->ffn_norm);
		release_matrix(&w->q);
		release_matrix(&w->k);
		release_matrix(&w->v);
		release_matrix(&w->o);
		release_matrix(&w->gate);
		release_matrix(&w->down);
		release_matrix(&w->up);
	}
	free(p->layer);
	if (p->ref->output != p->ref->token_embd)
		release_matrix(&p->output);
	release_matrix(&p->embedding);
	free(p->output_norm);
	free(p->key);
	free(p->value);
	free(p->cos);
	free(p->sin);
	free(p->x);
	free(p->h);
	free(p->q);
	free(p->a);
	free(p->gate);
	free(p->up);
	free(p->score);
	free(p->logits);
}

static float widen(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void matvec_half(float *out, const uint16_t *w, const float *in, size_t rows, size_t cols)
{
	for (size_t row = 0; row < rows; row++) {
		float sum = 0.0f;

		for (size_t col = 0; col < cols; col++)
			sum += widen(w[row * cols + col]) * in[col];
		out[row] = sum;
	}
}

static void matvec_full(float *out, const float *w, const float *in, size_t rows, size_t cols)
{
	for (size_t row = 0; row < rows; row++) {
		float sum = 0.0f;

		for (size_t col = 0; col < cols; col++)
			sum += w[row * cols + col] * in[col];
		out[row] = sum;
	}
}

static void matvec(float *out, const struct matrix *w, const float *in, size_t rows, size_t cols)
{
	if (w->half)
		matvec_half(out, w->half, in, rows, cols);
	else
		matvec_full(out, w->full, in, rows, cols);
}

static void norm(float *out, const float *in, const float *gain, size_t count, float eps)
{
	float sum = 0.0f;

	for (size_t i = 0; i < count; i++)
		sum += in[i] * in[i];

	float scale = 1.0f / sqrtf(sum / (float)count + eps);

	for (size_t i = 0; i < count; i++)
		out[i] = gain[i] * (scale * in[i]);
}

static void rotate(const struct plain *p, float *heads, size_t count)
{
	size_t pairs = p->ref->head_size / 2;

	for (size_t head = 0; head < count; head++) {
		for (size_t i = 0; i < pairs; i++) {
			float *pair = heads + head * p->ref->head_size + 2 * i;
			float even = pair[0], odd = pair[1];

			pair[0] = even * p->cos[i] - odd * p->sin[i];
			pair[1] = even * p->sin[i] + odd * p->cos[i];
		}
	}
}

static void softmax(float *values, size_t count)
{
	float top = values[0], sum = 0.0f;

	for (size_t i = 1; i < count; i++)
		if (values[i] > top)
			top = values[i];
	for (size_t i = 0; i < count; i++) {
		values[i] = expf(values[i] - top);
		sum += values[i];
	}
	for (size_t i = 0; i < count; i++)
		values[i] /= sum;
}

static void attend(struct plain *p, const float *keys, const float *values, size_t pos)
{
	const struct ref_model *m = p->ref;
	size_t size = m->head_size, width = m->kv_heads * size;
	float scale = 1.0f / sqrtf((float)size);

	for (size_t head = 0; head < m->heads; head++) {
		size_t shared = head / (m->heads / m->kv_heads) * size;
		const float *q = p->q + head * size;
		float *out = p->a + head * size;

		for (size_t t = 0; t <= pos; t++) {
			const float *k = keys + t * width + shared;
			float dot = 0.0f;

			for (size_t i = 0; i < size; i++)
				dot += q[i] * k[i];
			p->score[t] = dot * scale;
		}
		softmax(p->score, pos + 1);
		memset(out, 0, size * sizeof(*out));
		for (size_t t = 0; t <= pos; t++) {
			const float *v = values + t * width + shared;

			for (size_t i = 0; i < size; i++)
				out[i] += p->score[t] * v[i];
		}
	}
}

static void embed(struct plain *p, size_t token)
{
	size_t dim = p->ref->dim;

	for (size_t i = 0; i < dim; i++)
		p->x[i] = p->embedding.half ? widen(p->embedding.half[token * dim + i]) :
					      p->embedding.full[token * dim + i];
}

static void forward(struct plain *p, size_t token, size_t pos)
{
	const struct ref_model *m = p->ref;
	size_t width = m->kv_heads * m->head_size;
	float eps = (float)m->eps;

	for (size_t i = 0; i < m->head_size / 2; i++) {
		float power = (float)(2 * i) / (float)m->head_size;
		float angle = (float)pos / powf((float)m->rope_base, power);

		p->cos[i] = cosf(angle);
		p->sin[i] = sinf(angle);
	}
	embed(p, token);
	for (size_t l = 0; l < m->layers; l++) {
		const struct layer *w = &p->layer[l];
		float *keys = p->key + l * m->context * width;
		float *values = p->value + l * m->context * width;

		norm(p->h, p->x, w->attn_norm, m->dim, eps);
		matvec(p->q, &w->q, p->h, m->dim, m->dim);
		matvec(keys + pos * width, &w->k, p->h, width, m->dim);
		matvec(values + pos * width, &w->v, p->h, width, m->dim);
		rotate(p, p->q, m->heads);
		rotate(p, keys + pos * width, m->kv_heads);
		attend(p, keys, values, pos);
		matvec(p->h, &w->o, p->a, m->dim, m->dim);
		for (size_t i = 0; i < m->dim; i++)
			p->x[i] += p->h[i];

		norm(p->h, p->x, w->ffn_norm, m->dim, eps);
		matvec(p->gate, &w->gate, p->h, m->hidden, m->dim);
		matvec(p->up, &w->up, p->h, m->hidden, m->dim);
		for (size_t i = 0; i < m->hidden; i++)
			p->gate[i] *= 1.0f / (1.0f + expf(-p->gate[i])) * p->up[i];
		matvec(p->h, &w->down, p->gate, m->dim, m->hidden);
		for (size_t i = 0; i < m->dim; i++)
			p->x[i] += p->h[i];
	}
	norm(p->h, p->x, p->output_norm, m->dim, eps);
	matvec(p->logits, &p->output, p->h, m->vocab, m->dim);
}

static size_t argmax(const float *values, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

/* The same sequence rule as ref_greedy(). Returns how many tokens are new. */
static size_t decode(struct plain *p, size_t *ids, size_t given, size_t count, size_t *positions)
{
	size_t room_left = p->ref->context - given, made = 0;

	if (count > room_left)
		count = room_left;
	*positions = given + count - (count ? 1 : 0);
	for (size_t pos = 0; pos < *positions; pos++) {
		forward(p, ids[pos], pos);
		if (pos + 1 >= given && made < count)
			ids[given + made++] = argmax(p->logits, p->ref->vocab);
	}
	return made;
}

static double nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct options {
	const char *model;
	const char *ids;
	size_t tokens;
	size_t repeat;
	int have_tokens;
	int half;
};

static int parse(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		int bad = 0;

		if (argv[i][0] != '-') {
			if (o->model)
				return -1;
			o->model = argv[i];
			continue;
		}
		if (!value)
			return -1;
		if (!strcmp(argv[i], "--ids")) {
			o->ids = value;
		} else if (!strcmp(argv[i], "--tokens")) {
			bad = ref_parse_number(value, &o->tokens);
			o->have_tokens = 1;
		} else if (!strcmp(argv[i], "--repeat")) {
			bad = ref_parse_number(value, &o->repeat) || o->repeat < 1 ||
			      o->repeat > MAX_REPEAT;
		} else if (!strcmp(argv[i], "--weights")) {
			o->half = !strcmp(value, "bf16");
			bad = !o->half && strcmp(value, "f32");
		} else {
			bad = 1;
		}
		if (bad)
			return -1;
		i++;
	}
	return o->model && o->ids && o->have_tokens ? 0 : -1;
}

static void report(const struct options *o, const size_t *ids, size_t given, size_t made,
		   size_t positions, double *times)
{
	qsort(times, o->repeat, sizeof(*times), ascending);
	printf("{\"ids\": ");
	ref_print_ids(ids, given);
	printf(", \"tokens\": ");
	ref_print_ids(ids + given, made);
	printf(", \"weights\": \"%s\", \"positions\": %zu, \"runs\": %zu",
	       o->half ? "bf16" : "f32", positions, o->repeat);
	printf(", \"ns_per_token\": {\"min\": %.0f, \"median\": %.0f, \"max\": %.0f}}\n", times[0],
	       times[o->repeat / 2], times[o->repeat - 1]);
}

int main(int argc, char **argv)
{
	struct options o = { .half = 1, .repeat = 1 };
	struct ref_model *model;
	struct ref_error error;
	size_t *ids, given, made = 0, positions = 0;
	double *times;
	struct plain p;
	int ret = 1;

	if (parse(&o, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (ref_load(&model, o.model, &error)) {
		fprintf(stderr, "plaindecode: %s: %s\n", o.model, error.text);
		return 1;
	}
	ids = room(model->context, sizeof(*ids));
	times = room(o.repeat, sizeof(*times));
	convert(&p, model, o.half);
	if (ref_parse_ids(o.ids, ids, model->context, &given)) {
		fprintf(stderr, "plaindecode: --ids wants 1..%zu comma-separated numbers\n",
			model->context);
		goto out;
	}
	for (size_t i = 0; i < given; i++) {
		if (ids[i] >= model->vocab) {
			fprintf(stderr, "plaindecode: id %zu is not below the vocabulary size %zu\n",
				ids[i], model->vocab);
			goto out;
		}
	}
	for (size_t run = 0; run < o.repeat; run++) {
		double began = nanoseconds();

		made = decode(&p, ids, given, o.tokens, &positions);
		times[run] = (nanoseconds() - began) / (double)positions;
	}
	report(&o, ids, given, made, positions, times);
	ret = 0;
out:
	release(&p);
	free(times);
	free(ids);
	ref_free(model);
	return ret;
}
