// SPDX-License-Identifier: MIT
/*
 * Loading of llama2.c files, and what both loaders share: shape checks and the
 * model's memory.
 *
 * Every number of the file is checked against its cap before it is used, every
 * product is checked for overflow, and a tensor's bytes are checked against the
 * file before they are read. refgguf.c does the same for GGUF.
 */
#include "refload.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ref_fail(struct ref_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return -1;
}

uint16_t ref_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t ref_u32(const uint8_t *at)
{
	return ref_u16(at) | (uint32_t)ref_u16(at + 2) << 16;
}

uint64_t ref_u64(const uint8_t *at)
{
	return ref_u32(at) | (uint64_t)ref_u32(at + 4) << 32;
}

double ref_f32(const uint8_t *at)
{
	uint32_t bits = ref_u32(at);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return (double)value;
}

/* A number of the shape and the range that it must lie in. */
struct limit {
	const char *name;
	int64_t value;
	int64_t most;
};

int ref_check_shape(const struct ref_shape *s, struct ref_error *error)
{
	const struct limit limits[] = {
		{ "dim", s->dim, REF_MAX_DIM },
		{ "hidden size", s->hidden, REF_MAX_HIDDEN },
		{ "number of layers", s->layers, REF_MAX_LAYERS },
		{ "number of heads", s->heads, REF_MAX_DIM },
		{ "number of key/value heads", s->kv_heads, REF_MAX_DIM },
		{ "vocabulary size", s->vocab, REF_MAX_VOCAB },
		{ "context", s->context, REF_MAX_CONTEXT },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].value < 1 || limits[i].value > limits[i].most)
			return ref_fail(error, "%s is %lld, not within 1..%lld", limits[i].name,
					(long long)limits[i].value, (long long)limits[i].most);
	if (s->dim % s->heads)
		return ref_fail(error, "dim %lld is no multiple of the %lld heads",
				(long long)s->dim, (long long)s->heads);
	if (s->dim / s->heads % 2)
		return ref_fail(error, "the head size %lld is odd: no rotary pairs",
				(long long)(s->dim / s->heads));
	if (s->heads % s->kv_heads)
		return ref_fail(error, "%lld heads are no multiple of %lld key/value heads",
				(long long)s->heads, (long long)s->kv_heads);
	return 0;
}

static double *room(uint64_t count)
{
	return calloc(count, sizeof(double));
}

static int layer_room(struct ref_layer *layer, const struct ref_model *m)
{
	size_t width = m->kv_heads * m->head_size;

	layer->attn_norm = room(m->dim);
	layer->attn_q = room(m->dim * m->dim);
	layer->attn_k = room(width * m->dim);
	layer->attn_v = room(width * m->dim);
	layer->attn_output = room(m->dim * m->dim);
	layer->ffn_norm = room(m->dim);
	layer->ffn_gate = room(m->hidden * m->dim);
	layer->ffn_down = room(m->dim * m->hidden);
	layer->ffn_up = room(m->hidden * m->dim);
	return layer->attn_norm && layer->attn_q && layer->attn_k && layer->attn_v &&
	       layer->attn_output && layer->ffn_norm && layer->ffn_gate && layer->ffn_down &&
	       layer->ffn_up ? 0 : -1;
}

uint64_t ref_parameters(const struct ref_shape *s, bool tied)
{
	/* Below 2^52 within the caps: no product here can overflow. */
	uint64_t dim = (uint64_t)s->dim, hidden = (uint64_t)s->hidden;
	uint64_t width = dim / (uint64_t)s->heads * (uint64_t)s->kv_heads;
	uint64_t layer = 2 * dim + 2 * dim * dim + 2 * width * dim + 3 * hidden * dim;

	return (uint64_t)s->layers * layer + dim + (tied ? 1 : 2) * (uint64_t)s->vocab * dim;
}

struct ref_model *ref_model_new(const struct ref_shape *s, bool tied, struct ref_error *error)
{
	struct ref_model *m;
	uint64_t cache = (uint64_t)s->layers * (uint64_t)s->context *
			 (uint64_t)(s->dim / s->heads * s->kv_heads);

