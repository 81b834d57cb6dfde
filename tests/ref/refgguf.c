// SPDX-License-Identifier: MIT
/*
 * Loading of GGUF version 3 files of architecture "llama" with F32, F16, BF16
 * and Q8_0 tensors.
 *
 * A file is read front to back through a cursor that cannot leave it. Whatever
 * could change the computation and is not known here (a foreign llama.* key, a
 * foreign tensor, another rope width) is refused by name instead of ignored.
 */
#include "refload.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More tensors than the largest allowed number of layers can have. */
#define MAX_TENSORS	(9 * REF_MAX_LAYERS + 3)
#define MAX_KEYS	4096
#define MAX_NAME	128

enum value_type {
	TYPE_U8, TYPE_I8, TYPE_U16, TYPE_I16, TYPE_U32, TYPE_I32, TYPE_F32, TYPE_BOOL,
	TYPE_STRING, TYPE_ARRAY, TYPE_U64, TYPE_I64, TYPE_F64, TYPES,
};

/* Bytes of the fixed-size value types; 0 for the others. */
static const uint8_t type_size[TYPES] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

enum element {
	ELEMENT_F32 = 0,
	ELEMENT_F16 = 1,
	ELEMENT_Q8_0 = 8,
	ELEMENT_BF16 = 30,
};

/* A string inside the file; not terminated. */
struct text {
	const uint8_t *at;
	uint64_t length;
};

/* The unread rest of the file. */
struct cursor {
	const uint8_t *bytes;
	size_t size;
	size_t at;
	struct ref_error *error;
};

struct tensor {
	struct text name;
	uint64_t cols;
	uint64_t rows;
	uint32_t element;
	uint64_t offset;
};

/* What the keys say; -1 and NaN mean that the key is absent. */
struct keys {
	struct text architecture;
	int64_t alignment;
	int64_t context;
	int64_t dim;
	int64_t layers;
	int64_t hidden;
	int64_t heads;
	int64_t kv_heads;
	int64_t rope_dims;
	int64_t key_length;
	int64_t value_length;
	int64_t vocab;
	int64_t tokens;
	double eps;
	double rope_base;
};

enum want { WANT_INT, WANT_FLOAT, WANT_STRING, WANT_COUNT };

static const struct {
	const char *name;
	enum want want;
	size_t offset;
} known[] = {
	{ "general.architecture", WANT_STRING, offsetof(struct keys, architecture) },
	{ "general.alignment", WANT_INT, offsetof(struct keys, alignment) },
	{ "llama.context_length", WANT_INT, offsetof(struct keys, context) },
	{ "llama.embedding_length", WANT_INT, offsetof(struct keys, dim) },
	{ "llama.block_count", WANT_INT, offsetof(struct keys, layers) },
	{ "llama.feed_forward_length", WANT_INT, offsetof(struct keys, hidden) },
	{ "llama.attention.head_count", WANT_INT, offsetof(struct keys, heads) },
	{ "llama.attention.head_count_kv", WANT_INT, offsetof(struct keys, kv_heads) },
	{ "llama.attention.key_length", WANT_INT, offsetof(struct keys, key_length) },
	{ "llama.attention.value_length", WANT_INT, offsetof(struct keys, value_length) },
	{ "llama.attention.layer_norm_rms_epsilon", WANT_FLOAT, offsetof(struct keys, eps) },
	{ "llama.rope.dimension_count", WANT_INT, offsetof(struct keys, rope_dims) },
	{ "llama.rope.freq_base", WANT_FLOAT, offsetof(struct keys, rope_base) },
	{ "llama.vocab_size", WANT_INT, offsetof(struct keys, vocab) },
	{ "tokenizer.ggml.tokens", WANT_COUNT, offsetof(struct keys, tokens) },
};

/* The next bytes of the file, or NULL with the error filled in. */
static const uint8_t *take(struct cursor *c, uint64_t count, const char *what)
{
	const uint8_t *at = c->bytes + c->at;

	if (count > c->size - c->at) {
		ref_fail(c->error, "the file ends inside %s, at byte %zu of %zu", what, c->at,
			 c->size);
		return NULL;
	}
	c->at += (size_t)count;
	return at;
}

static int take_u32(struct cursor *c, uint32_t *value, const char *what)
{
	const uint8_t *at = take(c, 4, what);

	if (!at)
		return -1;
	*value = ref_u32(at);
	return 0;
}

static int take_u64(struct cursor *c, uint64_t *value, const char *what)
{
	const uint8_t *at = take(c, 8, what);

	if (!at)
		return -1;
	*value = ref_u64(at);
	return 0;
}

