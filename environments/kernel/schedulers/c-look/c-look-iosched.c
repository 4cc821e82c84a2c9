// SPDX-License-Identifier: GPL-2.0-only
/*
 * C-LOOK: the arm serves on its way up only, and jumps from the last request to the first.
 *
 * P. H. Seaman, R. A. Lind, T. L. Wilson, "On teleprocessing system design, part IV: An analysis
 * of auxiliary-storage activity", IBM Systems Journal 5(3), 1966, for the one-way sweep (C-SCAN);
 * C-LOOK goes no further than the requests do.
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

struct clook_data {
	/* Protects all below. */
	spinlock_t lock;
	struct rb_root sorted;		/* all that wait, by their place */
	struct list_head arrived;	/* the same, by their time */
	struct list_head requeued;	/* what the disk could not take: goes first */
	sector_t arm;			/* where the last request ended */
	u64 returns;			/* how often it went back to the first request */
	unsigned int expire_ms;		/* longest wait; 0: no limit */
};

/* Return the first request at @sector or above it. */
static struct request *clook_first_from(struct rb_root *sorted, sector_t sector)
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

static bool clook_expired(struct clook_data *clook, struct request *oldest)
{
	u64 expiry = oldest->fifo_time + msecs_to_jiffies(clook->expire_ms);

	return clook->expire_ms && time_after_eq64(get_jiffies_64(), expiry);
}

static struct request *clook_next(struct clook_data *clook)
{
	struct request *oldest, *rq;

	oldest = list_first_entry_or_null(&clook->arrived, struct request, queuelist);
	if (!oldest || clook_expired(clook, oldest))
		return oldest;
	rq = clook_first_from(&clook->sorted, clook->arm);
	if (rq)
		return rq;
	clook->returns++;
	return rb_entry_rq(rb_first(&clook->sorted));
}

static void clook_remove(struct request_queue *q, struct clook_data *clook, struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(&clook->sorted, rq);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static struct request *clook_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct clook_data *clook = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock(&clook->lock);
	rq = list_first_entry_or_null(&clook->requeued, struct request, queuelist);
	if (!rq)
		rq = clook_next(clook);
	if (rq) {
		clook_remove(hctx->queue, clook, rq);
		clook->arm = blk_rq_pos(rq) + blk_rq_sectors(rq);
	}
	spin_unlock(&clook->lock);
	return rq;
}

static void clook_insert(struct clook_data *clook, struct request *rq, bool at_head,
			 struct list_head *merged)
{
	struct request_queue *q = rq->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	if (at_head) {
		list_add(&rq->queuelist, &clook->requeued);
		return;
	}
	rq->fifo_time = get_jiffies_64();
	list_add_tail(&rq->queuelist, &clook->arrived);
	elv_rb_add(&clook->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void clook_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct clook_data *clook = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock(&clook->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		clook_insert(clook, rq, at_head, &merged);
	}
	spin_unlock(&clook->lock);
	blk_mq_free_requests(&merged);
}

static bool clook_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct clook_data *clook = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&clook->requeued) || !list_empty_careful(&clook->arrived);
}

static bool clook_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct clook_data *clook = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock(&clook->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock(&clook->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a request that begins where @bio ends; the kernel's hash knows those that end before it. */
static int clook_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct clook_data *clook = q->elevator->elevator_data;
	struct request *found = elv_rb_find(&clook->sorted, bio_end_sector(bio));

	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A request that has grown at its front has another place. */
static void clook_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct clook_data *clook = q->elevator->elevator_data;

	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&clook->sorted, rq);
		elv_rb_add(&clook->sorted, rq);
	}
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void clook_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	/* What they are now has waited as long as the older of them. */
	if (!list_empty(&next->queuelist) && next->fifo_time < rq->fifo_time) {
		list_move(&rq->queuelist, &next->queuelist);
		rq->fifo_time = next->fifo_time;
	}
	clook_remove(q, q->elevator->elevator_data, next);
}

static int clook_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct clook_data *clook;

	if (!eq)
		return -ENOMEM;
	clook = kzalloc_node(sizeof(*clook), GFP_KERNEL, q->node);
	if (!clook) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&clook->lock);
	INIT_LIST_HEAD(&clook->arrived);
	INIT_LIST_HEAD(&clook->requeued);
	eq->elevator_data = clook;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void clook_exit_sched(struct elevator_queue *e)
{
	struct clook_data *clook = e->elevator_data;

	WARN_ON_ONCE(!list_empty(&clook->requeued) || !list_empty(&clook->arrived));
	kfree(clook);
}

static ssize_t clook_expire_ms_show(struct elevator_queue *e, char *page)
{
	struct clook_data *clook = e->elevator_data;

	return sysfs_emit(page, "%u\n", READ_ONCE(clook->expire_ms));
}

static ssize_t clook_expire_ms_store(struct elevator_queue *e, const char *page, size_t count)
{
	struct clook_data *clook = e->elevator_data;

	return kstrtouint(page, 10, &clook->expire_ms) ?: count;
}

static ssize_t clook_returns_show(struct elevator_queue *e, char *page)
{
	struct clook_data *clook = e->elevator_data;

	return sysfs_emit(page, "%llu\n", READ_ONCE(clook->returns));
}

static struct elv_fs_entry clook_attrs[] = {
	__ATTR(expire_ms, 0644, clook_expire_ms_show, clook_expire_ms_store),
	__ATTR(returns, 0444, clook_returns_show, NULL),
	__ATTR_NULL
};

static struct elevator_type clook_sched = {
	.ops = {
		.init_sched = clook_init_sched,
		.exit_sched = clook_exit_sched,
		.insert_requests = clook_insert_requests,
		.dispatch_request = clook_dispatch_request,
		.has_work = clook_has_work,
		.bio_merge = clook_bio_merge,
		.request_merge = clook_request_merge,
		.request_merged = clook_request_merged,
		.requests_merged = clook_requests_merged,
		.former_request = elv_rb_former_request,
		.next_request = elv_rb_latter_request,
	},
	.elevator_attrs = clook_attrs,
	.elevator_name = "c-look",
	.elevator_owner = THIS_MODULE,
};

static int __init clook_init(void)
{
	return elv_register(&clook_sched);
}

static void __exit clook_exit(void)
{
	elv_unregister(&clook_sched);
}

module_init(clook_init);
module_exit(clook_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("C-LOOK I/O scheduler");
MODULE_ALIAS("c-look-iosched");
