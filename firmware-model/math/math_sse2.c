// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The SSE2 implementation: 16 lanes as four vectors of 4 floats.
 */
#define FM_W 4
#include "math_lanes_vec.h"
#include "math_matmul.h"
#include "math_rows.h"
#include "math_table.h"

FM_MATH_TABLE(fm_math_sse2, "sse2", FM_CPU_SSE2);
