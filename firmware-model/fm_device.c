// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A socket: profile, arithmetic, clock. Created by a host, used by its device
 * thread only.
 *
 * Arithmetic is chosen at creation: each implementation that the CPU can run
 * is tested against the scalar one, and the fastest on a small product is
 * taken. The widest is not always the fastest: under emulation it is slower.
 * The choice never shows in a result.
 */
#include "fm_rt.h"

/* The product that is timed: rows of bf16 weights, as decoders have most of. */
#define TRIAL_K		256u
#define TRIAL_ROWS	32u
/* The least of several times counts: an interrupt must not decide. */
#define TRIALS		8u

/**
 * struct trial - buffers of a timed product; all ones.
 * @x: f32 activations.
 * @w: bf16 weights.
 * @y: f32 results.
 */
struct trial {
	u32 x[TRIAL_K];
	u16 w[TRIAL_ROWS * TRIAL_K];
	u32 y[TRIAL_ROWS];
};

static void trial_fill(struct trial *t)
{
	u32 i;

	for (i = 0; i < TRIAL_K; i++)
		t->x[i] = 0x3f800000;
	for (i = 0; i < TRIAL_ROWS * TRIAL_K; i++)
		t->w[i] = 0x3f80;
}

/* Test and time @m. Return: nanoseconds, U64_MAX if it differs from the scalar one. */
static u64 try_math(const struct fm_math_ops *m, const struct fm_host_ops *ops, struct trial *t)
{
	struct fm_matmul a = {
		.y = t->y, .x = t->x, .w = t->w, .m = 1, .k = TRIAL_K, .n1 = TRIAL_ROWS,
		.ldy = TRIAL_ROWS, .ldx = TRIAL_K, .ldw = TRIAL_K,
	};
	u64 start, ns, best = U64_MAX;
	u32 i;
	int bad;

	if (ops->fpu_begin)
		ops->fpu_begin();
	bad = fm_math_selftest(m);
	m->matmul_bf16(&a);	/* warm, or translated */
	for (i = 0; i < TRIALS; i++) {
		start = ops->now();
		m->matmul_bf16(&a);
		ns = ops->now() - start;
		if (ns < best)
			best = ns;
	}
	if (ops->fpu_end)
		ops->fpu_end();
	return bad ? U64_MAX : best;
}

static int choose_math(struct fm_device *dev, u32 cpu)
{
	u64 best = U64_MAX, ns;
	struct trial *t;
	u32 i;

	dev->math = fm_math_select(cpu);
	if (!dev->ops->now)
		return 0;
	t = fm_alloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	trial_fill(t);
	dev->math = fm_math_by_index(0);
	for (i = 0; fm_math_by_index(i); i++) {
		const struct fm_math_ops *m = fm_math_by_index(i);

		if (m->cpu & ~cpu)
			continue;
		ns = try_math(m, dev->ops, t);
		if (ns < best) {
			best = ns;
			dev->math = m;
		}
	}
	fm_free(t);
	return 0;
}

int fm_device_create(const struct fm_profile *profile, const struct fm_host_ops *ops, void *host,
		     u32 cpu, struct fm_device **out)
{
	struct fm_device *dev;
	int ret;

	if (!profile || !ops || !ops->translate || !ops->fpu_begin != !ops->fpu_end)
		return -EINVAL;
	dev = fm_alloc(sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->profile = profile;
	dev->ops = ops;
	dev->host = host;
	ret = choose_math(dev, cpu);
	if (ret) {
		fm_free(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

void fm_device_destroy(struct fm_device *dev)
{
	fm_free(dev);
}

u64 fm_device_clock(const struct fm_device *dev)
{
	return dev->clock;
}

const char *fm_device_math(const struct fm_device *dev)
{
	return dev->math->name;
}

void fm_device_shuffle(struct fm_device *dev, u64 seed)
{
	dev->shuffle = seed;
}
