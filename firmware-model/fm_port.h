/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The firmware model's one door to its host: types, memory, byte copies and
 * the few orderings it needs, the same names in the kernel and in user space.
 * No other header of a host is included anywhere in firmware-model/.
 */
#ifndef _FM_PORT_H
#define _FM_PORT_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/overflow.h>
#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <asm/barrier.h>

/** fm_alloc() - zeroed memory, charged to the caller's cgroup; may sleep. */
static inline void *fm_alloc(size_t bytes)
{
	return kvzalloc(bytes, GFP_KERNEL_ACCOUNT);
}

/** fm_free() - free fm_alloc() memory; NULL is fine. */
static inline void fm_free(void *p)
{
	kvfree(p);
}

#define fm_vsnprintf		vsnprintf
/* Pairs with the other side of a ring or status page, which may be user space. */
#define fm_load_acquire(p)	smp_load_acquire(p)
/* Pairs likewise. */
#define fm_store_release(p, v)	smp_store_release(p, v)
#define FM_READ_ONCE(x)		READ_ONCE(x)
#define FM_WRITE_ONCE(x, v)	WRITE_ONCE(x, v)

#else /* user space */

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

static inline void *fm_alloc(size_t bytes)
{
	return calloc(1, bytes ? bytes : 1);
}

static inline void fm_free(void *p)
{
	free(p);
}

#define fm_vsnprintf		vsnprintf
#define fm_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define fm_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define FM_READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define FM_WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)

#ifndef likely
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#endif
#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#ifndef U32_MAX
#define U32_MAX			0xffffffffu
#define S32_MAX			0x7fffffff
#define U64_MAX			(~0ull)
#endif
/* Format strings are checked by the kernel build of the same sources. */
#ifndef __printf
#define __printf(...)
#endif
#define fm_pick(t, a, op, b)	({ t a_ = (a), b_ = (b); a_ op b_ ? a_ : b_; })
#define min_t(t, a, b)		fm_pick(t, a, <, b)
#define max_t(t, a, b)		fm_pick(t, a, >, b)

#endif /* __KERNEL__ */

/** fm_div_round_up() - ceil(a / b) in 64 bits; b > 0. */
static inline u64 fm_div_round_up(u64 a, u64 b)
{
	return a / b + !!(a % b);
}

#endif /* _FM_PORT_H */
