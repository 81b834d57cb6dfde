// SPDX-License-Identifier: MIT
/*
 * What vrdu decode says about its runs: see report.h. Formats numbers that
 * run.c read; owns nothing.
 */
#include "report.h"
#include "common/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void report_verdict(const struct run *reference, const struct run *run, uint32_t vocab,
		    struct verdict *out)
{
	uint32_t at;

	out->reference = decode_mode_name(reference->mode);
	out->rows = run->logit_rows;
	out->ids_equal = run_same_ids(reference, run, &out->at);
	out->logits_equal = run_same_logits(reference, run, vocab, &at);
	if (out->ids_equal)
		out->at = at;
}

long report_text(const struct tokenizer *t, const struct run *r, char **out)
{
	size_t used = 0, n;
	const char *s;
	char *text;
	uint32_t i;

	for (i = r->given; i < r->count; i++) {
		tokenizer_decode(t, r->ids[i - 1], r->ids[i], &n);
		used += n;
	}
	text = malloc(used + 1);
	if (!text)
		return -ENOMEM;
	for (i = r->given, used = 0; i < r->count; i++) {
		s = tokenizer_decode(t, r->ids[i - 1], r->ids[i], &n);
		memcpy(text + used, s, n);
		used += n;
	}
	text[used] = '\0';
	*out = text;
	return used;
}

static double per(uint64_t total, const struct run *r)
{
	return (double)total / r->cost.positions;
}

static double positions_per_s(const struct run *r)
{
	return r->cost.wall_ns ? r->cost.positions * 1e9 / r->cost.wall_ns : 0;
}

/* ---- JSON ---- */

static void json_counters(struct json *j, const struct run_cost *c)
{
	const struct vrdu_host_counters *h = &c->host;
	const struct vrdu_counters *d = &c->device;

	json_key(j, "counters");
	json_object(j);
	json_kv_u64(j, "positions", c->positions);
	json_kv_u64(j, "submissions", h->submits);
	json_kv_u64(j, "ioctls", h->ioctls);
	json_kv_u64(j, "calls", h->calls);
	json_kv_u64(j, "doorbells", h->doorbells);
	json_kv_u64(j, "wakeups", h->wakeups);
	json_kv_u64(j, "poll_hits", h->poll_hits);
	json_kv_u64(j, "events", h->events);
	json_kv_u64(j, "waits", h->waits);
	json_kv_u64(j, "waits_blocked", h->waits_blocked);
	json_kv_u64(j, "context_switches_voluntary", c->voluntary);
	json_kv_u64(j, "context_switches_involuntary", c->involuntary);
	json_kv_u64(j, "device_calls", d->calls);
	json_kv_u64(j, "device_runs", d->runs);
	json_kv_u64(j, "device_iterations", d->iterations);
	json_kv_u64(j, "device_firings", d->firings);
	json_kv_u64(j, "device_program_loads", d->program_loads);
	json_kv_u64(j, "device_hbm_read_bytes", d->hbm_read_bytes);
	json_kv_u64(j, "device_hbm_write_bytes", d->hbm_write_bytes);
	json_object_end(j);
}

static void json_measured(struct json *j, const char *key, uint64_t ns, const struct run *r)
{
	json_key(j, key);
	json_object(j);
	json_kv_string(j, "kind", "measured");
	json_kv_u64(j, "total_ns", ns);
	json_kv_double(j, "per_position_ns", per(ns, r));
	json_object_end(j);
}

static void json_modelled(struct json *j, const char *key, uint64_t ps, const struct run *r)
{
	json_key(j, key);
	json_object(j);
	json_kv_string(j, "kind", "modelled");
	json_kv_u64(j, "total_ps", ps);
	json_kv_double(j, "per_position_ps", per(ps, r));
	json_object_end(j);
}

