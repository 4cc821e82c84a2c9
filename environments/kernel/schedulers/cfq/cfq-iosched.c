// SPDX-License-Identifier: GPL-2.0-only
/*
 * CFQ, completely fair queueing: the disk's time in slices, one process after the other.
 *
 * Written from the kernel's documents Documentation/block/cfq-iosched.txt and ioprio.txt, as of
 * version 4.9; no code of theirs is in it. README.md says what was left out.
 */

#include "tunables.h"
#include "turns.h"

static void cfq_remove(struct cfq_data *cfq, struct request *rq)
{
	struct cfq_queue *queue = rq->elv.priv[0];

	list_del_init(&rq->queuelist);
	if (!RB_EMPTY_NODE(&rq->rb_node)) {
		elv_rb_del(&queue->sorted, rq);
		cfq->waiting--;
		if (!cfq_has_requests(queue)) {
			cfq->sync_busy -= queue->sync;
			list_del_init(&queue->turn);
		}
	}
	elv_rqhash_del(cfq->q, rq);
	if (cfq->q->last_merge == rq)
		cfq->q->last_merge = NULL;
}

static struct request *cfq_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct cfq_data *cfq = hctx->queue->elevator->elevator_data;
	struct cfq_queue *queue;
	struct request *rq;

	spin_lock_irq(&cfq->lock);
	rq = cfq_choose(cfq);
	if (rq) {
		queue = rq->elv.priv[0];
		cfq_remove(cfq, rq);
		cfq->head = blk_rq_pos(rq) + blk_rq_sectors(rq);
		queue->in_device++;
		rq->elv.priv[1] = queue;
	}
	spin_unlock_irq(&cfq->lock);
	return rq;
}

static bool cfq_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct cfq_data *cfq = hctx->queue->elevator->elevator_data;

	return !list_empty_careful(&cfq->requeued) ||
	       (READ_ONCE(cfq->waiting) && !READ_ONCE(cfq->idling));
}

static enum hrtimer_restart cfq_timer(struct hrtimer *timer)
{
	struct cfq_data *cfq = container_of(timer, struct cfq_data, timer);

	WRITE_ONCE(cfq->idling, false);
	blk_mq_run_hw_queues(cfq->q, true);
	return HRTIMER_NORESTART;
}

static void cfq_insert(struct cfq_data *cfq, struct request *rq, bool at_head,
		       struct list_head *merged)
{
	struct cfq_queue *queue;

	if (blk_mq_sched_try_insert_merge(cfq->q, rq, merged))
		return;
	trace_block_rq_insert(rq);
	queue = rq->elv.priv[0] ?: cfq_queue_for(cfq, rq);
	rq->elv.priv[0] = queue;
	if (at_head) {
		list_add(&rq->queuelist, &cfq->requeued);
		return;
	}
	cfq_observe(cfq, queue, rq);
	if (cfq->idling && cfq_ends_wait(cfq, queue))
		cfq->idling = false;
	if (!cfq_has_requests(queue)) {
		cfq->sync_busy += queue->sync;
		if (queue != cfq->active)
			list_add_tail(&queue->turn, &cfq->turns[queue->class]);
	}
	cfq->waiting++;
	rq->fifo_time = get_jiffies_64();
	list_add_tail(&rq->queuelist, &queue->fifo);
	elv_rb_add(&queue->sorted, rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(cfq->q, rq);
		if (!cfq->q->last_merge)
			cfq->q->last_merge = rq;
	}
}

static void cfq_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct cfq_data *cfq = hctx->queue->elevator->elevator_data;
	struct request *rq, *next;
	LIST_HEAD(merged);

	spin_lock_irq(&cfq->lock);
	list_for_each_entry_safe(rq, next, list, queuelist) {
		list_del_init(&rq->queuelist);
		cfq_insert(cfq, rq, at_head, &merged);
	}
	spin_unlock_irq(&cfq->lock);
	blk_mq_free_requests(&merged);
}

/* Only requests of the same process merge, or asynchronous ones. */
static bool cfq_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	struct cfq_data *cfq = q->elevator->elevator_data;
	struct cfq_queue *queue = rq->elv.priv[0];

	return op_is_sync(bio->bi_opf) ? queue == cfq->merging : !queue->sync;
}

