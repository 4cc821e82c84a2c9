// SPDX-License-Identifier: GPL-2.0-only
/*
 * patient: a program that waits for each of its requests goes first, everybody else by the
 * shortest way. One solution of assignment 3.
 */

#include "one-arm.h"

struct patient_data {
	struct one_arm arm;		/* first */
	unsigned int expire_ms;		/* longest wait; 0: no limit */
};

/* What is known of a program. The kernel makes and frees it with the program's use of the disk. */
struct patient_program {
	struct io_cq icq;		/* first */
	unsigned int under_way;		/* its requests that have not ended */
};

static struct patient_program *patient_program_of(struct request *rq)
{
	return rq->elv.icq ? container_of(rq->elv.icq, struct patient_program, icq) : NULL;
}

/* Return the nearest request whose program has no other; NULL: there is none. */
static struct request *patient_alone(struct one_arm *arm)
{
	struct request *rq, *found = NULL;

	list_for_each_entry(rq, &arm->arrived, queuelist) {
		struct patient_program *program = patient_program_of(rq);

		if (!program || program->under_way > 1)
			continue;
		if (!found || arm_distance(arm->head, rq) < arm_distance(arm->head, found))
			found = rq;
	}
	return found;
}

static struct request *patient_choose(struct one_arm *arm)
{
	struct patient_data *patient = container_of(arm, struct patient_data, arm);
	struct request *oldest = arm_oldest(arm);

	if (!oldest || arm_expired(oldest, READ_ONCE(patient->expire_ms)))
		return oldest;
	return patient_alone(arm) ?: arm_nearest(arm);
}

static struct request *patient_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	return arm_dispatch(hctx, patient_choose);
}

static void patient_came(struct one_arm *arm, struct request *rq)
{
	if (patient_program_of(rq))
		patient_program_of(rq)->under_way++;
	rq->elv.priv[0] = patient_program_of(rq);
}

/* Called for each request at last: one that has ended, or that was merged into another. */
static void patient_finish_request(struct request *rq)
{
	struct one_arm *arm = arm_of(rq->q);
	struct patient_program *program = rq->elv.priv[0];
	unsigned long flags;

	if (program) {
		spin_lock_irqsave(&arm->lock, flags);
		program->under_way--;
		spin_unlock_irqrestore(&arm->lock, flags);
	}
	arm_finish_request(rq);
}

static int patient_init_sched(struct request_queue *q, struct elevator_type *type)
{
	struct patient_data *patient = (struct patient_data *)arm_begin(q, type, sizeof(*patient));

	if (!patient)
		return -ENOMEM;
	patient->arm.came = patient_came;
	patient->expire_ms = 500;
	return 0;
}

ARM_TUNABLE(patient_data, expire_ms, 0)

static struct elv_fs_entry patient_attrs[] = {
	ARM_TUNED(patient_data, expire_ms),
	__ATTR_NULL
};

static struct elevator_type patient_sched = {
	.ops = {
		ARM_OPERATIONS,
		.init_sched = patient_init_sched,
		.prepare_request = arm_prepare_request,
		.finish_request = patient_finish_request,
		.dispatch_request = patient_dispatch_request,
	},
	.icq_size = sizeof(struct patient_program),
	.icq_align = __alignof__(struct patient_program),
	.elevator_attrs = patient_attrs,
	.elevator_name = "patient",
	.elevator_owner = THIS_MODULE,
};

ARM_MODULE(patient_sched, "Whoever waits goes first");
