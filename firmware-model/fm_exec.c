// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The sequencer: carries out one call. Binds arguments, checks that they do
 * not overlap, walks the loop nest, and for each RUN charges the phases of a
 * call to the clock around the token game.
 *
 * Called by the command processor on the device's thread. Allocates nothing.
 */
#include "fm_rt.h"

/* Sections, loops and their trips are bounded by the verifier; nesting by this. */
struct loop {
	u32 start;	/* index of the LOOP entry */
	u32 trips;
};

static bool readable(const struct vrdu_symbol *s)
{
	return s->access & VRDU_SYMBOL_READ;
}

static bool writable(const struct vrdu_symbol *s)
{
	return s->access & VRDU_SYMBOL_WRITE;
}

static int note_range(struct fm_run *run, const struct vrdu_symbol *s, u64 addr)
{
	struct fm_range *r = &run->prog->ranges[run->prog->n_ranges];
	u64 end;

	if ((addr & 3) || check_add_overflow(addr, s->bytes, &end))
		return fm_fault(run, writable(s) ? VRDU_FAULT_WRITE : VRDU_FAULT_READ, NULL, addr);
	r->start = addr;
	r->end = end;
	r->write = writable(s);
	run->prog->n_ranges++;
	return 0;
}

/* Copy a table once: user space may change it while the call runs. */
static int bind_table(struct fm_run *run, u32 i)
{
	const struct vrdu_symbol *s = &run->prog->symbols[i];
	u64 addr = run->call->args[i], *table = run->prog->table[i];
	const u64 *p = NULL;
	u32 j;
	int ret;

	if (!(addr & 7))
		p = run->dev->ops->translate(run->call->vm, addr, (u64)s->entries * sizeof(*p),
					     FM_ACCESS_READ);
	if (!p)
		return fm_fault(run, VRDU_FAULT_READ, NULL, addr);
	for (j = 0; j < s->entries; j++) {
		table[j] = FM_READ_ONCE(p[j]);
		ret = note_range(run, s, table[j]);
		if (ret)
			return ret;
		ret = fm_work(run, 4);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Bind arguments. A symbol whose whole range is one mapping is translated once;
 * otherwise each access is.
 */
static int bind(struct fm_run *run)
{
	struct fm_program *prog = run->prog;
	const struct fm_call *call = run->call;
	u32 i, access;
	int ret;

	prog->n_ranges = 0;
	for (i = 0; i < prog->n_symbols; i++) {
		const struct vrdu_symbol *s = &prog->symbols[i];

		prog->base[i] = NULL;
		prog->addr[i] = call->args[i];
		if (s->kind == VRDU_SYMBOL_TABLE) {
			ret = bind_table(run, i);
			if (ret)
				return ret;
			continue;
		}
		ret = note_range(run, s, call->args[i]);
		if (ret)
			return ret;
		if (!run->data)
			continue;
		access = (readable(s) ? FM_ACCESS_READ : 0) | (writable(s) ? FM_ACCESS_WRITE : 0);
		prog->base[i] = run->dev->ops->translate(call->vm, call->args[i], s->bytes, access);
	}
	return 0;
}

static inline bool less(const struct fm_range *a, const struct fm_range *b)
{
	return a->start < b->start;
}

static void sift(struct fm_range *r, u32 i, u32 n)
{
	struct fm_range e = r[i];

	for (;;) {
		u32 down = 2 * i + 1;

		if (down >= n)
			break;
		if (down + 1 < n && less(&r[down], &r[down + 1]))
			down++;
		if (!less(&e, &r[down]))
			break;
		r[i] = r[down];
		i = down;
	}
	r[i] = e;
}

/* What moving one range to its place costs in work units: some cache misses. */
#define SIFT_WORK	256

static int sort_ranges(struct fm_run *run, struct fm_range *r, u32 n)
{
	struct fm_range e;
	u32 i, j;
	int ret;

	if (n <= 64) {
		for (i = 1; i < n; i++) {
			e = r[i];
			for (j = i; j && less(&e, &r[j - 1]); j--)
				r[j] = r[j - 1];
			r[j] = e;
		}
		return 0;
	}
	for (i = n / 2; i--;) {
		sift(r, i, n);
		ret = fm_work(run, SIFT_WORK);
		if (ret)
			return ret;
	}
	for (i = n - 1; i; i--) {
		e = r[0];
		r[0] = r[i];
		r[i] = e;
		sift(r, 0, i);
		ret = fm_work(run, SIFT_WORK);
		if (ret)
			return ret;
	}
	return 0;
}

/* No range that is written may overlap another one. */
static int check_overlap(struct fm_run *run)
{
	struct fm_range *r = run->prog->ranges;
	u64 end = 0, end_written = 0;
	u32 n = run->prog->n_ranges, i;
	int ret = sort_ranges(run, r, n);

	for (i = 0; !ret && i < n; i++) {
		if (r[i].start < (r[i].write ? end : end_written))
			return fm_fault(run, VRDU_FAULT_ALIAS, NULL, r[i].start);
		end = max_t(u64, end, r[i].end);
		if (r[i].write)
			end_written = max_t(u64, end_written, r[i].end);
		ret = fm_work(run, 4);
	}
	return ret;
}

static void fpu(struct fm_run *run, bool on)
{
	if (!run->dev->ops->fpu_begin || on == run->fpu)
		return;
	run->fpu = on;
	if (on)
		run->dev->ops->fpu_begin();
	else
		run->dev->ops->fpu_end();
}

/* Charge what comes before a section runs. Return: the time that it takes. */
static u64 charge_start(struct fm_run *run, u32 section)
{
	struct fm_device *dev = run->dev;
	const struct fm_profile *p = dev->profile;
	struct fm_program *prog = run->prog;
	u32 config = prog->resident ? 0 : section;
	u64 t = 0, args;

	if (!dev->loaded_valid || dev->loaded != prog->serial || dev->loaded_section != config) {
		dev->loaded_valid = true;
		dev->loaded = prog->serial;
		dev->loaded_section = config;
		t += p->program_load_ps;
		run->counters->program_loads++;
		run->counters->program_load_ps += p->program_load_ps;
	}
	args = p->arg_load_ps + prog->n_symbols * p->arg_load_each_ps;
	run->counters->arg_load_ps += args;
	return t + args;
}

/* Split the execution from @start on into fill, steady and drain; advance the clock past it. */
static void charge_end(struct fm_run *run, u64 start)
{
	struct fm_device *dev = run->dev;
	struct vrdu_counters *c = run->counters;
	u64 done = dev->profile->done_ps, first = run->first_arrival;

	if (first == U64_MAX)
		first = start;
	c->fill_ps += first - start;
	c->steady_ps += run->last_arrival > first ? run->last_arrival - first : 0;
	c->drain_ps += run->last_end - max_t(u64, run->last_arrival, first);
	c->done_ps += done;
	c->busy_ps += run->last_end + done;
	c->runs++;
	dev->clock += run->last_end + done;
}

static int play(struct fm_run *run, u64 start)
{
	int ret = fm_game_reset(run, start);

	if (ret)
		return ret;
	fpu(run, run->data);
	ret = fm_game(run, start);
	fpu(run, false);
	return ret;
}

static int run_section(struct fm_run *run, u32 section)
{
	struct fm_program *prog = run->prog;
	bool data = run->data, shuffled = data && run->dev->shuffle;
	u64 start, exec;
	int ret;

	run->sect = &prog->sections[section];
	ret = fm_read_extents(run, run->sect->uses);
	if (ret)
		return ret;
	if (run->sect->dynamic)
		fm_shape(prog, run->sect, false);
	exec = charge_start(run, section);
	start = exec + run->dev->profile->start_ps;
	/* Shuffled: the clock first, in its own order; then the data in any order. */
	run->timed = true;
	run->data = data && !shuffled;
	ret = play(run, start);
	run->data = data;
	if (ret)
		return ret;
	charge_end(run, exec);
	run->timed = false;
	if (shuffled)
		ret = play(run, start);
	return ret;
}

/* Trip count of the loop at @seq. */
static int loop_trips(struct fm_run *run, u32 seq, u32 *trips)
{
	u8 uses[VRDU_MAX_EXTENTS];
	u32 extent = run->prog->seq[seq].arg;
	int ret;

	if (run->prog->extents[extent].kind != VRDU_EXTENT_STATIC) {
		memset(uses, 0, sizeof(uses));
		uses[extent] = 1;
		ret = fm_read_extents(run, uses);
		if (ret)
			return ret;
	}
	*trips = run->prog->values[extent];
	return 0;
}

/* Walk the loop nest. A pipelined loop is one RUN for the sequencer. */
static int run_sequence(struct fm_run *run)
{
	struct fm_program *prog = run->prog;
	struct loop loops[VRDU_MAX_LOOP_DEPTH];
	u32 depth = 0, i = 0;
	int ret;

	while (i < prog->n_seq) {
		const struct vrdu_seq *s = &prog->seq[i];

		switch (s->op) {
		case VRDU_SEQ_LOOP:
			if (s[1].op == VRDU_SEQ_RUN && s[2].op == VRDU_SEQ_END) {
				ret = run_section(run, s[1].arg);
				if (ret)
					return ret;
				i += 3;
				continue;
			}
			ret = loop_trips(run, i, &loops[depth].trips);
			if (ret)
				return ret;
			loops[depth].start = i;
			run->counter[depth++] = 0;
			break;
		case VRDU_SEQ_END:
			if (++run->counter[depth - 1] < loops[depth - 1].trips) {
				i = loops[depth - 1].start;
				break;
			}
			run->counter[--depth] = 0;
			break;
		default:
			ret = run_section(run, s->arg);
			if (ret)
				return ret;
			break;
		}
		i++;
	}
	return 0;
}

int fm_device_run(struct fm_device *dev, const struct fm_call *call,
		  struct vrdu_fault_info *fault, struct vrdu_counters *counters)
{
	struct fm_run run = {
		.dev = dev,
		.prog = call->prog,
		.call = call,
		.math = dev->math,
		.fault = fault,
		.counters = counters,
		.data = !(call->flags & VRDU_CALL_TIMING),
		.rng = dev->shuffle,
	};
	int ret;

	memset(fault, 0, sizeof(*fault));
	if (call->arg_count != call->prog->n_symbols || (call->flags & ~VRDU_CALL_FLAGS))
		return fm_fault(&run, VRDU_FAULT_PROGRAM, NULL, call->arg_count);
	ret = bind(&run);
	if (!ret)
		ret = check_overlap(&run);
	if (!ret)
		ret = run_sequence(&run);
	if (!ret)
		counters->calls++;
	return ret;
}
