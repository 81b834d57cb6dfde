// SPDX-License-Identifier: MIT
/*
 * GGUF files: values in all element types, the embedded tokenizer, and one
 * defect at a time, each refused by name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "llama/tokenizer.h"

#define MAX_FILE	(1 << 20)
#define DIM		32u
#define LAYERS		2u
#define VOCAB		6u
#define TENSORS		(2 + 9 * LAYERS)

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

/**
 * struct file - a GGUF file in the making, and what shall be wrong with it.
 * @bytes: Contents.
 * @size: Their number.
 * @type: Element type of the matrices.
 * @alignment: general.alignment, 0: not said.
 * @defect: What shall be wrong, by number; 0: nothing.
 */
struct file {
	uint8_t bytes[MAX_FILE];
	size_t size;
	uint32_t type;
	uint32_t alignment;
	int defect;
};

enum {
	GOOD, VERSION, MANY_TENSORS, MANY_KEYS, LONG_KEY, BAD_VALUE_TYPE, NESTED_ARRAY, HUGE_ARRAY,
	NO_ARCH, OTHER_ARCH, TWICE, ALIGN_ODD, ALIGN_BIG, NO_LAYERS, ZERO_HEADS, ROPE_DIMS,
	ROPE_SCALED, EXPERTS, NEGATIVE, NAME_LONG, DIMS_5, DIM_HUGE, SHAPE, TYPE_UNKNOWN,
	OFFSET_ODD, OFFSET_FAR, OFFSET_WRAP, OVERLAP, TENSOR_TWICE, TENSOR_UNKNOWN, TENSOR_MISSING, LAYER_99,
	PIECES_FEW, SCORES_FEW, BOS_BIG, STRING_LONG, DEFECTS,
};

static const char *const reasons[DEFECTS] = {
	[VERSION] = "GGUF version is 2",
	[MANY_TENSORS] = "tensors, at most",
	[MANY_KEYS] = "keys, at most 4096",
	[LONG_KEY] = "key is 300 bytes long, at most 256",
	[BAD_VALUE_TYPE] = "value type is 13",
	[NESTED_ARRAY] = "array of elements of type 9",
	[HUGE_ARRAY] = "truncated: array",
	[NO_ARCH] = "key general.architecture is missing",
	[OTHER_ARCH] = "is \"mamba\", only \"llama\"",
	[TWICE] = "key llama.block_count appears twice",
	[ALIGN_ODD] = "general.alignment is 48",
	[ALIGN_BIG] = "general.alignment is 2097152",
	[NO_LAYERS] = "n_layers is 0",
	[ZERO_HEADS] = "llama.attention.head_count 0",
	[ROPE_DIMS] = "llama.rope.dimension_count is 4",
	[ROPE_SCALED] = "is \"yarn\", only \"none\"",
	[EXPERTS] = "llama.expert_count is 8",
	[NEGATIVE] = "llama.context_length is out of range",
	[NAME_LONG] = "tensor name is 200 bytes long",
	[DIMS_5] = "5 dimensions",
	[DIM_HUGE] = "the model's sizes ask for",
	[SHAPE] = "the model's sizes ask for",
	[TYPE_UNKNOWN] = "element type 2 is not supported",
	[OFFSET_ODD] = "not a multiple of the alignment 32",
	[OFFSET_FAR] = "truncated: tensor",
	[OFFSET_WRAP] = "truncated: tensor",
	[OVERLAP] = "overlap",
	[TENSOR_TWICE] = "appears twice",
	[TENSOR_UNKNOWN] = "blk.1.attn_rot.weight is not one of a llama",
	[TENSOR_MISSING] = "tensor blk.1.ffn_up.weight is missing",
	[LAYER_99] = "tensor blk.99.ffn_up.weight is not one of a llama with 2 layers",
	[PIECES_FEW] = "pieces, the embedding has 6 rows",
	[SCORES_FEW] = "tokenizer.ggml.scores has 5 entries",
	[BOS_BIG] = "token 6 that begins or ends",
	[STRING_LONG] = "string is 2097152 bytes long",
};

static void put(struct file *f, const void *p, size_t n)
{
	assert_true(f->size + n <= MAX_FILE);
	memcpy(f->bytes + f->size, p, n);
	f->size += n;
}

static void put32(struct file *f, uint32_t v)
{
	put(f, &v, 4);
}

static void put64(struct file *f, uint64_t v)
{
	put(f, &v, 8);
}

static void put_text(struct file *f, const char *s)
{
	put64(f, strlen(s));
	put(f, s, strlen(s));
}

