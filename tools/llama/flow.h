/* SPDX-License-Identifier: MIT */
/*
 * Short names for building dataflow programs: one function per primitive that
 * a decoder needs. Private to programs.c and layer.c.
 *
 * The builder keeps the first error, so that nothing here is checked: streams
 * are plain indices, and vrdu_builder_finish() reports.
 */
#ifndef LLAMA_FLOW_H
#define LLAMA_FLOW_H

#include "programs.h"

/**
 * struct flow - a program being built.
 * @in: What to build for.
 * @out: Program; symbols are entered as they appear.
 * @b: Builder.
 */
struct flow {
	const struct llama_build *in;
	struct llama_program *out;
	struct vrdu_builder *b;
};

/** flow_symbol() - the argument for @what (and @role), entered with the first caller's @access. */
uint32_t flow_symbol(struct flow *f, enum llama_what what, enum model_role role,
		     uint32_t access);

/** flow_stream() - a stream of @rows x @cols, whole unless @tile_rows. */
uint32_t flow_stream(struct flow *f, const char *name, uint32_t elem, uint32_t rows,
		     uint32_t cols, uint32_t tile_rows);

/** flow_stream_desc() - a stream with all its fields. */
uint32_t flow_stream_desc(struct flow *f, const char *name, const struct vrdu_stream_desc *d);

/** flow_token() - a stream that only orders. */
uint32_t flow_token(struct flow *f, const char *name);

/** flow_load() - LOAD of a whole symbol into a new stream. */
uint32_t flow_load(struct flow *f, const char *name, uint32_t symbol, uint32_t elem,
		   uint32_t rows, uint32_t cols, uint32_t tile_rows);

/** flow_load_into() - LOAD of @symbol into @stream, after @token (or VRDU_NONE). */
void flow_load_into(struct flow *f, const char *name, uint32_t symbol, uint32_t stream,
		    uint32_t token, uint64_t outer_stride);

/** flow_store() - STORE of a stream to the start of @symbol. */
void flow_store(struct flow *f, const char *name, uint32_t symbol, uint32_t stream);

/**
 * struct flow_place - where an index leads.
 * @symbol: Symbol.
 * @row_stride: Bytes from one row of the data to the next.
 * @index_stride: Bytes per unit of the index.
 * @index_limit: Units.
 */
struct flow_place {
	uint32_t symbol;
	uint64_t row_stride;
	uint64_t index_stride;
	uint32_t index_limit;
};

/** flow_gather() - GATHER of @rows rows into a new stream. */
uint32_t flow_gather(struct flow *f, const char *name, uint32_t index,
		     const struct flow_place *p, uint32_t elem, uint32_t rows, uint32_t cols);

/** flow_scatter() - SCATTER of @data; @token: stream that says so, or VRDU_NONE. */
void flow_scatter(struct flow *f, const char *name, uint32_t index, uint32_t data,
		  const struct flow_place *p, uint32_t token);

/** flow_matmul() - loads the weights of @role and multiplies @x by them. */
uint32_t flow_matmul(struct flow *f, enum model_role role, uint32_t x);

/** flow_norm() - loads the norm of @role and applies it. */
uint32_t flow_norm(struct flow *f, enum model_role role, uint32_t x);

/** flow_ew() - elementwise into a new stream of @elem, @rows x @cols. */
uint32_t flow_ew(struct flow *f, const char *name, uint32_t op, uint32_t imm, uint32_t a,
		 uint32_t b, uint32_t elem, uint32_t rows, uint32_t cols);

/** flow_node() - any node. */
void flow_node(struct flow *f, const char *name, const struct vrdu_node_desc *d);

/** flow_bits() - bits of an f32, as node parameters carry it. */
uint32_t flow_bits(float v);

/** flow_tile_rows() - rows of a tile of rows of @row_bytes, of @rows in all. */
uint32_t flow_tile_rows(const struct flow *f, uint64_t row_bytes, uint32_t rows);

/* layer.c */
void llama_flow_layer(struct flow *f);

#endif /* LLAMA_FLOW_H */
