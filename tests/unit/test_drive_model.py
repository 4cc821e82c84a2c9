"""The disk with an arm, as arithmetic: held against real drives, and against closed forms."""

import random
from functools import partial

import numpy as np
import pandas as pd
import pytest

import drive_model
from elevatorlab.analysis.indices import demerit
from elevatorlab.drives import replaying
from elevatorlab.paths import DATA, PROJECT
from elevatorlab.trial.drive_records import DriveRecord
from elevatorlab.trial.drives import drive

pytestmark = pytest.mark.programs("gcc")

MEASURED = ("atlas-iii", "barracuda", "cheetah4lp", "cheetah9lp", "hp-c3323a", "ibm18es")

PAGE = (PROJECT / "docs/drives.md").read_text()

TURN_NS = 10_000_000
SECTOR_NS = 100_000


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Return the function that lets a drive serve requests."""
    return partial(drive_model.serve, drive_model.compile_into(tmp_path_factory.mktemp("model")))


def plain(**changes):
    """Return a drive of round numbers: 100 sectors a track, 2 surfaces, no overheads, no bus."""
    zone = {"first_cylinder": 0, "last_cylinder": 999, "sectors_per_track": 100}
    zone |= {"track_skew_sectors": 20, "cylinder_skew_sectors": 30}
    described = {
        **{"drive": "plain", "source": "a test", "surfaces": 2, "cylinders": 1000},
        **{"sectors": 200_000, "rotation_rpm": 6000, "zones": [zone]},
        **{"head_switch_ms": 1, "write_settle_ms": 0.5, "bus_ms_per_sector": 0},
        "seek_curve_ms_by_cylinders": [[1, 2], [10, 3], [999, 13]],
        "overheads_ms": {},
        "buffer": {"segments": 1, "segment_sectors": 200},
    }
    buffer = described["buffer"] | changes.pop("buffer", {})
    return DriveRecord.model_validate({**described, "buffer": buffer, **changes})


def replayed(serve, name, **changes):
    """Return the trace of a real drive, and what the model does with its requests."""
    trace = pd.read_csv(DATA / f"drives/traces/{name}.csv.gz").assign(**changes)
    gaps_ns = (trace["next_after_us"].shift(fill_value=0) * 1000).round().astype(int)
    requests = zip(gaps_ns, trace["op"], trace["sector"], trace["sectors"], strict=True)
    return trace, serve(drive(name).drive, requests)


@pytest.mark.parametrize("name", MEASURED)
def test_it_takes_what_the_real_drive_took(serve, name):
    described = drive(name).drive
    trace, served = replayed(serve, name)
    model_ms, real_ms = served["response"] / 1e6, trace["response_us"] / 1e3
    assert demerit(model_ms, real_ms) <= 1.5 * described.disksim_demerit_ms
    assert model_ms.mean() == pytest.approx(real_ms.mean(), rel=0.03)


@pytest.fixture(scope="module")
def stored_kinds():
    return pd.read_csv(DATA / "drives/kinds.csv")


def test_the_page_of_drives_tells_how_near_each_drive_is(stored_kinds):
    for one in stored_kinds[stored_kinds["operation"] == "all"].itertuples():
        disksim_ms = drive(one.drive).drive.disksim_demerit_ms
        found = f"| {one.demerit_ms:.3f} ms | {disksim_ms:.3f} ms | {one.mean_ms:.2f} ms"
        assert f"{found} | {one.real_mean_ms:.2f} ms |" in PAGE.replace("**", "")


def test_the_page_of_drives_has_every_kind_of_request(stored_kinds):
    assert replaying.nearness_by_kind(stored_kinds) in PAGE


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_stored_of_each_kind_is_the_model_s(serve, stored_kinds, name):
    """The machine adds the driver's own way, some microseconds a request."""
    trace, served = replayed(serve, name)
    found = replaying.kinds(trace, served["response"] / 1e6, served["hit"] == 1)
    stored = stored_kinds[stored_kinds["drive"] == name].reset_index(drop=True)
    often = found["requests"] >= 100
    exact = [*replaying.KIND, "real_mean_ms"]
    pd.testing.assert_frame_equal(found.loc[often, exact], stored.loc[often, exact])
    assert (found["mean_ms"] - stored["mean_ms"])[often].abs().max() < 0.15