static int take_text(struct cursor *c, struct text *text, const char *what)
{
	if (take_u64(c, &text->length, what))
		return -1;
	text->at = take(c, text->length, what);
	return text->at ? 0 : -1;
}

static bool same(const struct text *text, const char *name)
{
	return text->length == strlen(name) && !memcmp(text->at, name, text->length);
}

/* A name of the file as a string that is safe to print. */
static const char *printable(char out[MAX_NAME], const struct text *text)
{
	size_t count = text->length < MAX_NAME - 1 ? (size_t)text->length : MAX_NAME - 1;

	for (size_t i = 0; i < count; i++)
		out[i] = text->at[i] >= ' ' && text->at[i] <= '~' ? (char)text->at[i] : '?';
	out[count] = '\0';
	return out;
}

/* Skip an array's elements; how many there were is all that is of interest here. */
static int take_array(struct cursor *c, uint64_t *count, const char *name)
{
	struct text element;
	uint32_t type;

	if (take_u32(c, &type, name) || take_u64(c, count, name))
		return -1;
	if (type >= TYPES || type == TYPE_ARRAY)
		return ref_fail(c->error, "%s is an array of the unreadable type %u", name, type);
	if (type == TYPE_STRING) {
		/* Each turn takes 8 bytes or more, so the file's length bounds the loop. */
		for (uint64_t i = 0; i < *count; i++)
			if (take_text(c, &element, name))
				return -1;
		return 0;
	}
	if (*count > (c->size - c->at) / type_size[type])
		return ref_fail(c->error, "%s has %" PRIu64 " elements, the file ends before",
				name, *count);
	return take(c, *count * type_size[type], name) ? 0 : -1;
}

static int to_int(struct cursor *c, int64_t *out, uint32_t type, const uint8_t *at,
		  const char *name)
{
	uint64_t value;

	if (type == TYPE_U32 || (type == TYPE_I32 && (int32_t)ref_u32(at) >= 0))
		value = ref_u32(at);
	else if (type == TYPE_U64 || (type == TYPE_I64 && (int64_t)ref_u64(at) >= 0))
		value = ref_u64(at);
	else
		return ref_fail(c->error, "%s is no number from 0 up (value type %u)", name, type);
	if (value > INT32_MAX)
		return ref_fail(c->error, "%s is %" PRIu64 ", far out of range", name, value);
	*out = (int64_t)value;
	return 0;
}

static int to_float(struct cursor *c, double *out, uint32_t type, const uint8_t *at,
		    const char *name)
{
	uint64_t bits;

	if (type == TYPE_F32) {
		*out = ref_f32(at);
		return 0;
	}
	if (type != TYPE_F64)
		return ref_fail(c->error, "%s is no floating-point number (value type %u)", name,
				type);
	bits = ref_u64(at);
	memcpy(out, &bits, sizeof(*out));
	return 0;
}

/* Read one value of any type; keep it when @field says where. */
static int take_value(struct cursor *c, enum want want, void *field, const char *name)
{
	const uint8_t *at;
	struct text text;
	uint64_t count;
	uint32_t type;

	if (take_u32(c, &type, name))
		return -1;
	if (type >= TYPES)
		return ref_fail(c->error, "%s has the unknown value type %u", name, type);
	if (type == TYPE_STRING) {
		if (take_text(c, &text, name))
			return -1;
		if (field && want == WANT_STRING)
			memcpy(field, &text, sizeof(text));
		else if (field)
			return ref_fail(c->error, "%s is a string", name);
		return 0;
	}
	if (type == TYPE_ARRAY) {
		if (take_array(c, &count, name))
			return -1;
		/* At least one byte an element was there: the count fits. */
		if (field && want == WANT_COUNT)
			*(int64_t *)field = (int64_t)count;
		else if (field)
			return ref_fail(c->error, "%s is an array", name);
		return 0;
	}
	at = take(c, type_size[type], name);
	if (!at)
		return -1;
	if (!field)
		return 0;
	if (want == WANT_INT)
		return to_int(c, field, type, at, name);
	if (want == WANT_FLOAT)
		return to_float(c, field, type, at, name);
	return ref_fail(c->error, "%s has the value type %u", name, type);
}

