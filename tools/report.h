/* SPDX-License-Identifier: MIT */
/*
 * What vrdu decode says about its runs: JSON, the comparison table, the
 * looping report. Every number is one that was read, never one computed from
 * a formula; measured and modelled ones are marked.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdio.h>

#include "common/json.h"
#include "llama/tokenizer.h"
#include "run.h"

/**
 * struct verdict - comparison of two runs.
 * @reference: Name of the mode that was the reference; NULL: none was made.
 * @ids_equal: Same tokens.
 * @logits_equal: Same bits in all rows compared.
 * @rows: Rows of logits compared.
 * @at: First token or position that differs.
 */
struct verdict {
	const char *reference;
	bool ids_equal;
	bool logits_equal;
	uint32_t rows;
	uint32_t at;
};

/** report_verdict() - compare @run with @reference. */
void report_verdict(const struct run *reference, const struct run *run, uint32_t vocab,
		    struct verdict *out);

/** report_text() - text of a run's new tokens; @out is malloc()ed. Return: bytes, or -ENOMEM. */
long report_text(const struct tokenizer *t, const struct run *r, char **out);

/** report_json_run() - members "mode", "counters" and "times" of a run, into an open object. */
void report_json_run(struct json *j, const struct run *r);

/** report_json_verdict() - a verdict, or null. */
void report_json_verdict(struct json *j, const struct verdict *v);

/** report_table() - one row per run. */
void report_table(const struct run *runs, const struct verdict *verdicts, uint32_t n, FILE *out);

/** report_line() - one line about a run. */
void report_line(const struct run *r, FILE *out);

/** report_looping() - why each run of calls was or was not made a loop. */
int report_looping(const struct decode_plan *p, FILE *out, struct error *err);

/** report_json_looping() - the same as an array. */
int report_json_looping(struct json *j, const struct decode_plan *p, struct error *err);

#endif /* TOOLS_REPORT_H */
