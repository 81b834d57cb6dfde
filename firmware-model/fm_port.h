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
#define fm_load_acquire(p)	smp_load_acquire(p)
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

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

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
#define FM_READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define FM_WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))

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
#ifndef __printf
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#endif
#ifndef min_t
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#endif

#endif /* __KERNEL__ */

/** fm_div_round_up() - ceil(a / b) in 64 bits; b > 0. */
static inline u64 fm_div_round_up(u64 a, u64 b)
{
	return a / b + !!(a % b);
}

#endif /* _FM_PORT_H */
