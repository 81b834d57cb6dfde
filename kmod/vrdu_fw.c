// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device half: hosts the firmware model, as if it were silicon. A thread
 * per socket polls the doorbells of the attached queues, round-robin, one
 * packet at a time; after work it polls for a bounded window before it sleeps,
 * because waking a sleeping thread costs more than hundreds of ioctls. Events
 * go into a ring of the device and raise the driver's interrupt handler.
 *
 * The thread is a fence-signalling section from end to end: it takes spinlocks
 * only and never allocates. It owns the firmware model's state and the status
 * pages; nobody else reads or writes the former, the driver half only reads
 * the latter.
 *
 * Sleeping and waking (need-wakeup): the thread publishes @asleep, then looks
 * at all doorbells once more, then sleeps; a doorbell publishes the tail, then
 * looks at @asleep. A full barrier stands between the two steps on both sides,
 * so at least one of them sees the other.
 */
#include <linux/circ_buf.h>
#include <linux/dma-fence.h>
#include <linux/fpu.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "fm.h"
#include "vrdu_event.h"
#include "vrdu_fw.h"
#include "vrdu_trace.h"
#include "vrdu_vm.h"

#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#endif

static unsigned int poll_us = 200;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us, "Microseconds that an idle device thread polls before it sleeps, at most 100000 (default 200)");

static unsigned int watchdog_ms = 60000;
module_param(watchdog_ms, uint, 0644);
MODULE_PARM_DESC(watchdog_ms, "Milliseconds of wall time that one call may take, 1 to 600000 (default 60000)");

#define VRDU_POLL_US_MAX	100000u
#define VRDU_WATCHDOG_MS_MAX	600000u

/* Events in the device's ring, a power of two; the handler drains each at once. */
#define VRDU_FW_EVENTS		64u

/**
 * struct vrdu_fw_queue - the device's side of a queue.
 * @node: In vrdu_fw.queues; empty once detached. Under vrdu_fw.lock.
 * @vdev: Device.
 * @desc: What the driver said.
 * @fm: The model's view. Device thread.
 * @dead: Faulted: nothing more is consumed. Device thread.
 * @timed_out: The watchdog stopped the present call. Device thread.
 * @stop: Set once, for good: leave at the next breath and never come back.
 */
struct vrdu_fw_queue {
	struct list_head node;
	struct vrdu_device *vdev;
	struct vrdu_fw_queue_desc desc;
	struct fm_queue fm;
	bool dead;
	bool timed_out;
	bool stop;
};

/**
 * struct vrdu_fw - the device half of a socket.
 * @vdev: Device.
 * @model: Firmware model; from init to unplug, touched by the device thread only.
 * @task: Device thread.
 * @math: Name of the arithmetic; static string.
 * @lock: Guards the next five.
 * @queues: Attached queues, next to be served first.
 * @serving: Queue being served, or NULL.
 * @since: local_clock() when that began; the watchdog's and fdinfo's start.
 * @passes: Serves ended; vrdu_fw_queue_sync() waits for it to move.
 * @nr_queues: Length of @queues.
 * @clock_ps: Modelled clock at the end of the last serve.
 * @left: Woken at the end of a serve.
 * @asleep: 1: a doorbell must wake the thread.
 * @sleeps: Times slept; device thread, read by debugfs.
 * @events: Event ring, filled by the device, drained by the driver.
 * @event_head: Events raised; device thread.
 * @event_tail: Events taken; event handler.
 */
struct vrdu_fw {
	struct vrdu_device *vdev;
	struct fm_device *model;
	struct task_struct *task;
	const char *math;

	/* Innermost; never taken by a doorbell. */
	spinlock_t lock;
	struct list_head queues;
	struct vrdu_fw_queue *serving;
	u64 since;
	u64 passes;
	u32 nr_queues;
	u64 clock_ps;

	wait_queue_head_t left;
	int asleep;
	u64 sleeps;

	struct vrdu_event events[VRDU_FW_EVENTS];
	u32 event_head;
	u32 event_tail;
};

/* ---- what the model borrows ---- */

static void vrdu_fw_fpu_begin(void)
{
	kernel_fpu_begin();
}

static void vrdu_fw_fpu_end(void)
{
	kernel_fpu_end();
}

static bool vrdu_fw_breathe(void *host)
{
	struct vrdu_fw *fw = host;
	struct vrdu_fw_queue *q = fw->serving;
	u64 budget_ns;

	cond_resched();
	if (READ_ONCE(q->stop))
		return true;

	budget_ns = (u64)clamp(READ_ONCE(watchdog_ms), 1u, VRDU_WATCHDOG_MS_MAX) * NSEC_PER_MSEC;
	if (local_clock() - fw->since > budget_ns)
		q->timed_out = true;
	return q->timed_out;
}

