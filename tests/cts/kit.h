/* SPDX-License-Identifier: MIT */
/*
 * What tests of libvrdu share: assertions that print the library's sentence,
 * and a few verbs on top of the builder, so that a test program reads as a
 * list of nodes. Included once per test program, after cmocka.h.
 */
#ifndef KIT_H
#define KIT_H

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vrdu.h>

/* @x must not fail; gives its value. */
#define OK(x) ({									\
	int _ret = (x);									\
	if (_ret < 0)									\
		fail_msg("%s: %d: %s", #x, _ret, vrdu_last_error());			\
	_ret;										\
})

/* @x must fail with @err and say a sentence that contains @words. */
#define FAILS(x, err, words) do {							\
	int _ret = (x);									\
	if (_ret != (err))								\
		fail_msg("%s: %d (%s), expected %d", #x, _ret, vrdu_last_error(), err);	\
	if (!strstr(vrdu_last_error(), words))						\
		fail_msg("%s: \"%s\" does not say \"%s\"", #x, vrdu_last_error(), words);	\
} while (0)

/* A deterministic generator (splitmix64). */
static inline uint64_t kit_rand(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 … n - 1 */
static inline uint32_t kit_below(uint64_t *state, uint32_t n)
{
	return kit_rand(state) % n;
}

/* Floats in [-1, 1), exactly representable, so that sums stay tame. */
static inline void kit_floats(uint64_t *state, float *f, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		f[i] = (int32_t)(kit_rand(state) & 0xffff) / 32768.0f - 1.0f;
}

/**
 * struct kit_shape - shape of streams to come.
 * @elem: enum vrdu_elem.
 * @rows: Extent.
 * @tile: Rows of a tile; 0: all.
 * @cols: Columns.
 * @depth: Tiles of buffer; 0: 2.
 */
struct kit_shape {
	uint8_t elem;
	uint32_t rows;
	uint32_t tile;
	uint32_t cols;
	uint16_t depth;
};

static inline int kit_stream(struct vrdu_builder *b, const char *name, struct kit_shape s)
{
	struct vrdu_stream_desc d = {
		.elem = s.elem, .rows = s.rows, .tile_rows = s.tile, .cols = s.cols,
		.depth = s.depth,
	};

	return OK(vrdu_builder_stream(b, name, &d));
}

/* An address generator at @offset of @symbol. */
static inline int kit_agu(struct vrdu_builder *b, uint32_t symbol, int64_t offset)
{
	struct vrdu_agu a = { .symbol = symbol, .offset = offset };

	return OK(vrdu_builder_agu(b, &a));
}

/* LOAD; gives its stream. @after: token stream that it waits for, or VRDU_NONE. */
static inline int kit_load_after(struct vrdu_builder *b, uint32_t symbol, int64_t offset,
				 struct kit_shape s, uint32_t after)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_LOAD);

	d.in[0] = after;
	d.out[0] = kit_stream(b, "loaded", s);
	d.agu = kit_agu(b, symbol, offset);
	OK(vrdu_builder_node(b, "load", &d));
	return d.out[0];
}

static inline int kit_load(struct vrdu_builder *b, uint32_t symbol, int64_t offset,
			   struct kit_shape s)
{
	return kit_load_after(b, symbol, offset, s, VRDU_NONE);
}

/* STORE of stream @in. */
static inline void kit_store(struct vrdu_builder *b, uint32_t symbol, int64_t offset, uint32_t in)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_STORE);

	d.in[0] = in;
	d.agu = kit_agu(b, symbol, offset);
	OK(vrdu_builder_node(b, "store", &d));
}

/* STORE that gives a token when it is done; @one: an extent of 1. */
static inline int kit_store_token(struct vrdu_builder *b, uint32_t symbol, int64_t offset,
				  uint32_t in, uint32_t one)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_STORE);
	struct kit_shape token = { .elem = VRDU_ELEM_TOKEN, .rows = one, .tile = 1 };

	d.in[0] = in;
	d.out[0] = kit_stream(b, "stored", token);
	d.agu = kit_agu(b, symbol, offset);
	OK(vrdu_builder_node(b, "store", &d));
	return d.out[0];
}

