// SPDX-License-Identifier: GPL-2.0-only
/*
 * Anticipatory: keep the disk idle for the process that has just read, when that pays.
 *
 * Written from S. Iyer, P. Druschel, "Anticipatory scheduling: a disk scheduling framework to
 * overcome deceptive idleness in synchronous I/O", SOSP 2001. The order is that of the shortest
 * seek with a limit on waiting; README.md says what the paper has beyond that, and leaves open.
 * Old experience weighs less: by an eighth with each new one.
 */

#include <linux/hrtimer.h>

#include "one-arm.h"

#define AS_DISTANCES	64			/* classes: by the binary logarithm, sectors */
#define AS_THINK_NS	(500ULL * NSEC_PER_USEC)	/* width of a class of think times */
#define AS_THINKS	32			/* classes: 16 ms, and what is longer in the last */
#define AS_COUNT	1024			/* what one observation counts for */

struct as_data {
	struct one_arm arm;		/* first */
	struct request *serving;	/* the disk has one request at a time */
	u64 began_ns;			/* since when */
	sector_t distance, own_distance;	/* to it: the arm's, and from its process's last */
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
	u32 thinks[AS_THINKS];
};

/* Return whose synchronous request it is; NULL: it is asynchronous, or nobody is known. */
static struct as_process *as_process_of(struct request *rq)
{
	return rq_is_sync(rq) && rq->elv.icq ? container_of(rq->elv.icq, struct as_process, icq) : NULL;
}

/* Return the time to get so far, as known. A distance never seen is no way at all: so it is seen. */
static u64 *as_positioning(struct as_data *as, sector_t distance)
{
	return &as->positioning_ns[fls64(distance) % AS_DISTANCES];
}

static void as_learn_mean(u64 *mean_ns, u64 seen_ns)
{
	*mean_ns = *mean_ns ? *mean_ns - *mean_ns / 8 + seen_ns / 8 : seen_ns;
}

static void as_learn_think(struct as_process *process, u64 thought_ns)
{
	unsigned int i;

	for (i = 0; i < AS_THINKS; i++)
		process->thinks[i] -= process->thinks[i] / 8;
	process->thinks[min_t(u64, thought_ns / AS_THINK_NS, AS_THINKS - 1)] += AS_COUNT;
}

/* Return the time in which @percent in 100 of its thoughts ended; 0 where none was seen. */
static u64 as_think_ns(const struct as_process *process, unsigned int percent)
{
	u32 total = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < AS_THINKS; i++)
		total += process->thinks[i];
	for (i = 0; i < AS_THINKS && seen * 100 < total * percent; i++)
		seen += process->thinks[i];
	return i * AS_THINK_NS;
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
	u64 elapsed_ns, most_ns;
	s64 benefit_ns;

	if (!last || last->pending)
		return 0;
	elapsed_ns = ktime_get_ns() - last->ended_ns;
	benefit_ns = *as_positioning(as, arm_distance(as->arm.head, next)) - last->positioning_ns;
	if (benefit_ns <= 0 || as_think_ns(last, 50) >= benefit_ns + elapsed_ns)
		return 0;
	most_ns = min(as_think_ns(last, 95), as->antic_expire_ms * (u64)NSEC_PER_MSEC);
	return most_ns > elapsed_ns ? most_ns - elapsed_ns : 0;
}

/* Return what goes next; NULL: nothing yet, and the timer is set if a process is waited for. */
static struct request *as_choose(struct as_data *as)
{
	struct request *oldest = arm_oldest(&as->arm), *rq;
	u64 wait_ns;

	if (!list_empty(&as->arm.requeued))
		return list_first_entry(&as->arm.requeued, struct request, queuelist);
	if (!oldest || arm_expired(oldest, READ_ONCE(as->expire_ms)))
		return oldest;
	rq = arm_nearest(&as->arm);
	wait_ns = as_wait_ns(as, rq);
	if (!wait_ns)
		return rq;
	as->waiting = true;
	hrtimer_start(&as->timer, ns_to_ktime(wait_ns), HRTIMER_MODE_REL);
	return NULL;
}

/* Whoever was waited for, there is another choice now. If its process had none, it has thought. */
static void as_came(struct one_arm *arm, struct request *rq)
{
	struct as_data *as = container_of(arm, struct as_data, arm);
	struct as_process *process = as_process_of(rq);
	bool served = process && as->serving && as_process_of(as->serving) == process;

	as->waiting = false;
	if (process && !process->pending++ && !served && process->ended_ns)
		as_learn_think(process, ktime_get_ns() - process->ended_ns);
}

static void as_went(struct one_arm *arm, struct request *rq)
{
	if (as_process_of(rq))
		as_process_of(rq)->pending--;
}