static uint32_t n_keys;

static void key(struct file *f, const char *name, uint32_t type)
{
	put_text(f, name);
	put32(f, type);
	n_keys++;
}

static void key_u32(struct file *f, const char *name, uint32_t v)
{
	key(f, name, U32);
	put32(f, v);
}

static void key_text(struct file *f, const char *name, const char *s)
{
	key(f, name, STRING);
	put_text(f, s);
}

/* Keys that a defect adds; the good file has none of them. */
static void odd_keys(struct file *f)
{
	char name[301];

	memset(name, 'k', sizeof(name));
	name[300] = '\0';
	switch (f->defect) {
	case LONG_KEY:
		key_u32(f, name, 1);
		break;
	case BAD_VALUE_TYPE:
		key(f, "x", 13);
		break;
	case NESTED_ARRAY:
	case HUGE_ARRAY:
		key(f, "x", ARRAY);
		put32(f, f->defect == NESTED_ARRAY ? ARRAY : F64);
		put64(f, f->defect == NESTED_ARRAY ? 1 : UINT64_MAX / 4);
		break;
	case TWICE:
		key_u32(f, "llama.block_count", LAYERS);
		break;
	case ROPE_SCALED:
		key_text(f, "llama.rope.scaling.type", "yarn");
		break;
	case EXPERTS:
		key_u32(f, "llama.expert_count", 8);
		break;
	case STRING_LONG:
		key(f, "x", STRING);
		put64(f, 2097152);
		break;
	}
}

static void put_tokenizer(struct file *f)
{
	static const char *const pieces[VOCAB] = {
		"<unk>", "<s>", "</s>", "\xe2\x96\x81", "\xe2\x96\x81" "a", "a",
	};
	uint32_t n = f->defect == PIECES_FEW ? VOCAB - 1 : VOCAB, i;
	float v;

	key_text(f, "tokenizer.ggml.model", "llama");
	key(f, "tokenizer.ggml.tokens", ARRAY);
	put32(f, STRING);
	put64(f, n);
	for (i = 0; i < n; i++)
		put_text(f, pieces[i]);
	if (f->defect == SCORES_FEW)
		n--;
	key(f, "tokenizer.ggml.scores", ARRAY);
	put32(f, F32);
	put64(f, n);
	for (i = 0; i < n; i++) {
		v = -(float)i;
		put(f, &v, 4);
	}
	key_u32(f, "tokenizer.ggml.bos_token_id", f->defect == BOS_BIG ? VOCAB : 1);
	key_u32(f, "tokenizer.ggml.eos_token_id", 2);
}

static void put_keys(struct file *f)
{
	float eps = 1e-6f, theta = 500000.0f;
	uint64_t ctx = f->defect == NEGATIVE ? UINT64_MAX : 9;

	if (f->defect != NO_ARCH)
		key_text(f, "general.architecture", f->defect == OTHER_ARCH ? "mamba" : "llama");
	if (f->alignment)
		key_u32(f, "general.alignment", f->alignment);
	key_u32(f, "llama.block_count", f->defect == NO_LAYERS ? 0 : LAYERS);
	key_u32(f, "llama.embedding_length", DIM);
	key_u32(f, "llama.feed_forward_length", DIM);
	key_u32(f, "llama.attention.head_count", f->defect == ZERO_HEADS ? 0 : 4);
	key_u32(f, "llama.attention.head_count_kv", 2);
	key(f, "llama.context_length", I64);
	put64(f, ctx);
	key_u32(f, "llama.rope.dimension_count", f->defect == ROPE_DIMS ? 4 : 8);
	key(f, "llama.rope.freq_base", F32);
	put(f, &theta, 4);
	key(f, "llama.attention.layer_norm_rms_epsilon", F32);
	put(f, &eps, 4);
	put_tokenizer(f);
	odd_keys(f);
}

/**
 * struct tensor - one tensor of the file.
 * @name: Name.
 * @rows: Rows.
 * @cols: Elements of a row.
 * @type: Element type.
 */
struct tensor {
	char name[201];
	uint32_t rows;
	uint32_t cols;
	uint32_t type;
};

static const struct {
	const char *name;
	enum model_role role;
	uint32_t rows;
} layer_tensors[9] = {
	{ "attn_norm", MODEL_RMS_ATT, 1 }, { "attn_q", MODEL_WQ, DIM },
	{ "attn_k", MODEL_WK, DIM / 2 }, { "attn_v", MODEL_WV, DIM / 2 },
	{ "attn_output", MODEL_WO, DIM }, { "ffn_norm", MODEL_RMS_FFN, 1 },
	{ "ffn_gate", MODEL_W1, DIM }, { "ffn_down", MODEL_W2, DIM }, { "ffn_up", MODEL_W3, DIM },
};

