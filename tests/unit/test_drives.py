"""The files of drives: what stands in them, and what is refused, with its line."""

import gzip
import json
import math

import pandas as pd
import pytest

from elevatorlab.agent.devices import drive as beside_disk
from elevatorlab.cli.drive import replays
from elevatorlab.drives import replaying, traces
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import DATA
from elevatorlab.plugins.drives import OURS
from elevatorlab.showing import style
from elevatorlab.trial import has_arm, simulated
from elevatorlab.trial.drive_files import CURVE, read
from elevatorlab.trial.drives import Drive, drive

CHEETAH = OURS["cheetah9lp"]


@pytest.fixture
def changed(tmp_path):
    """Return a function that writes a drive's file with a change, a value a line."""

    def write(change, source=CHEETAH):
        content = json.loads(source.read_text())
        change(content)
        file = tmp_path / "drive.json"
        file.write_text(json.dumps(content, indent=1))
        return file

    return write


def put(value, *place):
    """Return a function that puts a value into a drive's file, at a place of these keys."""

    def change(content):
        *above, last = place
        for key in above:
            content = content[key]
        content[last] = value

    return change


def line_with(file, text, nth=1):
    """Return the number of the nth line that has `text`."""
    lines = enumerate(file.read_text().splitlines(), start=1)
    return [number for number, line in lines if text in line][nth - 1]


@pytest.mark.parametrize("name", OURS)
def test_every_drive_of_ours_is_read_and_described_to_the_module(name):
    described = drive(name).drive
    numbers = beside_disk.numbers(described.model_dump(mode="json"))
    assert numbers[:2] == [beside_disk.FORMAT, described.sectors]
    zones, points = len(described.zones), len(described.seek_curve_ms_by_cylinders)
    assert len(numbers) == numbers.index(zones, 34) + 2 + 8 * zones + 2 * points
    assert all(isinstance(number, int) and number >= 0 for number in numbers)
    assert described.evidence == "measured" or described.sources


def test_the_zones_hold_the_drive_s_sectors_in_order():
    described = drive("barracuda").drive.model_dump(mode="json")
    zones = beside_disk._mapped(described)
    ends = [first + sectors for first, sectors, *_ in zones]
    assert [zone[0] for zone in zones] == [0, *ends[:-1]] and ends[-1] == described["sectors"]


def test_a_drive_survives_a_trial_s_file():
    device = drive("ibm18es")
    assert Drive.model_validate_json(device.model_dump_json()) == device


def test_a_misread_point_of_a_seek_curve_is_left_out_and_named():
    described = drive("ibm18es").drive
    assert "1.026 ms for 3400 cylinders" in described.assumptions[0]
    assert 3400 not in [point.cylinders for point in described.seek_curve_ms_by_cylinders]


def test_a_bus_that_the_file_leaves_open_is_disksim_s_for_that_drive(changed):
    described = read(changed(put(0.0, "bus_ms_per_sector"), OURS["hp-c3323a"]))
    assert described.bus_ms_per_sector == 0.1455 and described.buffer.read_water_mark == 1
    (said,) = described.assumptions
    assert "0.1455 ms a sector, as where DiskSim" in said and "when 100% of a request" in said


def test_a_bus_that_nobody_tells_is_the_median_of_disksim_s_and_named(changed):
    described = read(changed(put(0.0, "bus_ms_per_sector")))
    assert described.bus_ms_per_sector == 0.1455 and described.buffer.read_water_mark == 0
    assert "the median of the 5 buses" in described.assumptions[0]
    assert read(CHEETAH).assumptions == () and read(CHEETAH).bus_ms_per_sector == 0.105


def test_a_water_mark_of_the_file_s_own_stays(changed):
    def change(content):
        content["bus_ms_per_sector"] = 0.0
        content["buffer"]["High (read) water mark"] = 0.5

    assert read(changed(change, OURS["hp-c3323a"])).buffer.read_water_mark == 0.5


@pytest.mark.parametrize("value, on", [(-1, True), (0, False), (1.0, True), (2.0, True)])
def test_disksim_s_finer_settings_of_a_switch_are_read(changed, value, on):
    def change(content):
        content["buffer"]["Enable caching in buffer"] = value
        content["buffer"]["Read-ahead over requested"] = value

    buffer = read(changed(change)).buffer
    assert buffer.caching == buffer.read_ahead_over_requested == on


