/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time limits of the tests: generous, since wall time is no verdict on an
 * emulated machine of a busy host. Real hangs are the VM harness's to find.
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include "kselftest_harness.h"

/* Seconds. */
#define PATIENCE	1800

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	PATIENCE

#endif /* PATIENCE_H */
