/* SPDX-License-Identifier: GPL-2.0-only */
/* The tunables of CFQ in sysfs, with the documented names, units and defaults. */
#ifndef CFQ_TUNABLES_H
#define CFQ_TUNABLES_H

#include "queues.h"

static void cfq_set_defaults(struct cfq_data *cfq)
{
	cfq->slice_sync = 100;
	cfq->slice_async = 40;
	cfq->slice_async_rq = 2;
	cfq->slice_idle = 8;
	cfq->quantum = 8;
	cfq->fifo_expire_sync = 124;
	cfq->fifo_expire_async = 248;
	cfq->back_seek_max = 16384;
	cfq->back_seek_penalty = 2;
	cfq->low_latency = 1;
	cfq->target_latency = 300;
}

ARM_TUNABLE(cfq_data, slice_sync, 1)
ARM_TUNABLE(cfq_data, slice_async, 1)
ARM_TUNABLE(cfq_data, slice_async_rq, 1)
ARM_TUNABLE(cfq_data, slice_idle, 0)
ARM_TUNABLE(cfq_data, quantum, 1)
ARM_TUNABLE(cfq_data, fifo_expire_sync, 1)
ARM_TUNABLE(cfq_data, fifo_expire_async, 1)
ARM_TUNABLE(cfq_data, back_seek_max, 0)
ARM_TUNABLE(cfq_data, back_seek_penalty, 1)
ARM_TUNABLE(cfq_data, low_latency, 0)
ARM_TUNABLE(cfq_data, target_latency, 1)

static struct elv_fs_entry cfq_attrs[] = {
	ARM_TUNED(cfq_data, slice_sync),
	ARM_TUNED(cfq_data, slice_async),
	ARM_TUNED(cfq_data, slice_async_rq),
	ARM_TUNED(cfq_data, slice_idle),
	ARM_TUNED(cfq_data, quantum),
	ARM_TUNED(cfq_data, fifo_expire_sync),
	ARM_TUNED(cfq_data, fifo_expire_async),
	ARM_TUNED(cfq_data, back_seek_max),
	ARM_TUNED(cfq_data, back_seek_penalty),
	ARM_TUNED(cfq_data, low_latency),
	ARM_TUNED(cfq_data, target_latency),
	__ATTR_NULL
};

#endif
