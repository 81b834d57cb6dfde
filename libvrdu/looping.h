/* SPDX-License-Identifier: MIT */
/*
 * Inside kernel looping: items, candidates and plans.
 *
 * A recorded graph becomes a list of items. A candidate is a range of items
 * that repeats a period; classification (looping_classify.c) says how each
 * argument changes from iteration to iteration and refuses what is not legal;
 * binding (looping_bind.c) decides which symbols the looped program has; the
 * rewriter (looping_image.c) makes its image. What is taken replaces its items
 * by one, so that loops over loops are found by the same code.
 *
 * Two kinds of loop: if an iteration is a single RUN, the device pipelines it,
 * and memory accesses of different iterations are not ordered: legality is
 * strict. Otherwise the fabric drains between iterations and accesses stay in
 * the order of the calls.
 */
#ifndef VRDU_LOOPING_H
#define VRDU_LOOPING_H

#include "graph.h"
#include "image_edit.h"

#define LOOP_MAX_PERIOD	VRDU_MAX_SECTIONS	/* items of a period: each has a section */
#define LOOP_TEXT	256

/**
 * struct loop_table - contents of a table that a looped program reads; shared.
 * @refs: References.
 * @n: Entries.
 * @entries: Places; the graph keeps their buffers alive.
 */
struct loop_table {
	uint32_t refs;
	uint32_t n;
	struct vrdu_arg entries[];
};

/**
 * struct loop_arg - an argument of an item.
 * @place: Place; unused with @table.
 * @table: Referenced table, not yet in memory, or NULL.
 */
struct loop_arg {
	struct vrdu_arg place;
	struct loop_table *table;
};

/**
 * struct loop_item - a call, a boundary, or a loop that was taken.
 * @boundary: enum vrdu_boundary, 0 for a call or a loop.
 * @first: First entry of the graph that it covers.
 * @n: Number of entries.
 * @call: Number of its first call.
 * @prog: Program of the (first) call; not referenced.
 * @image: Its image, rewritten for a loop; referenced.
 * @flags: VRDU_CALL_* bits.
 * @loop: It is a loop.
 * @args: Arguments, one for each symbol of @image.
 * @n_args: Their number.
 * @bad: Why its call faults as it is, or NULL: it is not touched then.
 */
struct loop_item {
	enum vrdu_boundary boundary;
	uint32_t first;
	uint32_t n;
	uint32_t call;
	struct vrdu_program *prog;
	struct vrdu_image *image;
	uint32_t flags;
	bool loop;
	struct loop_arg *args;
	uint32_t n_args;
	const char *bad;
};

/**
 * struct loop_slot - an argument of an item of the period, over all iterations.
 * @item: Item of the period.
 * @symbol: Symbol of its image.
 * @sym: Its record.
 * @name: Its name, with the program's if the period has several items.
 * @kind: enum vrdu_arg_class.
 * @stride: AFFINE: bytes per iteration.
 * @partner: CARRIED: slot at the other end; itself when in place; else %VRDU_NONE.
 * @kept: CARRIED, reading end: NULL, or why the writing end keeps its STORE.
 * @kept_iter: With @kept: an iteration whose value is observed.
 * @target: Bound: symbol of the looped program.
 * @delta: Bound: added to the offset of its address generators.
 * @reason: Sentence.
 */
struct loop_slot {
	uint32_t item;
	uint32_t symbol;
	const struct vrdu_symbol *sym;
	char name[64];
	enum vrdu_arg_class kind;
	int64_t stride;
	uint32_t partner;
	const char *kept;
	uint32_t kept_iter;
	uint32_t target;
	int64_t delta;
	char reason[LOOP_TEXT];
};

/**
 * struct loop_target - a symbol of the looped program.
 * @sym: Record; its name is in @name.
 * @name: Name.
 * @arg: Argument of the call.
 */
struct loop_target {
	struct vrdu_symbol sym;
	char name[64];
	struct loop_arg arg;
};

/**
 * struct loop_cand - a candidate under analysis.
 * @g: Graph.
 * @items: Its items: @period * @trips of them.
 * @period: Items of an iteration.
 * @trips: Iterations.
 * @depth: 0: over calls; 1: over a period that contains loops.
 * @pipelined: An iteration is a single RUN.
 * @tables: Use tables for what is affine: second attempt.
 * @slots: Arguments of the period's items.
 * @n_slots: Their number.
 * @targets: Symbols of the looped program.
 * @n_targets: Their number.
 * @image: Looped image, referenced, once it is made.
 * @reason: Sentence.
 */
struct loop_cand {
	const struct vrdu_graph *g;
	struct loop_item *const *items;
	uint32_t period;
	uint32_t trips;
	uint32_t depth;
	bool pipelined;
	bool tables;
	struct loop_slot *slots;
	uint32_t n_slots;
	struct loop_target *targets;
	uint32_t n_targets;
	struct vrdu_image *image;
	char reason[LOOP_TEXT];
};

