// SPDX-License-Identifier: MIT
/*
 * Kernel looping, the pass itself: finds runs of one program, then periods of
 * different calls and loops, tries each as a candidate and replaces what is
 * taken by one item. Changes nothing but its own lists; looping_apply.c turns
 * the result into a graph.
 */
#include "looping.h"

#include <stdarg.h>
#include <stdio.h>

int loop_refuse(struct loop_cand *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->reason, sizeof(c->reason), fmt, ap);
	va_end(ap);
	return LOOP_REFUSED;
}

/* ---- one candidate --------------------------------------------------- */

static void cand_free(struct loop_cand *c)
{
	uint32_t i;

	for (i = 0; i < c->n_targets; i++)
		loop_table_put(c->targets[i].arg.table);
	free(c->targets);
	free(c->slots);
	vrdu_image_unref(c->image);
}

/* Back to before binding. */
static void cand_reset(struct loop_cand *c)
{
	uint32_t i;

	for (i = 0; i < c->n_targets; i++)
		loop_table_put(c->targets[i].arg.table);
	c->n_targets = 0;
	vrdu_image_unref(c->image);
	c->image = NULL;
}

static int cand_init(struct loop_cand *c)
{
	const struct vrdu_image *first = c->items[0]->image;
	uint32_t i, k, n = 0;

	for (i = 0; i < c->period; i++)
		n += c->items[i]->n_args;
	c->slots = calloc(n + 1, sizeof(*c->slots));
	c->targets = calloc(VRDU_MAX_SYMBOLS, sizeof(*c->targets));
	if (!c->slots || !c->targets)
		return vrdu_nomem();
	for (i = 0; i < c->period; i++) {
		const struct vrdu_image *image = c->items[i]->image;
		const struct vrdu_symbol *sym = vrdu_image_symbol_table(image);
		const struct vrdu_image *named = c->items[i]->prog->image;

		for (k = 0; k < c->items[i]->n_args; k++) {
			struct loop_slot *s = &c->slots[c->n_slots++];
			const char *name = vrdu_image_string(image, sym[k].name);

			s->item = i;
			s->symbol = k;
			s->sym = &sym[k];
			s->partner = VRDU_NONE;
			if (c->period == 1)
				snprintf(s->name, sizeof(s->name), "%s", name);
			else
				snprintf(s->name, sizeof(s->name), "%.30s.%.30s",
					 vrdu_image_string(named, vrdu_image_header(named)->name),
					 name);
		}
	}
	c->pipelined = c->period == 1 && vrdu_image_header(first)->seqs == 1;
	return 0;
}

static uint32_t nesting(const struct vrdu_image *image)
{
	const struct vrdu_seq *s = vrdu_image_seq_table(image);
	uint32_t i, depth = 0, max = 0;

	for (i = 0; i < vrdu_image_header(image)->seqs; i++) {
		if (s[i].op == VRDU_SEQ_LOOP && ++depth > max)
			max = depth;
		depth -= s[i].op == VRDU_SEQ_END;
	}
	return max;
}

_Static_assert(VRDU_GRAPH_MAX <= VRDU_MAX_TRIP, "a run of calls is never too long for a loop");

static int check_form(struct loop_cand *c, uint32_t min_trips)
{
	uint32_t i;

	if (c->trips < min_trips)
		return loop_refuse(c, "only %u iterations, %u are wanted", c->trips, min_trips);
	for (i = 0; i < c->period; i++) {
		if (c->items[i]->flags != c->items[0]->flags)
			return loop_refuse(c, "its calls have different flags");
		if (nesting(c->items[i]->image) >= VRDU_MAX_LOOP_DEPTH)
			return loop_refuse(c, "its loops nest %u deep already",
					   VRDU_MAX_LOOP_DEPTH);
	}
	return 0;
}

static bool same_image(const struct vrdu_image *a, const struct vrdu_image *b)
{
	return a == b || (a->size == b->size && !memcmp(a->data, b->data, a->size));
}

/* The verifier's word on the looped image; equal images are one object from here on. */
static int verify(struct loop_pass *pass, struct loop_cand *c)
{
	char log[LOOP_TEXT] = "";
	struct vrdu_image **p;
	uint32_t i;
	int ret;

	for (i = 0; i < pass->n_verified; i++) {
		if (!same_image(pass->verified[i], c->image))
			continue;
		vrdu_image_unref(c->image);
		c->image = vrdu_image_ref(pass->verified[i]);
		return 0;
	}
	ret = vrdu_verify(c->image->data, c->image->size, pass->g->ctx->dev->info.profile, log,
			  sizeof(log));
	if (ret == -EINVAL)
		return loop_refuse(c, "the verifier refuses the loop: %.200s", log);
	if (ret)
		return ret;
	p = realloc(pass->verified, (pass->n_verified + 1) * sizeof(*p));
	if (!p)
		return vrdu_nomem();
	pass->verified = p;
	p[pass->n_verified++] = vrdu_image_ref(c->image);
	return 0;
}

