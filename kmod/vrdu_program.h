/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: programs; see vrdu_program.c. */
#ifndef VRDU_PROGRAM_H
#define VRDU_PROGRAM_H

#include <linux/kref.h>

#include "vrdu_device.h"

struct fm_log;
struct fm_program;
struct vrdu_ctx;

/**
 * struct vrdu_program - a verified image in a context.
 * @ref: One reference is the user's handle, one each submission's.
 * @ctx: Context; outlives the program.
 * @id: Handle in the context and in the device's program table.
 * @symbols: Arguments of a call.
 * @destroyed: The user's handle is gone; under ctx->programs.xa_lock. The id
 *	stays taken until the last call has ended.
 * @fm: What the device runs.
 */
struct vrdu_program {
	struct kref ref;
	struct vrdu_ctx *ctx;
	u32 id;
	u32 symbols;
	bool destroyed;
	struct fm_program *fm;
};

int vrdu_program_create(struct vrdu_ctx *ctx, const void *image, u32 size, struct fm_log *log,
			u32 *id, u32 *symbols);
int vrdu_program_destroy(struct vrdu_ctx *ctx, u32 id);
void vrdu_program_destroy_all(struct vrdu_ctx *ctx);
struct vrdu_program *vrdu_program_lookup(struct vrdu_ctx *ctx, u32 id);
void vrdu_program_put(struct vrdu_program *prog);
u32 vrdu_program_count(struct vrdu_ctx *ctx);

/* Device half: the program table. */
struct fm_program *vrdu_program_device_lookup(void *owner, u32 id);

#endif /* VRDU_PROGRAM_H */
