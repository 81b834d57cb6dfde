// SPDX-License-Identifier: MIT
/*
 * Reader of GGUF v3: architecture "llama", tensors in F32, F16, BF16 or Q8_0,
 * an SPM tokenizer if one is embedded. See model.h; called by model.c only.
 *
 * Nothing in the file is believed: each length is compared with what is left
 * before it is used, each product is checked, and a value that this reader
 * does not understand is refused when it would change the result.
 */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS	4096u
#define MAX_KEY_BYTES	256u
#define MAX_STRING	(1u << 20)
#define MAX_NAME	128u
#define MAX_ALIGNMENT	(1u << 20)
#define MAX_TENSORS	(MODEL_MAX_LAYERS * 9 + 3)

/* Types of values. */
enum {
	T_U8, T_I8, T_U16, T_I16, T_U32, T_I32, T_F32, T_BOOL, T_STRING, T_ARRAY, T_U64, T_I64, T_F64,
	T_COUNT,
};

static const uint8_t value_bytes[T_COUNT] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/**
 * struct text - bytes in the file.
 * @s: First; not terminated.
 * @n: Their number.
 */
struct text {
	const uint8_t *s;
	uint64_t n;
};

/**
 * struct value - a value in the file.
 * @type: T_*.
 * @elem: T_ARRAY: type of the elements.
 * @count: T_ARRAY: their number.
 * @data: Scalar, string bytes or first element.
 * @bytes: Bytes at @data.
 */
struct value {
	uint32_t type;
	uint32_t elem;
	uint64_t count;
	const uint8_t *data;
	uint64_t bytes;
};

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

/**
 * struct reader - state of a reading.
 * @m: Model.
 * @at: Bytes consumed.
 * @err: Sentence.
 * @alignment: Of the data section and of each tensor.
 * @seen: Bit i: keys[i] was there.
 * @has_tokens: Number of token pieces, before the count is known to be right.
 * @scores: Number of scores.
 * @vocab: llama.vocab_size, 0 if not said.
 * @key_length: llama.attention.key_length, 0 if not said.
 * @value_length: llama.attention.value_length, 0 if not said.
 * @rope_dims: llama.rope.dimension_count, 0 if not said.
 * @spm: The tokenizer is of the kind that tokenizer.c understands.
 */
struct reader {
	struct model *m;
	uint64_t at;
	struct error *err;
	uint32_t alignment;
	uint64_t seen;
	uint64_t scores;
	uint32_t vocab;
	uint32_t key_length;
	uint32_t value_length;
	uint32_t rope_dims;
	bool spm;
};

static int take(struct reader *r, const char *what, uint64_t bytes, const uint8_t **out)
{
	if (bytes > r->m->size - r->at)
		return error_set(r->err, -EINVAL, "truncated: %s needs %" PRIu64
				 " bytes at offset %" PRIu64 ", the file has %" PRIu64, what, bytes,
				 r->at, r->m->size);
	*out = r->m->data + r->at;
	r->at += bytes;
	return 0;
}

static int take_u32(struct reader *r, const char *what, uint32_t *out)
{
	const uint8_t *p;
	int ret = take(r, what, 4, &p);

	if (!ret)
		*out = model_u32(p);
	return ret;
}

static int take_u64(struct reader *r, const char *what, uint64_t *out)
{
	const uint8_t *p;
	int ret = take(r, what, 8, &p);

	if (!ret)
		*out = model_u64(p);
	return ret;
}

static int take_text(struct reader *r, const char *what, uint64_t max, struct text *out)
{
	int ret = take_u64(r, what, &out->n);

	if (ret)
		return ret;
	if (out->n > max)
		return error_set(r->err, -EINVAL, "%s is %" PRIu64 " bytes long, at most %" PRIu64,
				 what, out->n, max);
	return take(r, what, out->n, &out->s);
}

static bool text_is(const struct text *t, const char *s)
{
	return t->n == strlen(s) && !memcmp(t->s, s, t->n);
}