/* Elementwise @op of streams @x and @y (VRDU_NONE: unary). */
static inline int kit_ew(struct vrdu_builder *b, uint32_t op, uint32_t imm, uint32_t x, uint32_t y,
			 struct kit_shape s)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_EW);

	d.in[0] = x;
	d.in[1] = y;
	d.out[0] = kit_stream(b, "ew", s);
	d.p[0] = op;
	d.p[1] = imm;
	OK(vrdu_builder_node(b, "ew", &d));
	return d.out[0];
}

/* x * w^T for x of @m rows and w of @n rows: an [m x n] stream, whole. */
static inline int kit_matmul(struct vrdu_builder *b, uint32_t x, uint32_t w, uint32_t m_extent,
			     uint32_t n)
{
	struct vrdu_node_desc d = VRDU_NODE_DESC_INIT(VRDU_NODE_MATMUL);
	struct kit_shape s = { .elem = VRDU_ELEM_F32, .rows = m_extent, .cols = n };

	d.in[0] = x;
	d.in[1] = w;
	d.out[0] = kit_stream(b, "product", s);
	OK(vrdu_builder_node(b, "matmul", &d));
	return d.out[0];
}

/* Finish, make resident, forget the builder. */
static inline struct vrdu_program *kit_program(struct vrdu_context *ctx, struct vrdu_builder *b)
{
	struct vrdu_program *prog;
	struct vrdu_image *image;

	OK(vrdu_builder_finish(b, &image));
	vrdu_builder_unref(b);
	OK(vrdu_program_create(ctx, image, &prog));
	vrdu_image_unref(image);
	return prog;
}

static inline struct vrdu_builder *kit_builder(struct vrdu_context *ctx, const char *name)
{
	struct vrdu_device_info info;
	struct vrdu_builder *b;

	OK(vrdu_device_get_info(vrdu_context_device(ctx), &info, sizeof(info)));
	OK(vrdu_builder_create(name, info.profile, &b));
	return b;
}

static inline struct vrdu_bo *kit_bo(struct vrdu_context *ctx, uint64_t size, uint32_t flags)
{
	struct vrdu_bo *bo;

	OK(vrdu_bo_create(ctx, size, flags, &bo));
	return bo;
}

/* @y[i] = @x[i] + @w[i], @n floats in tiles of @tile rows of 16; x may be y by @in_place. */
static inline struct vrdu_program *kit_add(struct vrdu_context *ctx, const char *name, uint32_t n,
					   uint32_t tile, bool in_place)
{
	struct vrdu_builder *b = kit_builder(ctx, name);
	struct kit_shape s = {
		.elem = VRDU_ELEM_F32, .tile = tile, .cols = 16,
		.rows = OK(vrdu_builder_extent(b, n / 16)),
	};
	uint32_t x, w, y, a, c;

	x = OK(vrdu_builder_symbol(b, "x", in_place ? VRDU_SYMBOL_READ | VRDU_SYMBOL_WRITE :
						      VRDU_SYMBOL_READ, n * 4));
	w = OK(vrdu_builder_symbol(b, "w", VRDU_SYMBOL_READ, n * 4));
	y = in_place ? x : (uint32_t)OK(vrdu_builder_symbol(b, "y", VRDU_SYMBOL_WRITE, n * 4));
	OK(vrdu_builder_section(b, "main"));
	/* One by one: the order of the nodes shall not be the compiler's choice. */
	a = kit_load(b, x, 0, s);
	c = kit_load(b, w, 0, s);
	kit_store(b, y, 0, kit_ew(b, VRDU_EW_ADD, 0, a, c, s));
	return kit_program(ctx, b);
}

static inline void kit_record(struct vrdu_graph *g, struct vrdu_program *prog,
			      const struct vrdu_arg *args, uint32_t n)
{
	struct vrdu_call call = { .prog = prog, .args = args, .arg_count = n };

	OK(vrdu_graph_call(g, &call));
}

/* Launch and wait. Return: what the wait says. */
static inline int kit_launch(struct vrdu_context *ctx, struct vrdu_graph *g, uint32_t batch)
{
	struct vrdu_exec *exec;
	uint64_t seqno = 0;
	int ret;

	OK(vrdu_graph_instantiate(g, batch, &exec));
	ret = vrdu_exec_launch(exec, &seqno);
	if (!ret)
		ret = vrdu_wait(ctx, seqno, INT64_MAX);
	vrdu_exec_unref(exec);
	return ret;
}

#endif /* KIT_H */
