// SPDX-License-Identifier: MIT
/*
 * The reference computation: one decoder position in double precision.
 *
 * Owns the arithmetic and nothing else; refload.c fills the model. Every sum
 * runs from the lowest index up, every elementary function is libm's. There is
 * no activation quantisation: an int8 weight is used as value times scale.
 */
#include "refdecode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void matvec(double *out, const double *matrix, const double *in, size_t rows, size_t cols)
{
	for (size_t row = 0; row < rows; row++) {
		double sum = 0.0;

		for (size_t col = 0; col < cols; col++)
			sum += matrix[row * cols + col] * in[col];
		out[row] = sum;
	}
}

static void norm(double *out, const double *in, const double *gain, size_t count, double eps)
{
	double sum = 0.0;

	for (size_t i = 0; i < count; i++)
		sum += in[i] * in[i];

	double scale = 1.0 / sqrt(sum / (double)count + eps);

	for (size_t i = 0; i < count; i++)
		out[i] = in[i] * scale * gain[i];
}

/* Rotate the pairs (2i, 2i+1) of each head. */
static void rotate(double *heads, size_t count, size_t head_size, size_t pos, double base)
{
	for (size_t head = 0; head < count; head++) {
		double *pair = heads + head * head_size;

		for (size_t i = 0; i < head_size; i += 2, pair += 2) {
			double angle = (double)pos * pow(base, -(double)i / (double)head_size);
			double c = cos(angle), s = sin(angle);
			double even = pair[0], odd = pair[1];

			pair[0] = even * c - odd * s;
			pair[1] = even * s + odd * c;
		}
	}
}

static void softmax(double *values, size_t count)
{
	double top = values[0], sum = 0.0;

	for (size_t i = 1; i < count; i++)
		if (values[i] > top)
			top = values[i];
	for (size_t i = 0; i < count; i++) {
		values[i] = exp(values[i] - top);
		sum += values[i];
	}
	for (size_t i = 0; i < count; i++)
		values[i] /= sum;
}

/* Attention of one layer over the cache's positions 0..pos. */
static void attend(const struct ref_model *m, size_t layer, size_t pos, double *out,
		   const double *query, double *score)
{
	size_t size = m->head_size, width = m->kv_heads * size;
	const double *keys = m->key + layer * m->context * width;
	const double *values = m->value + layer * m->context * width;

	for (size_t head = 0; head < m->heads; head++) {
		size_t shared = head / (m->heads / m->kv_heads) * size;
		const double *q = query + head * size;
		double *o = out + head * size;

		for (size_t t = 0; t <= pos; t++) {
			double dot = 0.0;

			for (size_t i = 0; i < size; i++)
				dot += q[i] * keys[t * width + shared + i];
			score[t] = dot / sqrt((double)size);
		}
		softmax(score, pos + 1);
		for (size_t i = 0; i < size; i++) {
			double sum = 0.0;

			for (size_t t = 0; t <= pos; t++)
				sum += score[t] * values[t * width + shared + i];
			o[i] = sum;
		}
	}
}

int ref_forward(struct ref_model *m, size_t token, size_t pos, double *logits)
{
	size_t width = m->kv_heads * m->head_size;
	double *x = m->scratch;
	double *h = x + m->dim, *q = h + m->dim, *a = q + m->dim;
	double *gate = a + m->dim, *up = gate + m->hidden, *score = up + m->hidden;

	if (token >= m->vocab || pos >= m->context)
		return -1;

	memcpy(x, m->token_embd + token * m->dim, m->dim * sizeof(*x));
	for (size_t l = 0; l < m->layers; l++) {
		const struct ref_layer *w = &m->layer[l];
		double *k = m->key + (l * m->context + pos) * width;
		double *v = m->value + (l * m->context + pos) * width;

		norm(h, x, w->attn_norm, m->dim, m->eps);
		matvec(q, w->attn_q, h, m->dim, m->dim);
		matvec(k, w->attn_k, h, width, m->dim);
		matvec(v, w->attn_v, h, width, m->dim);
		rotate(q, m->heads, m->head_size, pos, m->rope_base);
		rotate(k, m->kv_heads, m->head_size, pos, m->rope_base);
		attend(m, l, pos, a, q, score);
		matvec(h, w->attn_output, a, m->dim, m->dim);
		for (size_t i = 0; i < m->dim; i++)
			x[i] += h[i];

		norm(h, x, w->ffn_norm, m->dim, m->eps);
		matvec(gate, w->ffn_gate, h, m->hidden, m->dim);
		matvec(up, w->ffn_up, h, m->hidden, m->dim);
		for (size_t i = 0; i < m->hidden; i++)
			gate[i] = gate[i] / (1.0 + exp(-gate[i])) * up[i];
		matvec(h, w->ffn_down, gate, m->dim, m->hidden);
		for (size_t i = 0; i < m->dim; i++)
			x[i] += h[i];
	}
	norm(h, x, m->output_norm, m->dim, m->eps);
	matvec(logits, m->output, h, m->vocab, m->dim);
	return 0;
}

size_t ref_argmax(const double *values, size_t count)
{
	size_t best = 0;

	for (size_t i = 1; i < count; i++)
		if (values[i] > values[best])
			best = i;
	return best;
}

static int check_ids(const struct ref_model *m, const size_t *ids, size_t given,
		     struct ref_error *error)
{
	if (given < 1 || given > m->context) {
		snprintf(error->text, sizeof(error->text),
			 "%zu ids given, the context holds 1..%zu", given, m->context);
		return -1;
	}
	for (size_t i = 0; i < given; i++) {
		if (ids[i] >= m->vocab) {
			snprintf(error->text, sizeof(error->text),
				 "id %zu at position %zu is not below the vocabulary size %zu",
				 ids[i], i, m->vocab);
			return -1;
		}
	}
	return 0;
}

int ref_greedy(struct ref_model *m, size_t *ids, size_t given, size_t count, size_t *made,
	       ref_logits_fn each, void *user, struct ref_error *error)
{
	double *logits;
	int ret = -1;

	*made = 0;
	error->text[0] = '\0';
	if (check_ids(m, ids, given, error))
		return -1;
	logits = malloc(m->vocab * sizeof(*logits));
	if (!logits) {
		snprintf(error->text, sizeof(error->text), "no memory for %zu logits", m->vocab);
		return -1;
	}
	for (size_t pos = 0; pos < given + *made; pos++) {
		if (ref_forward(m, ids[pos], pos, logits)) {
			snprintf(error->text, sizeof(error->text), "position %zu failed", pos);
			goto out;
		}
		if (each && each(user, pos, logits, m->vocab)) {
			snprintf(error->text, sizeof(error->text),
				 "the logits of position %zu could not be written", pos);
			goto out;
		}
		if (pos + 1 < given)
			continue;
		if (*made == count || given + *made == m->context)
			break;
		ids[given + *made] = ref_argmax(logits, m->vocab);
		++*made;
		if (*made == count || given + *made == m->context)
			break;
	}
	ret = 0;
out:
	free(logits);
	return ret;
}
