// SPDX-License-Identifier: MIT
/*
 * llama2.c checkpoints: every tensor is found where the format puts it, every
 * file that is not whole or not sensible is refused by name, and the weights
 * arrive in device memory role by role.
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

#include "llama/weights.h"

#define MAX_FILE	(1 << 20)

/**
 * struct file - a checkpoint in the making.
 * @bytes: Contents.
 * @size: Their number.
 * @c: Sizes.
 * @group: Version 2: group.
 */
struct file {
	uint8_t bytes[MAX_FILE];
	size_t size;
	struct model_config c;
	uint32_t group;
};

static const enum model_role v0_order[] = {
	MODEL_EMBED, MODEL_RMS_ATT, MODEL_WQ, MODEL_WK, MODEL_WV, MODEL_WO, MODEL_RMS_FFN,
	MODEL_W1, MODEL_W2, MODEL_W3, MODEL_RMS_FINAL,
};

static const enum model_role v1_order[] = {
	MODEL_RMS_ATT, MODEL_RMS_FFN, MODEL_RMS_FINAL, MODEL_EMBED, MODEL_WQ, MODEL_WK, MODEL_WV,
	MODEL_WO, MODEL_W1, MODEL_W2, MODEL_W3,
};

static bool is_norm(enum model_role role)
{
	return role == MODEL_RMS_ATT || role == MODEL_RMS_FFN || role == MODEL_RMS_FINAL;
}

/* A small integer for each element: exact in every type. */
static int element(enum model_role role, uint32_t layer, uint32_t i)
{
	return (int)((role * 37 + layer * 11 + i) % 251) - 125;
}

/* A power of two per group: exact as well. */
static float scale(enum model_role role, uint32_t layer, uint32_t group)
{
	return 0.25f * (1 << (role + layer + group) % 5);
}

static void put(struct file *f, const void *p, size_t n)
{
	assert_true(f->size + n <= MAX_FILE);
	memcpy(f->bytes + f->size, p, n);
	f->size += n;
}

static void put_tensor(struct file *f, enum model_role role, uint32_t layer)
{
	bool quantised = f->group && !is_norm(role);
	uint32_t rows, cols, i;
	float v;
	int8_t q;

	model_shape(&f->c, role, &rows, &cols);
	for (i = 0; i < rows * cols; i++) {
		q = element(role, layer, i);
		v = q;
		put(f, quantised ? (void *)&q : (void *)&v, quantised ? 1 : 4);
	}
	for (i = 0; quantised && i < rows * cols / f->group; i++) {
		v = scale(role, layer, i);
		put(f, &v, 4);
	}
}

static void put_roles(struct file *f, const enum model_role *order, size_t n)
{
	uint32_t l;
	size_t i;

	for (i = 0; i < n; i++)
		for (l = 0; l < (model_per_layer(order[i]) ? f->c.layers : 1); l++)
			put_tensor(f, order[i], l);
}

static struct file *make(int version, bool tied, uint32_t group)
{
	struct file *f = calloc(1, sizeof(*f));
	const struct model_config c = {
		.dim = 8, .hidden = 12, .layers = 3, .heads = 4, .kv_heads = 2, .head_size = 2,
		.vocab = 11, .context = 5, .tied = tied,
	};
	int32_t words[9] = { 0x616b3432, version, 8, 12, 3, 4, 2, 11, 5 };
	uint8_t shared = tied;

	assert_non_null(f);
	f->c = c;
	f->group = group;
	if (!version) {
		words[7] = tied ? 11 : -11;
		put(f, words + 2, 28);
		put_roles(f, v0_order, sizeof(v0_order) / sizeof(v0_order[0]));
		f->size += 5 * 2 * 4;
	} else {
		put(f, words, 36);
		put(f, &shared, 1);
		put(f, &group, 4);
		f->size = 256;
		put_roles(f, v1_order, sizeof(v1_order) / sizeof(v1_order[0]));
	}
	if (!tied)
		put_tensor(f, MODEL_HEAD, 0);
	return f;
}

