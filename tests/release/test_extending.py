"""The tour of docs/extending.md: its package, installed beside a wheel of ours, as it is."""

import pytest

import wheels
from elevatorlab.paths import BUILD
from example_package import installed  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.timeout(2400), pytest.mark.programs("git")]


@pytest.mark.image
def test_a_bundle_says_what_a_stranger_needs(installed, tmp_path):
    where = {"cwd": tmp_path, "ELEVATORLAB_BUILD": f"{BUILD}"}
    asked = ["run", "read_sizes", "--preset", "smoke", "-p", "schedulers=none", "--workers", 1]
    asked += ["-p", "device_profile=sd_card", "-p", "sizes_kib=4", "--results", "results"]
    ended = installed.elevatorlab(*asked, **where)
    assert ended.returncode == 0, ended.stderr
    ended = installed.elevatorlab("bundle", "--results", "results", **where)
    assert ended.returncode == 0, ended.stderr
    ended = installed.elevatorlab("verify", "elevatorlab-bundle.zip", "--sample", 0, **where)
    assert ended.returncode == 0, ended.stderr
    assert "not run again" not in ended.stdout
    stranger = wheels.Environment(tmp_path / "stranger", *installed.wheels[:1])
    ended = stranger.elevatorlab("verify", "elevatorlab-bundle.zip", "--sample", 0, **where)
    assert "not run again: expected the study read_sizes of package elevatorlab-example 0.1.0" in (
        ended.stdout
    )
    assert "Install elevatorlab-example==0.1.0" in ended.stdout
