/* SPDX-License-Identifier: MIT */
/*
 * An image taken apart: its tables as growing arrays, which the builder fills
 * and the looping pass rewrites, and which place.c puts on the fabric.
 */
#ifndef VRDU_IMAGE_EDIT_H
#define VRDU_IMAGE_EDIT_H

#include "internal.h"

/**
 * struct vrdu_edit - an image in pieces; owned by one caller.
 * @name: Offset of the program's name.
 * @strings: String table.
 * @n_strings: Its bytes.
 * @symbols: Symbols.
 * @n_symbols: Their number.
 * @extents: Extents.
 * @n_extents: Their number.
 * @sections: Sections.
 * @n_sections: Their number.
 * @seqs: Sequence.
 * @n_seqs: Its length.
 * @nodes: Nodes of all sections.
 * @n_nodes: Their number.
 * @streams: Streams of all sections.
 * @n_streams: Their number.
 * @agus: Address generators.
 * @n_agus: Their number.
 */
struct vrdu_edit {
	uint32_t name;
	char *strings;
	uint32_t n_strings;
	struct vrdu_symbol *symbols;
	uint32_t n_symbols;
	struct vrdu_extent *extents;
	uint32_t n_extents;
	struct vrdu_section *sections;
	uint32_t n_sections;
	struct vrdu_seq *seqs;
	uint32_t n_seqs;
	struct vrdu_node *nodes;
	uint32_t n_nodes;
	struct vrdu_stream *streams;
	uint32_t n_streams;
	struct vrdu_agu *agus;
	uint32_t n_agus;
};

/** vrdu_edit_init() - an empty image called @name. */
int vrdu_edit_init(struct vrdu_edit *e, const char *name);

/** vrdu_edit_free() - drop the pieces; a zeroed struct is fine. */
void vrdu_edit_free(struct vrdu_edit *e);

/*
 * Append a record. Return: its index (strings: offset), or -ENOSPC at the
 * format's limit, -ENOMEM.
 */
int vrdu_edit_string(struct vrdu_edit *e, const char *text);
int vrdu_edit_symbol(struct vrdu_edit *e, const struct vrdu_symbol *rec);
int vrdu_edit_section(struct vrdu_edit *e, const struct vrdu_section *rec);
int vrdu_edit_seq(struct vrdu_edit *e, uint32_t op, uint32_t arg);
int vrdu_edit_node(struct vrdu_edit *e, const struct vrdu_node *rec);
int vrdu_edit_stream(struct vrdu_edit *e, const struct vrdu_stream *rec);
int vrdu_edit_agu(struct vrdu_edit *e, const struct vrdu_agu *rec);

/** vrdu_edit_extent() - as above, but an equal record is shared. */
int vrdu_edit_extent(struct vrdu_edit *e, const struct vrdu_extent *rec);

/** vrdu_edit_static() - extent of the constant @value. */
int vrdu_edit_static(struct vrdu_edit *e, uint32_t value);

/** vrdu_edit_remove_node() - remove node @index of section @section; later ones move up. */
void vrdu_edit_remove_node(struct vrdu_edit *e, uint32_t section, uint32_t index);

/** vrdu_edit_remove_stream() - remove a stream that no node uses any more; indices move. */
void vrdu_edit_remove_stream(struct vrdu_edit *e, uint32_t section, uint32_t index);

/** vrdu_edit_finish() - the image: tables laid out, CRC set. @e stays as it is. */
int vrdu_edit_finish(const struct vrdu_edit *e, struct vrdu_image **out);

/** vrdu_elem_bytes() - bytes of an element, 0 for tokens and unknown types. */
uint32_t vrdu_elem_bytes(uint32_t elem);

/** vrdu_node_agcu() - does a node of @kind sit on an address generator? */
bool vrdu_node_agcu(uint32_t kind);

/* ---- place.c ---- */

/** vrdu_place() - give every node and buffer of @e its site on @fabric. */
int vrdu_place(struct vrdu_edit *e, const struct vrdu_fabric *fabric);

#endif /* VRDU_IMAGE_EDIT_H */