	if (cache > REF_MAX_CACHE) {
		ref_fail(error, "the key/value cache has %llu elements, more than %llu",
			 (unsigned long long)cache, (unsigned long long)REF_MAX_CACHE);
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		goto no_memory;
	m->dim = (size_t)s->dim;
	m->hidden = (size_t)s->hidden;
	m->layers = (size_t)s->layers;
	m->heads = (size_t)s->heads;
	m->kv_heads = (size_t)s->kv_heads;
	m->vocab = (size_t)s->vocab;
	m->context = (size_t)s->context;
	m->head_size = m->dim / m->heads;
	/* As float32, which is what GGUF files hold. */
	m->eps = (double)1e-5f;
	m->rope_base = 10000.0;
	m->token_embd = room(m->vocab * m->dim);
	m->output = tied ? m->token_embd : room(m->vocab * m->dim);
	m->output_norm = room(m->dim);
	m->key = room(cache);
	m->value = room(cache);
	m->scratch = room(4 * m->dim + 2 * m->hidden + m->context);
	m->layer = calloc(m->layers, sizeof(*m->layer));
	if (!m->token_embd || !m->output || !m->output_norm || !m->key || !m->value ||
	    !m->scratch || !m->layer)
		goto no_memory;
	for (size_t l = 0; l < m->layers; l++)
		if (layer_room(&m->layer[l], m))
			goto no_memory;
	return m;

no_memory:
	ref_fail(error, "no memory for a model of %llu parameters",
		 (unsigned long long)ref_parameters(s, tied));
	ref_free(m);
	return NULL;
}

void ref_free(struct ref_model *m)
{
	if (!m)
		return;
	for (size_t l = 0; m->layer && l < m->layers; l++) {
		struct ref_layer *layer = &m->layer[l];

		free(layer->attn_norm);
		free(layer->attn_q);
		free(layer->attn_k);
		free(layer->attn_v);
		free(layer->attn_output);
		free(layer->ffn_norm);
		free(layer->ffn_gate);
		free(layer->ffn_down);
		free(layer->ffn_up);
	}
	if (m->output != m->token_embd)
		free(m->output);
	free(m->token_embd);
	free(m->output_norm);
	free(m->layer);
	free(m->key);
	free(m->value);
	free(m->scratch);
	free(m);
}

/*
 * The tensors of a model in the order of a llama2.c file. Versions 1 and 2 put
 * the norms first; a role's layers always follow each other.
 */
enum role {
	TOKEN_EMBD, ATTN_NORM, ATTN_Q, ATTN_K, ATTN_V, ATTN_OUTPUT, FFN_NORM, FFN_GATE, FFN_DOWN,
	FFN_UP, OUTPUT_NORM, ROPE_TABLES, OUTPUT, END,
};

static const enum role order_v0[] = {
	TOKEN_EMBD, ATTN_NORM, ATTN_Q, ATTN_K, ATTN_V, ATTN_OUTPUT, FFN_NORM, FFN_GATE, FFN_DOWN,
	FFN_UP, OUTPUT_NORM, ROPE_TABLES, OUTPUT, END,
};

static const enum role order_norms[] = { ATTN_NORM, FFN_NORM, OUTPUT_NORM, END };

static const enum role order_matrices[] = {
	TOKEN_EMBD, ATTN_Q, ATTN_K, ATTN_V, ATTN_OUTPUT, FFN_GATE, FFN_DOWN, FFN_UP, OUTPUT, END,
};

/* Where a role's tensor of one layer lies in memory, and how long it is. */
static double *place(const struct ref_model *m, enum role role, size_t l, size_t *count)
{
	const struct ref_layer *w = &m->layer[l];
	size_t width = m->kv_heads * m->head_size;
	const struct {
		double *at;
		size_t count;
	} table[END] = {
		[TOKEN_EMBD] = { m->token_embd, m->vocab * m->dim },
		[ATTN_NORM] = { w->attn_norm, m->dim },
		[ATTN_Q] = { w->attn_q, m->dim * m->dim },
		[ATTN_K] = { w->attn_k, width * m->dim },
		[ATTN_V] = { w->attn_v, width * m->dim },
		[ATTN_OUTPUT] = { w->attn_output, m->dim * m->dim },
		[FFN_NORM] = { w->ffn_norm, m->dim },
		[FFN_GATE] = { w->ffn_gate, m->hidden * m->dim },
		[FFN_DOWN] = { w->ffn_down, m->dim * m->hidden },
		[FFN_UP] = { w->ffn_up, m->hidden * m->dim },
		[OUTPUT_NORM] = { m->output_norm, m->dim },
		[ROPE_TABLES] = { NULL, m->context * m->head_size },
		[OUTPUT] = { m->output, m->output == m->token_embd ? 0 : m->vocab * m->dim },
	};

	*count = table[role].count;
	return table[role].at;
}

static bool per_layer(enum role role)
{
	return role >= ATTN_NORM && role <= FFN_UP;
}

/* Read float32 tensors; the caller has checked that the bytes are there. */
static const uint8_t *read_floats(struct ref_model *m, const enum role *order, const uint8_t *at)
{
	for (; *order != END; order++) {
		for (size_t l = 0; l < (per_layer(*order) ? m->layers : 1); l++) {
			size_t count;
			double *to = place(m, *order, l, &count);

			for (size_t i = 0; to && i < count; i++)
				to[i] = ref_f32(at + 4 * i);
			at += 4 * count;
		}
	}
	return at;
}

/* Read int8 groups: each tensor's values, then its scales. */
static void read_groups(struct ref_model *m, const uint8_t *at, size_t group)
{
	for (const enum role *order = order_matrices; *order != END; order++) {
		for (size_t l = 0; l < (per_layer(*order) ? m->layers : 1); l++) {
			size_t count;
			double *to = place(m, *order, l, &count);

			for (size_t i = 0; i < count; i++)
				to[i] = (double)(int8_t)at[i] *
					ref_f32(at + count + i / group * 4);
			at += count + count / group * 4;
		}
	}
}

/* The seven integers that every version has. */
static void read_shape(struct ref_shape *s, const uint8_t *at)
{
	s->dim = (int32_t)ref_u32(at);
	s->hidden = (int32_t)ref_u32(at + 4);
	s->layers = (int32_t)ref_u32(at + 8);
	s->heads = (int32_t)ref_u32(at + 12);
	s->kv_heads = (int32_t)ref_u32(at + 16);
	s->vocab = (int32_t)ref_u32(at + 20);
	s->context = (int32_t)ref_u32(at + 24);
}

static int check_length(uint64_t size, uint64_t want, const char *format,
			struct ref_error *error)
{
	if (size == want)
		return 0;
	return ref_fail(error, "the file has %llu bytes, a %s file of its shape has %llu",
			(unsigned long long)size, format, (unsigned long long)want);
}

static int load_v0(struct ref_model **out, const uint8_t *bytes, size_t size,
		   struct ref_error *error)
{
	struct ref_shape shape;
	uint64_t want;
	bool tied;

