"""Reports that somebody already has: what they say is in the table, or the line is named."""

import copy
import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from elevatorlab import import_results
from elevatorlab.cli.commands import app
from elevatorlab.errors import ElevatorLabError
from elevatorlab.paths import PROJECT
from helpers import FIXTURES

REPORT = json.loads((FIXTURES / "fio-3.33-randrw.json").read_text())
SYSBENCH = (FIXTURES / "sysbench-1.0.20-insert.txt").read_text()


def report(*jobs, **more):
    """Return a report with jobs: each a mapping of what differs from the fixture's one."""
    found = copy.deepcopy(REPORT)
    (usual,) = found["jobs"]
    found["jobs"] = []
    for changes in jobs or ({},):
        job = copy.deepcopy(usual)
        for name, value in changes.items():
            job[name] = {**job.get(name, {}), **value} if isinstance(value, dict) else value
        found["jobs"].append(job)
    return {**found, **more}


@pytest.fixture
def table_of(tmp_path):
    """Return a function that imports texts, or JSON, each as a file of its own."""

    def imported(*contents, **options):
        files = []
        for number, content in enumerate(contents):
            files.append(tmp_path / f"{number}.txt")
            text = content if isinstance(content, str) else json.dumps(content, indent=1)
            files[-1].write_text(text)
        return import_results(files, **options)

    return imported


def test_a_run_of_fio_has_a_row_for_each_direction(table_of):
    table = table_of(report())
    assert list(table["direction"]) == ["read", "write"]
    read = table.iloc[0]
    assert (read["provenance"], read["tool"], read["tool_version"]) == ("imported", "fio", "3.33")
    assert (read["job"], read["block_size_bytes"], read["iodepth"]) == ("mixed", 4096, 1)
    assert (read["requests"], read["throughput_iops"]) == (126, 6300)
    assert (read["moved_bytes"], read["throughput_kib_s"]) == (516096, 25200)
    assert read["completion_latency_mean_us"] == pytest.approx(134.624587)
    assert read["completion_latency_p99_us"] == 4292.608
    assert read["duration_s"] == 0.02


def test_processes_of_a_job_are_one_row_without_averaged_percentiles(table_of):
    slow = {"read": {"total_ios": 374, "iops": 100.5, "clat_ns": {"mean": 1e6, "N": 374}}}
    with pytest.warns(UserWarning, match="group_reporting"):
        read = table_of(report({}, slow)).iloc[0]
    assert (read["jobs"], read["requests"], read["throughput_iops"]) == (2, 500, 6400.5)
    expected = (126 * 134.624587302 + 374 * 1e3) / 500
    assert read["completion_latency_mean_us"] == pytest.approx(expected)
    assert "completion_latency_p99_us" not in read
    each = table_of(report({}, slow), per_job=True)
    assert list(each["process"]) == [1, 1, 2, 2]
    assert set(each["repetition"]) == {1}, "processes of a run are no repetitions"


def test_histograms_of_processes_add_up_to_percentiles(table_of):
    def process(bins):
        clat = {"mean": 5.0, "N": sum(bins.values()), "bins": bins, "percentile": {"50.000000": 7}}
        return {"read": {"clat_ns": clat}, "write": {"total_ios": 0}}

    (row,) = table_of(report(process({"1000": 3}), process({"2000": 1, "3000": 6}))).to_dict(
        "records"
    )
    assert row["completion_latency_p50_us"] == 3


def test_jobs_of_other_names_and_groups_are_rows_of_their_own(table_of):
    table = table_of(report({}, {"jobname": "other"}, {"groupid": 1}))
    assert list(table["job"]) == ["mixed", "mixed", "other", "other", "mixed", "mixed"]
    assert set(table["repetition"]) == {1}


def test_intermediate_reports_are_left_out_and_appended_runs_are_repetitions(table_of):
    early = report({"read": {"total_ios": 10, "runtime": 10}})
    later = report({}, timestamp_ms=REPORT["timestamp_ms"] + 5000)
    for documents, repetitions in (((early, report()), 1), ((report(), later), 2)):
        text = "\n".join(json.dumps(one) for one in documents)
        reads = table_of(text).query("direction == 'read'")
        assert list(reads["requests"]) == [126] * repetitions
        assert list(reads["repetition"]) == list(range(1, repetitions + 1))


