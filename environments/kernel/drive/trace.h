/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the time of each request went, in nanoseconds, for a reader of the trace. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM drive

#if !defined(DRIVE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define DRIVE_TRACE_H

#include <linux/blk-mq.h>
#include <linux/tracepoint.h>

#include "model.h"

TRACE_EVENT(drive_serve,
	TP_PROTO(struct request *rq, const struct drive_request *request,
		 const struct drive_service *service),
	TP_ARGS(rq, request, service),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(sector_t, sector)
		__field(unsigned int, sectors)
		__field(bool, write)
		__field(bool, hit)
		__field(u64, overhead)
		__field(u64, waited)
		__field(u64, seek)
		__field(u64, rotation)
		__field(u64, media)
		__field(u64, bus)
		__field(u64, from)
		__field(u64, cylinder)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(rq->q->disk);
		__entry->sector = blk_rq_pos(rq);
		__entry->sectors = blk_rq_sectors(rq);
		__entry->write = request->write;
		__entry->hit = service->hit;
		__entry->overhead = service->overhead_ns;
		__entry->waited = service->waited_ns;
		__entry->seek = service->seek_ns;
		__entry->rotation = service->rotation_ns;
		__entry->media = service->media_ns;
		__entry->bus = service->bus_ns;
		__entry->from = service->from_cylinder;
		__entry->cylinder = service->cylinder;
	),
	TP_printk("%d,%d %s %llu + %u hit=%d overhead=%llu waited=%llu seek=%llu rotation=%llu media=%llu bus=%llu from=%llu to=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->write ? "W" : "R",
		  (unsigned long long)__entry->sector, __entry->sectors, __entry->hit,
		  __entry->overhead, __entry->waited, __entry->seek, __entry->rotation,
		  __entry->media, __entry->bus, __entry->from, __entry->cylinder)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
