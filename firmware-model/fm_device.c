// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A socket: profile, arithmetic, clock. Created by a host, used by its device
 * thread only.
 */
#include "fm_rt.h"

int fm_device_create(const struct fm_profile *profile, const struct fm_host_ops *ops, void *host,
		     u32 cpu, struct fm_device **out)
{
	struct fm_device *dev;

	if (!profile || !ops || !ops->translate || !ops->fpu_begin != !ops->fpu_end)
		return -EINVAL;
	dev = fm_alloc(sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->profile = profile;
	dev->ops = ops;
	dev->host = host;
	dev->math = fm_math_select(cpu);
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
