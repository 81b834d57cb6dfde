/* SPDX-License-Identifier: MIT */
/*
 * Inside the sim backend: what its files share.
 */
#ifndef VRDU_SIM_H
#define VRDU_SIM_H

#include <stdint.h>

struct vrdu_pool;

/** vrdu_pool_create() - @threads - 1 helpers for vrdu_pool_run(). Return: 0, -ENOMEM, -EAGAIN … */
int vrdu_pool_create(uint32_t threads, struct vrdu_pool **out);

/** vrdu_pool_destroy() - end the helpers; NULL is fine. */
void vrdu_pool_destroy(struct vrdu_pool *pool);

/** vrdu_pool_run() - @fn(@arg, part) for each part, shared with the helpers; one caller at a time. */
void vrdu_pool_run(struct vrdu_pool *pool, void (*fn)(void *arg, uint32_t part), void *arg,
		   uint32_t parts);

#endif /* VRDU_SIM_H */
