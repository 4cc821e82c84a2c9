"""What the kernel counted between two readings, and fio's points."""

import json

import pytest

from elevatorlab.agent.devices import schedulers
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.observe import kernel_counters
from elevatorlab.agent.workloads import fio_points

IDLE = "cpu: 0\n  .idle_sleeptime  : {} nsecs\n  .iowait_sleeptime: 5000 nsecs\n"
STAT = "cpu  1 2\ncpu0 1 2\nintr {} 0 0\nctxt {}\n"
TCP = "TcpExt: SyncookiesSent TCPOrigDataSent\nTcpExt: 0 {}\nIpExt: InNoRoutes\nIpExt: 0\n"


def reading(time_ns, requests, idle_ns, interrupts, switches, sends, **scheduler):
    return time_ns, {
        "requests": f"{requests} 0 0 0 {requests} 0",
        "idle": IDLE.format(idle_ns),
        "processor": STAT.format(interrupts, switches),
        "host_sends": TCP.format(sends),
        **{name: f"{value}\n" for name, value in scheduler.items()},
    }


def test_a_difference_of_two_readings(monkeypatch):
    monkeypatch.setitem(schedulers.RECORDS, "one that counts", {"counters": ["held"]})
    before = reading(1000, 10, 100, 3, 30, 7, held=1)
    after = reading(3000, 20, 600, 5, 70, 9, held=5)
    assert kernel_counters.difference(before, after) == {
        "duration_ns": 2000,
        "requests": 20,  # reads and writes
        "busy_ns": 1500,
        "interrupts": 2,
        "context_switches": 40,
        "host_sends": 2,
        "scheduler": {"held": 4},
    }


def test_a_kernel_that_counts_no_idle_time():
    before = reading(0, 0, 0, 0, 0, 0)
    before[1]["idle"] = "Timer List Version: v0.9\n"
    with pytest.raises(AgentError, match="CONFIG_NO_HZ_COMMON"):
        kernel_counters.difference(before, before)


def test_the_report_of_a_point():
    latency = {"mean": 5.0, "percentile": {"50.000000": 4, "99.000000": 9}}
    way = {"total_ios": 3, "io_bytes": 12288, "iops": 30.0, "lat_ns": latency}
    report = {"jobs": [{"read": way, "write": {"total_ios": 0}}]}
    assert fio_points.summarise("note\n" + json.dumps(report)) == {
        "read": {
            **{"requests": 3, "bytes": 12288, "iops": 30.0},
            **{"latency_mean_ns": 5.0, "latency_p50_ns": 4, "latency_p99_ns": 9},
        }
    }


@pytest.mark.parametrize("text", ["", "{", '{"jobs": []}', '{"jobs": [{"read": {}}]}'])
def test_a_broken_report_is_refused(text):
    with pytest.raises(AgentError, match="fio's report is not whole"):
        fio_points.summarise(text)


@pytest.mark.image
def test_counters_agree_with_fio(testbed, make_trial, tmp_path):
    """In the guest: a saturated processor, as many sends as requests, and fio's own rate."""
    trial = make_trial(
        memory_mib=1024,
        device={
            "kind": "nvme_tcp",
            "backing": make_trial().device.model_dump(),
            "driver": "stock",
        },
        workloads=(
            {
                "kind": "fio_points",
                "name": "reader",
                "group": "main",
                "options": {"rw": "randread", "ioengine": "libaio", "direct": 1, "thread": 1},
                "points": ({"iodepth": 64}, {"iodepth": 1}),
                "ramp_ms": 5,
                "counted_ms": 40,
                "window_ms": 60,
            },
        ),
    )
    testbed.prepare([trial])
    outcome = testbed.run(trial)
    result = json.loads(outcome.files["result.json"])
    deep, shallow = result["workloads"]["reader"]["points"]
    counted = deep["counters"]
    rate = counted["requests"] / counted["duration_ns"] * 1e9
    assert rate == pytest.approx(deep["read"]["iops"], rel=0.05)
    assert counted["busy_ns"] == pytest.approx(counted["duration_ns"], rel=0.01)
    assert counted["host_sends"] == pytest.approx(counted["requests"], rel=0.02)
    assert counted["target_sends"] == pytest.approx(counted["requests"], rel=0.02)
    assert shallow["counters"]["busy_ns"] < 0.8 * shallow["counters"]["duration_ns"]
    drivers = [one for one in result["proofs"] if one["knob"].startswith("NVMe/TCP drivers")]
    assert [one["read"] for one in drivers] == ["stock"]
