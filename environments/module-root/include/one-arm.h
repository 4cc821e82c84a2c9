/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What schedulers for a disk with one arm have in common: requests by place and by age, merging,
 * and their life from init_sched to exit_sched. Which one goes next is theirs.
 *
 * A scheduler's folder that says #include "one-arm.h" is built with this file, unless it has one
 * of that name itself. A scheduler's own data begin with struct one_arm.
 */
#ifndef ONE_ARM_H
#define ONE_ARM_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/iocontext.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"

struct one_arm {
	/* Protects all below, and the scheduler's own; completions may take it, too. */
	spinlock_t lock;
	struct request_queue *q;
	struct rb_root sorted;		/* all that wait, by their place */
	struct list_head arrived;	/* the same, by their time */
	struct list_head requeued;	/* what the disk could not take: goes first */
	sector_t head;			/* where the last request ended: there the arm is */
	/* Told of each request that waits, and that does not wait any more; may be NULL. */
	void (*came)(struct one_arm *arm, struct request *rq);
	void (*went)(struct one_arm *arm, struct request *rq);
};

static inline struct one_arm *arm_of(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

static inline sector_t arm_distance(sector_t from, struct request *rq)
{
	return max(blk_rq_pos(rq), from) - min(blk_rq_pos(rq), from);
}

/* Return the first request at @sector or above it; of several at one place, the oldest. */
static inline struct request *arm_first_from(struct rb_root *sorted, sector_t sector)
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

/* Return the last request below @sector. */
static inline struct request *arm_last_below(struct rb_root *sorted, sector_t sector)
{
	struct request *above = arm_first_from(sorted, sector);
	struct rb_node *node = above ? rb_prev(&above->rb_node) : rb_last(sorted);

	return node ? rb_entry_rq(node) : NULL;
}

/* Return the nearest one. Of two that are equally near, the one above; at one place, the oldest. */
static inline struct request *arm_nearest(struct one_arm *arm)
{
	struct request *above = arm_first_from(&arm->sorted, arm->head);
	struct request *below = arm_last_below(&arm->sorted, arm->head);

	if (!below || (above && arm_distance(arm->head, above) <= arm_distance(arm->head, below)))
		return above;
	return arm_first_from(&arm->sorted, blk_rq_pos(below));
}

static inline struct request *arm_oldest(struct one_arm *arm)
{
	return list_first_entry_or_null(&arm->arrived, struct request, queuelist);
}

/* Tell whether a request has waited for @expire_ms; 0: no wait is too long. */
static inline bool arm_expired(struct request *rq, unsigned int expire_ms)
{
	return expire_ms &&
	       time_after_eq64(get_jiffies_64(), rq->fifo_time + msecs_to_jiffies(expire_ms));
}

static inline void arm_remove(struct one_arm *arm, struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node)) {
		elv_rb_del(&arm->sorted, rq);
		if (arm->went)
			arm->went(arm, rq);
	}
	elv_rqhash_del(arm->q, rq);
	if (arm->q->last_merge == rq)
		arm->q->last_merge = NULL;
}

/* Hand out what came back, or what @choose returns: a request that waits, or NULL. */
static inline struct request *arm_dispatch(struct blk_mq_hw_ctx *hctx,
					   struct request *(*choose)(struct one_arm *))
{
	struct one_arm *arm = arm_of(hctx->queue);
	struct request *rq;

	spin_lock_irq(&arm->lock);
	rq = list_first_entry_or_null(&arm->requeued, struct request, queuelist) ?: choose(arm);
	if (rq) {
		arm_remove(arm, rq);
		arm->head = blk_rq_pos(rq) + blk_rq_sectors(rq);
	}
	spin_unlock_irq(&arm->lock);
	return rq;
}

static inline bool arm_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct one_arm *arm = arm_of(hctx->queue);

	return !list_empty_careful(&arm->requeued) || !list_empty_careful(&arm->arrived);
}

static inline void arm_insert(struct one_arm *arm, struct request *rq, bool at_head,
			      struct list_head *merged)
{
	struct request_queue *q = arm->q;

