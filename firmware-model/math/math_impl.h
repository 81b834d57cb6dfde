/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the objects of the arithmetic know of each other: the tables that
 * math_select.c picks from, and the functions that all tables share.
 */
#ifndef _FM_MATH_IMPL_H
#define _FM_MATH_IMPL_H

#include "fm_math.h"

extern const struct fm_math_ops fm_math_scalar;
#ifdef __x86_64__
extern const struct fm_math_ops fm_math_sse2;
extern const struct fm_math_ops fm_math_avx2;
#endif

void fm_math_rope_row(void *out, s32 pos, u32 hd, u32 theta);
void fm_math_rope_apply(void *y, const void *x, const void *row, u32 heads, u32 hd, u32 style);

#endif /* _FM_MATH_IMPL_H */
