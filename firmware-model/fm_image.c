// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The container of a program: header, checksum, places of the tables, padding,
 * names. After fm_image_parse() every record can be read and every name
 * printed; nothing is known yet about what the records say.
 *
 * Called by the verifier and by whoever builds run-time state from an image.
 */
#include "fm.h"
#include "fm_image.h"

/* Checksums of the bytes 0x00 … 0x0f and 0x00 … 0xf0; that of a byte is their sum. */
static const u32 crc_low[16] = {
	0x00000000, 0x77073096, 0xee0e612c, 0x990951ba,
	0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
	0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988,
	0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
};

static const u32 crc_high[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
	0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
	0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

/* A table of records: where the header says it is, and its limits. */
struct table {
	const char *what;
	u32 off;
	u32 count;
	u32 min;
	u32 max;
	u32 bytes;
};

/* Order of the tables in the header and in the image. */
enum { SYMBOLS, EXTENTS, SECTIONS, SEQ, NODES, STREAMS, AGUS, STRINGS, TABLES };

u32 fm_crc32(u32 crc, const void *data, size_t bytes)
{
	const u8 *p = data;

	crc = ~crc;
	while (bytes--) {
		crc ^= *p++;
		crc = (crc >> 8) ^ crc_low[crc & 15] ^ crc_high[(crc >> 4) & 15];
	}
	return ~crc;
}

u32 fm_image_crc(const void *image, u32 size)
{
	const u32 at = offsetof(struct vrdu_image_header, crc32);
	const u32 zero = 0;
	u32 crc = fm_crc32(0, image, at);

	crc = fm_crc32(crc, &zero, sizeof(zero));
	return fm_crc32(crc, (const u8 *)image + at + sizeof(zero), size - at - sizeof(zero));
}

static int check_header(const void *image, u32 size, struct fm_log *log)
{
	const struct vrdu_image_header *h = image;
	u32 crc;

	if ((unsigned long)image & 7) {
		fm_log(log, "image: its buffer is not 8-byte aligned\n");
		return -EINVAL;
	}
	if (size < sizeof(*h) || size > VRDU_IMAGE_MAX_BYTES) {
		fm_log(log, "image: %u bytes, must be %u to %u\n", size, (u32)sizeof(*h),
		       VRDU_IMAGE_MAX_BYTES);
		return -EINVAL;
	}
	if (h->magic != VRDU_IMAGE_MAGIC) {
		fm_log(log, "image: magic is 0x%08x, must be 0x%08x\n", h->magic,
		       VRDU_IMAGE_MAGIC);
		return -EINVAL;
	}
	if (h->major != VRDU_IMAGE_MAJOR || h->minor > VRDU_IMAGE_MINOR) {
		fm_log(log, "image: version is %u.%u, this device reads %u.0 to %u.%u\n",
		       h->major, h->minor, VRDU_IMAGE_MAJOR, VRDU_IMAGE_MAJOR, VRDU_IMAGE_MINOR);
		return -EINVAL;
	}
	if (h->size != size) {
		fm_log(log, "image: header says %u bytes, there are %u\n", h->size, size);
		return -EINVAL;
	}
	crc = fm_image_crc(image, size);
	if (h->crc32 != crc) {
		fm_log(log, "image: header says crc32 0x%08x, it is 0x%08x\n", h->crc32, crc);
		return -EINVAL;
	}
	if (h->flags || h->pad[0] || h->pad[1]) {
		fm_log(log, "image: header flags 0x%x and pad 0x%x 0x%x must be zero\n", h->flags,
		       h->pad[0], h->pad[1]);
		return -EINVAL;
	}
	return 0;
}

/* Number of records in bounds; place aligned, behind the tables before, inside the image. */
static int check_table(const struct table *t, u64 *end, u32 size, struct fm_log *log)
{
	if (t->count < t->min || t->count > t->max) {
		fm_log(log, "image: %u %s, must be %u to %u\n", t->count, t->what, t->min, t->max);
		return -EINVAL;
	}
	if (t->bytes > 1 && t->off & 7) {
		fm_log(log, "image: %s at %u, must be 8-byte aligned\n", t->what, t->off);
		return -EINVAL;
	}
	if (t->off < *end) {
		fm_log(log, "image: %s at %u, but the table before ends at %llu\n", t->what,
		       t->off, (unsigned long long)*end);
		return -EINVAL;
	}
	*end = t->off + (u64)t->count * t->bytes;
	if (*end > size) {
		fm_log(log, "image: %s end at %llu, the image at %u\n", t->what,
		       (unsigned long long)*end, size);
		return -EINVAL;
	}
	return 0;
}

/* Names reach logs and terminals: text only. */
static int check_strings(const struct fm_image *img, struct fm_log *log)
{
	u32 i;

	if (img->strings[img->n_strings - 1]) {
		fm_log(log, "image: the string table does not end with NUL\n");
		return -EINVAL;
	}
	for (i = 0; i < img->n_strings; i++) {
		u8 c = img->strings[i];

		if (c && (c < 0x20 || c == 0x7f)) {
			fm_log(log, "image: control character 0x%02x at %u in the string table\n",
			       c, i);
			return -EINVAL;
		}
	}
	return 0;
}

/* What all kinds of records share: a name in the string table, padding that is zero. */
static int check_record(const struct fm_image *img, struct fm_log *log, const char *what, u32 i,
			u32 name, u64 pad)
{
	if (name >= img->n_strings) {
		fm_log(log, "%s %u: name at %u, the string table has %u bytes\n", what, i, name,
		       img->n_strings);
		return -EINVAL;
	}
	if (pad) {
		fm_log(log, "%s %u: pad must be zero\n", what, i);
		return -EINVAL;
	}
	return 0;
}

static int check_records(const struct fm_image *img, struct fm_log *log)
{
	int ret = check_record(img, log, "image", 0, img->header->name, 0);
	u32 i;

	for (i = 0; !ret && i < img->n_symbols; i++)
		ret = check_record(img, log, "symbol", i, img->symbols[i].name,
				   img->symbols[i].pad | img->symbols[i].pad2);
	for (i = 0; !ret && i < img->n_sections; i++)
		ret = check_record(img, log, "section", i, img->sections[i].name,
				   img->sections[i].pad);
	for (i = 0; !ret && i < img->n_nodes; i++)
		ret = check_record(img, log, "node", i, img->nodes[i].name, 0);
	for (i = 0; !ret && i < img->n_streams; i++)
		ret = check_record(img, log, "stream", i, img->streams[i].name,
				   img->streams[i].pad[0] | img->streams[i].pad[1]);
	for (i = 0; !ret && i < img->n_agus; i++)
		ret = check_record(img, log, "agu", i, 0, img->agus[i].pad);
	return ret;
}

int fm_image_parse(const void *image, u32 size, struct fm_image *out, struct fm_log *log)
{
	const struct vrdu_image_header *h = image;
	struct table t[TABLES];
	u64 end = sizeof(*h);
	u32 i;
	int ret;

	ret = check_header(image, size, log);
	if (ret)
		return ret;
	t[SYMBOLS] = (struct table){ "symbols", h->symbols_off, h->symbols, 0, VRDU_MAX_SYMBOLS,
				     sizeof(struct vrdu_symbol) };
	t[EXTENTS] = (struct table){ "extents", h->extents_off, h->extents, 0, VRDU_MAX_EXTENTS,
				     sizeof(struct vrdu_extent) };
	t[SECTIONS] = (struct table){ "sections", h->sections_off, h->sections, 1,
				      VRDU_MAX_SECTIONS, sizeof(struct vrdu_section) };
	t[SEQ] = (struct table){ "sequence entries", h->seq_off, h->seqs, 1, VRDU_MAX_SEQ,
				 sizeof(struct vrdu_seq) };
	t[NODES] = (struct table){ "nodes", h->nodes_off, h->nodes, 1,
				   VRDU_MAX_NODES * VRDU_MAX_SECTIONS, sizeof(struct vrdu_node) };
	t[STREAMS] = (struct table){ "streams", h->streams_off, h->streams, 0,
				     VRDU_MAX_STREAMS * VRDU_MAX_SECTIONS,
				     sizeof(struct vrdu_stream) };
	t[AGUS] = (struct table){ "agus", h->agus_off, h->agus, 0, VRDU_MAX_AGUS,
				  sizeof(struct vrdu_agu) };
	t[STRINGS] = (struct table){ "string bytes", h->strings_off, h->strings, 1,
				     VRDU_IMAGE_MAX_BYTES, 1 };
	for (i = 0; i < TABLES; i++) {
		ret = check_table(&t[i], &end, size, log);
		if (ret)
			return ret;
	}
	*out = (struct fm_image){
		.header = h,
		.symbols = image + h->symbols_off,
		.extents = image + h->extents_off,
		.sections = image + h->sections_off,
		.seq = image + h->seq_off,
		.nodes = image + h->nodes_off,
		.streams = image + h->streams_off,
		.agus = image + h->agus_off,
		.strings = image + h->strings_off,
		.n_symbols = h->symbols,
		.n_extents = h->extents,
		.n_sections = h->sections,
		.n_seq = h->seqs,
		.n_nodes = h->nodes,
		.n_streams = h->streams,
		.n_agus = h->agus,
		.n_strings = h->strings,
	};
	ret = check_strings(out, log);
	return ret ? ret : check_records(out, log);
}
