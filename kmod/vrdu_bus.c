// SPDX-License-Identifier: GPL-2.0-only
/*
 * The instance bus: which sockets exist. The first ones come from the module
 * parameter; more are made and removed at run time by writing to the driver's
 * files, as netdevsim does:
 *
 *	echo "3 tiny" > /sys/bus/platform/drivers/vrdu/new_device
 *	echo 3        > /sys/bus/platform/drivers/vrdu/del_device
 *
 * The profile may be left out (module parameter "profile" then). The sockets
 * are platform devices, so bind and unbind of sysfs act as hot-plug.
 * Owns the table of platform devices; called by module init and exit only.
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/string.h>

#include "fm.h"
#include "vrdu_bus.h"

static unsigned int sockets = 1;
module_param(sockets, uint, 0444);
MODULE_PARM_DESC(sockets, "Sockets that exist after loading, 0 to 16 (default 1)");

static char *profile = "sn40l";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "Fabric profile of sockets made without one (default sn40l)");

/* Guards vrdu_bus_pdev; taken around device registration, so outside all else. */
static DEFINE_MUTEX(vrdu_bus_lock);
static struct platform_device *vrdu_bus_pdev[VRDU_MAX_SOCKETS];

static int vrdu_bus_add(unsigned int id, const char *name)
{
	struct vrdu_bus_data data = {};
	struct platform_device *pdev;
	int ret = 0;

	if (id >= VRDU_MAX_SOCKETS)
		return -EINVAL;
	if (strscpy(data.profile, name) < 0 || !fm_profile_find(data.profile))
		return -EINVAL;

	mutex_lock(&vrdu_bus_lock);
	if (vrdu_bus_pdev[id]) {
		ret = -EEXIST;
		goto out;
	}
	pdev = platform_device_register_data(NULL, VRDU_NAME, id, &data, sizeof(data));
	if (IS_ERR(pdev)) {
		ret = PTR_ERR(pdev);
		goto out;
	}
	vrdu_bus_pdev[id] = pdev;
out:
	mutex_unlock(&vrdu_bus_lock);
	return ret;
}

static int vrdu_bus_del(unsigned int id)
{
	struct platform_device *pdev;

	if (id >= VRDU_MAX_SOCKETS)
		return -EINVAL;

	mutex_lock(&vrdu_bus_lock);
	pdev = vrdu_bus_pdev[id];
	vrdu_bus_pdev[id] = NULL;
	if (pdev)
		platform_device_unregister(pdev);
	mutex_unlock(&vrdu_bus_lock);
	return pdev ? 0 : -ENOENT;
}

static ssize_t new_device_store(struct device_driver *drv, const char *buf, size_t count)
{
	char name[VRDU_PROFILE_CHARS] = "";
	char rest;
	unsigned int id;
	int fields;
	int ret;

	/* 15 characters and a NUL: VRDU_PROFILE_CHARS. */
	fields = sscanf(buf, "%u %15s %c", &id, name, &rest);
	if (fields < 1 || fields > 2)
		return -EINVAL;

	ret = vrdu_bus_add(id, fields == 2 ? name : profile);
	return ret ? ret : count;
}
static DRIVER_ATTR_WO(new_device);

static ssize_t del_device_store(struct device_driver *drv, const char *buf, size_t count)
{
	unsigned int id;
	int ret;

	ret = kstrtouint(buf, 10, &id);
	if (ret)
		return ret;

	ret = vrdu_bus_del(id);
	return ret ? ret : count;
}
static DRIVER_ATTR_WO(del_device);

static struct attribute *vrdu_bus_attrs[] = {
	&driver_attr_new_device.attr,
	&driver_attr_del_device.attr,
	NULL,
};
ATTRIBUTE_GROUPS(vrdu_bus);

static struct platform_driver vrdu_platform_driver = {
	.probe = vrdu_device_probe,
	.remove = vrdu_device_remove,
	.driver = {
		.name = VRDU_NAME,
		.groups = vrdu_bus_groups,
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
};

/**
 * vrdu_bus_init() - register the driver and make the first sockets.
 *
 * Return: 0, -EINVAL (bad module parameter), or the first socket's error.
 */
int vrdu_bus_init(void)
{
	unsigned int i;
	int ret;

	if (sockets > VRDU_MAX_SOCKETS) {
		pr_err(VRDU_NAME ": sockets=%u, but at most %u can exist\n", sockets,
		       VRDU_MAX_SOCKETS);
		return -EINVAL;
	}
	if (!fm_profile_find(profile)) {
		pr_err(VRDU_NAME ": profile=%s is not known\n", profile);
		return -EINVAL;
	}

	ret = platform_driver_register(&vrdu_platform_driver);
	if (ret)
		return ret;

	for (i = 0; i < sockets; i++) {
		ret = vrdu_bus_add(i, profile);
		if (ret) {
			pr_err(VRDU_NAME ": socket %u: error %d\n", i, ret);
			vrdu_bus_fini();
			return ret;
		}
	}
	return 0;
}

/**
 * vrdu_bus_fini() - unbind and remove all sockets.
 *
 * Unregistering the driver first waits for writers of its files and takes the
 * files away, so that nobody can add a socket behind the loop.
 */
void vrdu_bus_fini(void)
{
	unsigned int i;

	platform_driver_unregister(&vrdu_platform_driver);
	for (i = 0; i < VRDU_MAX_SOCKETS; i++)
		vrdu_bus_del(i);
}
