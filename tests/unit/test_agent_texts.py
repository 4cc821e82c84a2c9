"""iozone's text and fio's report: real ones are read, broken and foreign ones refused."""

import json

import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.workloads import fio_points, iozone_text
from elevatorlab.agent.workloads.background import reports
from elevatorlab.agent.workloads.fio import arguments, summarise
from elevatorlab.agent.workloads.iozone import TESTS, pattern, rates
from elevatorlab.paths import PROJECT
from helpers import FIXTURES

FOLDER = FIXTURES / "iozone"
SCRIPT = PROJECT / "data/published/iozone_ranking/script-command-3-threads.txt"


def text(name):
    return (FOLDER / f"{name}.txt").read_text()


def refusal(function, content):
    with pytest.raises(AgentError) as refused:
        function(content)
    return str(refused.value)


def test_the_five_tests_of_the_article_with_three_processes():
    found = iozone_text.throughput(text("throughput-3"))
    assert [one["test"] for one in found] == list(TESTS)
    assert {one["threads"] for one in found} == {3}
    content = text("throughput-3")
    for one in found:
        assert f"= {one['throughput_kib_s']:.2f}".replace("= ", "") in content
        assert one["slowest_kib_s"] <= one["fastest_kib_s"] <= one["throughput_kib_s"] + 0.01


def test_the_scripts_own_command_reports_every_smaller_number_of_processes_first():
    found = iozone_text.throughput(SCRIPT.read_text())
    assert [one["threads"] for one in found] == [1] * 5 + [2] * 5 + [3] * 5
    reported = iozone_text.report(SCRIPT.read_text())
    assert reported["initial_write"] == [4200656.50, 5398339.12, 6629848.25]
    assert list(reported) == list(TESTS)


def test_what_the_articles_script_reads_is_the_figure_of_one_process():
    """The script's ``grep ... | awk '{print $5}'`` ($4 for Rewrite), word for word."""
    lines = SCRIPT.read_text().splitlines()
    columns = {"  Initial write ": 5, "        Rewrite ": 4, "   Random write ": 5}
    for pattern_, field in columns.items():
        (line,) = [line for line in lines if pattern_ in line]
        test = pattern_.strip().lower().replace(" ", "_")
        assert float(line.split()[field - 1]) == iozone_text.report(SCRIPT.read_text())[test][0]


def test_all_tests_of_the_throughput_mode_without_a_report():
    found = iozone_text.throughput(text("throughput-all-tests"))
    assert [one["test"] for one in found][:4] == ["initial_write", "rewrite", "read", "reread"]
    others = {"reverse_read", "stride_read", "random_read", "mixed_workload"}
    assert others <= {one["test"] for one in found} and {one["threads"] for one in found} == {2}


def test_direct_mode_is_the_same_text():
    assert len(iozone_text.throughput(text("direct"))) == 5


@pytest.mark.parametrize("name", ["throughput-3", "throughput-all-tests", "direct"])
def test_a_text_cut_off_anywhere_is_refused(name):
    whole = text(name)
    for end in range(0, len(whole) - 25, 97):
        said = refusal(iozone_text.throughput, whole[:end])
        assert "cut off" in said or "expected the text that iozone prints" in said


@pytest.mark.parametrize("foreign", ["", "fio-3.33\n", '{"jobs": []}', "Version 2.00  bonnie"])
def test_another_programs_text_is_refused(foreign):
    assert "expected the text that iozone prints" in refusal(iozone_text.throughput, foreign)


EARLY = "".join(line for line in text("disk-full").splitlines(True) if "No space" not in line)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (text("auto"), ["no figures of its throughput mode"]),
        (text("disk-full"), ["Error writing block 32", "No space left"]),
        (EARLY, ["Error writing block 32", "Is the device full?"]),
        (text("record-larger-than-file"), ["nothing in initial_write"]),
        (text("operations"), ["ops/sec; expected kB/sec"]),
    ],
    ids=["no throughput", "full disk", "ended early", "large record", "other units"],
)
def test_a_text_without_the_figures_is_refused_with_what_is_wrong(content, said):
    refused = refusal(iozone_text.throughput, content)
    assert [one for one in said if one not in refused] == []