	if (blk_mq_sched_try_insert_merge(q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	if (at_head) {
		list_add(&rq->queuelist, &arm->requeued);
		return;
	}
	if (arm->came)
		arm->came(arm, rq);
	rq->fifo_time = get_jiffies_64();
	list_add_tail(&rq->queuelist, &arm->arrived);
	elv_rb_add(&arm->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static inline void arm_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				       bool at_head)
{
	struct one_arm *arm = arm_of(hctx->queue);
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock_irq(&arm->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		arm_insert(arm, rq, at_head, &merged);
	}
	spin_unlock_irq(&arm->lock);
	blk_mq_free_requests(&merged);
}

static inline bool arm_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct one_arm *arm = arm_of(q);
	struct request *free = NULL;
	bool merged;

	spin_lock_irq(&arm->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irq(&arm->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* Find a request that begins where @bio ends; the kernel's hash knows those that end before it. */
static inline int arm_request_merge(struct request_queue *q, struct request **rq, struct bio *bio)
{
	struct request *found = elv_rb_find(&arm_of(q)->sorted, bio_end_sector(bio));

	if (!found || !elv_bio_merge_ok(found, bio))
		return ELEVATOR_NO_MERGE;
	*rq = found;
	return blk_discard_mergable(found) ? ELEVATOR_DISCARD_MERGE : ELEVATOR_FRONT_MERGE;
}

/* A request that has grown at its front has another place. */
static inline void arm_request_merged(struct request_queue *q, struct request *rq,
				      enum elv_merge type)
{
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&arm_of(q)->sorted, rq);
		elv_rb_add(&arm_of(q)->sorted, rq);
	}
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static inline void arm_requests_merged(struct request_queue *q, struct request *rq,
				       struct request *next)
{
	/* What they are now has waited as long as the older of them. */
	if (!list_empty(&next->queuelist) && next->fifo_time < rq->fifo_time) {
		list_move(&rq->queuelist, &next->queuelist);
		rq->fifo_time = next->fifo_time;
	}
	arm_remove(arm_of(q), next);
}

/* Give a queue a scheduler's data of @size bytes, zero but for what is known here. */
static inline struct one_arm *arm_begin(struct request_queue *q, struct elevator_type *type,
					size_t size)
{
	struct elevator_queue *eq = elevator_alloc(q, type);
	struct one_arm *arm;

	if (!eq)
		return NULL;
	arm = kzalloc_node(size, GFP_KERNEL, q->node);
	if (!arm) {
		kobject_put(&eq->kobj);
		return NULL;
	}
	spin_lock_init(&arm->lock);
	arm->q = q;
	INIT_LIST_HEAD(&arm->arrived);
	INIT_LIST_HEAD(&arm->requeued);
	eq->elevator_data = arm;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return arm;
}

static inline void arm_exit_sched(struct elevator_queue *eq)
{
	struct one_arm *arm = eq->elevator_data;

	WARN_ON_ONCE(!list_empty(&arm->requeued) || !list_empty(&arm->arrived));
	kfree(arm);
}

/* In a scheduler's operations: all but init_sched and dispatch_request. */
#define ARM_OPERATIONS						\
	.exit_sched = arm_exit_sched,				\
	.insert_requests = arm_insert_requests,			\
	.has_work = arm_has_work,				\
	.bio_merge = arm_bio_merge,				\
	.request_merge = arm_request_merge,			\
	.request_merged = arm_request_merged,			\
	.requests_merged = arm_requests_merged,			\
	.former_request = elv_rb_former_request,		\
	.next_request = elv_rb_latter_request

/*
 * prepare_request and finish_request where a scheduler keeps something of each process (icq_size):
 * rq->elv.icq is that of who submits. Called before anything else happens to the request.
 */
static inline void arm_prepare_request(struct request *rq)
{
	rq->elv.icq = ioc_find_get_icq(rq->q);
	rq->elv.priv[0] = NULL;
	rq->elv.priv[1] = NULL;
}

static inline void arm_finish_request(struct request *rq)
{
	if (rq->elv.icq)
		put_io_context(rq->elv.icq->ioc);
	rq->elv.icq = NULL;
}

/* A file in sysfs that shows a member of struct @data, an unsigned number. */
#define ARM_SHOW(data, name)									\
static ssize_t data##_##name##_show(struct elevator_queue *e, char *page)			\
{												\
	return sysfs_emit(page, "%llu\n",							\
			  (u64)READ_ONCE(((struct data *)e->elevator_data)->name));		\
}

/* And one that sets it, too: an unsigned int, @least or more. */
#define ARM_TUNABLE(data, name, least)								\
ARM_SHOW(data, name)										\
static ssize_t data##_##name##_store(struct elevator_queue *e, const char *page, size_t count)	\
{												\
	unsigned int value;									\
	int ret = kstrtouint(page, 10, &value);							\
												\
	if (!ret && value < (least))								\
		ret = -ERANGE;									\
	if (!ret)										\
		WRITE_ONCE(((struct data *)e->elevator_data)->name, value);			\
	return ret ?: count;									\
}

#define ARM_SHOWN(data, name) __ATTR(name, 0444, data##_##name##_show, NULL)
#define ARM_TUNED(data, name) __ATTR(name, 0644, data##_##name##_show, data##_##name##_store)

/* The module: it registers @type, and nothing else. */
#define ARM_MODULE(type, description)								\
static int __init type##_register(void)								\
{												\
	return elv_register(&type);								\
}												\
static void __exit type##_unregister(void)							\
{												\
	elv_unregister(&type);									\
}												\
module_init(type##_register);									\
module_exit(type##_unregister);									\
MODULE_AUTHOR("Elevator Lab contributors");							\
MODULE_DESCRIPTION(description);								\
MODULE_LICENSE("GPL")

#endif
