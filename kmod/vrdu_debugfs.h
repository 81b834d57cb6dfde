/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: debugfs; see vrdu_debugfs.c. */
#ifndef VRDU_DEBUGFS_H
#define VRDU_DEBUGFS_H

#include "vrdu_device.h"

void vrdu_debugfs_module_init(void);
void vrdu_debugfs_module_fini(void);
void vrdu_debugfs_init(struct vrdu_device *vdev);

#endif /* VRDU_DEBUGFS_H */
