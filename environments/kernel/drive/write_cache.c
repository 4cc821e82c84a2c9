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
static void write_one(struct drive_model *model, u64 start_ns)
{
	u64 slot = slot_of(model, model->written_end);
	struct drive_access access;
	struct drive_dirty data;

	take(model, slot < model->dirty_count ? slot : 0, &data);
	model->ahead.segment = NULL;
	drive_write_media(model, &data, later(start_ns, data.asked_ns), &access);
}

/* Write what the arm had time for until now, while nobody else wanted it. */
void drive_write_back(struct drive_model *model, u64 until_ns)
{
	while (model->dirty_count) {
		u64 slot = slot_of(model, model->written_end);
		u64 asked_ns = model->dirty[slot < model->dirty_count ? slot : 0].asked_ns;
		u64 start_ns = later(model->arm.free_ns, asked_ns);

		if (start_ns >= until_ns)
			break;
		write_one(model, start_ns);
	}
}

/* Write everything; returns when it is on the platter. */
u64 drive_flush(struct drive_model *model, u64 now_ns)
{
	while (model->dirty_count)
		write_one(model, later(model->arm.free_ns, now_ns));
	return later(model->arm.free_ns, now_ns);
}

/* Returns from when on the buffer has room for a write. */
u64 drive_make_room(struct drive_model *model, const struct drive_request *request, u64 now_ns)
{
	const struct drive_description *is = model->is;
	bool busy = model->arm.free_ns > now_ns && model->in_flight_sectors;
	u64 held = model->dirty_sectors + (busy ? model->in_flight_sectors : 0);

	if (is->fast_write == DRIVE_WRITE_BACK) {
		u64 room = is->write_segments * is->segment_sectors, ready_ns = now_ns;

		while (model->dirty_count &&
		       (model->dirty_count == is->write_segments ||
			model->dirty_sectors + request->sectors > room)) {
			write_one(model, later(model->arm.free_ns, now_ns));
			ready_ns = model->arm.free_ns;
		}
		return ready_ns;
	}
	if (!held)
		return now_ns;
	if (model->dirty_count ? model->dirty[model->dirty_count - 1].end == request->sector :
				 model->written_end == request->sector)
		if (held + request->sectors <= is->segment_sectors)
			return now_ns;
	return drive_flush(model, now_ns);
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
