"""fio's report: a real one is reduced, a broken one is refused in one sentence."""

import json

import pytest

from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.workloads.fio import summarise
from helpers import FIXTURES

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
    assert "expected its JSON with one job" in said
    assert f"found {len(BROKEN[case])} characters" in said
    assert "run the trial again" in said
