// SPDX-License-Identifier: MIT
/*
 * One decoded sequence and its cost: see run.h. Plans are made before the
 * clock starts; between its two readings there is nothing but submitting,
 * waiting and handing out tokens.
 */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/**
 * struct snapshot - counters at one moment.
 * @wall_ns: CLOCK_MONOTONIC.
 * @usage: Of the process.
 * @host: Library and driver.
 * @device: Context.
 */
struct snapshot {
	uint64_t wall_ns;
	struct rusage usage;
	struct vrdu_host_counters host;
	struct vrdu_context_status device;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int snap(struct vrdu_context *ctx, struct snapshot *s, bool begin, struct error *err)
{
	int ret;

	/* The clock is the reading nearest to the work on both sides. */
	if (!begin)
		s->wall_ns = now();
	ret = vrdu_device_get_counters(vrdu_context_device(ctx), &s->host, sizeof(s->host)) ?:
	      vrdu_context_get_status(ctx, &s->device, sizeof(s->device));
	if (ret)
		return error_set(err, ret, "%s", vrdu_last_error());
	if (getrusage(RUSAGE_SELF, &s->usage))
		return error_set(err, -errno, "getrusage: %s", strerror(errno));
	if (begin)
		s->wall_ns = now();
	return 0;
}

/* The difference of two structs that consist of u64 counters. */
static void subtract(void *out, const void *a, const void *b, size_t bytes)
{
	const uint64_t *x = a, *y = b;
	uint64_t *o = out;
	size_t i;

	for (i = 0; i < bytes / sizeof(*o); i++)
		o[i] = y[i] - x[i];
}

static uint64_t cpu_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 +
	       ((uint64_t)u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static void cost_of(struct run_cost *c, const struct snapshot *a, const struct snapshot *b)
{
	c->wall_ns = b->wall_ns - a->wall_ns;
	c->cpu_ns = cpu_ns(&b->usage) - cpu_ns(&a->usage);
	c->voluntary = b->usage.ru_nvcsw - a->usage.ru_nvcsw;
	c->involuntary = b->usage.ru_nivcsw - a->usage.ru_nivcsw;
	subtract(&c->host, &a->host, &b->host, sizeof(c->host));
	subtract(&c->device, &a->device.counters, &b->device.counters, sizeof(c->device));
	/* Of this context alone; the device's clock also serves others. */
	c->device_ps = b->device.counters.busy_ps - a->device.counters.busy_ps;
}

uint32_t run_positions(uint32_t context, uint32_t given, uint32_t want)
{
	uint32_t room = context > given ? context - given : 0;
	uint32_t made = want < room ? want : room;

	return made ? given + made - 1 : given;
}

/**
 * struct plans - what advances the sequence.
 * @full: By whole blocks.
 * @rest: By what is left, or NULL.
 */
struct plans {
	struct decode_plan *full;
	struct decode_plan *rest;
};

static void free_plans(struct plans *p)
{
	decode_plan_destroy(p->full);
	decode_plan_destroy(p->rest);
}

static int make_plans(struct decoder *d, const struct run_request *req, uint32_t positions,
		      struct plans *p, struct error *err)
{
	uint32_t block = req->mode == DECODE_TOKEN_LOOP ? req->block : 1;
	int ret;

	if (block > positions)
		block = positions;
	ret = decode_plan_create(d, req->mode, block, &p->full, err);
	if (!ret && positions % block)
		ret = decode_plan_create(d, req->mode, positions % block, &p->rest, err);
	return ret;
}

/* Compute all positions; hand out tokens as they come. Return: 1 when EOS ended it. */
static int drive(struct decoder *d, const struct run_request *req, struct plans *p,
		 uint32_t positions, bool quiet, struct run *out, struct error *err)
{
	const int32_t *tokens = decoder_tokens(d, 0);
	uint32_t full = decode_plan_positions(p->full), last = out->count, i = out->given;
	int ret;

	while (decoder_position(d) < positions) {
		ret = decode_plan_advance(positions - decoder_position(d) >= full ? p->full :
					  p->rest, err);
		if (ret)
			return ret;
		for (; i <= decoder_position(d) && i < last; i++) {
			ret = 0;
			if (!quiet && req->token)
				ret = req->token(req->arg, tokens[i - 1], tokens[i],
						 i + 1 - out->given);
			if (ret)
				return error_set(err, ret, "cannot write the output");
			if (tokens[i] == req->eos) {
				out->count = i + 1;
				return 1;
			}
		}
	}
	return 0;
}

static int copy_out(struct decoder *d, const struct model *m, bool rows, struct run *out,
		    struct error *err)
{
	size_t line = (size_t)m->config.vocab * sizeof(float);
	uint32_t computed = decoder_position(d);

	/* Logits of the position that gave the last token; after it nothing counts. */
	out->last = computed - 1;
	if (rows && out->count > out->given && out->count - 2 < out->last)
		out->last = out->count - 2;
	out->logit_rows = rows ? out->last + 1 : 1;
	out->logits = malloc(line * out->logit_rows);
	if (!out->logits)
		return error_set(err, -ENOMEM, "no memory for the logits");
	memcpy(out->logits, decoder_logits(d, 0, 0), line * out->logit_rows);
	memcpy(out->ids, decoder_tokens(d, 0), out->count * sizeof(*out->ids));
	return 0;
}

int run_decode(struct vrdu_context *ctx, struct decoder *d, const struct model *m,
	       const struct run_request *req, struct run *out, struct error *err)
{
	uint32_t positions = run_positions(m->config.context, req->given, req->want);
	struct snapshot before, after;
	struct plans plans = { NULL, NULL };
	bool rows;
	int ret, turn;

	memset(out, 0, sizeof(*out));
	out->mode = req->mode;
	out->given = req->given;
	out->ids = malloc(((size_t)positions + 1) * sizeof(*out->ids));
	if (!out->ids)
		return error_set(err, -ENOMEM, "out of memory");
	ret = make_plans(d, req, positions, &plans, err);
	for (turn = req->warm ? 0 : 1; turn < 2 && ret >= 0; turn++) {
		out->count = positions + 1;
		if (!req->want || out->count > m->config.context)
			out->count = positions;
		ret = decoder_begin(d, req->ids, req->given, 0, err) ?:
		      snap(ctx, &before, true, err);
		if (!ret)
			ret = drive(d, req, &plans, positions, !turn, out, err);
	}
	if (ret >= 0)
		ret = snap(ctx, &after, false, err);
	if (!ret) {
		cost_of(&out->cost, &before, &after);
		out->cost.positions = decoder_position(d);
		rows = decoder_keeps_logits(d);
		ret = copy_out(d, m, rows, out, err);
	}
	free_plans(&plans);
	if (ret)
		run_free(out);
	return ret;
}

void run_free(struct run *r)
{
	free(r->ids);
	free(r->logits);
	memset(r, 0, sizeof(*r));
}

bool run_same_ids(const struct run *a, const struct run *b, uint32_t *at)
{
	uint32_t n = a->count < b->count ? a->count : b->count, i;

	for (i = 0; i < n && a->ids[i] == b->ids[i]; i++)
		;
	*at = i;
	return i == n && a->count == b->count;
}

bool run_same_logits(const struct run *a, const struct run *b, uint32_t vocab, uint32_t *at)
{
	size_t line = (size_t)vocab * sizeof(float);
	uint32_t i;

	*at = a->last;
	if (a->last != b->last || a->logit_rows != b->logit_rows)
		return false;
	for (i = 0; i < a->logit_rows; i++) {
		if (memcmp(a->logits + (size_t)i * vocab, b->logits + (size_t)i * vocab, line)) {
			*at = a->last + 1 - a->logit_rows + i;
			return false;
		}
	}
	return true;
}
