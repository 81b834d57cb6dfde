// SPDX-License-Identifier: MIT
/*
 * vrdu decode: continue a text with a Llama-type model on the device. Reads
 * the command line, opens model, tokenizer and device, and finds the tokens
 * that the sequence begins with; decode_runs.c does the rest.
 */
#include "decode_cmd.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const modes[] = { "layer", "batch", "loop", "token-loop", NULL };

/**
 * struct line - the command line as given.
 * @device: Which device.
 * @prompt: --prompt.
 * @ids: --ids.
 * @tokenizer: --tokenizer.
 * @temperature: --temperature.
 */
struct line {
	struct tool_device device;
	const char *prompt;
	const char *ids;
	const char *tokenizer;
	const char *temperature;
};

static int check_line(const struct args_spec *spec, const struct line *line,
		      const struct decode_cmd *cmd)
{
	double t;
	char *end;

	if (line->prompt && line->ids)
		return args_usage_error(spec, "--prompt and --ids exclude each other");
	if (line->temperature) {
		t = strtod(line->temperature, &end);
		if (*end || end == line->temperature || t != 0)
			return args_usage_error(spec, "--temperature=%s: only 0 is supported, the "
						"device picks the likeliest token",
						line->temperature);
	}
	if (cmd->json && cmd->logits && !strcmp(cmd->logits, "-"))
		return args_usage_error(spec, "--json and --dump-logits=- both want stdout");
	if (cmd->compare && cmd->logits)
		return args_usage_error(spec, "--compare runs all modes: --dump-logits needs one");
	return 0;
}

/* "1,403,407": at least one number. */
static int parse_ids(const struct args_spec *spec, const char *text, struct decode_cmd *cmd)
{
	uint32_t n = 1, max = cmd->model->config.context;
	const char *p, *comma;
	char word[16];
	uint64_t id;
	size_t len;

	for (p = text; *p; p++)
		n += *p == ',';
	if (n > max) {
		fprintf(stderr, "%s: --ids has %" PRIu32 " tokens, the model's context holds %"
			PRIu32 "\n", spec->command, n, max);
		return -EINVAL;
	}
	cmd->ids = calloc(n, sizeof(*cmd->ids));
	if (!cmd->ids)
		return -ENOMEM;
	for (p = text; ; p = comma + 1) {
		comma = p + strcspn(p, ",");
		len = comma - p;
		if (len < sizeof(word)) {
			memcpy(word, p, len);
			word[len] = '\0';
		}
		if (len >= sizeof(word) || args_number(word, 0, cmd->model->config.vocab - 1, &id))
			return args_usage_error(spec, "--ids: '%.*s' is not a token from 0 to %"
						PRIu32, (int)(len < 40 ? len : 40), p,
						cmd->model->config.vocab - 1);
		cmd->ids[cmd->given++] = id;
		if (!*comma)
			return 0;
	}
}

/* FILE given, else the model's own, else tokenizer.bin beside the model. */
static int open_tokenizer(const struct line *line, const char *model_path, struct decode_cmd *cmd,
			  struct error *err)
{
	uint32_t vocab = cmd->model->config.vocab;
	const char *slash = strrchr(model_path, '/');
	char path[PATH_MAX];
	int dir = slash ? slash - model_path + 1 : 0;

	if (line->tokenizer)
		return tokenizer_open(line->tokenizer, vocab, &cmd->tokenizer, err);
	if (cmd->model->vocab.count)
		return tokenizer_from_vocab(&cmd->model->vocab, &cmd->tokenizer, err);
	if (snprintf(path, sizeof(path), "%.*stokenizer.bin", dir, model_path) >=
	    (int)sizeof(path))
		return 0;
	if (access(path, F_OK))
		return 0;
	return tokenizer_open(path, vocab, &cmd->tokenizer, err);
}

static int find_ids(const struct args_spec *spec, const struct line *line, struct decode_cmd *cmd,
		    struct error *err)
{
	const char *prompt = line->prompt ?: "";
	uint32_t max = cmd->model->config.context;
	int ret;

	if (line->ids)
		return parse_ids(spec, line->ids, cmd);
	if (*prompt && !cmd->tokenizer)
		return error_set(err, -ENOENT, "--prompt needs a tokenizer and the model file has "
				 "none: give --tokenizer=FILE (a tokenizer.bin), put tokenizer.bin "
				 "beside the model, or give token numbers with --ids");
	cmd->prompt = prompt;
	cmd->ids = calloc(max, sizeof(*cmd->ids));
	if (!cmd->ids)
		return error_set(err, -ENOMEM, "out of memory");
	if (!cmd->tokenizer) {
		cmd->ids[0] = cmd->model->vocab.bos ? cmd->model->vocab.bos : 1;
		cmd->given = 1;
		return 0;
	}
	ret = tokenizer_encode(cmd->tokenizer, prompt, strlen(prompt), cmd->ids, max, err);
	if (ret < 0)
		return ret;
	cmd->given = ret;
	return 0;
}