/* Printable form of a name from the file, for messages. */
static const char *shown(const struct text *t, char buf[64])
{
	uint64_t i;

	for (i = 0; i < t->n && i < 63; i++)
		buf[i] = t->s[i] >= 0x20 && t->s[i] < 0x7f ? t->s[i] : '?';
	buf[i] = '\0';
	return buf;
}

static int take_array(struct reader *r, struct value *v)
{
	struct text s;
	uint64_t i, bytes;
	int ret;

	ret = take_u32(r, "array type", &v->elem) ?: take_u64(r, "array length", &v->count);
	if (ret)
		return ret;
	if (v->elem >= T_COUNT || v->elem == T_ARRAY)
		return error_set(r->err, -EINVAL, "array of elements of type %" PRIu32
				 ", which this reader does not know", v->elem);
	v->data = r->m->data + r->at;
	if (v->elem != T_STRING) {
		if (__builtin_mul_overflow(v->count, value_bytes[v->elem], &bytes))
			bytes = UINT64_MAX;
		ret = take(r, "array", bytes, &v->data);
		v->bytes = bytes;
		return ret;
	}
	/* Each string takes eight bytes or more, so that the file's size bounds this loop. */
	if (v->count > (r->m->size - r->at) / 8)
		return error_set(r->err, -EINVAL, "truncated: array of %" PRIu64
				 " strings at offset %" PRIu64 ", the file has %" PRIu64 " bytes",
				 v->count, r->at, r->m->size);
	for (i = 0; i < v->count; i++) {
		ret = take_text(r, "string in an array", MAX_STRING, &s);
		if (ret)
			return ret;
	}
	v->bytes = r->m->data + r->at - v->data;
	return 0;
}

static int take_value(struct reader *r, struct value *v)
{
	struct text s;
	int ret;

	memset(v, 0, sizeof(*v));
	ret = take_u32(r, "value type", &v->type);
	if (ret)
		return ret;
	if (v->type >= T_COUNT)
		return error_set(r->err, -EINVAL, "value type is %" PRIu32 ", 0 to %u are known",
				 v->type, T_COUNT - 1);
	if (v->type == T_ARRAY)
		return take_array(r, v);
	if (v->type == T_STRING) {
		ret = take_text(r, "string", MAX_STRING, &s);
		v->data = s.s;
		v->bytes = s.n;
		return ret;
	}
	v->bytes = value_bytes[v->type];
	return take(r, "value", v->bytes, &v->data);
}

/* ---- keys ---- */

/* Any integer type, as long as it is a number from 0 to 2^32 - 1. */
static int get_u32(struct reader *r, const char *key, const struct value *v, uint32_t *out)
{
	int64_t i;

	switch (v->type) {
	case T_U8:
		i = v->data[0];
		break;
	case T_I8:
		i = (int8_t)v->data[0];
		break;
	case T_U16:
		i = model_u16(v->data);
		break;
	case T_I16:
		i = (int16_t)model_u16(v->data);
		break;
	case T_U32:
		i = model_u32(v->data);
		break;
	case T_I32:
		i = (int32_t)model_u32(v->data);
		break;
	case T_U64:
	case T_I64:
		i = (int64_t)model_u64(v->data);
		break;
	default:
		return error_set(r->err, -EINVAL, "%s has value type %" PRIu32
				 ", an integer is needed", key, v->type);
	}
	if (i < 0 || i > UINT32_MAX)
		return error_set(r->err, -EINVAL, "%s is out of range", key);
	*out = i;
	return 0;
}

static int get_f32(struct reader *r, const char *key, const struct value *v, float *out)
{
	double d;

	switch (v->type) {
	case T_F32:
		*out = model_f32(v->data);
		return 0;
	case T_F64:
		memcpy(&d, v->data, sizeof(d));
		*out = d;
		return 0;
	default:
		return error_set(r->err, -EINVAL, "%s has value type %" PRIu32
				 ", a float is needed", key, v->type);
	}
}

