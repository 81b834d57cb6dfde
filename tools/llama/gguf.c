// SPDX-License-Identifier: MIT
/*
 * Reader of GGUF v3: architecture "llama", tensors in F32, F16, BF16 or Q8_0,
 * an SPM tokenizer if one is embedded. See model.h; called by model.c only. The
 * tensor directory is read by gguf_tensors.c.
 *
 * Nothing in the file is believed: each length is compared with what is left
 * before it is used, each product is checked, and a value that this reader
 * does not understand is refused when it would change the result.
 */
#include "gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS	4096u
#define MAX_KEY_BYTES	256u
#define MAX_STRING	(1u << 20)
#define MAX_ALIGNMENT	(1u << 20)
#define MAX_TENSORS	(MODEL_MAX_LAYERS * 9 + 3)

/* Types of values. */
enum {
	T_U8, T_I8, T_U16, T_I16, T_U32, T_I32, T_F32, T_BOOL, T_STRING, T_ARRAY, T_U64, T_I64,
	T_F64,
	T_COUNT,
};

static const uint8_t value_bytes[T_COUNT] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

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

int gguf_take(struct reader *r, const char *what, uint64_t bytes, const uint8_t **out)
{
	if (bytes > r->m->size - r->at)
		return error_set(r->err, -EINVAL, "truncated: %s needs %" PRIu64
				 " bytes at offset %" PRIu64 ", the file has %" PRIu64, what, bytes,
				 r->at, r->m->size);
	*out = r->m->data + r->at;
	r->at += bytes;
	return 0;
}

int gguf_take_u32(struct reader *r, const char *what, uint32_t *out)
{
	const uint8_t *p;
	int ret = gguf_take(r, what, 4, &p);

	if (!ret)
		*out = model_u32(p);
	return ret;
}

int gguf_take_u64(struct reader *r, const char *what, uint64_t *out)
{
	const uint8_t *p;
	int ret = gguf_take(r, what, 8, &p);

	if (!ret)
		*out = model_u64(p);
	return ret;
}

int gguf_take_text(struct reader *r, const char *what, uint64_t max, struct text *out)
{
	int ret = gguf_take_u64(r, what, &out->n);

	if (ret)
		return ret;
	if (out->n > max)
		return error_set(r->err, -EINVAL, "%s is %" PRIu64 " bytes long, at most %" PRIu64,
				 what, out->n, max);
	return gguf_take(r, what, out->n, &out->s);
}

bool gguf_text_is(const struct text *t, const char *s)
{
	return t->n == strlen(s) && !memcmp(t->s, s, t->n);
}

