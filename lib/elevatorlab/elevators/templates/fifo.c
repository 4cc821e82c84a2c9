// SPDX-License-Identifier: GPL-2.0-only
/*
 * @NAME@: first in, first out.
 *
 * One list of requests for the whole disk. A request enters at the tail, and the one at the head
 * leaves next. The README beside this file tells what each hook must guarantee.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"

struct @NAME@_data {
	spinlock_t lock;	/* protects all below */
	struct list_head requests;
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
		list_del_init(&rq->queuelist);
		if (at_head)
			list_add(&rq->queuelist, &data->requests);
		else
			list_add_tail(&rq->queuelist, &data->requests);
		trace_block_rq_insert(rq);
	}
	spin_unlock(&data->lock);
}

/* Hand the next request to the driver, or NULL. What is handed out must be on no list of ours. */
static struct request *@NAME@_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);
	struct request *rq;

	spin_lock(&data->lock);
	rq = list_first_entry_or_null(&data->requests, struct request, queuelist);
	if (rq)
		list_del_init(&rq->queuelist);
	spin_unlock(&data->lock);
	return rq;
}

/* Say whether dispatch_request would return a request now; without it nobody calls that. */
static bool @NAME@_has_work(struct blk_mq_hw_ctx *hctx)
{
	return !list_empty_careful(&@NAME@_data_of(hctx)->requests);
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
	INIT_LIST_HEAD(&data->requests);
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

	WARN_ON_ONCE(!list_empty(&data->requests));
	kfree(data);
}