static int need_text(struct reader *r, const char *key, const struct value *v, const char *want)
{
	struct text t = { v->data, v->bytes };
	char buf[64];

	if (v->type != T_STRING)
		return error_set(r->err, -EINVAL, "%s has value type %" PRIu32
				 ", a string is needed", key, v->type);
	if (!text_is(&t, want))
		return error_set(r->err, -EINVAL, "%s is \"%s\", only \"%s\" is supported", key,
				 shown(&t, buf), want);
	return 0;
}

static int need_zero(struct reader *r, const char *key, const struct value *v)
{
	uint32_t n;
	int ret = get_u32(r, key, v, &n);

	if (!ret && n)
		ret = error_set(r->err, -EINVAL, "%s is %" PRIu32 ", only 0 is supported", key, n);
	return ret;
}

static int need_array(struct reader *r, const char *key, const struct value *v, uint32_t elem)
{
	if (v->type != T_ARRAY || v->elem != elem)
		return error_set(r->err, -EINVAL, "%s is not an array of %s", key,
				 elem == T_STRING ? "strings" : "f32");
	if (v->count > MODEL_MAX_VOCAB)
		return error_set(r->err, -EINVAL, "%s has %" PRIu64 " entries, at most %u", key,
				 v->count, MODEL_MAX_VOCAB);
	return 0;
}

enum {
	K_ARCH, K_ALIGNMENT, K_LAYERS, K_DIM, K_HIDDEN, K_HEADS, K_KV_HEADS, K_CONTEXT, K_ROPE_DIMS,
	K_ROPE_BASE, K_ROPE_SCALING, K_EPS, K_KEY_LENGTH, K_VALUE_LENGTH, K_VOCAB, K_EXPERTS,
	K_TOK_MODEL, K_TOK_PIECES, K_TOK_SCORES, K_TOK_BOS, K_TOK_EOS,
	K_COUNT,
};

static const char *const keys[K_COUNT] = {
	[K_ARCH] = "general.architecture",
	[K_ALIGNMENT] = "general.alignment",
	[K_LAYERS] = "llama.block_count",
	[K_DIM] = "llama.embedding_length",
	[K_HIDDEN] = "llama.feed_forward_length",
	[K_HEADS] = "llama.attention.head_count",
	[K_KV_HEADS] = "llama.attention.head_count_kv",
	[K_CONTEXT] = "llama.context_length",
	[K_ROPE_DIMS] = "llama.rope.dimension_count",
	[K_ROPE_BASE] = "llama.rope.freq_base",
	[K_ROPE_SCALING] = "llama.rope.scaling.type",
	[K_EPS] = "llama.attention.layer_norm_rms_epsilon",
	[K_KEY_LENGTH] = "llama.attention.key_length",
	[K_VALUE_LENGTH] = "llama.attention.value_length",
	[K_VOCAB] = "llama.vocab_size",
	[K_EXPERTS] = "llama.expert_count",
	[K_TOK_MODEL] = "tokenizer.ggml.model",
	[K_TOK_PIECES] = "tokenizer.ggml.tokens",
	[K_TOK_SCORES] = "tokenizer.ggml.scores",
	[K_TOK_BOS] = "tokenizer.ggml.bos_token_id",
	[K_TOK_EOS] = "tokenizer.ggml.eos_token_id",
};

static int use_alignment(struct reader *r, const struct value *v)
{
	int ret = get_u32(r, keys[K_ALIGNMENT], v, &r->alignment);

	if (ret)
		return ret;
	if (!r->alignment || r->alignment & (r->alignment - 1) || r->alignment > MAX_ALIGNMENT)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32
				 ", must be a power of two up to %u", keys[K_ALIGNMENT],
				 r->alignment, MAX_ALIGNMENT);
	return 0;
}

