// SPDX-License-Identifier: GPL-2.0-only
/*
 * First in, first out: requests leave in the order in which they came.
 *
 * Also called first come, first served (FCFS): P. J. Denning, "Effects of scheduling on file
 * memory operations", AFIPS Spring Joint Computer Conference 1967. The baseline that every other
 * order is compared with. Like the kernel's schedulers, it still merges what is contiguous.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"

struct fifo_data {
	/* Protects the list, and the hash of what can be merged. */
	spinlock_t lock;
	struct list_head waiting;
	u64 served;			/* so many requests, since the disk has this scheduler */
};

static void fifo_remove(struct request_queue *q, struct request *rq)
{
	list_del_init(&rq->queuelist);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static void fifo_insert(struct fifo_data *fifo, struct request *rq, bool at_head,
			struct list_head *merged)
{
	struct request_queue *q = rq->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	/* What comes in at the head was dispatched before, and the disk could not take it. */
	if (at_head) {
		list_add(&rq->queuelist, &fifo->waiting);
		return;
	}
	list_add_tail(&rq->queuelist, &fifo->waiting);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void fifo_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct fifo_data *fifo = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock(&fifo->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		fifo_insert(fifo, rq, at_head, &merged);
	}
	spin_unlock(&fifo->lock);
	blk_mq_free_requests(&merged);
}

static struct request *fifo_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fifo_data *fifo = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock(&fifo->lock);
	rq = list_first_entry_or_null(&fifo->waiting, struct request, queuelist);
	if (rq) {
		fifo_remove(hctx->queue, rq);
		fifo->served++;
	}
	spin_unlock(&fifo->lock);
	return rq;
}

static bool fifo_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fifo_data *fifo = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&fifo->waiting);
}

static bool fifo_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct fifo_data *fifo = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock(&fifo->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock(&fifo->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void fifo_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	fifo_remove(q, next);
}

static int fifo_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct fifo_data *fifo;

	if (!eq)
		return -ENOMEM;
	fifo = kzalloc_node(sizeof(*fifo), GFP_KERNEL, q->node);
	if (!fifo) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&fifo->lock);
	INIT_LIST_HEAD(&fifo->waiting);
	eq->elevator_data = fifo;

	/* One order for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void fifo_exit_sched(struct elevator_queue *e)
{
	struct fifo_data *fifo = e->elevator_data;

	WARN_ON_ONCE(!list_empty(&fifo->waiting));
	kfree(fifo);
}

static ssize_t fifo_served_show(struct elevator_queue *e, char *page)
{
	struct fifo_data *fifo = e->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(fifo->served));
}

static struct elv_fs_entry fifo_attrs[] = {
	__ATTR(served, 0444, fifo_served_show, NULL),
	__ATTR_NULL
};

static struct elevator_type fifo_sched = {
	.ops = {
		.init_sched = fifo_init_sched,
		.exit_sched = fifo_exit_sched,
		.insert_requests = fifo_insert_requests,
		.dispatch_request = fifo_dispatch_request,
		.has_work = fifo_has_work,
		.bio_merge = fifo_bio_merge,
		.requests_merged = fifo_requests_merged,
	},
	.elevator_attrs = fifo_attrs,
	.elevator_name = "fifo",
	.elevator_owner = THIS_MODULE,
};

static int __init fifo_init(void)
{
	return elv_register(&fifo_sched);
}

static void __exit fifo_exit(void)
{
	elv_unregister(&fifo_sched);
}

module_init(fifo_init);
module_exit(fifo_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("First in, first out I/O scheduler");
MODULE_ALIAS("fifo-iosched");
