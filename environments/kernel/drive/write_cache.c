// SPDX-License-Identifier: GPL-2.0-only
/* What the host has written and the platter has not. */
#include "model.h"

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Where in the list a sector belongs: the first extent that ends behind it. */
static u64 slot_of(const struct drive_model *model, u64 sector)
{
	u64 low = 0, high = model->dirty_count;

	while (low < high) {
		u64 middle = (low + high) / 2;

		if (model->dirty[middle].end <= sector)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool drive_is_dirty(const struct drive_model *model, u64 sector, u64 sectors)
{
	u64 slot = slot_of(model, sector);

	return slot < model->dirty_count && model->dirty[slot].first <= sector &&
	       sector + sectors <= model->dirty[slot].end;
}

static void take(struct drive_model *model, u64 slot, struct drive_dirty *data)
{
	*data = model->dirty[slot];
	model->dirty_count--;
	model->dirty_sectors -= data->end - data->first;
	memmove(&model->dirty[slot], &model->dirty[slot + 1],
		(model->dirty_count - slot) * sizeof(*model->dirty));
}

/* The next one upwards from where the arm wrote last, then from the beginning again. */
static void write_one(struct drive_model *model, u64 start_ns, struct drive_access *access)
{
	u64 slot = slot_of(model, model->written_end);
	struct drive_dirty data;

	take(model, slot < model->dirty_count ? slot : 0, &data);
	model->ahead.segment = NULL;
	drive_write_media(model, &data, later(start_ns, data.asked_ns), access);
}

/* Write what the arm had time for until now, while nobody else wanted it. */
void drive_write_back(struct drive_model *model, u64 until_ns)
{
	while (model->dirty_count) {
		u64 slot = slot_of(model, model->written_end);
		u64 asked_ns = model->dirty[slot < model->dirty_count ? slot : 0].asked_ns;
		u64 start_ns = later(model->arm.free_ns, asked_ns);
		struct drive_access access;

		if (start_ns >= until_ns)
			break;
		write_one(model, start_ns, &access);
	}
}

/* Write everything; returns when it is on the platter. */
u64 drive_flush(struct drive_model *model, u64 now_ns)
{
	struct drive_access access;

	while (model->dirty_count)
		write_one(model, later(model->arm.free_ns, now_ns), &access);
	return later(model->arm.free_ns, now_ns);
}

/* How many sectors the buffer takes before they are on the platter: one stream has a segment. */
u64 drive_write_room(const struct drive_description *is)
{
	switch (is->fast_write) {
	case DRIVE_WRITE_THROUGH:
		return 0;
	case DRIVE_WRITE_BACK:
		return is->segments * is->segment_sectors;
	default:
		return is->segment_sectors;
	}
}

static u64 part_after(u64 from_ns, u64 begin_ns, u64 length_ns)
{
	u64 end_ns = begin_ns + length_ns;

	return end_ns - later(begin_ns, from_ns < end_ns ? from_ns : end_ns);
}

/* The request waits from from_ns on, and this is what the arm does meanwhile. */
static void share_out(struct drive_service *service, const struct drive_access *access, u64 from_ns)
{
	u64 turns_ns = access->start_ns + access->seek_ns, writes_ns = turns_ns + access->rotation_ns;

	service->seek_ns += part_after(from_ns, access->start_ns, access->seek_ns);
	service->rotation_ns += part_after(from_ns, turns_ns, access->rotation_ns);
	service->media_ns += part_after(from_ns, writes_ns,
					later(access->end_ns, writes_ns) - writes_ns);
}

/* Being written, and not yet on the platter. */
static u64 in_flight(const struct drive_model *model, u64 now_ns)
{
	return model->arm.free_ns > now_ns ? model->in_flight_sectors : 0;
}

/* Any sectors may wait, as many as the buffer and its list of extents hold. */
static u64 room_for_any(struct drive_model *model, const struct drive_request *request, u64 now_ns,
			u64 from_ns, struct drive_service *service)
{
	const u64 room = drive_write_room(model->is);
	struct drive_access access;
	u64 flying;

	while ((flying = in_flight(model, now_ns)) || model->dirty_count) {
		if (model->dirty_count + !!flying < model->is->write_segments &&
		    model->dirty_sectors + flying + request->sectors <= room)
			break;
		if (flying) {
			now_ns = model->arm.free_ns;
			continue;
		}
		write_one(model, later(model->arm.free_ns, now_ns), &access);
		share_out(service, &access, from_ns);
	}
	return now_ns;
}

/* One stream may wait; whoever does not go on with it waits for its end. */
static u64 room_for_stream(struct drive_model *model, const struct drive_request *request,
			   u64 now_ns, u64 from_ns, struct drive_service *service)
{
	u64 held = model->dirty_sectors + in_flight(model, now_ns);
	u64 end = model->dirty_count ? model->dirty[model->dirty_count - 1].end :
				       model->written_end;
	struct drive_access access;

	if (!held || (end == request->sector &&
		      held + request->sectors <= drive_write_room(model->is)))
		return now_ns;
	while (model->dirty_count) {
		write_one(model, later(model->arm.free_ns, now_ns), &access);
		share_out(service, &access, from_ns);
	}
	return later(model->arm.free_ns, now_ns);
}

/*
 * Wait for room for a write that is ready at from_ns. The wait is shared out: what the arm does
 * for it, and the rest, which is for a write that the arm was busy with.
 */
void drive_make_room(struct drive_model *model, const struct drive_request *request, u64 now_ns,
		     u64 from_ns, struct drive_service *service)
{
	u64 ready_ns = model->is->fast_write == DRIVE_WRITE_BACK ?
			       room_for_any(model, request, now_ns, from_ns, service) :
			       room_for_stream(model, request, now_ns, from_ns, service);

	service->waited_ns = later(ready_ns, from_ns) - from_ns - service->seek_ns -
			     service->rotation_ns - service->media_ns;
}

/* Keep what is to be written; drive_make_room() found room for it. */
void drive_keep(struct drive_model *model, const struct drive_dirty *data)
{
	u64 slot = slot_of(model, data->first);
	struct drive_dirty *before = slot ? &model->dirty[slot - 1] : NULL, old;
	struct drive_dirty new = *data;

	if (before && before->end == data->first) {
		/* One stream, one stretch of the platter. */
		model->dirty_sectors += data->end - data->first;
		before->end = data->end;
		before->there_ns = later(before->there_ns, data->there_ns);
		slot--;
		new = *before;
		take(model, slot, &old);
	}
	while (slot < model->dirty_count && model->dirty[slot].first < new.end) {
		/* Written again before it was written. */
		take(model, slot, &old);
		if (old.first < new.first)
			new.first = old.first;
		if (old.end > new.end)
			new.end = old.end;
		new.there_ns = later(new.there_ns, old.there_ns);
	}
	memmove(&model->dirty[slot + 1], &model->dirty[slot],
		(model->dirty_count - slot) * sizeof(*model->dirty));
	model->dirty[slot] = new;
	model->dirty_count++;
	model->dirty_sectors += new.end - new.first;
}
