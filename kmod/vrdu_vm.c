// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device address spaces. The driver side is a drm_gpuvm; a VM_BIND is a
 * transaction on it: every step is logged, and an error undoes the log, so
 * that all operations happen or none. The device side is a sorted table that
 * is rebuilt and swapped as a whole at commit; the device thread reads it
 * under RCU, without locks, with a one-entry cache in front.
 *
 * Host addresses that the device has looked up stay in use until its call
 * ends; therefore a commit that removed something waits for the engine to
 * leave the queue before it drops the buffers.
 *
 * A mapping holds its own reference to the buffer; nothing is evicted, so the
 * buffers need no list of their mappings.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "fm.h"
#include "vrdu_bo.h"
#include "vrdu_fw.h"
#include "vrdu_vm.h"

/**
 * struct vrdu_mapping - a range of a buffer at a device address.
 * @va: Node of the address space; va.gem.obj holds a reference.
 * @flags: DRM_VRDU_BIND_* bits.
 */
struct vrdu_mapping {
	struct drm_gpuva va;
	u32 flags;
};

/**
 * struct vrdu_xlate_table - the device's view of an address space.
 * @rcu: Frees it.
 * @generation: Number of the table in its address space; never reused.
 * @count: Number of entries.
 * @entry: Entries by ascending address, not overlapping; no phantoms.
 */
struct vrdu_xlate_table {
	struct rcu_head rcu;
	u64 generation;
	u32 count;
	struct vrdu_xlate entry[] __counted_by(count);
};

/**
 * struct vrdu_txn - a VM_BIND in progress.
 * @vm: Address space, locked.
 * @log: Steps done (vrdu_step.node), oldest first.
 * @removed: Some step removed a mapping.
 */
struct vrdu_txn {
	struct vrdu_vm *vm;
	struct list_head log;
	bool removed;
};

/**
 * struct vrdu_step - one logged step.
 * @node: In vrdu_txn.log.
 * @mapping: What was inserted or removed. Whoever ends the transaction frees
 *	the removed ones (commit) or the inserted ones (rollback).
 * @insert: Inserted, else removed.
 */
struct vrdu_step {
	struct list_head node;
	struct vrdu_mapping *mapping;
	bool insert;
};

static struct vrdu_vm *to_vrdu_vm(struct drm_gpuvm *base)
{
	return container_of(base, struct vrdu_vm, base);
}

static struct vrdu_mapping *to_vrdu_mapping(struct drm_gpuva *va)
{
	return container_of(va, struct vrdu_mapping, va);
}

static struct vrdu_mapping *vrdu_mapping_alloc(struct drm_gem_object *obj, u64 offset, u64 addr,
					       u64 range, u32 flags)
{
	struct vrdu_mapping *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return NULL;

	drm_gem_object_get(obj);
	drm_gpuva_init(&m->va, addr, range, obj, offset);
	m->flags = flags;
	vrdu_live_get(VRDU_LIVE_MAPPING);
	return m;
}

static void vrdu_mapping_free(struct vrdu_mapping *m)
{
	drm_gem_object_put(m->va.gem.obj);
	kfree(m);
	vrdu_live_put(VRDU_LIVE_MAPPING);
}

static void vrdu_txn_do_insert(struct vrdu_vm *vm, struct vrdu_mapping *m)
{
	/* The range was checked and is free: this is the tree insertion only. */
	WARN_ON(drm_gpuva_insert(&vm->base, &m->va));
	vm->mappings++;
}

static void vrdu_txn_do_remove(struct vrdu_vm *vm, struct vrdu_mapping *m)
{
	drm_gpuva_remove(&m->va);
	vm->mappings--;
}

static struct vrdu_step *vrdu_txn_step(struct vrdu_txn *txn)
{
	lockdep_assert_held(&txn->vm->lock);
	return kzalloc(sizeof(struct vrdu_step), GFP_KERNEL_ACCOUNT);
}

