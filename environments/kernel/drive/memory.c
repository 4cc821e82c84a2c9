// SPDX-License-Identifier: GPL-2.0-only
/* What the disk holds: pages of memory, where something was written; zeros elsewhere. */
#include <linux/highmem.h>

#include "disk.h"

/* The page of a sector; NULL where nothing was written, or there is no memory for it. */
static struct page *page_of(struct drive_disk *disk, sector_t sector, bool make)
{
	unsigned long index = sector >> PAGE_SECTORS_SHIFT;
	struct page *page = xa_load(&disk->pages, index), *there;

	if (page || !make)
		return page;
	page = alloc_page(GFP_NOIO | __GFP_ZERO);
	if (!page)
		return NULL;
	there = xa_cmpxchg(&disk->pages, index, NULL, page, GFP_NOIO);
	if (!there)
		return page;
	__free_page(page);
	return xa_is_err(there) ? NULL : there;
}

static blk_status_t copy(struct drive_disk *disk, struct bio_vec *part, sector_t sector,
			 bool write)
{
	unsigned int done = 0, count;

	for (; done < part->bv_len; done += count, sector += count >> SECTOR_SHIFT) {
		struct page *page = page_of(disk, sector, write);
		unsigned int at = (sector & (PAGE_SECTORS - 1)) << SECTOR_SHIFT;

		count = min_t(unsigned int, part->bv_len - done, PAGE_SIZE - at);
		if (write && !page)
			return BLK_STS_RESOURCE;
		if (write)
			memcpy_page(page, at, part->bv_page, part->bv_offset + done, count);
		else if (page)
			memcpy_page(part->bv_page, part->bv_offset + done, page, at, count);
		else
			memzero_page(part->bv_page, part->bv_offset + done, count);
	}
	return BLK_STS_OK;
}

/* Move the data of a request; when it is answered is another matter. */
blk_status_t drive_transfer(struct drive_disk *disk, struct request *rq)
{
	sector_t sector = blk_rq_pos(rq);
	struct req_iterator iterator;
	struct bio_vec part;

	rq_for_each_segment(part, rq, iterator) {
		blk_status_t status = copy(disk, &part, sector, op_is_write(req_op(rq)));

		if (status != BLK_STS_OK)
			return status;
		sector += part.bv_len >> SECTOR_SHIFT;
	}
	return BLK_STS_OK;
}

void drive_free_pages(struct drive_disk *disk)
{
	unsigned long index;
	struct page *page;

	xa_for_each(&disk->pages, index, page)
		__free_page(page);
	xa_destroy(&disk->pages);
}
