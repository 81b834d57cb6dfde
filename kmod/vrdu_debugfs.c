// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs, for people who debug the driver; no ABI.
 *
 *	/sys/kernel/debug/vrdu/live		objects of the whole module
 *	/sys/kernel/debug/accel/<dev>/contexts	one line a context
 *	/sys/kernel/debug/accel/<dev>/device	the device half and the tiers
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <drm/drm_debugfs.h>

#include "vrdu_ctx.h"
#include "vrdu_debugfs.h"
#include "vrdu_fw.h"

static struct dentry *vrdu_debugfs_root;

static int vrdu_live_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < VRDU_LIVE_KINDS; i++)
		seq_printf(m, "%s: %d\n", vrdu_live_name[i], atomic_read(&vrdu_live_count[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vrdu_live);

/** vrdu_debugfs_module_init() - files of the module. */
void vrdu_debugfs_module_init(void)
{
	vrdu_debugfs_root = debugfs_create_dir(VRDU_NAME, NULL);
	debugfs_create_file("live", 0444, vrdu_debugfs_root, NULL, &vrdu_live_fops);
}

/** vrdu_debugfs_module_fini() - remove them. */
void vrdu_debugfs_module_fini(void)
{
	debugfs_remove_recursive(vrdu_debugfs_root);
}

static struct vrdu_device *vrdu_debugfs_device(struct seq_file *m)
{
	struct drm_debugfs_entry *entry = m->private;

	return to_vrdu_device(entry->dev);
}

static int vrdu_debugfs_contexts(struct seq_file *m, void *unused)
{
	struct vrdu_device *vdev = vrdu_debugfs_device(m);
	struct drm_vrdu_context_info info;
	struct vrdu_ctx *ctx;

	mutex_lock(&vdev->ctx_lock);
	list_for_each_entry(ctx, &vdev->contexts, node) {
		vrdu_ctx_info(ctx, &info);
		seq_printf(m, "context %u error %d programs %u mappings %u submitted %llu completed %llu\n",
			   ctx->id, info.error, info.programs, info.mappings, info.submitted,
			   info.completed);
	}
	mutex_unlock(&vdev->ctx_lock);
	return 0;
}

static int vrdu_debugfs_device_show(struct seq_file *m, void *unused)
{
	struct vrdu_device *vdev = vrdu_debugfs_device(m);
	struct vrdu_fw_info info;

	vrdu_fw_info(vdev, &info);
	seq_printf(m, "arithmetic: %s\n", vrdu_fw_math(vdev));
	seq_printf(m, "queues: %u\n", info.queues);
	seq_printf(m, "serves: %llu\n", info.serves);
	seq_printf(m, "sleeps: %llu\n", info.sleeps);
	seq_printf(m, "events: %llu\n", info.events);
	seq_printf(m, "clock_ps: %llu\n", info.clock_ps);

	spin_lock(&vdev->mem_lock);
	seq_printf(m, "hbm_used: %llu\n", vdev->hbm.used);
	seq_printf(m, "ddr_used: %llu\n", vdev->ddr.used);
	spin_unlock(&vdev->mem_lock);
	return 0;
}

static const struct drm_debugfs_info vrdu_debugfs_files[] = {
	{ "contexts", vrdu_debugfs_contexts, 0, NULL },
	{ "device", vrdu_debugfs_device_show, 0, NULL },
};

/** vrdu_debugfs_init() - files of a device, before it is registered. */
void vrdu_debugfs_init(struct vrdu_device *vdev)
{
	drm_debugfs_add_files(&vdev->drm, vrdu_debugfs_files, ARRAY_SIZE(vrdu_debugfs_files));
}
