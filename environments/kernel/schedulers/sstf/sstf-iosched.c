// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shortest seek time first: the arm goes to the nearest request.
 *
 * P. J. Denning, "Effects of scheduling on file memory operations", AFIPS Spring Joint Computer
 * Conference 1967. Distance stands for time, and is counted in sectors from where the last request
 * ended to where the next begins. A request far from the others may wait for ever: that is part
 * of the policy.
 */

#include "one-arm.h"

struct sstf_data {
	struct one_arm arm;		/* first */
	u64 travel_sectors;		/* how far it has moved between requests */
};

static struct request *sstf_choose(struct one_arm *arm)
{
	struct sstf_data *sstf = container_of(arm, struct sstf_data, arm);
	struct request *rq = arm_nearest(arm);

	if (rq)
		sstf->travel_sectors += arm_distance(arm->head, rq);
	return rq;
}

static struct request *sstf_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	return arm_dispatch(hctx, sstf_choose);
}

static int sstf_init_sched(struct request_queue *q, struct elevator_type *type)
{
	return arm_begin(q, type, sizeof(struct sstf_data)) ? 0 : -ENOMEM;
}

ARM_SHOW(sstf_data, travel_sectors)

static struct elv_fs_entry sstf_attrs[] = {
	ARM_SHOWN(sstf_data, travel_sectors),
	__ATTR_NULL
};

static struct elevator_type sstf_sched = {
	.ops = {
		ARM_OPERATIONS,
		.init_sched = sstf_init_sched,
		.dispatch_request = sstf_dispatch_request,
	},
	.elevator_attrs = sstf_attrs,
	.elevator_name = "sstf",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(sstf_sched, "Shortest seek time first I/O scheduler");
