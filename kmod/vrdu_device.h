/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vrdu.ko: the device instance (a "socket"), the open file, and what all
 * blocks share. Types of the other blocks stand in their own headers.
 *
 * Lock order, outermost first; a lock may be taken while holding those above:
 *
 *	mmap_lock			user faults; nothing below may touch user
 *					memory or mmap_lock
 *	  vrdu_device.ctx_lock		mutex: list of contexts
 *	  vrdu_ctx.submit_lock		mutex: one submitter at a time; may be
 *					held while waiting for ring space
 *	    vrdu_vm.lock		mutex: address space, driver side
 *	      dma_resv			of a buffer, by PRIME only
 *	        vrdu_bo.lock		mutex: kernel mapping and dummy page
 *	          vrdu_device.mem_lock	spin: tier accounting
 *	dma_fence.lock			spin, irq: of any fence, also foreign ones
 *	  vrdu_ctx.lock			spin, irq: submission lists and error
 *	    vrdu_fw.lock		spin: the device half's queue list
 *
 * The device thread, the event handler and the fence callbacks are
 * fence-signalling sections: they take the spinlocks only and never allocate.
 * Fences are signalled with no lock of this driver held, because a callback
 * may come back into another context's lock.
 */
#ifndef VRDU_DEVICE_H
#define VRDU_DEVICE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>

#include <drm/vrdu_accel.h>
#include <drm/vrdu_ring.h>
#include <drm/vrdu_image.h>

struct fm_profile;
struct vrdu_fw;

#define VRDU_NAME		"vrdu"
#define VRDU_MAX_SOCKETS	16
#define VRDU_PROFILE_CHARS	16

/* Limits that QUERY announces. */
#define VRDU_VA_START		0x100000ull
#define VRDU_VA_END		BIT_ULL(48)
#define VRDU_MAX_CONTEXTS	64	/* per file */
#define VRDU_MAX_PROGRAMS	256	/* per context */
#define VRDU_MAX_MAPPINGS	16384	/* per context */
#define VRDU_MAX_DEV_CONTEXTS	1024	/* per device */
#define VRDU_RING_PACKETS	1024

/** enum vrdu_live - kinds of objects that are counted over the whole module. */
enum vrdu_live {
	/** @VRDU_LIVE_FILE: open files. */
	VRDU_LIVE_FILE,
	/** @VRDU_LIVE_CTX: contexts. */
	VRDU_LIVE_CTX,
	/** @VRDU_LIVE_PROGRAM: programs. */
	VRDU_LIVE_PROGRAM,
	/** @VRDU_LIVE_BO: buffers. */
	VRDU_LIVE_BO,
	/** @VRDU_LIVE_CTL: control pages. */
	VRDU_LIVE_CTL,
	/** @VRDU_LIVE_MAPPING: device mappings. */
	VRDU_LIVE_MAPPING,
	/** @VRDU_LIVE_FENCE: fences. */
	VRDU_LIVE_FENCE,
	/** @VRDU_LIVE_SUBMISSION: submissions not yet reaped. */
	VRDU_LIVE_SUBMISSION,
	/** @VRDU_LIVE_KINDS: number of kinds. */
	VRDU_LIVE_KINDS,
};

extern atomic_t vrdu_live_count[VRDU_LIVE_KINDS];
extern const char * const vrdu_live_name[VRDU_LIVE_KINDS];

/** vrdu_live_get() - an object of @kind was made. */
static inline void vrdu_live_get(enum vrdu_live kind)
{
	atomic_inc(&vrdu_live_count[kind]);
}

/** vrdu_live_put() - an object of @kind is gone. */
static inline void vrdu_live_put(enum vrdu_live kind)
{
	atomic_dec(&vrdu_live_count[kind]);
}

/**
 * struct vrdu_tier - a memory tier of the device.
 * @total: Bytes, from the profile.
 * @used: Bytes of all buffers placed in it; under vrdu_device.mem_lock.
 */
struct vrdu_tier {
	u64 total;
	u64 used;
};

/**
 * struct vrdu_stats - what the host side did for a file; atomic, monotonic.
 * @ioctls: Driver ioctls made.
 * @submits: SUBMIT ioctls that were accepted.
 * @calls: Calls put into rings.
 * @doorbells: Doorbells rung.
 * @wakeups: Doorbells that found the device thread asleep.
 * @poll_hits: Work found by the device thread inside its polling window.
 * @events: Events handled.
 * @fences: Fences signalled.
 * @busy_ns: Wall time that the device thread spent on finished serves; the one
 *	in progress is added by vrdu_fw_busy_ns().
 */
struct vrdu_stats {
	atomic64_t ioctls;
	atomic64_t submits;
	atomic64_t calls;
	atomic64_t doorbells;
	atomic64_t wakeups;
	atomic64_t poll_hits;
	atomic64_t events;
	atomic64_t fences;
	atomic64_t busy_ns;
};

/**
 * struct vrdu_device - one socket.
 * @drm: The DRM device; the allocation's owner.
 * @profile: Fabric, fixed at probe.
 * @instance: Number of the socket, 0 … VRDU_MAX_SOCKETS - 1.
 * @fw: Device half; drm-managed memory, its thread lives from probe to remove.
 * @hbm: HBM accounting.
 * @ddr: DDR accounting.
 * @mem_lock: Guards the two tiers' used bytes.
 * @ctx_lock: Guards @contexts and @nr_contexts.
 * @contexts: All contexts of all files (vrdu_ctx.node).
 * @nr_contexts: Their number, at most VRDU_MAX_DEV_CONTEXTS.
 */
struct vrdu_device {
	struct drm_device drm;
	const struct fm_profile *profile;
	u32 instance;
	struct vrdu_fw *fw;
	struct vrdu_tier hbm;
	struct vrdu_tier ddr;
	/* Innermost; see the lock order above. */
	spinlock_t mem_lock;
	/* Outermost of ours; see the lock order above. */
	struct mutex ctx_lock;
	struct list_head contexts;
	u32 nr_contexts;
};

/**
 * struct vrdu_file - an open file.
 * @vdev: Device.
 * @contexts: Contexts by id (1 … VRDU_MAX_CONTEXTS); a reserved id holds NULL
 *	until its context is complete. Lookups take a reference under xa_lock.
 * @stats: Host counters; outlives all contexts of the file.
 */
struct vrdu_file {
	struct vrdu_device *vdev;
	struct xarray contexts;
	struct vrdu_stats stats;
};

static inline struct vrdu_device *to_vrdu_device(struct drm_device *drm)
{
	return container_of(drm, struct vrdu_device, drm);
}

extern const struct drm_driver vrdu_drm_driver;

int vrdu_device_probe(struct platform_device *pdev);
void vrdu_device_remove(struct platform_device *pdev);

struct vrdu_tier *vrdu_device_tier(struct vrdu_device *vdev, u32 bo_flags);
int vrdu_device_charge(struct vrdu_device *vdev, u32 bo_flags, u64 bytes);
void vrdu_device_uncharge(struct vrdu_device *vdev, u32 bo_flags, u64 bytes);

#endif /* VRDU_DEVICE_H */
