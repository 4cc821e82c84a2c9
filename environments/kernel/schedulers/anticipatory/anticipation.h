/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which request goes next, and when it pays to wait for a process's next one instead: from what is
 * known of the disk's times and of each process's places and pauses.
 *
 * Old experience weighs less: by an eighth with each new one.
 */
#ifndef ANTICIPATION_H
#define ANTICIPATION_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/iocontext.h>
#include <linux/jiffies.h>

#include "elevator.h"

#define AS_DISTANCES	64			/* classes: by the binary logarithm, sectors */
#define AS_THINK_NS	(500ULL * NSEC_PER_USEC)	/* width of a class of think times */
#define AS_THINKS	32			/* classes: 16 ms, and what is longer in the last */
#define AS_COUNT	1024			/* what one observation counts for */

struct as_think {
	u32 count[AS_THINKS];
};

struct as_data {
	/* Protects all below; completions take it, too, with interrupts off. */
	spinlock_t lock;
	struct request_queue *q;
	struct rb_root sorted;		/* all that wait, by their place */
	struct list_head arrived;	/* the same, by their time */
	struct list_head requeued;	/* what the disk could not take: goes first */
	struct request *serving;	/* the disk has one request at a time */
	u64 began_ns;			/* since when */
	sector_t distance;		/* how far the arm had to go for it */
	sector_t own_distance;		/* and how far from its process's last request */
	sector_t arm;			/* where the last request ended */
	u64 positioning_ns[AS_DISTANCES];
	struct as_process *last;	/* whose synchronous request ended last */
	bool waiting;			/* for it, until the timer rings */
	struct hrtimer timer;
	unsigned int expire_ms;		/* longest wait of a request; 0: no limit */
	unsigned int antic_expire_ms;	/* longest time to keep the disk idle */
};

/* What is known of a process. The kernel makes and frees it with the process's use of the disk. */
struct as_process {
	struct io_cq icq;		/* first */
	unsigned int pending;		/* its synchronous requests that wait */
	bool exited;
	u64 ended_ns;			/* when its last one did */
	sector_t arm;			/* where its last one was */
	u64 positioning_ns;		/* from one to the next, if nobody came between */
	struct as_think think;
};

/* Return whose synchronous request it is; NULL: it is asynchronous, or nobody is known. */
static struct as_process *as_process_of(struct request *rq)
{
	if (!rq_is_sync(rq) || !rq->elv.icq)
		return NULL;
	return container_of(rq->elv.icq, struct as_process, icq);
}

static sector_t as_distance(sector_t arm, struct request *rq)
{
	sector_t place = blk_rq_pos(rq);

	return place > arm ? place - arm : arm - place;
}

/*
 * Return what is known of the time to get so far. A distance that was not seen yet is taken for
 * no way at all: so the arm goes, and it is seen.
 */
static u64 *as_positioning(struct as_data *as, sector_t distance)
{
	return &as->positioning_ns[fls64(distance) % AS_DISTANCES];
}

static void as_learn_mean(u64 *mean_ns, u64 seen_ns)
{
	*mean_ns = *mean_ns ? *mean_ns - *mean_ns / 8 + seen_ns / 8 : seen_ns;
}

static void as_learn_think(struct as_think *think, u64 thought_ns)
{
	unsigned int i;

	for (i = 0; i < AS_THINKS; i++)
		think->count[i] -= think->count[i] / 8;
	think->count[min_t(u64, thought_ns / AS_THINK_NS, AS_THINKS - 1)] += AS_COUNT;
}

/* Return the time in which @percent in 100 of its thoughts ended; 0 where none was seen. */
static u64 as_think_ns(const struct as_think *think, unsigned int percent)
{
	u32 total = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < AS_THINKS; i++)
		total += think->count[i];
	for (i = 0; i < AS_THINKS && seen * 100 < total * percent; i++)
		seen += think->count[i];
	return i * AS_THINK_NS;
}

