// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The scalar implementation: 16 lanes as 16 floats, for any CPU, and the
 * reference that the others are compared with. Built without vectorisation.
 */
#include "math_lanes_scalar.h"
#include "math_matmul.h"
#include "math_rows.h"
#include "math_table.h"

FM_MATH_TABLE(fm_math_scalar, "scalar", 0);
