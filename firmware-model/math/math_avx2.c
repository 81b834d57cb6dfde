// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The AVX2 implementation: 16 lanes as two vectors of 8 floats.
 */
#define FM_W 8
#include "math_lanes_vec.h"
#include "math_matmul.h"
#include "math_rows.h"
#include "math_table.h"

FM_MATH_TABLE(fm_math_avx2, "avx2", FM_CPU_AVX2);
