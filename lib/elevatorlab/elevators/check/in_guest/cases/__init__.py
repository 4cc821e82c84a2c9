"""The cases, in the order in which they run; `elevators.check.cases` says what each means."""

from . import at_rest, disks, orders, under_load

ALL = {
    case.__name__: case
    for case in (
        at_rest.loads,
        at_rest.is_selected,
        disks.serves_one_at_a_time,
        disks.hands_each_request_out_once,
        disks.keeps_data,
        disks.merges,
        disks.takes_requests_back,
        disks.serves_a_full_queue,
        orders.keeps_flushes,
        orders.starves_nobody,
        at_rest.unloads_cleanly,
        under_load.serves_two_processors,
        under_load.changes_its_depth,
        under_load.switches,
        under_load.survives_a_lost_disk,
    )
}
