/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: completion fences; see vrdu_fence.c. */
#ifndef VRDU_FENCE_H
#define VRDU_FENCE_H

#include <linux/dma-fence.h>

struct vrdu_fence;

struct vrdu_fence *vrdu_fence_alloc(void);
void vrdu_fence_free(struct vrdu_fence *fence);
struct dma_fence *vrdu_fence_start(struct vrdu_fence *fence, u32 instance, u32 ctx,
				   u64 context, u64 seqno);
void vrdu_fence_signal(struct dma_fence *fence, int error);

#endif /* VRDU_FENCE_H */
