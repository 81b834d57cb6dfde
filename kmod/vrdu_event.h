/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: the driver's interrupt handler; see vrdu_event.c. */
#ifndef VRDU_EVENT_H
#define VRDU_EVENT_H

#include "vrdu_device.h"

void vrdu_event_interrupt(struct vrdu_device *vdev);

#endif /* VRDU_EVENT_H */
