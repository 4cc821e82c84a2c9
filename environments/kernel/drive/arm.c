// SPDX-License-Identifier: GPL-2.0-only
/* The arm goes to a track, the platter turns to a sector, the sectors pass under the head. */
#include "model.h"

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* The measured curve, with straight lines between its points and beyond its last one. */
u64 drive_seek_ns(const struct drive_model *model, u64 cylinders)
{
	u64 low = 0, high = model->is->seeks - 1;
	const struct drive_seek *a, *b;

	if (!cylinders)
		return 0;
	while (high - low > 1) {
		u64 middle = (low + high) / 2;

		if (model->seeks[middle].cylinders <= cylinders)
			low = middle;
		else
			high = middle;
	}
	a = &model->seeks[low];
	b = &model->seeks[high];
	if (cylinders <= a->cylinders)
		return a->time_ns;
	/* A measured curve may fall a little from one point to the next. */
	if (b->time_ns < a->time_ns)
		return a->time_ns - (a->time_ns - b->time_ns) * (cylinders - a->cylinders) /
					    (b->cylinders - a->cylinders);
	return a->time_ns + (b->time_ns - a->time_ns) * (cylinders - a->cylinders) /
				    (b->cylinders - a->cylinders);
}

/* A head settles longer before it writes. Some drives were measured to settle shorter. */
static u64 settled(u64 time_ns, s64 settle_ns)
{
	if (settle_ns < 0 && time_ns < (u64)-settle_ns)
		return 0;
	return time_ns + settle_ns;
}

static u64 seek_to(const struct drive_model *model, const struct drive_place *place, bool write)
{
	const struct drive_arm *arm = &model->arm;
	u64 distance = arm->cylinder > place->cylinder ? arm->cylinder - place->cylinder :
							 place->cylinder - arm->cylinder;
	u64 time_ns = drive_seek_ns(model, distance);

	/* The head is switched while the arm moves. */
	if (arm->head != place->head)
		time_ns = later(time_ns, model->is->head_switch_ns);
	if (write && (distance || arm->head != place->head))
		return settled(time_ns, model->is->write_settle_ns);
	return time_ns;
}

static u64 rotation_to(const struct drive_model *model, u64 angle_ns, u64 now_ns)
{
	u64 turn_ns = model->is->turn_ns;

	return (angle_ns + turn_ns - now_ns % turn_ns) % turn_ns;
}

/* Time from start_ns until a sector is under the head: seek, and the rest of a turn. */
u64 drive_positioning_ns(const struct drive_model *model, const struct drive_place *place,
			 u64 start_ns, bool write, u64 *seek_ns)
{
	*seek_ns = seek_to(model, place, write);
	return *seek_ns + rotation_to(model, place->angle_ns, start_ns + *seek_ns);
}

static void settle_on(struct drive_model *model, const struct drive_place *place)
{
	model->arm.cylinder = place->cylinder;
	model->arm.head = place->head;
}

/*
 * One track's part of an access, from when the arm may set out; data_ns is when the head may
 * begin at the earliest. Returns when the first sector passes under the head.
 */
static u64 begin_track(struct drive_model *model, const struct drive_place *place, u64 start_ns,
		       u64 data_ns, bool write, struct drive_access *access)
{
	u64 seek_ns = seek_to(model, place, write);
	u64 ready_ns = later(start_ns + seek_ns, data_ns);
	u64 begin_ns = ready_ns + rotation_to(model, place->angle_ns, ready_ns);

	access->seek_ns = seek_ns;
	access->rotation_ns = begin_ns - start_ns - seek_ns;
	settle_on(model, place);
	return begin_ns;
}

/*
 * A drive that begins anywhere in what is asked for needs at most one turn for it: where the
 * head comes down within it, the rest of the turn brings what it missed.
 */
static bool lands_within(const struct drive_model *model, u64 pass_ns, u64 waited_ns)
{
	return waited_ns && waited_ns + pass_ns > model->is->turn_ns;
}

void drive_read_media(struct drive_model *model, u64 sector, u64 sectors, u64 start_ns,
		      u64 bus_ns, struct drive_access *access)
{
	u64 bus_sector_ns = model->is->bus_sector_ns, now_ns = start_ns, read = 0;
	u64 enough = later(1, model->is->read_water_thousandths * sectors / 1000);
	struct drive_access first = { 0 }, part;

	bus_ns += sectors * bus_sector_ns;
	while (read < sectors) {
		struct drive_place place;
		u64 count, begin_ns, pass_ns, left = sectors - read;

		drive_locate(model, sector + read, &place);
		count = left < place.left ? left : place.left;
		begin_ns = begin_track(model, &place, now_ns, now_ns, false, &part);
		pass_ns = drive_pass_ns(model, &place, count);
		now_ns = begin_ns + pass_ns;
		if (model->is->zero_latency[DRIVE_READ] &&
		    lands_within(model, pass_ns, part.rotation_ns)) {
			now_ns = begin_ns - part.rotation_ns + model->is->turn_ns;
			part.rotation_ns = 0;
		}
		if (!read)
			first = part;
		/*
		 * The bus sets out when enough is read, and carries a sector when it is read. The
		 * one that makes it wait longest is the first or the last one of a track.
		 */
		if (read < enough && enough <= read + count)
			bus_ns = later(bus_ns, sectors * bus_sector_ns + begin_ns +
				       drive_pass_ns(model, &place, enough - read));
		bus_ns = later(bus_ns, begin_ns + drive_pass_ns(model, &place, 1) +
			       left * bus_sector_ns);
		bus_ns = later(bus_ns, now_ns + (left - count + 1) * bus_sector_ns);
		read += count;
	}
	first.start_ns = start_ns;
	first.end_ns = now_ns;
	first.bus_ns = bus_ns;
	*access = first;
}

/* When a sector is in the buffer: the bus carries one after the other. */
static u64 arrives_ns(const struct drive_dirty *data, u64 sector)
{
	u64 behind_first = sector - data->first, sectors = data->end - data->first;

	if (sector + 1 == data->end)
		return data->there_ns;
	return data->begin_ns + (data->there_ns - data->begin_ns) * behind_first / (sectors - 1);
}

void drive_write_media(struct drive_model *model, const struct drive_dirty *data, u64 start_ns,
		       struct drive_access *access)
{
	u64 sector = data->first, now_ns = start_ns;
	struct drive_access first = { 0 }, part;

	while (sector < data->end) {
		struct drive_place place;
		u64 count, begin_ns, pass_ns, until_last_ns, data_ns;

		drive_locate(model, sector, &place);
		count = data->end - sector < place.left ? data->end - sector : place.left;
		pass_ns = drive_pass_ns(model, &place, count);
		/* A head that writes must not get ahead of the bus, on any track. */
		until_last_ns = pass_ns - drive_pass_ns(model, &place, 1);
		data_ns = later(arrives_ns(data, sector),
				later(arrives_ns(data, sector + count - 1), until_last_ns) -
					until_last_ns);
		begin_ns = begin_track(model, &place, now_ns, data_ns, true, &part);
		now_ns = begin_ns + pass_ns;
		if (model->is->zero_latency[DRIVE_WRITE] &&
		    lands_within(model, pass_ns, part.rotation_ns)) {
			now_ns = begin_ns - part.rotation_ns + model->is->turn_ns;
			part.rotation_ns = 0;
		}
		if (sector == data->first)
			first = part;
		sector += count;
	}
	first.start_ns = start_ns;
	first.end_ns = now_ns;
	*access = first;
	model->arm.free_ns = now_ns;
	model->in_flight_sectors = data->end - data->first;
	model->written_end = data->end;
}
