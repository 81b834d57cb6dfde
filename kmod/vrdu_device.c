// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a socket: probe brings the blocks up in one order, remove takes
 * them down in the reverse order. Memory that an open file or a mapping can
 * still reach belongs to the drm_device (drmm_), not to the binding (devm_).
 *
 * Called by the platform driver in vrdu_bus.c. Owns the tier accounting.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "fm.h"
#include "vrdu_bus.h"
#include "vrdu_ctx.h"
#include "vrdu_debugfs.h"
#include "vrdu_device.h"
#include "vrdu_fw.h"

atomic_t vrdu_live_count[VRDU_LIVE_KINDS];

const char * const vrdu_live_name[VRDU_LIVE_KINDS] = {
	[VRDU_LIVE_FILE] = "files",
	[VRDU_LIVE_CTX] = "contexts",
	[VRDU_LIVE_PROGRAM] = "programs",
	[VRDU_LIVE_BO] = "buffers",
	[VRDU_LIVE_CTL] = "control_pages",
	[VRDU_LIVE_MAPPING] = "mappings",
	[VRDU_LIVE_FENCE] = "fences",
	[VRDU_LIVE_SUBMISSION] = "submissions",
};

static int vrdu_device_mem_init(struct vrdu_device *vdev)
{
	int ret;

	spin_lock_init(&vdev->mem_lock);
	vdev->hbm.total = vdev->profile->hbm_bytes;
	vdev->ddr.total = vdev->profile->ddr_bytes;

	INIT_LIST_HEAD(&vdev->contexts);
	ret = drmm_mutex_init(&vdev->drm, &vdev->ctx_lock);
	return ret;
}

/**
 * vrdu_device_probe() - bring a socket up.
 * @pdev: Its platform device; the platform data names the profile.
 *
 * Return: 0, -EINVAL (unknown profile), -ENOMEM, or what DRM says.
 */
int vrdu_device_probe(struct platform_device *pdev)
{
	const struct vrdu_bus_data *data = dev_get_platdata(&pdev->dev);
	struct vrdu_device *vdev;
	int ret;

	vdev = devm_drm_dev_alloc(&pdev->dev, &vrdu_drm_driver, struct vrdu_device, drm);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);

	vdev->instance = pdev->id;
	vdev->profile = fm_profile_find(data->profile);
	if (!vdev->profile) {
		drm_err(&vdev->drm, "unknown profile \"%s\"\n", data->profile);
		return -EINVAL;
	}

	ret = vrdu_device_mem_init(vdev);
	if (ret)
		return ret;

	ret = vrdu_fw_init(vdev);
	if (ret)
		return ret;

	vrdu_debugfs_init(vdev);

	ret = drm_dev_register(&vdev->drm, 0);
	if (ret)
		goto err_fw;

	platform_set_drvdata(pdev, vdev);
	drm_info(&vdev->drm, "socket %u: profile %s, arithmetic %s\n", vdev->instance,
		 vdev->profile->name, vrdu_fw_math(vdev));
	return 0;

err_fw:
	vrdu_fw_unplug(vdev);
	return ret;
}

/**
 * vrdu_device_remove() - take a socket down while files may still be open.
 * @pdev: Its platform device.
 *
 * After the unplug no ioctl starts and no context can be added; then every
 * context is killed, which signals all its fences with -ENODEV; then nothing
 * rings the device any more and its thread can end.
 */
void vrdu_device_remove(struct platform_device *pdev)
{
	struct vrdu_device *vdev = platform_get_drvdata(pdev);

	drm_dev_unplug(&vdev->drm);
	vrdu_ctx_unplug(vdev);
	vrdu_fw_unplug(vdev);
}

/** vrdu_device_tier() - the tier in which a buffer with @bo_flags lies. */
struct vrdu_tier *vrdu_device_tier(struct vrdu_device *vdev, u32 bo_flags)
{
	return bo_flags & DRM_VRDU_BO_DDR ? &vdev->ddr : &vdev->hbm;
}

/**
 * vrdu_device_charge() - take @bytes of a tier.
 * @vdev: Device.
 * @bo_flags: DRM_VRDU_BO_* bits; they choose the tier.
 * @bytes: Page-aligned size, at most the tier's total.
 *
 * Return: 0 or -ENOSPC.
 */
int vrdu_device_charge(struct vrdu_device *vdev, u32 bo_flags, u64 bytes)
{
	struct vrdu_tier *tier = vrdu_device_tier(vdev, bo_flags);
	int ret = -ENOSPC;

	spin_lock(&vdev->mem_lock);
	if (bytes <= tier->total - tier->used) {
		tier->used += bytes;
		ret = 0;
	}
	spin_unlock(&vdev->mem_lock);
	return ret;
}

/** vrdu_device_uncharge() - give back what vrdu_device_charge() took. */
void vrdu_device_uncharge(struct vrdu_device *vdev, u32 bo_flags, u64 bytes)
{
	struct vrdu_tier *tier = vrdu_device_tier(vdev, bo_flags);

	spin_lock(&vdev->mem_lock);
	tier->used -= bytes;
	spin_unlock(&vdev->mem_lock);
}
