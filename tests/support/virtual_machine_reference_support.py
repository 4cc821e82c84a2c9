"""What several tiers of `test_virtual_machine_reference` share."""

import pytest

from elevatorlab import cache
from elevatorlab.plugins import studies
from elevatorlab.results import references
from elevatorlab.studies import vm_vs_container
from synthetic import nested_trials, write_nested_results, write_results

STUDY = "vm_vs_container"

FEW = {"repetitions": 2, "schedulers": ["none", "bfq"], "guest_below": ["none", "bfq"]}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Return a folder of results of that testbed; another testbed's are the default reference."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    monkeypatch.setattr(references, "FOLDER", tmp_path / "reference")
    monkeypatch.setattr(studies, "ours", lambda: [vm_vs_container])
    write_results(tmp_path / "default", arms=("host",), repetitions=1, preset="quick")
    references.write(tmp_path / "default", vm_vs_container)
    write_nested_results(tmp_path / "results", nested_trials(**FEW))
    return tmp_path / "results"


def store_it(measured):
    wanted = {trial.hash for trial in nested_trials(**FEW)}
    references.write(measured, vm_vs_container, "quick", "nested", FEW, wanted)
