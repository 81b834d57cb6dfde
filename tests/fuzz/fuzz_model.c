// SPDX-License-Identifier: MIT
/*
 * Fuzz target for everything that reads a file of others: llama2.c and GGUF
 * checkpoints, tokenizer.bin, embedded tokenizers, and the text codec on top.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -I tools -I libvrdu -I uapi \
 *		tests/fuzz/fuzz_model.c tools/llama/{model,llama2c,gguf,gguf_tensors,tokenizer,bpe}.c \
 *		tools/common/error.c -o fuzz_model
 *
 * The first byte of an input says what the rest is: odd: a tokenizer.bin (two
 * bytes of vocabulary size first), even: a model file.
 */
#include "llama/tokenizer.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IDS		512
#define MAX_ROWS	64u

/* Reads must be inside the input: the sanitizer watches. */
static void touch_tensor(const struct model_tensor *t)
{
	float *row = malloc((size_t)t->cols * sizeof(*row));
	uint32_t i, step = t->rows / MAX_ROWS + 1;

	if (!row)
		abort();
	for (i = 0; i < t->rows; i += step)
		model_row_floats(t, i, row);
	model_row_floats(t, t->rows - 1, row);
	free(row);
}

static void touch_tokenizer(const struct tokenizer *t, const char *text, size_t n)
{
	int32_t ids[MAX_IDS];
	struct error err;
	size_t len;
	int count, i;

	count = tokenizer_encode(t, text, n, ids, MAX_IDS, &err);
	for (i = 0; i < count; i++) {
		const char *s = tokenizer_decode(t, i ? ids[i - 1] : -1, ids[i], &len);

		if (len > TOKENIZER_MAX_PIECE || (len && !s))
			abort();
	}
	tokenizer_decode(t, 1, -1, &len);
	tokenizer_decode(t, 1, INT32_MAX, &len);
}

static void fuzz_tokenizer(const uint8_t *data, size_t size)
{
	struct tokenizer *t;
	struct error err = { "" };
	uint32_t vocab;
	int ret;

	if (size < 2)
		return;
	vocab = data[0] | data[1] << 8;
	ret = tokenizer_from_memory(data + 2, size - 2, vocab, &t, &err);
	if (ret) {
		/* A refusal says why. */
		if (!err.text[0])
			abort();
		return;
	}
	touch_tokenizer(t, (const char *)data, size < 300 ? size : 300);
	tokenizer_free(t);
}

static void fuzz_model(const uint8_t *data, size_t size)
{
	struct tokenizer *t = NULL;
	struct error err = { "" };
	struct model *m;
	uint32_t i, n;
	unsigned int r;

	if (model_from_memory(data, size, &m, &err)) {
		if (!err.text[0])
			abort();
		return;
	}
	for (r = 0; r < MODEL_ROLES; r++) {
		n = model_per_layer(r) ? m->config.layers : 1;
		for (i = 0; i < n; i++)
			touch_tensor(&m->tensors[r][i]);
	}
	if (!tokenizer_from_vocab(&m->vocab, &t, &err))
		touch_tokenizer(t, (const char *)data, size < 300 ? size : 300);
	tokenizer_free(t);
	model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		fuzz_tokenizer(data + 1, size - 1);
	else
		fuzz_model(data + 1, size - 1);
	return 0;
}