/* Takes over @m, also on error. */
static int vrdu_txn_insert(struct vrdu_txn *txn, struct vrdu_mapping *m)
{
	struct vrdu_step *step = NULL;
	int ret = -ENOSPC;

	if (txn->vm->mappings >= VRDU_MAX_MAPPINGS)
		goto err;

	ret = -ENOMEM;
	step = vrdu_txn_step(txn);
	if (!step)
		goto err;

	step->mapping = m;
	step->insert = true;
	vrdu_txn_do_insert(txn->vm, m);
	list_add_tail(&step->node, &txn->log);
	return 0;

err:
	vrdu_mapping_free(m);
	return ret;
}

static int vrdu_txn_remove(struct vrdu_txn *txn, struct vrdu_mapping *m)
{
	struct vrdu_step *step = vrdu_txn_step(txn);

	if (!step)
		return -ENOMEM;

	step->mapping = m;
	vrdu_txn_do_remove(txn->vm, m);
	list_add_tail(&step->node, &txn->log);
	txn->removed = true;
	return 0;
}

static void vrdu_txn_rollback(struct vrdu_txn *txn)
{
	struct vrdu_step *step, *next;

	list_for_each_entry_safe_reverse(step, next, &txn->log, node) {
		if (step->insert) {
			vrdu_txn_do_remove(txn->vm, step->mapping);
			vrdu_mapping_free(step->mapping);
		} else {
			vrdu_txn_do_insert(txn->vm, step->mapping);
		}
		kfree(step);
	}
}

static int vrdu_vm_sm_unmap(struct drm_gpuva_op *op, void *priv)
{
	return vrdu_txn_remove(priv, to_vrdu_mapping(op->unmap.va));
}

/* One end that remains of a mapping that is cut. */
static int vrdu_vm_keep(struct vrdu_txn *txn, const struct drm_gpuva_op_map *part, u32 flags)
{
	struct vrdu_mapping *m;

	if (!part)
		return 0;

	m = vrdu_mapping_alloc(part->gem.obj, part->gem.offset, part->va.addr, part->va.range,
			       flags);
	return m ? vrdu_txn_insert(txn, m) : -ENOMEM;
}

static int vrdu_vm_sm_remap(struct drm_gpuva_op *op, void *priv)
{
	struct vrdu_mapping *old = to_vrdu_mapping(op->remap.unmap->va);
	u32 flags = old->flags;
	int ret;

	ret = vrdu_txn_remove(priv, old);
	if (!ret)
		ret = vrdu_vm_keep(priv, op->remap.prev, flags);
	if (!ret)
		ret = vrdu_vm_keep(priv, op->remap.next, flags);
	return ret;
}

static void vrdu_vm_gpuvm_free(struct drm_gpuvm *base)
{
	struct vrdu_vm *vm = to_vrdu_vm(base);

	mutex_destroy(&vm->lock);
	kfree(vm);
}

static const struct drm_gpuvm_ops vrdu_vm_ops = {
	.vm_free = vrdu_vm_gpuvm_free,
	.sm_step_unmap = vrdu_vm_sm_unmap,
	.sm_step_remap = vrdu_vm_sm_remap,
};

static int vrdu_vm_op_map(struct vrdu_txn *txn, struct drm_file *file,
			  const struct drm_vrdu_bind_op *op)
{
	struct vrdu_mapping *m;
	struct vrdu_bo *bo;
	u64 end;
	int ret = -EINVAL;

	bo = vrdu_bo_lookup(file, op->handle);
	if (!bo)
		return -ENOENT;

	if (check_add_overflow(op->bo_offset, op->size, &end) || end > bo->base.size)
		goto out;
	if (!drm_gpuvm_interval_empty(&txn->vm->base, op->va, op->size))
		goto out;

	if (!vrdu_bo_is_phantom(bo)) {
		ret = vrdu_bo_vmap(bo);
		if (ret)
			goto out;
	}

	m = vrdu_mapping_alloc(&bo->base, op->bo_offset, op->va, op->size, op->flags);
	ret = m ? vrdu_txn_insert(txn, m) : -ENOMEM;
out:
	drm_gem_object_put(&bo->base);
	return ret;
}

