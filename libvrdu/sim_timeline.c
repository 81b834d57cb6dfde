// SPDX-License-Identifier: MIT
/*
 * Timelines of the sim backend: a counter that only grows, and a condition to
 * wait on it. Points are reached by submissions, which are complete when they
 * return, or by the host.
 */
#include "sim.h"

#include "internal.h"

#include <time.h>

/**
 * struct sim_timeline - a timeline.
 * @lock: Guards all.
 * @changed: Signalled when @value grows.
 * @value: Point reached.
 */
struct sim_timeline {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t value;
};

uint64_t sim_timeline_value(struct sim_timeline *st)
{
	uint64_t value;

	pthread_mutex_lock(&st->lock);
	value = st->value;
	pthread_mutex_unlock(&st->lock);
	return value;
}

void sim_timeline_raise(struct sim_timeline *st, uint64_t value)
{
	pthread_mutex_lock(&st->lock);
	if (value > st->value) {
		st->value = value;
		pthread_cond_broadcast(&st->changed);
	}
	pthread_mutex_unlock(&st->lock);
}

int sim_timeline_create(struct vrdu_timeline *t, uint64_t value)
{
	struct sim_timeline *st = calloc(1, sizeof(*st));
	pthread_condattr_t attr;

	if (!st)
		return vrdu_nomem();
	st->value = value;
	pthread_mutex_init(&st->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&st->changed, &attr);
	pthread_condattr_destroy(&attr);
	t->priv = st;
	return 0;
}

void sim_timeline_destroy(struct vrdu_timeline *t)
{
	struct sim_timeline *st = t->priv;

	pthread_cond_destroy(&st->changed);
	pthread_mutex_destroy(&st->lock);
	free(st);
}

int sim_timeline_query(struct vrdu_timeline *t, uint64_t *value)
{
	*value = sim_timeline_value(t->priv);
	return 0;
}

int sim_timeline_signal(struct vrdu_timeline *t, uint64_t value)
{
	sim_timeline_raise(t->priv, value);
	return 0;
}

int sim_timeline_wait(struct vrdu_timeline *t, uint64_t value, int64_t deadline)
{
	struct timespec ts = {
		.tv_sec = deadline / 1000000000,
		.tv_nsec = deadline % 1000000000,
	};
	struct sim_timeline *st = t->priv;
	int ret = 0;

	pthread_mutex_lock(&st->lock);
	while (st->value < value && !ret) {
		if (deadline == INT64_MAX)
			pthread_cond_wait(&st->changed, &st->lock);
		else if (pthread_cond_timedwait(&st->changed, &st->lock, &ts) == ETIMEDOUT)
			ret = -ETIME;
	}
	if (st->value >= value)
		ret = 0;
	pthread_mutex_unlock(&st->lock);
	return ret;
}