static int take_key(struct cursor *c, struct keys *keys, uint32_t *seen)
{
	char shown[MAX_NAME];
	struct text name;

	if (take_text(c, &name, "a key"))
		return -1;
	printable(shown, &name);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!same(&name, known[i].name))
			continue;
		if (*seen & 1U << i)
			return ref_fail(c->error, "the key %s comes twice", shown);
		*seen |= 1U << i;
		return take_value(c, known[i].want, (char *)keys + known[i].offset, shown);
	}
	if (name.length > 6 && !memcmp(name.at, "llama.", 6))
		return ref_fail(c->error, "the key %s could change the computation: not known",
				shown);
	return take_value(c, WANT_INT, NULL, shown);
}

static int check_keys(struct keys *k, struct ref_error *error)
{
	char shown[MAX_NAME];

	if (!k->architecture.at)
		return ref_fail(error, "the key general.architecture is missing");
	if (!same(&k->architecture, "llama"))
		return ref_fail(error, "the architecture is %s, not llama",
				printable(shown, &k->architecture));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		int64_t *value = (int64_t *)((char *)k + known[i].offset);
		bool optional = value == &k->alignment || value == &k->kv_heads ||
				value == &k->key_length || value == &k->value_length ||
				value == &k->rope_dims || value == &k->vocab;

		if (known[i].want == WANT_INT && *value < 0 && !optional)
			return ref_fail(error, "the key %s is missing", known[i].name);
	}
	if (isnan(k->rope_base))
		k->rope_base = 10000.0;
	if (!(k->rope_base >= 1.0 && k->rope_base <= 1e9))
		return ref_fail(error, "llama.rope.freq_base is %g, not within 1..1e9",
				k->rope_base);
	if (!(k->eps > 0.0 && k->eps < 1.0))
		return ref_fail(error, "%s is missing or not within 0..1",
				"llama.attention.layer_norm_rms_epsilon");
	if (k->kv_heads < 0)
		k->kv_heads = k->heads;
	if (k->alignment < 0)
		k->alignment = 32;
	if (k->alignment < 8 || k->alignment > 65536 || k->alignment & (k->alignment - 1))
		return ref_fail(error, "general.alignment is %" PRId64
				", no power of two in 8..65536", k->alignment);
	return 0;
}

/* The shape that the keys and the embedding's rows give, checked. */
static int check_widths(const struct keys *k, const struct ref_shape *s, struct ref_error *error)
{
	const struct {
		const char *name;
		int64_t value;
		int64_t must;
	} rules[] = {
		{ "llama.rope.dimension_count", k->rope_dims, s->dim / s->heads },
		{ "llama.attention.key_length", k->key_length, s->dim / s->heads },
		{ "llama.attention.value_length", k->value_length, s->dim / s->heads },
		{ "llama.vocab_size", k->vocab, s->vocab },
		{ "the number of tokenizer.ggml.tokens", k->tokens, s->vocab },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].value >= 0 && rules[i].value != rules[i].must)
			return ref_fail(error, "%s is %" PRId64 ", the tensors say %" PRId64,
					rules[i].name, rules[i].value, rules[i].must);
	return 0;
}

static int take_tensor(struct cursor *c, struct tensor *t, int64_t alignment)
{
	char shown[MAX_NAME];
	uint32_t dims;

	if (take_text(c, &t->name, "a tensor's name"))
		return -1;
	printable(shown, &t->name);
	if (take_u32(c, &dims, shown))
		return -1;
	if (dims < 1 || dims > 2)
		return ref_fail(c->error, "%s has %u dimensions, not 1 or 2", shown, dims);
	t->rows = 1;
	if (take_u64(c, &t->cols, shown) || (dims == 2 && take_u64(c, &t->rows, shown)))
		return -1;
	if (take_u32(c, &t->element, shown) || take_u64(c, &t->offset, shown))
		return -1;
	if (t->offset % (uint64_t)alignment)
		return ref_fail(c->error, "%s lies at offset %" PRIu64 ", no multiple of %" PRId64,
				shown, t->offset, alignment);
	return 0;
}

/* Bytes of a tensor, or 0 with @error filled in. */
static uint64_t tensor_bytes(const struct tensor *t, const char *name, struct ref_error *error)
{
	uint64_t count, bytes, unit = 1, size;

	switch (t->element) {
	case ELEMENT_F32:
		size = 4;
		break;
	case ELEMENT_F16:
	case ELEMENT_BF16:
		size = 2;
		break;
	case ELEMENT_Q8_0:
		unit = 32;
		size = 34;
		break;
	default:
		ref_fail(error, "%s has element type %u: F32, F16, BF16 and Q8_0 are read", name,
			 t->element);
		return 0;
	}
	if (t->cols % unit) {
		ref_fail(error, "%s has rows of %" PRIu64 " elements, no whole Q8_0 blocks", name,
			 t->cols);
		return 0;
	}
	if (__builtin_mul_overflow(t->rows, t->cols, &count) ||
	    __builtin_mul_overflow(count / unit, size, &bytes) || !bytes) {
		ref_fail(error, "%s has the impossible shape %" PRIu64 " x %" PRIu64, name,
			 t->rows, t->cols);
		return 0;
	}
	return bytes;
}