def test_an_unknown_drive_is_refused_by_name():
    with pytest.raises(ElevatorLabError, match="drive: expected one of .*cheetah9lp.*; found 'x'"):
        drive("x")


FALLING = put(0.5, CURVE, -1, 1)


@pytest.mark.parametrize(
    "change, at, sentence",
    [
        (FALLING, ("  [", 106), "seek curve: expected it not to fall; found 0.5 ms for 6894 cyl"),
        (put(3, CURVE, 7, 0), ("  [", 8), "expected a longer distance than the 7 cylinders before"),
        (put(800, "zones", 1, "first_cylinder"), ('"first_cylinder": 800', 1), "zone 2: .*overlap"),
        (put(10**9, "sectors"), ('"sectors": 1000000000', 1), "sectors: expected at most the 179"),
        (
            put(238, "zones", 2, "track_skew_sectors"),
            ('"track_skew_sectors": 238', 1),
            "zone 3: .*less than a track, which has 238",
        ),
        (put(6963, "zones", -1, "last_cylinder"), ('"last_cylinder": 6963', 1), "zone 11: .* 6961"),
        (
            put(0, "zones", 0, "first_cilinder"),
            ('"first_cilinder": 0', 1),
            "zone 1: first_cilinder",
        ),
        (put(3, "buffer", "segmets"), ('"segmets": 3', 1), "buffer.segmets: no such parameter"),
        (put(7200, "Rotation"), ('"Rotation": 7200', 1), "Rotation: no such parameter"),
        (put([], "zones"), ('"zones": []', 1), "zones: expected at least 1 item; found none"),
        (lambda all: all["zones"][2].pop("sectors_per_track"), ("  {", 3), "zone 3: .*: required"),
        (put([0, 0.0], CURVE, 0), ("   0,", 1), "cylinders: point 1: cylinders: Input should be"),
        (put(1e30, CURVE, -1, 1), ("1e+30", 1), "cylinders: point 106: time_ms: .* equal to 10000"),
        (
            put(10**30, "surfaces"),
            ('"surfaces": 1000', 1),
            "surfaces: .* less than or equal to 256",
        ),
        (put(True, "rotation_rpm"), ('"rotation_rpm": true', 1), "rotation_rpm: expected a number"),
        (
            put("7200", "rotation_rpm"),
            ('"rotation_rpm": "7200"', 1),
            "rotation_rpm: expected a num",
        ),
    ],
)
def test_a_drive_that_cannot_be_is_refused_with_its_line(changed, change, at, sentence):
    file = changed(change)
    with pytest.raises(ElevatorLabError, match=sentence) as refused:
        read(file)
    told = str(refused.value)
    assert told.startswith(f"{file}:{line_with(file, *at)}: ") and "\n" not in told


def test_a_line_counts_what_was_left_out_before_it(changed):
    """The last point of the IBM's curve is the 151st, and two before it are misread."""
    file = changed(FALLING, OURS["ibm18es"])
    with pytest.raises(ElevatorLabError, match=f":{line_with(file, '  [', 151)}: seek curve"):
        read(file)


def test_the_line_of_the_point_after_a_misread_one(changed):
    def change(content):
        curve = content[CURVE]
        after = [cylinders for cylinders, _ in curve].index(3400) + 1  # what is misread
        curve[after][0] = "far"

    file = changed(change, OURS["ibm18es"])
    far = line_with(file, "far")
    with pytest.raises(ElevatorLabError, match=f":{far}: seek_curve"):
        read(file)


@pytest.mark.parametrize("curve", [5, [5], [[1]], "x", None, [[1, "a"]]])
def test_a_curve_that_is_none_is_refused(changed, curve):
    file = changed(put(curve, CURVE))
    with pytest.raises(ElevatorLabError, match=r"drive\.json:\d+: seek_curve_ms_by_cylinders"):
        read(file)


def test_a_curve_with_many_misread_points_is_none(changed):
    def change(content):
        for number in range(10, 80, 2):
            content["seek_curve_ms_by_cylinders"][number][1] = 0.831  # as the shortest seek

    with pytest.raises(ElevatorLabError, match="expected it not to fall"):
        read(changed(change))


