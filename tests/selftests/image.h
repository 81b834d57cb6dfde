/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes small program images from the raw structs of vrdu_image.h, so that
 * these tests depend on the contract alone and not on libvrdu.
 *
 * Two programs are enough for the driver: "add" (LOAD, LOAD, EW, STORE) and
 * "count" (a loop with a CARRY). Tests that want a broken image make a good
 * one and break it before image_seal().
 */
#ifndef VRDU_TEST_IMAGE_H
#define VRDU_TEST_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <drm/vrdu_image.h>

#define IMAGE_STRINGS	"\0test\0a\0b\0y\0n\0"

/**
 * struct image - an image with room for what these tests need.
 * @h: Header; comes first in memory, as in the image.
 * @symbol: Symbols.
 * @extent: Extents.
 * @section: The section.
 * @seq: Sequence.
 * @node: Nodes.
 * @stream: Streams.
 * @agu: Address generators.
 * @strings: Strings.
 *
 * All tables are full length in the image except those whose count is smaller:
 * their unused rest is a gap between tables, which the format allows.
 */
struct image {
	struct vrdu_image_header h;
	struct vrdu_symbol symbol[4];
	struct vrdu_extent extent[4];
	struct vrdu_section section;
	struct vrdu_seq seq[8];
	struct vrdu_node node[4];
	struct vrdu_stream stream[4];
	struct vrdu_agu agu[4];
	char strings[16];
};

