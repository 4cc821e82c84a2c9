/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk with an arm, as arithmetic: where a sector is, how long the arm and the platter take to
 * meet it, what the buffer holds. Nothing here knows the kernel, so that the same lines compile
 * in user space. Times are nanoseconds since an arbitrary start; the platter's angle is the time
 * modulo one turn.
 */
#ifndef DRIVE_MODEL_H
#define DRIVE_MODEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/string.h>
#else
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef int64_t s64;
#endif

#define DRIVE_FORMAT 1

/* Skews are thousandths of a sector, since some drives are known in parts of a turn. */
#define DRIVE_SKEW_UNIT 1000

enum drive_mapping {
	DRIVE_HEADS_ASCEND,		/* every cylinder begins at the first head */
	DRIVE_SERPENTINE_IN_ZONE,	/* the next cylinder begins at the head that is in use */
	DRIVE_SERPENTINE,		/* the same; odd cylinders always descend */
};

enum drive_read_ahead {
	DRIVE_AHEAD_NOT,
	DRIVE_AHEAD_TRACK,		/* to the end of the track */
	DRIVE_AHEAD_CYLINDER,		/* to the end of the cylinder */
	DRIVE_AHEAD_SEGMENT,		/* until the segment is full */
	DRIVE_AHEAD_NEXT_TRACK,		/* the track; one more when a stream crossed into it */
};

enum drive_fast_write {
	DRIVE_WRITE_THROUGH,
	DRIVE_WRITE_APPENDING,		/* one stream in the buffer; all else waits for its end */
	DRIVE_WRITE_STREAM,		/* as above */
	DRIVE_WRITE_BACK,		/* reads pass; the arm writes when nobody asks for it */
};

enum drive_order {
	DRIVE_IN_ORDER,
	DRIVE_SHORTEST_POSITIONING,
};

struct drive_zone {
	u64 first_sector;
	u64 sectors;
	u64 first_cylinder;
	u64 cylinders;
	u64 sectors_per_track;
	u64 offset;			/* this and the skews: see DRIVE_SKEW_UNIT */
	u64 track_skew;
	u64 cylinder_skew;
};

struct drive_seek {
	u64 cylinders;
	u64 time_ns;
};

/* Indices of overhead_ns: what is asked, whether the buffer has it, what came before. */
enum { DRIVE_READ, DRIVE_WRITE };
enum { DRIVE_HIT, DRIVE_MISS };

/* What user space writes: this, then the zones, then the points of the seek curve. */
struct drive_description {
	u64 format;
	u64 sectors;
	u64 surfaces;
	u64 mapping;
	u64 turn_ns;
	u64 head_switch_ns;
	s64 write_settle_ns;		/* less than 0: a write seeks faster than a read */
	u64 bus_sector_ns;
	u64 read_water_thousandths;	/* of a request: what is read before the bus sets out */
	u64 overhead_ns[2][2][2];
	u64 completion_ns[2];
	u64 data_preparation_ns;
	u64 reselect_ns;
	u64 segments;
	u64 segment_sectors;
	u64 write_segments;
	u64 caching;
	u64 read_ahead;
	u64 read_ahead_sectors;		/* 0: as much as the segment holds */
	u64 read_ahead_over_requested;
	u64 read_hits_on_written;
	u64 zero_latency[2];		/* by DRIVE_READ, DRIVE_WRITE */
	u64 fast_write;
	u64 volatile_cache;		/* what it holds is lost with the power */
	u64 queue_depth;
	u64 queue_order;
	u64 members;
	u64 chunk_sectors;
	u64 zones;
	u64 seeks;
};

/* Where a sector is. */
struct drive_place {
	const struct drive_zone *zone;
	u64 cylinder;
	u64 head;
	u64 angle_ns;			/* of its beginning */
	u64 phase;			/* the same, see DRIVE_SKEW_UNIT */
	u64 left;			/* sectors from it to the end of its track */
	u64 left_in_cylinder;
};

struct drive_arm {
	u64 cylinder;
	u64 head;
	u64 free_ns;			/* when what it has begun ends */
};

struct drive_segment {
	u64 first;			/* holds the sectors first to end - 1 */
	u64 end;
	u64 sure;			/* what is before it may lie under read-ahead */
	u64 used;			/* a counter: the least recently used one is taken */
};

