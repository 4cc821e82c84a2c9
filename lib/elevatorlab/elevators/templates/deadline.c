// SPDX-License-Identifier: GPL-2.0-only
/*
 * @NAME@: the earliest deadline first.
 *
 * A program waits for its reads, and seldom for its writes: so a read must leave sooner. Each
 * request gets a deadline when it comes in. The two tunables say how far away it is. The README
 * beside this file tells what each hook must guarantee.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"

enum @NAME@_way { READS, WRITES, WAYS };

struct @NAME@_data {
	spinlock_t lock;			/* protects the lists */
	struct list_head waiting[WAYS];		/* of each way the earliest deadline first */
	struct list_head returned;		/* what the driver gave back: goes first */
	unsigned int expire_ms[WAYS];		/* the tunables */
};

static struct @NAME@_data *@NAME@_data_of(struct blk_mq_hw_ctx *hctx)
{
	return hctx->queue->elevator->elevator_data;
}

/* Take in every request of the list. One that comes back from the driver comes in at the head. */
static void @NAME@_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				   bool at_head)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);
	struct request *rq, *next;

	spin_lock(&data->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		enum @NAME@_way way = rq_data_dir(rq) == READ ? READS : WRITES;

		list_del_init(&rq->queuelist);
		rq->fifo_time = jiffies + msecs_to_jiffies(READ_ONCE(data->expire_ms[way]));
		if (at_head)
			list_add(&rq->queuelist, &data->returned);
		else
			list_add_tail(&rq->queuelist, &data->waiting[way]);
		trace_block_rq_insert(rq);
	}
	spin_unlock(&data->lock);
}

static struct request *@NAME@_choose(struct @NAME@_data *data)
{
	struct request *read, *write, *back;

	back = list_first_entry_or_null(&data->returned, struct request, queuelist);
	if (back)
		return back;
	read = list_first_entry_or_null(&data->waiting[READS], struct request, queuelist);
	write = list_first_entry_or_null(&data->waiting[WRITES], struct request, queuelist);
	if (!read || !write)
		return read ?: write;
	return time_before((unsigned long)write->fifo_time, (unsigned long)read->fifo_time) ?
	       write : read;
}

/* Hand the next request to the driver, or NULL. What is handed out must be on no list of ours. */
static struct request *@NAME@_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);
	struct request *rq;

	spin_lock(&data->lock);
	rq = @NAME@_choose(data);
	if (rq)
		list_del_init(&rq->queuelist);
	spin_unlock(&data->lock);
	return rq;
}

/* Say whether dispatch_request would return a request now; without it nobody calls that. */
static bool @NAME@_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);

	return !list_empty_careful(&data->returned) ||
	       !list_empty_careful(&data->waiting[READS]) ||
	       !list_empty_careful(&data->waiting[WRITES]);
}

/* Someone chose this scheduler for a disk. It may sleep, and it may fail. */
static int @NAME@_init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct elevator_queue *queue = elevator_alloc(q, type);
	struct @NAME@_data *data;

	if (!queue)
		return -ENOMEM;
	data = kzalloc_node(sizeof(*data), GFP_KERNEL, q->node);
	if (!data) {
		kobject_put(&queue->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&data->lock);
	INIT_LIST_HEAD(&data->waiting[READS]);
	INIT_LIST_HEAD(&data->waiting[WRITES]);
	INIT_LIST_HEAD(&data->returned);
	data->expire_ms[READS] = 500;
	data->expire_ms[WRITES] = 5000;
	queue->elevator_data = data;

	/* All hardware queues share the one list: run them one after the other. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = queue;
	return 0;
}

/* Another scheduler was chosen, or the disk goes. The queue is frozen, so nothing waits here. */
static void @NAME@_exit_sched(struct elevator_queue *queue)
{
	struct @NAME@_data *data = queue->elevator_data;

	WARN_ON_ONCE(!list_empty(&data->waiting[READS]) || !list_empty(&data->waiting[WRITES]));
	kfree(data);
}

static ssize_t @NAME@_show(unsigned int value, char *page)
{
	return sysfs_emit(page, "%u\n", value);
}

static ssize_t @NAME@_store(unsigned int *value, const char *page, size_t count)
{
	unsigned int wanted;
	int error = kstrtouint(page, 10, &wanted);

	if (error)
		return error;
	WRITE_ONCE(*value, wanted);
	return count;
}

/* A tunable is a file in queue/iosched: what is written there calls store, what is read, show. */
#define TUNABLE(name, way)								\
static ssize_t @NAME@_##name##_show(struct elevator_queue *queue, char *page)		\
{											\
	struct @NAME@_data *data = queue->elevator_data;				\
											\
	return @NAME@_show(data->expire_ms[way], page);					\
}											\
											\
static ssize_t @NAME@_##name##_store(struct elevator_queue *queue, const char *page,	\
				     size_t count)					\
{											\
	struct @NAME@_data *data = queue->elevator_data;				\
											\
	return @NAME@_store(&data->expire_ms[way], page, count);			\
}

TUNABLE(read_expire_ms, READS)
TUNABLE(write_expire_ms, WRITES)

static struct elv_fs_entry @NAME@_attrs[] = {
	__ATTR(read_expire_ms, 0644, @NAME@_read_expire_ms_show, @NAME@_read_expire_ms_store),
	__ATTR(write_expire_ms, 0644, @NAME@_write_expire_ms_show, @NAME@_write_expire_ms_store),
	__ATTR_NULL
};
