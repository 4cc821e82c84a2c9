"""What `elevatorlab` itself offers, and what its docstrings must say."""

import inspect

import pytest

import elevatorlab


def test_the_public_interface_can_be_held_in_the_head():
    assert 30 <= len(elevatorlab.__all__) <= 60
    assert len(set(elevatorlab.__all__)) == len(elevatorlab.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = elevatorlab.no_such_name


@pytest.mark.parametrize("name", elevatorlab.__all__)
def test_a_public_name_says_what_it_takes(name):
    said = inspect.getdoc(getattr(elevatorlab, name)) or ""
    assert said
    if inspect.isfunction(found := getattr(elevatorlab, name)):
        taken = inspect.signature(found).parameters
        table = said.partition("Parameters\n----------\n")[2]
        named = {
            one.strip("* ") for line in table.splitlines() for one in line.split(":")[0].split(",")
        }
        assert set(taken) <= named, f"{name}: {sorted(set(taken) - named)} not described"
