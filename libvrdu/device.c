// SPDX-License-Identifier: MIT
/*
 * Devices: which backend a selector means, and the facts about what was opened.
 * Owns struct vrdu_device; every other object keeps it alive.
 */
#include "ops.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#define SPIN_DEFAULT_NS	50000u

/* "sim", "sim:PROFILE", "N", "/dev/…", NULL → backend and what it shall open. */
static int parse_selector(const char *selector, const struct vrdu_ops **ops, char *where,
			  size_t size)
{
	const char *p;

	if (!selector)
		selector = getenv("VRDU_DEVICE");
	*ops = &vrdu_node_ops;
	where[0] = '\0';
	if (!selector || !*selector)
		return 0;
	if (strlen(selector) >= size - strlen("/dev/accel/accel"))
		return vrdu_fail(-EINVAL, "device selector is longer than %zu bytes", size);
	if (!strcmp(selector, "sim") || !strncmp(selector, "sim:", 4)) {
		*ops = &vrdu_sim_ops;
		snprintf(where, size, "%s", selector[3] ? selector + 4 : "");
		return 0;
	}
	if (*selector == '/') {
		snprintf(where, size, "%s", selector);
		return 0;
	}
	for (p = selector; *p; p++)
		if (!isdigit((unsigned char)*p))
			return vrdu_fail(-EINVAL,
					 "device selector \"%s\" is neither sim, sim:PROFILE, a number nor a path",
					 selector);
	snprintf(where, size, "/dev/accel/accel%s", selector);
	return 0;
}

int vrdu_device_open(const char *selector, const struct vrdu_device_opts *user,
		     struct vrdu_device **out)
{
	struct vrdu_device_opts opts;
	const struct vrdu_ops *ops;
	struct vrdu_device *dev;
	char where[64];
	int ret;

	if (!out)
		return vrdu_fail(-EINVAL, "device: no place for the result");
	ret = vrdu_opts_read(&opts, sizeof(opts), user);
	if (ret)
		return ret;
	ret = parse_selector(selector, &ops, where, sizeof(where));
	if (ret)
		return ret;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return vrdu_nomem();
	vrdu_refs_init(&dev->refs);
	dev->ops = ops;
	if (opts.spin_ns == UINT64_MAX)
		dev->spin_ns = 0;
	else if (opts.spin_ns)
		dev->spin_ns = opts.spin_ns;
	else if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		/* On a single CPU a spinning waiter keeps the device from working. */
		dev->spin_ns = SPIN_DEFAULT_NS;
	snprintf(dev->info.backend, sizeof(dev->info.backend), "%s", ops->name);
	ret = ops->open(dev, *where ? where : NULL, &opts);
	if (ret) {
		free(dev);
		return ret;
	}
	*out = dev;
	return 0;
}

struct vrdu_device *vrdu_device_ref(struct vrdu_device *dev)
{
	if (dev)
		vrdu_refs_get(&dev->refs);
	return dev;
}

void vrdu_device_unref(struct vrdu_device *dev)
{
	if (!dev || !vrdu_refs_put(&dev->refs))
		return;
	dev->ops->close(dev);
	free(dev);
}

int vrdu_device_get_info(struct vrdu_device *dev, struct vrdu_device_info *info, size_t size)
{
	if (!dev || !info)
		return vrdu_fail(-EINVAL, "device info: no %s", dev ? "buffer" : "device");
	vrdu_copy_out(info, size, &dev->info, sizeof(dev->info));
	return 0;
}

int vrdu_device_get_counters(struct vrdu_device *dev, struct vrdu_host_counters *out, size_t size)
{
	struct vrdu_host_counters c = { 0 };
	int ret;

	if (!dev || !out)
		return vrdu_fail(-EINVAL, "host counters: no %s", dev ? "buffer" : "device");
	ret = dev->ops->counters(dev, &c);
	if (ret)
		return ret;
	c.waits = atomic_load(&dev->waits);
	c.waits_blocked = atomic_load(&dev->waits_blocked);
	vrdu_copy_out(out, size, &c, sizeof(c));
	return 0;
}
