// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stream Batch Queuing (SBQ): hold requests back, and let them go as a batch.
 *
 * Written from the published description: J. Hwang, Q. Cai, A. Tang, R. Agarwal, "TCP ~ RDMA:
 * CPU-efficient Remote Storage Access with i10", USENIX NSDI 2020, and the same authors'
 * "Performance Evaluation of Stream Batch Queuing (SBQ) Linux I/O Scheduler", 2020.
 *
 * A request waits on the held list of a hold. The hold is released, that is, all its requests
 * move to the released list of the hardware queue, when it has batch_nr requests, or
 * batch_bytes bytes to write, or when its first request has waited for batch_timeout_us.
 * Only released requests are work for the block layer, which then takes them back to back,
 * so that the driver sees one burst.
 */

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-sched.h"

static bool hold_per_cpu;
module_param(hold_per_cpu, bool, 0644);
MODULE_PARM_DESC(hold_per_cpu,
		 "one hold for each submitting CPU instead of one for each hardware queue; read when a queue selects sbq");

enum sbq_knob {
	SBQ_BATCH_NR,
	SBQ_BATCH_BYTES,
	SBQ_BATCH_TIMEOUT_US,
	SBQ_KNOBS,
};

static const struct {
	unsigned int min, max, initial;
} sbq_range[SBQ_KNOBS] = {
	[SBQ_BATCH_NR] = { 1, 1024, 16 },
	[SBQ_BATCH_BYTES] = { 1, 16 << 20, 65536 },
	[SBQ_BATCH_TIMEOUT_US] = { 1, 100000, 50 },
};

enum sbq_counter {
	SBQ_RELEASED_BY_NR,	/* batches, by the cause of their release */
	SBQ_RELEASED_BY_BYTES,
	SBQ_RELEASED_BY_TIMEOUT,
	SBQ_HELD,		/* requests that entered a hold */
	SBQ_BYPASSED,		/* requests that did not: inserted at the head */
	SBQ_MERGED,		/* bios merged into held requests */
	SBQ_COUNTERS,
};

struct sbq_queue_data {
	struct request_queue *q;
	unsigned int knobs[SBQ_KNOBS];
};

struct sbq_hold {
	/* Protects all below but the timer; hardware interrupts (the timer) take it, too. */
	spinlock_t lock;
	struct list_head held;
	unsigned int nr;
	unsigned int write_bytes;
	u64 counters[SBQ_COUNTERS];
	struct hrtimer timer;
	struct blk_mq_hw_ctx *hctx;
} ____cacheline_aligned_in_smp;

struct sbq_hctx_data {
	/* Protects the released list and what was taken from it; inside the lock of a hold. */
	spinlock_t lock;
	struct list_head released;
	u64 dispatched;
	unsigned int nr_holds;
	struct sbq_hold holds[];
};

static unsigned int sbq_knob(struct elevator_queue *e, enum sbq_knob knob)
{
	struct sbq_queue_data *sbq = e->elevator_data;

	return READ_ONCE(sbq->knobs[knob]);
}

static struct sbq_hold *sbq_hold_of(struct blk_mq_hw_ctx *hctx, struct blk_mq_ctx *ctx)
{
	struct sbq_hctx_data *data = hctx->sched_data;

	return &data->holds[data->nr_holds > 1 ? ctx->index_hw[hctx->type] : 0];
}

/* Bytes that count towards batch_bytes: what the burst would carry, so no discards. */
static unsigned int sbq_write_bytes(blk_opf_t opf, unsigned int bytes)
{
	return (opf & REQ_OP_MASK) == REQ_OP_WRITE ? bytes : 0;
}

/* Who calls this makes sure that the hardware queue runs afterwards. */
static void sbq_release(struct sbq_hold *hold, enum sbq_counter cause)
{
	struct sbq_hctx_data *data = hold->hctx->sched_data;

	lockdep_assert_held(&hold->lock);
	spin_lock(&data->lock);
	list_splice_tail_init(&hold->held, &data->released);
	spin_unlock(&data->lock);
	hold->nr = 0;
	hold->write_bytes = 0;
	hold->counters[cause]++;
	/* Where this comes too late, the timer's function sees that nothing is due. */
	if (cause != SBQ_RELEASED_BY_TIMEOUT)
		hrtimer_try_to_cancel(&hold->timer);
}