void report_json_run(struct json *j, const struct run *r)
{
	const struct vrdu_counters *d = &r->cost.device;

	json_kv_string(j, "mode", decode_mode_name(r->mode));
	json_counters(j, &r->cost);
	json_key(j, "times");
	json_object(j);
	json_measured(j, "wall", r->cost.wall_ns, r);
	json_measured(j, "cpu", r->cost.cpu_ns, r);
	json_modelled(j, "device", r->cost.device_ps, r);
	json_modelled(j, "device_program_load", d->program_load_ps, r);
	json_modelled(j, "device_argument_load", d->arg_load_ps, r);
	json_modelled(j, "device_fill", d->fill_ps, r);
	json_modelled(j, "device_steady", d->steady_ps, r);
	json_modelled(j, "device_drain", d->drain_ps, r);
	json_modelled(j, "device_done", d->done_ps, r);
	json_object_end(j);
	json_key(j, "rate");
	json_object(j);
	json_kv_string(j, "kind", "measured");
	json_kv_double(j, "positions_per_s", positions_per_s(r));
	json_object_end(j);
}

void report_json_verdict(struct json *j, const struct verdict *v)
{
	if (!v->reference) {
		json_null(j);
		return;
	}
	json_object(j);
	json_kv_string(j, "reference", v->reference);
	json_kv_bool(j, "ids_equal", v->ids_equal);
	json_kv_bool(j, "logits_equal", v->logits_equal);
	json_kv_u64(j, "logit_rows", v->rows);
	if (v->ids_equal && v->logits_equal)
		json_kv_null(j, "first_difference");
	else
		json_kv_u64(j, "first_difference", v->at);
	json_object_end(j);
}

/* ---- text ---- */

void report_line(const struct run *r, FILE *out)
{
	fprintf(out, "%s: %" PRIu32 " positions, %" PRIu32 " new tokens; measured %.0f ns and "
		"modelled %.0f ns of device time per position, %.0f positions/s measured; %" PRIu64
		" submissions, %" PRIu64 " calls\n", decode_mode_name(r->mode), r->cost.positions,
		r->count - r->given, per(r->cost.wall_ns, r), per(r->cost.device_ps, r) / 1e3,
		positions_per_s(r), r->cost.host.submits, r->cost.host.calls);
}

void report_table(const struct run *runs, const struct verdict *verdicts, uint32_t n, FILE *out)
{
	static const char *const head[][2] = {
		{ "mode", "" },
		{ "submits", "/token" },
		{ "ioctls", "/token" },
		{ "calls", "/token" },
		{ "waits", "/token" },
		{ "blocked", "/token" },
		{ "ctx sw", "/token" },
		{ "host ns/token", "measured" },
		{ "tokens/s", "measured" },
		{ "device ns/token", "modelled" },
		{ "result", "" },
	};
	struct table t;
	uint32_t i, k;

	table_init(&t, sizeof(head) / sizeof(head[0]));
	for (k = 0; k < 2; k++)
		for (i = 0; i < t.columns; i++)
			table_cell(&t, "%s", head[i][k]);
	for (i = 0; i < n; i++) {
		const struct run *r = &runs[i];
		const struct verdict *v = &verdicts[i];

		table_cell(&t, "%s", decode_mode_name(r->mode));
		table_cell(&t, "%.2f", per(r->cost.host.submits, r));
		table_cell(&t, "%.2f", per(r->cost.host.ioctls, r));
		table_cell(&t, "%.2f", per(r->cost.host.calls, r));
		table_cell(&t, "%.2f", per(r->cost.host.waits, r));
		table_cell(&t, "%.2f", per(r->cost.host.waits_blocked, r));
		table_cell(&t, "%.2f", per(r->cost.voluntary + r->cost.involuntary, r));
		table_cell(&t, "%.0f", per(r->cost.wall_ns, r));
		table_cell(&t, "%.1f", positions_per_s(r));
		table_cell(&t, "%.0f", per(r->cost.device_ps, r) / 1e3);
		table_cell(&t, "%s", !v->reference ? "reference" : !v->ids_equal ? "TOKENS DIFFER" :
			   !v->logits_equal ? "LOGITS DIFFER" : "same bits");
	}
	table_print(&t, 2, out);
	fprintf(out, "Per token: all counts over the %" PRIu32 " positions computed, given tokens "
		"included.\n", n ? runs[0].cost.positions : 0);
}

/* ---- looping ---- */