static int open_and_run(const struct args_spec *spec, const struct line *line,
			const char *model_path, struct decode_cmd *cmd)
{
	struct vrdu_device *dev = NULL;
	struct error err = { "" };
	int code, ret;

	ret = model_open(model_path, &cmd->model, &err);
	if (!ret)
		ret = open_tokenizer(line, model_path, cmd, &err);
	if (ret)
		return tool_fail(spec, -EINVAL, err.text);
	ret = find_ids(spec, line, cmd, &err);
	if (ret == -EINVAL && !*err.text)
		return TOOL_USAGE;
	if (ret)
		return tool_fail(spec, -EINVAL, err.text);
	code = tool_open(spec, &line->device, &dev);
	if (code)
		return code;
	ret = vrdu_context_create(dev, &cmd->ctx);
	code = ret ? tool_fail(spec, ret, vrdu_last_error()) : decode_runs(spec, cmd);
	vrdu_context_unref(cmd->ctx);
	vrdu_device_unref(dev);
	return code;
}

int cmd_decode(int argc, char **argv)
{
	struct decode_cmd cmd = { .mode = DECODE_LOOP, .want = 64, .block = DECODE_BLOCK };
	struct line line = { .temperature = NULL };
	const struct args_option options[] = {
		{ "mode", 'm', ARGS_CHOICE, &cmd.mode, 0, 0, modes, "MODE",
		  "how calls are submitted (default loop)" },
		{ "tokens", 'n', ARGS_U64, &cmd.want, 0, MODEL_MAX_CONTEXT, NULL, "N",
		  "new tokens at most (default 64)" },
		{ "prompt", 'p', ARGS_STRING, &line.prompt, 0, 0, NULL, "TEXT",
		  "text to continue; empty: the model begins" },
		{ "ids", 0, ARGS_STRING, &line.ids, 0, 0, NULL, "1,403,407",
		  "token numbers to continue, as they are" },
		{ "tokenizer", 't', ARGS_STRING, &line.tokenizer, 0, 0, NULL, "FILE",
		  "tokenizer.bin for models without one" },
		{ "temperature", 0, ARGS_STRING, &line.temperature, 0, 0, NULL, "0",
		  "only 0: the likeliest token" },
		{ "stop-eos", 0, ARGS_FLAG, &cmd.stop_eos, 0, 0, NULL, NULL,
		  "stop after the token that ends a sequence" },
		{ "block", 0, ARGS_U64, &cmd.block, 1, DECODE_MAX_BLOCK, NULL, "K",
		  "token-loop: tokens of one submission (default 64)" },
		{ "tile-rows", 0, ARGS_U64, &cmd.tile_rows, 0, 1u << 20, NULL, "N",
		  "rows of weight and cache tiles; 0: half a memory unit" },
		{ "verify", 0, ARGS_FLAG, &cmd.verify, 0, 0, NULL, NULL,
		  "also decode in mode layer; demand the same tokens and logits" },
		{ "compare", 0, ARGS_FLAG, &cmd.compare, 0, 0, NULL, NULL,
		  "decode in every mode and print a table of their costs" },
		{ "dump-logits", 0, ARGS_STRING, &cmd.logits, 0, 0, NULL, "FILE",
		  "raw little-endian f32, positions x vocabulary" },
		{ "explain", 0, ARGS_FLAG, &cmd.explain, 0, 0, NULL, NULL,
		  "say on stderr why runs of calls were or were not looped" },
		{ "json", 0, ARGS_FLAG, &cmd.json, 0, 0, NULL, NULL,
		  "one JSON document on stdout instead of text" },
		{ "quiet", 'q', ARGS_FLAG, &cmd.quiet, 0, 0, NULL, NULL,
		  "nothing on stderr but errors" },
		TOOL_DEVICE_OPTIONS(&line.device),
		{ 0 },
	};
	const struct args_spec spec = {
		.command = "vrdu decode",
		.usage = "MODEL [options]",
		.summary = "Continue a text with a Llama-type model (llama2.c v0, v1, v2 or GGUF).",
		.options = options,
		.notes = "Modes: layer submits and waits for each call; batch submits a token's\n"
			 "calls at once; loop makes the layers one looped call; token-loop\n"
			 "submits K tokens as one call. All modes give the same bits.\n",
	};
	int first, ret, code;

	ret = args_parse(&spec, argc, argv, &first);
	if (ret)
		return ret == ARGS_HELP ? TOOL_OK : TOOL_USAGE;
	if (argc - first != 1) {
		args_usage_error(&spec, argc == first ? "a model file is needed" :
				 "one model file is enough");
		return TOOL_USAGE;
	}
	if (check_line(&spec, &line, &cmd))
		return TOOL_USAGE;
	code = open_and_run(&spec, &line, argv[first], &cmd);
	free(cmd.ids);
	tokenizer_free(cmd.tokenizer);
	model_close(cmd.model);
	return tool_finish_stdout(&spec, code);
}
