// SPDX-License-Identifier: MIT
/*
 * The tensor directory of a GGUF file: names, shapes, types and places, each
 * checked against the model's sizes and the file's, and against each other.
 * Second half of gguf.c; fills the views in struct model.
 */
#include "gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME	128u

/**
 * struct span - bytes that a tensor occupies in the data section.
 * @at: First.
 * @bytes: Their number.
 */
struct span {
	uint64_t at;
	uint64_t bytes;
};

/**
 * struct info - a tensor's directory entry.
 * @name: Name.
 * @rows: Second dimension, 1 if there is none.
 * @cols: First dimension.
 * @type: File's code.
 * @span: Place in the data section.
 */
struct info {
	struct text name;
	uint64_t rows;
	uint64_t cols;
	uint32_t type;
	struct span span;
};

static const struct {
	const char *name;
	enum model_role role;
} tensor_names[] = {
	{ "token_embd.weight", MODEL_EMBED },
	{ "output_norm.weight", MODEL_RMS_FINAL },
	{ "output.weight", MODEL_HEAD },
	{ "attn_norm.weight", MODEL_RMS_ATT },
	{ "attn_q.weight", MODEL_WQ },
	{ "attn_k.weight", MODEL_WK },
	{ "attn_v.weight", MODEL_WV },
	{ "attn_output.weight", MODEL_WO },
	{ "ffn_norm.weight", MODEL_RMS_FFN },
	{ "ffn_gate.weight", MODEL_W1 },
	{ "ffn_down.weight", MODEL_W2 },
	{ "ffn_up.weight", MODEL_W3 },
};

#define TENSOR_NAMES	(sizeof(tensor_names) / sizeof(tensor_names[0]))

/* "blk.N." in front of a layer's tensor; 0 and the rest of the name, or false. */
static bool split_layer(struct text *name, uint32_t *layer)
{
	uint64_t i = 4;
	uint32_t n = 0;

	if (name->n < 6 || memcmp(name->s, "blk.", 4))
		return false;
	while (i < name->n && i < 9 && name->s[i] >= '0' && name->s[i] <= '9')
		n = n * 10 + (name->s[i++] - '0');
	if (i == 4 || i >= name->n || name->s[i] != '.' || (name->s[4] == '0' && i != 5))
		return false;
	name->s += i + 1;
	name->n -= i + 1;
	*layer = n;
	return true;
}

/* The place that a name stands for, or NULL. */
static struct model_tensor *tensor_place(struct model *m, struct text name, enum model_role *role)
{
	uint32_t layer = 0;
	bool per_layer = split_layer(&name, &layer);
	unsigned int i;

	for (i = 0; i < TENSOR_NAMES; i++) {
		if (!gguf_text_is(&name, tensor_names[i].name))
			continue;
		*role = tensor_names[i].role;
		if (per_layer != model_per_layer(*role))
			return NULL;
		if (per_layer && layer >= m->config.layers)
			return NULL;
		return &m->tensors[*role][layer];
	}
	return NULL;
}

static int tensor_bytes(struct reader *r, const struct info *t, const char *name,
			enum model_type *type, uint64_t *bytes)
{
	/* rows and cols were compared with the model's shape: the product fits. */
	uint64_t n = t->rows * t->cols;

	switch (t->type) {
	case 0:
		*type = MODEL_F32;
		*bytes = n * 4;
		return 0;
	case 1:
		*type = MODEL_F16;
		*bytes = n * 2;
		return 0;
	case 8:
		if (t->cols % 32)
			return error_set(r->err, -EINVAL, "%s: rows of %" PRIu64
					 " values are not whole Q8_0 blocks of 32", name, t->cols);
		*type = MODEL_Q8_0;
		*bytes = n / 32 * 34;
		return 0;
	case 30:
		*type = MODEL_BF16;
		*bytes = n * 2;
		return 0;
	default:
		return error_set(r->err, -EINVAL, "%s: element type %" PRIu32
				 " is not supported (F32 0, F16 1, Q8_0 8 and BF16 30 are)", name,
				 t->type);
	}
}

static int read_info(struct reader *r, struct info *t)
{
	uint32_t dims, i;
	uint64_t d;
	char buf[64];
	int ret;

	ret = gguf_take_text(r, "tensor name", MAX_NAME, &t->name) ?:
	      gguf_take_u32(r, "tensor dimensions", &dims);
	if (ret)
		return ret;
	if (dims < 1 || dims > 4)
		return error_set(r->err, -EINVAL, "%s: %" PRIu32 " dimensions, must be 1 to 4",
				 gguf_shown(&t->name, buf), dims);
	t->cols = 1;
	t->rows = 1;
	for (i = 0; i < dims; i++) {
		ret = gguf_take_u64(r, "tensor dimension", &d);
		if (ret)
			return ret;
		if (i == 0)
			t->cols = d;
		else if (i == 1)
			t->rows = d;
		else if (d != 1)
			return error_set(r->err, -EINVAL, "%s: dimension %" PRIu32 " is %" PRIu64
					 ", must be 1", gguf_shown(&t->name, buf), i, d);
	}
	return gguf_take_u32(r, "tensor type", &t->type) ?:
	       gguf_take_u64(r, "tensor offset", &t->span.at);
}

