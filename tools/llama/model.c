// SPDX-License-Identifier: MIT
/*
 * Opening a checkpoint: maps the file, finds its format by its first bytes,
 * lets the reader fill the views, and checks what all formats have in common.
 * Owns the mapping and the tensor tables. See model.h.
 */
#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "checkpoints and device memory are little-endian"
#endif

uint16_t model_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint32_t model_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t model_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

float model_f32(const uint8_t *p)
{
	float v;

	memcpy(&v, p, sizeof(v));
	return v;
}

float model_half(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 0x1f, man = h & 0x3ff, bits;
	float v;

	if (exp == 0x1f) {
		bits = 0x7f800000u | man << 13;
	} else if (exp) {
		bits = (exp + 112) << 23 | man << 13;
	} else {
		/* A denormal is a small integer times 2^-24: exact in f32. */
		v = (float)man * 0x1p-24f;
		memcpy(&bits, &v, sizeof(bits));
	}
	bits |= sign;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static const struct role_info {
	const char *name;
	bool per_layer;
} roles[MODEL_ROLES] = {
	[MODEL_EMBED] = { "embed", false },
	[MODEL_RMS_ATT] = { "rms_att", true },
	[MODEL_WQ] = { "wq", true },
	[MODEL_WK] = { "wk", true },
	[MODEL_WV] = { "wv", true },
	[MODEL_WO] = { "wo", true },
	[MODEL_RMS_FFN] = { "rms_ffn", true },
	[MODEL_W1] = { "w1", true },
	[MODEL_W2] = { "w2", true },
	[MODEL_W3] = { "w3", true },
	[MODEL_RMS_FINAL] = { "rms_final", false },
	[MODEL_HEAD] = { "head", false },
};

const char *model_role_name(enum model_role role)
{
	return roles[role].name;
}

bool model_per_layer(enum model_role role)
{
	return roles[role].per_layer;
}

const char *model_type_name(enum model_type type)
{
	static const char *const names[] = { "f32", "f16", "bf16", "q8", "q8_0" };

	return names[type];
}

void model_shape(const struct model_config *c, enum model_role role, uint32_t *rows,
		 uint32_t *cols)
{
	uint32_t q = c->heads * c->head_size, kv = c->kv_heads * c->head_size;
	const uint32_t shape[MODEL_ROLES][2] = {
		[MODEL_EMBED] = { c->vocab, c->dim },
		[MODEL_RMS_ATT] = { 1, c->dim },
		[MODEL_WQ] = { q, c->dim },
		[MODEL_WK] = { kv, c->dim },
		[MODEL_WV] = { kv, c->dim },
		[MODEL_WO] = { c->dim, q },
		[MODEL_RMS_FFN] = { 1, c->dim },
		[MODEL_W1] = { c->hidden, c->dim },
		[MODEL_W2] = { c->dim, c->hidden },
		[MODEL_W3] = { c->hidden, c->dim },
		[MODEL_RMS_FINAL] = { 1, c->dim },
		[MODEL_HEAD] = { c->vocab, c->dim },
	};

	*rows = shape[role][0];
	*cols = shape[role][1];
}

void model_row_floats(const struct model_tensor *t, uint32_t row, float *out)
{
	uint64_t at = (uint64_t)row * t->cols;
	const uint8_t *block;
	uint32_t i, bits;

	switch (t->type) {
	case MODEL_F32:
		memcpy(out, t->data + at * 4, (size_t)t->cols * 4);
		break;
	case MODEL_F16:
		for (i = 0; i < t->cols; i++)
			out[i] = model_half(model_u16(t->data + (at + i) * 2));
		break;
	case MODEL_BF16:
		for (i = 0; i < t->cols; i++) {
			bits = (uint32_t)model_u16(t->data + (at + i) * 2) << 16;
			memcpy(&out[i], &bits, 4);
		}
		break;
	case MODEL_Q8:
		for (i = 0; i < t->cols; i++)
			out[i] = (float)(int8_t)t->data[at + i] *
				 model_f32(t->scales + (at + i) / t->group * 4);
		break;
	case MODEL_Q8_0:
		for (i = 0; i < t->cols; i++) {
			block = t->data + (at + i) / 32 * 34;
			out[i] = (float)(int8_t)block[2 + (at + i) % 32] *
				 model_half(model_u16(block));
		}
		break;
	}
}

static int check_range(struct error *err, const char *field, uint32_t value, uint32_t max)
{
	if (value < 1 || value > max)
		return error_set(err, -EINVAL, "%s is %" PRIu32 ", must be 1 to %" PRIu32, field,
				 value, max);
	return 0;
}

int model_check_config(const struct model_config *c, struct error *err)
{
	int ret;

	ret = check_range(err, "dim", c->dim, MODEL_MAX_DIM) ?:
	      check_range(err, "hidden_dim", c->hidden, MODEL_MAX_HIDDEN) ?:
	      check_range(err, "n_layers", c->layers, MODEL_MAX_LAYERS) ?:
	      check_range(err, "n_heads", c->heads, MODEL_MAX_HEADS) ?:
	      check_range(err, "n_kv_heads", c->kv_heads, MODEL_MAX_HEADS) ?:
	      check_range(err, "vocab_size", c->vocab, MODEL_MAX_VOCAB) ?:
	      check_range(err, "max_seq_len", c->context, MODEL_MAX_CONTEXT);
	if (ret)
		return ret;
	if (c->heads % c->kv_heads)
		return error_set(err, -EINVAL, "n_kv_heads %" PRIu32 " does not divide n_heads %"
				 PRIu32, c->kv_heads, c->heads);
	if (!c->head_size || c->head_size % 2)
		return error_set(err, -EINVAL, "head size is %" PRIu32
				 ", must be even (rotary embedding turns pairs)", c->head_size);
	if ((uint64_t)c->head_size * c->heads > MODEL_MAX_DIM)
		return error_set(err, -EINVAL, "n_heads %" PRIu32 " times head size %" PRIu32
				 " is above %u", c->heads, c->head_size, MODEL_MAX_DIM);
	if (!isfinite(c->eps) || c->eps < 0)
		return error_set(err, -EINVAL, "norm epsilon is %g, must be finite and >= 0",
				 (double)c->eps);
	if (!isfinite(c->theta) || c->theta <= 0)
		return error_set(err, -EINVAL, "rope base is %g, must be finite and positive",
				 (double)c->theta);
	return 0;
}

int model_alloc_tensors(struct model *m, struct error *err)
{
	unsigned int r;

	for (r = 0; r < MODEL_ROLES; r++) {
		m->tensors[r] = calloc(roles[r].per_layer ? m->config.layers : 1,
				       sizeof(*m->tensors[r]));
		if (!m->tensors[r])
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int model_read(struct model *m, struct error *err)
{
	if (m->size < 8)
		return error_set(err, -EINVAL, "%" PRIu64 " bytes are too few for any checkpoint",
				 m->size);
	if (!memcmp(m->data, "GGUF", 4))
		return model_read_gguf(m, err);
	return model_read_llama2c(m, err);
}

int model_from_memory(const void *data, size_t size, struct model **out, struct error *err)
{
	struct model *m = calloc(1, sizeof(*m));
	int ret;

	if (!m)
		return error_set(err, -ENOMEM, "out of memory");
	m->data = data;
	m->size = size;
	ret = model_read(m, err);
	if (ret) {
		model_close(m);
		return ret;
	}
	*out = m;
	return 0;
}

int model_open(const char *path, struct model **out, struct error *err)
{
	struct stat st;
	void *map;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, -errno, "%s: cannot open: %s", path, strerror(errno));
	if (fstat(fd, &st)) {
		ret = error_set(err, -errno, "%s: %s", path, strerror(errno));
		goto close;
	}
	if (!S_ISREG(st.st_mode)) {
		ret = error_set(err, -EINVAL, "%s: not a regular file", path);
		goto close;
	}
	if (!st.st_size) {
		ret = error_set(err, -EINVAL, "%s: the file is empty", path);
		goto close;
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED) {
		ret = error_set(err, -errno, "%s: cannot map: %s", path, strerror(errno));
		goto close;
	}
	ret = model_from_memory(map, st.st_size, out, err);
	if (ret) {
		error_prefix(err, ret, path);
		munmap(map, st.st_size);
	} else {
		(*out)->mapped = true;
	}
close:
	close(fd);
	return ret;
}

void model_close(struct model *m)
{
	unsigned int r;

	if (!m)
		return;
	for (r = 0; r < MODEL_ROLES; r++)
		free(m->tensors[r]);
	if (m->mapped)
		munmap((void *)m->data, m->size);
	free(m);
}