static const struct fm_host_ops vrdu_fw_host_ops = {
	.translate = vrdu_vm_translate,
	.fpu_begin = vrdu_fw_fpu_begin,
	.fpu_end = vrdu_fw_fpu_end,
	.breathe = vrdu_fw_breathe,
	.now = local_clock,
};

static struct fm_program *vrdu_fw_program(void *owner, u32 id)
{
	struct vrdu_fw_queue *q = owner;

	return q->desc.program(q->desc.owner, id);
}

/* The model reports: into the event ring, and raise the interrupt. */
static void vrdu_fw_raise(void *owner, u64 seqno, int error)
{
	struct vrdu_fw_queue *q = owner;
	struct vrdu_fw *fw = q->vdev->fw;
	struct vrdu_event *event;

	if (error) {
		q->dead = true;
		if (q->timed_out) {
			error = -ETIME;
			q->desc.status->fault.code = VRDU_FAULT_WATCHDOG;
			WRITE_ONCE(q->desc.status->error, error);
		}
	}

	event = &fw->events[fw->event_head & (VRDU_FW_EVENTS - 1)];
	*event = (struct vrdu_event) {
		.owner = q->desc.owner,
		.seqno = seqno,
		.error = error,
	};
	/* The event before the head. */
	smp_store_release(&fw->event_head, fw->event_head + 1);
	vrdu_event_interrupt(q->vdev);
}

/* ---- the device thread ---- */

static bool vrdu_fw_queue_pending(const struct vrdu_fw_queue *q)
{
	return !q->dead && !READ_ONCE(q->stop) && READ_ONCE(*q->desc.doorbell) != q->fm.head;
}

/* The next queue with work becomes the one being served. */
static struct vrdu_fw_queue *vrdu_fw_enter(struct vrdu_fw *fw)
{
	struct vrdu_fw_queue *q, *found = NULL;

	spin_lock(&fw->lock);
	list_for_each_entry(q, &fw->queues, node) {
		if (vrdu_fw_queue_pending(q)) {
			found = q;
			break;
		}
	}
	if (found) {
		list_move_tail(&found->node, &fw->queues);
		fw->serving = found;
		fw->since = local_clock();
	}
	spin_unlock(&fw->lock);
	return found;
}

static void vrdu_fw_leave(struct vrdu_fw *fw)
{
	u64 clock_ps = fm_device_clock(fw->model);

	spin_lock(&fw->lock);
	atomic64_add(local_clock() - fw->since, &fw->serving->desc.stats->busy_ns);
	fw->serving = NULL;
	fw->clock_ps = clock_ps;
	WRITE_ONCE(fw->passes, fw->passes + 1);
	spin_unlock(&fw->lock);

	if (wq_has_sleeper(&fw->left))
		wake_up_all(&fw->left);
}

static bool vrdu_fw_pending(struct vrdu_fw *fw)
{
	struct vrdu_fw_queue *q;
	bool pending = false;

	spin_lock(&fw->lock);
	list_for_each_entry(q, &fw->queues, node)
		pending |= vrdu_fw_queue_pending(q);
	spin_unlock(&fw->lock);
	return pending;
}

static void vrdu_fw_sleep(struct vrdu_fw *fw)
{
	/* An idle device is no load. */
	set_current_state(TASK_IDLE);
	WRITE_ONCE(fw->asleep, 1);
	/* @asleep before the last look at the doorbells; pairs with vrdu_fw_doorbell(). */
	smp_mb();
	if (!vrdu_fw_pending(fw) && !kthread_should_stop()) {
		WRITE_ONCE(fw->sleeps, fw->sleeps + 1);
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(fw->asleep, 0);
}

static int vrdu_fw_thread(void *data)
{
	struct vrdu_fw *fw = data;
	struct vrdu_fw_queue *q;
	bool window = false;	/* polling after work, and nothing found so far */
	u64 idle_since = 0;
	u64 window_ns;
	bool signalling;

	while (!kthread_should_stop()) {
		q = vrdu_fw_enter(fw);
		if (q) {
			if (window)
				atomic64_inc(&q->desc.stats->poll_hits);
			signalling = dma_fence_begin_signalling();
			fm_queue_poll(fw->model, &q->fm, 1);
			dma_fence_end_signalling(signalling);
			vrdu_fw_leave(fw);
			window = false;
			idle_since = local_clock();
			cond_resched();
			continue;
		}

		window_ns = (u64)min(READ_ONCE(poll_us), VRDU_POLL_US_MAX) * NSEC_PER_USEC;
		if (idle_since && local_clock() - idle_since < window_ns) {
			window = true;
			cpu_relax();
			cond_resched();
			continue;
		}

		window = false;
		idle_since = 0;
		vrdu_fw_sleep(fw);
	}
	return 0;
}

static u32 vrdu_fw_cpu(void)
{
	u32 cpu = 0;

#ifdef CONFIG_X86
	if (boot_cpu_has(X86_FEATURE_XMM2))
		cpu |= FM_CPU_SSE2;
	if (boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_OSXSAVE) &&
	    cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL))
		cpu |= FM_CPU_AVX2;