static int vrdu_vm_op(struct vrdu_txn *txn, struct drm_file *file,
		      const struct drm_vrdu_bind_op *op)
{
	u64 end;

	if (op->pad || !op->size || !PAGE_ALIGNED(op->va) || !PAGE_ALIGNED(op->size) ||
	    !PAGE_ALIGNED(op->bo_offset))
		return -EINVAL;
	if (op->va < VRDU_VA_START || check_add_overflow(op->va, op->size, &end) ||
	    end > VRDU_VA_END)
		return -EINVAL;

	switch (op->op) {
	case DRM_VRDU_BIND_MAP:
		if (op->flags & ~DRM_VRDU_BIND_READ_ONLY)
			return -EINVAL;
		return vrdu_vm_op_map(txn, file, op);
	case DRM_VRDU_BIND_UNMAP:
		if (op->flags || op->handle || op->bo_offset)
			return -EINVAL;
		return drm_gpuvm_sm_unmap(&txn->vm->base, txn, op->va, op->size);
	default:
		return -EINVAL;
	}
}

static struct vrdu_xlate_table *vrdu_vm_build_table(struct vrdu_vm *vm)
{
	struct vrdu_xlate_table *table;
	struct drm_gpuva *va;
	u32 n = 0;

	table = kvzalloc(struct_size(table, entry, vm->mappings), GFP_KERNEL_ACCOUNT);
	if (!table)
		return NULL;

	table->count = vm->mappings;
	drm_gpuvm_for_each_va(va, &vm->base) {
		struct vrdu_bo *bo = to_vrdu_bo(va->gem.obj);

		if (vrdu_bo_is_phantom(bo))
			continue;
		table->entry[n++] = (struct vrdu_xlate) {
			.start = va->va.addr,
			.last = va->va.addr + va->va.range - 1,
			.host = (u8 *)bo->vaddr + va->gem.offset,
			.access = to_vrdu_mapping(va)->flags & DRM_VRDU_BIND_READ_ONLY ?
				  FM_ACCESS_READ : FM_ACCESS_READ | FM_ACCESS_WRITE,
		};
	}
	table->count = n;
	return table;
}

static int vrdu_txn_commit(struct vrdu_txn *txn, struct vrdu_xlate_table *table)
{
	struct vrdu_vm *vm = txn->vm;
	struct vrdu_xlate_table *old;
	struct vrdu_step *step, *next;
	int ret = 0;

	lockdep_assert_held(&vm->lock);

	table->generation = ++vm->generation;
	old = rcu_replace_pointer(vm->table, table, lockdep_is_held(&vm->lock));
	kvfree_rcu(old, rcu);

	if (txn->removed)
		ret = vrdu_fw_queue_sync(vm->fwq);

	list_for_each_entry_safe(step, next, &txn->log, node) {
		if (!step->insert)
			vrdu_mapping_free(step->mapping);
		kfree(step);
	}
	return ret;
}

/**
 * vrdu_vm_bind() - VM_BIND: all operations or none.
 * @vm: Address space.
 * @file: Owner of the buffer handles.
 * @ops: Operations, a kernel copy.
 * @count: Their number, at least 1.
 *
 * When it returns, the engine has left all that was removed. A caller that is
 * killed meanwhile does not wait for the end of a long call: the queue is then
 * stopped and the caller must kill the context (-EINTR; the change was made).
 *
 * Return: 0, -EINVAL, -ENOENT (handle), -ENOSPC (too many mappings), -ENOMEM,
 * -EINTR.
 */
