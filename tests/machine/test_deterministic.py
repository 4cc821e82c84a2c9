"""The same bits from every run, quiet or loaded, and from every boot."""

import json

import pytest

from deterministic_support import busy, busy_result, fingerprint, run  # noqa: F401  (fixtures)
from elevatorlab.testbeds.deterministic import template

pytestmark = [pytest.mark.image, pytest.mark.anew]


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


@pytest.mark.parametrize("booked_ns", [0, 3_730_237])
def test_idle_time_booked_while_the_machine_stopped_is_taken_back(tmp_path, booked_ns):
    before, after = b"QEVM...\x05timer/icount", b"~..."
    state = tmp_path / "state"
    state.write_bytes(before + template.ICOUNT.pack(1, booked_ns, 7_400_000_000) + after)
    assert template.take_back_idle_time(state) == booked_ns
    assert state.read_bytes() == before + template.ICOUNT.pack(1, 0, 7_400_000_000) + after
