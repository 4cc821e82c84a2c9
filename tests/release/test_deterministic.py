"""The same bits from every run, quiet or loaded, and from every boot."""

import pytest

from deterministic_runs import busy, busy_result, fingerprint, run  # noqa: F401  (fixtures)
from elevatorlab.testbeds.deterministic import template
from helpers import every_core_busy, fio, result_of

pytestmark = pytest.mark.image

#: Three times alone, three times while every core is kept busy by other processes.
RUNS = 3
THINK_US = 500_000
REQUESTS = 210  # 105 s of thinking


def test_two_boots_give_the_same_machine(busy, busy_result, run, tmp_path, monkeypatch):
    kept = template.ready(busy.memory_mib)
    template.boot(busy.memory_mib, tmp_path)
    assert (tmp_path / "about.json").read_text() == (kept / "about.json").read_text()
    # The saved state also has QEMU's own clock, which the guest never sees: same results.
    monkeypatch.setattr(template, "ready", lambda *_: tmp_path)
    assert fingerprint(run(busy)) == fingerprint(busy_result)


@pytest.fixture(scope="module")
def idle_heavy(make_trial):
    return make_trial(
        workloads=(fio(thinktime=THINK_US, number_ios=REQUESTS),),
        sample_interval_ms=1000,
        deadline_s=300,
    )


def test_an_idle_heavy_trial_really_waits(run, idle_heavy):
    device = result_of(run(idle_heavy))["device"]
    assert device["duration_s"] > 100
    assert device["read_iops"] * device["duration_s"] == pytest.approx(REQUESTS)


@pytest.mark.parametrize("name", ["busy", "idle_heavy"])
def test_the_same_bits_quiet_and_loaded(name, request, run):
    trial = request.getfixturevalue(name)
    quiet = [fingerprint(run(trial)) for _ in range(RUNS)]
    with every_core_busy():
        loaded = [fingerprint(run(trial)) for _ in range(RUNS)]
    assert [*quiet, *loaded] == [quiet[0]] * (2 * RUNS)
