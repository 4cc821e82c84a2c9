// SPDX-License-Identifier: GPL-2.0-only
/*
 * @NAME@: @RULE@, to be finished by you (TODO below).
 *
 * All that waits is in a list by age and in a tree by place. The README beside this file tells
 * what each hook must guarantee.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"

struct @NAME@_data {
	spinlock_t lock;		/* protects all below */
	struct list_head arrived;	/* all that wait, the oldest first */
	struct rb_root sorted;		/* the same requests, by their first sector */
	struct list_head returned;	/* what the driver gave back */
	sector_t head;			/* where the last request ended: there the disk's arm is */
@STATE@};

static struct @NAME@_data *@NAME@_data_of(struct blk_mq_hw_ctx *hctx)
{
	return hctx->queue->elevator->elevator_data;
}

/*
 * Take in every request of the list. One that comes back from the driver comes in at the head: it
 * was chosen before, so it waits on a list of its own, and goes first.
 */
static void @NAME@_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				   bool at_head)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);
	struct request *rq, *next;

	spin_lock(&data->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		if (at_head) {
			list_add(&rq->queuelist, &data->returned);
		} else {
			list_add_tail(&rq->queuelist, &data->arrived);
			elv_rb_add(&data->sorted, rq);
		}
		trace_block_rq_insert(rq);
	}
	spin_unlock(&data->lock);
}

/*
 * TODO: @TODO@
 *
 * This chooses the oldest one, so it is still FIFO. What helps:
 *   data->sorted.rb_node, node->rb_left, node->rb_right   walk down the tree
 *   rb_first(), rb_last(), rb_next(), rb_prev()           walk along it
 *   rb_entry_rq(node)                                     the request of a node
 *   blk_rq_pos(rq), blk_rq_sectors(rq)                    its first sector, and its length
 */
static struct request *@NAME@_choose(struct @NAME@_data *data)
{
	return list_first_entry_or_null(&data->arrived, struct request, queuelist);
}

/* Hand the next request to the driver, or NULL. What is handed out must be on no list of ours. */
static struct request *@NAME@_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);
	struct request *rq;

	spin_lock(&data->lock);
	rq = list_first_entry_or_null(&data->returned, struct request, queuelist);
	if (!rq) {
		rq = @NAME@_choose(data);
		if (rq)
			elv_rb_del(&data->sorted, rq);
	}
	if (rq) {
		list_del_init(&rq->queuelist);
		data->head = blk_rq_pos(rq) + blk_rq_sectors(rq);
	}
	spin_unlock(&data->lock);
	return rq;
}

/* Say whether dispatch_request would return a request now; without it nobody calls that. */
static bool @NAME@_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct @NAME@_data *data = @NAME@_data_of(hctx);

	return !list_empty_careful(&data->returned) || !list_empty_careful(&data->arrived);
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
	INIT_LIST_HEAD(&data->arrived);
	data->sorted = RB_ROOT;
	INIT_LIST_HEAD(&data->returned);
@START@	queue->elevator_data = data;

	/* All hardware queues share the one list: run them one after the other. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = queue;
	return 0;
}

/* Another scheduler was chosen, or the disk goes. The queue is frozen, so nothing waits here. */
static void @NAME@_exit_sched(struct elevator_queue *queue)
{
	struct @NAME@_data *data = queue->elevator_data;

	WARN_ON_ONCE(!list_empty(&data->arrived) || !list_empty(&data->returned));
	kfree(data);
}