static bool sbq_release_if_full(struct sbq_hold *hold)
{
	struct elevator_queue *e = hold->hctx->queue->elevator;

	if (hold->nr >= sbq_knob(e, SBQ_BATCH_NR))
		sbq_release(hold, SBQ_RELEASED_BY_NR);
	else if (hold->write_bytes >= sbq_knob(e, SBQ_BATCH_BYTES))
		sbq_release(hold, SBQ_RELEASED_BY_BYTES);
	else
		return false;
	return true;
}

static enum hrtimer_restart sbq_timeout(struct hrtimer *timer)
{
	struct sbq_hold *hold = container_of(timer, struct sbq_hold, timer);
	bool due;

	spin_lock(&hold->lock);
	/*
	 * While this function waited for the lock, its batch may have been released and a new
	 * hold begun. That one has set the timer anew, and its time has not come.
	 */
	due = hold->nr && ktime_compare(hrtimer_cb_get_time(timer),
					hrtimer_get_expires(timer)) >= 0;
	if (due)
		sbq_release(hold, SBQ_RELEASED_BY_TIMEOUT);
	spin_unlock(&hold->lock);

	if (due)
		blk_mq_run_hw_queue(hold->hctx, true);
	return HRTIMER_NORESTART;
}

static void sbq_hold_request(struct sbq_hold *hold, struct request *rq)
{
	struct elevator_queue *e = hold->hctx->queue->elevator;

	list_add_tail(&rq->queuelist, &hold->held);
	hold->counters[SBQ_HELD]++;
	hold->write_bytes += sbq_write_bytes(rq->cmd_flags, blk_rq_bytes(rq));
	hold->nr++;
	if (!sbq_release_if_full(hold) && hold->nr == 1)
		hrtimer_start(&hold->timer,
			      ns_to_ktime(sbq_knob(e, SBQ_BATCH_TIMEOUT_US) * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/* A request comes in at the head when it is inserted again: it has waited once. */
static void sbq_bypass_request(struct sbq_hold *hold, struct request *rq)
{
	struct sbq_hctx_data *data = hold->hctx->sched_data;

	spin_lock(&data->lock);
	list_add(&rq->queuelist, &data->released);
	spin_unlock(&data->lock);
	hold->counters[SBQ_BYPASSED]++;
}

/* The block layer runs the hardware queue after each insertion. */
static void sbq_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list, bool at_head)
{
	struct request *rq, *next;
	unsigned long flags;

	list_for_each_entry_safe(rq, next, list, queuelist) {
		struct sbq_hold *hold = sbq_hold_of(hctx, rq->mq_ctx);

		list_del_init(&rq->queuelist);
		spin_lock_irqsave(&hold->lock, flags);
		trace_block_rq_insert(rq);
		if (at_head)
			sbq_bypass_request(hold, rq);
		else
			sbq_hold_request(hold, rq);
		spin_unlock_irqrestore(&hold->lock, flags);
	}
}

/* A released batch stays as it is; only a held one can still grow. */
static bool sbq_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct blk_mq_ctx *ctx = blk_mq_get_ctx(q);
	struct blk_mq_hw_ctx *hctx = blk_mq_map_queue(q, bio->bi_opf, ctx);
	struct sbq_hold *hold = sbq_hold_of(hctx, ctx);
	unsigned int bytes = sbq_write_bytes(bio->bi_opf, bio->bi_iter.bi_size);
	bool merged, released = false;
	unsigned long flags;

	spin_lock_irqsave(&hold->lock, flags);
	merged = blk_bio_list_merge(q, &hold->held, bio, nr_segs);
	if (merged) {
		hold->counters[SBQ_MERGED]++;
		hold->write_bytes += bytes;
		released = sbq_release_if_full(hold);
	}
	spin_unlock_irqrestore(&hold->lock, flags);

	/* A merge is no insertion: nobody else runs the queue. */
	if (released)
		blk_mq_run_hw_queue(hctx, true);
	return merged;
}

static struct request *sbq_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct sbq_hctx_data *data = hctx->sched_data;
	struct request *rq;
	unsigned long flags;

	spin_lock_irqsave(&data->lock, flags);
	rq = list_first_entry_or_null(&data->released, struct request, queuelist);
	if (rq) {
		list_del_init(&rq->queuelist);
		data->dispatched++;
	}
	spin_unlock_irqrestore(&data->lock, flags);
	return rq;
}