static inline uint32_t image_crc32(const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint32_t crc = ~0u;
	int bit;

	while (bytes--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/** image_seal() - write the checksum; last. */
static inline void image_seal(struct image *img)
{
	img->h.crc32 = 0;
	img->h.crc32 = image_crc32(img, sizeof(*img));
}

static inline void image_header(struct image *img)
{
	memset(img, 0, sizeof(*img));
	memcpy(img->strings, IMAGE_STRINGS, sizeof(IMAGE_STRINGS));
	img->h.magic = VRDU_IMAGE_MAGIC;
	img->h.major = VRDU_IMAGE_MAJOR;
	img->h.minor = VRDU_IMAGE_MINOR;
	img->h.size = sizeof(*img);
	img->h.name = 1;
	img->h.symbols_off = offsetof(struct image, symbol);
	img->h.extents_off = offsetof(struct image, extent);
	img->h.sections_off = offsetof(struct image, section);
	img->h.sections = 1;
	img->h.seq_off = offsetof(struct image, seq);
	img->h.nodes_off = offsetof(struct image, node);
	img->h.streams_off = offsetof(struct image, stream);
	img->h.agus_off = offsetof(struct image, agu);
	img->h.strings_off = offsetof(struct image, strings);
	img->h.strings = sizeof(img->strings);
	img->section.name = 1;
}

static inline uint32_t image_symbol(struct image *img, uint8_t access, uint64_t bytes)
{
	img->symbol[img->h.symbols] = (struct vrdu_symbol) {
		.name = 6, .kind = VRDU_SYMBOL_ADDR, .access = access, .bytes = bytes,
	};
	return img->h.symbols++;
}

static inline uint32_t image_extent(struct image *img, uint32_t value)
{
	img->extent[img->h.extents] = (struct vrdu_extent) {
		.kind = VRDU_EXTENT_STATIC, .value = value, .min = value, .max = value,
	};
	return img->h.extents++;
}

/* A stream of I32 tiles [1 x cols], in a PMU of its own. */
static inline uint32_t image_stream(struct image *img, uint32_t rows, uint32_t cols,
				    uint16_t depth)
{
	uint32_t i = img->h.streams++;

	img->stream[i] = (struct vrdu_stream) {
		.name = 6, .elem = VRDU_ELEM_I32, .depth = depth, .outer = 1, .rows = rows,
		.tile_rows = 1, .cols = cols, .pmu = i, .pmus = 1,
	};
	img->section.streams = img->h.streams;
	return i;
}

static inline uint32_t image_agu(struct image *img, uint32_t symbol, uint32_t cols)
{
	img->agu[img->h.agus] = (struct vrdu_agu) { .symbol = symbol, .row_stride = cols * 4 };
	return img->h.agus++;
}

/* A node on the unit of its own number; unused ports are VRDU_NONE. */
static inline struct vrdu_node *image_node(struct image *img, uint16_t kind)
{
	uint32_t i = img->h.nodes++;
	int port;

	img->node[i] = (struct vrdu_node) {
		.name = 6, .kind = kind, .agu = VRDU_NONE, .agu2 = VRDU_NONE, .site = i,
		.units = 1,
	};
	for (port = 0; port < VRDU_NODE_INPUTS; port++)
		img->node[i].in[port] = VRDU_NONE;
	for (port = 0; port < VRDU_NODE_OUTPUTS; port++)
		img->node[i].out[port] = VRDU_NONE;
	img->section.nodes = img->h.nodes;
	return &img->node[i];
}

static inline void image_seq(struct image *img, uint32_t op, uint32_t arg)
{
	img->seq[img->h.seqs++] = (struct vrdu_seq) { .op = op, .arg = arg };
}

static inline void image_load(struct image *img, uint32_t symbol, uint32_t stream, uint32_t cols)
{
	struct vrdu_node *n = image_node(img, VRDU_NODE_LOAD);

	n->out[0] = stream;
	n->agu = image_agu(img, symbol, cols);
}

/**
 * image_add() - y = a + b over I32 [rows x cols]; symbols a, b, y.
 */
static inline void image_add(struct image *img, uint32_t rows, uint32_t cols)
{
	uint64_t bytes = (uint64_t)rows * cols * 4;
	uint32_t a, b, y, ext, in0, in1, out;
	struct vrdu_node *n;

	image_header(img);
	a = image_symbol(img, VRDU_SYMBOL_READ, bytes);
	b = image_symbol(img, VRDU_SYMBOL_READ, bytes);
	y = image_symbol(img, VRDU_SYMBOL_WRITE, bytes);
	ext = image_extent(img, rows);
	in0 = image_stream(img, ext, cols, 2);
	in1 = image_stream(img, ext, cols, 2);
	out = image_stream(img, ext, cols, 2);

	image_load(img, a, in0, cols);
	image_load(img, b, in1, cols);
	n = image_node(img, VRDU_NODE_EW);
	n->in[0] = in0;
	n->in[1] = in1;
	n->out[0] = out;
	n->p[0] = VRDU_EW_IADD;
	n = image_node(img, VRDU_NODE_STORE);
	n->in[0] = out;
	n->agu = image_agu(img, y, cols);

	image_seq(img, VRDU_SEQ_RUN, 0);
	image_seal(img);
}

/**
 * image_count() - y = x + trips * outer for I32 [1 x cols], one addition an
 * iteration of a loop with a carried value; symbols x, y. With @outer > 1 the
 * loop is inside another, of which every pass starts again from x.
 */
static inline void image_count(struct image *img, uint32_t cols, uint32_t trips, uint32_t outer)
{
	uint32_t x, y, one, trip, over, value, next;
	struct vrdu_node *n;

	image_header(img);
	x = image_symbol(img, VRDU_SYMBOL_READ, cols * 4);
	y = image_symbol(img, VRDU_SYMBOL_WRITE, cols * 4);
	one = image_extent(img, 1);
	trip = image_extent(img, trips);
	over = image_extent(img, outer);
	value = image_stream(img, one, cols, 2);
	next = image_stream(img, one, cols, 2);

	n = image_node(img, VRDU_NODE_CARRY);
	n->in[0] = next;
	n->out[0] = value;
	n->agu = image_agu(img, x, cols);
	n->agu2 = image_agu(img, y, cols);
	n = image_node(img, VRDU_NODE_EW);
	n->in[0] = value;
	n->out[0] = next;
	n->p[0] = VRDU_EW_IADD_IMM;
	n->p[1] = 1;

	if (outer > 1)
		image_seq(img, VRDU_SEQ_LOOP, over);
	image_seq(img, VRDU_SEQ_LOOP, trip);
	image_seq(img, VRDU_SEQ_RUN, 0);
	image_seq(img, VRDU_SEQ_END, 0);
	if (outer > 1)
		image_seq(img, VRDU_SEQ_END, 0);
	image_seal(img);
}

#endif /* VRDU_TEST_IMAGE_H */
