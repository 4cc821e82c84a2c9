"""The cases of the check in their order, and what a failure of each means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One case of the check."""

    #: Name of the case's function in `in_guest.cases`. The cases `BUILDS` and `STAYS` have no
    #: function there, because they run on the host.
    name: str
    #: What a correct scheduler does.
    title: str
    #: What a failure means, for the scheduler's author.
    means: str


BUILDS = Case(
    "builds",
    "It compiles for the image's kernel.",
    "The compiler's own lines say where. 'undefined!' names a function of the kernel that modules "
    "may not call.",
)

#: A module that fails this case is never loaded.
STAYS = Case(
    "stays_in_the_block_layer",
    "It uses what schedulers need, and says nothing in the check's name.",
    "A module that reaches ports, devices, files or hard-coded addresses could forge its own "
    "verdicts, so it gets none. A teacher may look at the named lines.",
)

#: The first cases in the machine. If one of them fails, all others would fail.
BASIC = (
    Case(
        "loads",
        "The module loads, and brings a scheduler of the right name.",
        "module_init must call elv_register, and .elevator_name must be the name in "
        "scheduler.json.",
    ),
    Case(
        "is_selected",
        "An idle disk takes the scheduler, shows its files, and gives it back.",
        "init_sched makes what a disk needs, and exit_sched takes all of it back. A file in sysfs "
        "or debugfs can be read at any time.",
    ),
    Case(
        "serves_one_at_a_time",
        "A single program's requests come and go, one after the other.",
        "A request that insert_requests takes in must leave by dispatch_request, and has_work "
        "must say so as long as one waits.",
    ),
)

ALONE = (
    Case(
        "hands_each_request_out_once",
        "Each request reaches the disk exactly once.",
        "dispatch_request must take what it returns off its own lists, and nothing else. "
        "trace_block_rq_insert says to everybody that a request has come in.",
    ),
    Case(
        "keeps_data",
        "Whatever is written reads back: every way to complete, requests of every size.",
        "Requests were mixed up, or merged wrongly. A completion may come before dispatch_request "
        "is called again.",
    ),
    Case(
        "merges",
        "Neighbours that wait together may become one request, and stay right.",
        "A merged request has another end or another start, and the other one is gone: sorted "
        "lists must be told (request_merged, requests_merged).",
    ),
    Case(
        "takes_requests_back",
        "After a busy disk, or half of a transfer, the kernel hands the same request in again.",
        "insert_requests with at_head set brings a request that was dispatched before. It goes "
        "first, and no counter may count it twice.",
    ),
    Case(
        "serves_a_full_queue",
        "More requests wait than the disk takes at once, from one to 512.",
        "dispatch_request is called again when the disk has room. has_work must not forget those "
        "that wait.",
    ),
    Case(
        "keeps_flushes",
        "What fdatasync or O_DSYNC acknowledged outlives a power cut.",
        "Flushes pass a scheduler by, and a write with FUA comes to it only if the driver gave it "
        "back. It must leave the queue's cache flags and the requests' flags as they are.",
    ),
    Case(
        "starves_nobody",
        "While readers and writers keep the disk busy, everybody gets a turn.",
        "Some request waits as long as others come. A bound is needed: an age, or a turn.",
    ),
    Case(
        "unloads_cleanly",
        "The module unloads only when unused, and leaves no memory behind.",
        "Each allocation needs its kfree, each reference its put, each timer its cancel.",
    ),
)

#: Cases in which programs work side by side, or something changes under load. They run in a machine
#: of their own, whose processors take short turns, beside the other cases.
SIDE_BY_SIDE = (
    Case(
        "serves_two_processors",
        "Two processors insert, dispatch and complete at the same moment.",
        "Each hook may run on several processors at once: a list, a counter or a tree needs a "
        "lock, always the same one, and two locks always in the same order.",
    ),
    Case(
        "changes_its_depth",
        "The number of requests that may wait changes under load.",
        "nr_requests changes while a disk works: depth_updated says so to who must know.",
    ),
    Case(
        "switches",
        "Disks change to it and away from it under load, again and again.",
        "The queue is frozen meanwhile: all requests must have left before exit_sched is called.",
    ),
    Case(
        "survives_a_lost_disk",
        "The disk vanishes under load: requests fail, none hangs, no acknowledged write is lost.",
        "Requests must still be handed out when their disk is gone; the kernel fails them.",
    ),
)

OTHERS = ALONE + SIDE_BY_SIDE
IN_THE_MACHINE = BASIC + OTHERS
CASES = (BUILDS, STAYS, *IN_THE_MACHINE)
