"""The check of a scheduler: ours and every template pass it, and broken ones are caught."""

import json
import re
import shutil

import pytest

import broken_schedulers
from elevatorlab.elevators import templates
from elevatorlab.elevators.check import cases, check, machine
from elevatorlab.elevators.check.in_guest.cases import orders
from elevatorlab.plugins.scheduler_folders import ZOO
from elevatorlab.plugins.schedulers import SCHEDULERS
from helpers import cli
from leftovers import left_in, place  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]


class TestInTheMachine:
    """Schedulers that are right, and some that are not."""

    def test_a_skeleton_passes_every_case(self, tmp_path, place):
        folder = templates.new("mine", "look", tmp_path)
        page_file = tmp_path / "check.html"
        run = cli("scheduler", "check", folder, "--json", "--out", page_file)
        assert run.returncode == 0, run.stdout + run.stderr
        told = json.loads(run.stdout)
        assert told["passed"] and told["name"] == "mine"
        assert [one["case"] for one in told["verdicts"]] == [case.name for case in cases.CASES]
        assert {one["outcome"] for one in told["verdicts"]} == {"passed"}
        (flushes,) = (one for one in told["verdicts"] if one["case"] == "keeps_flushes")
        given_back, marked = map(int, re.findall(r"\d+", flushes["said"])[:2])
        assert given_back == 2 * (orders.CONNECTIONS - 1) and marked > 0
        assert "it passes the check" in page_file.read_text()
        assert left_in(place) == []

    @pytest.mark.parametrize("name", broken_schedulers.BROKEN)
    def test_a_broken_one_is_caught_and_named_and_leaves_nothing(self, name, tmp_path, place):
        broken = broken_schedulers.BROKEN[name]
        folder = broken_schedulers.folder(name, tmp_path)
        others = [case.name for case in cases.OTHERS]
        only = [broken.case] if broken.case in others else [cases.ALONE[0].name]
        conformity = check(folder, only=only)
        (failure, *_) = conformity.failures
        assert (failure.case, broken.named in failure.said) == (broken.case, True), failure
        if broken.line:
            (number,) = re.findall(rf"{name}-iosched\.c:(\d+)", failure.said)
            source = (folder / f"{name}-iosched.c").read_text().splitlines()
            assert broken.line in source[int(number) - 1]
        assert left_in(place) == []


def test_a_pass_that_the_disk_knows_nothing_of_is_named_as_tampering(tmp_path, monkeypatch):
    guest = tmp_path / "in_guest"
    shutil.copytree(machine.GUEST, guest)
    with open(guest / "cases/disks.py", "a") as file:
        file.write("\n\ndef keeps_data(scheduler):\n    return 'passed'\n")
    monkeypatch.setattr(machine, "GUEST", guest)
    conformity = check(SCHEDULERS.get("fifo").folder.path, only=["keeps_data"])
    (failure,) = conformity.failures
    assert conformity.tampers
    assert "the case keeps_data is said to have passed" in failure.said


def assert_passes(folder):
    verdicts = check(folder).verdicts
    assert [one.case for one in verdicts] == [case.name for case in cases.CASES]
    assert [one for one in verdicts if one.outcome != "passed"] == []


@pytest.mark.parametrize("template", templates.TEMPLATES)
def test_a_template_passes_every_case(template, tmp_path):
    assert_passes(templates.new("mine", template, tmp_path))


@pytest.mark.parametrize("name", ZOO)
def test_one_of_the_zoo_passes_every_case(name):
    assert_passes(SCHEDULERS.get(name).folder.path)