def test_notes_around_the_report_and_words_for_no_number_do_no_harm(table_of):
    text = json.dumps(report(), indent=1).replace("548599.470751", "-nan")
    noisy = table_of(f"fio: CPU mask {{1}}\n{{2}} not bound\n{text}\nRun status {{}}\n")
    assert noisy.equals(table_of(report()))
    with pytest.raises(ElevatorLabError, match="iops"):
        table_of(text.replace("6300.0", "nan"))


def test_a_clients_report_has_hosts_and_not_their_sum(table_of):
    found = report({"hostname": "a"}, {"hostname": "b"}, {"jobname": "All clients"})
    found["client_stats"] = found.pop("jobs")
    found["global options"] = {"iodepth": "8"}
    table = table_of(found)
    assert list(table["host"]) == ["a", "a", "b", "b"] and set(table["iodepth"]) == {8}


def test_what_was_not_measured_is_not_zero(table_of):
    nothing = {"min": 0, "max": 0, "mean": 0.0, "N": 0}
    columns = set(table_of(report({"read": {"clat_ns": nothing}, "write": {"total_ios": 0}})))
    assert not {"completion_latency_mean_us", "submission_latency_mean_us"} & columns
    assert "latency_mean_us" in columns


def test_trims_and_reads_with_writes_in_one_have_rows(table_of):
    (job,) = report()["jobs"]
    assert list(table_of(report({"trim": job["write"]}))["direction"]) == ["read", "write", "trim"]
    both = report({"mixed": job["read"]})
    assert list(table_of(both)["direction"]) == ["read", "write"]
    del both["jobs"][0]["read"], both["jobs"][0]["write"]
    assert list(table_of(both)["direction"]) == ["mixed"]


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, [4096, 4096]),
        ({"bs": "1M"}, [1 << 20] * 2),
        ({"bs": "8k,64kB"}, [8192, 65536]),
        ({"bs": "4ki"}, [4000, 4000]),
        ({"bs": "4k", "kb_base": "1000"}, [4000, 4000]),
        ({"bs": "512"}, [512, 512]),
    ],
)
def test_block_sizes_are_bytes(table_of, options, sizes):
    assert list(table_of(report({"job options": options}))["block_size_bytes"]) == sizes


def test_a_range_of_block_sizes_is_no_size(table_of):
    assert table_of(report({"job options": {"bsrange": "4k-64k"}}))["block_size_bytes"].isna().all()


def test_an_option_that_differs_is_a_factor_but_a_seed_is_none(table_of):
    def run(seed, rate):
        return report({"job options": {"randseed": seed, "rate_iops": rate}})

    reads = table_of(run("1", "100"), run("2", "100"), run("3", "200")).query("direction == 'read'")
    assert list(reads["rate_iops"]) == [100, 100, 200]
    assert list(reads["repetition"]) == [1, 2, 1]
    assert "randseed" not in reads


def test_factors_come_from_names_of_files_and_labels(tmp_path):
    for name in ("none-1.json", "mq-deadline-2.json"):
        (tmp_path / name).write_text(json.dumps(report()))
    files = sorted(tmp_path.iterdir())
    table = import_results(files, pattern="{scheduler}-{repetition}.json", labels={"disk": "a"})
    found = table.query("direction == 'read'")[["scheduler", "repetition", "disk"]]
    assert found.values.tolist() == [["mq-deadline", 2, "a"], ["none", 1, "a"]]


def test_a_name_that_can_be_read_in_two_ways_is_refused(table_of, tmp_path):
    file = tmp_path / "4-mq-deadline-1.json"
    file.write_text(json.dumps(report()))
    row = import_results([file], pattern="{depth}-{scheduler}-{repetition}.json").iloc[0]
    assert (row["depth"], row["scheduler"], row["repetition"]) == (4, "mq-deadline", 1)
    with pytest.raises(ElevatorLabError, match="expected a name as"):
        import_results([file], pattern="{depth}-{repetition}.json")


