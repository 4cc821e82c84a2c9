"""NVMe/TCP in the guest: the cable, what the kernel counted, and whose work the processor did."""

import json
import re

import pytest

from elevatorlab.agent.devices import link, schedulers
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.observe import kernel_counters, processor_time
from elevatorlab.agent.workloads import fio_points
from helpers import fio_at, result_of, run_into

TEN = {"rate_gbit_s": 10, "delay_us": 35, "queue_packets": 1000}


@pytest.mark.image
@pytest.mark.parametrize("wanted", [TEN, {**TEN, "rate_gbit_s": 100, "delay_us": 5}])
def test_a_link_in_the_guest_is_proven(testbed, make_trial, tmp_path, wanted):
    """What a trial says of its link is in the result, for both directions."""
    device = {"kind": "nvme_tcp", "backing": make_trial().device, "driver": "stock", "link": wanted}
    trial = make_trial(memory_mib=1024, device=device)
    result = result_of(run_into(tmp_path, testbed, trial))
    proofs = [proof for proof in result["proofs"] if proof["knob"].startswith("tc qdisc")]
    assert [proof["knob"] for proof in proofs] == [
        "tc qdisc of elevatorlab0",
        "tc qdisc of elevatorlab1",
    ]
    for proof in proofs:
        delay_us, rate_gbit_s, ping_us = map(float, re.findall(r"[\d.]+", proof["probe"]))
        link.check(link.Measured(delay_us, rate_gbit_s), wanted, "port")
        assert ping_us >= 2 * wanted["delay_us"]
        assert proof["read"] == f"rate {wanted['rate_gbit_s']} Gb/s, queue of 1000 packets"


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


@pytest.mark.image
def test_counters_agree_with_fio(testbed, make_trial, tmp_path):
    """In the guest: a saturated processor, as many sends as requests, and fio's own rate."""
    trial = make_trial(
        memory_mib=1024,
        device={"kind": "nvme_tcp", "backing": make_trial().device.model_dump(), "driver": "stock"},
        workloads=(fio_at({"iodepth": 64}, {"iodepth": 1}),),
    )
    result = result_of(run_into(tmp_path, testbed, trial))
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


HOST_DISK = "259,0"

#: One request: fio sends it, the target takes it in, serves it and answers; the host takes that
#: in, reads it and ends the request. Times in microseconds after the first one's.
REQUEST = """\
# tracer: nop
     fio-250    [000] .....  1.000000: sched_switch: prev_comm=swapper prev_pid=0 ==> next_comm=fio next_pid=250
     fio-250    [000] ..s..  1.000010: softirq_entry: vec=3 [action=NET_RX]
     fio-250    [000] ..s..  1.000012: netif_receive_skb: dev=elevatorlab1 skbaddr=0 len=100
     fio-250    [000] ..s..  1.000017: softirq_exit: vec=3 [action=NET_RX]
     fio-250    [000] d....  1.000020: sched_switch: prev_comm=fio prev_pid=250 ==> next_comm=kworker/0:1H next_pid=60
kworker/0:1H-60 [000] .....  1.000023: workqueue_execute_start: work struct 0: function nvmet_tcp_io_work [nvmet_tcp]
kworker/0:1H-60 [000] ..s..  1.000030: softirq_entry: vec=3 [action=NET_RX]
kworker/0:1H-60 [000] ..s..  1.000031: netif_receive_skb: dev=elevatorlab0 skbaddr=0 len=4196
kworker/0:1H-60 [000] ..s..  1.000036: softirq_exit: vec=3 [action=NET_RX]
kworker/0:1H-60 [000] .....  1.000040: workqueue_execute_end: work struct 0: function nvmet_tcp_io_work
kworker/0:1H-60 [000] .....  1.000041: workqueue_execute_start: work struct 1: function nvme_tcp_io_work [nvme_tcp]
kworker/0:1H-60 [000] ..s..  1.000050: softirq_entry: vec=4 [action=BLOCK]
kworker/0:1H-60 [000] ..s..  1.000051: block_rq_complete: 259,0 R () 8 + 8 [0]
kworker/0:1H-60 [000] ..s..  1.000053: softirq_exit: vec=4 [action=BLOCK]
kworker/0:1H-60 [000] .....  1.000060: workqueue_execute_end: work struct 1: function nvme_tcp_io_work
kworker/0:1H-60 [000] d....  1.000061: sched_switch: prev_comm=kworker/0:1H prev_pid=60 ==> next_comm=swapper/0 next_pid=0
  <idle>-0      [000] d....  1.000091: sched_switch: prev_comm=swapper/0 prev_pid=0 ==> next_comm=python3 next_pid=9
 python3-9      [000] d....  1.000095: sched_switch: prev_comm=python3 prev_pid=9 ==> next_comm=fio next_pid=250
"""  # noqa: E501


