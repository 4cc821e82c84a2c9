// SPDX-License-Identifier: GPL-2.0-only
/* The segments of the buffer, and what the platter goes on reading into them. */
#include "model.h"

static u64 lesser(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Which segment holds a sector, or is about to: the head is just reading it. */
struct drive_segment *drive_buffered(struct drive_model *model, u64 sector)
{
	struct drive_segment *segment = model->ahead.segment;

	if (!model->is->caching)
		return NULL;
	if (segment && sector == segment->end && sector < model->ahead.limit)
		return segment;
	for (u64 i = 0; i < model->is->segments; i++) {
		segment = &model->segments[i];
		if (segment->sure <= sector && sector < segment->end)
			return segment;
	}
	return NULL;
}

struct drive_segment *drive_fresh_segment(struct drive_model *model, u64 sector)
{
	struct drive_segment *oldest = &model->segments[0];

	for (u64 i = 1; i < model->is->segments; i++)
		if (model->segments[i].used < oldest->used)
			oldest = &model->segments[i];
	oldest->first = sector;
	oldest->end = sector;
	oldest->sure = sector;
	return oldest;
}

/* A write empties every segment that has one of its sectors. */
void drive_forget(struct drive_model *model, u64 sector, u64 sectors)
{
	for (u64 i = 0; i < model->is->segments; i++) {
		struct drive_segment *segment = &model->segments[i];

		if (sector < segment->end && segment->first < sector + sectors)
			segment->end = segment->first;
	}
}

/* How far to read behind a request: the first sector that is not read. */
static u64 ahead_limit(const struct drive_model *model, const struct drive_segment *segment,
		       const struct drive_request *request)
{
	const struct drive_description *is = model->is;
	u64 end = request->sector + request->sectors, limit = is->sectors;
	u64 kept = is->read_ahead_over_requested ? end : request->sector;
	struct drive_place place;

	if (is->read_ahead == DRIVE_AHEAD_NOT || end >= limit)
		return end;
	if (is->read_ahead == DRIVE_AHEAD_SEGMENT && !is->read_ahead_sectors)
		return lesser(limit, kept + is->segment_sectors);
	/* Otherwise the segment is a ring: what was read first gives way. */
	if (is->read_ahead != DRIVE_AHEAD_NEXT_TRACK && is->read_ahead_sectors)
		limit = lesser(limit, end + is->read_ahead_sectors);
	if (is->read_ahead == DRIVE_AHEAD_SEGMENT)
		return limit;
	drive_locate(model, end, &place);
	if (is->read_ahead == DRIVE_AHEAD_CYLINDER)
		return lesser(limit, end + place.left_in_cylinder);
	/* A stream that came from the track before is worth the track behind. */
	if (is->read_ahead == DRIVE_AHEAD_NEXT_TRACK &&
	    end - segment->first > place.zone->sectors_per_track - place.left)
		return lesser(limit, end + place.left + place.zone->sectors_per_track);
	return lesser(limit, end + place.left);
}

static void keep_within(const struct drive_model *model, struct drive_segment *segment)
{
	if (segment->end - segment->first > model->is->segment_sectors)
		segment->first = segment->end - model->is->segment_sectors;
	if (segment->sure < segment->first)
		segment->sure = segment->first;
}

/* The host has the sectors before end. A drive that reads ahead over them finds none of them. */
void drive_answered(struct drive_model *model, struct drive_segment *segment, u64 end)
{
	segment->used = ++model->uses;
	if (model->is->read_ahead_over_requested)
		segment->sure = lesser(end, segment->end);
}

/* The platter goes on reading behind a request; the segment's last sector was read at at_ns. */
void drive_read_on(struct drive_model *model, struct drive_segment *segment,
		   const struct drive_request *request, u64 at_ns)
{
	drive_answered(model, segment, request->sector + request->sectors);
	model->ahead.segment = segment;
	model->ahead.at_ns = at_ns;
	model->ahead.limit = ahead_limit(model, segment, request);
	keep_within(model, segment);
}

/* Read ahead as far as the platter has turned until now. */
void drive_advance_ahead(struct drive_model *model, u64 now_ns)
{
	struct drive_ahead *ahead = &model->ahead;
	struct drive_segment *segment = ahead->segment;

	while (segment && segment->end < ahead->limit) {
		struct drive_place place;
		u64 count, begin_ns, passed_ns, seek_ns;

		drive_locate(model, segment->end, &place);
		begin_ns = ahead->at_ns +
			   drive_positioning_ns(model, &place, ahead->at_ns, false, &seek_ns);
		if (now_ns <= ahead->at_ns)
			break;
		model->arm.cylinder = place.cylinder;
		model->arm.head = place.head;
		if (now_ns <= begin_ns)
			break;
		count = lesser(place.left, ahead->limit - segment->end);
		passed_ns = drive_pass_ns(model, &place, count);
		if (begin_ns + passed_ns > now_ns) {
			/* Sectors are of one length, but for a nanosecond. */
			count = (now_ns - begin_ns) * count / passed_ns;
			passed_ns = drive_pass_ns(model, &place, count);
			segment->end += count;
			ahead->at_ns = begin_ns + passed_ns;
			break;
		}
		segment->end += count;
		ahead->at_ns = begin_ns + passed_ns;
	}
	if (segment)
		keep_within(model, segment);
}