#endif
	return cpu;
}

/**
 * vrdu_fw_init() - build the device half and start its thread.
 * @vdev: Device; profile and instance are set.
 *
 * Return: 0, -ENODEV (no floating point in this kernel), -ENOMEM, or the
 * model's error.
 */
int vrdu_fw_init(struct vrdu_device *vdev)
{
	struct vrdu_fw *fw;
	int ret;

	if (!kernel_fpu_available()) {
		drm_err(&vdev->drm, "this CPU has no floating point for the kernel\n");
		return -ENODEV;
	}

	fw = drmm_kzalloc(&vdev->drm, sizeof(*fw), GFP_KERNEL);
	if (!fw)
		return -ENOMEM;

	fw->vdev = vdev;
	spin_lock_init(&fw->lock);
	INIT_LIST_HEAD(&fw->queues);
	init_waitqueue_head(&fw->left);
	vdev->fw = fw;

	ret = fm_device_create(vdev->profile, &vrdu_fw_host_ops, fw, vrdu_fw_cpu(), &fw->model);
	if (ret)
		return ret;
	fw->math = fm_device_math(fw->model);

	fw->task = kthread_run(vrdu_fw_thread, fw, VRDU_NAME "/%u", vdev->instance);
	if (IS_ERR(fw->task)) {
		fm_device_destroy(fw->model);
		return PTR_ERR(fw->task);
	}
	return 0;
}

/**
 * vrdu_fw_unplug() - stop the thread and free the model.
 * @vdev: Device; all contexts are dead, so nobody rings any more.
 *
 * The rest of the device half stays readable until the drm_device goes.
 */
void vrdu_fw_unplug(struct vrdu_device *vdev)
{
	struct vrdu_fw *fw = vdev->fw;

	kthread_stop(fw->task);
	WARN_ON(!list_empty(&fw->queues));
	fm_device_destroy(fw->model);
	fw->model = NULL;
}

/* ---- the mailbox ---- */

/**
 * vrdu_fw_queue_create() - attach a queue; the device serves it from now on.
 * @vdev: Device, not unplugged (the caller is inside drm_dev_enter()).
 * @desc: Copied.
 *
 * Return: the queue or an ERR_PTR(-ENOMEM).
 */
struct vrdu_fw_queue *vrdu_fw_queue_create(struct vrdu_device *vdev,
					   const struct vrdu_fw_queue_desc *desc)
{
	struct vrdu_fw *fw = vdev->fw;
	struct vrdu_fw_queue *q;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return ERR_PTR(-ENOMEM);

	q->vdev = vdev;
	q->desc = *desc;
	q->fm = (struct fm_queue) {
		.ring = desc->ring,
		.entries = desc->entries,
		.doorbell = desc->doorbell,
		.args = desc->args,
		.args_bytes = desc->args_bytes,
		.status = desc->status,
		.vm = desc->vm,
		.owner = q,
		.program = vrdu_fw_program,
		.event = vrdu_fw_raise,
	};

	spin_lock(&fw->lock);
	list_add_tail(&q->node, &fw->queues);
	fw->nr_queues++;
	spin_unlock(&fw->lock);
	return q;
}

/* Number of the serve that is on @q now, or 0 when the engine is elsewhere. */
static u64 vrdu_fw_queue_pass(struct vrdu_fw_queue *q)
{
	struct vrdu_fw *fw = q->vdev->fw;
	u64 pass;

	spin_lock(&fw->lock);
	pass = fw->serving == q ? fw->passes + 1 : 0;
	spin_unlock(&fw->lock);
	return pass;
}

/**
 * vrdu_fw_queue_sync() - wait until the engine has left the call it is in.
 * @q: Queue.
 *
 * What was changed before (the address space) is seen by all later calls. If
 * the caller is killed while it waits, the queue is stopped for good rather
 * than waited for: the engine leaves at its next breath.
 *
 * Return: 0, or -EINTR when it stopped the queue: the engine has left all the
 * same, and the caller must kill the queue's context.
 */
