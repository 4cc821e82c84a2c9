"""What several tiers of `test_wheel` share."""

import pytest

import wheels

STUDY = "vm_vs_container"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return wheels.ours(tmp_path_factory)


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Return a function that runs the installed command from another folder."""
    folder = tmp_path_factory.mktemp("installed")
    environment = wheels.Environment(folder / "environment", built)
    (folder / "elsewhere").mkdir()
    own = {"XDG_DATA_HOME": f"{folder / 'data'}", "ELEVATORLAB_CACHE": f"{folder / 'cache'}"}

    def run(*arguments, **more):
        return environment.elevatorlab(*arguments, cwd=folder / "elsewhere", **own, **more)

    run.folder, run.environment = folder, environment
    return run