/* What the platter goes on reading after a request, until somebody wants the arm. */
struct drive_ahead {
	struct drive_segment *segment;	/* NULL: the arm rests */
	u64 at_ns;			/* when the segment's last sector was read */
	u64 limit;			/* the first sector that it will not read */
};

/* Written by the host, not yet on the platter. */
struct drive_dirty {
	u64 first;
	u64 end;
	u64 asked_ns;			/* the arm may set out */
	u64 begin_ns;			/* the first byte is in the buffer */
	u64 there_ns;			/* the last byte is in the buffer */
};

struct drive_request {
	u64 sector;
	u64 sectors;
	bool write;
	bool through;			/* to the platter before it is answered (FUA) */
};

/* Where the time of a request went. */
struct drive_service {
	u64 finish_ns;
	u64 overhead_ns;
	u64 waited_ns;			/* for an arm that was busy before the request came */
	u64 seek_ns;			/* this and the next two: also to make room in the buffer */
	u64 rotation_ns;
	u64 media_ns;			/* reading or writing, with the switches in between */
	u64 bus_ns;			/* what the bus took beyond that */
	u64 from_cylinder;
	u64 cylinder;
	bool hit;			/* the arm was not needed before the answer */
};

struct drive_model {
	const struct drive_description *is;
	const struct drive_zone *zones;
	const struct drive_seek *seeks;
	struct drive_arm arm;
	struct drive_ahead ahead;
	struct drive_segment *segments;
	struct drive_dirty *dirty;	/* by place; write_segments of them at most */
	u64 dirty_count;
	u64 dirty_sectors;
	u64 in_flight_sectors;		/* being written until arm.free_ns */
	u64 written_end;		/* the sector after the last one that was written */
	u64 uses;
	bool after_write;		/* the request before was one */
	u64 asked_last;			/* and this its last sector */
};

/* geometry.c */
void drive_locate(const struct drive_model *model, u64 sector, struct drive_place *place);
u64 drive_pass_ns(const struct drive_model *model, const struct drive_place *place, u64 sectors);

/* arm.c */
struct drive_access {
	u64 start_ns;			/* when the arm set out */
	u64 end_ns;			/* when the last sector has passed */
	u64 bus_ns;			/* when the bus has carried all that was read */
	u64 seek_ns;
	u64 rotation_ns;
};

u64 drive_seek_ns(const struct drive_model *model, u64 cylinders);
u64 drive_positioning_ns(const struct drive_model *model, const struct drive_place *place,
			 u64 start_ns, bool write, u64 *seek_ns);
void drive_read_media(struct drive_model *model, u64 sector, u64 sectors, u64 start_ns,
		      u64 bus_ns, struct drive_access *access);
void drive_write_media(struct drive_model *model, const struct drive_dirty *data,
		       u64 start_ns, struct drive_access *access);

/* buffer.c */
struct drive_segment *drive_buffered(struct drive_model *model, u64 sector);
struct drive_segment *drive_fresh_segment(struct drive_model *model, u64 sector);
void drive_forget(struct drive_model *model, u64 sector, u64 sectors);
void drive_answered(struct drive_model *model, struct drive_segment *segment, u64 end);
void drive_read_on(struct drive_model *model, struct drive_segment *segment,
		   const struct drive_request *request, u64 at_ns);
void drive_advance_ahead(struct drive_model *model, u64 now_ns);

/* write_cache.c */
u64 drive_write_room(const struct drive_description *is);
bool drive_is_dirty(const struct drive_model *model, u64 sector, u64 sectors);
void drive_write_back(struct drive_model *model, u64 until_ns);
u64 drive_flush(struct drive_model *model, u64 now_ns);
void drive_make_room(struct drive_model *model, const struct drive_request *request, u64 now_ns,
		     u64 from_ns, struct drive_service *service);
void drive_keep(struct drive_model *model, const struct drive_dirty *data);

/* service.c */
void drive_serve(struct drive_model *model, const struct drive_request *request, u64 now_ns,
		 struct drive_service *service);
u64 drive_estimate_ns(struct drive_model *model, const struct drive_request *request,
		      const struct drive_place *place, u64 now_ns);

#endif
