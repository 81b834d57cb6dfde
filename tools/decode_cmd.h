/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of vrdu decode share: cmd_decode.c fills this in,
 * decode_runs.c carries it out.
 */
#ifndef TOOLS_DECODE_CMD_H
#define TOOLS_DECODE_CMD_H

#include "common/args.h"
#include "llama/decode.h"
#include "llama/tokenizer.h"

/**
 * struct decode_cmd - everything that a decoding needs to know.
 * @model: Model.
 * @tokenizer: Tokenizer, or NULL.
 * @ctx: Context on the chosen device.
 * @prompt: Text that they came from, or NULL.
 * @ids: Given tokens.
 * @given: Their number, at least 1.
 * @mode: enum decode_mode.
 * @want: New tokens at most.
 * @block: Tokens of a block of the token loop.
 * @tile_rows: Rows of tiles.
 * @logits: File for the logits, or NULL.
 * @stop_eos: Stop after EOS.
 * @verify: Compare with mode layer.
 * @compare: All modes, as a table.
 * @explain: Print the looping report.
 * @json: One document on stdout.
 * @quiet: No talk.
 */
struct decode_cmd {
	struct model *model;
	struct tokenizer *tokenizer;
	struct vrdu_context *ctx;
	const char *prompt;
	int32_t *ids;
	uint32_t given;
	int mode;
	uint64_t want;
	uint64_t block;
	uint64_t tile_rows;
	const char *logits;
	bool stop_eos;
	bool verify;
	bool compare;
	bool explain;
	bool json;
	bool quiet;
};

/** decode_runs() - decode as asked and report. Return: exit code. */
int decode_runs(const struct args_spec *spec, const struct decode_cmd *cmd);

#endif /* TOOLS_DECODE_CMD_H */
