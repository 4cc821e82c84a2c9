// SPDX-License-Identifier: GPL-2.0-only
/* One request, from its arrival at the drive to its answer. */
#include "model.h"

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Let pass what happened in the drive since it was last asked. */
static void advance(struct drive_model *model, u64 now_ns)
{
	drive_write_back(model, now_ns);
	drive_advance_ahead(model, now_ns);
}

static bool at_rest(const struct drive_model *model, u64 now_ns)
{
	const struct drive_segment *segment = model->ahead.segment;

	return !model->dirty_count && model->arm.free_ns <= now_ns &&
	       !(segment && segment->end < model->ahead.limit);
}

static bool same_track(const struct drive_model *model, u64 a, u64 b)
{
	struct drive_place first, second;

	drive_locate(model, a, &first);
	drive_locate(model, b, &second);
	return first.cylinder == second.cylinder && first.head == second.head;
}

/*
 * Whether a request goes on with the one before, which was of its kind: the drive is not done
 * with that yet, or keeps the track of its writes at hand.
 */
static bool goes_on(const struct drive_model *model, const struct drive_request *request, bool miss,
		    u64 now_ns)
{
	if (!at_rest(model, now_ns))
		return true;
	return request->write && !miss && model->is->fast_write >= DRIVE_WRITE_STREAM &&
	       same_track(model, model->asked_last, request->sector);
}

/*
 * What a hit or a write takes after a request of its own kind was measured back to back. Once the
 * drive has come to rest, it takes as long as after a request of the other kind.
 */
static u64 command_ns(const struct drive_model *model, const struct drive_request *request,
		      bool miss, u64 now_ns)
{
	bool after_write = model->after_write;

	if (after_write == request->write && (request->write || !miss) &&
	    !goes_on(model, request, miss, now_ns))
		after_write = !after_write;
	return model->is->overhead_ns[request->write][miss][after_write];
}

/* How long the arm has other things to do that must not be broken off, and does them. */
static u64 wait_for_arm(struct drive_model *model, u64 now_ns, u64 start_ns)
{
	u64 free_ns = model->arm.free_ns;

	if (model->is->fast_write != DRIVE_WRITE_BACK && model->dirty_count)
		free_ns = drive_flush(model, now_ns);
	return free_ns > start_ns ? free_ns - start_ns : 0;
}

/* Share out the time of an access among what a reader of the trace asks for. */
static void account(struct drive_service *service, const struct drive_access *access, u64 start_ns)
{
	u64 positioned_ns = start_ns + access->seek_ns + access->rotation_ns;

	service->seek_ns = access->seek_ns;
	service->rotation_ns = access->rotation_ns;
	service->media_ns = later(access->end_ns, positioned_ns) - positioned_ns;
}

/* The arm reads what the buffer has not; what it has goes over the bus meanwhile. */
static void read_media(struct drive_model *model, const struct drive_request *request,
		       struct drive_segment *segment, u64 bus_ns, u64 now_ns,
		       struct drive_service *service)
{
	/* Where the platter is reading on, the head is there already. */
	bool goes_on = segment && segment == model->ahead.segment &&
		       segment->end < model->ahead.limit;
	u64 end = request->sector + request->sectors, start_ns = now_ns + service->overhead_ns;
	struct drive_access access;

	if (!goes_on)
		service->waited_ns = wait_for_arm(model, now_ns, start_ns);
	start_ns += service->waited_ns;
	if (!segment) {
		segment = drive_fresh_segment(model, request->sector);
		bus_ns = start_ns + model->is->reselect_ns + model->is->data_preparation_ns;
	}
	drive_read_media(model, segment->end, end - segment->end,
			 goes_on ? model->ahead.at_ns : start_ns, bus_ns, &access);
	if (goes_on) {
		access.seek_ns = 0;
		access.rotation_ns = 0;
	}
	account(service, &access, start_ns);
	service->finish_ns = access.bus_ns;
	model->arm.free_ns = access.end_ns;
	model->in_flight_sectors = 0;
	segment->end = end;
	drive_read_on(model, segment, request, access.end_ns);
}

