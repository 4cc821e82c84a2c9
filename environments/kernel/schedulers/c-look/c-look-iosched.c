// SPDX-License-Identifier: GPL-2.0-only
/*
 * C-LOOK: the arm serves on its way up only, and jumps from the last request to the first.
 *
 * P. H. Seaman, R. A. Lind, T. L. Wilson, "On teleprocessing system design, part IV: An analysis
 * of auxiliary-storage activity", IBM Systems Journal 5(3), 1966, for the one-way sweep (C-SCAN);
 * C-LOOK goes no further than the requests do.
 * With expire_ms, a request that has waited so long is next, and the arm goes on from there.
 */

#include "one-arm.h"

struct clook_data {
	struct one_arm arm;		/* first */
	u64 returns;			/* how often it went back to the first request */
	unsigned int expire_ms;		/* longest wait; 0: no limit */
};

static struct request *clook_choose(struct one_arm *arm)
{
	struct clook_data *clook = container_of(arm, struct clook_data, arm);
	struct request *oldest = arm_oldest(arm), *rq;

	if (!oldest || arm_expired(oldest, READ_ONCE(clook->expire_ms)))
		return oldest;
	rq = arm_first_from(&arm->sorted, arm->head);
	if (rq)
		return rq;
	clook->returns++;
	return rb_entry_rq(rb_first(&arm->sorted));
}

static struct request *clook_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	return arm_dispatch(hctx, clook_choose);
}

static int clook_init_sched(struct request_queue *q, struct elevator_type *type)
{
	return arm_begin(q, type, sizeof(struct clook_data)) ? 0 : -ENOMEM;
}

ARM_TUNABLE(clook_data, expire_ms, 0)
ARM_SHOW(clook_data, returns)

static struct elv_fs_entry clook_attrs[] = {
	ARM_TUNED(clook_data, expire_ms),
	ARM_SHOWN(clook_data, returns),
	__ATTR_NULL
};

static struct elevator_type clook_sched = {
	.ops = {
		ARM_OPERATIONS,
		.init_sched = clook_init_sched,
		.dispatch_request = clook_dispatch_request,
	},
	.elevator_attrs = clook_attrs,
	.elevator_name = "c-look",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(clook_sched, "C-LOOK I/O scheduler");
