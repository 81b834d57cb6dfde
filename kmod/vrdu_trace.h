/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vrdu.ko: tracepoints along the way of a submission:
 *
 *	vrdu_submit → vrdu_doorbell → vrdu_event → vrdu_fence
 *
 *	echo 1 > /sys/kernel/tracing/events/vrdu/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vrdu

#if !defined(VRDU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VRDU_TRACE_H

#include <linux/tracepoint.h>

/* A SUBMIT was accepted; its last call has @seqno. */
TRACE_EVENT(vrdu_submit,
	    TP_PROTO(u32 socket, u32 context, u64 seqno, u32 calls, u32 in_fences),
	    TP_ARGS(socket, context, seqno, calls, in_fences),
	    TP_STRUCT__entry(__field(u32, socket)
			     __field(u32, context)
			     __field(u64, seqno)
			     __field(u32, calls)
			     __field(u32, in_fences)),
	    TP_fast_assign(__entry->socket = socket;
			   __entry->context = context;
			   __entry->seqno = seqno;
			   __entry->calls = calls;
			   __entry->in_fences = in_fences;),
	    TP_printk("socket=%u context=%u seqno=%llu calls=%u in_fences=%u", __entry->socket,
		      __entry->context, __entry->seqno, __entry->calls, __entry->in_fences)
);

/* The tail of a queue was published; @woke: the device thread was asleep. */
TRACE_EVENT(vrdu_doorbell,
	    TP_PROTO(u32 socket, u64 tail, bool woke),
	    TP_ARGS(socket, tail, woke),
	    TP_STRUCT__entry(__field(u32, socket)
			     __field(u64, tail)
			     __field(bool, woke)),
	    TP_fast_assign(__entry->socket = socket;
			   __entry->tail = tail;
			   __entry->woke = woke;),
	    TP_printk("socket=%u tail=%llu woke=%d", __entry->socket, __entry->tail, __entry->woke)
);

/* The device reported the end of a call. */
TRACE_EVENT(vrdu_event,
	    TP_PROTO(u32 socket, u32 context, u64 seqno, int error),
	    TP_ARGS(socket, context, seqno, error),
	    TP_STRUCT__entry(__field(u32, socket)
			     __field(u32, context)
			     __field(u64, seqno)
			     __field(int, error)),
	    TP_fast_assign(__entry->socket = socket;
			   __entry->context = context;
			   __entry->seqno = seqno;
			   __entry->error = error;),
	    TP_printk("socket=%u context=%u seqno=%llu error=%d", __entry->socket,
		      __entry->context, __entry->seqno, __entry->error)
);

/* A submission's fence is about to signal. */
TRACE_EVENT(vrdu_fence,
	    TP_PROTO(u32 socket, u32 context, u64 seqno, int error),
	    TP_ARGS(socket, context, seqno, error),
	    TP_STRUCT__entry(__field(u32, socket)
			     __field(u32, context)
			     __field(u64, seqno)
			     __field(int, error)),
	    TP_fast_assign(__entry->socket = socket;
			   __entry->context = context;
			   __entry->seqno = seqno;
			   __entry->error = error;),
	    TP_printk("socket=%u context=%u seqno=%llu error=%d", __entry->socket,
		      __entry->context, __entry->seqno, __entry->error)
);

#endif /* VRDU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vrdu_trace
#include <trace/define_trace.h>