static int use_key(struct reader *r, unsigned int k, const struct value *v)
{
	struct model_config *c = &r->m->config;
	struct model_vocab *t = &r->m->vocab;
	struct text s = { v->data, v->bytes };
	int ret;

	switch (k) {
	case K_ARCH:
		return need_text(r, keys[k], v, "llama");
	case K_ALIGNMENT:
		return use_alignment(r, v);
	case K_LAYERS:
		return get_u32(r, keys[k], v, &c->layers);
	case K_DIM:
		return get_u32(r, keys[k], v, &c->dim);
	case K_HIDDEN:
		return get_u32(r, keys[k], v, &c->hidden);
	case K_HEADS:
		return get_u32(r, keys[k], v, &c->heads);
	case K_KV_HEADS:
		return get_u32(r, keys[k], v, &c->kv_heads);
	case K_CONTEXT:
		return get_u32(r, keys[k], v, &c->context);
	case K_ROPE_DIMS:
		return get_u32(r, keys[k], v, &r->rope_dims);
	case K_ROPE_BASE:
		return get_f32(r, keys[k], v, &c->theta);
	case K_ROPE_SCALING:
		return need_text(r, keys[k], v, "none");
	case K_EPS:
		return get_f32(r, keys[k], v, &c->eps);
	case K_KEY_LENGTH:
		return get_u32(r, keys[k], v, &r->key_length);
	case K_VALUE_LENGTH:
		return get_u32(r, keys[k], v, &r->value_length);
	case K_VOCAB:
		return get_u32(r, keys[k], v, &r->vocab);
	case K_EXPERTS:
		return need_zero(r, keys[k], v);
	case K_TOK_MODEL:
		/* Another tokenizer does not spoil the weights: ids can still be given. */
		r->spm = v->type == T_STRING && text_is(&s, "llama");
		return 0;
	case K_TOK_PIECES:
		ret = need_array(r, keys[k], v, T_STRING);
		t->count = ret ? 0 : v->count;
		t->pieces = v->data;
		t->pieces_bytes = v->bytes;
		return ret;
	case K_TOK_SCORES:
		ret = need_array(r, keys[k], v, T_F32);
		r->scores = v->count;
		t->scores = v->data;
		return ret;
	case K_TOK_BOS:
		return get_u32(r, keys[k], v, &t->bos);
	case K_TOK_EOS:
		return get_u32(r, keys[k], v, &t->eos);
	default:
		return 0;
	}
}

static int read_keys(struct reader *r, uint64_t n)
{
	struct value v;
	struct text key;
	unsigned int k;
	char buf[64];
	uint64_t i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = take_text(r, "key", MAX_KEY_BYTES, &key);
		if (ret)
			return ret;
		ret = take_value(r, &v);
		if (ret)
			return error_prefix(r->err, ret, shown(&key, buf));
		for (k = 0; k < K_COUNT && !text_is(&key, keys[k]); k++)
			;
		if (k == K_COUNT)
			continue;
		if (r->seen & (1ull << k))
			return error_set(r->err, -EINVAL, "key %s appears twice", keys[k]);
		r->seen |= 1ull << k;
		ret = use_key(r, k, &v);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_keys(struct reader *r)
{
	static const uint8_t needed[] = {
		K_ARCH, K_LAYERS, K_DIM, K_HIDDEN, K_HEADS, K_CONTEXT, K_EPS,
	};
	struct model_config *c = &r->m->config;
	struct model_vocab *t = &r->m->vocab;
	unsigned int i;

	for (i = 0; i < sizeof(needed); i++)
		if (!(r->seen & (1ull << needed[i])))
			return error_set(r->err, -EINVAL, "key %s is missing", keys[needed[i]]);
	if (!(r->seen & (1ull << K_KV_HEADS)))
		c->kv_heads = c->heads;
	if (r->seen & (1ull << K_KEY_LENGTH)) {
		c->head_size = r->key_length;
	} else {
		if (!c->heads || c->dim % c->heads)
			return error_set(r->err, -EINVAL, "%s %" PRIu32 " is not a multiple of %s %"
					 PRIu32, keys[K_DIM], c->dim, keys[K_HEADS], c->heads);
		c->head_size = c->dim / c->heads;
	}
	if ((r->seen & (1ull << K_VALUE_LENGTH)) && r->value_length != c->head_size)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", only %" PRIu32
				 ", the keys' size, is supported", keys[K_VALUE_LENGTH],
				 r->value_length, c->head_size);
	if ((r->seen & (1ull << K_ROPE_DIMS)) && r->rope_dims != c->head_size)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", only the whole head of %"
				 PRIu32 " is supported", keys[K_ROPE_DIMS], r->rope_dims,
				 c->head_size);
	if (t->scores && r->scores != t->count)
		return error_set(r->err, -EINVAL, "%s has %" PRIu64 " entries, %s has %" PRIu32,
				 keys[K_TOK_SCORES], r->scores, keys[K_TOK_PIECES], t->count);
	return 0;
}

