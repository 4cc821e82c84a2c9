// SPDX-License-Identifier: GPL-2.0-only
/* The queue inside the drive: which request is next, and when it is answered. */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "disk.h"
#define CREATE_TRACE_POINTS
#include "trace.h"

static void answer_at(struct drive_command *command)
{
	hrtimer_start(&command->answer, ns_to_ktime(command->service.finish_ns),
		      HRTIMER_MODE_ABS_HARD);
}

static struct drive_command *nearest_of(struct drive_member *member, u64 now_ns)
{
	struct drive_command *command, *nearest = NULL;
	u64 least_ns = U64_MAX;

	list_for_each_entry(command, &member->waiting, waiting) {
		u64 time_ns = drive_estimate_ns(&member->model, &command->request,
						&command->place, now_ns);

		if (time_ns < least_ns) {
			least_ns = time_ns;
			nearest = command;
		}
	}
	return nearest;
}

/* With the member's lock held: begin the next command, if there is one. */
static void serve_next(struct drive_member *member, u64 now_ns)
{
	struct drive_command *command =
		member->model.is->queue_order == DRIVE_SHORTEST_POSITIONING ?
			nearest_of(member, now_ns) :
			list_first_entry_or_null(&member->waiting, struct drive_command, waiting);

	member->busy = command;
	if (!command)
		return;
	list_del(&command->waiting);
	drive_serve(&member->model, &command->request, now_ns, &command->service);
	trace_drive_serve(blk_mq_rq_from_pdu(command), &command->request, &command->service);
	answer_at(command);
}

static enum hrtimer_restart answer(struct hrtimer *timer)
{
	struct drive_command *command = container_of(timer, struct drive_command, answer);
	struct drive_member *member = command->member;
	unsigned long flags;

	if (member) {
		spin_lock_irqsave(&member->lock, flags);
		serve_next(member, ktime_get_ns());
		spin_unlock_irqrestore(&member->lock, flags);
	}
	blk_mq_complete_request(blk_mq_rq_from_pdu(command));
	return HRTIMER_NORESTART;
}

/* A flush ends when everything that any member has accepted is on its platter. */
static void flush(struct drive_command *command)
{
	struct drive_disk *disk = command->disk;
	u64 now_ns = ktime_get_ns(), end_ns = now_ns;

	command->member = NULL;
	for (u64 i = 0; i < disk->is->members; i++) {
		struct drive_member *member = &disk->members[i];
		unsigned long flags;

		spin_lock_irqsave(&member->lock, flags);
		drive_write_back(&member->model, now_ns);
		end_ns = max(end_ns, drive_flush(&member->model, now_ns));
		spin_unlock_irqrestore(&member->lock, flags);
	}
	command->service.finish_ns = end_ns;
	answer_at(command);
}

/* Find the member, and the place on it: the block layer splits requests at a stripe's end. */
static void address(struct drive_command *command, struct request *rq)
{
	const struct drive_description *is = command->disk->is;
	u64 sector = blk_rq_pos(rq), index = 0, stripe, within;

	if (is->members > 1) {
		stripe = div64_u64_rem(sector, is->chunk_sectors, &within);
		stripe = div64_u64_rem(stripe, is->members, &index);
		sector = stripe * is->chunk_sectors + within;
	}
	command->member = &command->disk->members[index];
	command->request = (struct drive_request) {
		.sector = sector,
		.sectors = blk_rq_sectors(rq),
		.write = op_is_write(req_op(rq)),
		.through = rq->cmd_flags & REQ_FUA,
	};
	/* Once a command, since all that wait are compared whenever one ends. */
	if (is->queue_order == DRIVE_SHORTEST_POSITIONING)
		drive_locate(&command->member->model, sector, &command->place);
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *data)
{
	struct request *rq = data->rq;
	struct drive_command *command = blk_mq_rq_to_pdu(rq);
	struct drive_member *member;
	unsigned long flags;
	blk_status_t status;

	if (req_op(rq) == REQ_OP_FLUSH) {
		blk_mq_start_request(rq);
		flush(command);
		return BLK_STS_OK;
	}
	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return BLK_STS_NOTSUPP;
	status = drive_transfer(command->disk, rq);
	if (status != BLK_STS_OK)
		return status;
	blk_mq_start_request(rq);
	address(command, rq);
	member = command->member;
	spin_lock_irqsave(&member->lock, flags);
	list_add_tail(&command->waiting, &member->waiting);
	if (!member->busy)
		serve_next(member, ktime_get_ns());
	spin_unlock_irqrestore(&member->lock, flags);
	return BLK_STS_OK;
}

static void complete_rq(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static int init_request(struct blk_mq_tag_set *tags, struct request *rq, unsigned int queue,
			unsigned int node)
{
	struct drive_command *command = blk_mq_rq_to_pdu(rq);

	command->disk = tags->driver_data;
	hrtimer_init(&command->answer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
	command->answer.function = answer;
	return 0;
}

const struct blk_mq_ops drive_queue_ops = {
	.queue_rq = queue_rq,
	.complete = complete_rq,
	.init_request = init_request,
};