int vrdu_vm_bind(struct vrdu_vm *vm, struct drm_file *file,
		 const struct drm_vrdu_bind_op *ops, u32 count)
{
	struct vrdu_txn txn = { .vm = vm, .log = LIST_HEAD_INIT(txn.log) };
	struct vrdu_xlate_table *table = NULL;
	int ret = 0;
	u32 i;

	mutex_lock(&vm->lock);
	for (i = 0; i < count && !ret; i++)
		ret = vrdu_vm_op(&txn, file, &ops[i]);
	if (!ret) {
		table = vrdu_vm_build_table(vm);
		if (!table)
			ret = -ENOMEM;
	}

	if (ret)
		vrdu_txn_rollback(&txn);
	else
		ret = vrdu_txn_commit(&txn, table);
	mutex_unlock(&vm->lock);
	return ret;
}

/**
 * vrdu_vm_create() - an empty address space.
 * @vdev: Device.
 *
 * Return: the address space or an ERR_PTR(-ENOMEM).
 */
struct vrdu_vm *vrdu_vm_create(struct vrdu_device *vdev)
{
	struct vrdu_xlate_table *table;
	struct drm_gem_object *resv;
	struct vrdu_vm *vm;

	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	table = kvzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	resv = drm_gpuvm_resv_object_alloc(&vdev->drm);
	if (!vm || !table || !resv)
		goto err;

	mutex_init(&vm->lock);
	RCU_INIT_POINTER(vm->table, table);
	drm_gpuvm_init(&vm->base, VRDU_NAME, 0, &vdev->drm, resv, VRDU_VA_START,
		       VRDU_VA_END - VRDU_VA_START, 0, 0, &vrdu_vm_ops);
	drm_gem_object_put(resv);
	return vm;

err:
	if (resv)
		drm_gem_object_put(resv);
	kvfree(table);
	kfree(vm);
	return ERR_PTR(-ENOMEM);
}

/**
 * vrdu_vm_destroy() - drop all mappings and the address space.
 * @vm: Address space; the device has left its queue for good.
 */
void vrdu_vm_destroy(struct vrdu_vm *vm)
{
	struct drm_gpuva *va, *next;

	mutex_lock(&vm->lock);
	drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
		vrdu_txn_do_remove(vm, to_vrdu_mapping(va));
		vrdu_mapping_free(to_vrdu_mapping(va));
	}
	kvfree(rcu_dereference_protected(vm->table, lockdep_is_held(&vm->lock)));
	RCU_INIT_POINTER(vm->table, NULL);
	mutex_unlock(&vm->lock);
	drm_gpuvm_put(&vm->base);
}

static bool vrdu_xlate_covers(const struct vrdu_xlate *e, u64 addr, u64 last, u32 access)
{
	return addr >= e->start && last <= e->last && (access & e->access) == access;
}

/**
 * vrdu_vm_translate() - the device's MMU; see struct fm_host_ops.
 * @cookie: The address space.
 * @addr: Device address.
 * @len: Bytes, > 0.
 * @access: FM_ACCESS_* bits.
 *
 * Device thread only; does not sleep.
 *
 * Return: host address or NULL.
 */
void *vrdu_vm_translate(void *cookie, u64 addr, u64 len, u32 access)
{
	const struct vrdu_xlate_table *table;
	struct vrdu_vm *vm = cookie;
	u64 last = addr + len - 1;
	void *host = NULL;
	u32 lo = 0, hi;

	if (last < addr)
		return NULL;

	rcu_read_lock();
	table = rcu_dereference(vm->table);
	if (vm->hit_generation == table->generation &&
	    vrdu_xlate_covers(&vm->hit, addr, last, access)) {
		host = vm->hit.host + (addr - vm->hit.start);
		goto out;
	}

	hi = table->count;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (table->entry[mid].last < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < table->count && vrdu_xlate_covers(&table->entry[lo], addr, last, access)) {
		vm->hit = table->entry[lo];
		vm->hit_generation = table->generation;
		host = vm->hit.host + (addr - vm->hit.start);
	}
out:
	rcu_read_unlock();
	return host;
}