static bool has_affine(const struct loop_cand *c)
{
	uint32_t i;

	for (i = 0; i < c->n_slots; i++)
		if (c->slots[i].kind == VRDU_ARG_AFFINE)
			return true;
	return false;
}

static int bind_and_verify(struct loop_pass *pass, struct loop_cand *c)
{
	int ret = loop_bind(c);

	if (!ret)
		ret = loop_image(c);
	return ret ? ret : verify(pass, c);
}

/* All steps. Strided ranges that interleave with others get a second chance as tables. */
static int judge(struct loop_pass *pass, struct loop_cand *c)
{
	char first[LOOP_TEXT];
	int ret;

	ret = check_form(c, pass->min_trips);
	if (!ret)
		ret = loop_classify(c);
	if (ret)
		return ret;
	ret = bind_and_verify(pass, c);
	if (ret != LOOP_REFUSED || !has_affine(c))
		return ret;
	memcpy(first, c->reason, sizeof(first));
	cand_reset(c);
	c->tables = true;
	ret = loop_classify(c);
	if (!ret)
		ret = bind_and_verify(pass, c);
	if (ret == LOOP_REFUSED)
		memcpy(c->reason, first, sizeof(first));
	return ret;
}

static int make_loop(struct loop_cand *c, struct loop_item **out)
{
	struct loop_item *it = calloc(1, sizeof(*it));
	size_t i;

	if (!it)
		return vrdu_nomem();
	it->first = c->items[0]->first;
	it->call = c->items[0]->call;
	it->prog = c->items[0]->prog;
	it->flags = c->items[0]->flags;
	it->loop = true;
	for (i = 0; i < (size_t)c->period * c->trips; i++)
		it->n += c->items[i]->n;
	it->args = calloc(c->n_targets + 1, sizeof(*it->args));
	if (!it->args) {
		free(it);
		return vrdu_nomem();
	}
	it->image = vrdu_image_ref(c->image);
	it->n_args = c->n_targets;
	for (i = 0; i < c->n_targets; i++) {
		it->args[i] = c->targets[i].arg;
		if (it->args[i].table)
			it->args[i].table->refs++;
	}
	*out = it;
	return 0;
}

/**
 * struct view - the calls and loops of the pass, boundaries left out.
 * @at: Items.
 * @pos: Their positions in the pass.
 * @n: Their number.
 */
struct view {
	struct loop_item **at;
	uint32_t *pos;
	uint32_t n;
};

/*
 * Try items [first, first + period * trips) of the view. A loop that is taken
 * stands in the pass's list for them. Return: 1 taken, 0 refused, -errno.
 * @prefix: if refused: see loop_affine_prefix(); may be NULL.
 */
static int consider(struct loop_pass *pass, struct view *v, uint32_t first, uint32_t period,
		    uint32_t trips, uint32_t depth, uint32_t *prefix)
{
	struct loop_cand c = {
		.g = pass->g,
		.items = v->at + first,
		.period = period,
		.trips = trips,
		.depth = depth,
	};
	struct loop_item *loop = NULL;
	size_t i;
	int ret;

	ret = cand_init(&c);
	if (!ret)
		ret = judge(pass, &c);
	if (ret == LOOP_REFUSED) {
		if (prefix)
			*prefix = loop_affine_prefix(&c);
		ret = loop_report_add(pass->report, &c, false);
		goto out;
	}
	if (ret)
		goto out;
	snprintf(c.reason, sizeof(c.reason), "%u iterations become one call: %s", trips,
		 c.pipelined ? "pipelined, the next begins while one drains" :
			       "the fabric drains between sections");
	ret = loop_report_add(pass->report, &c, true);
	if (!ret)
		ret = make_loop(&c, &loop);
	if (ret)
		goto out;
	for (i = 0; i < (size_t)period * trips; i++) {
		loop_item_free(v->at[first + i]);
		pass->items[v->pos[first + i]] = NULL;
	}
	pass->items[v->pos[first]] = loop;
	ret = 1;
out:
	cand_free(&c);
	return ret;
}