/* Held requests are no work yet: otherwise each insertion would wake kblockd for nothing. */
static bool sbq_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct sbq_hctx_data *data = hctx->sched_data;

	return !list_empty_careful(&data->released);
}

static int sbq_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int hctx_idx)
{
	unsigned int nr_holds = READ_ONCE(hold_per_cpu) ? max_t(unsigned int, hctx->nr_ctx, 1) : 1;
	struct sbq_hctx_data *data;
	struct sbq_hold *hold;

	data = kzalloc_node(struct_size(data, holds, nr_holds), GFP_KERNEL, hctx->numa_node);
	if (!data)
		return -ENOMEM;

	spin_lock_init(&data->lock);
	INIT_LIST_HEAD(&data->released);
	data->nr_holds = nr_holds;
	for (hold = data->holds; hold < data->holds + nr_holds; hold++) {
		spin_lock_init(&hold->lock);
		INIT_LIST_HEAD(&hold->held);
		hrtimer_init(&hold->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
		hold->timer.function = sbq_timeout;
		hold->hctx = hctx;
	}
	hctx->sched_data = data;
	return 0;
}

/* The queue is frozen: no request is held or released, but a timer may still be set. */
static void sbq_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int hctx_idx)
{
	struct sbq_hctx_data *data = hctx->sched_data;
	struct sbq_hold *hold;

	WARN_ON_ONCE(!list_empty(&data->released));
	for (hold = data->holds; hold < data->holds + data->nr_holds; hold++) {
		hrtimer_cancel(&hold->timer);
		WARN_ON_ONCE(!list_empty(&hold->held));
	}
	kfree(data);
}

static int sbq_init_sched(struct request_queue *q, struct elevator_type *e)
{
	struct elevator_queue *eq = elevator_alloc(q, e);
	struct sbq_queue_data *sbq;
	enum sbq_knob knob;

	if (!eq)
		return -ENOMEM;

	sbq = kzalloc_node(sizeof(*sbq), GFP_KERNEL, q->node);
	if (!sbq) {
		kobject_put(&eq->kobj);
		return -ENOMEM;
	}
	sbq->q = q;
	for (knob = 0; knob < SBQ_KNOBS; knob++)
		sbq->knobs[knob] = sbq_range[knob].initial;
	eq->elevator_data = sbq;

	/* Each hardware queue has its own batches. */
	blk_queue_flag_clear(QUEUE_FLAG_SQ_SCHED, q);
	q->elevator = eq;
	return 0;
}

static void sbq_exit_sched(struct elevator_queue *e)
{
	kfree(e->elevator_data);
}

static ssize_t sbq_store(struct elevator_queue *e, enum sbq_knob knob, const char *page,
			 size_t count)
{
	struct sbq_queue_data *sbq = e->elevator_data;
	unsigned int value;
	int ret;

	ret = kstrtouint(page, 10, &value);
	if (ret)
		return ret;
	if (value < sbq_range[knob].min || value > sbq_range[knob].max)
		return -ERANGE;
	WRITE_ONCE(sbq->knobs[knob], value);
	return count;
}

static u64 sbq_counter(struct elevator_queue *e, enum sbq_counter counter)
{
	struct sbq_queue_data *sbq = e->elevator_data;
	struct blk_mq_hw_ctx *hctx;
	unsigned long i, flags;
	unsigned int nr;
	u64 sum = 0;

	queue_for_each_hw_ctx(sbq->q, hctx, i) {
		struct sbq_hctx_data *data = hctx->sched_data;

		for (nr = 0; nr < data->nr_holds; nr++) {
			struct sbq_hold *hold = &data->holds[nr];

			spin_lock_irqsave(&hold->lock, flags);
			sum += hold->counters[counter];
			spin_unlock_irqrestore(&hold->lock, flags);
		}
	}
	return sum;
}