static struct model *open_file(const struct file *f)
{
	struct error err = { "" };
	struct model *m = NULL;

	if (model_from_memory(f->bytes, f->size, &m, &err))
		fail_msg("%s", err.text);
	return m;
}

static float expected(const struct file *f, enum model_role role, uint32_t layer, uint32_t i)
{
	if (role == MODEL_HEAD && f->c.tied)
		role = MODEL_EMBED;
	if (f->group && !is_norm(role))
		return element(role, layer, i) * scale(role, layer, i / f->group);
	return element(role, layer, i);
}

static void check_values(const struct file *f, const struct model *m)
{
	uint32_t l, row, i;
	float out[64];
	int r;

	for (r = 0; r < MODEL_ROLES; r++) {
		for (l = 0; l < (model_per_layer(r) ? f->c.layers : 1); l++) {
			const struct model_tensor *t = &m->tensors[r][l];

			for (row = 0; row < t->rows; row++) {
				model_row_floats(t, row, out);
				for (i = 0; i < t->cols; i++)
					assert_true(out[i] == expected(f, r, l, row * t->cols + i));
			}
		}
	}
}

/* What the device gets, widened by hand: values, then layers at the stride. */
static void check_device(const struct file *f, const struct llama_weights *w)
{
	const struct llama_role *role;
	uint8_t *values, *scales;
	uint32_t l, i;
	void *map;
	float v;
	int r;

	for (r = 0; r < MODEL_ROLES; r++) {
		role = &w->layout.role[r];
		assert_int_equal(vrdu_bo_map(w->values[r], &map), 0);
		values = map;
		scales = NULL;
		if (w->scales[r]) {
			assert_int_equal(vrdu_bo_map(w->scales[r], &map), 0);
			scales = map;
		}
		assert_true(!scales == (role->elem != VRDU_ELEM_I8));
		for (l = 0; l < role->layers; l++) {
			for (i = 0; i < role->rows * role->cols; i++) {
				if (scales) {
					memcpy(&v, scales + l * role->scale_stride +
					       i / role->group * 4, 4);
					v *= (int8_t)values[l * role->stride + i];
				} else {
					memcpy(&v, values + l * role->stride + i * 4, 4);
				}
				assert_true(v == expected(f, r, l, i));
			}
		}
	}
}

