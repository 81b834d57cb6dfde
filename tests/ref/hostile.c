// SPDX-License-Identifier: MIT
/*
 * hostile: the reference loader against damaged files.
 *
 *	hostile MODEL [ROUNDS]
 *
 * Loads every kind of shortened copy of a good file, which must be refused with
 * a cause, and copies with random bytes changed, which must be refused with a
 * cause or give a model that computes one position. Built with the address and
 * undefined-behaviour sanitizers, which end the program at the first fault.
 * Prints "N passed, N failed"; exit code 0 when nothing failed.
 */
#include "refdecode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int passed, failed;

static void count(int good, const char *what, size_t which, const char *cause)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	fprintf(stderr, "hostile: %s %zu: %s\n", what, which, cause);
}

/* A deterministic generator: the same damage on every machine. */
static uint32_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

/* An exact copy on the heap, so that the sanitizer sees a read past its end. */
static uint8_t *copy(const uint8_t *bytes, size_t size)
{
	uint8_t *to = malloc(size ? size : 1);

	if (!to)
		exit(1);
	memcpy(to, bytes, size);
	return to;
}

static void shorten(const uint8_t *bytes, size_t length)
{
	uint8_t *part = copy(bytes, length);
	struct ref_model *model;
	struct ref_error error;
	int ret = ref_load_memory(&model, part, length, &error);

	count(ret == -1 && !model && error.text[0], "loaded although shortened to", length,
	      "no refusal or no cause");
	ref_free(model);
	free(part);
}

static void damage(const uint8_t *bytes, size_t size, size_t round, uint64_t *state)
{
	uint8_t *bad = copy(bytes, size);
	/* Most of the damage goes to the front, where the numbers are. */
	size_t range = round % 4 ? (size < 2048 ? size : 2048) : size;
	unsigned int changes = 1 + next(state) % 4;
	struct ref_model *model;
	struct ref_error error;
	int ret;

	for (unsigned int i = 0; i < changes; i++)
		bad[next(state) % range] = (uint8_t)(next(state) & 1 ? next(state) :
						     (next(state) & 1 ? 0xff : 0));
	ret = ref_load_memory(&model, bad, size, &error);
	if (ret) {
		count(ret == -1 && !model && error.text[0], "damaged, round", round, "no cause");
	} else {
		double *logits = malloc(model->vocab * sizeof(*logits));

		count(logits && !ref_forward(model, 0, 0, logits), "damaged, round", round,
		      "loaded, but position 0 failed");
		free(logits);
	}
	ref_free(model);
	free(bad);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? (size_t)atoi(argv[2]) : 2000, size, step;
	uint64_t state = 1611;
	uint8_t *bytes;
	FILE *file;

	if (argc < 2) {
		fputs("usage: hostile MODEL [ROUNDS]\n", stderr);
		return 2;
	}
	file = fopen(argv[1], "rb");
	if (!file || fseek(file, 0, SEEK_END)) {
		perror(argv[1]);
		return 1;
	}
	size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(size + 1);
	if (!bytes || fread(bytes, 1, size, file) != size) {
		fprintf(stderr, "hostile: cannot read %s\n", argv[1]);
		return 1;
	}
	fclose(file);
	/* Every length up to 600 bytes, then in steps, then the last ones. */
	step = size / 500 + 1;
	for (size_t length = 0; length < size; length += length < 600 ? 1 : step)
		shorten(bytes, length);
	for (size_t missing = 1; missing <= 64 && missing <= size; missing++)
		if (size >= 33 || missing < size)
			shorten(bytes, size - missing);
	for (size_t round = 0; round < rounds; round++)
		damage(bytes, size, round, &state);
	free(bytes);
	printf("%s: %u passed, %u failed\n", argv[1], passed, failed);
	return failed != 0;
}
