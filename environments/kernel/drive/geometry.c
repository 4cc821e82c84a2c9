// SPDX-License-Identifier: GPL-2.0-only
/* From a sector's number to its cylinder, head and angle. */
#include "model.h"

static const struct drive_zone *zone_of(const struct drive_model *model, u64 sector)
{
	u64 low = 0, high = model->is->zones;

	while (high - low > 1) {
		u64 middle = (low + high) / 2;

		if (model->zones[middle].first_sector <= sector)
			low = middle;
		else
			high = middle;
	}
	return &model->zones[low];
}

static u64 angle_of(const struct drive_model *model, const struct drive_zone *zone, u64 phase)
{
	return phase * model->is->turn_ns / (zone->sectors_per_track * DRIVE_SKEW_UNIT);
}

void drive_locate(const struct drive_model *model, u64 sector, struct drive_place *place)
{
	const struct drive_zone *zone = zone_of(model, sector);
	u64 surfaces = model->is->surfaces, tracks, cylinder, turn, first, end, within, descends;

	/* Spare sectors lie at the ends of the cylinders, the same number in each of a zone. */
	sector -= zone->first_sector;
	cylinder = (sector * zone->cylinders + zone->cylinders - 1) / zone->sectors;
	while (cylinder * zone->sectors / zone->cylinders > sector)
		cylinder--;
	first = cylinder * zone->sectors / zone->cylinders;
	end = (cylinder + 1) * zone->sectors / zone->cylinders;
	within = sector - first;

	place->zone = zone;
	place->cylinder = zone->first_cylinder + cylinder;
	place->head = within / zone->sectors_per_track;
	tracks = cylinder * (surfaces - 1) + place->head;
	within %= zone->sectors_per_track;
	place->left_in_cylinder = end - first - place->head * zone->sectors_per_track - within;
	place->left = zone->sectors_per_track - within;
	if (place->left > place->left_in_cylinder)
		place->left = place->left_in_cylinder;

	descends = model->is->mapping == DRIVE_SERPENTINE ? place->cylinder : cylinder;
	if (model->is->mapping != DRIVE_HEADS_ASCEND && descends % 2)
		place->head = surfaces - 1 - place->head;

	turn = zone->sectors_per_track * DRIVE_SKEW_UNIT;
	place->phase = (zone->offset + tracks * zone->track_skew + cylinder * zone->cylinder_skew +
			within * DRIVE_SKEW_UNIT) % turn;
	place->angle_ns = angle_of(model, zone, place->phase);
}

/* How long a number of sectors of one track takes to pass under the head. */
u64 drive_pass_ns(const struct drive_model *model, const struct drive_place *place, u64 sectors)
{
	/* A difference of angles, so that the end of a sector is the beginning of the next. */
	return angle_of(model, place->zone, place->phase + sectors * DRIVE_SKEW_UNIT) -
	       place->angle_ns;
}
