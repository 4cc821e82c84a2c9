/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queues of CFQ: one for each process's synchronous requests, and one for the asynchronous
 * requests of each priority. How long one is served, and whether it is worth waiting for.
 */
#ifndef CFQ_QUEUES_H
#define CFQ_QUEUES_H

#include <linux/hrtimer.h>
#include <linux/ioprio.h>

#include "one-arm.h"

#define CFQ_CLASSES	3		/* real-time, best effort, idle: the first one goes first */
#define CFQ_LEVELS	8		/* of priority in a class; 0 is the highest */
#define CFQ_NORMAL	4
#define CFQ_SEEK	(8 * 100)	/* sectors: a request further from the last one is a seek */
#define CFQ_SEEKS	4		/* among 32 requests: more of them are no sequence */

/* How long it takes from the end of a request to the next one. */
struct cfq_thinking {
	u64 ended_ns;			/* when the last one did */
	u64 mean_ns;			/* of the last few */
	unsigned int seen;
};

struct cfq_queue {
	struct rb_root sorted;		/* its requests by their place */
	struct list_head fifo;		/* the same, by their time */
	struct list_head turn;		/* where it waits to be served */
	bool sync;
	bool exited;			/* the process is gone */
	bool expects;			/* its last request said that more will come */
	unsigned int class, level;
	unsigned int in_device;		/* requests that have not ended */
	sector_t last_end;		/* where its last request ended */
	u32 seeks;			/* its last 32 requests, a bit each */
	struct cfq_thinking thinking;
};

struct cfq_process {
	struct io_cq icq;		/* first: the kernel makes and frees it */
	struct cfq_queue queue;
};

struct cfq_data {
	/* Protects all below; completions take it, too, with interrupts off. */
	spinlock_t lock;
	struct request_queue *q;
	struct list_head turns[CFQ_CLASSES];
	struct cfq_queue async[CFQ_CLASSES][CFQ_LEVELS];
	struct list_head requeued;	/* what the disk could not take: goes first */
	unsigned int waiting;		/* requests in all queues */
	unsigned int sync_busy;		/* queues of processes that have some */
	struct cfq_thinking without_idle[CFQ_CLASSES];	/* of queues that are no sequence */
	struct cfq_queue *active;	/* the one that is served */
	u64 slice_end_ns;		/* until when */
	unsigned int slice_requests;	/* how many of its requests went */
	bool checked_fifo;		/* in this slice */
	bool idling;			/* for the active queue, until the timer rings */
	struct hrtimer timer;
	sector_t head;			/* where the last request of all ended */
	struct cfq_queue *merging;	/* whose bio looks for a request */

	/* Tunables, in the units of their names in sysfs (milliseconds, KiB, requests). */
	unsigned int slice_sync, slice_async, slice_async_rq, slice_idle;
	unsigned int quantum, fifo_expire_sync, fifo_expire_async;
	unsigned int back_seek_max, back_seek_penalty;
	unsigned int low_latency, target_latency;
};

static bool cfq_has_requests(struct cfq_queue *queue)
{
	return !RB_EMPTY_ROOT(&queue->sorted);
}

static void cfq_init_queue(struct cfq_queue *queue, bool sync)
{
	queue->sync = sync;
	queue->sorted = RB_ROOT;
	INIT_LIST_HEAD(&queue->fifo);
	INIT_LIST_HEAD(&queue->turn);
}

/* The documented shares: a level is a fifth of @base more or less than the next. */
static u64 cfq_by_priority(struct cfq_queue *queue, u64 base)
{
	return base * (5 + CFQ_NORMAL - queue->level) / 5;
}

/*
 * Return the length of a queue's slice. With low_latency, the slices of all processes together
 * take no longer than target_latency.
 */
static u64 cfq_slice_ns(struct cfq_data *cfq, struct cfq_queue *queue)
{
	unsigned int base_ms = queue->sync ? cfq->slice_sync : cfq->slice_async;
	u64 slice_ns = cfq_by_priority(queue, base_ms * (u64)NSEC_PER_MSEC);
	u64 all_ms = (u64)cfq->slice_sync * cfq->sync_busy;

	if (queue->sync && cfq->low_latency && all_ms > cfq->target_latency)
		slice_ns = div64_u64(slice_ns * cfq->target_latency, all_ms);
	return slice_ns;
}

static bool cfq_slice_used(struct cfq_data *cfq, struct cfq_queue *queue)
{
	if (!queue->sync && cfq->slice_requests >=
			    max_t(u64, cfq_by_priority(queue, cfq->slice_async_rq), 1))
		return true;
	return cfq->slice_requests && ktime_get_ns() >= cfq->slice_end_ns;
}

static u64 cfq_idle_ns(struct cfq_data *cfq)
{
	return cfq->slice_idle * (u64)NSEC_PER_MSEC;
}

