// SPDX-License-Identifier: MIT
/*
 * Four ways of submitting the same calls: see decode.h. A plan owns its calls
 * and graphs; advancing allocates nothing.
 */
#include "decode_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/**
 * struct decode_plan - a way of submitting.
 * @d: Decoder; not ours.
 * @mode: Way.
 * @block: Positions of an advance.
 * @max_calls: Calls in one submission of this device.
 * @calls: LAYER, BATCH: calls of one token.
 * @args: Their arguments.
 * @recorded: LOOP, TOKEN_LOOP: the calls as recorded.
 * @graph: After looping.
 * @exec: Ready to launch.
 */
struct decode_plan {
	struct decoder *d;
	enum decode_mode mode;
	uint32_t block;
	uint32_t max_calls;
	struct vrdu_call *calls;
	struct vrdu_arg *args;
	struct vrdu_graph *recorded;
	struct vrdu_graph *graph;
	struct vrdu_exec *exec;
};

static const char *const mode_names[DECODE_MODES] = { "layer", "batch", "loop", "token-loop" };

const char *decode_mode_name(enum decode_mode mode)
{
	return mode_names[mode];
}

/* The calls of one token, arguments bound: they serve every token. */
static int make_calls(struct decode_plan *p)
{
	const struct decoder *d = p->d;
	uint32_t n = decoder_calls(d), i;

	p->calls = calloc(n, sizeof(*p->calls));
	p->args = calloc((size_t)n * VRDU_MAX_SYMBOLS, sizeof(*p->args));
	if (!p->calls || !p->args)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		enum llama_program_id id = !i ? LLAMA_EMBED : i + 1 < n ? LLAMA_LAYER : LLAMA_HEAD;
		struct vrdu_arg *args = p->args + (size_t)i * VRDU_MAX_SYMBOLS;

		decoder_bind(d, id, id == LLAMA_LAYER ? i - 1 : 0, args);
		p->calls[i] = (struct vrdu_call){
			.prog = d->resident[id],
			.args = args,
			.arg_count = d->programs[id].symbols,
		};
	}
	return 0;
}

static int record(struct decode_plan *p)
{
	uint32_t n = decoder_calls(p->d), t, i;
	int ret;

	ret = vrdu_graph_create(p->d->ctx, &p->recorded);
	for (t = 0; t < p->block && !ret; t++)
		for (i = 0; i < n && !ret; i++)
			ret = vrdu_graph_call(p->recorded, &p->calls[i]);
	/* Nobody reads the residual stream afterwards: it may stay on the chip. */
	return ret ?: vrdu_graph_transient(p->recorded, p->d->x);
}

struct vrdu_looping_opts decode_plan_looping(const struct decode_plan *p)
{
	struct vrdu_looping_opts opts = {
		.size = sizeof(opts),
		.max_depth = p->mode == DECODE_TOKEN_LOOP ? 2 : 1,
	};

	return opts;
}

int decode_plan_create(struct decoder *d, enum decode_mode mode, uint32_t block,
		       struct decode_plan **out, struct error *err)
{
	struct vrdu_device_info info;
	struct vrdu_looping_opts opts;
	struct decode_plan *p;
	int ret;

	if (block < 1 || block > (mode == DECODE_TOKEN_LOOP ? DECODE_MAX_BLOCK : 1))
		return error_set(err, -EINVAL, "block of %" PRIu32 " tokens, must be 1 to %u",
				 block, mode == DECODE_TOKEN_LOOP ? DECODE_MAX_BLOCK : 1);
	p = calloc(1, sizeof(*p));
	if (!p)
		return error_set(err, -ENOMEM, "out of memory");
	p->d = d;
	p->mode = mode;
	p->block = block;
	ret = vrdu_device_get_info(vrdu_context_device(d->ctx), &info, sizeof(info));
	if (ret)
		goto fail;
	p->max_calls = info.max_calls ? info.max_calls : 1;
	ret = make_calls(p);
	if (!ret && mode >= DECODE_LOOP) {
		opts = decode_plan_looping(p);
		ret = record(p) ?: vrdu_looping_apply(p->recorded, &opts, &p->graph) ?:
		      vrdu_graph_instantiate(p->graph, 0, &p->exec);
	}
	if (ret)
		goto fail;
	*out = p;
	return 0;
fail:
	error_set(err, ret, "%s: %s", mode_names[mode],
		  ret == -ENOMEM ? "out of memory" : vrdu_last_error());
	decode_plan_destroy(p);
	return ret;
}

void decode_plan_destroy(struct decode_plan *p)
{
	if (!p)
		return;
	vrdu_exec_unref(p->exec);
	vrdu_graph_unref(p->graph);
	vrdu_graph_unref(p->recorded);
	free(p->calls);
	free(p->args);
	free(p);
}

uint32_t decode_plan_positions(const struct decode_plan *p)
{
	return p->block;
}

struct vrdu_graph *decode_plan_recorded(const struct decode_plan *p)
{
	return p->recorded;
}

struct vrdu_graph *decode_plan_graph(const struct decode_plan *p)
{
	return p->graph;
}

static int64_t deadline(const struct decode_plan *p)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + (int64_t)p->d->opts.timeout_ns;
}

static int submit_and_wait(struct decode_plan *p, uint32_t first, uint32_t n)
{
	uint64_t seqno;

	return vrdu_submit(p->d->ctx, p->calls + first, n, NULL, 0, NULL, 0, &seqno) ?:
	       vrdu_wait(p->d->ctx, seqno, deadline(p));
}

static int advance_layer(struct decode_plan *p)
{
	uint32_t n = decoder_calls(p->d), i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = submit_and_wait(p, i, 1);
	return ret;
}

static int advance_batch(struct decode_plan *p)
{
	uint32_t n = decoder_calls(p->d), i, part;
	int ret = 0;

	for (i = 0; i < n && !ret; i += part) {
		part = n - i < p->max_calls ? n - i : p->max_calls;
		if (i + part < n)
			ret = vrdu_submit(p->d->ctx, p->calls + i, part, NULL, 0, NULL, 0, NULL);
		else
			ret = submit_and_wait(p, i, part);
	}
	return ret;
}

static int advance_graph(struct decode_plan *p)
{
	uint64_t seqno;

	return vrdu_exec_launch(p->exec, &seqno) ?: vrdu_wait(p->d->ctx, seqno, deadline(p));
}

int decode_plan_advance(struct decode_plan *p, struct error *err)
{
	static int (*const advance[DECODE_MODES])(struct decode_plan *p) = {
		advance_layer, advance_batch, advance_graph, advance_graph,
	};
	uint32_t context = p->d->model->config.context;
	uint32_t room = p->d->opts.logit_rows ? p->d->opts.logit_rows : context;
	int ret;

	if (p->d->position + p->block > room)
		return error_set(err, -ENOSPC, "%" PRIu32 " positions after %" PRIu32
				 " are more than the %" PRIu32 " there is room for", p->block,
				 p->d->position, room);
	ret = advance[p->mode](p);
	if (ret)
		return error_set(err, ret, "%s", vrdu_last_error());
	p->d->position += p->block;
	return 0;
}
