// SPDX-License-Identifier: MIT
/*
 * A small pool of threads that the sim backend lends to the firmware model for
 * large matrix products. Exists only when the caller asked for threads; the
 * calling thread does its share. Work is handed out part by part, so that who
 * does which part never matters.
 */
#include "sim.h"

#include "internal.h"

/**
 * struct vrdu_pool - helpers and the job at hand.
 * @lock: Guards all below.
 * @start: Signalled when a job is there or the pool ends.
 * @done: Signalled when the last part is done.
 * @fn: Job.
 * @arg: Its argument.
 * @parts: Its parts.
 * @next: Next part to hand out.
 * @running: Parts not yet done.
 * @quit: The pool ends.
 * @threads: Number of helpers.
 * @ids: Helpers.
 */
struct vrdu_pool {
	pthread_mutex_t lock;
	pthread_cond_t start;
	pthread_cond_t done;
	void (*fn)(void *arg, uint32_t part);
	void *arg;
	uint32_t parts;
	uint32_t next;
	uint32_t running;
	bool quit;
	uint32_t threads;
	pthread_t ids[];
};

/* Do parts until none is left; locked on entry and exit. */
static void work(struct vrdu_pool *pool)
{
	while (pool->next < pool->parts) {
		uint32_t part = pool->next++;

		pthread_mutex_unlock(&pool->lock);
		pool->fn(pool->arg, part);
		pthread_mutex_lock(&pool->lock);
		if (!--pool->running)
			pthread_cond_signal(&pool->done);
	}
}

static void *helper(void *arg)
{
	struct vrdu_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	while (!pool->quit) {
		work(pool);
		if (!pool->quit)
			pthread_cond_wait(&pool->start, &pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int vrdu_pool_create(uint32_t threads, struct vrdu_pool **out)
{
	struct vrdu_pool *pool;
	int ret;

	pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->ids[0]));
	if (!pool)
		return vrdu_nomem();
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->start, NULL);
	pthread_cond_init(&pool->done, NULL);
	for (; pool->threads + 1 < threads; pool->threads++) {
		ret = -pthread_create(&pool->ids[pool->threads], NULL, helper, pool);
		if (ret) {
			uint32_t n = pool->threads;

			vrdu_pool_destroy(pool);
			return vrdu_fail(ret, "sim: cannot start thread %u: %s", n + 1,
					 strerror(-ret));
		}
	}
	*out = pool;
	return 0;
}

void vrdu_pool_destroy(struct vrdu_pool *pool)
{
	uint32_t i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->start);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->threads; i++)
		pthread_join(pool->ids[i], NULL);
	pthread_cond_destroy(&pool->start);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void vrdu_pool_run(struct vrdu_pool *pool, void (*fn)(void *arg, uint32_t part), void *arg,
		   uint32_t parts)
{
	pthread_mutex_lock(&pool->lock);
	pool->fn = fn;
	pool->arg = arg;
	pool->parts = parts;
	pool->next = 0;
	pool->running = parts;
	pthread_cond_broadcast(&pool->start);
	work(pool);
	while (pool->running)
		pthread_cond_wait(&pool->done, &pool->lock);
	pool->parts = 0;
	pool->next = 0;
	pthread_mutex_unlock(&pool->lock);
}
