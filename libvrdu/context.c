// SPDX-License-Identifier: MIT
/*
 * Contexts: an address space with one queue, its status page, and waiting on
 * it. A waiter first looks at the page for the device's spin time, then blocks
 * in the backend; either way the page has the last word.
 */
#include "ops.h"

#include <inttypes.h>
#include <stdio.h>

int vrdu_context_create(struct vrdu_device *dev, struct vrdu_context **out)
{
	struct vrdu_context *ctx;
	int ret;

	if (!dev || !out)
		return vrdu_fail(-EINVAL, "context: no %s", dev ? "place for the result" : "device");
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return vrdu_nomem();
	vrdu_refs_init(&ctx->refs);
	ctx->dev = dev;
	ctx->next_va = dev->va_start;
	ret = -pthread_mutex_init(&ctx->lock, NULL);
	if (ret) {
		free(ctx);
		return vrdu_fail(ret, "context: cannot make a lock");
	}
	ret = dev->ops->context_create(ctx);
	if (ret) {
		pthread_mutex_destroy(&ctx->lock);
		free(ctx);
		return ret;
	}
	vrdu_device_ref(dev);
	*out = ctx;
	return 0;
}

struct vrdu_context *vrdu_context_ref(struct vrdu_context *ctx)
{
	if (ctx)
		vrdu_refs_get(&ctx->refs);
	return ctx;
}

void vrdu_context_unref(struct vrdu_context *ctx)
{
	if (!ctx || !vrdu_refs_put(&ctx->refs))
		return;
	ctx->dev->ops->context_destroy(ctx);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->calls);
	free(ctx->args);
	vrdu_device_unref(ctx->dev);
	free(ctx);
}

struct vrdu_device *vrdu_context_device(struct vrdu_context *ctx)
{
	return ctx ? ctx->dev : NULL;
}

int vrdu_context_get_status(struct vrdu_context *ctx, struct vrdu_context_status *out, size_t size)
{
	struct vrdu_context_status s = { 0 };

	if (!ctx || !out)
		return vrdu_fail(-EINVAL, "context status: no %s", ctx ? "buffer" : "context");
	/* The device writes completed last: what is read after it is at least as new. */
	s.completed = __atomic_load_n(&ctx->status->completed, __ATOMIC_ACQUIRE);
	s.error = __atomic_load_n(&ctx->status->error, __ATOMIC_ACQUIRE);
	s.device_ps = ctx->status->device_ps;
	s.fault = ctx->status->fault;
	s.counters = ctx->status->counters;
	vrdu_copy_out(out, size, &s, sizeof(s));
	return 0;
}

static const struct {
	const char *what;
	const char *value;
} faults[] = {
	[VRDU_FAULT_NONE] = { "no fault", NULL },
	[VRDU_FAULT_PACKET] = { "malformed packet", "value" },
	[VRDU_FAULT_PROGRAM] = { "unknown program or wrong argument count", "value" },
	[VRDU_FAULT_ALIAS] = { "two arguments overlap and one is written", "address" },
	[VRDU_FAULT_READ] = { "read of an unmapped, phantom or misaligned place", "address" },
	[VRDU_FAULT_WRITE] = {
		"write to an unmapped, read-only, phantom or misaligned place", "address"
	},
	[VRDU_FAULT_EXTENT] = { "a size read from memory is out of its bounds", "value" },
	[VRDU_FAULT_INDEX] = { "an index is out of its bounds", "value" },
	[VRDU_FAULT_WATCHDOG] = { "the call exceeded its step budget", NULL },
	[VRDU_FAULT_KILLED] = { "stopped because its context or device goes away", NULL },
};

/* Node @node of section @section of @image, "" when there is none. */
static const char *node_name(const struct vrdu_image *image, uint32_t section, uint32_t node)
{
	const struct vrdu_image_header *h = vrdu_image_header(image);
	const struct vrdu_section *s = vrdu_image_section_table(image);
	uint64_t at;

	if (section >= h->sections || node >= s[section].nodes)
		return "";
	at = (uint64_t)s[section].first_node + node;
	if (at >= h->nodes)
		return "";
	return vrdu_image_string(image, vrdu_image_node_table(image)[at].name);
}

