// SPDX-License-Identifier: MIT
/*
 * libFuzzer harness: program images, from the verifier to the executor.
 *
 * Whatever the verifier says about an image, it says in bounded time and with a
 * reason. What it accepts is run, twice: in the order of modelled time and in a
 * pseudo-random order. Both runs must come to a defined end without touching a
 * byte outside the arguments (each argument is a heap block of its own, which
 * AddressSanitizer guards) and leave the same bytes behind.
 *
 * The mutator makes well-formed images from the examples of tests/unit, changes
 * words of their tables, and repairs length and checksum, so that no time is
 * spent on those. Build, with $FM the model's sources and objects of math/:
 *
 *	clang-14 -g -O1 -fsanitize=fuzzer,address,undefined -Iuapi -Ifirmware-model \
 *		-Itests/unit tests/fuzz/fuzz_image.c $FM -o fuzz_image
 *	./fuzz_image -runs=2000000 -max_len=8192 CORPUS
 */
#include <stdio.h>

#include "mkexamples.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Arguments that are larger stay unmapped: accesses to them fault. */
#define MAX_BYTES	(64u << 10)
/* Addresses of arguments are this far apart. */
#define APART		(1ull << 32)
/* Quanta of work before a call is stopped. */
#define PATIENCE	64

/* ---- memory ---------------------------------------------------------- */

/* Block i covers [(i + 1) * APART, + bytes): arguments, then the ranges of tables. */
struct block {
	uint8_t *data;
	uint64_t bytes;
};

#define BLOCKS	(2 * VRDU_MAX_SYMBOLS)

static struct block blocks[BLOCKS];
static unsigned int quanta;

static void *translate(void *vm, u64 addr, u64 len, u32 access)
{
	uint64_t i = addr / APART - 1, off = addr % APART;

	(void)vm;
	(void)access;
	if (i >= BLOCKS || !blocks[i].data)
		return NULL;
	return off <= blocks[i].bytes && len <= blocks[i].bytes - off ? blocks[i].data + off : NULL;
}

static bool breathe(void *host)
{
	(void)host;
	return ++quanta > PATIENCE;
}

/* Small numbers first, for sizes and indices; then floats, all different. */
static void map_block(uint32_t block, uint64_t bytes)
{
	struct block *b = &blocks[block];
	uint64_t i;

	*b = (struct block){ NULL, 0 };
	if (bytes > MAX_BYTES)
		return;
	b->data = malloc(bytes);
	b->bytes = bytes;
	if (!b->data)
		abort();
	for (i = 0; i < b->bytes; i++)
		b->data[i] = i % 4 ? 0 : 1 + i / 4 % 3;
	for (i = 64; i + 4 <= b->bytes; i += 4) {
		float f = 1.0f + (float)i / 65536.0f;

		memcpy(b->data + i, &f, sizeof(f));
	}
}

/* The ranges of a table lie one behind the other in a block of their own. */
static void map_table(const struct vrdu_symbol *s, uint32_t i)
{
	uint64_t apart = (s->bytes + 7) & ~7ull, j;
	u64 *entries = (u64 *)blocks[i].data;

	for (j = 0; entries && j < s->entries; j++)
		entries[j] = (VRDU_MAX_SYMBOLS + i + 1) * APART + j * apart;
	if (apart <= MAX_BYTES)
		map_block(VRDU_MAX_SYMBOLS + i, apart * s->entries);
}

static void map_arguments(const struct fm_image *img, u64 *args)
{
	uint32_t i;

	memset(blocks, 0, sizeof(blocks));
	for (i = 0; i < img->n_symbols; i++) {
		const struct vrdu_symbol *s = &img->symbols[i];
		bool table = s->kind == VRDU_SYMBOL_TABLE;

		args[i] = (i + 1) * APART;
		map_block(i, table ? s->entries * (uint64_t)8 : s->bytes);
		if (table)
			map_table(s, i);
	}
}

static void unmap_arguments(void)
{
	uint32_t i;

	for (i = 0; i < BLOCKS; i++)
		free(blocks[i].data);
}

static uint32_t checksum(void)
{
	uint32_t crc = 0, i;

	for (i = 0; i < BLOCKS; i++)
		if (blocks[i].data)
			crc = fm_crc32(crc, blocks[i].data, blocks[i].bytes);
	return crc;
}

/* ---- one image ------------------------------------------------------- */

