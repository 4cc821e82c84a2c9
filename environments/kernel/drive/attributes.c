// SPDX-License-Identifier: GPL-2.0-only
/* /sys/block/drive0/drive: what the drive is, for whoever wants to know. */
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/sysfs.h>

#include "disk.h"

static struct drive_disk *disk_of(struct device *device)
{
	return dev_to_disk(device)->private_data;
}

/*
 * A line a zone: its first sector, how many it has, and what passes under the heads in a second.
 * The members of an array lie side by side, and so do their zones.
 */
static ssize_t zones_show(struct device *device, struct device_attribute *attribute, char *page)
{
	const struct drive_model *model = &disk_of(device)->members[0].model;
	const u64 members = model->is->members;
	ssize_t size = 0;

	for (u64 i = 0; i < model->is->zones; i++) {
		const struct drive_zone *zone = &model->zones[i];
		u64 bytes_s = div64_u64(zone->sectors_per_track * SECTOR_SIZE * NSEC_PER_SEC,
					model->is->turn_ns);

		size += sysfs_emit_at(page, size, "%llu %llu %llu\n", members * zone->first_sector,
				      members * zone->sectors, members * bytes_s);
	}
	return size;
}
static DEVICE_ATTR_RO(zones);

#define NUMBER(name, value)								\
static ssize_t name##_show(struct device *device, struct device_attribute *attribute,	\
			   char *page)							\
{											\
	const struct drive_description *is = disk_of(device)->is;			\
											\
	return sysfs_emit(page, "%llu\n", (u64)(value));				\
}											\
static DEVICE_ATTR_RO(name)

NUMBER(turn_ns, is->turn_ns);
NUMBER(surfaces, is->surfaces);
NUMBER(members, is->members);
NUMBER(queue_depth, is->queue_depth);
NUMBER(read_buffer_bytes, is->members * is->segments * is->segment_sectors * SECTOR_SIZE);
NUMBER(write_cache_bytes, is->members * drive_write_room(is) * SECTOR_SIZE);

static struct attribute *attributes[] = {
	&dev_attr_zones.attr,
	&dev_attr_turn_ns.attr,
	&dev_attr_surfaces.attr,
	&dev_attr_members.attr,
	&dev_attr_queue_depth.attr,
	&dev_attr_read_buffer_bytes.attr,
	&dev_attr_write_cache_bytes.attr,
	NULL,
};

static const struct attribute_group group = {
	.name = "drive",
	.attrs = attributes,
};

const struct attribute_group *drive_attribute_groups[] = { &group, NULL };
