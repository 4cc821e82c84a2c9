"""A scheduler of somebody's own: its folder, its build, and a trial on it."""

import json

import pytest

from elevatorlab.plugins import scheduler_folders
from elevatorlab.testbeds.deterministic import modules
from scheduler_folders_support import folder, registered  # noqa: F401  (fixtures)


@pytest.mark.image
class TestInTheMachine:
    """What the deterministic machine makes of it."""

    def test_a_trial_runs_on_it(self, registered, make_trial, testbed):
        trial = make_trial(scheduler={"name": "one-list"})
        testbed.prepare([trial])
        outcome = testbed.run(trial)
        result = json.loads(outcome.files["result.json"])
        (proof,) = [one for one in result["proofs"] if one["knob"].endswith("queue/scheduler")]
        assert (proof["read"], proof["probe"]) == ("one-list", "tunables: waiting")
        assert result["workloads"]["reader"]["read"]["requests"] > 100

    def test_a_module_of_another_name_is_named(self, folder, error_of):
        (folder / "Kbuild").write_text("obj-m += one.o\none-y := one-list-iosched.o\n")
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert "expected one-list-iosched.ko; its Kbuild makes one.ko (obj-m)" in said

    def test_a_mistake_is_told_as_the_compiler_does(self, folder, error_of):
        with open(folder / "one-list-iosched.c", "a") as source:
            source.write("int one_list_forgotten(void) { return forgotten; }\n")
        line = len((folder / "one-list-iosched.c").read_text().splitlines())
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert "expected one-list-iosched.ko; it does not compile:" in said
        assert f"one-list-iosched.c:{line}:" in said and "'forgotten' undeclared" in said
        assert "/build/" not in said
