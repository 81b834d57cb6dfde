// SPDX-License-Identifier: MIT
/*
 * Property tests of whole decoders on the simulator: nothing that the host may
 * choose changes a bit of the result or a picosecond of modelled time, and the
 * result agrees with a decoder in double precision that shares no code.
 *
 * argv[1] is a folder of models made by models/convert.py (see Makefile).
 */
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "llama/decode.h"
#include "../ref/refdecode.h"

#define TOKENS		12u
#define MAX_LOGITS	1024u
#define MAX_ROWS	4u
#define MAX_MODELS	16u
#define LOGIT_LIMIT	2e-4

/**
 * struct setup - everything a run may choose.
 * @selector: Device.
 * @mode: Way of submitting.
 * @block: Positions of one token-loop submission.
 * @batch: Rows.
 * @tile_rows: Tile size.
 * @dev: Firing order, threads, arithmetic.
 */
struct setup {
	const char *selector;
	enum decode_mode mode;
	uint32_t block;
	uint32_t batch;
	uint32_t tile_rows;
	struct vrdu_device_opts dev;
};

/**
 * struct outcome - what must not depend on those choices.
 * @tokens: Given and appended tokens per row.
 * @logits: Bits of the logits of all positions, row 0 … batch - 1.
 * @device_ps: Modelled time of the whole sequence.
 * @calls: Calls that the device completed.
 * @submits: Submissions.
 */
struct outcome {
	int32_t tokens[MAX_ROWS][TOKENS + 1];
	uint32_t logits[MAX_ROWS][TOKENS][MAX_LOGITS];
	uint64_t device_ps;
	uint64_t calls;
	uint64_t submits;
};

static char models[MAX_MODELS][PATH_MAX];
static uint32_t n_models;
static const int32_t prompt[] = { 1, 4, 2 };

static void must(int ret, const struct error *err)
{
	if (ret)
		fail_msg("%d: %s", ret, err->text[0] ? err->text : vrdu_last_error());
}

static void advance_all(struct decode_plan *p, struct decoder *d, struct error *err)
{
	while (decoder_position(d) < TOKENS)
		must(decode_plan_advance(p, err), err);
}

static void collect(struct decoder *d, const struct setup *s, const struct model *m,
		    struct outcome *o)
{
	uint32_t row, pos;

	for (row = 0; row < s->batch; row++) {
		memcpy(o->tokens[row], decoder_tokens(d, row), sizeof(o->tokens[row]));
		for (pos = 0; pos < TOKENS; pos++)
			memcpy(o->logits[row][pos], decoder_logits(d, pos, row),
			       m->config.vocab * sizeof(uint32_t));
	}
}

static void decode(const char *path, const struct setup *s, struct outcome *o)
{
	struct decode_opts opts = {
		.batch = s->batch, .tile_rows = s->tile_rows, .logit_rows = TOKENS,
	};
	struct vrdu_context_status before, after;
	struct vrdu_host_counters c0, c1;
	struct vrdu_device_opts dev_opts = s->dev;
	struct error err = { "" };
	struct vrdu_device *dev;
	struct vrdu_context *ctx;
	struct model *m;
	struct decoder *d;
	struct decode_plan *p;

	dev_opts.size = sizeof(dev_opts);
	memset(o, 0, sizeof(*o));
	must(model_open(path, &m, &err), &err);
	assert_true(m->config.vocab <= MAX_LOGITS);
	must(vrdu_device_open(s->selector, &dev_opts, &dev), &err);
	must(vrdu_context_create(dev, &ctx), &err);
	must(decoder_create(ctx, m, &opts, &d, &err), &err);
	must(decode_plan_create(d, s->mode, s->block, &p, &err), &err);
	must(decoder_begin(d, prompt, sizeof(prompt) / sizeof(prompt[0]), 0, &err), &err);
	must(vrdu_context_get_status(ctx, &before, sizeof(before)), &err);
	must(vrdu_device_get_counters(dev, &c0, sizeof(c0)), &err);
	advance_all(p, d, &err);
	must(vrdu_context_get_status(ctx, &after, sizeof(after)), &err);
	must(vrdu_device_get_counters(dev, &c1, sizeof(c1)), &err);
	collect(d, s, m, o);
	o->device_ps = after.counters.busy_ps - before.counters.busy_ps;
	assert_int_equal(after.device_ps - before.device_ps, o->device_ps);
	o->calls = after.counters.calls - before.counters.calls;
	o->submits = c1.submits - c0.submits;
	decode_plan_destroy(p);
	decoder_destroy(d);
	vrdu_context_unref(ctx);
	vrdu_device_unref(dev);
	model_close(m);
}