	if (size < 28)
		return ref_fail(error, "the file has %zu bytes, no model has fewer than 28", size);
	read_shape(&shape, bytes);
	/* A negative vocabulary size says that the classifier is a tensor of its own. */
	tied = shape.vocab > 0;
	if (!tied)
		shape.vocab = -shape.vocab;
	if (ref_check_shape(&shape, error))
		return -1;
	want = ref_parameters(&shape, tied);
	want += (uint64_t)shape.context * (uint64_t)(shape.dim / shape.heads);
	if (check_length(size, 28 + 4 * want, "llama2.c v0", error))
		return -1;
	*out = ref_model_new(&shape, tied, error);
	if (!*out)
		return -1;
	(*out)->format = "llama2.c v0";
	read_floats(*out, order_v0, bytes + 28);
	return 0;
}

static int load_v1(struct ref_model **out, const uint8_t *bytes, size_t size,
		   const struct ref_shape *shape, bool tied, struct ref_error *error)
{
	const uint8_t *at;

	if (check_length(size, 256 + 4 * ref_parameters(shape, tied), "llama2.c v1", error))
		return -1;
	*out = ref_model_new(shape, tied, error);
	if (!*out)
		return -1;
	(*out)->format = "llama2.c v1";
	at = read_floats(*out, order_norms, bytes + 256);
	read_floats(*out, order_matrices, at);
	return 0;
}

static int load_v2(struct ref_model **out, const uint8_t *bytes, size_t size,
		   const struct ref_shape *shape, bool tied, struct ref_error *error)
{
	int64_t group = (int32_t)ref_u32(bytes + 37);
	uint64_t norms = (uint64_t)shape->dim * (2 * (uint64_t)shape->layers + 1);
	uint64_t values = ref_parameters(shape, tied) - norms;
	const uint8_t *at;

	if (group < 1 || shape->dim % group || shape->hidden % group)
		return ref_fail(error, "the group size %lld does not divide dim %lld and hidden %lld",
				(long long)group, (long long)shape->dim,
				(long long)shape->hidden);
	if (check_length(size, 256 + 4 * norms + values + values / (uint64_t)group * 4,
			 "llama2.c v2", error))
		return -1;
	*out = ref_model_new(shape, tied, error);
	if (!*out)
		return -1;
	(*out)->format = "llama2.c v2";
	at = read_floats(*out, order_norms, bytes + 256);
	read_groups(*out, at, (size_t)group);
	return 0;
}

/* Versions 1 and 2: magic, version, seven integers, one flag byte. */
static int load_ak42(struct ref_model **out, const uint8_t *bytes, size_t size,
		     struct ref_error *error)
{
	struct ref_shape shape;
	uint32_t version;

