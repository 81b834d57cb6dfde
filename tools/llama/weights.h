/* SPDX-License-Identifier: MIT */
/*
 * Weights in device memory: one buffer per role, layers at a constant stride,
 * whatever order the file had. That is what makes a layer's arguments affine.
 *
 * Element types are kept where the device has them: f32, bf16, and signed
 * bytes with f32 scales in a second buffer. F16 is widened to f32, and so are
 * norms and roles whose layers differ in a float type.
 */
#ifndef LLAMA_WEIGHTS_H
#define LLAMA_WEIGHTS_H

#include <vrdu.h>

#include "model.h"

/**
 * struct llama_role - a role's layout.
 * @elem: enum vrdu_elem of the values.
 * @rows: Rows of a layer's matrix.
 * @cols: Elements of a row.
 * @group: I8: elements that share a scale.
 * @layers: Layers in the buffer.
 * @bytes: Bytes of a layer's values.
 * @stride: Bytes from a layer to the next.
 * @scale_cols: I8: scales of a row.
 * @scale_bytes: I8: bytes of a layer's scales.
 * @scale_stride: I8: from a layer to the next.
 */
struct llama_role {
	uint32_t elem;
	uint32_t rows;
	uint32_t cols;
	uint32_t group;
	uint32_t layers;
	uint64_t bytes;
	uint64_t stride;
	uint32_t scale_cols;
	uint64_t scale_bytes;
	uint64_t scale_stride;
};

/**
 * struct llama_layout - layout of all roles.
 * @role: By enum model_role. A tied head repeats the embedding's.
 */
struct llama_layout {
	struct llama_role role[MODEL_ROLES];
};

/**
 * struct llama_weights - the buffers.
 * @layout: Layout.
 * @values: By role; the tied head shares the embedding's buffer.
 * @scales: By role, NULL without scales.
 * @bytes: Of all buffers.
 */
struct llama_weights {
	struct llama_layout layout;
	struct vrdu_bo *values[MODEL_ROLES];
	struct vrdu_bo *scales[MODEL_ROLES];
	uint64_t bytes;
};

/** llama_layout_init() - the layout that @m's weights get. Return: 0 or -EINVAL with @err. */
int llama_layout_init(struct llama_layout *l, const struct model *m, struct error *err);

/**
 * llama_weights_create() - copy the weights into buffers of @ctx.
 * @phantom: Buffers of that size and address without contents.
 */
int llama_weights_create(struct vrdu_context *ctx, const struct model *m, bool phantom,
			 struct llama_weights *out, struct error *err);

/** llama_weights_destroy() - drop the buffers. */
void llama_weights_destroy(struct llama_weights *w);

#endif /* LLAMA_WEIGHTS_H */
