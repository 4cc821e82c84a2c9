/* SPDX-License-Identifier: GPL-2.0-only */
/* The tunables of CFQ in sysfs, with the documented names, units and defaults. */
#ifndef CFQ_TUNABLES_H
#define CFQ_TUNABLES_H

#include <linux/sysfs.h>

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

static ssize_t cfq_store(unsigned int *tunable, unsigned int least, const char *page, size_t count)
{
	unsigned int value;
	int ret = kstrtouint(page, 10, &value);

	if (ret)
		return ret;
	if (value < least)
		return -ERANGE;
	WRITE_ONCE(*tunable, value);
	return count;
}

#define CFQ_TUNABLE(name, least)								\
static ssize_t cfq_##name##_show(struct elevator_queue *e, char *page)				\
{												\
	struct cfq_data *cfq = e->elevator_data;						\
												\
	return sysfs_emit(page, "%u\n", cfq->name);						\
}												\
static ssize_t cfq_##name##_store(struct elevator_queue *e, const char *page, size_t count)	\
{												\
	struct cfq_data *cfq = e->elevator_data;						\
												\
	return cfq_store(&cfq->name, least, page, count);					\
}

CFQ_TUNABLE(slice_sync, 1)
CFQ_TUNABLE(slice_async, 1)
CFQ_TUNABLE(slice_async_rq, 1)
CFQ_TUNABLE(slice_idle, 0)
CFQ_TUNABLE(quantum, 1)
CFQ_TUNABLE(fifo_expire_sync, 1)
CFQ_TUNABLE(fifo_expire_async, 1)
CFQ_TUNABLE(back_seek_max, 0)
CFQ_TUNABLE(back_seek_penalty, 1)
CFQ_TUNABLE(low_latency, 0)
CFQ_TUNABLE(target_latency, 1)

#define CFQ_ATTR(name) __ATTR(name, 0644, cfq_##name##_show, cfq_##name##_store)

static struct elv_fs_entry cfq_attrs[] = {
	CFQ_ATTR(slice_sync),
	CFQ_ATTR(slice_async),
	CFQ_ATTR(slice_async_rq),
	CFQ_ATTR(slice_idle),
	CFQ_ATTR(quantum),
	CFQ_ATTR(fifo_expire_sync),
	CFQ_ATTR(fifo_expire_async),
	CFQ_ATTR(back_seek_max),
	CFQ_ATTR(back_seek_penalty),
	CFQ_ATTR(low_latency),
	CFQ_ATTR(target_latency),
	__ATTR_NULL
};

#endif