static double f16(uint16_t bits)
{
	int exponent = bits >> 10 & 31;
	double fraction = bits & 1023, value;

	if (exponent == 31)
		value = fraction != 0.0 ? NAN : INFINITY;
	else if (exponent)
		value = ldexp(1024.0 + fraction, exponent - 25);
	else
		value = ldexp(fraction, -24);
	return bits & 0x8000 ? -value : value;
}

static void decode(double *out, const uint8_t *at, uint32_t element, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *block = at + i / 32 * 34;
		uint8_t wide[4] = { 0 };

		switch (element) {
		case ELEMENT_F32:
			out[i] = ref_f32(at + 4 * i);
			break;
		case ELEMENT_F16:
			out[i] = f16(ref_u16(at + 2 * i));
			break;
		case ELEMENT_BF16:
			memcpy(wide + 2, at + 2 * i, 2);
			out[i] = ref_f32(wide);
			break;
		case ELEMENT_Q8_0:
			out[i] = (double)(int8_t)block[2 + i % 32] * f16(ref_u16(block));
			break;
		}
	}
}

/* Everything that stays the same while tensors are looked up. */
struct directory {
	const struct tensor *tensor;
	uint64_t count;
	const uint8_t *data;
	uint64_t size;
	struct ref_error *error;
};

/* The one tensor of this name; NULL with @error filled in when there is none or two. */
static const struct tensor *find(const struct directory *d, const char *name)
{
	const struct tensor *found = NULL;

	for (uint64_t i = 0; i < d->count; i++) {
		if (!same(&d->tensor[i].name, name))
			continue;
		if (found) {
			ref_fail(d->error, "the tensor %s comes twice", name);
			return NULL;
		}
		found = &d->tensor[i];
	}
	if (!found)
		ref_fail(d->error, "the tensor %s is missing", name);
	return found;
}

/* Check one tensor against the shape that it must have; decode it unless @out is NULL. */
static int load_tensor(const struct directory *d, double *out, const char *name, size_t rows,
		       size_t cols)
{
	const struct tensor *t = find(d, name);
	uint64_t bytes;

	if (!t)
		return -1;
	if (t->rows != rows || t->cols != cols)
		return ref_fail(d->error, "%s is %" PRIu64 " x %" PRIu64 ", the keys say %zu x %zu",
				name, t->rows, t->cols, rows, cols);
	bytes = tensor_bytes(t, name, d->error);
	if (!bytes)
		return -1;
	if (t->offset > d->size || bytes > d->size - t->offset)
		return ref_fail(d->error, "%s ends %" PRIu64 " bytes after offset %" PRIu64
				", the data has %" PRIu64 " bytes", name, bytes, t->offset, d->size);
	if (out)
		decode(out, d->data + t->offset, t->element, t->rows * t->cols);
	return 0;
}

/*
 * All tensors of a shape. Called twice: without a model to check the file, then
 * with the model, so that no memory is spent on a file that lacks the data.
 */
