/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: the instance bus; see vrdu_bus.c. */
#ifndef VRDU_BUS_H
#define VRDU_BUS_H

#include "vrdu_device.h"

/**
 * struct vrdu_bus_data - platform data of an instance.
 * @profile: Name of its fabric profile, NUL-terminated.
 */
struct vrdu_bus_data {
	char profile[VRDU_PROFILE_CHARS];
};

int vrdu_bus_init(void);
void vrdu_bus_fini(void);

#endif /* VRDU_BUS_H */