/*
 * Steps of an analysis return 0, a negative errno (memory), or
 * %LOOP_REFUSED with cand->reason set.
 */
#define LOOP_REFUSED	1

/** loop_refuse() - keep the reason. Return: LOOP_REFUSED. */
int loop_refuse(struct loop_cand *c, const char *fmt, ...) VRDU_PRINTF(2, 3);

/** loop_place() - argument of @slot in iteration @i. */
static inline const struct loop_arg *loop_place(const struct loop_cand *c,
						const struct loop_slot *slot, uint32_t i)
{
	return &c->items[(size_t)i * c->period + slot->item]->args[slot->symbol];
}

static inline uint64_t loop_va(const struct vrdu_arg *a)
{
	return a->bo->va + a->offset;
}

/**
 * struct loop_range - bytes that a slot or a target touches.
 * @lo: First address.
 * @hi: One past the last.
 * @who: Slot or target.
 * @iter: Iteration.
 * @write: Whether it may write.
 */
struct loop_range {
	uint64_t lo;
	uint64_t hi;
	uint32_t who;
	uint32_t iter;
	bool write;
};

/**
 * loop_overlap() - sort @ranges and find two that overlap and conflict.
 * @conflict: Do the two, one of them written, matter?
 *
 * Return: 0: none; LOOP_REFUSED with @a and @b; -ENOMEM.
 */
int loop_overlap(struct loop_range *ranges, size_t n,
		 bool (*conflict)(const void *arg, const struct loop_range *a,
				  const struct loop_range *b),
		 const void *arg, struct loop_range *a, struct loop_range *b);

/** loop_table_create() - a table of @n places; NULL: no memory. */
struct loop_table *loop_table_create(uint32_t n);

/** loop_table_put() - drop a reference; NULL is fine. */
void loop_table_put(struct loop_table *t);

/** loop_table_equal() - the same places in the same order? */
bool loop_table_equal(const struct loop_table *a, const struct loop_table *b);

/* looping_carry.c */

/**
 * struct loop_carry - the two ends of a value that stays on chip.
 * @load: Node of the image that reads it.
 * @store: Node that writes it.
 */
struct loop_carry {
	uint32_t load;
	uint32_t store;
};

/**
 * loop_carry_find() - can symbols @in and @out (maybe one) of @image be carried?
 * @why: Sentence when not.
 */
bool loop_carry_find(const struct vrdu_image *image, uint32_t in, uint32_t out,
		     struct loop_carry *carry, char *why, size_t size);

/** loop_carry_rewrite() - replace LOAD and STORE in section 0 of @e by a CARRY. */
void loop_carry_rewrite(struct vrdu_edit *e, uint32_t load, uint32_t store, bool keep_store);

/* looping_live.c */

/** loop_live() - do calls from entry @from of @g on read [lo, hi) before it is overwritten? */
bool loop_live(const struct vrdu_graph *g, uint32_t from, uint64_t lo, uint64_t hi);

/* looping_classify.c */
int loop_classify(struct loop_cand *c);

/** loop_affine_prefix() - iterations from the first in which all arguments move evenly. */
uint32_t loop_affine_prefix(const struct loop_cand *c);

/* looping_bind.c */
int loop_bind(struct loop_cand *c);

/* looping_image.c */
int loop_image(struct loop_cand *c);

/**
 * struct loop_pass - a whole analysis.
 * @g: Graph.
 * @min_trips: Shortest run worth a loop.
 * @max_depth: 1 or 2.
 * @items: Items after what was taken so far; NULL where absorbed.
 * @n_items: Their number.
 * @report: What was considered.
 * @verified: Looped images that the verifier has accepted; referenced.
 * @n_verified: Their number.
 */
struct loop_pass {
	const struct vrdu_graph *g;
	uint32_t min_trips;
	uint32_t max_depth;
	struct loop_item **items;
	uint32_t n_items;
	struct vrdu_loop_report *report;
	struct vrdu_image **verified;
	uint32_t n_verified;
};

/* looping_items.c */

/** loop_make_items() - an item for each entry of the graph. */
int loop_make_items(struct loop_pass *pass);

/** loop_item_free() - drop an item; NULL is fine. */
void loop_item_free(struct loop_item *it);

/* looping_analyze.c */

/** loop_pass_run() - analyse @g: items and report of @pass. */
int loop_pass_run(struct loop_pass *pass, struct vrdu_graph *g,
		  const struct vrdu_looping_opts *opts);
void loop_pass_free(struct loop_pass *pass);

/*
 * Test aid: parts of legality to leave out, so that tests can prove that they
 * would notice.
 */
#define LOOP_UNSAFE_DEPENDENCES	0x1u	/* ignore memory dependences */
#define LOOP_UNSAFE_OBSERVERS	0x2u	/* take everything for transient */
extern uint32_t vrdu_looping_unsafe;

/* looping_report.c */
int loop_report_create(struct vrdu_loop_report **out);
int loop_report_add(struct vrdu_loop_report *r, const struct loop_cand *c, bool taken);

#endif /* VRDU_LOOPING_H */
