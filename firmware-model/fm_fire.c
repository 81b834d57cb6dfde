// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Node actions, memory side: what AGCU nodes do with a tile, the only place
 * where a running program touches device memory, and the bookkeeping that all
 * actions share: work units, faults.
 *
 * Loads do not copy: the slot points into device memory, which stays mapped
 * while the call runs. Such data may be changed by user space at any time, so
 * whatever steers (indices, extents) is read once, checked, and used from the
 * copy. Called by the token game through node->fire.
 */
#include "fm_rt.h"

/* Elements copied between two looks at the work counter. */
#define COPY_BYTES	(FM_QUANTUM * 4u)

/**
 * fm_breathe() - a quantum of work is used up: let the host run.
 * @run: Call in execution.
 *
 * Floating-point sections are closed around breathe(). Return: 0 or -ECANCELED.
 */
int fm_breathe(struct fm_run *run)
{
	const struct fm_host_ops *ops = run->dev->ops;
	bool stop;

	run->work = 0;
	if (!ops->breathe)
		return 0;
	if (run->fpu)
		ops->fpu_end();
	stop = ops->breathe(run->dev->host);
	if (run->fpu)
		ops->fpu_begin();
	return stop ? fm_fault(run, VRDU_FAULT_KILLED, NULL, 0) : 0;
}

/**
 * fm_fault() - describe a failure.
 * @run: Call in execution; its fault record is filled.
 * @code: enum vrdu_fault.
 * @node: Node that failed, or NULL.
 * @address: Address, index or value refused.
 *
 * Return: the errno that goes with @code.
 */
int fm_fault(struct fm_run *run, u32 code, const struct fm_rt_node *node, u64 address)
{
	struct vrdu_fault_info *f = run->fault;

	f->code = code;
	f->program = run->call->id;
	f->section = run->sect ? run->sect - run->prog->sections : 0;
	f->node = node ? node->index : ~0u;
	f->iteration = node ? node->iter : 0;
	f->address = address;
	switch (code) {
	case VRDU_FAULT_KILLED:
		return -ECANCELED;
	case VRDU_FAULT_WATCHDOG:
		return -ETIME;
	case VRDU_FAULT_PROGRAM:
	case VRDU_FAULT_ALIAS:
		return -EINVAL;
	default:
		return -EFAULT;
	}
}

/**
 * fm_agu_ptr() - host pointer for an access of @node.
 * @run: Call in execution.
 * @node: Node.
 * @which: AGU of the node, 0 or 1.
 * @off: Offset besides the AGU's own.
 * @len: Bytes, > 0.
 * @access: %FM_ACCESS_READ or %FM_ACCESS_WRITE.
 *
 * The verifier proved that the access stays inside the symbol. Return: NULL
 * after fm_fault() when the range is not mapped so.
 */
void *fm_agu_ptr(struct fm_run *run, struct fm_rt_node *node, u32 which, s64 off, u64 len,
		 u32 access)
{
	struct fm_rt_agu *agu = &node->agu[which];
	struct fm_program *prog = run->prog;
	u64 addr;
	u32 i;
	void *p;

	off += agu->off;
	if (likely(prog->base[agu->symbol]))
		return prog->base[agu->symbol] + off;
	addr = prog->addr[agu->symbol];
	if (agu->table) {
		i = agu->level < run->sect->level ? run->counter[agu->level] : node->iter;
		if (i >= prog->symbols[agu->symbol].entries) {
			fm_fault(run, VRDU_FAULT_INDEX, node, i);
			return NULL;
		}
		addr = prog->table[agu->symbol][i];
	}
	addr += off;
	p = run->dev->ops->translate(run->call->vm, addr, len, access);
	if (!p)
		fm_fault(run, access == FM_ACCESS_WRITE ? VRDU_FAULT_WRITE : VRDU_FAULT_READ,
			 node, addr);
	return p;
}

/**
 * fm_copy_bytes() - copy memory, a quantum at a time.
 * @run: Call in execution.
 * @dst: Where to; may be @src.
 * @src: Where from.
 * @bytes: How much.
 *
 * Return: 0 or -ECANCELED.
 */
int fm_copy_bytes(struct fm_run *run, void *dst, const void *src, u64 bytes)
{
	while (bytes) {
		u32 n = min_t(u64, bytes, COPY_BYTES);
		int ret;

		memmove(dst, src, n);	/* a tile may be stored where it was loaded */
		ret = fm_work(run, n / 4);
		if (ret)
			return ret;
		dst = (u8 *)dst + n;
		src = (const u8 *)src + n;
		bytes -= n;
	}
	return 0;
}

/**
 * fm_zero() - clear memory, a quantum at a time.
 * @run: Call in execution.
 * @dst: Where.
 * @bytes: How much.
 *
 * Return: 0 or -ECANCELED.
 */
int fm_zero(struct fm_run *run, void *dst, u64 bytes)
{
	while (bytes) {
		u32 n = min_t(u64, bytes, COPY_BYTES);
		int ret;

		memset(dst, 0, n);
		ret = fm_work(run, n / 4);
		if (ret)
			return ret;
		dst = (u8 *)dst + n;
		bytes -= n;
	}
	return 0;
}

