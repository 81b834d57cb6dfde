// SPDX-License-Identifier: MIT
/*
 * Reports of the looping pass: what was considered, taken or refused, and the
 * verdict about each argument. Owns copies of all text.
 */
#include "looping.h"

#include <stdio.h>

/**
 * struct entry - a candidate with its text.
 * @cand: As the caller sees it.
 * @args: Its arguments.
 * @text: All strings.
 */
struct entry {
	struct vrdu_loop_candidate cand;
	struct vrdu_loop_arg *args;
	char *text;
};

/**
 * struct vrdu_loop_report - a report; constant once the analysis is over.
 * @refs: References.
 * @entries: Candidates in the order of consideration.
 * @n: Their number.
 */
struct vrdu_loop_report {
	atomic_uint refs;
	struct entry *entries;
	uint32_t n;
};

int loop_report_create(struct vrdu_loop_report **out)
{
	struct vrdu_loop_report *r = calloc(1, sizeof(*r));

	if (!r)
		return vrdu_nomem();
	vrdu_refs_init(&r->refs);
	*out = r;
	return 0;
}

void vrdu_loop_report_unref(struct vrdu_loop_report *r)
{
	uint32_t i;

	if (!r || !vrdu_refs_put(&r->refs))
		return;
	for (i = 0; i < r->n; i++) {
		free(r->entries[i].args);
		free(r->entries[i].text);
	}
	free(r->entries);
	free(r);
}

static const char *put(char **p, const char *s)
{
	const char *at = *p;
	size_t n = strlen(s) + 1;

	memcpy(*p, s, n);
	*p += n;
	return at;
}

static const char *program_name(const struct loop_cand *c)
{
	const struct vrdu_image *image = c->items[0]->prog->image;

	return vrdu_image_string(image, vrdu_image_header(image)->name);
}

static int fill(struct entry *e, const struct loop_cand *c, bool taken)
{
	size_t n = strlen(c->reason) + strlen(program_name(c)) + 2;
	uint32_t i, calls = 0;
	char *p;

	for (i = 0; i < c->n_slots; i++)
		n += strlen(c->slots[i].name) + strlen(c->slots[i].reason) + 2;
	e->args = calloc(c->n_slots + 1, sizeof(*e->args));
	e->text = malloc(n);
	if (!e->args || !e->text) {
		free(e->args);
		free(e->text);
		return vrdu_nomem();
	}
	for (i = 0; i < c->period; i++)
		calls += c->items[i]->n;
	p = e->text;
	e->cand = (struct vrdu_loop_candidate){
		.first = c->items[0]->call,
		.period = calls,
		.trips = c->trips,
		.taken = taken,
		.depth = c->depth,
		.program = put(&p, program_name(c)),
		.reason = put(&p, c->reason),
		.args = e->args,
		.arg_count = c->n_slots,
	};
	for (i = 0; i < c->n_slots; i++)
		e->args[i] = (struct vrdu_loop_arg){
			.symbol = put(&p, c->slots[i].name),
			.kind = c->slots[i].kind,
			.stride = c->slots[i].stride,
			.reason = put(&p, c->slots[i].reason),
		};
	return 0;
}

int loop_report_add(struct vrdu_loop_report *r, const struct loop_cand *c, bool taken)
{
	struct entry e;
	void *p;
	int ret;

	if (!(r->n & (r->n - 1))) {
		p = realloc(r->entries, (r->n ? 2 * (size_t)r->n : 1) * sizeof(e));
		if (!p)
			return vrdu_nomem();
		r->entries = p;
	}
	ret = fill(&e, c, taken);
	if (ret)
		return ret;
	r->entries[r->n++] = e;
	return 0;
}

uint32_t vrdu_loop_report_count(const struct vrdu_loop_report *r)
{
	return r ? r->n : 0;
}

int vrdu_loop_report_at(const struct vrdu_loop_report *r, uint32_t i,
			struct vrdu_loop_candidate *out)
{
	if (!r || !out)
		return vrdu_fail(-EINVAL, "loop report: no %s",
				 r ? "place for the candidate" : "report");
	if (i >= r->n)
		return vrdu_fail(-EINVAL, "loop report: candidate %u, there are %u", i, r->n);
	*out = r->entries[i].cand;
	return 0;
}
