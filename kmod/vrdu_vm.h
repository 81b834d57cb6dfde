/* SPDX-License-Identifier: GPL-2.0-only */
/* vrdu.ko: address spaces; see vrdu_vm.c. */
#ifndef VRDU_VM_H
#define VRDU_VM_H

#include <drm/drm_gpuvm.h>

#include "vrdu_device.h"

struct vrdu_fw_queue;
struct vrdu_xlate_table;

/**
 * struct vrdu_xlate - an entry of the lookup table.
 * @start: First device address.
 * @last: Last device address.
 * @host: Where @start is in kernel memory.
 * @access: FM_ACCESS_* bits allowed.
 */
struct vrdu_xlate {
	u64 start;
	u64 last;
	u8 *host;
	u32 access;
};

/**
 * struct vrdu_vm - a device address space.
 * @base: What is mapped where, driver side; under @lock.
 * @lock: Serialises changes.
 * @mappings: Number of mappings, at most VRDU_MAX_MAPPINGS; written under @lock.
 * @fwq: Queue that the device runs with this address space; set once, by the
 *	context, before the address space can change.
 * @table: What the device half looks addresses up in: immutable, replaced as a
 *	whole under @lock, freed after a grace period.
 * @generation: Generation of @table; under @lock.
 * @hit_generation: Generation of the table that the last hit was found in.
 *	This and @hit belong to the device thread.
 * @hit: Copy of the entry found last.
 */
struct vrdu_vm {
	struct drm_gpuvm base;
	/* Below vrdu_ctx.submit_lock; held while the engine leaves. */
	struct mutex lock;
	u32 mappings;
	struct vrdu_fw_queue *fwq;
	struct vrdu_xlate_table __rcu *table;
	u64 generation;

	u64 hit_generation;
	struct vrdu_xlate hit;
};

struct vrdu_vm *vrdu_vm_create(struct vrdu_device *vdev);
void vrdu_vm_destroy(struct vrdu_vm *vm);
int vrdu_vm_bind(struct vrdu_vm *vm, struct drm_file *file,
		 const struct drm_vrdu_bind_op *ops, u32 count);

/* Device half: the MMU. */
void *vrdu_vm_translate(void *vm, u64 addr, u64 len, u32 access);

#endif /* VRDU_VM_H */