@pytest.mark.parametrize("name", MEASURED)
def test_the_page_of_drives_tells_of_hits_that_took_a_real_drive_longer(serve, name):
    trace, served = replayed(serve, name)
    longer_ms = trace["response_us"] / 1e3 - served["response"] / 1e6
    hits = (trace["op"] == "R") & (served["hit"] == 1)
    late = hits & (longer_ms > 2)
    percent = 100 * longer_ms[late].sum() / (trace["response_us"].sum() / 1e3)
    assert f"| {hits.sum():,} | {late.sum()} | {percent:.1f} % |" in PAGE


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("ibm18es", "the IBM's then has {} times"), ("hp-c3323a", "the HP's {} times")],
)
def test_the_page_of_drives_says_what_is_chance(serve, name, sentence):
    """Reads from the platter after a write, as the model serves them at other angles."""
    trace, served = replayed(serve, name)
    first_ms, real_ms = served["response"] / 1e6, trace["response_us"] / 1e3
    kind = (trace["op"] == "R") & (trace["op"].shift() == "W") & (served["hit"] == 0)
    kind &= trace["sector"] != (trace["sector"] + trace["sectors"]).shift()
    chosen, turn_us, apart_ms = np.random.default_rng(1), 60e6 / drive(name).drive.rotation_rpm, []
    for _ in range(3):
        later_us = trace["next_after_us"] + turn_us * chosen.random(len(trace))
        again_ms = replayed(serve, name, next_after_us=later_us)[1]["response"] / 1e6
        apart_ms.append(demerit(first_ms[kind], again_ms[kind]))
    times = np.mean(apart_ms) / demerit(first_ms, real_ms)
    assert sentence.format(f"{times:.1f}") in " ".join(PAGE.split())


def test_it_is_nearer_to_some_real_drives_than_disksim(serve):
    trace, served = replayed(serve, "barracuda")
    apart_ms = demerit(served["response"] / 1e6, trace["response_us"] / 1e3)
    assert apart_ms < drive("barracuda").drive.disksim_demerit_ms


def test_a_random_read_waits_half_a_turn(serve):
    chosen = random.Random(1)
    requests = [(chosen.randrange(10**8), "R", chosen.randrange(199_999), 1) for _ in range(20_000)]
    served = serve(plain(buffer={"caching": False}), requests)
    assert served["rotation"].mean() == pytest.approx(TURN_NS / 2, rel=0.02)
    assert (served["rotation"] < TURN_NS).all() and (served["media"] == SECTOR_NS).all()


def test_a_random_seek_takes_the_curve_s_mean(serve):
    chosen = random.Random(2)
    requests = [(0, "R", chosen.randrange(199_999), 1) for _ in range(20_000)]
    served = serve(plain(buffer={"caching": False}), requests)
    # Of two random cylinders of n, those that are d apart: 2 (n - d) / n^2 of all pairs.
    n = 1000
    expected = sum(2 * (n - d) / n**2 * curve_ms(d) for d in range(1, n)) * 1e6
    same = served["seek"].isin([0, 1_000_000]).mean()
    assert served["seek"].mean() == pytest.approx(expected, rel=0.02) and same < 0.005


def curve_ms(distance):
    return 2 + (distance - 1) / 9 if distance < 10 else 3 + 10 * (distance - 10) / 989


def test_a_seek_between_two_points_lies_on_the_line_between(serve):
    requests = [(0, "R", 0, 1), (0, "R", 200 * 5, 1), (0, "R", 0, 1)]
    served = serve(plain(buffer={"caching": False}), requests)
    assert served["seek"].tolist()[1:] == [2_444_444, 2_444_444]


def test_reading_all_of_a_zone_takes_its_turns_and_its_switches(serve):
    """A track in a turn, then 20 sectors' skew to the next track, 30 to the next cylinder."""
    cylinders = 50
    served = serve(plain(), [(0, "R", 0, 200 * cylinders)])
    switches = cylinders * 20 + (cylinders - 1) * 30
    expected_ns = 2 * cylinders * TURN_NS + switches * SECTOR_NS
    assert served["media"][0] == pytest.approx(expected_ns, abs=100)