def test_names_labels_and_repetitions_that_do_not_fit_are_refused(table_of, tmp_path):
    for options, expected in (
        ({"pattern": "{scheduler}.json"}, "expected a name as"),
        ({"pattern": "scheduler"}, "expected names in braces"),
        ({"pattern": "{a}{a}"}, "expected names in braces"),
        ({"labels": {"requests": 1}}, "a column already"),
        ({"labels": {"repetition": 1}}, "expected one row for each repetition"),
    ):
        with pytest.raises(ElevatorLabError, match=re.escape(expected)):
            table_of(report(), report(), **options)
    with pytest.raises(ElevatorLabError, match="expected a tool's report"):
        import_results([tmp_path / "missing"])
    with pytest.raises(ElevatorLabError, match="no file"):
        import_results([])


TEXT = json.dumps(report(), indent=1)

UNREADABLE = {
    "empty": ("", 1),
    "foreign": ("bonnie++\n", 1),
    "cut off": (f"note\n{TEXT[:-20]}", (TEXT[:-20].rstrip() + "\n").count("\n")),
    "other JSON": ('note\n{"sysstat": {}}', 2),
    "no request": (report({"read": {"total_ios": 0}, "write": {"total_ios": 0}}), 1),
    "a failed job": ("\n" + json.dumps(report({"error": 28})), 2),
    "fio 2": ({**report(), "fio version": "fio-2.21"}, 1),
    "fio's text": ("fio-3.33\nj: (groupid=0, jobs=1): err= 0\n", 2),
    "sysbench that is cut off": (SYSBENCH[: SYSBENCH.index("General")], None),
    "sysbench of parts": ("\n" + SYSBENCH.replace("SQL stat", "Checkpoint report\nSQL stat"), None),
    "sysbench without a number": (SYSBENCH.replace("   842.76", "   nan"), None),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_named_with_its_line(table_of, case):
    content, line = UNREADABLE[case]
    with pytest.raises(ElevatorLabError) as refusal:
        table_of(content)
    place = re.search(r"0\.txt:(\d+): .*expected", str(refusal.value))
    assert place
    if line is not None:
        assert abs(int(place[1]) - line) <= 1


def iozone(name):
    return (FIXTURES / "iozone" / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    "unit, scale", [("kB", 1), ("KB", 1), ("Kbytes", 1), ("MB", 1 << 10), ("GB", 1 << 20)]
)
def test_iozones_blocks_are_in_kib_s(table_of, unit, scale):
    text = iozone("throughput-3").replace(" kB/sec", f" {unit}/sec")
    table = table_of(text)
    assert list(table["test"][:2]) == ["write", "rewrite"]
    assert table["throughput_kib_s"][0] == 3934196.00 * scale
    assert set(table["threads"]) == {3} and set(table["record_kib"]) == {64}


def test_iozones_table_has_a_row_for_each_test_that_ran(table_of):
    table = table_of(iozone("auto"))
    first = table.iloc[0]
    assert (first["test"], first["file_kib"], first["record_kib"]) == ("write", 64, 4)
    assert first["throughput_kib_s"] == 1163036
    assert len(table) == 18 * 13
    single = table_of(iozone("single")).set_index("test")["throughput_kib_s"]
    assert single.to_dict() == {
        **{"write": 1861061, "rewrite": 4396951, "read": 5853003, "reread": 4783849},
        **{"random_read": 5853003, "random_write": 3748425},
    }
    in_mb = table_of(iozone("auto").replace("Output is in kBytes/sec", "Output is in MBytes/sec"))
    assert in_mb["throughput_kib_s"][0] == 1163036 * 1024
    assert "throughput_iops" in table_of(iozone("operations"))


@pytest.mark.parametrize("name", ["auto", "single", "throughput-3"])
def test_iozones_text_that_is_cut_off_is_refused(table_of, name):
    with pytest.raises(ElevatorLabError, match="cut off"):
        table_of(iozone(name).partition("iozone test")[0])


@pytest.mark.parametrize("name", ["disk-full", "no-directory", "record-larger-than-file"])
def test_a_failed_run_of_iozone_is_refused(table_of, name):
    with pytest.raises(ElevatorLabError, match=r"0\.txt:\d\d: "):
        table_of(iozone(name))


def test_runs_of_iozone_in_one_file_are_repetitions(table_of):
    table = table_of(iozone("direct") * 2)
    assert table["repetition"].value_counts().to_dict() == {1: 5, 2: 5}


def test_sysbenchs_report_is_in_us(table_of):
    (row,) = table_of("sysbench 1.0.20\nCreating files\n" + SYSBENCH).to_dict("records")
    assert (row["requests"], row["threads"], row["errors"]) == (300, 8, 0)
    assert row["latency_mean_us"] == pytest.approx(842.76e3 / 300)
    assert row["latency_p95_us"] == 3960


FILEIO = """
Block size 16KiB
Doing random r/w test

File operations:
    reads/s:                      60.50
    writes/s:                     40.00
    fsyncs/s:                     0.00

Throughput:
    read, MiB/s:                  2.00
    written, MiB/s:               1.00
"""


def test_sysbenchs_fileio_has_directions(table_of):
    table = table_of(SYSBENCH.replace("\nGeneral", f"{FILEIO}\nGeneral")).set_index("direction")
    assert list(table.index) == ["all", "read", "write"]
    assert table.loc["read", ["throughput_iops", "throughput_kib_s"]].tolist() == [60.5, 2048]
    assert set(table["block_size_bytes"]) == {16384} and set(table["test"]) == {"random r/w"}


FILEIO_1_1 = """\
  sysbench 1.1.0-abc (using bundled LuaJIT 2.1.0-beta3)
  Running the test with following options:
  Number of threads: 4
  Block size 10KiB
  Doing sequential rewrite test
  Throughput:
           read:  IOPS=0.00 0.00 MiB/s (0.00 MB/s)
           write: IOPS=90.50 2.00 MiB/s (2.10 MB/s)
           fsync: IOPS=7.25

  Latency (ms):
           min:                                  0.06
           avg:                                  0.44
           max:                                 37.16
           95th percentile:                      1.12
           sum:                               4358.00
"""


def test_sysbench_1_1_tells_of_fileio_no_counts(table_of):
    """Here it was indented, as in a letter."""
    table = table_of(FILEIO_1_1).set_index("direction")
    assert list(table.index) == ["all", "write", "fsync"]
    assert table.loc["write", ["throughput_iops", "throughput_kib_s"]].tolist() == [90.5, 2048]
    assert table.loc["fsync", "throughput_iops"] == 7.25
    whole = table.loc["all", ["latency_mean_us", "latency_max_us", "latency_p95_us"]]
    assert whole.tolist() == pytest.approx([440, 37160, 1120])
    assert "requests" not in table and set(table["block_size_bytes"]) == {10240}
    with pytest.raises(ElevatorLabError, match="expected a line 'avg'"):
        table_of(FILEIO_1_1.partition("  Latency")[0])


def test_sysbench_1_1_has_another_word_for_the_time(table_of):
    text = SYSBENCH.replace("    total time:  ", "    time elapsed:")
    assert text != SYSBENCH
    (row,) = table_of(text).to_dict("records")
    (usual,) = table_of(SYSBENCH).to_dict("records")
    assert row["duration_s"] == usual["duration_s"] > 0


SYSBENCH_0_5 = """\
sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8

General statistics:
    total time:                          50.0s
    total number of events:              20000
    total time taken by event execution: 400.0s
    response time:
         min:                                  2.50ms
         avg:                                 20.00ms
         max:                                 37.50ms
         approx.  95 percentile:              25.00ms
"""


def test_sysbench_0_5_is_read_but_for_its_fileio(table_of):
    (row,) = table_of(SYSBENCH_0_5).to_dict("records")
    assert (row["requests"], row["threads"], row["throughput_events_s"]) == (20000, 8, 400)
    assert (row["latency_mean_us"], row["latency_min_us"]) == (20000, 2500)
    assert (row["latency_max_us"], row["latency_p95_us"]) == (37500, 25000)
    assert len(
        table_of(SYSBENCH_0_5.replace("General", "Operations performed: 6 (2 ops/sec)\nGeneral"))
    )
    fileio = SYSBENCH_0_5.replace("General", "Operations performed:  6 Read, 4 Write\nGeneral")
    with pytest.raises(
        ElevatorLabError, match=r"0\.txt:6: expected fileio of sysbench 1; found .*0.5"
    ):
        table_of(fileio)


def wider(text):
    """Return iozone's text with a table of one row in columns of ten characters, not nine."""
    lines = text.splitlines()
    head = next(place for place, line in enumerate(lines) if " reclen" in line)
    at = lines[head].index(" reclen") + len(" reclen")
    lines[head] = lines[head][:at] + re.sub(r" (?=\w)", "  ", lines[head][at:])
    cells = re.findall(".{9}", lines[head + 1][at:])
    lines[head + 1] = lines[head + 1][:at] + "".join(f" {cell}" for cell in cells)
    return "\n".join(lines)


def test_iozones_columns_are_as_wide_as_its_head_says(table_of):
    """Of this run, seven of thirteen tests did not run: their columns are blank."""
    text = iozone("single")
    usual, found = (table_of(one).set_index("test") for one in (text, wider(text)))
    assert found["throughput_kib_s"].to_dict() == usual["throughput_kib_s"].to_dict()
    with pytest.raises(ElevatorLabError, match=r"0\.txt:\d\d: expected columns of 9 characters"):
        table_of(text.replace(" reclen", "reclen ").replace("1861061", "1861061 12 13"))


def test_what_stands_behind_iozones_end_is_no_failure_of_it(table_of):
    text = iozone("single") + "\nCan't stop here: make failed\n"
    assert len(table_of(text)) == 6
    with pytest.raises(ElevatorLabError, match="expected a run without errors"):
        table_of("Can't\n".join(text.partition("iozone test complete.")[::2]))


def test_a_file_of_several_tools_has_the_rows_of_all(table_of):
    text = "\n".join([iozone("single"), SYSBENCH, TEXT])
    assert table_of(text)["tool"].value_counts().to_dict() == {"iozone": 6, "fio": 2, "sysbench": 1}


def test_fios_text_beside_another_report_is_left_out_with_a_word(table_of):
    text = "j: (groupid=0, jobs=1): err= 0\n" + iozone("single")
    with pytest.warns(UserWarning, match="fio's report in line 1 is left out"):
        assert len(table_of(text)) == 6


def test_the_command_writes_the_table(tmp_path):
    out = tmp_path / "table.csv"
    file = str(FIXTURES / "fio-3.33-randrw.json")
    ran = CliRunner().invoke(app, ["import", file, "--label", "disk=nvme", "--out", str(out)])
    assert ran.exit_code == 0
    assert list(pd.read_csv(out)["disk"]) == ["nvme", "nvme"]
    with pytest.raises(ElevatorLabError, match="NAME=VALUE"):
        CliRunner().invoke(app, ["import", file, "--label", "x"], catch_exceptions=False)


def test_the_page_leads_from_files_to_a_figure(tmp_path, monkeypatch, capsys):
    folder, paced = tmp_path / "measured", tmp_path / "paced"
    folder.mkdir()
    paced.mkdir()
    for scheduler, slower in {"none": 1.0, "mq-deadline": 1.3}.items():
        for depth in (1, 4, 16):
            for run in range(1, 6):
                mean = 1e5 * slower * depth**0.5 * (1 + run / 100)
                read = {"clat_ns": {"mean": mean, "N": 126}, "iops": 1e9 * depth / mean}
                found = report({"read": read})
                (folder / f"{scheduler}-{depth}-{run}.json").write_text(json.dumps(found))
    for percent in (10.0, 30.0, 60.0, 80.0):  # an M/M/1 queue with a service time of 2 ms
        read = {"lat_ns": {"mean": 2e6 / (1 - percent / 100), "N": 126}}
        found = report({"read": read}, disk_util=[{"name": "sda", "util": percent}])
        (paced / f"{percent}.json").write_text(json.dumps(found))
    monkeypatch.chdir(tmp_path)
    page = (PROJECT / "docs/importing.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec("\n".join(blocks), {})
    said = capsys.readouterr().out
    assert "n = 5" in said and "none < mq-deadline" in said
    assert re.search(r"Parameter\(value=(2\.0|1\.99)", said)
    assert (tmp_path / "latency.png").stat().st_size > 1000