static void as_serve(struct as_data *as, struct request *rq)
{
	struct as_process *process = as_process_of(rq);

	arm_remove(&as->arm, rq);
	as->serving = rq;
	as->began_ns = ktime_get_ns();
	as->distance = arm_distance(as->arm.head, rq);
	as->arm.head = blk_rq_pos(rq) + blk_rq_sectors(rq);
	if (process) {
		as->own_distance = arm_distance(process->arm, rq);
		process->arm = as->arm.head;
	}
}

static void as_learn(struct as_data *as, struct request *rq, u64 now_ns)
{
	struct as_process *process = as_process_of(rq);

	as_learn_mean(as_positioning(as, as->distance), now_ns - as->began_ns);
	if (process) {
		as_learn_mean(&process->positioning_ns, *as_positioning(as, as->own_distance));
		process->ended_ns = now_ns;
	}
	as->last = process && !process->exited ? process : NULL;
}

static struct request *as_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct as_data *as = hctx->queue->elevator->elevator_data;
	struct request *rq;

	spin_lock_irq(&as->arm.lock);
	rq = as->serving ? NULL : as_choose(as);
	if (rq)
		as_serve(as, rq);
	spin_unlock_irq(&as->arm.lock);
	return rq;
}

static bool as_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct as_data *as = hctx->queue->elevator->elevator_data;

	return !READ_ONCE(as->serving) && arm_has_work(hctx) &&
	       (!READ_ONCE(as->waiting) || !list_empty_careful(&as->arm.requeued));
}

/* Look again, also where nobody came: then the time that was waited is enough. */
static enum hrtimer_restart as_timer(struct hrtimer *timer)
{
	struct as_data *as = container_of(timer, struct as_data, timer);

	WRITE_ONCE(as->waiting, false);
	blk_mq_run_hw_queues(as->arm.q, true);
	return HRTIMER_NORESTART;
}

static void as_left_disk(struct request *rq, u64 ended_ns)
{
	struct as_data *as = rq->q->elevator->elevator_data;
	unsigned long flags;

	spin_lock_irqsave(&as->arm.lock, flags);
	if (as->serving == rq) {
		as->serving = NULL;
		if (ended_ns)
			as_learn(as, rq, ended_ns);
	}
	spin_unlock_irqrestore(&as->arm.lock, flags);
}

static void as_completed_request(struct request *rq, u64 now_ns)
{
	as_left_disk(rq, now_ns);
	blk_mq_run_hw_queues(rq->q, true);
}

static void as_requeue_request(struct request *rq)
{
	as_left_disk(rq, 0);
}

/* Nobody waits for a process that is gone. */
static void as_exit_icq(struct io_cq *icq)
{
	struct as_data *as = icq->q->elevator->elevator_data;
	struct as_process *process = container_of(icq, struct as_process, icq);
	unsigned long flags;

	spin_lock_irqsave(&as->arm.lock, flags);
	process->exited = true;
	if (as->last == process) {
		as->last = NULL;
		if (as->waiting)
			hrtimer_start(&as->timer, 0, HRTIMER_MODE_REL);
	}
	spin_unlock_irqrestore(&as->arm.lock, flags);
}

static int as_init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct as_data *as = (struct as_data *)arm_begin(q, type, sizeof(*as));

	if (!as)
		return -ENOMEM;
	as->arm.came = as_came;
	as->arm.went = as_went;
	hrtimer_init(&as->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	as->timer.function = as_timer;
	as->expire_ms = 500;
	as->antic_expire_ms = 15;
	return 0;
}

static void as_exit_sched(struct elevator_queue *e)
{
	struct as_data *as = e->elevator_data;

	hrtimer_cancel(&as->timer);
	arm_exit_sched(e);
}

ARM_TUNABLE(as_data, expire_ms, 0)
ARM_TUNABLE(as_data, antic_expire_ms, 0)

static struct elv_fs_entry as_attrs[] = {
	ARM_TUNED(as_data, expire_ms),
	ARM_TUNED(as_data, antic_expire_ms),
	__ATTR_NULL
};

static struct elevator_type as_sched = {
	.ops = {
		.init_sched = as_init_sched,
		.exit_sched = as_exit_sched,
		.prepare_request = arm_prepare_request,
		.finish_request = arm_finish_request,
		.insert_requests = arm_insert_requests,
		.dispatch_request = as_dispatch_request,
		.has_work = as_has_work,
		.bio_merge = arm_bio_merge,
		.requests_merged = arm_requests_merged,
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

ARM_MODULE(as_sched, "Anticipatory I/O scheduler");