def test_a_skew_shorter_than_the_switch_costs_a_turn(serve):
    zone = plain().zones[0].model_copy(update={"track_skew_sectors": 9})
    served = serve(plain(zones=[zone]), [(0, "R", 0, 200)])
    assert served["media"][0] == pytest.approx(3 * TURN_NS + 9 * SECTOR_NS, abs=100)


@pytest.mark.parametrize("limit, until", [(0, 30), (1, 100), (2, 200), (3, 220), (4, 100)])
def test_the_platter_goes_on_reading(serve, limit, until):
    """What was read ahead needs no arm; the first sector behind it does."""
    drive = plain(buffer={"continuous_read": limit, "segments": 4})
    hit = [(0, "R", 20, 10), (10**9, "R", until - 1, 1)]
    miss = [(0, "R", 20, 10), (10**9, "R", until, 1)]
    assert serve(drive, hit)["hit"].tolist() == [0, 1]
    assert serve(drive, miss)["hit"].tolist() == [0, 0]


def test_a_stream_gets_the_next_track_as_well(serve):
    drive = plain(buffer={"continuous_read": 4})
    requests = [(0, "R", 90, 5), (0, "R", 95, 10), (10**9, "R", 199, 1)]
    assert serve(drive, requests)["hit"].tolist()[2] == 1


def test_what_the_platter_has_not_reached_is_waited_for_without_a_seek(serve):
    drive = plain(buffer={"continuous_read": 1})
    served = serve(drive, [(0, "R", 0, 10), (SECTOR_NS, "R", 10, 20)])
    assert served["hit"].tolist() == [0, 0] and served["seek"][1] == served["rotation"][1] == 0
    assert served["response"][1] == 19 * SECTOR_NS


def test_a_ring_of_a_segment_forgets_what_it_read_first(serve):
    drive = plain(buffer={"continuous_read": 1, "segment_sectors": 30})
    requests = [(0, "R", 0, 10), (10**9, "R", 10, 10), (10**9, "R", 80, 10)]
    assert serve(drive, requests)["hit"].tolist() == [0, 0, 1]


def test_the_segment_used_longest_ago_gives_way(serve):
    drive = plain(buffer={"segments": 2})
    places = [0, 1000, 0, 5000, 0, 1000]
    served = serve(drive, [(0, "R", place, 8) for place in places])
    assert served["hit"].tolist() == [0, 0, 1, 0, 1, 0]


def test_a_write_empties_the_segment_that_has_its_sector(serve):
    drive = plain(buffer={"segments": 2})
    read = [(0, "R", 0, 8), (0, "R", 5000, 8), (0, "W", 4, 1)]
    requests = [*read, (10**9, "R", 5000, 8), (0, "R", 2, 2)]
    assert serve(drive, requests)["hit"].tolist() == [0, 0, 0, 1, 0]


@pytest.mark.parametrize("over_requested", [False, True])
def test_read_ahead_over_requested_keeps_nothing_that_was_answered(serve, over_requested):
    drive = plain(buffer={"continuous_read": 3, "read_ahead_over_requested": over_requested})
    again = [(0, "R", 1000, 8), (10**8, "R", 1008, 8), (10**8, "R", 1008, 8)]
    served = serve(drive, again)
    assert served["hit"].tolist() == [0, 1, int(not over_requested)]


def test_a_write_settles_after_a_seek_but_not_without_one(serve):
    requests = [(0, "R", 1000, 1), (0, "W", 0, 1), (0, "W", 1, 1)]
    served = serve(plain(buffer={"caching": False}), requests)
    assert served["seek"].tolist()[1:] == [2_444_444 + 500_000, 0]