/* ---- boundaries ------------------------------------------------------ */

static const char *const boundary_names[] = {
	[VRDU_BOUNDARY_WAIT] = "the host waits",
	[VRDU_BOUNDARY_READBACK] = "the host reads results",
	[VRDU_BOUNDARY_SIGNAL] = "somebody else is signalled",
};

/* First index in (first, end) before which a boundary lies; end: none. */
static uint32_t boundary_in(const struct view *v, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = first + 1; i < end; i++)
		if (v->pos[i] != v->pos[i - 1] + 1)
			break;
	return i;
}

/* Report that a boundary at @at spoils [first, first + period * trips). */
static int report_boundary(struct loop_pass *pass, const struct view *v, uint32_t first,
			   uint32_t period, uint32_t trips, uint32_t depth, uint32_t at)
{
	const struct loop_item *b = pass->items[v->pos[at] - 1];
	struct loop_cand c = {
		.g = pass->g,
		.items = v->at + first,
		.period = period,
		.trips = trips,
		.depth = depth,
	};

	loop_refuse(&c, "%s before call %u: no loop spans that", boundary_names[b->boundary],
		    v->at[at]->call);
	return loop_report_add(pass->report, &c, false);
}

static void view_free(struct view *v)
{
	free(v->at);
	free(v->pos);
}

/* Close the gaps that taken loops left, then list what is not a boundary. */
static int view_make(struct loop_pass *pass, struct view *v)
{
	uint32_t i, n = 0;

	for (i = 0; i < pass->n_items; i++)
		if (pass->items[i])
			pass->items[n++] = pass->items[i];
	pass->n_items = n;
	v->n = 0;
	v->at = malloc(((size_t)n + 1) * sizeof(*v->at));
	v->pos = malloc(((size_t)n + 1) * sizeof(*v->pos));
	if (!v->at || !v->pos) {
		view_free(v);
		return vrdu_nomem();
	}
	for (i = 0; i < n; i++) {
		if (pass->items[i]->boundary)
			continue;
		v->at[v->n] = pass->items[i];
		v->pos[v->n++] = i;
	}
	return 0;
}

/* ---- runs of one program --------------------------------------------- */

