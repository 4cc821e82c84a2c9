"""The same bits from every run, quiet or loaded, and from every boot."""

import json

import pytest

from deterministic_support import busy, busy_result, fingerprint, run  # noqa: F401  (fixtures)
from elevatorlab.testbeds.deterministic import template
from helpers import every_core_busy, fio

pytestmark = [pytest.mark.image, pytest.mark.anew]

#: Three times alone, three times while every core is kept busy by other processes.
RUNS = 3

THINK_US = 500_000

REQUESTS = 210  # 105 s of thinking


@pytest.fixture(scope="module")
def idle_heavy(make_trial):
    return make_trial(
        workloads=(fio(thinktime=THINK_US, number_ios=REQUESTS),),
        sample_interval_ms=1000,
        deadline_s=300,
    )


@pytest.mark.parametrize("name", ["busy", "idle_heavy"])
def test_the_same_bits_quiet_and_loaded(name, request, run):
    trial = request.getfixturevalue(name)
    quiet = [fingerprint(run(trial)) for _ in range(RUNS)]
    with every_core_busy():
        loaded = [fingerprint(run(trial)) for _ in range(RUNS)]
    assert [*quiet, *loaded] == [quiet[0]] * (2 * RUNS)


def test_another_seed_gives_another_result(run, busy, busy_result):
    other = fingerprint(run(busy.model_copy(update={"seed": 2})))
    first = fingerprint(busy_result)
    assert other["all"] != first["all"]
    assert other["result.json"] != first["result.json"]


def test_latencies_are_in_nanoseconds(busy_result):
    report = json.loads((busy_result / "raw/reader.fio.json").read_text())
    latency = report["jobs"][0]["read"]["clat_ns"]
    assert latency["min"] > 80_000  # the device's own service time
    assert latency["min"] % 1000 or latency["max"] % 1000
    figures = json.loads((busy_result / "result.json").read_text())["workloads"]["reader"]["read"]
    assert figures["latency_mean_ns"] == latency["mean"]


def test_an_idle_heavy_trial_really_waits(run, idle_heavy):
    device = json.loads((run(idle_heavy) / "result.json").read_text())["device"]
    assert device["duration_s"] > 100
    assert device["read_iops"] * device["duration_s"] == pytest.approx(REQUESTS)


@pytest.mark.parametrize("booked_ns", [0, 3_730_237])
def test_idle_time_booked_while_the_machine_stopped_is_taken_back(tmp_path, booked_ns):
    before, after = b"QEVM...\x05timer/icount", b"~..."
    state = tmp_path / "state"
    state.write_bytes(before + template.ICOUNT.pack(1, booked_ns, 7_400_000_000) + after)
    assert template.take_back_idle_time(state) == booked_ns
    assert state.read_bytes() == before + template.ICOUNT.pack(1, 0, 7_400_000_000) + after
