/* SPDX-License-Identifier: GPL-2.0-only */
/* The block device around the model. */
#ifndef DRIVE_DISK_H
#define DRIVE_DISK_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "model.h"

/* One drive; an array has several, each with an arm of its own. */
struct drive_member {
	struct drive_model model;
	struct list_head waiting;	/* commands, in the order in which they came */
	bool busy;			/* a command is served by the arm or from the buffer */
	spinlock_t lock;
};

struct drive_disk {
	const struct drive_description *is;
	struct blk_mq_tag_set tags;
	struct gendisk *gendisk;
	struct xarray pages;		/* what was written, by page */
	struct drive_member members[];
};

/* What the driver keeps of a request of the block layer. */
struct drive_command {
	struct list_head waiting;
	struct drive_disk *disk;
	struct drive_member *member;	/* NULL: a flush, which is for all of them */
	struct drive_request request;
	struct drive_place place;	/* of its first sector, if the queue sorts by it */
	struct drive_service service;
	struct hrtimer answer;
};

/* memory.c */
blk_status_t drive_transfer(struct drive_disk *disk, struct request *rq);
void drive_free_pages(struct drive_disk *disk);

/* queue.c */
extern const struct blk_mq_ops drive_queue_ops;

/* attributes.c */
extern const struct attribute_group *drive_attribute_groups[];

#endif