static struct tensor tensor_at(const struct file *f, uint32_t i)
{
	struct tensor t = { .rows = VOCAB, .cols = DIM, .type = f->type };
	uint32_t l, k;

	if (i == 0) {
		strcpy(t.name, "token_embd.weight");
	} else if (i == 1) {
		strcpy(t.name, "output_norm.weight");
		t.rows = 1;
		t.type = 0;
	} else {
		l = (i - 2) / 9;
		k = (i - 2) % 9;
		snprintf(t.name, sizeof(t.name), "blk.%u.%s.weight", l, layer_tensors[k].name);
		t.rows = layer_tensors[k].rows;
		if (t.rows == 1)
			t.type = 0;
	}
	return t;
}

static uint64_t tensor_bytes(const struct tensor *t)
{
	uint64_t n = (uint64_t)t->rows * t->cols;

	return t->type == 8 ? n / 32 * 34 : t->type ? n * 2 : n * 4;
}

static int element(uint32_t tensor, uint32_t i)
{
	return (int)((tensor * 37 + i) % 251) - 125;
}

/* IEEE binary16 of a small integer. */
static uint16_t half_of(int v)
{
	uint16_t sign = v < 0 ? 0x8000 : 0, exp = 25, man = v < 0 ? -v : v;

	if (!man)
		return 0;
	while (man < 1024) {
		man <<= 1;
		exp--;
	}
	return sign | exp << 10 | (man & 0x3ff);
}

static void put_data(struct file *f, uint32_t tensor, const struct tensor *t)
{
	uint32_t n = t->rows * t->cols, i, bits;
	uint16_t h;
	float v;
	int8_t q;

	for (i = 0; i < n; i++) {
		v = element(tensor, i);
		memcpy(&bits, &v, 4);
		if (t->type == 0) {
			put(f, &v, 4);
		} else if (t->type == 1) {
			h = half_of(element(tensor, i));
			put(f, &h, 2);
		} else if (t->type == 30) {
			h = bits >> 16;
			put(f, &h, 2);
		} else {
			h = half_of(1 << i / 32 % 4);
			if (i % 32 == 0)
				put(f, &h, 2);
			q = element(tensor, i);
			put(f, &q, 1);
		}
	}
}

/* The directory entry of tensor @i at @offset of the data section, with the file's defect. */
static void put_info(struct file *f, uint32_t i, uint64_t offset)
{
	struct tensor t = tensor_at(f, i);
	bool last = i == TENSORS - 1;
	uint64_t cols = t.cols, rows = t.rows;
	uint32_t dims = rows == 1 ? 1 : 2;

	if (last && f->defect == NAME_LONG)
		memset(t.name, 'n', 200);
	if (last && f->defect == TENSOR_TWICE)
		strcpy(t.name, "blk.1.ffn_down.weight");
	if (last && f->defect == TENSOR_UNKNOWN)
		strcpy(t.name, "blk.1.attn_rot.weight");
	if (last && f->defect == LAYER_99)
		strcpy(t.name, "blk.99.ffn_up.weight");
	if (last && f->defect == DIM_HUGE)
		rows = 1ull << 60;
	if (last && f->defect == SHAPE)
		rows++;
	if (last && f->defect == OFFSET_ODD)
		offset += 2;
	if (last && f->defect == OFFSET_FAR)
		offset += 32;
	if (last && f->defect == OFFSET_WRAP)
		offset = UINT64_MAX - 31;
	if (last && f->defect == OVERLAP)
		offset -= 32;
	put_text(f, t.name);
	put32(f, last && f->defect == DIMS_5 ? 5 : dims);
	put64(f, cols);
	if (dims == 2)
		put64(f, rows);
	put32(f, last && f->defect == TYPE_UNKNOWN ? 2 : t.type);
	put64(f, offset);
}

static struct file *make(uint32_t type, uint32_t alignment, int defect)
{
	uint32_t align = alignment ? alignment : 32, i, n = TENSORS - (defect == TENSOR_MISSING);
	struct file *f = calloc(1, sizeof(*f));
	struct tensor t;
	uint64_t offset = 0;
	size_t keys_at;

