/* SPDX-License-Identifier: MIT */
/*
 * One decoded sequence, with what it cost: the host's clock and counters are
 * measured, the device's times are modelled and come from its counters.
 */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include "llama/decode.h"

/**
 * struct run_cost - differences over the run.
 * @positions: Positions computed, given tokens included.
 * @wall_ns: CLOCK_MONOTONIC.
 * @cpu_ns: User and system time of the process.
 * @voluntary: Voluntary context switches of the process.
 * @involuntary: Involuntary ones.
 * @host: Library and driver counters.
 * @device: The context's device counters; modelled times.
 * @device_ps: Modelled device clock.
 */
struct run_cost {
	uint32_t positions;
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t voluntary;
	uint64_t involuntary;
	struct vrdu_host_counters host;
	struct vrdu_counters device;
	uint64_t device_ps;
};

/**
 * struct run_request - what to decode.
 * @mode: Way of submitting.
 * @block: TOKEN_LOOP: positions of a block.
 * @ids: Given tokens.
 * @given: Their number.
 * @want: New tokens wanted.
 * @eos: Token after which to stop, or -1.
 * @warm: Run once unmeasured before.
 * @token: Called for each new token as soon as the host has it; may be NULL.
 *	A nonzero return ends the run with that value.
 * @arg: Its argument.
 */
struct run_request {
	enum decode_mode mode;
	uint32_t block;
	const int32_t *ids;
	uint32_t given;
	uint32_t want;
	int32_t eos;
	bool warm;
	int (*token)(void *arg, int32_t prev, int32_t id, uint32_t made);
	void *arg;
};

/**
 * struct run - what came out.
 * @mode: Way of submitting.
 * @ids: The whole sequence.
 * @given: Given tokens.
 * @count: All tokens.
 * @cost: Cost.
 * @logits: Copy of the logits: all computed positions if the decoder keeps
 *	them, else the last one.
 * @logit_rows: Rows of @logits.
 * @last: Position of the last row.
 */
struct run {
	enum decode_mode mode;
	int32_t *ids;
	uint32_t given;
	uint32_t count;
	struct run_cost cost;
	float *logits;
	uint32_t logit_rows;
	uint32_t last;
};

/** run_positions() - positions that have to be computed for a request. */
uint32_t run_positions(uint32_t context, uint32_t given, uint32_t want);

/** run_decode() - decode; @out is to be freed with run_free() on success. */
int run_decode(struct vrdu_context *ctx, struct decoder *d, const struct model *m,
	       const struct run_request *req, struct run *out, struct error *err);
void run_free(struct run *r);

/** run_same_ids() - whether two runs have the same tokens; @at: first that differs. */
bool run_same_ids(const struct run *a, const struct run *b, uint32_t *at);

/** run_same_logits() - whether their last common rows of logits are the same bits. */
bool run_same_logits(const struct run *a, const struct run *b, uint32_t vocab, uint32_t *at);

#endif /* TOOLS_RUN_H */