/* ---- tensors ---- */

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
		if (!text_is(&name, tensor_names[i].name))
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

	ret = take_text(r, "tensor name", MAX_NAME, &t->name) ?:
	      take_u32(r, "tensor dimensions", &dims);
	if (ret)
		return ret;
	if (dims < 1 || dims > 4)
		return error_set(r->err, -EINVAL, "%s: %" PRIu32 " dimensions, must be 1 to 4",
				 shown(&t->name, buf), dims);
	t->cols = 1;
	t->rows = 1;
	for (i = 0; i < dims; i++) {
		ret = take_u64(r, "tensor dimension", &d);
		if (ret)
			return ret;
		if (i == 0)
			t->cols = d;
		else if (i == 1)
			t->rows = d;
		else if (d != 1)
			return error_set(r->err, -EINVAL, "%s: dimension %" PRIu32 " is %" PRIu64
					 ", must be 1", shown(&t->name, buf), i, d);
	}
	return take_u32(r, "tensor type", &t->type) ?: take_u64(r, "tensor offset", &t->span.at);
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

	shown(&t->name, name);
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
					 shown(&infos[i - 1].name, a), shown(&infos[i].name, b));
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
		if (text_is(&infos[i].name, "token_embd.weight"))
			rows = infos[i].rows;
	if (!rows || rows > MODEL_MAX_VOCAB)
		return error_set(r->err, -EINVAL, "tensor token_embd.weight has %" PRIu64
				 " rows, must be 1 to %u", rows, MODEL_MAX_VOCAB);
	c->vocab = rows;
	if ((r->seen & (1ull << K_VOCAB)) && r->vocab != rows)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", the embedding has %" PRIu64
				 " rows", keys[K_VOCAB], r->vocab, rows);
	if (t->count && t->count != rows)
		return error_set(r->err, -EINVAL, "%s has %" PRIu32 " pieces, the embedding has %"
				 PRIu64 " rows", keys[K_TOK_PIECES], t->count, rows);
	if (t->count && (t->bos >= rows || t->eos >= rows))
		return error_set(r->err, -EINVAL, "token %" PRIu32 " that begins or ends a sequence "
				 "is not below the vocabulary size %" PRIu64,
				 t->bos >= rows ? t->bos : t->eos, rows);
	if (!r->spm || !t->scores)
		t->count = 0;
	return 0;
}

static int read_tensors(struct reader *r, uint64_t n)
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

int model_read_gguf(struct model *m, struct error *err)
{
	struct reader r = { .m = m, .at = 4, .err = err, .alignment = 32 };
	uint64_t tensors, n_keys;
	uint32_t version;
	int ret;

	m->format = "gguf v3";
	m->config.eps = 1e-5f;
	m->config.theta = 10000.0f;
	m->vocab.bos = 1;
	m->vocab.eos = 2;
	ret = take_u32(&r, "version", &version);
	if (ret)
		return ret;
	if (version != 3)
		return error_set(err, -EINVAL, "GGUF version is %" PRIu32 ", only 3 is supported",
				 version);
	ret = take_u64(&r, "tensor count", &tensors) ?: take_u64(&r, "key count", &n_keys);
	if (ret)
		return ret;
	if (tensors > MAX_TENSORS)
		return error_set(err, -EINVAL, "%" PRIu64 " tensors, at most %u", tensors,
				 MAX_TENSORS);
	if (n_keys > MAX_KEYS)
		return error_set(err, -EINVAL, "%" PRIu64 " keys, at most %u", n_keys, MAX_KEYS);
	return read_keys(&r, n_keys) ?: check_keys(&r) ?: read_tensors(&r, tensors);
}
