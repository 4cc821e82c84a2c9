// SPDX-License-Identifier: GPL-2.0-only
/*
 * LOOK: the arm goes one way as long as a request is ahead of it, and then turns.
 *
 * A. G. Merten, "Some quantitative techniques for file organization", University of Wisconsin,
 * 1970: the elevator (SCAN) that turns at the last request, not at the edge of the disk.
 * With expire_ms, a request that has waited so long is next, and the arm goes on from there.
 */

#include "one-arm.h"

struct look_data {
	struct one_arm arm;		/* first */
	bool up;			/* where the arm goes */
	u64 turns;			/* how often it has turned */
	unsigned int expire_ms;		/* longest wait; 0: no limit */
};

/* Return the next request on the way; NULL where none is ahead. */
static struct request *look_ahead(struct look_data *look)
{
	struct one_arm *arm = &look->arm;

	return look->up ? arm_first_from(&arm->sorted, arm->head) :
			  arm_last_below(&arm->sorted, arm->head);
}

static struct request *look_choose(struct one_arm *arm)
{
	struct look_data *look = container_of(arm, struct look_data, arm);
	struct request *oldest = arm_oldest(arm), *rq;

	if (!oldest || arm_expired(oldest, READ_ONCE(look->expire_ms)))
		return oldest;
	rq = look_ahead(look);
	if (!rq) {
		look->up = !look->up;
		look->turns++;
		rq = look_ahead(look);
	}
	return rq;
}

static struct request *look_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	return arm_dispatch(hctx, look_choose);
}

static int look_init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct look_data *look = (struct look_data *)arm_begin(q, type, sizeof(*look));

	if (!look)
		return -ENOMEM;
	look->up = true;
	return 0;
}

ARM_TUNABLE(look_data, expire_ms, 0)
ARM_SHOW(look_data, turns)

static struct elv_fs_entry look_attrs[] = {
	ARM_TUNED(look_data, expire_ms),
	ARM_SHOWN(look_data, turns),
	__ATTR_NULL
};

static struct elevator_type look_sched = {
	.ops = {
		ARM_OPERATIONS,
		.init_sched = look_init_sched,
		.dispatch_request = look_dispatch_request,
	},
	.elevator_attrs = look_attrs,
	.elevator_name = "look",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(look_sched, "LOOK I/O scheduler");
