// SPDX-License-Identifier: GPL-2.0-only
/*
 * A disk with an arm: a block device whose requests take the time that a described drive would
 * take for them. It lasts as long as the module is loaded.
 *
 *     insmod elevatorlab-drive.ko description=1,17783240,12,...
 *
 * The numbers are those of struct drive_description, of its zones and of its seek curve, one
 * after the other (model.h).
 */
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "disk.h"

#define DRIVE_NUMBERS 16384
#define DRIVE_MAX_SEGMENTS 65536

/* 64 bits each; a settling time may be negative. */
static long description[DRIVE_NUMBERS];
static unsigned int numbers;
module_param_array(description, long, &numbers, 0);
MODULE_PARM_DESC(description, "the numbers of the drive, its zones and its seek curve");

static struct drive_disk *drive;
static int major;

static const struct block_device_operations operations = {
	.owner = THIS_MODULE,
};

/* What would make the arithmetic fail; whoever wrote the numbers has checked that they are sane. */
static bool usable(const struct drive_description *is)
{
	const size_t header = sizeof(*is) / sizeof(u64);

	if (numbers < header || is->format != DRIVE_FORMAT)
		return false;
	if (!is->zones || !is->seeks || is->zones > DRIVE_NUMBERS || is->seeks > DRIVE_NUMBERS)
		return false;
	if (numbers != header + is->zones * (sizeof(struct drive_zone) / sizeof(u64)) +
		       is->seeks * (sizeof(struct drive_seek) / sizeof(u64)))
		return false;
	return is->turn_ns && is->surfaces && is->sectors && is->members && is->queue_depth &&
	       is->segments && is->segments <= DRIVE_MAX_SEGMENTS && is->segment_sectors &&
	       is->write_segments && is->write_segments <= DRIVE_MAX_SEGMENTS &&
	       (is->members == 1 || is->chunk_sectors);
}

static int prepare(struct drive_member *member, const struct drive_description *is)
{
	struct drive_model *model = &member->model;

	model->is = is;
	model->zones = (const struct drive_zone *)(is + 1);
	model->seeks = (const struct drive_seek *)(model->zones + is->zones);
	INIT_LIST_HEAD(&member->waiting);
	spin_lock_init(&member->lock);
	model->segments = kvcalloc(is->segments, sizeof(*model->segments), GFP_KERNEL);
	/* One more: a write comes in before the one that it replaces goes. */
	model->dirty = kvcalloc(is->write_segments + 1, sizeof(*model->dirty), GFP_KERNEL);
	return model->segments && model->dirty ? 0 : -ENOMEM;
}

static void release(struct drive_disk *disk)
{
	for (u64 i = 0; i < disk->is->members; i++) {
		kvfree(disk->members[i].model.segments);
		kvfree(disk->members[i].model.dirty);
	}
	drive_free_pages(disk);
	kvfree(disk);
}

static struct drive_disk *allocate(const struct drive_description *is)
{
	struct drive_disk *disk = kvzalloc(struct_size(disk, members, is->members), GFP_KERNEL);

	if (!disk)
		return NULL;
	disk->is = is;
	xa_init(&disk->pages);
	for (u64 i = 0; i < is->members; i++) {
		if (prepare(&disk->members[i], is)) {
			release(disk);
			return NULL;
		}
	}
	return disk;
}

static u64 capacity(const struct drive_description *is)
{
	u64 each = is->members > 1 ? is->sectors - is->sectors % is->chunk_sectors : is->sectors;

	return each * is->members;
}

/* What the kernel and its schedulers are told. */
static void describe(struct drive_disk *disk)
{
	struct request_queue *queue = disk->gendisk->queue;
	bool cached = disk->is->fast_write && disk->is->volatile_cache;

	blk_queue_flag_clear(QUEUE_FLAG_NONROT, queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, queue);
	blk_queue_write_cache(queue, cached, cached);
	blk_queue_logical_block_size(queue, SECTOR_SIZE);
	blk_queue_max_hw_sectors(queue, BLK_DEF_MAX_SECTORS);
	if (disk->is->members > 1) {
		blk_queue_chunk_sectors(queue, disk->is->chunk_sectors);
		blk_queue_io_opt(queue, disk->is->chunk_sectors * disk->is->members * SECTOR_SIZE);
	}
	set_capacity(disk->gendisk, capacity(disk->is));
}

static int add(struct drive_disk *disk)
{
	int error;

	disk->tags.ops = &drive_queue_ops;
	disk->tags.nr_hw_queues = 1;
	disk->tags.queue_depth = disk->is->queue_depth;
	disk->tags.numa_node = NUMA_NO_NODE;
	disk->tags.cmd_size = sizeof(struct drive_command);
	/* A page for what is written may have to be waited for. */
	disk->tags.flags = BLK_MQ_F_SHOULD_MERGE | BLK_MQ_F_BLOCKING;
	disk->tags.driver_data = disk;
	error = blk_mq_alloc_tag_set(&disk->tags);
	if (error)
		return error;
	disk->gendisk = blk_mq_alloc_disk(&disk->tags, disk);
	if (IS_ERR(disk->gendisk)) {
		error = PTR_ERR(disk->gendisk);
		goto free_tags;
	}
	disk->gendisk->major = major;
	disk->gendisk->minors = 16;
	disk->gendisk->fops = &operations;
	disk->gendisk->private_data = disk;
	strscpy(disk->gendisk->disk_name, "drive0", DISK_NAME_LEN);
	describe(disk);
	error = device_add_disk(NULL, disk->gendisk, drive_attribute_groups);
	if (!error)
		return 0;
	put_disk(disk->gendisk);
free_tags:
	blk_mq_free_tag_set(&disk->tags);
	return error;
}

static int __init drive_init(void)
{
	const struct drive_description *is = (const struct drive_description *)description;
	int error;

	if (!usable(is)) {
		pr_err("elevatorlab-drive: the description is not one of format %d\n", DRIVE_FORMAT);
		return -EINVAL;
	}
	drive = allocate(is);
	if (!drive)
		return -ENOMEM;
	major = register_blkdev(0, "drive");
	if (major < 0) {
		release(drive);
		return major;
	}
	error = add(drive);
	if (error) {
		unregister_blkdev(major, "drive");
		release(drive);
	}
	return error;
}

static void __exit drive_exit(void)
{
	del_gendisk(drive->gendisk);
	put_disk(drive->gendisk);
	blk_mq_free_tag_set(&drive->tags);
	unregister_blkdev(major, "drive");
	release(drive);
}

module_init(drive_init);
module_exit(drive_exit);
MODULE_DESCRIPTION("A disk with an arm");
MODULE_LICENSE("GPL");
