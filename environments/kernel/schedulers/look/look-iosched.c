// SPDX-License-Identifier: GPL-2.0-only
/*
 * LOOK: the arm goes one way as long as a request is ahead of it, and then turns.
 *
 * A. G. Merten, "Some quantitative techniques for file organization", University of Wisconsin,
 * 1970: the elevator (SCAN) that turns at the last request, not at the edge of the disk.
 * With expire_ms, a request that has waited so long is next, and the arm goes on from there.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"

struct look_data {
	/* Protects all below. */
	spinlock_t lock;
	struct rb_root sorted;		/* all that wait, by their place */
	struct list_head arrived;	/* the same, by their time */
	struct list_head requeued;	/* what the disk could not take: goes first */
	sector_t arm;			/* where the last request ended */
	bool up;			/* where it goes */
	u64 turns;			/* how often it has turned */
	unsigned int expire_ms;		/* longest wait; 0: no limit */
};

/* Return the first request at @sector or above it. */
static struct request *look_first_from(struct rb_root *sorted, sector_t sector)
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

static bool look_expired(struct look_data *look, struct request *oldest)
{
	u64 expiry = oldest->fifo_time + msecs_to_jiffies(look->expire_ms);

	return look->expire_ms && time_after_eq64(get_jiffies_64(), expiry);
}

/* Return the next request on the way; NULL where none is ahead. */
static struct request *look_ahead(struct look_data *look)
{
	struct request *above = look_first_from(&look->sorted, look->arm);
	struct rb_node *below;

	if (look->up)
		return above;
	below = above ? rb_prev(&above->rb_node) : rb_last(&look->sorted);
	return below ? rb_entry_rq(below) : NULL;
}

static struct request *look_next(struct look_data *look)
{
	struct request *oldest, *rq;

	oldest = list_first_entry_or_null(&look->arrived, struct request, queuelist);
	if (!oldest || look_expired(look, oldest))
		return oldest;
	rq = look_ahead(look);
	if (!rq) {
		look->up = !look->up;
		look->turns++;
		rq = look_ahead(look);
	}
	return rq;
}

static void look_remove(struct request_queue *q, struct look_data *look, struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(&look->sorted, rq);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static struct request *look_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct look_data *look = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock(&look->lock);
	rq = list_first_entry_or_null(&look->requeued, struct request, queuelist);
	if (!rq)
		rq = look_next(look);
	if (rq) {
		look_remove(hctx->queue, look, rq);
		look->arm = blk_rq_pos(rq) + blk_rq_sectors(rq);
	}
	spin_unlock(&look->lock);
	return rq;
}

static void look_insert(struct look_data *look, struct request *rq, bool at_head,
			struct list_head *merged)
{
	struct request_queue *q = rq->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	if (at_head) {
		list_add(&rq->queuelist, &look->requeued);
		return;
	}
	rq->fifo_time = get_jiffies_64();
	list_add_tail(&rq->queuelist, &look->arrived);
	elv_rb_add(&look->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void look_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct look_data *look = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock(&look->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		look_insert(look, rq, at_head, &merged);
	}
	spin_unlock(&look->lock);
	blk_mq_free_requests(&merged);
}

static bool look_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct look_data *look = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&look->requeued) || !list_empty_careful(&look->arrived);
}

static bool look_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct look_data *look = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock(&look->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock(&look->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a request that begins where @bio ends; the kernel's hash knows those that end before it. */
static int look_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct look_data *look = q->elevator->elevator_data;
	struct request *found = elv_rb_find(&look->sorted, bio_end_sector(bio));

	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A request that has grown at its front has another place. */
static void look_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct look_data *look = q->elevator->elevator_data;

	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&look->sorted, rq);
		elv_rb_add(&look->sorted, rq);
	}
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void look_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	/* What they are now has waited as long as the older of them. */
	if (!list_empty(&next->queuelist) && next->fifo_time < rq->fifo_time) {
		list_move(&rq->queuelist, &next->queuelist);
		rq->fifo_time = next->fifo_time;
	}
	look_remove(q, q->elevator->elevator_data, next);
}

static int look_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct look_data *look;

	if (!eq)
		return -ENOMEM;
	look = kzalloc_node(sizeof(*look), GFP_KERNEL, q->node);
	if (!look) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&look->lock);
	INIT_LIST_HEAD(&look->arrived);
	look->up = true;
	INIT_LIST_HEAD(&look->requeued);
	eq->elevator_data = look;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void look_exit_sched(struct elevator_queue *e)
{
	struct look_data *look = e->elevator_data;

	WARN_ON_ONCE(!list_empty(&look->requeued) || !list_empty(&look->arrived));
	kfree(look);
}

static ssize_t look_expire_ms_show(struct elevator_queue *e, char *page)
{
	struct look_data *look = e->elevator_data;

	return sysfs_emit(page, "%u\n", READ_ONCE(look->expire_ms));
}

static ssize_t look_expire_ms_store(struct elevator_queue *e, const char *page, size_t count)
{
	struct look_data *look = e->elevator_data;

	return kstrtouint(page, 10, &look->expire_ms) ?: count;
}

static ssize_t look_turns_show(struct elevator_queue *e, char *page)
{
	struct look_data *look = e->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(look->turns));
}

static struct elv_fs_entry look_attrs[] = {
	__ATTR(expire_ms, 0644, look_expire_ms_show, look_expire_ms_store),
	__ATTR(turns, 0444, look_turns_show, NULL),
	__ATTR_NULL
};

static struct elevator_type look_sched = {
	.ops = {
		.init_sched = look_init_sched,
		.exit_sched = look_exit_sched,
		.insert_requests = look_insert_requests,
		.dispatch_request = look_dispatch_request,
		.has_work = look_has_work,
		.bio_merge = look_bio_merge,
		.request_merge = look_request_merge,
		.request_merged = look_request_merged,
		.requests_merged = look_requests_merged,
		.former_request = elv_rb_former_request,
		.next_request = elv_rb_latter_request,
	},
	.elevator_attrs = look_attrs,
	.elevator_name = "look",
	.elevator_owner = THIS_MODULE,
};

static int __init look_init(void)
{
	return elv_register(&look_sched);
}

static void __exit look_exit(void)
{
	elv_unregister(&look_sched);
}

module_init(look_init);
module_exit(look_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("LOOK I/O scheduler");
MODULE_ALIAS("look-iosched");
