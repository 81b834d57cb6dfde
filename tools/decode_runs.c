// SPDX-License-Identifier: MIT
/*
 * The runs of vrdu decode and what is printed about them: one run; a run and
 * its reference (--verify); a run in every mode (--compare). See decode_cmd.h.
 */
#include "decode_cmd.h"
#include "report.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * struct session - runs of one command.
 * @spec: Command, for messages.
 * @cmd: What to do.
 * @d: Decoder.
 * @runs: Runs, in the order of @n.
 * @verdicts: Their comparison with the reference.
 * @n: Number of runs.
 * @text_out: Text is printed as it comes.
 * @plain: stdout is a terminal: control characters are dropped.
 * @progress: stderr is a terminal and may be talked to, but stdout is not.
 * @err: Sentence.
 */
struct session {
	const struct args_spec *spec;
	const struct decode_cmd *cmd;
	struct decoder *d;
	struct run runs[DECODE_MODES];
	struct verdict verdicts[DECODE_MODES];
	uint32_t n;
	bool text_out;
	bool plain;
	bool progress;
	struct error err;
};

/* A terminal gets text, not commands. */
static void print_text(const struct session *s, const char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		unsigned char c = text[i];

		if (!s->plain || (c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t')
			putchar(c);
	}
}

static int on_token(void *arg, int32_t prev, int32_t id, uint32_t made)
{
	struct session *s = arg;
	const char *text;
	size_t n;

	if (s->text_out && s->cmd->tokenizer) {
		text = tokenizer_decode(s->cmd->tokenizer, prev, id, &n);
		print_text(s, text, n);
	} else if (s->text_out) {
		printf("%s%" PRId32, made > 1 ? " " : "", id);
	}
	if (s->text_out && fflush(stdout))
		return -ENOSPC;	/* EIO would mean the device */
	if (s->progress)
		fprintf(stderr, "\r%" PRIu32 " tokens", made);
	return 0;
}

static int one_run(struct session *s, enum decode_mode mode, bool warm, bool talk)
{
	const struct decode_cmd *cmd = s->cmd;
	const struct run_request req = {
		.mode = mode,
		.block = cmd->block,
		.ids = cmd->ids,
		.given = cmd->given,
		.want = cmd->want,
		.eos = !cmd->stop_eos ? -1 :
		       cmd->tokenizer ? (int32_t)tokenizer_eos(cmd->tokenizer) : 2,
		.warm = warm,
		.token = talk ? on_token : NULL,
		.arg = s,
	};
	int ret;

	ret = run_decode(cmd->ctx, s->d, cmd->model, &req, &s->runs[s->n], &s->err);
	if (!ret)
		s->n++;
	return ret;
}

/* The run that was asked for comes first; its reference is printed nowhere. */
static int asked_run(struct session *s)
{
	const struct decode_cmd *cmd = s->cmd;
	int ret;

	ret = one_run(s, cmd->mode, false, true);
	if (s->progress)
		fprintf(stderr, "\r\033[K");
	if (ret)
		return ret;
	if (s->text_out)
		putchar('\n');
	if (!cmd->verify)
		return 0;
	ret = one_run(s, DECODE_LAYER, false, false);
	if (!ret)
		report_verdict(&s->runs[1], &s->runs[0], cmd->model->config.vocab,
			       &s->verdicts[0]);
	return ret;
}

static int all_runs(struct session *s)
{
	unsigned int mode;
	int ret;

	for (mode = 0; mode < DECODE_MODES; mode++) {
		if (s->progress)
			fprintf(stderr, "\r\033[Kmode %s", decode_mode_name(mode));
		ret = one_run(s, mode, true, false);
		if (ret)
			return ret;
		if (mode)
			report_verdict(&s->runs[0], &s->runs[mode], s->cmd->model->config.vocab,
				       &s->verdicts[mode]);
	}
	if (s->progress)
		fprintf(stderr, "\r\033[K");
	return 0;
}

static int write_logits(struct session *s)
{
	const struct run *r = &s->runs[0];
	const char *path = s->cmd->logits;
	size_t n = (size_t)r->logit_rows * s->cmd->model->config.vocab;
	bool own = strcmp(path, "-");
	FILE *f = own ? fopen(path, "wb") : stdout;
	int ret = 0;

	if (!f)
		return error_set(&s->err, -errno, "%s: cannot create: %s", path, strerror(errno));
	/* The processor is little-endian (model.c refuses others). */
	if (fwrite(r->logits, sizeof(float), n, f) != n)
		ret = error_set(&s->err, -ENOSPC, "%s: cannot write %zu logits", path, n);
	if (own && fclose(f) && !ret)
		ret = error_set(&s->err, -ENOSPC, "%s: cannot write %zu logits", path, n);
	return ret;
}

static void json_ids(struct json *j, const char *key, const int32_t *ids, uint32_t n)
{
	uint32_t i;

	json_key(j, key);
	json_array(j);
	for (i = 0; i < n; i++)
		json_i64(j, ids[i]);
	json_array_end(j);
}

static void json_model(struct json *j, const struct session *s)
{
	const struct model *m = s->cmd->model;
	const struct model_config *c = &m->config;

	json_key(j, "model");
	json_object(j);
	json_kv_string(j, "format", m->format);
	json_kv_u64(j, "dim", c->dim);
	json_kv_u64(j, "hidden", c->hidden);
	json_kv_u64(j, "layers", c->layers);
	json_kv_u64(j, "heads", c->heads);
	json_kv_u64(j, "kv_heads", c->kv_heads);
	json_kv_u64(j, "head_size", c->head_size);
	json_kv_u64(j, "vocabulary", c->vocab);
	json_kv_u64(j, "context", c->context);
	json_kv_string(j, "weights", model_type_name(m->tensors[MODEL_WQ][0].type));
	json_kv_u64(j, "weight_bytes", decoder_weight_bytes(s->d));
	json_object_end(j);
}

static void json_device(struct json *j, const struct session *s)
{
	struct vrdu_device_info info = { 0 };

	vrdu_device_get_info(vrdu_context_device(s->cmd->ctx), &info, sizeof(info));
	json_key(j, "device");
	json_object(j);
	json_kv_string(j, "backend", info.backend);
	json_kv_string(j, "path", info.path);
	json_kv_string(j, "profile", info.profile);
	json_kv_string(j, "math", info.math);
	json_object_end(j);
}

/* A plan of its own, so that the report can be had without another run. */
static int explain_plan(struct session *s, struct decode_plan **plan)
{
	const struct decode_cmd *cmd = s->cmd;
	uint32_t positions = run_positions(cmd->model->config.context, cmd->given, cmd->want);
	uint32_t block = cmd->mode == DECODE_TOKEN_LOOP ? cmd->block : 1;

	return decode_plan_create(s->d, cmd->mode, block < positions ? block : positions, plan,
				  &s->err);
}

static int json_text(struct json *j, struct session *s)
{
	char *text;
	long n;

	json_key(j, "text");
	if (!s->cmd->tokenizer) {
		json_null(j);
		return 0;
	}
	n = report_text(s->cmd->tokenizer, &s->runs[0], &text);
	if (n < 0)
		return error_set(&s->err, n, "out of memory");
	json_string_len(j, text, n);
	free(text);
	return 0;
}

static int print_json(struct session *s)
{
	const struct run *r = &s->runs[0];
	struct decode_plan *plan = NULL;
	struct json j;
	uint32_t i;
	int ret;

	if (s->cmd->explain) {
		ret = explain_plan(s, &plan);
		if (ret)
			return ret;
	}
	json_begin_document(&j, stdout);
	json_object(&j);
	json_kv_string(&j, "schema", "vrdu-decode/1");
	json_kv_string(&j, "library_version", vrdu_version());
	json_device(&j, s);
	json_model(&j, s);
	json_ids(&j, "given_ids", r->ids, r->given);
	json_ids(&j, "token_ids", r->ids + r->given, r->count - r->given);
	ret = json_text(&j, s);
	report_json_run(&j, r);
	json_key(&j, "verify");
	report_json_verdict(&j, &s->verdicts[0]);
	json_key(&j, "modes");
	if (s->cmd->compare) {
		json_array(&j);
		for (i = 0; i < s->n; i++) {
			json_object(&j);
			report_json_run(&j, &s->runs[i]);
			json_key(&j, "verify");
			report_json_verdict(&j, &s->verdicts[i]);
			json_object_end(&j);
		}
		json_array_end(&j);
	} else {
		json_null(&j);
	}
	json_key(&j, "looping");
	if (plan && !ret)
		ret = report_json_looping(&j, plan, &s->err);
	else
		json_null(&j);
	json_object_end(&j);
	if (json_end_document(&j) && !ret)
		ret = error_set(&s->err, -ENOSPC, "cannot write the output");
	decode_plan_destroy(plan);
	return ret;
}

/* The text that all modes gave, or did not give: judge() tells. */
static int print_comparison(struct session *s)
{
	const struct run *r = &s->runs[0];
	bool same = true;
	char *text;
	uint32_t i;
	long n;

	if (s->cmd->tokenizer) {
		n = report_text(s->cmd->tokenizer, r, &text);
		if (n < 0)
			return error_set(&s->err, n, "out of memory");
		if (s->cmd->prompt)
			print_text(s, s->cmd->prompt, strlen(s->cmd->prompt));
		print_text(s, text, n);
		printf("\n\n");
		free(text);
	}
	report_table(s->runs, s->verdicts, s->n, stdout);
	for (i = 1; i < s->n; i++)
		same &= s->verdicts[i].ids_equal && s->verdicts[i].logits_equal;
	printf("Tokens (%" PRIu32 " new) and logits (%s) are %s in all %" PRIu32 " modes.\n",
	       r->count - r->given, s->verdicts[1].rows > 1 ? "all positions" : "last position",
	       same ? "bit-identical" : "NOT the same", s->n);
	return 0;
}

static int print_report(struct session *s)
{
	const struct decode_cmd *cmd = s->cmd;
	struct decode_plan *plan;
	int ret;

	if (cmd->json)
		return print_json(s);
	if (cmd->compare) {
		ret = print_comparison(s);
		if (ret)
			return ret;
	} else if (!cmd->quiet && isatty(STDERR_FILENO)) {
		report_line(&s->runs[0], stderr);
	}
	if (!cmd->explain)
		return 0;
	ret = explain_plan(s, &plan);
	if (ret)
		return ret;
	ret = report_looping(plan, stderr, &s->err);
	decode_plan_destroy(plan);
	return ret;
}

static int judge(const struct session *s)
{
	const struct verdict *v;
	int code = TOOL_OK;
	uint32_t i;

	for (i = 0; i < s->n; i++) {
		v = &s->verdicts[i];
		if (!v->reference || (v->ids_equal && v->logits_equal))
			continue;
		fprintf(stderr, "%s: mode %s differs from mode %s: %s, first at %s %" PRIu32 "\n",
			s->spec->command, decode_mode_name(s->runs[i].mode), v->reference,
			v->ids_equal ? "logits" : "tokens", v->ids_equal ? "position" : "token",
			v->at);
		code = TOOL_DIFFERS;
	}
	if (s->cmd->verify && !s->cmd->compare && code == TOOL_OK && !s->cmd->quiet)
		fprintf(stderr, "%s: verified: mode %s gives the tokens and the logits of %" PRIu32
			" positions of mode layer, bit for bit\n", s->spec->command,
			decode_mode_name(s->runs[0].mode), s->verdicts[0].rows);
	return code;
}

int decode_runs(const struct args_spec *spec, const struct decode_cmd *cmd)
{
	uint32_t positions = run_positions(cmd->model->config.context, cmd->given, cmd->want);
	struct session s = {
		.spec = spec,
		.cmd = cmd,
		.text_out = !cmd->json && !cmd->compare &&
			    !(cmd->logits && !strcmp(cmd->logits, "-")),
		.plain = isatty(STDOUT_FILENO),
		.progress = !cmd->quiet && !cmd->json && isatty(STDERR_FILENO) &&
			    (cmd->compare || !isatty(STDOUT_FILENO)),
	};
	/* All rows of logits are kept only for who wants them: they cost memory. */
	const struct decode_opts opts = {
		.tile_rows = cmd->tile_rows,
		.logit_rows = cmd->verify || cmd->logits ||
			      (cmd->compare && cmd->stop_eos) ? positions : 0,
	};
	int ret, code;
	uint32_t i;

	ret = decoder_create(cmd->ctx, cmd->model, &opts, &s.d, &s.err);
	if (!ret)
		ret = cmd->compare ? all_runs(&s) : asked_run(&s);
	if (!ret && cmd->logits)
		ret = write_logits(&s);
	if (!ret)
		ret = print_report(&s);
	code = ret ? tool_fail(spec, ret, s.err.text) : judge(&s);
	for (i = 0; i < s.n; i++)
		run_free(&s.runs[i]);
	decoder_destroy(s.d);
	return code;
}