@pytest.mark.parametrize("settle_ms, seek_ns", [(-0.5, 1_944_444), (-3, 0)])
def test_a_write_may_seek_faster_than_a_read(serve, settle_ms, seek_ns):
    drive = plain(write_settle_ms=settle_ms, buffer={"caching": False})
    served = serve(drive, [(0, "R", 1000, 1), (0, "W", 0, 1)])
    assert served["seek"][1] == seek_ns


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_write_ends_in_the_buffer_and_a_flush_on_the_platter(serve, level):
    drive = plain(buffer={"fast_write": level})
    served = serve(drive, [(0, "W", 1000, 8), (0, "F", 0, 0), (0, "F", 0, 0)])
    assert served["hit"][0] == 1 and served["response"][0] == 0
    assert 2_000_000 <= served["response"][1] <= 2_500_000 + 500_000 + TURN_NS + 8 * SECTOR_NS
    assert served["response"][2] == 0


def test_a_write_through_the_cache_ends_on_the_platter(serve):
    drive = plain(buffer={"fast_write": 3})
    served = serve(drive, [(0, "T", 1000, 8), (0, "F", 0, 0)])
    assert served["hit"][0] == 0 and served["media"][0] == 8 * SECTOR_NS
    assert served["response"][1] == 0


def test_a_read_waits_for_what_one_stream_has_in_the_buffer(serve):
    requests = [(0, "W", 1000, 8), (0, "R", 100_000, 1)]
    one = serve(plain(buffer={"fast_write": 2}), requests)
    back = serve(plain(buffer={"fast_write": 3}), requests)
    assert one["waited"][1] > 2_000_000 and back["waited"][1] == 0


def test_a_full_list_of_writes_waits_for_the_platter(serve):
    drive = plain(buffer={"fast_write": 3, "write_segments": 2, "segment_sectors": 800})
    served = serve(drive, [(0, "W", 5000 * n, 8) for n in range(6)])
    assert (served["response"][:2] == 0).all() and (served["response"][2:] > 0).all()


def test_the_write_cache_is_as_large_as_the_buffer(serve):
    """However many extents it may list: three writes of 8 sectors fit into two segments of 12."""
    buffer = {"fast_write": 3, "write_segments": 100, "segments": 2, "segment_sectors": 12}
    served = serve(plain(buffer=buffer), [(0, "W", 5000 * n, 8) for n in range(6)])
    assert (served["response"][:3] == 0).all() and (served["response"][3:] > 0).all()


def test_what_is_being_written_is_still_in_the_buffer(serve):
    """The second write waits for the first one's end, which began before the second one came."""
    drive = plain(buffer={"fast_write": 3, "write_segments": 100, "segment_sectors": 12})
    served = serve(drive, [(0, "W", 0, 8), (1000, "W", 5000, 8)])
    assert served["response"].tolist() == [0, 8 * SECTOR_NS - 1000]
    assert served["waited"][1] == served["response"][1]


@pytest.mark.parametrize(
    ("level", "pause_ns", "sector", "expected_ms"),
    [
        (2, 10**9, 5008, 1),  # on the track of the write before
        (2, 10**9, 5108, 3),
        (1, 10**9, 5008, 3),  # what the buffer had is on the platter
        (1, 0, 5008, 1),
        (0, 0, 5008, 3),  # each write ends on the platter
    ],
)
def test_a_write_after_a_write_takes_its_own_overhead_only_where_it_goes_on(
    serve, level, pause_ns, sector, expected_ms
):
    figures = [("after_read", 3), ("after_write", 1)]
    overheads = {f"write_{how}_{of}": ms for how in ("hit", "miss") for of, ms in figures}
    described = plain(buffer={"fast_write": level}, overheads_ms=overheads)
    served = serve(described, [(0, "W", 5000, 8), (pause_ns, "W", sector, 8)])
    assert served["overhead"].tolist() == [3_000_000, expected_ms * 1_000_000]


def test_a_head_never_writes_before_the_bus_has_brought_the_sector(serve):
    """The request ends on the next track. Its second sector comes too late for this turn."""
    slow = plain(bus_ms_per_sector=2 * SECTOR_NS / 1e6)
    served = serve(slow, [(93 * SECTOR_NS, "W", 95, 10)])
    assert served["rotation"][0] == TURN_NS + 2 * SECTOR_NS


