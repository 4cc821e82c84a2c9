// SPDX-License-Identifier: GPL-2.0-only
/*
 * FSCAN: the arm sweeps over a batch of requests that nothing joins any more.
 *
 * E. G. Coffman, L. A. Klimko, B. Ryan, "Analysis of scanning policies for reducing disk seek
 * times", SIAM Journal on Computing 1(3), 1972. What arrives during a sweep waits for the next
 * one, which goes the other way: so a request waits for two sweeps at most, and no stream of
 * requests at one place can hold the arm there.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"

struct fscan_data {
	/* Protects all below. */
	spinlock_t lock;
	struct rb_root arriving;	/* what waits for the next sweep, by its place */
	struct rb_root batch;		/* what is left of this one */
	struct list_head requeued;	/* what the disk could not take: goes first */
	bool up;			/* where this sweep goes */
	u64 sweeps;			/* how many there were */
};

/* A frozen request cannot be merged either: what is merged into it would join the batch. */
static void fscan_unhash(struct request_queue *q, struct request *rq)
{
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static void fscan_freeze(struct request_queue *q, struct fscan_data *fscan)
{
	struct rb_node *node;

	for (node = rb_first(&fscan->arriving); node; node = rb_next(node))
		fscan_unhash(q, rb_entry_rq(node));
	swap(fscan->batch, fscan->arriving);
	fscan->up = !fscan->up;
	fscan->sweeps++;
}

static struct request *fscan_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct fscan_data *fscan = hctx->queue->elevator->elevator_data;
	struct request *rq;
	struct rb_node *node;

	spin_lock(&fscan->lock);
	rq = list_first_entry_or_null(&fscan->requeued, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
		goto unlock;
	}
	if (RB_EMPTY_ROOT(&fscan->batch) && !RB_EMPTY_ROOT(&fscan->arriving))
		fscan_freeze(hctx->queue, fscan);
	node = fscan->up ? rb_first(&fscan->batch) : rb_last(&fscan->batch);
	if (node) {
		rq = rb_entry_rq(node);
		elv_rb_del(&fscan->batch, rq);
	}
unlock:
	spin_unlock(&fscan->lock);
	return rq;
}

static void fscan_insert(struct fscan_data *fscan, struct request *rq, bool at_head,
			 struct list_head *merged)
{
	struct request_queue *q = rq->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	if (at_head) {
		list_add(&rq->queuelist, &fscan->requeued);
		return;
	}
	elv_rb_add(&fscan->arriving, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void fscan_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct fscan_data *fscan = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock(&fscan->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		fscan_insert(fscan, rq, at_head, &merged);
	}
	spin_unlock(&fscan->lock);
	blk_mq_free_requests(&merged);
}

static bool fscan_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct fscan_data *fscan = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&fscan->requeued) || !RB_EMPTY_ROOT(&fscan->batch) ||
	       !RB_EMPTY_ROOT(&fscan->arriving);
}

static bool fscan_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct fscan_data *fscan = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock(&fscan->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock(&fscan->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a request that begins where @bio ends; the kernel's hash knows those that end before it. */
static int fscan_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct fscan_data *fscan = q->elevator->elevator_data;
	struct request *found = elv_rb_find(&fscan->arriving, bio_end_sector(bio));

	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A request that has grown at its front has another place. */
static void fscan_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct fscan_data *fscan = q->elevator->elevator_data;

	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&fscan->arriving, rq);
		elv_rb_add(&fscan->arriving, rq);
	}
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void fscan_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct fscan_data *fscan = q->elevator->elevator_data;

	if (!RB_EMPTY_NODE(&next->rb_node))
		elv_rb_del(&fscan->arriving, next);
	fscan_unhash(q, next);
}

static int fscan_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct fscan_data *fscan;

	if (!eq)
		return -ENOMEM;
	fscan = kzalloc_node(sizeof(*fscan), GFP_KERNEL, q->node);
	if (!fscan) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&fscan->lock);
	INIT_LIST_HEAD(&fscan->requeued);
	eq->elevator_data = fscan;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void fscan_exit_sched(struct elevator_queue *e)
{
	struct fscan_data *fscan = e->elevator_data;

	WARN_ON_ONCE(!list_empty(&fscan->requeued) || !RB_EMPTY_ROOT(&fscan->batch) ||
		     !RB_EMPTY_ROOT(&fscan->arriving));
	kfree(fscan);
}

static ssize_t fscan_sweeps_show(struct elevator_queue *e, char *page)
{
	struct fscan_data *fscan = e->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(fscan->sweeps));
}

static struct elv_fs_entry fscan_attrs[] = {
	__ATTR(sweeps, 0444, fscan_sweeps_show, NULL),
	__ATTR_NULL
};

static struct elevator_type fscan_sched = {
	.ops = {
		.init_sched = fscan_init_sched,
		.exit_sched = fscan_exit_sched,
		.insert_requests = fscan_insert_requests,
		.dispatch_request = fscan_dispatch_request,
		.has_work = fscan_has_work,
		.bio_merge = fscan_bio_merge,
		.request_merge = fscan_request_merge,
		.request_merged = fscan_request_merged,
		.requests_merged = fscan_requests_merged,
		.former_request = elv_rb_former_request,
		.next_request = elv_rb_latter_request,
	},
	.elevator_attrs = fscan_attrs,
	.elevator_name = "fscan",
	.elevator_owner = THIS_MODULE,
};

static int __init fscan_init(void)
{
	return elv_register(&fscan_sched);
}

static void __exit fscan_exit(void)
{
	elv_unregister(&fscan_sched);
}

module_init(fscan_init);
module_exit(fscan_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("FSCAN I/O scheduler");
MODULE_ALIAS("fscan-iosched");