static uint32_t model_layers(const char *path)
{
	struct error err = { "" };
	struct model *m;
	uint32_t layers;

	must(model_open(path, &m, &err), &err);
	layers = m->config.layers;
	model_close(m);
	return layers;
}

static const struct setup base = {
	.selector = "sim", .mode = DECODE_LAYER, .block = 1, .batch = 1,
};

static void same_bits(const struct outcome *a, const struct outcome *b, const char *what,
		      const char *model)
{
	if (memcmp(a->tokens, b->tokens, sizeof(a->tokens)))
		fail_msg("%s: tokens of %s differ", what, model);
	if (memcmp(a->logits, b->logits, sizeof(a->logits)))
		fail_msg("%s: logits of %s differ", what, model);
}

/* For each model: run base and varied setups, compare bits, and time if it must be equal. */
static void vary(const struct setup *setups, uint32_t n, bool same_time, const char *what)
{
	struct outcome *want = malloc(sizeof(*want)), *got = malloc(sizeof(*got));
	uint32_t i, j;

	assert_non_null(want);
	assert_non_null(got);
	for (i = 0; i < n_models; i++) {
		struct setup first = setups[0];

		decode(models[i], &first, want);
		for (j = 1; j < n; j++) {
			decode(models[i], &setups[j], got);
			same_bits(want, got, what, models[i]);
			if (same_time)
				assert_int_equal(want->device_ps, got->device_ps);
		}
	}
	free(want);
	free(got);
}

static void test_modes(void **state)
{
	struct setup s[6] = { base, base, base, base, base, base };

	(void)state;
	s[1].mode = DECODE_BATCH;
	s[2].mode = DECODE_LOOP;
	s[3].mode = DECODE_TOKEN_LOOP;
	s[3].block = 4;
	s[4].mode = DECODE_TOKEN_LOOP;
	s[4].block = TOKENS;
	s[5].selector = "sim:tiny";
	vary(s, 6, false, "modes");
}

static void test_shuffle(void **state)
{
	struct setup s[8] = { base };
	uint32_t i;

	(void)state;
	s[0].mode = DECODE_LOOP;
	s[0].tile_rows = 5;
	for (i = 1; i < 8; i++) {
		s[i] = s[0];
		s[i].dev.shuffle = 0x1234567ull * i + 1;
	}
	vary(s, 8, true, "firing order");
}

static void test_tiles(void **state)
{
	static const uint32_t rows[] = { 0, 1, 3, 16, 100, 100000 };
	struct setup s[6];
	uint32_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		s[i] = base;
		s[i].mode = DECODE_LOOP;
		s[i].tile_rows = rows[i];
	}
	vary(s, 6, false, "tile size");
}

static void test_arithmetic(void **state)
{
	struct setup s[4] = { base, base, base, base };

	(void)state;
	s[1].dev.cpu_mask = 2;
	s[2].dev.cpu_mask = 3;
	s[3].dev.threads = 3;
	vary(s, 4, true, "instruction set or threads");
}

static void test_batch(void **state)
{
	struct outcome *one = malloc(sizeof(*one)), *three = malloc(sizeof(*three));
	struct setup s = base;
	uint32_t i, row;

	(void)state;
	assert_non_null(one);
	assert_non_null(three);
	for (i = 0; i < n_models; i++) {
		s.batch = 1;
		s.mode = DECODE_LAYER;
		decode(models[i], &s, one);
		s.batch = 3;
		s.mode = DECODE_LOOP;
		decode(models[i], &s, three);
		for (row = 0; row < 3; row++) {
			assert_memory_equal(one->tokens[0], three->tokens[row],
					    sizeof(one->tokens[0]));
			assert_memory_equal(one->logits[0], three->logits[row],
					    sizeof(one->logits[0]));
		}
	}
	free(one);
	free(three);
}