/* A think time counts as at most twice the wait: a long break is not remembered for long. */
static void cfq_learn(struct cfq_data *cfq, struct cfq_thinking *thinking)
{
	s64 seen_ns = min(ktime_get_ns() - thinking->ended_ns, 2 * cfq_idle_ns(cfq));

	if (!thinking->ended_ns)
		return;
	thinking->seen = min(thinking->seen + 1, 8U);
	thinking->mean_ns += div_s64(seen_ns - (s64)thinking->mean_ns, thinking->seen);
}

/* Tell whether the next request is known to come too late to wait for it. */
static bool cfq_thinks_long(struct cfq_data *cfq, struct cfq_thinking *thinking)
{
	return thinking->seen > 2 && thinking->mean_ns > cfq_idle_ns(cfq);
}

/* Tell whether a queue has nothing of a sequence, or is not worth a wait on this device. */
static bool cfq_no_idle(struct cfq_data *cfq, struct cfq_queue *queue)
{
	bool many = blk_queue_nonrot(cfq->q) && cfq->q->tag_set->queue_depth > 1;

	return many || !queue->expects || hweight32(queue->seeks) > CFQ_SEEKS ||
	       cfq_thinks_long(cfq, &queue->thinking);
}

/* Tell whether another process of the same class waits that is not worth a wait itself. */
static bool cfq_others_without_idle(struct cfq_data *cfq, struct cfq_queue *queue)
{
	struct cfq_queue *other;

	list_for_each_entry(other, &cfq->turns[queue->class], turn)
		if (other->sync && cfq_no_idle(cfq, other))
			return true;
	return false;
}

/*
 * Tell whether the disk is to stay idle until a queue that has run empty has a request again.
 *
 * Each sequential reader is waited for. Those without a sequence are one group: only the last of
 * them that has requests is waited for.
 */
static bool cfq_idles_for(struct cfq_data *cfq, struct cfq_queue *queue)
{
	if (!queue->sync || queue->exited || queue->class == CFQ_CLASSES - 1 || !cfq->slice_idle)
		return false;
	if (!cfq_no_idle(cfq, queue))
		return true;
	return !cfq_others_without_idle(cfq, queue) &&
	       !cfq_thinks_long(cfq, &cfq->without_idle[queue->class]);
}

/* A process asks for something: how long did it think, and how far is it from its last place? */
static void cfq_observe(struct cfq_data *cfq, struct cfq_queue *queue, struct request *rq)
{
	bool seek = queue->last_end && arm_distance(queue->last_end, rq) > CFQ_SEEK;

	queue->seeks = queue->seeks << 1 | seek;
	queue->last_end = blk_rq_pos(rq) + blk_rq_sectors(rq);
	/* A journal's writes say it, too, but are among those that the documents do not wait for. */
	queue->expects = rq_data_dir(rq) == READ ||
			 (rq->cmd_flags & (REQ_IDLE | REQ_META)) == REQ_IDLE;
	cfq_learn(cfq, &queue->thinking);
	if (queue->sync && cfq_no_idle(cfq, queue))
		cfq_learn(cfq, &cfq->without_idle[queue->class]);
}

/* Return the queue of a request: its process's, or that of its priority. */
static struct cfq_queue *cfq_queue_for(struct cfq_data *cfq, struct request *rq)
{
	unsigned int class = IOPRIO_PRIO_CLASS(req_get_ioprio(rq));
	unsigned int level = IOPRIO_PRIO_DATA(req_get_ioprio(rq)) % CFQ_LEVELS;
	struct cfq_queue *queue;

	if (class == IOPRIO_CLASS_NONE) {
		class = IOPRIO_CLASS_BE;
		level = CFQ_NORMAL;
	}
	class -= IOPRIO_CLASS_RT;
	if (rq_is_sync(rq) && rq->elv.icq)
		queue = &container_of(rq->elv.icq, struct cfq_process, icq)->queue;
	else
		queue = &cfq->async[class][level];
	queue->class = class;
	queue->level = level;
	return queue;
}

static struct request *cfq_oldest(struct cfq_queue *queue)
{
	return list_first_entry(&queue->fifo, struct request, queuelist);
}

static bool cfq_expired(struct cfq_data *cfq, struct cfq_queue *queue)
{
	return arm_expired(cfq_oldest(queue),
			   queue->sync ? cfq->fifo_expire_sync : cfq->fifo_expire_async);
}

/*
 * Return the next request of a queue that has some: once a slice the oldest, if it has expired;
 * otherwise the nearest. The way back is dearer, and goes only so far.
 */
static struct request *cfq_next(struct cfq_data *cfq, struct cfq_queue *queue)
{
	struct request *above, *below;
	u64 distance;

	if (!cfq->checked_fifo) {
		cfq->checked_fifo = true;
		if (cfq_expired(cfq, queue))
			return cfq_oldest(queue);
	}
	above = arm_first_from(&queue->sorted, cfq->head);
	below = arm_last_below(&queue->sorted, cfq->head);
	if (!below)
		return above;
	distance = cfq->head - blk_rq_pos(below);
	if (distance <= cfq->back_seek_max * 2ULL &&
	    (!above || distance * cfq->back_seek_penalty < blk_rq_pos(above) - cfq->head))
		return below;
	return above ?: rb_entry_rq(rb_first(&queue->sorted));
}

#endif
