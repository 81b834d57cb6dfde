/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: control pages; see vrdu_ctl.c. */
#ifndef VRDU_CTL_H
#define VRDU_CTL_H

#include "vrdu_device.h"

struct vrdu_ctl;

struct vrdu_ctl *vrdu_ctl_create(struct vrdu_device *vdev);
int vrdu_ctl_allow(struct vrdu_ctl *ctl, struct drm_file *file);
void vrdu_ctl_revoke(struct vrdu_ctl *ctl, struct drm_file *file);
void vrdu_ctl_put(struct vrdu_ctl *ctl);
void *vrdu_ctl_vaddr(struct vrdu_ctl *ctl);
u64 vrdu_ctl_offset(struct vrdu_ctl *ctl);

#endif /* VRDU_CTL_H */
