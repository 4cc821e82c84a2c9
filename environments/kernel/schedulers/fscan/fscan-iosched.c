// SPDX-License-Identifier: GPL-2.0-only
/*
 * FSCAN: the arm sweeps over a batch of requests that nothing joins any more.
 *
 * E. G. Coffman, L. A. Klimko, B. Ryan, "Analysis of scanning policies for reducing disk seek
 * times", SIAM Journal on Computing 1(3), 1972. What arrives during a sweep waits for the next
 * one, which goes the other way: so a request waits for two sweeps at most, and no stream of
 * requests at one place can hold the arm there.
 */

#include "one-arm.h"

struct fscan_data {
	struct one_arm arm;		/* first; sorted by place: what waits for the next sweep */
	struct rb_root batch;		/* what is left of this one */
	bool up;			/* where this sweep goes */
	u64 sweeps;			/* how many there were */
};

/* A frozen request cannot be merged either: what is merged into it would join the batch. */
static void fscan_freeze(struct fscan_data *fscan)
{
	struct one_arm *arm = &fscan->arm;
	struct rb_node *node;

	for (node = rb_first(&arm->sorted); node; node = rb_next(node))
		elv_rqhash_del(arm->q, rb_entry_rq(node));
	arm->q->last_merge = NULL;
	swap(fscan->batch, arm->sorted);
	fscan->up = !fscan->up;
	fscan->sweeps++;
}

static struct request *fscan_choose(struct one_arm *arm)
{
	struct fscan_data *fscan = container_of(arm, struct fscan_data, arm);
	struct rb_node *node;

	if (RB_EMPTY_ROOT(&fscan->batch) && !RB_EMPTY_ROOT(&arm->sorted))
		fscan_freeze(fscan);
	node = fscan->up ? rb_first(&fscan->batch) : rb_last(&fscan->batch);
	if (!node)
		return NULL;
	elv_rb_del(&fscan->batch, rb_entry_rq(node));
	return rb_entry_rq(node);
}

static struct request *fscan_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	return arm_dispatch(hctx, fscan_choose);
}

static int fscan_init_sched(struct request_queue *q, struct elevator_type *type)
{
	return arm_begin(q, type, sizeof(struct fscan_data)) ? 0 : -ENOMEM;
}

ARM_SHOW(fscan_data, sweeps)

static struct elv_fs_entry fscan_attrs[] = {
	ARM_SHOWN(fscan_data, sweeps),
	__ATTR_NULL
};

static struct elevator_type fscan_sched = {
	.ops = {
		ARM_OPERATIONS,
		.init_sched = fscan_init_sched,
		.dispatch_request = fscan_dispatch_request,
	},
	.elevator_attrs = fscan_attrs,
	.elevator_name = "fscan",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(fscan_sched, "FSCAN I/O scheduler");