static int load_all(const struct directory *d, const struct ref_shape *s, struct ref_model *m)
{
	size_t dim = (size_t)s->dim, hidden = (size_t)s->hidden, vocab = (size_t)s->vocab;
	size_t width = (size_t)(s->dim / s->heads * s->kv_heads);
	const struct {
		const char *role;
		size_t rows;
		size_t cols;
		size_t field;
	} roles[] = {
		{ "attn_norm", 1, dim, offsetof(struct ref_layer, attn_norm) },
		{ "attn_q", dim, dim, offsetof(struct ref_layer, attn_q) },
		{ "attn_k", width, dim, offsetof(struct ref_layer, attn_k) },
		{ "attn_v", width, dim, offsetof(struct ref_layer, attn_v) },
		{ "attn_output", dim, dim, offsetof(struct ref_layer, attn_output) },
		{ "ffn_norm", 1, dim, offsetof(struct ref_layer, ffn_norm) },
		{ "ffn_gate", hidden, dim, offsetof(struct ref_layer, ffn_gate) },
		{ "ffn_down", dim, hidden, offsetof(struct ref_layer, ffn_down) },
		{ "ffn_up", hidden, dim, offsetof(struct ref_layer, ffn_up) },
	};
	uint64_t tied = 9 * (uint64_t)s->layers + 2;

	for (int64_t l = 0; l < s->layers; l++) {
		for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
			double *out = NULL;
			char name[64];

			if (m)
				out = *(double **)((char *)&m->layer[l] + roles[i].field);
			snprintf(name, sizeof(name), "blk.%d.%s.weight", (int)l, roles[i].role);
			if (load_tensor(d, out, name, roles[i].rows, roles[i].cols))
				return -1;
		}
	}
	if (load_tensor(d, m ? m->token_embd : NULL, "token_embd.weight", vocab, dim) ||
	    load_tensor(d, m ? m->output_norm : NULL, "output_norm.weight", 1, dim))
		return -1;
	/* Every known name was found once: what is left can only be the classifier. */
	if (d->count == tied)
		return 0;
	if (d->count > tied + 1)
		return ref_fail(d->error, "the file has %" PRIu64 " tensors, a llama of %" PRId64
				" layers has %" PRIu64 " or one more", d->count, s->layers, tied);
	return load_tensor(d, m ? m->output : NULL, "output.weight", vocab, dim);
}

static int load_shape(struct ref_model **out, const struct directory *d, const struct keys *k)
{
	const struct tensor *embedding = find(d, "token_embd.weight");
	struct ref_shape shape = {
		.dim = k->dim, .hidden = k->hidden, .layers = k->layers, .heads = k->heads,
		.kv_heads = k->kv_heads, .context = k->context,
	};

	if (!embedding)
		return -1;
	if (embedding->rows > REF_MAX_VOCAB)
		return ref_fail(d->error, "token_embd.weight has %" PRIu64
				" rows, at most %d are read", embedding->rows, REF_MAX_VOCAB);
	shape.vocab = (int64_t)embedding->rows;
	if (ref_check_shape(&shape, d->error) || check_widths(k, &shape, d->error) ||
	    load_all(d, &shape, NULL))
		return -1;
	*out = ref_model_new(&shape, d->count == 9 * (uint64_t)shape.layers + 2, d->error);
	if (!*out)
		return -1;
	(*out)->format = "GGUF v3";
	(*out)->eps = k->eps;
	(*out)->rope_base = k->rope_base;
	return load_all(d, &shape, *out);
}

int ref_load_gguf(struct ref_model **out, const uint8_t *bytes, size_t size,
		  struct ref_error *error)
{
	struct cursor c = { .bytes = bytes, .size = size, .at = 4, .error = error };
	struct keys keys;
	struct directory d = { .error = error };
	struct tensor *tensor = NULL;
	uint64_t tensors, count;
	uint32_t version, seen = 0;
	int ret = -1;

	/* -1 in every integer, and the pattern of all ones is a NaN. */
	memset(&keys, 0xff, sizeof(keys));
	memset(&keys.architecture, 0, sizeof(keys.architecture));
	if (take_u32(&c, &version, "the version"))
		return -1;
	if (version != 3)
		return ref_fail(error, "GGUF version %u is not read, only 3", version);
	if (take_u64(&c, &tensors, "the header") || take_u64(&c, &count, "the header"))
		return -1;
	if (tensors < 1 || tensors > MAX_TENSORS || count > MAX_KEYS)
		return ref_fail(error, "%" PRIu64 " tensors and %" PRIu64
				" keys, at most %d and %d are read", tensors, count, MAX_TENSORS,
				MAX_KEYS);
	for (uint64_t i = 0; i < count; i++)
		if (take_key(&c, &keys, &seen))
			return -1;
	if (check_keys(&keys, error))
		return -1;
	tensor = calloc(tensors, sizeof(*tensor));
	if (!tensor)
		return ref_fail(error, "no memory for %" PRIu64 " tensor descriptions", tensors);
	for (uint64_t i = 0; i < tensors; i++)
		if (take_tensor(&c, &tensor[i], keys.alignment))
			goto out;
	d.tensor = tensor;
	d.count = tensors;
	/* The data begins at the next multiple of the alignment. */
	count = (c.at + (uint64_t)keys.alignment - 1) & ~((uint64_t)keys.alignment - 1);
	d.size = count < size ? size - count : 0;
	d.data = bytes + (d.size ? count : 0);
	ret = load_shape(out, &d, &keys);
out:
	if (ret) {
		ref_free(*out);
		*out = NULL;
	}
	free(tensor);
	return ret;
}