static u64 tile_bytes(const struct fm_rt_node *n)
{
	return n->bytes[n->tile + 1 == n->tiles];
}

static s64 tile_offset(const struct fm_rt_node *n, u32 which)
{
	return (s64)n->group * n->agu[which].rec->outer_stride +
	       (s64)n->tile * n->agu[which].tile_stride;
}

static int fire_load(struct fm_run *run, struct fm_rt_node *n)
{
	struct fm_rt_stream *s = n->out[0];
	void *p = fm_agu_ptr(run, n, 0, tile_offset(n, 0), tile_bytes(n), FM_ACCESS_READ);

	if (!p)
		return -EFAULT;
	s->slots[s->wr].data = p;
	return 0;
}

static int fire_store(struct fm_run *run, struct fm_rt_node *n)
{
	u64 bytes = tile_bytes(n);
	void *p = fm_agu_ptr(run, n, 0, tile_offset(n, 0), bytes, FM_ACCESS_WRITE);

	return p ? fm_copy_bytes(run, p, fm_in(n, 0), bytes) : -EFAULT;
}

/* Rows between memory, chosen by an index each, and the tile at @tile. */
static int by_index(struct fm_run *run, struct fm_rt_node *n, u8 *tile, u32 access)
{
	const struct vrdu_agu *rec = n->agu[0].rec;
	const struct fm_rt_stream *ix = n->in[0].stream;
	const s32 *index = fm_in(n, 0);
	const struct fm_rt_stream *d = n->drive;
	u64 bytes = (u64)d->cols * d->elem_bytes;
	u32 first = n->tile * d->tile_rows, rows = fm_rows(d, n->tile), r;

	for (r = 0; r < rows; r++) {
		s32 i = FM_READ_ONCE(index[ix->rows == 1 ? 0 : first + r]);
		u8 *p;
		int ret;

		if (i < 0 || (u32)i >= rec->index_limit)
			return fm_fault(run, VRDU_FAULT_INDEX, n, (u64)(s64)i);
		p = fm_agu_ptr(run, n, 0, tile_offset(n, 0) + r * rec->row_stride +
			       i * rec->index_stride, bytes, access);
		if (!p)
			return -EFAULT;
		if (access == FM_ACCESS_READ)
			ret = fm_copy_bytes(run, tile + r * bytes, p, bytes);
		else
			ret = fm_copy_bytes(run, p, tile + r * bytes, bytes);
		if (ret)
			return ret;
	}
	return 0;
}

static int fire_gather(struct fm_run *run, struct fm_rt_node *n)
{
	return by_index(run, n, fm_out(n, 0), FM_ACCESS_READ);
}

static int fire_scatter(struct fm_run *run, struct fm_rt_node *n)
{
	return by_index(run, n, fm_in(n, 1), FM_ACCESS_WRITE);
}

static int fire_carry(struct fm_run *run, struct fm_rt_node *n)
{
	u64 bytes = tile_bytes(n);
	void *p;

	if (n->iter + 1 == n->trips) {
		if (n->rec->agu2 == VRDU_NONE)
			return 0;
		p = fm_agu_ptr(run, n, 1, tile_offset(n, 1), bytes, FM_ACCESS_WRITE);
		return p ? fm_copy_bytes(run, p, fm_in(n, 0), bytes) : -EFAULT;
	}
	if (n->iter)
		return fm_copy_bytes(run, fm_out(n, 0), fm_in(n, 0), bytes);
	if (n->rec->agu == VRDU_NONE)
		return fm_zero(run, fm_out(n, 0), bytes);
	p = fm_agu_ptr(run, n, 0, tile_offset(n, 0), bytes, FM_ACCESS_READ);
	return p ? fm_copy_bytes(run, fm_out(n, 0), p, bytes) : -EFAULT;
}

/* Action of a node kind; NULL for an unknown one. */
fm_fire_fn fm_fire_of(u16 kind)
{
	switch (kind) {
	case VRDU_NODE_LOAD:
		return fire_load;
	case VRDU_NODE_STORE:
		return fire_store;
	case VRDU_NODE_GATHER:
		return fire_gather;
	case VRDU_NODE_SCATTER:
		return fire_scatter;
	case VRDU_NODE_CARRY:
		return fire_carry;
	case VRDU_NODE_MATMUL:
		return fm_fire_matmul;
	case VRDU_NODE_ATTN_SCORES:
		return fm_fire_attn_scores;
	case VRDU_NODE_SOFTMAX:
		return fm_fire_softmax;
	case VRDU_NODE_ATTN_VALUES:
		return fm_fire_attn_values;
	case VRDU_NODE_RMSNORM:
		return fm_fire_rmsnorm;
	case VRDU_NODE_ROPE_ROW:
		return fm_fire_rope_row;
	case VRDU_NODE_ROPE:
		return fm_fire_rope;
	case VRDU_NODE_EW:
		return fm_fire_ew;
	case VRDU_NODE_REDUCE:
		return fm_fire_reduce;
	case VRDU_NODE_ARGMAX:
		return fm_fire_argmax;
	case VRDU_NODE_CAST:
		return fm_fire_cast;
	default:
		return NULL;
	}
}
