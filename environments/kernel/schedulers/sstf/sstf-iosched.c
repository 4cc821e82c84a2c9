// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shortest seek time first: the arm goes to the nearest request.
 *
 * P. J. Denning, "Effects of scheduling on file memory operations", AFIPS Spring Joint Computer
 * Conference 1967. Distance stands for time, and is counted in sectors from where the last request
 * ended to where the next begins. A request far from the others may wait for ever: that is part
 * of the policy.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"

struct sstf_data {
	/* Protects all below. */
	spinlock_t lock;
	struct rb_root sorted;		/* all that wait, by their place */
	struct list_head requeued;	/* what the disk could not take: goes first */
	sector_t arm;			/* where the last request ended */
	u64 travel_sectors;		/* how far it has moved between requests */
};

/* Return the first request at @sector or above it. */
static struct request *sstf_first_from(struct rb_root *sorted, sector_t sector)
{
	struct rb_node *node = sorted->rb_node;
	struct request *found = NULL;

	while (node) {
		struct request *rq = rb_entry_rq(node);
		bool above = blk_rq_pos(rq) >= sector;

		if (above)
			found = rq;
		node = above ? node->rb_left : node->rb_right;
	}
	return found;
}

/* Of two that are equally near, the one above; of several at one place, the oldest. */
static struct request *sstf_next(struct sstf_data *sstf)
{
	struct request *above = sstf_first_from(&sstf->sorted, sstf->arm);
	struct rb_node *node = above ? rb_prev(&above->rb_node) : rb_last(&sstf->sorted);
	struct request *below;

	if (!node)
		return above;
	below = sstf_first_from(&sstf->sorted, blk_rq_pos(rb_entry_rq(node)));
	if (!above)
		return below;
	return blk_rq_pos(above) - sstf->arm <= sstf->arm - blk_rq_pos(below) ? above : below;
}

static void sstf_remove(struct request_queue *q, struct sstf_data *sstf, struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(&sstf->sorted, rq);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static struct request *sstf_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct sstf_data *sstf = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock(&sstf->lock);
	rq = list_first_entry_or_null(&sstf->requeued, struct request, queuelist);
	if (!rq)
		rq = sstf_next(sstf);
	if (rq) {
		sstf_remove(hctx->queue, sstf, rq);
		sstf->travel_sectors += max(blk_rq_pos(rq), sstf->arm) -
					min(blk_rq_pos(rq), sstf->arm);
		sstf->arm = blk_rq_pos(rq) + blk_rq_sectors(rq);
	}
	spin_unlock(&sstf->lock);
	return rq;
}

static void sstf_insert(struct sstf_data *sstf, struct request *rq, bool at_head,
			struct list_head *merged)
{
	struct request_queue *q = rq->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	if (at_head) {
		list_add(&rq->queuelist, &sstf->requeued);
		return;
	}
	elv_rb_add(&sstf->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void sstf_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct sstf_data *sstf = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock(&sstf->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		sstf_insert(sstf, rq, at_head, &merged);
	}
	spin_unlock(&sstf->lock);
	blk_mq_free_requests(&merged);
}

static bool sstf_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct sstf_data *sstf = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&sstf->requeued) || !RB_EMPTY_ROOT(&sstf->sorted);
}

static bool sstf_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct sstf_data *sstf = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock(&sstf->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock(&sstf->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a request that begins where @bio ends; the kernel's hash knows those that end before it. */
static int sstf_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct sstf_data *sstf = q->elevator->elevator_data;
	struct request *found = elv_rb_find(&sstf->sorted, bio_end_sector(bio));

	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A request that has grown at its front has another place. */
static void sstf_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct sstf_data *sstf = q->elevator->elevator_data;

	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&sstf->sorted, rq);
		elv_rb_add(&sstf->sorted, rq);
	}
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void sstf_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	sstf_remove(q, q->elevator->elevator_data, next);
}

static int sstf_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct sstf_data *sstf;

	if (!eq)
		return -ENOMEM;
	sstf = kzalloc_node(sizeof(*sstf), GFP_KERNEL, q->node);
	if (!sstf) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&sstf->lock);
	INIT_LIST_HEAD(&sstf->requeued);
	eq->elevator_data = sstf;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void sstf_exit_sched(struct elevator_queue *e)
{
	struct sstf_data *sstf = e->elevator_data;

	WARN_ON_ONCE(!list_empty(&sstf->requeued) || !RB_EMPTY_ROOT(&sstf->sorted));
	kfree(sstf);
}

static ssize_t sstf_travel_sectors_show(struct elevator_queue *e, char *page)
{
	struct sstf_data *sstf = e->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(sstf->travel_sectors));
}

static struct elv_fs_entry sstf_attrs[] = {
	__ATTR(travel_sectors, 0444, sstf_travel_sectors_show, NULL),
	__ATTR_NULL
};

static struct elevator_type sstf_sched = {
	.ops = {
		.init_sched = sstf_init_sched,
		.exit_sched = sstf_exit_sched,
		.insert_requests = sstf_insert_requests,
		.dispatch_request = sstf_dispatch_request,
		.has_work = sstf_has_work,
		.bio_merge = sstf_bio_merge,
		.request_merge = sstf_request_merge,
		.request_merged = sstf_request_merged,
		.requests_merged = sstf_requests_merged,
		.former_request = elv_rb_former_request,
		.next_request = elv_rb_latter_request,
	},
	.elevator_attrs = sstf_attrs,
	.elevator_name = "sstf",
	.elevator_owner = THIS_MODULE,
};

static int __init sstf_init(void)
{
	return elv_register(&sstf_sched);
}

static void __exit sstf_exit(void)
{
	elv_unregister(&sstf_sched);
}

module_init(sstf_init);
module_exit(sstf_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Shortest seek time first I/O scheduler");
MODULE_ALIAS("sstf-iosched");