@pytest.mark.parametrize("time_ms", [0.1, 3.0])
def test_one_point_that_falls_is_no_misreading_unless_it_is_the_shortest_seek(changed, time_ms):
    file = changed(put(time_ms, CURVE, 50, 1))
    sentence = f":{line_with(file, '  [', 51)}: seek curve: .* not to fall; found {time_ms:g} ms"
    with pytest.raises(ElevatorLabError, match=sentence):
        read(file)


def spiky():
    """Return a curve of 138 points that is measured as badly as the Quantum Atlas 10K's.

    Two points are far too high, and four near the beginning are a little too high.
    """
    curve = [[number, 1.2 + math.sqrt(number) / 1.2] for number in range(1, 139)]
    for number, above_ms in ((60, 1.6), (80, 2.0), (20, 0.39), (22, 0.45), (24, 0.3), (25, 0.3)):
        curve[number][1] += above_ms
    return curve


def test_a_badly_measured_curve_is_read_and_what_is_far_too_high_is_left_out(changed):
    described = read(changed(put(spiky(), CURVE)))
    assert len(described.seek_curve_ms_by_cylinders) == 136
    said, falls = described.assumptions
    assert said.startswith("Left out of the seek curve, as misread: ")
    assert "for 61 cylinders" in said and "for 81 cylinders" in said
    assert falls.startswith("The seek curve falls at ")


def with_last_third_falling(times_ms):
    points = len(times_ms)
    end = 2 * points // 3
    falling = [times_ms[end] * (1 - over / points / 2) for over in range(points - end)]
    return times_ms[:end] + falling


def with_middle(change, points=1):
    """Return a function that changes the times in the middle of a curve."""

    def changed(times_ms):
        first = len(times_ms) // 2
        middle = [change(time_ms, times_ms[-1]) for time_ms in times_ms[first : first + points]]
        return [*times_ms[:first], *middle, *times_ms[first + points :]]

    return changed


@pytest.mark.parametrize("points", [10, 51, 138])
@pytest.mark.parametrize(
    "fallen",
    [
        pytest.param(lambda times_ms: times_ms[::-1], id="reversed"),
        with_last_third_falling,
        pytest.param(with_middle(lambda time_ms, _: time_ms / 2), id="middle halved"),
        pytest.param(with_middle(lambda _, last_ms: 1.1 * last_ms), id="above the longest"),
        pytest.param(with_middle(lambda time_ms, _: time_ms + 2, points=4), id="a hump"),
    ],
)
def test_a_curve_that_really_falls_is_refused(changed, points, fallen):
    times_ms = [2 + 8 * math.sqrt(number / points) for number in range(1, points + 1)]
    curve = [[40 * (at + 1), time_ms] for at, time_ms in enumerate(fallen(times_ms))]
    with pytest.raises(ElevatorLabError, match=r"drive\.json:\d+: seek curve: expected it not to"):
        read(changed(put(curve, CURVE)))


def test_a_single_fall_of_the_curve_is_named(changed):
    def change(content):
        middle = len(content[CURVE]) // 2
        content[CURVE][middle][1] = content[CURVE][middle - 1][1] - 0.5

    described = read(changed(change))
    (said,) = described.assumptions
    assert "The seek curve falls at 1 of" in said and "taken as measured" in said


def test_a_write_may_shorten_a_seek(changed):
    described = read(changed(put(-0.642, "write_settle_ms")))
    assert described.write_settle_ms == -0.642
    assert described.assumptions == ()
    assert beside_disk.numbers(described.model_dump(mode="json"))[6] == -642_000


def test_a_last_zone_that_counts_the_last_cylinder_is_believed(changed):
    def change(content):
        content["zones"][-1]["last_cylinder"] = content["cylinders"]

    described = read(changed(change))
    assert described.cylinders == 6963
    assert "6963 were taken" in described.assumptions[0]


def test_what_disksim_has_and_the_model_has_not_is_named(changed):
    def change(content):
        content["buffer"]["Low (write) water mark"] = 0.25
        content["overheads_ms"]["Extra write disconnect"] = 0.0

    described = read(changed(change))
    (said,) = described.assumptions
    assert said == "Not modelled: Low (write) water mark (0.25), Extra write disconnect (0.0)."
    assert described.buffer == read(CHEETAH).buffer