static bool cfq_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct cfq_data *cfq = q->elevator->elevator_data;
	struct request *free = NULL;
	struct io_cq *icq = NULL;
	bool merged;

	if (current->io_context) {
		spin_lock_irq(&q->queue_lock);
		icq = ioc_lookup_icq(q);
		spin_unlock_irq(&q->queue_lock);
	}
	spin_lock_irq(&cfq->lock);
	cfq->merging = icq ? &container_of(icq, struct cfq_process, icq)->queue : NULL;
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	spin_unlock_irq(&cfq->lock);
	if (free)
		blk_mq_free_request(free);
	return merged;
}

/* The kernel has put @next behind @rq: @next is no request any more. */
static void cfq_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	cfq_remove(q->elevator->elevator_data, next);
}

static void cfq_requeue_request(struct request *rq)
{
	struct cfq_data *cfq = rq->q->elevator->elevator_data;
	unsigned long flags;

	spin_lock_irqsave(&cfq->lock, flags);
	if (rq->elv.priv[1])
		cfq_left_device(cfq, rq);
	spin_unlock_irqrestore(&cfq->lock, flags);
}

static void cfq_completed_request(struct request *rq, u64 now_ns)
{
	/* A flush does not come through here, and its request knows no queue. */
	if (rq->rq_flags & RQF_ELVPRIV) {
		cfq_requeue_request(rq);
		blk_mq_run_hw_queues(rq->q, true);
	}
}

static void cfq_init_icq(struct io_cq *icq)
{
	cfq_init_queue(&container_of(icq, struct cfq_process, icq)->queue, true);
}

/* The process is gone: nobody waits for it, and nobody comes back to its queue. */
static void cfq_exit_icq(struct io_cq *icq)
{
	struct cfq_data *cfq = icq->q->elevator->elevator_data;
	struct cfq_queue *queue = &container_of(icq, struct cfq_process, icq)->queue;
	unsigned long flags;

	spin_lock_irqsave(&cfq->lock, flags);
	queue->exited = true;
	if (cfq->active == queue && !cfq_has_requests(queue) && !queue->in_device) {
		cfq_expire(cfq);
		hrtimer_start(&cfq->timer, 0, HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&cfq->lock, flags);
}

static int cfq_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct cfq_data *cfq;
	unsigned int class, level;

	if (!eq)
		return -ENOMEM;
	cfq = kzalloc_node(sizeof(*cfq), GFP_KERNEL, q->node);
	if (!cfq) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	spin_lock_init(&cfq->lock);
	cfq->q = q;
	INIT_LIST_HEAD(&cfq->requeued);
	for (class = 0; class < CFQ_CLASSES; class++) {
		INIT_LIST_HEAD(&cfq->turns[class]);
		for (level = 0; level < CFQ_LEVELS; level++)
			cfq_init_queue(&cfq->async[class][level], false);
	}
	hrtimer_init(&cfq->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	cfq->timer.function = cfq_timer;
	cfq_set_defaults(cfq);
	eq->elevator_data = cfq;

	/* One disk to share, however many hardware queues it has. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void cfq_exit_sched(struct elevator_queue *e)
{
	struct cfq_data *cfq = e->elevator_data;

	hrtimer_cancel(&cfq->timer);
	WARN_ON_ONCE(cfq->waiting || !list_empty(&cfq->requeued));
	kfree(cfq);
}

static struct elevator_type cfq_sched = {
	.ops = {
		.init_sched = cfq_init_sched,
		.exit_sched = cfq_exit_sched,
		.init_icq = cfq_init_icq,
		.exit_icq = cfq_exit_icq,
		.prepare_request = arm_prepare_request,
		.finish_request = arm_finish_request,
		.insert_requests = cfq_insert_requests,
		.dispatch_request = cfq_dispatch_request,
		.has_work = cfq_has_work,
		.allow_merge = cfq_allow_merge,
		.bio_merge = cfq_bio_merge,
		.requests_merged = cfq_requests_merged,
		.completed_request = cfq_completed_request,
		.requeue_request = cfq_requeue_request,
	},
	.icq_size = sizeof(struct cfq_process),
	.icq_align = __alignof__(struct cfq_process),
	.elevator_attrs = cfq_attrs,
	.elevator_name = "cfq",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(cfq_sched, "Completely fair queueing I/O scheduler");
