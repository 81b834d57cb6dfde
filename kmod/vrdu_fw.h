/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vrdu.ko: the device half as the driver half sees it: a mailbox (the
 * functions here), rings and doorbells in memory, and events. Nothing else
 * crosses; see vrdu_fw.c.
 */
#ifndef VRDU_FW_H
#define VRDU_FW_H

#include "vrdu_device.h"

struct fm_program;
struct vrdu_fw_queue;

/**
 * struct vrdu_event - what the device reports.
 * @owner: vrdu_fw_queue_desc.owner.
 * @seqno: Packet that completed or faulted.
 * @error: 0; -ETIME watchdog, -ECANCELED stopped, otherwise a fault.
 */
struct vrdu_event {
	void *owner;
	u64 seqno;
	int error;
};

/**
 * struct vrdu_fw_queue_desc - what the device is told about a queue.
 * @ring: Packets, written by the driver.
 * @entries: Their number, a power of two.
 * @doorbell: Monotonic tail, written through vrdu_fw_doorbell().
 * @args: Argument area.
 * @args_bytes: Its size.
 * @status: Status page; only the device half writes it.
 * @vm: Address space (struct vrdu_vm).
 * @owner: Cookie of events and of @program.
 * @program: Device's program table: program of handle @id, or NULL; valid
 *	until the packet's event. Must not sleep.
 * @stats: Counters of the file; outlives the queue.
 */
struct vrdu_fw_queue_desc {
	struct vrdu_packet *ring;
	u32 entries;
	u64 *doorbell;
	const u8 *args;
	u64 args_bytes;
	struct vrdu_status *status;
	void *vm;
	void *owner;
	struct fm_program *(*program)(void *owner, u32 id);
	struct vrdu_stats *stats;
};

/**
 * struct vrdu_fw_info - counters of the device half, for debugfs.
 * @serves: Times a queue was served.
 * @sleeps: Times the thread slept.
 * @events: Events raised.
 * @queues: Queues attached.
 * @clock_ps: Modelled clock when the last serve ended.
 */
struct vrdu_fw_info {
	u64 serves;
	u64 sleeps;
	u64 events;
	u32 queues;
	u64 clock_ps;
};

int vrdu_fw_init(struct vrdu_device *vdev);
void vrdu_fw_unplug(struct vrdu_device *vdev);

struct vrdu_fw_queue *vrdu_fw_queue_create(struct vrdu_device *vdev,
					   const struct vrdu_fw_queue_desc *desc);
int vrdu_fw_queue_sync(struct vrdu_fw_queue *q);
void vrdu_fw_queue_detach(struct vrdu_fw_queue *q, int error);
void vrdu_fw_queue_free(struct vrdu_fw_queue *q);
void vrdu_fw_doorbell(struct vrdu_fw_queue *q, u64 tail);

bool vrdu_fw_event_pop(struct vrdu_device *vdev, struct vrdu_event *event);
u64 vrdu_fw_busy_ns(struct vrdu_device *vdev, struct vrdu_stats *stats);
const char *vrdu_fw_math(struct vrdu_device *vdev);
void vrdu_fw_info(struct vrdu_device *vdev, struct vrdu_fw_info *info);

#endif /* VRDU_FW_H */