def test_a_key_that_stands_twice_is_refused_with_its_second_line(changed):
    file = changed(lambda content: None)
    text = file.read_text().replace('"surfaces": 12,', '"surfaces": 12,\n "surfaces": 3,')
    file.write_text(text)
    line = line_with(file, '"surfaces": 3')
    with pytest.raises(ElevatorLabError, match=f":{line}: expected surfaces once; found it twice"):
        read(file)


def test_a_file_may_begin_with_a_byte_order_mark(changed):
    file = changed(lambda content: None)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert read(file) == read(CHEETAH)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ('{\n "drive": ,', r":2: expected JSON"),
        ("[1]", ":1: expected the description of a drive"),
        ("[" * 100_000, ":1: expected JSON; found more brackets"),
        ('{"sectors": ' + "1" * 5000 + "}", "expected JSON; found a number that is too long"),
    ],
)
def test_what_is_no_description_is_refused(tmp_path, text, sentence):
    file = tmp_path / "drive.json"
    file.write_text(text)
    with pytest.raises(ElevatorLabError, match=sentence):
        read(file)


HEADER = "op,sector,sectors,response_us,next_after_us\n"
ROW = "R,5,4,10.5,10\n"


@pytest.mark.parametrize(
    "text",
    [HEADER + ROW * 2, HEADER + ROW * 2 + "\n \n", "\ufeff" + HEADER + ROW * 2],
    ids=["as it should be", "empty last lines", "byte order mark"],
)
@pytest.mark.parametrize("name", ["trace.csv", "trace.csv.gz"])
def test_a_trace_is_read(tmp_path, text, name):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert len(traces.read(tmp_path / name, read(CHEETAH).capacity_sectors)) == 2


@pytest.mark.parametrize(
    "text, sentence",
    [
        (HEADER.replace("op", "operation") + ROW, ":1: .*it lacks op"),
        (HEADER, ":1: expected requests behind the header"),
        (HEADER + "X" + ROW[1:], ":2: op: expected R or W; found 'X'"),
        (HEADER + ROW + "R,87028440,4,10,10\n", ":3: .*among the drive's"),
        (HEADER + ROW + "R,5,4,-1,10\n", ":3: response_us: expected a time"),
        (HEADER + ROW + "R,²,4,10,10\n", ":3: sector: expected a whole number; found '²'"),
        (HEADER + ROW + f"R,{'1' * 5000},4,10,10\n", ":3: sector: expected a whole number"),
        (HEADER + ROW + "R,5,4,10,1e300\n", ":3: next_after_us: .* at most a day; found '1e300'"),
        (HEADER + ROW + "\n" + ROW, ":3: expected a request; found an empty line"),
        (HEADER + ROW + ROW.strip(), ":3: expected the line to end; the file is cut off here"),
        (HEADER + ROW + "R,5\n", ":3: expected 5 fields"),
        (HEADER + ROW * 100_001, ":100002: expected at most 100000 requests"),
    ],
    ids=lambda value: value[:40],
)
def test_what_is_no_trace_is_refused_with_its_line(tmp_path, text, sentence):
    file = tmp_path / "trace.csv"
    file.write_text(text)
    with pytest.raises(ElevatorLabError, match=sentence):
        traces.read(file, read(CHEETAH).capacity_sectors)


def test_a_compressed_trace_that_is_cut_off_is_refused_with_its_line(tmp_path):
    file = tmp_path / "cut.csv.gz"
    file.write_bytes((DATA / "drives/traces/cheetah9lp.csv.gz").read_bytes()[:20_000])
    with pytest.raises(ElevatorLabError, match=r"cut.csv.gz:\d{3,}: expected the rest"):
        traces.read(file, read(CHEETAH).capacity_sectors)


def test_the_last_sector_of_a_drive_can_be_replayed():
    """Its size is no whole number of MiB."""
    device = drive("barracuda")
    last = device.drive.sectors - 1
    rows = pd.DataFrame([["R", last, 1, 1.0, 0.0]], columns=list(traces.COLUMNS))
    assert replaying.trial_of(device, rows).workloads[0].needed_mib == device.capacity_mib


