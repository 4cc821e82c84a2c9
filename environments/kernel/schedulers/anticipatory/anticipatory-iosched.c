// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anticipatory: keep the disk idle for the process that has just read, when that pays.
 *
 * Written from S. Iyer, P. Druschel, "Anticipatory scheduling: a disk scheduling framework to
 * overcome deceptive idleness in synchronous I/O", SOSP 2001. The order is that of the shortest
 * seek with a limit on waiting; README.md says what the paper has beyond that, and what it leaves
 * open.
 */

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq-sched.h"
#include "anticipation.h"

static void as_remove(struct as_data *as, struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node)) {
		elv_rb_del(&as->sorted, rq);
		if (as_process_of(rq))
			as_process_of(rq)->pending--;
	}
	elv_rqhash_del(as->q, rq);
	if (as->q->last_merge == rq)
		as->q->last_merge = NULL;
}

static struct request *as_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct as_data *as = hctx->queue->elevator->elevator_data;
	struct request *rq = NULL;

	spin_lock_irq(&as->lock);
	if (!as->serving)
		rq = as_choose(as);
	if (rq) {
		as_remove(as, rq);
		as_serve(as, rq);
	}
	spin_unlock_irq(&as->lock);
	return rq;
}

static bool as_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct as_data *as = hctx->queue->elevator->elevator_data;

	return !READ_ONCE(as->serving) && !READ_ONCE(as->waiting) &&
	       (!list_empty_careful(&as->requeued) || !list_empty_careful(&as->arrived));
}

/* Look again, also where nobody came: then the time that was waited is enough. */
static enum hrtimer_restart as_timer(struct hrtimer *timer)
{
	struct as_data *as = container_of(timer, struct as_data, timer);

	WRITE_ONCE(as->waiting, false);
	blk_mq_run_hw_queues(as->q, true);
	return HRTIMER_NORESTART;
}

static void as_insert(struct as_data *as, struct request *rq, bool at_head,
		      struct list_head *merged)
{
	if (blk_mq_sched_try_insert_merge(as->q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	/* Whoever was waited for, there is another choice now. */
	as->waiting = false;
	if (at_head) {
		list_add(&rq->queuelist, &as->requeued);
		return;
	}
	if (as_process_of(rq))
		as_process_asks(as, as_process_of(rq));
	rq->fifo_time = get_jiffies_64();
	list_add_tail(&rq->queuelist, &as->arrived);
	elv_rb_add(&as->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(as->q, rq);
		if (!as->q->last_merge)
			as->q->last_merge = rq;
	}
}

static void as_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct as_data *as = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock_irq(&as->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		as_insert(as, rq, at_head, &merged);
	}
	spin_unlock_irq(&as->lock);
	blk_mq_free_requests(&merged);
}

static bool as_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct as_data *as = q->elevator->elevator_data;
	struct request *free = NULL;
	bool merged;

	spin_lock_irq(&as->lock);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irq(&as->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void as_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	as_remove(q->elevator->elevator_data, next);
}

/* Called by who submits, before anything else happens to the request. */
static void as_prepare_request(struct request *rq)
{
	rq->elv.icq = ioc_find_get_icq(rq->q);
}

static void as_finish_request(struct request *rq)
{
	if (rq->elv.icq)
		put_io_context(rq->elv.icq->ioc);
	rq->elv.icq = NULL;
}

static void as_completed_request(struct request *rq, u64 now_ns)
{
	struct as_data *as = rq->q->elevator->elevator_data;
	unsigned long flags;

	spin_lock_irqsave(&as->lock, flags);
	if (as->serving == rq) {
		as_learn(as, rq, now_ns);
		as->serving = NULL;
	}
	spin_unlock_irqrestore(&as->lock, flags);
	blk_mq_run_hw_queues(rq->q, true);
}

static void as_requeue_request(struct request *rq)
{
	struct as_data *as = rq->q->elevator->elevator_data;
	unsigned long flags;

	spin_lock_irqsave(&as->lock, flags);
	if (as->serving == rq)
		as->serving = NULL;
	spin_unlock_irqrestore(&as->lock, flags);
}

/* Nobody waits for a process that is gone. */
static void as_exit_icq(struct io_cq *icq)
{
	struct as_data *as = icq->q->elevator->elevator_data;
	struct as_process *process = container_of(icq, struct as_process, icq);
	unsigned long flags;

	spin_lock_irqsave(&as->lock, flags);
	process->exited = true;
	if (as->last == process) {
		as->last = NULL;
		if (as->waiting)
			hrtimer_start(&as->timer, 0, HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&as->lock, flags);
}

static int as_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct as_data *as;

	if (!eq)
		return -ENOMEM;
	as = kzalloc_node(sizeof(*as), GFP_KERNEL, q->node);
	if (!as) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&as->lock);
	INIT_LIST_HEAD(&as->arrived);
	INIT_LIST_HEAD(&as->requeued);
	hrtimer_init(&as->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	as->timer.function = as_timer;
	as->q = q;
	as->expire_ms = 500;
	as->antic_expire_ms = 15;
	eq->elevator_data = as;

	/* One arm for the whole disk, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void as_exit_sched(struct elevator_queue *e)
{
	struct as_data *as = e->elevator_data;

	hrtimer_cancel(&as->timer);
	WARN_ON_ONCE(as->serving || !list_empty(&as->requeued) || !list_empty(&as->arrived));
	kfree(as);
}

#define AS_TUNABLE(name)									\
static ssize_t as_##name##_show(struct elevator_queue *e, char *page)				\
{												\
	return sysfs_emit(page, "%u\n", ((struct as_data *)e->elevator_data)->name);		\
}												\
static ssize_t as_##name##_store(struct elevator_queue *e, const char *page, size_t count)	\
{												\
	return kstrtouint(page, 10, &((struct as_data *)e->elevator_data)->name) ?: count;	\
}

AS_TUNABLE(expire_ms)
AS_TUNABLE(antic_expire_ms)

static struct elv_fs_entry as_attrs[] = {
	__ATTR(expire_ms, 0644, as_expire_ms_show, as_expire_ms_store),
	__ATTR(antic_expire_ms, 0644, as_antic_expire_ms_show, as_antic_expire_ms_store),
	__ATTR_NULL
};

static struct elevator_type as_sched = {
	.ops = {
		.init_sched = as_init_sched,
		.exit_sched = as_exit_sched,
		.prepare_request = as_prepare_request,
		.finish_request = as_finish_request,
		.insert_requests = as_insert_requests,
		.dispatch_request = as_dispatch_request,
		.has_work = as_has_work,
		.bio_merge = as_bio_merge,
		.requests_merged = as_requests_merged,
		.completed_request = as_completed_request,
		.requeue_request = as_requeue_request,
		.exit_icq = as_exit_icq,
	},
	.icq_size = sizeof(struct as_process),
	.icq_align = __alignof__(struct as_process),
	.elevator_attrs = as_attrs,
	.elevator_name = "anticipatory",
	.elevator_owner = THIS_MODULE,
};

static int __init as_init(void)
{
	return elv_register(&as_sched);
}

static void __exit as_exit(void)
{
	elv_unregister(&as_sched);
}

module_init(as_init);
module_exit(as_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Anticipatory I/O scheduler");
MODULE_ALIAS("anticipatory-iosched");
