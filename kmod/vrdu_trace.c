// SPDX-License-Identifier: GPL-2.0-only
/* vrdu.ko: the bodies of the tracepoints in vrdu_trace.h. */
#ifndef __CHECKER__
#define CREATE_TRACE_POINTS
#include "vrdu_trace.h"
#endif