	assert_non_null(f);
	f->type = type;
	f->alignment = defect == ALIGN_ODD ? 48 : defect == ALIGN_BIG ? 2097152 : alignment;
	f->defect = defect;
	n_keys = 0;
	put(f, "GGUF", 4);
	put32(f, defect == VERSION ? 2 : 3);
	put64(f, defect == MANY_TENSORS ? 1000000 : n);
	keys_at = f->size;
	put64(f, 0);
	put_keys(f);
	memcpy(f->bytes + keys_at, &(uint64_t){ defect == MANY_KEYS ? 4097 : n_keys }, 8);
	for (i = 0; i < n; i++) {
		t = tensor_at(f, i);
		put_info(f, i, offset);
		offset = (offset + tensor_bytes(&t) + align - 1) / align * align;
	}
	for (i = 0; i < n; i++) {
		t = tensor_at(f, i);
		f->size = (f->size + align - 1) / align * align;
		put_data(f, i, &t);
	}
	return f;
}

static void check_tensor(const struct file *f, const struct model_tensor *t, uint32_t tensor)
{
	float out[DIM], want;
	uint32_t row, i, at;

	for (row = 0; row < t->rows; row++) {
		model_row_floats(t, row, out);
		for (i = 0; i < t->cols; i++) {
			at = row * t->cols + i;
			want = element(tensor, at);
			if (f->type == 8 && t->rows > 1)
				want *= 1 << at / 32 % 4;
			assert_true(out[i] == want);
		}
	}
}

static void values(void **state)
{
	static const uint32_t types[] = { 0, 1, 8, 30 };
	struct error err = { "" };
	struct model *m = NULL;
	struct file *f;
	uint32_t k, l, i;

	(void)state;
	for (k = 0; k < 8; k++) {
		f = make(types[k % 4], k < 4 ? 0 : 64, GOOD);
		if (model_from_memory(f->bytes, f->size, &m, &err))
			fail_msg("%s", err.text);
		assert_int_equal(m->config.dim, DIM);
		assert_int_equal(m->config.kv_heads, 2);
		assert_int_equal(m->config.head_size, 8);
		assert_int_equal(m->config.context, 9);
		assert_true(m->config.eps == 1e-6f && m->config.theta == 500000.0f);
		assert_true(m->config.tied);
		check_tensor(f, m->tensors[MODEL_EMBED], 0);
		check_tensor(f, m->tensors[MODEL_HEAD], 0);
		check_tensor(f, m->tensors[MODEL_RMS_FINAL], 1);
		for (l = 0; l < LAYERS; l++)
			for (i = 0; i < 9; i++)
				check_tensor(f, &m->tensors[layer_tensors[i].role][l],
					     2 + l * 9 + i);
		model_close(m);
		free(f);
	}
}

static void tokenizer(void **state)
{
	struct file *f = make(0, 0, GOOD);
	struct tokenizer *t = NULL;
	struct error err = { "" };
	struct model *m = NULL;
	int32_t ids[8];

	(void)state;
	assert_int_equal(model_from_memory(f->bytes, f->size, &m, &err), 0);
	assert_int_equal(m->vocab.count, VOCAB);
	assert_int_equal(tokenizer_from_vocab(&m->vocab, &t, &err), 0);
	/* The copy stands on its own. */
	model_close(m);
	free(f);
	assert_int_equal(tokenizer_encode(t, "a a", 3, ids, 8, &err), 3);
	assert_int_equal(ids[0], 1);
	assert_int_equal(ids[1], 4);
	assert_int_equal(ids[2], 4);
	tokenizer_free(t);
}

static void refuse(const uint8_t *bytes, size_t size, const char *why)
{
	uint8_t *exact = malloc(size ? size : 1);
	struct error err = { "" };
	struct model *m = NULL;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	assert_int_equal(model_from_memory(exact, size, &m, &err), -EINVAL);
	assert_null(m);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	free(exact);
}

static void defects(void **state)
{
	struct file *f;
	int d;

	(void)state;
	for (d = 1; d < DEFECTS; d++) {
		f = make(d % 2 ? 0 : 8, 0, d);
		refuse(f->bytes, f->size, reasons[d]);
		free(f);
	}
}

static void truncated(void **state)
{
	struct file *f = make(30, 0, GOOD);
	size_t n;

	(void)state;
	for (n = 8; n < f->size; n += n < 3000 ? 1 : 171)
		refuse(f->bytes, n, "truncated");
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(tokenizer),
		cmocka_unit_test(defects),
		cmocka_unit_test(truncated),
	};

	return cmocka_run_group_tests_name("model_gguf", tests, NULL, NULL);
}