static int run(const struct fm_image *img, struct fm_program *prog,
	       const struct fm_profile *profile, u64 shuffle, uint32_t *crc)
{
	static const struct fm_host_ops ops = { .translate = translate, .breathe = breathe };
	struct vrdu_counters counters = { 0 };
	struct vrdu_fault_info fault;
	u64 args[VRDU_MAX_SYMBOLS];
	struct fm_call call = { .prog = prog, .id = 1, .args = args,
				.arg_count = fm_program_symbols(prog) };
	struct fm_device *dev;
	int ret;

	if (fm_device_create(profile, &ops, NULL, 0, &dev))
		abort();
	fm_device_shuffle(dev, shuffle);
	map_arguments(img, args);
	quanta = 0;
	ret = fm_device_run(dev, &call, &fault, &counters);
	/* The verifier proved that nothing stalls. */
	if (ret && (fault.code == VRDU_FAULT_NONE || fault.code == VRDU_FAULT_WATCHDOG))
		abort();
	*crc = checksum();
	unmap_arguments();
	fm_device_destroy(dev);
	return ret;
}

static void check(const void *image, uint32_t size)
{
	const struct fm_profile *profile = fm_profile_find("tiny");
	char text[1024];
	struct fm_log log = { .buf = text, .size = sizeof(text) };
	struct fm_program *prog;
	struct fm_image img;
	uint32_t crc, other;
	int ret;

	text[0] = 0;
	ret = fm_program_create(image, size, profile, &log, &prog);
	if (!text[0] || (ret && ret != -EINVAL))
		abort();
	if (ret)
		return;
	if (fm_image_parse(image, size, &img, NULL))
		abort();
	ret = run(&img, prog, profile, 0, &crc);
	if (!ret && (run(&img, prog, profile, 0x9e3779b97f4a7c15ull, &other) || crc != other))
		abort();
	fm_program_destroy(prog);
}

/* Length and checksum as they should be. */
static void repair(uint8_t *image, size_t size)
{
	struct vrdu_image_header *h = (struct vrdu_image_header *)image;

	if (size < sizeof(*h))
		return;
	h->size = size;
	mk_seal(image, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *image = malloc(size + 1);

	if (!image)
		abort();
	memcpy(image, data, size);
	repair(image, size);
	check(image, size);
	free(image);
	return 0;
}

/* ---- mutator --------------------------------------------------------- */

static struct mk *example(uint32_t i)
{
	switch (i % 9) {
	case 0:
		return mk_add();
	case 1:
		return mk_accumulate(4);
	case 2:
		return mk_accumulate(1);
	case 3:
		return mk_attention(64, 1);
	case 4:
		return mk_attention(20, 3);
	case 5:
		return mk_in_place();
	case 6:
		return mk_looped();
	case 7:
		return mk_tabled(10);
	default:
		return mk_kinds();
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* A word of the tables becomes another word of them, a neighbour, or a small number. */
static void change_word(uint8_t *image, size_t size, uint32_t *seed)
{
	uint32_t words = (size - sizeof(struct vrdu_image_header)) / 4, value, other;
	uint8_t *at = image + sizeof(struct vrdu_image_header);

	if (!words)
		return;
	memcpy(&other, at + 4 * (next(seed) % words), 4);
	at += 4 * (next(seed) % words);
	memcpy(&value, at, 4);
	switch (next(seed) % 8) {
	case 0:
		value++;
		break;
	case 1:
		value--;
		break;
	case 2:
		value = next(seed) % 4;
		break;
	case 3:
		value *= 2;
		break;
	case 4:
		value /= 2;
		break;
	case 5:
		value ^= 1u << next(seed) % 32;
		break;
	default:
		value = other;
		break;
	}
	memcpy(at, &value, 4);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	uint32_t state = seed, n, changes;

	if (size < sizeof(struct vrdu_image_header) || next(&state) % 64 == 0) {
		struct mk *m = example(next(&state));
		void *image = mk_image(m, &n);

		if (n <= max) {
			memcpy(data, image, n);
			size = n;
		}
		free(image);
		mk_free(m);
	}
	if (next(&state) % 16 == 0)
		size = LLVMFuzzerMutate(data, size, max);
	else
		for (changes = 1 + next(&state) % 3; changes; changes--)
			change_word(data, size, &state);
	repair(data, size);
	return size;
}