static int place_tensor(struct reader *r, struct info *t, uint64_t data_at)
{
	uint64_t data_bytes = r->m->size - data_at;
	struct model_tensor *out;
	enum model_type type;
	enum model_role role;
	uint32_t rows, cols;
	char name[64];
	int ret;

	gguf_shown(&t->name, name);
	out = tensor_place(r->m, t->name, &role);
	if (!out)
		return error_set(r->err, -EINVAL, "tensor %s is not one of a llama with %" PRIu32
				 " layers that this reader knows", name, r->m->config.layers);
	if (out->data)
		return error_set(r->err, -EINVAL, "tensor %s appears twice", name);
	model_shape(&r->m->config, role, &rows, &cols);
	if (t->rows != rows || t->cols != cols)
		return error_set(r->err, -EINVAL, "tensor %s is %" PRIu64 " x %" PRIu64
				 ", the model's sizes ask for %" PRIu32 " x %" PRIu32, name,
				 t->cols, t->rows, cols, rows);
	ret = tensor_bytes(r, t, name, &type, &t->span.bytes);
	if (ret)
		return ret;
	if (t->span.at % r->alignment)
		return error_set(r->err, -EINVAL, "tensor %s: offset %" PRIu64
				 " is not a multiple of the alignment %" PRIu32, name, t->span.at,
				 r->alignment);
	if (t->span.at > data_bytes || t->span.bytes > data_bytes - t->span.at)
		return error_set(r->err, -EINVAL, "truncated: tensor %s needs %" PRIu64
				 " bytes at %" PRIu64 " of the data section, which has %" PRIu64,
				 name, t->span.bytes, t->span.at, data_bytes);
	out->type = type;
	out->rows = rows;
	out->cols = cols;
	out->group = type == MODEL_Q8_0 ? 32 : 0;
	out->data = r->m->data + data_at + t->span.at;
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = &((const struct info *)a)->span;
	const struct span *y = &((const struct info *)b)->span;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int check_overlap(struct reader *r, struct info *infos, uint64_t n)
{
	char a[64], b[64];
	uint64_t i;

	qsort(infos, n, sizeof(*infos), compare_spans);
	for (i = 1; i < n; i++)
		if (infos[i].span.at - infos[i - 1].span.at < infos[i - 1].span.bytes)
			return error_set(r->err, -EINVAL, "tensors %s and %s overlap",
					 gguf_shown(&infos[i - 1].name, a),
					 gguf_shown(&infos[i].name, b));
	return 0;
}

static int check_complete(struct reader *r)
{
	struct model *m = r->m;
	unsigned int i;
	uint32_t l, n;

	for (i = 0; i < TENSOR_NAMES; i++) {
		enum model_role role = tensor_names[i].role;

		n = model_per_layer(role) ? m->config.layers : 1;
		for (l = 0; l < n; l++) {
			if (m->tensors[role][l].data)
				continue;
			if (role == MODEL_HEAD) {
				m->config.tied = true;
				*m->tensors[role] = *m->tensors[MODEL_EMBED];
				continue;
			}
			if (model_per_layer(role))
				return error_set(r->err, -EINVAL, "tensor blk.%" PRIu32
						 ".%s is missing", l, tensor_names[i].name);
			return error_set(r->err, -EINVAL, "tensor %s is missing",
					 tensor_names[i].name);
		}
	}
	return 0;
}

/* The vocabulary's size: what the file says, else the embedding's rows. */
static int find_vocab(struct reader *r, const struct info *infos, uint64_t n)
{
	struct model_config *c = &r->m->config;
	struct model_vocab *t = &r->m->vocab;
	uint64_t i, rows = 0;

	for (i = 0; i < n; i++)
		if (gguf_text_is(&infos[i].name, "token_embd.weight"))
			rows = infos[i].rows;
	if (!rows || rows > MODEL_MAX_VOCAB)
		return error_set(r->err, -EINVAL, "tensor token_embd.weight has %" PRIu64
				 " rows, must be 1 to %u", rows, MODEL_MAX_VOCAB);
	c->vocab = rows;
	if ((r->seen & (1ull << K_VOCAB)) && r->vocab != rows)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", the embedding has %" PRIu64
				 " rows", gguf_keys[K_VOCAB], r->vocab, rows);
	if (t->count && t->count != rows)
		return error_set(r->err, -EINVAL, "%s has %" PRIu32 " pieces, the embedding has %"
				 PRIu64 " rows", gguf_keys[K_TOK_PIECES], t->count, rows);
	if (t->count && (t->bos >= rows || t->eos >= rows))
		return error_set(r->err, -EINVAL, "token %" PRIu32 " that begins or ends a "
				 "sequence is not below the vocabulary size %" PRIu64,
				 t->bos >= rows ? t->bos : t->eos, rows);
	if (!r->spm || !t->scores)
		t->count = 0;
	return 0;
}

int gguf_read_tensors(struct reader *r, uint64_t n)
{
	struct info *infos;
	uint64_t i, data_at;
	int ret = 0;

	infos = calloc(n ? n : 1, sizeof(*infos));
	if (!infos)
		return error_set(r->err, -ENOMEM, "out of memory");
	for (i = 0; i < n && !ret; i++)
		ret = read_info(r, &infos[i]);
	if (ret)
		goto out;
	/* r->at is at most the file's size, far from a wrap. */
	data_at = (r->at + r->alignment - 1) & ~((uint64_t)r->alignment - 1);
	if (data_at > r->m->size)
		data_at = r->m->size;
	ret = find_vocab(r, infos, n) ?: model_check_config(&r->m->config, r->err) ?:
	      model_alloc_tensors(r->m, r->err);
	for (i = 0; i < n && !ret; i++)
		ret = place_tensor(r, &infos[i], data_at);
	if (!ret)
		ret = check_overlap(r, infos, n) ?: check_complete(r);
out:
	free(infos);
	return ret;
}

