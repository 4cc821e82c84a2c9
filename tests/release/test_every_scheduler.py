"""Every template, and every scheduler of environments/kernel/schedulers, passes the whole check."""

import pytest

from elevatorlab.elevators import templates
from elevatorlab.elevators.check import cases, check
from elevatorlab.plugins.scheduler_folders import ZOO
from elevatorlab.plugins.schedulers import SCHEDULERS

pytestmark = [pytest.mark.image, pytest.mark.timeout(1800)]


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
