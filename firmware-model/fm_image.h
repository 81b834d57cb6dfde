/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Typed view of a program image. Parsing checks the container: header,
 * checksum, places of the tables, padding and names. What the records mean is
 * the verifier's affair (fm_verify*.c).
 */
#ifndef _FM_IMAGE_H
#define _FM_IMAGE_H

#include "fm_port.h"
#include <drm/vrdu_image.h>

struct fm_log;

/**
 * struct fm_image - tables of an image, borrowed from its buffer.
 * @header: Header.
 * @symbols: @n_symbols records.
 * @extents: @n_extents records.
 * @sections: @n_sections records.
 * @seq: @n_seq records.
 * @nodes: @n_nodes records, of all sections.
 * @streams: @n_streams records, of all sections.
 * @agus: @n_agus records.
 * @strings: @n_strings bytes, the last one is NUL.
 * @n_symbols: 0 … %VRDU_MAX_SYMBOLS.
 * @n_extents: 0 … %VRDU_MAX_EXTENTS.
 * @n_sections: 1 … %VRDU_MAX_SECTIONS.
 * @n_seq: 1 … %VRDU_MAX_SEQ.
 * @n_nodes: 1 … %VRDU_MAX_NODES times @n_sections.
 * @n_streams: 0 … %VRDU_MAX_STREAMS times @n_sections.
 * @n_agus: 0 … %VRDU_MAX_AGUS.
 * @n_strings: >= 1.
 */
struct fm_image {
	const struct vrdu_image_header *header;
	const struct vrdu_symbol *symbols;
	const struct vrdu_extent *extents;
	const struct vrdu_section *sections;
	const struct vrdu_seq *seq;
	const struct vrdu_node *nodes;
	const struct vrdu_stream *streams;
	const struct vrdu_agu *agus;
	const char *strings;
	u32 n_symbols;
	u32 n_extents;
	u32 n_sections;
	u32 n_seq;
	u32 n_nodes;
	u32 n_streams;
	u32 n_agus;
	u32 n_strings;
};

/**
 * fm_image_parse() - check the container and find its tables.
 * @image: Image; 8-byte aligned, must outlive @out.
 * @size: Bytes.
 * @out: The view; valid on success.
 * @log: Receives the reason of a refusal; may be NULL.
 *
 * Return: 0 or -EINVAL.
 */
int fm_image_parse(const void *image, u32 size, struct fm_image *out, struct fm_log *log);

/** fm_image_name() - the name at @offset, which parsing has checked. */
static inline const char *fm_image_name(const struct fm_image *img, u32 offset)
{
	return img->strings + offset;
}

/**
 * fm_crc32() - CRC-32 (IEEE 802.3, reflected) of @data.
 * @crc: 0, or the result for the bytes before.
 * @data: Bytes.
 * @bytes: Their number.
 */
u32 fm_crc32(u32 crc, const void *data, size_t bytes);

/**
 * fm_image_crc() - the checksum that belongs into the header of @image.
 * @image: Image, at least a header.
 * @size: Bytes.
 */
u32 fm_image_crc(const void *image, u32 size);

#endif /* _FM_IMAGE_H */
