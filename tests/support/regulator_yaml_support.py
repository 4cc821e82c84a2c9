"""What several tiers of `test_regulator_yaml` share."""

import pytest

GOOD = """\
classes:
  database:
    sla: 2
    cgroups: [system.slice/postgresql.service]
    devices: [sdb]
  batch:
    sla: none
    cgroups: ["kubepods.slice/*"]
"""


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "regulator.yaml"
    file.write_text(GOOD)
    return file