static void serve_read(struct drive_model *model, const struct drive_request *request,
		       u64 now_ns, struct drive_service *service)
{
	const struct drive_description *is = model->is;
	struct drive_segment *segment = drive_buffered(model, request->sector);
	bool written = is->read_hits_on_written &&
		       drive_is_dirty(model, request->sector, request->sectors);
	u64 end = request->sector + request->sectors, bus_ns;

	service->overhead_ns = command_ns(model, request, !segment && !written, now_ns);
	bus_ns = now_ns + service->overhead_ns + is->data_preparation_ns;
	service->hit = written || (segment && end <= segment->end);
	if (!service->hit) {
		if (segment)
			bus_ns += (segment->end - request->sector) * is->bus_sector_ns;
		read_media(model, request, segment, bus_ns, now_ns, service);
		return;
	}
	service->finish_ns = bus_ns + request->sectors * is->bus_sector_ns;
	if (segment && segment == model->ahead.segment && segment->end < model->ahead.limit)
		drive_read_on(model, segment, request, model->ahead.at_ns);
	else if (segment)
		drive_answered(model, segment, end);
}

static void serve_write(struct drive_model *model, const struct drive_request *request,
			u64 now_ns, struct drive_service *service)
{
	const struct drive_description *is = model->is;
	bool fast = is->fast_write && !request->through;
	struct drive_dirty data = {
		.first = request->sector,
		.end = request->sector + request->sectors,
	};
	struct drive_access access;
	u64 bus_ns;

	service->overhead_ns = command_ns(model, request, !fast, now_ns);
	model->ahead.segment = NULL;
	drive_forget(model, request->sector, request->sectors);
	data.asked_ns = now_ns + service->overhead_ns;
	bus_ns = data.asked_ns + is->data_preparation_ns;
	if (fast) {
		drive_make_room(model, request, now_ns, bus_ns, service);
		bus_ns += service->waited_ns + service->seek_ns + service->rotation_ns +
			  service->media_ns;
	}
	data.begin_ns = bus_ns + is->bus_sector_ns;
	data.there_ns = bus_ns + request->sectors * is->bus_sector_ns;
	if (fast) {
		drive_keep(model, &data);
		service->hit = true;
		service->finish_ns = data.there_ns;
		return;
	}
	service->waited_ns = wait_for_arm(model, now_ns, data.asked_ns);
	data.asked_ns += service->waited_ns;
	drive_write_media(model, &data, data.asked_ns, &access);
	account(service, &access, data.asked_ns);
	service->finish_ns = access.end_ns + is->reselect_ns;
}

void drive_serve(struct drive_model *model, const struct drive_request *request, u64 now_ns,
		 struct drive_service *service)
{
	memset(service, 0, sizeof(*service));
	advance(model, now_ns);
	service->from_cylinder = model->arm.cylinder;
	if (request->write)
		serve_write(model, request, now_ns, service);
	else
		serve_read(model, request, now_ns, service);
	service->cylinder = model->arm.cylinder;
	service->finish_ns += model->is->completion_ns[request->write];
	service->bus_ns = service->finish_ns - now_ns - service->overhead_ns -
			  service->waited_ns - service->seek_ns - service->rotation_ns -
			  service->media_ns;
	model->after_write = request->write;
	model->asked_last = request->sector + request->sectors - 1;
}

/* Which of two requests the arm would meet first: time from now to its first sector. */
u64 drive_estimate_ns(struct drive_model *model, const struct drive_request *request,
		      const struct drive_place *place, u64 now_ns)
{
	u64 asked_ns = now_ns + command_ns(model, request, true, now_ns);
	u64 start_ns = later(asked_ns, model->arm.free_ns), seek_ns;

	if (request->write ? model->is->fast_write && !request->through :
			     drive_buffered(model, request->sector) != NULL)
		return 0;
	return start_ns - now_ns +
	       drive_positioning_ns(model, place, start_ns, request->write, &seek_ns);
}