const char *gguf_shown(const struct text *t, char buf[64])
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

	ret = gguf_take_u32(r, "array type", &v->elem) ?:
	      gguf_take_u64(r, "array length", &v->count);
	if (ret)
		return ret;
	if (v->elem >= T_COUNT || v->elem == T_ARRAY)
		return error_set(r->err, -EINVAL, "array of elements of type %" PRIu32
				 ", which this reader does not know", v->elem);
	v->data = r->m->data + r->at;
	if (v->elem != T_STRING) {
		if (__builtin_mul_overflow(v->count, value_bytes[v->elem], &bytes))
			bytes = UINT64_MAX;
		ret = gguf_take(r, "array", bytes, &v->data);
		v->bytes = bytes;
		return ret;
	}
	/* Each string takes eight bytes or more, so that the file's size bounds this loop. */
	if (v->count > (r->m->size - r->at) / 8)
		return error_set(r->err, -EINVAL, "truncated: array of %" PRIu64
				 " strings at offset %" PRIu64 ", the file has %" PRIu64 " bytes",
				 v->count, r->at, r->m->size);
	for (i = 0; i < v->count; i++) {
		ret = gguf_take_text(r, "string in an array", MAX_STRING, &s);
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
	ret = gguf_take_u32(r, "value type", &v->type);
	if (ret)
		return ret;
	if (v->type >= T_COUNT)
		return error_set(r->err, -EINVAL, "value type is %" PRIu32 ", 0 to %u are known",
				 v->type, T_COUNT - 1);
	if (v->type == T_ARRAY)
		return take_array(r, v);
	if (v->type == T_STRING) {
		ret = gguf_take_text(r, "string", MAX_STRING, &s);
		v->data = s.s;
		v->bytes = s.n;
		return ret;
	}
	v->bytes = value_bytes[v->type];
	return gguf_take(r, "value", v->bytes, &v->data);
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
	if (!gguf_text_is(&t, want))
		return error_set(r->err, -EINVAL, "%s is \"%s\", only \"%s\" is supported", key,
				 gguf_shown(&t, buf), want);
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

const char *const gguf_keys[K_COUNT] = {
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
	int ret = get_u32(r, gguf_keys[K_ALIGNMENT], v, &r->alignment);

	if (ret)
		return ret;
	if (!r->alignment || r->alignment & (r->alignment - 1) || r->alignment > MAX_ALIGNMENT)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32
				 ", must be a power of two up to %u", gguf_keys[K_ALIGNMENT],
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
		return need_text(r, gguf_keys[k], v, "llama");
	case K_ALIGNMENT:
		return use_alignment(r, v);
	case K_LAYERS:
		return get_u32(r, gguf_keys[k], v, &c->layers);
	case K_DIM:
		return get_u32(r, gguf_keys[k], v, &c->dim);
	case K_HIDDEN:
		return get_u32(r, gguf_keys[k], v, &c->hidden);
	case K_HEADS:
		return get_u32(r, gguf_keys[k], v, &c->heads);
	case K_KV_HEADS:
		return get_u32(r, gguf_keys[k], v, &c->kv_heads);
	case K_CONTEXT:
		return get_u32(r, gguf_keys[k], v, &c->context);
	case K_ROPE_DIMS:
		return get_u32(r, gguf_keys[k], v, &r->rope_dims);
	case K_ROPE_BASE:
		return get_f32(r, gguf_keys[k], v, &c->theta);
	case K_ROPE_SCALING:
		return need_text(r, gguf_keys[k], v, "none");
	case K_EPS:
		return get_f32(r, gguf_keys[k], v, &c->eps);
	case K_KEY_LENGTH:
		return get_u32(r, gguf_keys[k], v, &r->key_length);
	case K_VALUE_LENGTH:
		return get_u32(r, gguf_keys[k], v, &r->value_length);
	case K_VOCAB:
		return get_u32(r, gguf_keys[k], v, &r->vocab);
	case K_EXPERTS:
		return need_zero(r, gguf_keys[k], v);
	case K_TOK_MODEL:
		/* Another tokenizer does not spoil the weights: ids can still be given. */
		r->spm = v->type == T_STRING && gguf_text_is(&s, "llama");
		return 0;
	case K_TOK_PIECES:
		ret = need_array(r, gguf_keys[k], v, T_STRING);
		t->count = ret ? 0 : v->count;
		t->pieces = v->data;
		t->pieces_bytes = v->bytes;
		return ret;
	case K_TOK_SCORES:
		ret = need_array(r, gguf_keys[k], v, T_F32);
		r->scores = v->count;
		t->scores = v->data;
		return ret;
	case K_TOK_BOS:
		return get_u32(r, gguf_keys[k], v, &t->bos);
	case K_TOK_EOS:
		return get_u32(r, gguf_keys[k], v, &t->eos);
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
		ret = gguf_take_text(r, "key", MAX_KEY_BYTES, &key);
		if (ret)
			return ret;
		ret = take_value(r, &v);
		if (ret)
			return error_prefix(r->err, ret, gguf_shown(&key, buf));
		for (k = 0; k < K_COUNT && !gguf_text_is(&key, gguf_keys[k]); k++)
			;
		if (k == K_COUNT)
			continue;
		if (r->seen & (1ull << k))
			return error_set(r->err, -EINVAL, "key %s appears twice", gguf_keys[k]);
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
			return error_set(r->err, -EINVAL, "key %s is missing",
					 gguf_keys[needed[i]]);
	if (!(r->seen & (1ull << K_KV_HEADS)))
		c->kv_heads = c->heads;
	if (r->seen & (1ull << K_KEY_LENGTH)) {
		c->head_size = r->key_length;
	} else {
		if (!c->heads || c->dim % c->heads)
			return error_set(r->err, -EINVAL, "%s %" PRIu32 " is not a multiple of %s %"
					 PRIu32, gguf_keys[K_DIM], c->dim, gguf_keys[K_HEADS],
					 c->heads);
		c->head_size = c->dim / c->heads;
	}
	if ((r->seen & (1ull << K_VALUE_LENGTH)) && r->value_length != c->head_size)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", only %" PRIu32
				 ", the keys' size, is supported", gguf_keys[K_VALUE_LENGTH],
				 r->value_length, c->head_size);
	if ((r->seen & (1ull << K_ROPE_DIMS)) && r->rope_dims != c->head_size)
		return error_set(r->err, -EINVAL, "%s is %" PRIu32 ", only the whole head of %"
				 PRIu32 " is supported", gguf_keys[K_ROPE_DIMS], r->rope_dims,
				 c->head_size);
	if (t->scores && r->scores != t->count)
		return error_set(r->err, -EINVAL, "%s has %" PRIu64 " entries, %s has %" PRIu32,
				 gguf_keys[K_TOK_SCORES], r->scores, gguf_keys[K_TOK_PIECES],
				 t->count);
	return 0;
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
	ret = gguf_take_u32(&r, "version", &version);
	if (ret)
		return ret;
	if (version != 3)
		return error_set(err, -EINVAL, "GGUF version is %" PRIu32 ", only 3 is supported",
				 version);
	ret = gguf_take_u64(&r, "tensor count", &tensors) ?:
	      gguf_take_u64(&r, "key count", &n_keys);
	if (ret)
		return ret;
	if (tensors > MAX_TENSORS)
		return error_set(err, -EINVAL, "%" PRIu64 " tensors, at most %u", tensors,
				 MAX_TENSORS);
	if (n_keys > MAX_KEYS)
		return error_set(err, -EINVAL, "%" PRIu64 " keys, at most %u", n_keys, MAX_KEYS);
	return read_keys(&r, n_keys) ?: check_keys(&r) ?: gguf_read_tensors(&r, tensors);
}