	if (size < 256)
		return ref_fail(error, "the file has %zu bytes, its header alone has 256", size);
	version = ref_u32(bytes + 4);
	if (version != 1 && version != 2)
		return ref_fail(error, "llama2.c version %u is unknown, 1 and 2 are read", version);
	if (bytes[36] > 1)
		return ref_fail(error, "the shared-classifier flag is %u, not 0 or 1", bytes[36]);
	read_shape(&shape, bytes + 8);
	if (ref_check_shape(&shape, error))
		return -1;
	if (version == 1)
		return load_v1(out, bytes, size, &shape, bytes[36], error);
	return load_v2(out, bytes, size, &shape, bytes[36], error);
}

int ref_load_memory(struct ref_model **out, const uint8_t *bytes, size_t size,
		    struct ref_error *error)
{
	*out = NULL;
	error->text[0] = '\0';
	if (size > REF_MAX_FILE)
		return ref_fail(error, "the file has %zu bytes, at most %llu are read", size,
				(unsigned long long)REF_MAX_FILE);
	if (size >= 4 && !memcmp(bytes, "GGUF", 4))
		return ref_load_gguf(out, bytes, size, error);
	if (size >= 4 && ref_u32(bytes) == 0x616b3432)
		return load_ak42(out, bytes, size, error);
	return load_v0(out, bytes, size, error);
}

int ref_load(struct ref_model **out, const char *path, struct ref_error *error)
{
	uint8_t *bytes = NULL;
	FILE *file;
	long size;
	int ret;

	*out = NULL;
	file = fopen(path, "rb");
	if (!file)
		return ref_fail(error, "cannot open %s: %s", path, strerror(errno));
	size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
	if (size < 0 || fseek(file, 0, SEEK_SET)) {
		ret = ref_fail(error, "cannot find the length of %s: %s", path, strerror(errno));
		goto out;
	}
	if ((unsigned long)size > REF_MAX_FILE) {
		ret = ref_fail(error, "%s has %ld bytes, at most %llu are read", path, size,
			       (unsigned long long)REF_MAX_FILE);
		goto out;
	}
	bytes = malloc((size_t)size + 1);
	if (!bytes) {
		ret = ref_fail(error, "no memory for the %ld bytes of %s", size, path);
		goto out;
	}
	if (fread(bytes, 1, (size_t)size, file) != (size_t)size) {
		ret = ref_fail(error, "cannot read %s: %s", path,
			       ferror(file) ? strerror(errno) : "it became shorter");
		goto out;
	}
	ret = ref_load_memory(out, bytes, (size_t)size, error);
out:
	free(bytes);
	fclose(file);
	return ret;
}