def test_a_folder_that_is_not_there_is_told_although_iozone_never_ends():
    assert "Can not open temp file: /nonexistent/l" in iozone_text.complaint(text("no-directory"))


def test_a_report_that_contradicts_its_blocks_is_refused():
    (number,) = iozone_text.report(text("throughput-3"))["rewrite"]
    head, tail = text("throughput-3").rsplit(f"{number:.2f}", 1)
    assert "differ in rewrite" in refusal(iozone_text.throughput, f"{head}{number + 1:.2f}{tail}")


def test_no_complaint_in_what_went_well():
    for name in ("throughput-3", "throughput-all-tests", "auto", "single", "direct"):
        assert iozone_text.complaint(text(name)) is None


def test_in_the_mixed_workload_odd_threads_write_as_iozones_do():
    assert [pattern("mixed_workload", index) for index in range(4)] == [
        *("randread", "randwrite", "randread", "randwrite"),
    ]
    assert pattern("rewrite", 0) == pattern("initial_write", 1) == "write"


def test_a_report_of_fewer_jobs_than_threads_is_refused():
    assert rates(REPORT, 1)["throughput_kib_s"] == 25200 + 26000
    with pytest.raises(AgentError, match="expected 2 jobs that moved bytes"):
        rates(REPORT, 2)


REPORT = (FIXTURES / "fio-3.33-randrw.json").read_text()


def test_figures_of_a_report():
    summary = summarise(REPORT)
    assert summary["read"]["requests"] + summary["write"]["requests"] == 256
    read = summary["read"]
    assert read["bytes"] == 126 * 4096
    assert read["iops"] == 6300  # 126 requests in 20 ms
    assert read["kib_s"] == 25200
    assert read["latency_mean_ns"] == 134624.587302
    assert read["latency_percentile_ns"]["50.000000"] == 59136


def test_what_fio_says_before_its_report_is_skipped():
    assert summarise("fio: this platform does not support this\n" + REPORT) == summarise(REPORT)


def test_a_direction_without_requests_has_no_figures():
    report = json.loads(REPORT)
    report["jobs"][0]["write"]["total_ios"] = 0
    assert list(summarise(json.dumps(report))) == ["read"]


