// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The command processor: takes packets from a ring, validates its own copy of
 * each, has the sequencer carry out calls, and reports on the status page.
 *
 * The ring, the arguments and the doorbell belong to somebody who may write
 * them at any time. Called on the device's thread.
 */
#include "fm_rt.h"

static void status_write(struct fm_device *dev, struct fm_queue *q, u64 seqno)
{
	struct vrdu_status *s = q->status;

	FM_WRITE_ONCE(s->head, q->head);
	FM_WRITE_ONCE(s->device_ps, dev->clock);
	fm_store_release(&s->completed, seqno);
}

/* The context has faulted: for good. */
static void queue_fault(struct fm_device *dev, struct fm_queue *q, u64 seqno, int error,
			const struct vrdu_fault_info *fault)
{
	struct vrdu_status *s = q->status;

	s->fault = *fault;
	s->fault.seqno = seqno;
	FM_WRITE_ONCE(s->head, q->head);
	FM_WRITE_ONCE(s->device_ps, dev->clock);
	fm_store_release(&s->error, error);
	q->event(q->owner, seqno, error);
}

static bool packet_valid(const struct vrdu_packet *p)
{
	u32 i;

	if (p->op > VRDU_PACKET_CALL || (p->flags & ~VRDU_PACKET_EVENT))
		return false;
	for (i = 0; i < ARRAY_SIZE(p->pad); i++)
		if (p->pad[i])
			return false;
	if (p->op == VRDU_PACKET_NOP)
		return !p->arg_count && !p->program && !p->args && !p->call_flags;
	return p->arg_count <= VRDU_MAX_ARGS && !(p->args & 7);
}

static int packet_call(struct fm_device *dev, struct fm_queue *q, const struct vrdu_packet *p,
		       struct vrdu_fault_info *fault)
{
	u64 args[VRDU_MAX_ARGS], bytes = (u64)p->arg_count * sizeof(u64);
	struct fm_call call = {
		.id = p->program,
		.args = args,
		.arg_count = p->arg_count,
		.flags = p->call_flags,
		.vm = q->vm,
	};

	if (bytes > q->args_bytes || p->args > q->args_bytes - bytes) {
		fault->code = VRDU_FAULT_PACKET;
		fault->address = p->args;
		return -EINVAL;
	}
	memcpy(args, q->args + p->args, bytes);
	call.prog = q->program(q->owner, p->program);
	if (!call.prog) {
		fault->code = VRDU_FAULT_PROGRAM;
		fault->program = p->program;
		fault->address = p->program;
		return -EINVAL;
	}
	return fm_device_run(dev, &call, fault, &q->status->counters);
}

u32 fm_queue_poll(struct fm_device *dev, struct fm_queue *q, u32 budget)
{
	u32 n = 0;

	while (n < budget && !q->status->error) {
		u64 tail = fm_load_acquire(q->doorbell);
		struct vrdu_fault_info fault = { 0 };
		struct vrdu_packet p;
		int ret = 0;

		if (tail == q->head)
			break;
		memcpy(&p, &q->ring[q->head & (q->entries - 1)], sizeof(p));
		if (tail - q->head > q->entries || !packet_valid(&p)) {
			fault.code = VRDU_FAULT_PACKET;
			fault.address = tail - q->head > q->entries ? tail : p.op;
			queue_fault(dev, q, p.seqno, -EINVAL, &fault);
			break;
		}
		if (p.op == VRDU_PACKET_CALL)
			ret = packet_call(dev, q, &p, &fault);
		q->head++;
		n++;
		if (ret) {
			queue_fault(dev, q, p.seqno, ret, &fault);
			break;
		}
		if (p.flags & VRDU_PACKET_EVENT)
			q->status->counters.events++;
		status_write(dev, q, p.seqno);
		if (p.flags & VRDU_PACKET_EVENT)
			q->event(q->owner, p.seqno, 0);
	}
	return n;
}