static void test_repeat(void **state)
{
	struct setup s[2] = { base, base };

	(void)state;
	vary(s, 2, true, "the same again");
}

static void test_submissions(void **state)
{
	struct outcome *o = malloc(sizeof(*o));
	struct setup s = base;
	uint32_t layers = model_layers(models[0]);

	(void)state;
	assert_non_null(o);
	decode(models[0], &s, o);
	assert_int_equal(o->submits, (uint64_t)TOKENS * (layers + 2));
	assert_int_equal(o->calls, (uint64_t)TOKENS * (layers + 2));
	s.mode = DECODE_BATCH;
	decode(models[0], &s, o);
	assert_int_equal(o->submits, TOKENS);
	assert_int_equal(o->calls, (uint64_t)TOKENS * (layers + 2));
	s.mode = DECODE_LOOP;
	decode(models[0], &s, o);
	assert_int_equal(o->submits, TOKENS);
	assert_true(o->calls <= 3 * TOKENS);
	s.mode = DECODE_TOKEN_LOOP;
	s.block = TOKENS;
	decode(models[0], &s, o);
	assert_int_equal(o->submits, 1);
	assert_int_equal(o->calls, 1);
	free(o);
}

/* Looping must pay in modelled time, or the clock does not see what it removes. */
static void test_looping_pays(void **state)
{
	struct outcome *layer = malloc(sizeof(*layer)), *loop = malloc(sizeof(*loop));
	struct setup s = base;
	uint32_t i;

	(void)state;
	assert_non_null(layer);
	assert_non_null(loop);
	for (i = 0; i < n_models; i++) {
		s.mode = DECODE_LAYER;
		decode(models[i], &s, layer);
		s.mode = DECODE_LOOP;
		decode(models[i], &s, loop);
		if (model_layers(models[i]) > 1)
			assert_true(loop->device_ps < layer->device_ps);
		else
			assert_int_equal(loop->device_ps, layer->device_ps);
	}
	free(layer);
	free(loop);
}

static void test_reference(void **state)
{
	struct outcome *o = malloc(sizeof(*o));
	double *logits = malloc(MAX_LOGITS * sizeof(*logits));
	uint32_t i, pos, v;

	(void)state;
	assert_non_null(o);
	assert_non_null(logits);
	for (i = 0; i < n_models; i++) {
		struct ref_error err = { "" };
		struct ref_model *ref;

		decode(models[i], &base, o);
		if (ref_load(&ref, models[i], &err))
			fail_msg("%s", err.text);
		for (pos = 0; pos < TOKENS; pos++) {
			assert_int_equal(ref_forward(ref, o->tokens[0][pos], pos, logits), 0);
			for (v = 0; v < ref->vocab; v++) {
				float f;

				memcpy(&f, &o->logits[0][pos][v], sizeof(f));
				if (!(fabs(f - logits[v]) <= LOGIT_LIMIT))
					fail_msg("%s: position %u, token %u: %.9g, reference %.9g",
						 models[i], pos, v, f, logits[v]);
			}
			if (pos + 1 >= sizeof(prompt) / sizeof(prompt[0]))
				assert_int_equal(ref_argmax(logits, ref->vocab),
						 o->tokens[0][pos + 1]);
		}
		ref_free(ref);
	}
	free(o);
	free(logits);
}

static void find_models(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)) && n_models < MAX_MODELS)
		if (strstr(e->d_name, ".model"))
			snprintf(models[n_models++], PATH_MAX, "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_repeat),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_shuffle),
		cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_arithmetic),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_submissions),
		cmocka_unit_test(test_looping_pays),
		cmocka_unit_test(test_reference),
	};

	if (argc > 1)
		find_models(argv[1]);
	if (!n_models) {
		fprintf(stderr, "usage: test_decode FOLDER-WITH-*.model\n");
		return 2;
	}
	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
