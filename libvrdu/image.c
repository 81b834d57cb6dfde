// SPDX-License-Identifier: MIT
/*
 * Images as blobs: reading, writing, and the first check — header, CRC and the
 * bounds of the tables, no more. What the records mean is the verifier's
 * affair. Owns struct vrdu_image, which never changes once made.
 */
#include "internal.h"

#include <stdio.h>

uint32_t vrdu_image_crc32(const void *data, size_t size)
{
	/* The reflected polynomial, a nibble at a time. */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const size_t skip = offsetof(struct vrdu_image_header, crc32);
	const unsigned char *p = data;
	uint32_t crc = ~0u;
	size_t i;

	for (i = 0; i < size; i++) {
		crc ^= i - skip < 4 ? 0 : p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/* One table of the header: inside the image, aligned, after the one before. */
static int check_table(const char *what, uint32_t off, uint32_t count, size_t record,
		       size_t size, size_t *end)
{
	if (off % 8)
		return vrdu_fail(-EINVAL, "image: %s table at %u is not 8-byte aligned", what, off);
	if (off < *end || off > size || count > (size - off) / record)
		return vrdu_fail(-EINVAL, "image: %s table, %u records at %u, exceeds bytes %zu … %zu",
				 what, count, off, *end, size);
	*end = off + count * record;
	return 0;
}

static int check(const void *data, size_t size)
{
	const struct vrdu_image_header *h = data;
	const struct {
		const char *what;
		uint32_t off;
		uint32_t count;
		size_t record;
	} tables[] = {
		{ "symbol", h->symbols_off, h->symbols, sizeof(struct vrdu_symbol) },
		{ "extent", h->extents_off, h->extents, sizeof(struct vrdu_extent) },
		{ "section", h->sections_off, h->sections, sizeof(struct vrdu_section) },
		{ "sequence", h->seq_off, h->seqs, sizeof(struct vrdu_seq) },
		{ "node", h->nodes_off, h->nodes, sizeof(struct vrdu_node) },
		{ "stream", h->streams_off, h->streams, sizeof(struct vrdu_stream) },
		{ "AGU", h->agus_off, h->agus, sizeof(struct vrdu_agu) },
	};
	size_t end = sizeof(*h), i;
	uint32_t crc;
	int ret;

	if (h->magic != VRDU_IMAGE_MAGIC)
		return vrdu_fail(-EINVAL, "image: magic is 0x%08x, not \"VRDU\"", h->magic);
	if (h->major != VRDU_IMAGE_MAJOR || h->minor > VRDU_IMAGE_MINOR)
		return vrdu_fail(-EINVAL, "image: version %u.%u, this library knows %u.%u", h->major,
				 h->minor, VRDU_IMAGE_MAJOR, VRDU_IMAGE_MINOR);
	if (h->size != size)
		return vrdu_fail(-EINVAL, "image: header says %u bytes, there are %zu", h->size,
				 size);
	crc = vrdu_image_crc32(data, size);
	if (h->crc32 != crc)
		return vrdu_fail(-EINVAL, "image: CRC is 0x%08x, header says 0x%08x", crc, h->crc32);
	for (i = 0; i < ARRAY_LEN(tables); i++) {
		ret = check_table(tables[i].what, tables[i].off, tables[i].count,
				  tables[i].record, size, &end);
		if (ret)
			return ret;
	}
	if (h->symbols > VRDU_MAX_SYMBOLS)
		return vrdu_fail(-EINVAL, "image: %u symbols, limit %u", h->symbols,
				 VRDU_MAX_SYMBOLS);
	if (h->strings_off < end || h->strings_off > size || !h->strings ||
	    h->strings > size - h->strings_off)
		return vrdu_fail(-EINVAL, "image: string table, %u bytes at %u, exceeds bytes %zu … %zu",
				 h->strings, h->strings_off, end, size);
	if (((const char *)data)[h->strings_off + h->strings - 1])
		return vrdu_fail(-EINVAL, "image: string table does not end with NUL");
	return 0;
}

int vrdu_image_adopt(void *data, size_t size, struct vrdu_image **out)
{
	struct vrdu_image *image;
	int ret;

	if (size < sizeof(struct vrdu_image_header) || size > VRDU_IMAGE_MAX_BYTES)
		return vrdu_fail(-EINVAL, "image: %zu bytes, not %zu … %u", size,
				 sizeof(struct vrdu_image_header), VRDU_IMAGE_MAX_BYTES);
	ret = check(data, size);
	if (ret)
		return ret;
	image = calloc(1, sizeof(*image));
	if (!image)
		return vrdu_nomem();
	vrdu_refs_init(&image->refs);
	image->data = data;
	image->size = size;
	*out = image;
	return 0;
}

int vrdu_image_from_memory(const void *data, size_t size, struct vrdu_image **out)
{
	void *copy;
	int ret;

	if (!data || !out)
		return vrdu_fail(-EINVAL, "image: no %s", data ? "place for the result" : "data");
	if (!size || size > VRDU_IMAGE_MAX_BYTES)
		return vrdu_fail(-EINVAL, "image: %zu bytes, limit %u", size, VRDU_IMAGE_MAX_BYTES);
	copy = malloc(size);
	if (!copy)
		return vrdu_nomem();
	memcpy(copy, data, size);
	ret = vrdu_image_adopt(copy, size, out);
	if (ret)
		free(copy);
	return ret;
}

static int file_error(const char *path, const char *verb)
{
	int err = errno ? -errno : -EIO;

	return vrdu_fail(err, "image: cannot %s %s: %s", verb, path, strerror(-err));
}

int vrdu_image_from_file(const char *path, struct vrdu_image **out)
{
	char *data;
	size_t n;
	FILE *f;
	int ret;

	if (!path || !out)
		return vrdu_fail(-EINVAL, "image: no %s", path ? "place for the result" : "path");
	f = fopen(path, "rbe");
	if (!f)
		return file_error(path, "open");
	/* One byte more than an image may have tells a longer file from one that fits. */
	data = malloc(VRDU_IMAGE_MAX_BYTES + 1);
	if (!data) {
		ret = vrdu_nomem();
		goto out;
	}
	errno = 0;
	n = fread(data, 1, VRDU_IMAGE_MAX_BYTES + 1, f);
	ret = ferror(f) ? file_error(path, "read") : vrdu_image_from_memory(data, n, out);
	free(data);
out:
	fclose(f);
	return ret;
}

int vrdu_image_to_file(const struct vrdu_image *image, const char *path)
{
	FILE *f;
	int ret = 0;

	if (!image || !path)
		return vrdu_fail(-EINVAL, "image: no %s", image ? "path" : "image");
	f = fopen(path, "wbe");
	if (!f)
		return file_error(path, "create");
	errno = 0;
	if (fwrite(image->data, 1, image->size, f) != image->size)
		ret = file_error(path, "write");
	if (fclose(f) && !ret)
		ret = file_error(path, "write");
	return ret;
}

struct vrdu_image *vrdu_image_ref(struct vrdu_image *image)
{
	if (image)
		vrdu_refs_get(&image->refs);
	return image;
}

void vrdu_image_unref(struct vrdu_image *image)
{
	if (!image || !vrdu_refs_put(&image->refs))
		return;
	free(image->data);
	free(image);
}

const void *vrdu_image_data(const struct vrdu_image *image, size_t *size)
{
	if (size)
		*size = image ? image->size : 0;
	return image ? image->data : NULL;
}

const char *vrdu_image_string(const struct vrdu_image *image, uint32_t offset)
{
	const struct vrdu_image_header *h = vrdu_image_header(image);

	return offset < h->strings ? (const char *)image->data + h->strings_off + offset : "?";
}

uint32_t vrdu_image_symbols(const struct vrdu_image *image)
{
	return image ? vrdu_image_header(image)->symbols : 0;
}

int vrdu_image_symbol(const struct vrdu_image *image, uint32_t i, struct vrdu_symbol *symbol,
		      const char **name)
{
	const struct vrdu_symbol *s;

	if (!image)
		return vrdu_fail(-EINVAL, "symbol: no image");
	if (i >= vrdu_image_symbols(image))
		return vrdu_fail(-EINVAL, "symbol %u: the image has %u", i,
				 vrdu_image_symbols(image));
	s = &vrdu_image_symbol_table(image)[i];
	if (symbol)
		*symbol = *s;
	if (name)
		*name = vrdu_image_string(image, s->name);
	return 0;
}

int vrdu_image_find_symbol(const struct vrdu_image *image, const char *name)
{
	uint32_t i;

	if (!image || !name)
		return vrdu_fail(-EINVAL, "symbol: no %s", image ? "name" : "image");
	for (i = 0; i < vrdu_image_symbols(image); i++)
		if (!strcmp(vrdu_image_string(image, vrdu_image_symbol_table(image)[i].name), name))
			return i;
	return vrdu_fail(-ENOENT, "symbol \"%s\": program \"%s\" has none of that name", name,
			 vrdu_image_string(image, vrdu_image_header(image)->name));
}

int vrdu_image_verify(const struct vrdu_image *image, const char *profile, char *log,
		      size_t log_size)
{
	char text[1536];
	int ret;

	if (!image || (log_size && !log))
		return vrdu_fail(-EINVAL, "verify: no %s", image ? "log buffer" : "image");
	if (!log_size) {
		log = text;
		log_size = sizeof(text);
	}
	ret = vrdu_verify(image->data, image->size, profile, log, log_size);
	if (ret == -EINVAL && *log)
		return vrdu_fail(ret, "program \"%s\" is refused: %s",
				 vrdu_image_string(image, vrdu_image_header(image)->name), log);
	return ret;
}