static const char *class_name(uint32_t kind)
{
	static const char *const names[] = { "invariant", "affine", "carried", "table" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

static int analyze(const struct decode_plan *p, struct vrdu_loop_report **r, struct error *err)
{
	struct vrdu_looping_opts opts = decode_plan_looping(p);
	int ret = vrdu_looping_analyze(decode_plan_recorded(p), &opts, r);

	return ret ? error_set(err, ret, "looping report: %s", vrdu_last_error()) : 0;
}

static void print_candidate(const struct vrdu_loop_candidate *c, FILE *out)
{
	uint32_t i;

	fprintf(out, "%s: calls %" PRIu32 " to %" PRIu32 ", %" PRIu32 " x %" PRIu32
		" calls beginning with %s, depth %" PRIu32 ": %s\n", c->taken ? "loop" : "no loop",
		c->first, c->first + c->period * c->trips - 1, c->trips, c->period, c->program,
		c->depth, c->reason);
	for (i = 0; c->args && i < c->arg_count; i++) {
		const struct vrdu_loop_arg *a = &c->args[i];

		fprintf(out, "  %-18s %-9s", a->symbol, class_name(a->kind));
		if (a->kind == VRDU_ARG_AFFINE)
			fprintf(out, " %+" PRId64 " bytes", a->stride);
		fprintf(out, "  %s\n", a->reason);
	}
}

/* The layers of the next token are the same story again. */
static bool repeats(const struct vrdu_loop_candidate *a, const struct vrdu_loop_candidate *b)
{
	return a->period == b->period && a->trips == b->trips && a->depth == b->depth &&
	       a->taken == b->taken && !strcmp(a->program, b->program) &&
	       !strcmp(a->reason, b->reason);
}

int report_looping(const struct decode_plan *p, FILE *out, struct error *err)
{
	struct vrdu_loop_candidate c, last = { 0 };
	struct vrdu_loop_report *r;
	uint32_t i, n, more = 0;
	int ret;

	if (!decode_plan_recorded(p)) {
		fprintf(out, "This mode submits the calls one by one: nothing is looped.\n");
		return 0;
	}
	ret = analyze(p, &r, err);
	if (ret)
		return ret;
	n = vrdu_loop_report_count(r);
	fprintf(out, "Looping of %" PRIu32 " recorded calls: %" PRIu32 " candidates, %" PRIu32
		" calls remain.\n", vrdu_graph_calls(decode_plan_recorded(p)), n,
		vrdu_graph_calls(decode_plan_graph(p)));
	for (i = 0; i < n; i++) {
		if (vrdu_loop_report_at(r, i, &c))
			continue;
		if (last.program && repeats(&last, &c)) {
			more++;
			continue;
		}
		if (more)
			fprintf(out, "  … and %" PRIu32 " more like this one\n", more);
		more = 0;
		print_candidate(&c, out);
		last = c;
	}
	if (more)
		fprintf(out, "  … and %" PRIu32 " more like this one\n", more);
	vrdu_loop_report_unref(r);
	return 0;
}

static void json_candidate(struct json *j, const struct vrdu_loop_candidate *c)
{
	uint32_t i;

	json_object(j);
	json_kv_u64(j, "first_call", c->first);
	json_kv_u64(j, "period", c->period);
	json_kv_u64(j, "trips", c->trips);
	json_kv_u64(j, "depth", c->depth);
	json_kv_bool(j, "taken", c->taken);
	json_kv_string(j, "program", c->program);
	json_kv_string(j, "reason", c->reason);
	json_key(j, "arguments");
	json_array(j);
	for (i = 0; c->args && i < c->arg_count; i++) {
		json_object(j);
		json_kv_string(j, "symbol", c->args[i].symbol);
		json_kv_string(j, "class", class_name(c->args[i].kind));
		if (c->args[i].kind == VRDU_ARG_AFFINE)
			json_kv_i64(j, "stride_bytes", c->args[i].stride);
		else
			json_kv_null(j, "stride_bytes");
		json_kv_string(j, "reason", c->args[i].reason);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

int report_json_looping(struct json *j, const struct decode_plan *p, struct error *err)
{
	struct vrdu_loop_candidate c;
	struct vrdu_loop_report *r = NULL;
	uint32_t i;
	int ret = 0;

	json_array(j);
	if (decode_plan_recorded(p))
		ret = analyze(p, &r, err);
	for (i = 0; r && i < vrdu_loop_report_count(r); i++)
		if (!vrdu_loop_report_at(r, i, &c))
			json_candidate(j, &c);
	vrdu_loop_report_unref(r);
	json_array_end(j);
	return ret;
}