/* [first, end) without a boundary: as a whole, else cut where arguments leave their strides. */
static int consider_run(struct loop_pass *pass, struct view *v, uint32_t first, uint32_t end)
{
	uint32_t prefix, at;
	int ret;

	if (end - first < 2)
		return 0;
	ret = consider(pass, v, first, 1, end - first, 0, &prefix);
	if (ret)
		return ret < 0 ? ret : 0;
	if (prefix >= end - first)
		return 0;
	for (at = first; end - at >= pass->min_trips; at += prefix) {
		struct loop_cand c = {
			.g = pass->g, .items = v->at + at, .period = 1, .trips = end - at,
		};

		ret = cand_init(&c);
		prefix = ret ? 0 : loop_affine_prefix(&c);
		cand_free(&c);
		if (!ret && prefix >= pass->min_trips)
			ret = consider(pass, v, at, 1, prefix, 0, NULL);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static bool same_call(const struct loop_item *a, const struct loop_item *b)
{
	return a->prog == b->prog && a->flags == b->flags && a->loop == b->loop;
}

static int find_runs(struct loop_pass *pass)
{
	uint32_t i, end, at, next;
	struct view v;
	int ret;

	ret = view_make(pass, &v);
	if (ret)
		return ret;
	for (i = 0; !ret && i < v.n; i = end) {
		for (end = i + 1; end < v.n && same_call(v.at[i], v.at[end]); end++)
			;
		at = boundary_in(&v, i, end);
		if (at < end)
			ret = report_boundary(pass, &v, i, 1, end - i, 0, at);
		for (at = i; !ret && at < end; at = next) {
			next = boundary_in(&v, at, end);
			ret = consider_run(pass, &v, at, next);
		}
	}
	view_free(&v);
	return ret;
}

/* ---- periods --------------------------------------------------------- */

static bool equal(const struct loop_item *a, const struct loop_item *b)
{
	return same_call(a, b) && (!a->loop || same_image(a->image, b->image));
}

/* How often [first, first + period) is repeated from there on, up to @end. */
static uint32_t repeats(const struct view *v, uint32_t first, uint32_t period, uint32_t end)
{
	uint32_t i = first + period;

	while (i < end && equal(v->at[i], v->at[i - period]))
		i++;
	return (i - first) / period;
}

/* The period from @first on that covers most; the shortest of equals. */
static uint32_t best_period(const struct view *v, uint32_t first, uint32_t end, uint32_t *trips)
{
	uint32_t p, n, best = 0, cover = 0;

	for (p = 1; p <= LOOP_MAX_PERIOD && 2 * p <= end - first; p++) {
		n = repeats(v, first, p, end);
		if (n < 2 || n * p <= cover)
			continue;
		best = p;
		cover = n * p;
		*trips = n;
	}
	return best;
}

static bool has_loop(const struct view *v, uint32_t first, uint32_t n)
{
	uint32_t i;

	for (i = first; i < first + n; i++)
		if (v->at[i]->loop)
			return true;
	return false;
}

static int find_periods_in(struct loop_pass *pass, struct view *v, uint32_t first, uint32_t end);

static int consider_period(struct loop_pass *pass, struct view *v, uint32_t first,
			   uint32_t period, uint32_t trips)
{
	uint32_t end = first + period * trips, at, next;
	bool loops = has_loop(v, first, period);
	int ret;

	/* A run of one call was looked at before. */
	if ((period == 1 && !loops) || (loops && pass->max_depth < 2))
		return 0;
	at = boundary_in(v, first, end);
	if (at == end) {
		ret = consider(pass, v, first, period, trips, loops, NULL);
		return ret < 0 ? ret : 0;
	}
	ret = report_boundary(pass, v, first, period, trips, loops, at);
	for (at = first; !ret && at < end; at = next) {
		next = boundary_in(v, at, end);
		ret = find_periods_in(pass, v, at, next);
	}
	return ret;
}

static int find_periods_in(struct loop_pass *pass, struct view *v, uint32_t first, uint32_t end)
{
	uint32_t period, trips = 0;
	int ret = 0;

	while (!ret && first < end) {
		period = best_period(v, first, end, &trips);
		if (!period) {
			first++;
			continue;
		}
		ret = consider_period(pass, v, first, period, trips);
		first += period * trips;
	}
	return ret;
}

static int find_periods(struct loop_pass *pass)
{
	struct view v;
	int ret;

	ret = view_make(pass, &v);
	if (ret)
		return ret;
	ret = find_periods_in(pass, &v, 0, v.n);
	view_free(&v);
	if (ret)
		return ret;
	/* Close the gaps. */
	ret = view_make(pass, &v);
	if (!ret)
		view_free(&v);
	return ret;
}

/* ---- entry ----------------------------------------------------------- */

int loop_pass_run(struct loop_pass *pass, struct vrdu_graph *g,
		  const struct vrdu_looping_opts *user)
{
	struct vrdu_looping_opts opts;
	int ret;

	memset(pass, 0, sizeof(*pass));
	if (!g)
		return vrdu_fail(-EINVAL, "looping: no graph");
	ret = vrdu_opts_read(&opts, sizeof(opts), user);
	if (ret)
		return ret;
	if (opts.min_trips == 1 || opts.max_depth > 2)
		return vrdu_fail(-EINVAL, "looping: min_trips %u, max_depth %u: at least 2, at most 2",
				 opts.min_trips, opts.max_depth);
	pass->g = g;
	pass->min_trips = opts.min_trips ? opts.min_trips : 2;
	pass->max_depth = opts.max_depth ? opts.max_depth : 2;
	ret = loop_report_create(&pass->report);
	if (!ret)
		ret = loop_make_items(pass);
	if (!ret)
		ret = find_runs(pass);
	if (!ret)
		ret = find_periods(pass);
	if (ret)
		loop_pass_free(pass);
	return ret;
}

void loop_pass_free(struct loop_pass *pass)
{
	uint32_t i;

	for (i = 0; i < pass->n_items; i++)
		loop_item_free(pass->items[i]);
	free(pass->items);
	for (i = 0; i < pass->n_verified; i++)
		vrdu_image_unref(pass->verified[i]);
	free(pass->verified);
	vrdu_loop_report_unref(pass->report);
	memset(pass, 0, sizeof(*pass));
}

int vrdu_looping_analyze(struct vrdu_graph *g, const struct vrdu_looping_opts *opts,
			 struct vrdu_loop_report **out)
{
	struct loop_pass pass;
	int ret;

	if (!out)
		return vrdu_fail(-EINVAL, "looping: no place for the report");
	ret = loop_pass_run(&pass, g, opts);
	if (ret)
		return ret;
	*out = pass.report;
	pass.report = NULL;
	loop_pass_free(&pass);
	return 0;
}