static void formats(void **state)
{
	static const struct {
		int version;
		bool tied;
		uint32_t group;
	} cases[] = {
		{ 0, true, 0 }, { 0, false, 0 }, { 1, true, 0 }, { 1, false, 0 }, { 2, true, 4 },
		{ 2, false, 2 },
	};
	struct llama_weights w;
	struct vrdu_context *ctx;
	struct vrdu_device *dev;
	struct error err = { "" };
	struct model *m;
	struct file *f;
	size_t i;

	(void)state;
	assert_int_equal(vrdu_device_open("sim:tiny", NULL, &dev), 0);
	assert_int_equal(vrdu_context_create(dev, &ctx), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f = make(cases[i].version, cases[i].tied, cases[i].group);
		m = open_file(f);
		assert_int_equal(m->config.hidden, 12);
		assert_int_equal(m->config.vocab, 11);
		assert_int_equal(m->config.head_size, 2);
		assert_int_equal(m->config.tied, cases[i].tied);
		check_values(f, m);
		assert_int_equal(llama_weights_create(ctx, m, false, &w, &err), 0);
		assert_true((w.values[MODEL_HEAD] == w.values[MODEL_EMBED]) == cases[i].tied);
		check_device(f, &w);
		llama_weights_destroy(&w);
		model_close(m);
		free(f);
	}
	vrdu_context_unref(ctx);
	vrdu_device_unref(dev);
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

static void truncated(void **state)
{
	struct file *f;
	int version;
	size_t n;

	(void)state;
	for (version = 0; version < 3; version++) {
		f = make(version, version != 1, version == 2 ? 4 : 0);
		for (n = 0; n < 8; n++)
			refuse(f->bytes, n, "too few");
		for (n = 8; n < f->size; n += n < 300 ? 1 : 61)
			refuse(f->bytes, n, "truncated");
		refuse(f->bytes, f->size - 1, "truncated");
		refuse(f->bytes, f->size + 1, "1 bytes follow");
		free(f);
	}
}

/* One wrong word at a time: @at counts bytes of the header. */
static void bad_fields(void **state)
{
	static const struct {
		int version;
		uint32_t at;
		int32_t value;
		const char *why;
	} cases[] = {
		{ 0, 0, 0, "dim is 0" },
		{ 0, 0, -8, "dim" },
		{ 0, 0, 1 << 20, "dim is 1048576, must be 1 to 131072" },
		{ 0, 0, 10, "not a multiple of n_heads" },
		{ 0, 4, 0, "hidden_dim is 0" },
		{ 0, 4, INT32_MAX, "hidden_dim" },
		{ 0, 8, 0, "n_layers is 0" },
		{ 0, 8, 1025, "n_layers is 1025, must be 1 to 1024" },
		{ 0, 12, 0, "n_heads is 0" },
		{ 0, 12, 8, "head size is 1, must be even" },
		{ 0, 16, 3, "n_kv_heads 3 does not divide n_heads 4" },
		{ 0, 16, 0, "n_kv_heads is 0" },
		{ 0, 20, 0, "vocab_size is 0" },
		{ 0, 20, INT32_MIN, "vocab_size" },
		{ 0, 20, 1 << 21, "vocab_size" },
		{ 0, 24, 0, "max_seq_len is 0" },
		{ 0, 24, 1 << 21, "max_seq_len" },
		{ 1, 4, 3, "version is 3" },
		{ 1, 4, 0, "version is 0" },
		{ 1, 28, -11, "vocab_size is negative" },
		{ 1, 36, 2, "shared_classifier is 2" },
		{ 2, 37, 0, "group_size is 0" },
		{ 2, 37, -1, "group_size" },
		{ 2, 37, 3, "not whole groups of group_size 3" },
		{ 2, 37, 8, "not whole groups of group_size 8" },
	};
	struct file *f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		f = make(cases[i].version, true, cases[i].version == 2 ? 4 : 0);
		memcpy(f->bytes + cases[i].at, &cases[i].value, cases[i].at == 36 ? 1 : 4);
		refuse(f->bytes, f->size, cases[i].why);
		free(f);
	}
}

static void half_precision(void **state)
{
	uint32_t h, exp, man;
	double v;

	(void)state;
	for (h = 0; h < 0x8000; h++) {
		exp = h >> 10;
		man = h & 0x3ff;
		v = exp ? (1024 + man) * (exp > 25 ? (double)(1u << (exp - 25)) :
					  1.0 / (1u << (25 - exp))) : man / 16777216.0;
		if (exp == 31) {
			assert_true(man ? model_half(h) != model_half(h) :
				    model_half(h) > 3e38f && model_half(h | 0x8000) < -3e38f);
			continue;
		}
		assert_true(model_half(h) == (float)v);
		assert_true(model_half(h | 0x8000) == -(float)v);
	}
}

static void files(void **state)
{
	char path[] = "/tmp/test_model.XXXXXX";
	struct error err = { "" };
	struct model *m = NULL;
	struct file *f = make(1, true, 0);
	FILE *out;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(model_open(path, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "empty"));
	out = fdopen(fd, "w");
	assert_int_equal(fwrite(f->bytes, 1, f->size, out), f->size);
	fclose(out);
	assert_int_equal(model_open(path, &m, &err), 0);
	check_values(f, m);
	model_close(m);
	m = NULL;
	remove(path);
	assert_int_equal(model_open(path, &m, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(model_open("/tmp", &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "not a regular file"));
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats),
		cmocka_unit_test(truncated),
		cmocka_unit_test(bad_fields),
		cmocka_unit_test(half_precision),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
