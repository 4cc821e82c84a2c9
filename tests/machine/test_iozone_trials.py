"""iozone runs for real: in the deterministic machine, until it cannot go on, and by fio instead."""

import pytest

from deterministic_runs import run  # noqa: F401  (fixture)
from elevatorlab.errors import TrialFailed
from elevatorlab.trial import profile
from helpers import result_of

TESTS = ["initial_write", "rewrite", "random_read", "mixed_workload", "random_write"]


def iozone(**more):
    usual = {"kind": "iozone", "name": "iozone", "group": "main"}
    return {**usual, "threads": [1], "size_mib": 2, "record_kib": 256, "dirty_mib": 1, **more}


@pytest.fixture
def trial(make_trial):
    """Return a factory of trials with the given workloads on a file system of 32 MiB."""

    def make(*workloads, **more):
        usual = {"device": profile("nvme_ssd", 32), "filesystem": "ext4"}
        return make_trial(**{**usual, "workloads": workloads, "sample_interval_ms": 1000, **more})

    return make


@pytest.mark.image
@pytest.mark.timeout(900)
class TestInTheDeterministicMachine:
    def test_five_tests_with_each_number_of_threads_and_the_drop_proved(self, trial, run):
        folder = run(trial(iozone(threads=[1, 2], direct=True)))
        result = result_of(folder)
        runs = result["workloads"]["iozone"]["runs"]
        assert [one["threads"] for one in runs] == [1, 2]
        for one in runs:
            assert [test["test"] for test in one["tests"]] == TESTS
            assert all(test["throughput_kib_s"] > 0 for test in one["tests"])
            assert one["probe_read_bytes"] >= 1 << 20
        # One thread: random read and "mixed" workload each read the file of 2 MiB.
        assert runs[0]["device_read_bytes"] == 2 * (2 << 20)
        raw = (folder / "raw/iozone.2.iozone.txt").read_text()
        assert "-i 0 -i 2 -i 8 -s 2048 -r 256 -l 2 -u 2 -I" in raw
        assert any(proof["knob"].endswith("dirty_bytes") for proof in result["proofs"])

    @pytest.mark.anew
    def test_the_same_trial_gives_the_same_bytes(self, trial, run):
        folders = [run(trial(iozone())) for _ in range(2)]
        one, two = ((folder / "result.json").read_bytes() for folder in folders)
        assert one == two

    def test_fio_runs_the_same_patterns_and_says_that_it_was_fio(self, trial, run):
        folder = run(trial(iozone(tool="fio", threads=[2], direct=True)))
        found = result_of(folder)["workloads"]["iozone"]
        assert found["tool"] == "fio"
        assert [test["test"] for test in found["runs"][0]["tests"]] == TESTS
        # Random read by both threads, and by the first in the mixed workload.
        assert found["runs"][0]["device_read_bytes"] == 3 * (2 << 20)
        assert len(list((folder / "raw").glob("iozone.2.*.fio.json"))) == 5

    def test_files_that_do_not_fit_are_refused_before_anything_runs(self, trial, run):
        with pytest.raises(TrialFailed, match="MiB free; expected 42 MiB for the files of all"):
            run(trial(iozone(size_mib=20, threads=[1, 2])))

    @pytest.mark.parametrize("tool", ["iozone", "fio"])
    def test_a_disk_that_fills_up_in_the_middle_is_told(self, trial, run, tool):
        filling = {"kind": "endless_write", "name": "filler", "group": "main"}
        with pytest.raises(TrialFailed, match="No space left|Is the device full"):
            run(trial(filling, iozone(tool=tool, size_mib=16), settle_s=1))