@pytest.mark.parametrize(("pause_ns", "expected_ms"), [(0, 1), (10**9, 3)])
def test_a_hit_after_a_read_takes_its_own_overhead_while_the_platter_reads_on(
    serve, pause_ns, expected_ms
):
    overheads = {"read_hit_after_read": 1, "read_hit_after_write": 3}
    described = plain(buffer={"continuous_read": 3}, overheads_ms=overheads)
    served = serve(described, [(0, "R", 5000, 8), (pause_ns, "R", 5008, 8)])
    assert served["overhead"][1] == expected_ms * 1_000_000


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_wait_for_room_says_what_the_arm_does_meanwhile(serve, level):
    drive = plain(buffer={"fast_write": level, "segment_sectors": 12})
    served = serve(drive, [(0, "W", 5000, 8), (0, "W", 70_000, 8)])
    asked = served.loc[1]
    assert asked["hit"] == 1 and asked["media"] == 8 * SECTOR_NS and asked["waited"] == 0
    assert asked["response"] == asked["seek"] + asked["rotation"] + asked["media"]
    assert asked["seek"] > 2_000_000 and asked["rotation"] > 0


def test_a_write_that_waits_beside_its_overhead_is_not_counted_twice(serve):
    overheads = {"write_hit_after_write": 4.0}
    buffer = {"fast_write": 3, "segment_sectors": 12}
    requests = [(0, "W", 5000, 8), (0, "W", 70_000, 8)]
    free, busy = (
        serve(plain(buffer=buffer, overheads_ms=told), requests).loc[1] for told in ({}, overheads)
    )
    assert busy["response"] == free["response"] and busy["overhead"] == 4_000_000
    assert busy["seek"] < free["seek"] and busy["media"] == free["media"]


def test_what_was_written_is_read_from_the_buffer(serve):
    for allowed in (True, False):
        drive = plain(buffer={"fast_write": 3, "read_hits_on_written": allowed})
        served = serve(drive, [(0, "W", 1000, 8), (0, "R", 1002, 4)])
        assert served["hit"][1] == allowed


def test_the_bus_carries_while_the_platter_reads(serve):
    """A bus half as fast ends a sector's time after it began with the last; a faster one then."""
    slow, fast = 2 * SECTOR_NS, SECTOR_NS // 2
    for bus_ns, after_media in ((slow, 9 * (slow - SECTOR_NS) + slow), (fast, fast)):
        drive = plain(bus_ms_per_sector=bus_ns / 1e6)
        served = serve(drive, [(0, "R", 500, 10)])
        assert served["bus"][0] == pytest.approx(after_media, abs=100)


def test_the_bus_can_wait_until_all_is_read(serve):
    drive = plain(bus_ms_per_sector=0.2, buffer={"read_water_mark": 1})
    served = serve(drive, [(0, "R", 500, 10)])
    assert served["bus"][0] == 10 * 2 * SECTOR_NS


def test_a_drive_that_begins_anywhere_needs_at_most_a_turn_for_a_track(serve):
    for immediate, at_most in ((1, TURN_NS), (0, 2 * TURN_NS)):
        drive = plain(buffer={"immediate_read": immediate})
        requests = [(0, "R", 1000, 1), (1_234_567, "R", 100, 100)]
        served = serve(drive, requests)
        time_ns = served["rotation"][1] + served["media"][1]
        assert TURN_NS <= time_ns <= at_most + 100
        assert (time_ns > TURN_NS + 100) == (not immediate)


@pytest.mark.parametrize("mapping, head", [(0, 0), (1, 1), (2, 1)])
def test_a_cylinder_begins_at_the_head_in_use_in_a_serpentine(serve, mapping, head):
    """Then going on to the next cylinder is no switch of heads, which would take longest here."""
    drive = plain(layout_mapping=mapping, head_switch_ms=5)
    served = serve(drive, [(0, "R", 199, 1), (10**9, "R", 200, 1)])
    assert served["seek"][1] == (2_000_000 if head else 5_000_000)


def test_spare_sectors_lie_in_every_cylinder(serve):
    drive = plain(sectors=100_000)
    served = serve(drive, [(0, "R", 50_000, 1), (0, "R", 99_999, 1)])
    assert served["cylinder"].tolist() == [500, 999]
