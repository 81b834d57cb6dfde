/* SPDX-License-Identifier: MIT */
/*
 * Inside the sim backend: what its files share.
 */
#ifndef VRDU_SIM_H
#define VRDU_SIM_H

#include <stdint.h>

struct sim_timeline;
struct vrdu_pool;
struct vrdu_timeline;

/** vrdu_pool_create() - @threads - 1 helpers for vrdu_pool_run(). Return: 0, -ENOMEM, -EAGAIN … */
int vrdu_pool_create(uint32_t threads, struct vrdu_pool **out);

/** vrdu_pool_destroy() - end the helpers; NULL is fine. */
void vrdu_pool_destroy(struct vrdu_pool *pool);

/**
 * vrdu_pool_run() - @fn(@arg, part) for each part, shared with the helpers; one caller at
 * a time.
 */
void vrdu_pool_run(struct vrdu_pool *pool, void (*fn)(void *arg, uint32_t part), void *arg,
		   uint32_t parts);

/* sim_timeline.c: the table's operations, and two for submissions. */
int sim_timeline_create(struct vrdu_timeline *t, uint64_t value);
void sim_timeline_destroy(struct vrdu_timeline *t);
int sim_timeline_query(struct vrdu_timeline *t, uint64_t *value);
int sim_timeline_signal(struct vrdu_timeline *t, uint64_t value);
int sim_timeline_wait(struct vrdu_timeline *t, uint64_t value, int64_t deadline);

/** sim_timeline_value() - point reached. */
uint64_t sim_timeline_value(struct sim_timeline *st);

/** sim_timeline_raise() - reach @value, unless it was passed. */
void sim_timeline_raise(struct sim_timeline *st, uint64_t value);

#endif /* VRDU_SIM_H */