static int describe(const struct vrdu_fault_info *f, const char *program, const char *node,
		    char *buf, size_t size)
{
	const char *what = "unknown fault", *value = "value";
	char where[160] = "", val[64] = "";

	if (f->code < ARRAY_LEN(faults)) {
		what = faults[f->code].what;
		value = faults[f->code].value;
	}
	if (f->code == VRDU_FAULT_NONE)
		return snprintf(buf, size, "no fault");
	if (value && !strcmp(value, "address"))
		snprintf(val, sizeof(val), ", address 0x%" PRIx64, (uint64_t)f->address);
	else if (value)
		snprintf(val, sizeof(val), ", value %" PRId64, (int64_t)f->address);
	if (f->node != VRDU_NONE)
		snprintf(where, sizeof(where), ", section %u, node %u%s%.60s%s, iteration %u",
			 f->section, f->node, *node ? " \"" : "", node, *node ? "\"" : "",
			 f->iteration);
	return snprintf(buf, size, "%s: program %u%s%.60s%s%s%s, call %" PRIu64, what, f->program,
			*program ? " \"" : "", program, *program ? "\"" : "", where, val,
			(uint64_t)f->seqno);
}

int vrdu_fault_describe(const struct vrdu_fault_info *fault, char *buf, size_t size)
{
	if (!fault || (!buf && size))
		return vrdu_fail(-EINVAL, "fault description: no %s", fault ? "buffer" : "fault");
	return describe(fault, "", "", buf, size);
}

int vrdu_context_error(struct vrdu_context *ctx, int err)
{
	struct vrdu_fault_info f = ctx->status->fault;
	const char *program = "", *node = "";
	struct vrdu_program *p;
	char text[512];

	if (f.code == VRDU_FAULT_NONE)
		return vrdu_fail(err, "context %u cannot be used any more (error %d)", ctx->id, err);
	pthread_mutex_lock(&ctx->lock);
	for (p = ctx->programs; p; p = p->next)
		if (p->id == f.program)
			break;
	if (p) {
		program = vrdu_image_string(p->image, vrdu_image_header(p->image)->name);
		node = node_name(p->image, f.section, f.node);
	}
	describe(&f, program, node, text, sizeof(text));
	pthread_mutex_unlock(&ctx->lock);
	return vrdu_fail(err, "context %u: %s", ctx->id, text);
}

/* 0: done; -EINPROGRESS: not yet; otherwise the context's error. */
static int look(const struct vrdu_context *ctx, uint64_t seqno)
{
	int err;

	if (__atomic_load_n(&ctx->status->completed, __ATOMIC_ACQUIRE) >= seqno)
		return 0;
	err = __atomic_load_n(&ctx->status->error, __ATOMIC_ACQUIRE);
	if (!err)
		return -EINPROGRESS;
	/* It may have completed between the two loads, before the failure. */
	if (__atomic_load_n(&ctx->status->completed, __ATOMIC_ACQUIRE) >= seqno)
		return 0;
	return err;
}

static int spin(const struct vrdu_context *ctx, uint64_t seqno, int64_t deadline)
{
	uint64_t end = vrdu_now() + ctx->dev->spin_ns;
	int ret, i;

	if (end < ctx->dev->spin_ns)
		end = UINT64_MAX;
	if (end > (uint64_t)deadline)
		end = deadline;
	do {
		for (i = 0; i < 32; i++) {
			ret = look(ctx, seqno);
			if (ret != -EINPROGRESS)
				return ret;
			vrdu_relax();
		}
	} while (vrdu_now() < end);
	return -EINPROGRESS;
}

int vrdu_wait(struct vrdu_context *ctx, uint64_t seqno, int64_t deadline)
{
	uint64_t submitted;
	int ret;

	if (!ctx)
		return vrdu_fail(-EINVAL, "wait: no context");
	if (deadline < 0)
		return vrdu_fail(-EINVAL, "wait: deadline %" PRId64 " is negative", deadline);
	pthread_mutex_lock(&ctx->lock);
	submitted = ctx->submitted;
	pthread_mutex_unlock(&ctx->lock);
	if (seqno > submitted)
		return vrdu_fail(-EINVAL, "wait: call %" PRIu64 " was never submitted; the last is %"
				 PRIu64, seqno, submitted);
	atomic_fetch_add_explicit(&ctx->dev->waits, 1, memory_order_relaxed);
	ret = look(ctx, seqno);
	if (ret == -EINPROGRESS && deadline && ctx->dev->spin_ns)
		ret = spin(ctx, seqno, deadline);
	if (ret == -EINPROGRESS) {
		if (deadline)
			atomic_fetch_add_explicit(&ctx->dev->waits_blocked, 1,
						  memory_order_relaxed);
		ret = deadline ? ctx->dev->ops->wait(ctx, seqno, deadline) : -ETIME;
		if (ret == -ETIME)
			return vrdu_fail(ret, "wait: call %" PRIu64 " has not completed", seqno);
		if (ret)
			return ret;
		ret = look(ctx, seqno);
		if (ret == -EINPROGRESS)
			/* Its fence signalled without it: the device is gone. */
			ret = -ENODEV;
	}
	return ret ? vrdu_context_error(ctx, ret) : 0;
}