BROKEN = {
    "empty": "",
    "cut off": REPORT[: len(REPORT) // 2],
    "one character short": REPORT.rstrip()[:-1],
    "no job": json.dumps({**json.loads(REPORT), "jobs": []}),
    "another program's": '{"sysstat": {"hosts": []}}',
    "not JSON": "fio: failed to open the device",
    "a list": '{"jobs": [[]]}',
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_report_is_refused(case):
    with pytest.raises(AgentError) as refusal:
        summarise(BROKEN[case])
    said = str(refusal.value)
    assert "expected its JSON with a job" in said
    assert f"found {len(BROKEN[case])} characters" in said


def changed(**of_job):
    """Return the report with other values in its job; a mapping changes values of a part."""
    report = json.loads(REPORT)
    job = report["jobs"][0]
    for name, value in of_job.items():
        job[name] = {**job.get(name, {}), **value} if isinstance(value, dict) else value
    return report


def of_jobs(*reports):
    return json.dumps({**reports[0], "jobs": [job for one in reports for job in one["jobs"]]})


def test_all_jobs_count():
    slow = {"mean": 1e6, "N": 374}
    other = changed(read={"total_ios": 374, "iops": 100.5, "io_bytes": 1, "clat_ns": slow})
    found = summarise(of_jobs(json.loads(REPORT), other))
    read = found["read"]
    assert (read["requests"], read["iops"], read["bytes"]) == (500, 6400.5, 126 * 4096 + 1)
    assert read["latency_mean_ns"] == pytest.approx((126 * 134624.587302 + 374 * 1e6) / 500)
    assert read["latency_percentile_ns"] == {}, "percentiles of two jobs cannot be averaged"
    assert found["write"]["requests"] == 260


def test_a_direction_of_one_job_among_several_keeps_its_percentiles():
    reader, writer = changed(write={"total_ios": 0}), changed(read={"total_ios": 0})
    assert summarise(of_jobs(reader, writer)) == summarise(REPORT)


def test_fio_is_asked_for_the_percentiles_of_all_processes():
    assert "--group_reporting=1" in arguments({"numjobs": 4})
    assert "--group_reporting=0" in arguments({"numjobs": "4", "group_reporting": 0})
    assert arguments({"rw": "read", "numjobs": 1}) == ["--rw=read", "--numjobs=1"]


def test_trims_count():
    counts = json.loads(REPORT)["jobs"][0]["write"]
    assert summarise(json.dumps(changed(trim=counts)))["trim"] == summarise(REPORT)["write"]


def test_of_several_documents_the_last_has_the_whole_run():
    early = json.dumps(changed(read={"total_ios": 1}), indent=2)
    for text in (f"{early}\n{REPORT}", f"{early}\n{early}\n{REPORT}\nDisk stats: {{}}\n"):
        assert summarise(text) == summarise(REPORT)
    with pytest.raises(AgentError):
        summarise(f"{early}\n{REPORT[:-30]}")


@pytest.mark.parametrize("note", ["fio: CPU mask {64,191}", "{0}: no such job", "a {", "\ufeff"])
def test_a_brace_in_a_note_begins_no_report(note):
    assert summarise(f"{note}\n{REPORT}\n{note}\n") == summarise(REPORT)


def test_a_report_without_percentiles_or_latencies_has_the_rest():
    whole = summarise(REPORT)["read"]
    report = changed()
    del report["jobs"][0]["read"]["clat_ns"]["percentile"]
    found = summarise(json.dumps(report))["read"]
    assert found == {**whole, "latency_percentile_ns": {}}
    unmeasured = {"clat_ns": {"mean": 0.0, "N": 0, "percentile": {}}}
    found = summarise(json.dumps(changed(read=unmeasured)))["read"]
    assert found == {**whole, "latency_mean_ns": None, "latency_percentile_ns": {}}


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "inf"])
def test_what_is_no_number_is_refused_where_it_is_read_alone(word):
    unread = REPORT.replace('"stddev": 548599.470751', f'"stddev": {word}')
    assert unread != REPORT and summarise(unread) == summarise(REPORT)
    with pytest.raises(AgentError, match="iops"):
        summarise(REPORT.replace('"iops": 6300.0', f'"iops": {word}'))


REFUSED = {
    "No space left on device": changed(error=28),
    "continue_on_error": changed(total_err=3, first_error=5),
    "client": {"client_stats": changed()["jobs"]},
    "stonewall": json.loads(of_jobs(changed(), changed(groupid=1))),
    "wait_for": changed(**{"job options": {"wait_for": "other"}}),
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_cannot_be_added_is_refused_by_the_options_name(option):
    with pytest.raises(AgentError, match=option):
        summarise(json.dumps(REFUSED[option]))


def test_a_report_of_reads_and_writes_in_one_is_refused_and_one_of_both_is_read():
    report = changed(mixed=changed()["jobs"][0]["read"])
    assert summarise(json.dumps(report)) == summarise(REPORT)
    del report["jobs"][0]["read"], report["jobs"][0]["write"]
    with pytest.raises(AgentError, match="unified_rw_reporting"):
        summarise(json.dumps(report))


def test_a_point_without_its_percentiles_is_refused_by_the_options_names():
    with pytest.raises(AgentError, match="lat_percentiles, percentile_list"):
        fio_points.summarise(REPORT)


def test_a_block_of_iozone_that_cannot_be_read_is_not_passed_over():
    damaged = text("throughput-3").replace("= 7421733.00 kB/sec\n", "=         nan kB/sec\n", 1)
    assert "5 blocks" in refusal(iozone_text.throughput, damaged)


def iostat(*disks):
    reported = [{"disk": [{"disk_device": name, "r/s": 1.5}]} for name in disks]
    return json.dumps({"sysstat": {"hosts": [{"statistics": reported}]}})


def test_iostats_reports_are_those_of_the_device_and_all_of_them():
    assert [one["r/s"] for one in reports(iostat("vda", "vda"), "vda", 2)] == [1.5, 1.5]
    for broken in (iostat("vda"), iostat("vda", "vdb"), iostat("vda", "vda")[:-2], "", "[]"):
        with pytest.raises(AgentError, match="expected"):
            reports(broken, "vda", 2)
