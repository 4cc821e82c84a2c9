/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose turn it is, until when, and when the disk stays idle because of it. */
#ifndef CFQ_TURNS_H
#define CFQ_TURNS_H

#include "queues.h"

/* The active queue has had its turn. */
static void cfq_expire(struct cfq_data *cfq)
{
	struct cfq_queue *queue = cfq->active;

	cfq->active = NULL;
	cfq->idling = false;
	if (cfq_has_requests(queue))
		list_add_tail(&queue->turn, &cfq->turns[queue->class]);
}

/* Return the first class in which a queue waits for its turn; none: CFQ_CLASSES. */
static unsigned int cfq_first_class(struct cfq_data *cfq)
{
	unsigned int class = 0;

	while (class < CFQ_CLASSES && list_empty(&cfq->turns[class]))
		class++;
	return class;
}

/* Nobody of a lower class ends a turn: it has the disk when nobody else has a use for it. */
static bool cfq_turn_is_over(struct cfq_data *cfq, struct cfq_queue *queue)
{
	unsigned int class = cfq_first_class(cfq);

	return class < queue->class || (class == queue->class && cfq_slice_used(cfq, queue));
}

/* Return the queue that is to be served; NULL: none, or the disk is to stay idle. */
static struct cfq_queue *cfq_select(struct cfq_data *cfq)
{
	struct cfq_queue *queue = cfq->active;
	unsigned int class;

	if (queue) {
		bool over = cfq_turn_is_over(cfq, queue);

		if (!over && cfq_has_requests(queue))
			return queue;
		if (!over && (cfq->idling || (queue->in_device && cfq_idles_for(cfq, queue))))
			return NULL;
		cfq_expire(cfq);
	}
	class = cfq_first_class(cfq);
	if (class == CFQ_CLASSES)
		return NULL;
	queue = list_first_entry(&cfq->turns[class], struct cfq_queue, turn);
	list_del_init(&queue->turn);
	cfq->active = queue;
	cfq->slice_requests = 0;
	cfq->checked_fifo = false;
	cfq->slice_end_ns = ktime_get_ns() + cfq_slice_ns(cfq, queue);
	return queue;
}

static struct request *cfq_choose(struct cfq_data *cfq)
{
	struct request *rq = list_first_entry_or_null(&cfq->requeued, struct request, queuelist);
	struct cfq_queue *queue;

	if (rq)
		return rq;
	queue = cfq_select(cfq);
	if (!queue || (queue->sync && queue->in_device >= cfq->quantum))
		return NULL;
	cfq->slice_requests++;
	return cfq_next(cfq, queue);
}

/* Tell whether a new request ends the wait for the active queue. */
static bool cfq_ends_wait(struct cfq_data *cfq, struct cfq_queue *queue)
{
	return queue == cfq->active || queue->class < cfq->active->class ||
	       (queue->sync && cfq_no_idle(cfq, queue) && cfq_no_idle(cfq, cfq->active));
}

/* A request has left the device: is its queue empty, and worth a wait? */
static void cfq_left_device(struct cfq_data *cfq, struct request *rq)
{
	struct cfq_queue *queue = rq->elv.priv[1];
	u64 now_ns = ktime_get_ns();

	rq->elv.priv[1] = NULL;
	queue->in_device--;
	queue->thinking.ended_ns = now_ns;
	if (queue->sync && cfq_no_idle(cfq, queue))
		cfq->without_idle[queue->class].ended_ns = now_ns;
	if (queue != cfq->active || queue->in_device || cfq_has_requests(queue))
		return;
	if (cfq_turn_is_over(cfq, queue) || !cfq_idles_for(cfq, queue)) {
		cfq_expire(cfq);
		return;
	}
	cfq->idling = true;
	hrtimer_start(&cfq->timer, min(cfq_idle_ns(cfq), cfq->slice_end_ns - now_ns), HRTIMER_MODE_REL);
}

#endif