int vrdu_fw_queue_sync(struct vrdu_fw_queue *q)
{
	struct vrdu_fw *fw = q->vdev->fw;
	u64 pass = vrdu_fw_queue_pass(q);

	if (!pass || !wait_event_killable(fw->left, READ_ONCE(fw->passes) >= pass))
		return 0;

	WRITE_ONCE(q->stop, true);
	wait_event(fw->left, READ_ONCE(fw->passes) >= pass);
	return -EINTR;
}

/**
 * vrdu_fw_queue_detach() - take a queue from the device for good.
 * @q: Queue; may be detached already, also concurrently.
 * @error: Written to the status page if that has none yet.
 *
 * When it returns, the engine has left, and no event of this queue follows.
 * Waits for at most one breath of the engine.
 */
void vrdu_fw_queue_detach(struct vrdu_fw_queue *q, int error)
{
	struct vrdu_fw *fw = q->vdev->fw;
	u64 pass;

	WRITE_ONCE(q->stop, true);

	pass = vrdu_fw_queue_pass(q);
	if (pass)
		wait_event(fw->left, READ_ONCE(fw->passes) >= pass);

	spin_lock(&fw->lock);
	if (!list_empty(&q->node)) {
		list_del_init(&q->node);
		fw->nr_queues--;
		if (!q->desc.status->error)
			WRITE_ONCE(q->desc.status->error, error);
	}
	spin_unlock(&fw->lock);
}

/** vrdu_fw_queue_free() - free a detached queue. */
void vrdu_fw_queue_free(struct vrdu_fw_queue *q)
{
	WARN_ON(!list_empty(&q->node));
	kfree(q);
}

/**
 * vrdu_fw_doorbell() - publish the ring's tail and wake the device if it sleeps.
 * @q: Queue, attached.
 * @tail: Packets written since creation.
 *
 * Any context; the caller serialises the doorbells of a queue.
 */
void vrdu_fw_doorbell(struct vrdu_fw_queue *q, u64 tail)
{
	struct vrdu_fw *fw = q->vdev->fw;
	bool woke;

	/* Packets and arguments before the tail; pairs with the model's acquire. */
	smp_store_release(q->desc.doorbell, tail);
	atomic64_inc(&q->desc.stats->doorbells);

	/* The tail before the look at @asleep; pairs with vrdu_fw_sleep(). */
	smp_mb();
	woke = READ_ONCE(fw->asleep) && xchg(&fw->asleep, 0);
	if (woke) {
		atomic64_inc(&q->desc.stats->wakeups);
		wake_up_process(fw->task);
	}
	trace_vrdu_doorbell(q->vdev->instance, tail, woke);
}

/**
 * vrdu_fw_event_pop() - take an event from the device's ring.
 * @vdev: Device.
 * @event: Out.
 *
 * Event handler only.
 *
 * Return: false when there is none.
 */
bool vrdu_fw_event_pop(struct vrdu_device *vdev, struct vrdu_event *event)
{
	struct vrdu_fw *fw = vdev->fw;

	/* The head before the event. */
	if (smp_load_acquire(&fw->event_head) == fw->event_tail)
		return false;

	*event = fw->events[fw->event_tail & (VRDU_FW_EVENTS - 1)];
	WRITE_ONCE(fw->event_tail, fw->event_tail + 1);
	return true;
}

/**
 * vrdu_fw_busy_ns() - wall time that the device spent on a file's queues.
 * @vdev: Device.
 * @stats: The file's counters.
 *
 * Contains the present serve up to now.
 *
 * Return: nanoseconds, monotonic.
 */
u64 vrdu_fw_busy_ns(struct vrdu_device *vdev, struct vrdu_stats *stats)
{
	struct vrdu_fw *fw = vdev->fw;
	u64 ns;

	spin_lock(&fw->lock);
	ns = atomic64_read(&stats->busy_ns);
	if (fw->serving && fw->serving->desc.stats == stats)
		ns += local_clock() - fw->since;
	spin_unlock(&fw->lock);
	return ns;
}

/** vrdu_fw_math() - name of the arithmetic that the model chose. */
const char *vrdu_fw_math(struct vrdu_device *vdev)
{
	return vdev->fw->math;
}

/** vrdu_fw_info() - counters for debugfs. */
void vrdu_fw_info(struct vrdu_device *vdev, struct vrdu_fw_info *info)
{
	struct vrdu_fw *fw = vdev->fw;

	spin_lock(&fw->lock);
	*info = (struct vrdu_fw_info) {
		.serves = fw->passes,
		.sleeps = READ_ONCE(fw->sleeps),
		.events = READ_ONCE(fw->event_head),
		.queues = fw->nr_queues,
		.clock_ps = fw->clock_ps,
	};
	spin_unlock(&fw->lock);
}