def microseconds(text):
    found = processor_time.divide(text, HOST_DISK)
    return {name: round(time_ns / 1000) for name, time_ns in found["time_ns"].items() if time_ns}


def test_each_moment_belongs_to_somebody():
    assert microseconds(REQUEST) == {
        "host submit": 10 + 3,
        "target receive": 2 + 5,
        "target driver": 3 + 7 + 4 + 1,  # waking up for it, and what comes before the next work
        "host receive": 1 + 5,
        "host driver": 9 + 7 + 1,
        "host complete": 1 + 2,
        "idle": 30,
        "other": 4,
    }
    found = processor_time.divide(REQUEST, HOST_DISK)
    assert sum(found["time_ns"].values()) == 95_000
    assert sum(found["events"].values()) == len(REQUEST.splitlines()) - 2  # between two of them
    assert found["requests"] == 1


def test_the_targets_own_disk_is_the_targets():
    assert microseconds(REQUEST.replace("259,0 R", "252,0 R"))["target complete"] == 3
    assert processor_time.divide(REQUEST.replace("259,0 R", "252,0 R"), HOST_DISK)["requests"] == 0


def test_without_a_target_here_all_is_the_hosts():
    lines = [line for line in REQUEST.splitlines() if "nvmet" not in line]
    found = microseconds("\n".join(lines).replace("elevatorlab1", "eth0"))
    assert found["host receive"] == 7 + 6
    assert not [name for name in found if name.startswith("target")]


def test_a_softirq_for_nobody_and_a_worker_for_nobody():
    quiet = [line for line in REQUEST.splitlines() if "netif_receive" not in line]
    assert microseconds("\n".join(quiet))["other"] == 4 + 7 + 6
    lazy = [line for line in REQUEST.splitlines() if "workqueue" not in line]
    assert microseconds("\n".join(lazy))["other"] == 4 + 10 + 14 + 8


def test_two_processors_are_told_apart():
    both = REQUEST + REQUEST.replace("[000]", "[001]")
    events = [line for line in both.splitlines() if "[" in line]
    mixed = sorted(events, key=lambda line: line.partition("  1.")[2][:6])
    alone = microseconds(REQUEST)
    assert microseconds("\n".join(mixed)) == {name: 2 * value for name, value in alone.items()}


def test_an_empty_trace():
    assert processor_time.divide("# tracer: nop\n", HOST_DISK) == {
        "requests": 0,
        "time_ns": {},
        "events": {},
    }


@pytest.mark.image
@pytest.mark.parametrize("driver", ["stock", None])
def test_the_sides_of_a_real_trial(testbed, make_trial, tmp_path, driver):
    """In the guest: they make up the whole; without a network, all of it is the host's."""
    ram = {**make_trial().device.model_dump(), "service_time_us": 0}
    device = {"kind": "nvme_tcp", "backing": ram, "driver": driver} if driver else ram
    trial = make_trial(
        memory_mib=1024,
        device=device,
        workloads=(fio_at({"iodepth": 1}, {"iodepth": 64}, traced_points=(1,)),),
    )
    result = result_of(run_into(tmp_path, testbed, trial))
    untraced, traced = result["workloads"]["reader"]["points"]
    assert "processor_time" not in untraced
    found, counted = traced["processor_time"], traced["counters"]
    # Traced for half as long; the trace's own cost is the difference.
    assert 0.7 < 2 * found["requests"] / counted["requests"] < 1
    spent_ns = sum(found["time_ns"].values())
    assert spent_ns == pytest.approx(counted["duration_ns"] / 2, rel=0.05)
    assert found["time_ns"]["other"] < 0.05 * spent_ns
    of_target = sum(ns for name, ns in found["time_ns"].items() if name.startswith("target"))
    if driver:
        assert 0.3 < of_target / spent_ns < 0.7
    else:
        assert of_target == 0
