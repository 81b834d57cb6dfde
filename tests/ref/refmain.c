// SPDX-License-Identifier: MIT
/*
 * refdecode: decode greedily with the reference decoder.
 *
 *	refdecode MODEL --ids 1,403,407 --tokens N [--dump-logits FILE]
 *
 * Prints one line of JSON: {"ids": [given], "tokens": [new]}. FILE gets the
 * logits of every computed position as little-endian float32, positions x
 * vocabulary. Exit code 0, 1 for a failure, 2 for wrong arguments.
 */
#include "refdecode.h"
#include "refargs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: refdecode MODEL --ids 1,403,407 --tokens N [--dump-logits FILE]\n"
	"Decodes greedily in double precision and prints the token ids as JSON.\n";

struct options {
	const char *model;
	const char *ids;
	const char *dump;
	size_t tokens;
	int have_tokens;
};

static int parse(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (argv[i][0] != '-') {
			if (o->model)
				return -1;
			o->model = argv[i];
			continue;
		}
		if (!value)
			return -1;
		if (!strcmp(argv[i], "--ids"))
			o->ids = value;
		else if (!strcmp(argv[i], "--dump-logits"))
			o->dump = value;
		else if (!strcmp(argv[i], "--tokens"))
			o->have_tokens = !ref_parse_number(value, &o->tokens);
		else
			return -1;
		i++;
	}
	return o->model && o->ids && o->have_tokens ? 0 : -1;
}

/* Write one position's logits. */
static int dump(void *user, size_t pos, const double *logits, size_t count)
{
	(void)pos;
	for (size_t i = 0; i < count; i++) {
		float value = (float)logits[i];
		uint8_t raw[4];
		uint32_t bits;

		memcpy(&bits, &value, sizeof(bits));
		for (int b = 0; b < 4; b++)
			raw[b] = (uint8_t)(bits >> 8 * b);
		if (fwrite(raw, sizeof(raw), 1, user) != 1)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	struct ref_error error = { "" };
	struct ref_model *model = NULL;
	FILE *file = NULL;
	size_t *ids = NULL, given, made;
	int ret = 1;

	if (parse(&o, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	if (ref_load(&model, o.model, &error))
		goto out;
	ids = calloc(model->context, sizeof(*ids));
	if (!ids || ref_parse_ids(o.ids, ids, model->context, &given)) {
		snprintf(error.text, sizeof(error.text),
			 "--ids wants 1..%zu numbers with commas between", model->context);
		goto out;
	}
	if (o.dump) {
		file = fopen(o.dump, "wb");
		if (!file) {
			snprintf(error.text, sizeof(error.text), "cannot write %s: %s", o.dump,
				 strerror(errno));
			goto out;
		}
	}
	if (ref_greedy(model, ids, given, o.tokens, &made, file ? dump : NULL, file, &error))
		goto out;
	if (file && fclose(file)) {
		file = NULL;
		snprintf(error.text, sizeof(error.text), "cannot write %s: %s", o.dump,
			 strerror(errno));
		goto out;
	}
	file = NULL;
	printf("{\"ids\": ");
	ref_print_ids(ids, given);
	printf(", \"tokens\": ");
	ref_print_ids(ids + given, made);
	printf("}\n");
	ret = 0;
out:
	if (ret)
		fprintf(stderr, "refdecode: %s: %s\n", o.model, error.text);
	if (file)
		fclose(file);
	free(ids);
	ref_free(model);
	return ret;
}