static u64 sbq_dispatched(struct elevator_queue *e)
{
	struct sbq_queue_data *sbq = e->elevator_data;
	struct blk_mq_hw_ctx *hctx;
	unsigned long i, flags;
	u64 sum = 0;

	queue_for_each_hw_ctx(sbq->q, hctx, i) {
		struct sbq_hctx_data *data = hctx->sched_data;

		spin_lock_irqsave(&data->lock, flags);
		sum += data->dispatched;
		spin_unlock_irqrestore(&data->lock, flags);
	}
	return sum;
}

#define SBQ_SHOW(name, value)								\
static ssize_t sbq_##name##_show(struct elevator_queue *e, char *page)			\
{											\
	return sysfs_emit(page, "%llu\n", (u64)(value));				\
}

SBQ_SHOW(batch_nr, sbq_knob(e, SBQ_BATCH_NR))
SBQ_SHOW(batch_bytes, sbq_knob(e, SBQ_BATCH_BYTES))
SBQ_SHOW(batch_timeout_us, sbq_knob(e, SBQ_BATCH_TIMEOUT_US))
SBQ_SHOW(released_by_nr, sbq_counter(e, SBQ_RELEASED_BY_NR))
SBQ_SHOW(released_by_bytes, sbq_counter(e, SBQ_RELEASED_BY_BYTES))
SBQ_SHOW(released_by_timeout, sbq_counter(e, SBQ_RELEASED_BY_TIMEOUT))
SBQ_SHOW(held, sbq_counter(e, SBQ_HELD))
SBQ_SHOW(bypassed, sbq_counter(e, SBQ_BYPASSED))
SBQ_SHOW(merged, sbq_counter(e, SBQ_MERGED))
SBQ_SHOW(dispatched, sbq_dispatched(e))
#undef SBQ_SHOW

#define SBQ_STORE(name, knob)								\
static ssize_t sbq_##name##_store(struct elevator_queue *e, const char *page, size_t count) \
{											\
	return sbq_store(e, knob, page, count);						\
}

SBQ_STORE(batch_nr, SBQ_BATCH_NR)
SBQ_STORE(batch_bytes, SBQ_BATCH_BYTES)
SBQ_STORE(batch_timeout_us, SBQ_BATCH_TIMEOUT_US)
#undef SBQ_STORE

#define SBQ_KNOB(name) __ATTR(name, 0644, sbq_##name##_show, sbq_##name##_store)
#define SBQ_COUNTER(name) __ATTR(name, 0444, sbq_##name##_show, NULL)

static struct elv_fs_entry sbq_attrs[] = {
	SBQ_KNOB(batch_nr),
	SBQ_KNOB(batch_bytes),
	SBQ_KNOB(batch_timeout_us),
	SBQ_COUNTER(released_by_nr),
	SBQ_COUNTER(released_by_bytes),
	SBQ_COUNTER(released_by_timeout),
	SBQ_COUNTER(held),
	SBQ_COUNTER(bypassed),
	SBQ_COUNTER(merged),
	SBQ_COUNTER(dispatched),
	__ATTR_NULL
};

static struct elevator_type sbq_sched = {
	.ops = {
		.init_sched = sbq_init_sched,
		.exit_sched = sbq_exit_sched,
		.init_hctx = sbq_init_hctx,
		.exit_hctx = sbq_exit_hctx,
		.insert_requests = sbq_insert_requests,
		.bio_merge = sbq_bio_merge,
		.dispatch_request = sbq_dispatch_request,
		.has_work = sbq_has_work,
	},
	.elevator_attrs = sbq_attrs,
	.elevator_name = "sbq",
	.elevator_owner = THIS_MODULE,
};

static int __init sbq_init(void)
{
	return elv_register(&sbq_sched);
}

static void __exit sbq_exit(void)
{
	elv_unregister(&sbq_sched);
}

module_init(sbq_init);
module_exit(sbq_exit);

MODULE_AUTHOR("Elevator Lab contributors");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Stream Batch Queuing I/O scheduler");
MODULE_ALIAS("sbq-iosched");