@pytest.mark.parametrize("name", OURS)
def test_a_partition_at_the_rim_ends_with_a_cylinder_and_keeps_the_drive_s_places(name):
    whole, part = drive(name), simulated(name, 100)
    cylinder_mib = whole.drive.surfaces * whole.drive.zones[0].sectors_per_track / 2048
    assert 0 <= part.capacity_mib - 100 <= cylinder_mib * whole.drive.array.members
    assert part.drive.seek_curve_ms_by_cylinders == whole.drive.seek_curve_ms_by_cylinders
    first, *_ = beside_disk._mapped(whole.drive.model_dump(mode="json"))
    begin, *_ = beside_disk._mapped(part.drive.model_dump(mode="json"))
    sectors_a_cylinder = [sectors / cylinders for _, sectors, _, cylinders, *_ in (first, begin)]
    assert sectors_a_cylinder[0] == pytest.approx(sectors_a_cylinder[1], abs=2)
    assert "outermost 100 MiB" in part.drive.assumptions[-1]


def test_a_drive_that_is_smaller_is_used_as_a_whole():
    assert simulated("hp-c3323a", 10**6) == drive("hp-c3323a")


def test_a_cache_is_scaled_down_in_number_and_size_of_its_segments():
    whole, scaled = drive("desktop-7200"), simulated("desktop-7200", 64, cache_ratio=1 / 16)
    before, after = whole.drive.buffer, scaled.drive.buffer
    assert after.segments == before.segments / 4
    assert after.segment_sectors == before.segment_sectors / 4
    assert "6.25%" in scaled.drive.assumptions[-1]


def test_a_simulated_disk_is_a_profile_or_a_drive():
    assert isinstance(simulated("notebook-5400", 64), Drive) and has_arm("notebook-5400")
    slow = simulated("sata_ssd", 64, slowdown=4)
    assert slow.kind == "null_blk" and slow.slowdown == 4 and not has_arm("sata_ssd")


def test_all_stored_traces_are_drawn_in_one_picture(tmp_path, monkeypatch, capsys):
    """Each panel says which drive it is, how far the curves are apart, and the real mean."""

    def replayed(device, requests, say):
        one = replaying.Replayed(device, requests, tmp_path)
        one.__dict__["response_ms"] = one.real_response_ms + 0.5
        one.__dict__["hit"] = pd.Series(False, index=requests.index)
        return one

    drawn = []
    monkeypatch.setattr(replaying, "replay", replayed)
    monkeypatch.setattr(style, "save", lambda figure, folder, name: drawn.append(figure) or {})
    replays(tmp_path)
    titles = [axis.get_title() for axis in drawn[0].axes]
    assert len(titles) == 6
    assert "SEAGATE ST39102LW\n0.500 ms apart, mean 4.27 ms" in titles
    row = "| cheetah9lp | 10,000 | 0.500 ms | 0.107 ms | 4.77 ms | 4.27 ms |"
    printed = capsys.readouterr().out
    assert row in printed and "| write | write | sequential | platter | +" in printed
    kinds = pd.read_csv(tmp_path / "kinds.csv")
    assert kinds["drive"].nunique() == 6 and kinds["of_whole"].eq(1).all()


def test_a_request_s_kind_is_what_it_is_and_what_came_before_it():
    rows = [("R", 0, 8), ("R", 8, 8), ("W", 16, 8), ("W", 80, 8), ("R", 500, 8)]
    real = pd.DataFrame(rows, columns=["op", "sector", "sectors"])
    real["response_us"] = [1000.0, 2000.0, 3000.0, math.nan, 4000.0]
    hit = pd.Series([False, True, False, True, False])
    whole, *each = replaying.kinds(real, real["response_us"] / 1000 + hit, hit).to_dict("records")
    assert (whole["requests"], whole["mean_ms"], whole["real_mean_ms"]) == (4, 2.75, 2.5)
    assert [(*(one[name] for name in replaying.KIND), one["of_whole"]) for one in each] == [
        ("read", "read", "sequential", "buffer", 2.0),
        ("read", "write", "other", "platter", 0.0),
        ("write", "read", "sequential", "platter", 0.0),
    ]