static bool as_expired(struct as_data *as, struct request *oldest)
{
	return as->expire_ms && time_after_eq64(get_jiffies_64(), oldest->fifo_time +
						msecs_to_jiffies(as->expire_ms));
}

static struct request *as_nearest(struct as_data *as)
{
	struct rb_node *node = as->sorted.rb_node;
	struct request *nearest = NULL;

	/* The way down the tree passes both neighbours of the arm. */
	while (node) {
		struct request *rq = rb_entry_rq(node);

		if (!nearest || as_distance(as->arm, rq) <= as_distance(as->arm, nearest))
			nearest = rq;
		node = blk_rq_pos(rq) < as->arm ? node->rb_right : node->rb_left;
	}
	return nearest;
}

/*
 * Return how long to keep the disk idle although @next waits, in nanoseconds; 0: take @next.
 *
 * To wait is worth what the arm's way to @next takes more than the way to the last process's next
 * request, which is thought to be as far as those before. It costs the time until that request
 * comes, by half of the process's think times. Where that pays, the wait ends when 95 in 100 of
 * its think times would have ended.
 */
static u64 as_wait_ns(struct as_data *as, struct request *next)
{
	struct as_process *last = as->last;
	u64 elapsed_ns, most_ns, benefit_ns;

	if (!last || last->pending)
		return 0;
	elapsed_ns = ktime_get_ns() - last->ended_ns;
	benefit_ns = *as_positioning(as, as_distance(as->arm, next));
	if (benefit_ns <= last->positioning_ns)
		return 0;
	benefit_ns -= last->positioning_ns;
	if (as_think_ns(&last->think, 50) >= benefit_ns + elapsed_ns)
		return 0;
	most_ns = min_t(u64, as_think_ns(&last->think, 95),
			as->antic_expire_ms * (u64)NSEC_PER_MSEC);
	return most_ns > elapsed_ns ? most_ns - elapsed_ns : 0;
}

/* Return what goes next; NULL: nothing yet, and the timer is set if a process is waited for. */
static struct request *as_choose(struct as_data *as)
{
	struct request *oldest, *rq;
	u64 wait_ns;

	rq = list_first_entry_or_null(&as->requeued, struct request, queuelist);
	if (rq)
		return rq;
	oldest = list_first_entry_or_null(&as->arrived, struct request, queuelist);
	if (!oldest || as_expired(as, oldest))
		return oldest;
	rq = as_nearest(as);
	wait_ns = as_wait_ns(as, rq);
	if (!wait_ns)
		return rq;
	as->waiting = true;
	hrtimer_start(&as->timer, ns_to_ktime(wait_ns), HRTIMER_MODE_REL);
	return NULL;
}

/* A process has a request more; if it had none, it has thought until now. */
static void as_process_asks(struct as_data *as, struct as_process *process)
{
	bool served = as->serving && as_process_of(as->serving) == process;

	if (!process->pending++ && !served && process->ended_ns)
		as_learn_think(&process->think, ktime_get_ns() - process->ended_ns);
}

static void as_serve(struct as_data *as, struct request *rq)
{
	struct as_process *process = as_process_of(rq);

	as->serving = rq;
	as->began_ns = ktime_get_ns();
	as->distance = as_distance(as->arm, rq);
	as->arm = blk_rq_pos(rq) + blk_rq_sectors(rq);
	if (process) {
		as->own_distance = as_distance(process->arm, rq);
		process->arm = as->arm;
	}
}

static void as_learn(struct as_data *as, struct request *rq, u64 now_ns)
{
	struct as_process *process = as_process_of(rq);
	u64 took_ns = now_ns - as->began_ns;

	as_learn_mean(as_positioning(as, as->distance), took_ns);
	if (process) {
		as_learn_mean(&process->positioning_ns,
			      *as_positioning(as, as->own_distance));
		process->ended_ns = now_ns;
	}
	as->last = process && !process->exited ? process : NULL;
}

#endif
