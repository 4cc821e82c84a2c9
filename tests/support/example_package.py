"""An environment with a wheel of ours, and one of the example of docs/extending.md."""

import pytest

import wheels
from elevatorlab.paths import PROJECT

EXAMPLE = PROJECT / "examples" / "elevatorlab-example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return an environment that has two wheels: ours, and the example's."""
    place = tmp_path_factory.mktemp("extending")
    built = [wheels.ours(tmp_path_factory), wheels.build(place / "example", EXAMPLE)]
    return wheels.Environment(place / "environment", *built)
