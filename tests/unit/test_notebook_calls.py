"""What notebooks call."""

from elevatorlab import notebook, studies
from elevatorlab.results import tidying
from synthetic import write_results

STUDY = "vm_vs_container"


def test_a_measurement_shows_what_was_asked_for_alone(tmp_path, monkeypatch):
    """Trials of other presets and parameters may have run into the same folder before."""
    for preset, repetitions in (("quick", 2), ("smoke", 2)):
        write_results(tmp_path, arms=("host",), preset=preset, repetitions=repetitions)
    table = tidying.tidy(tmp_path, studies.get(STUDY))
    assert set(table["preset"]) == {"quick", "smoke"} and set(table["repetition"]) == {1, 2}
    monkeypatch.setattr(notebook.jobs, "run_study", lambda *_: table)
    asked = {"testbed": "host", "preset": "smoke", "arms": ["host"], "repetitions": 1}
    asked |= {"backing_schedulers": ["none"]}
    shown = notebook.check(STUDY, asked, frozenset()).measure()
    assert set(shown["preset"]) == {"smoke"} and set(shown["repetition"]) == {1}
    assert list(shown.index) == list(range(len(shown)))
    assert len(shown) == len(table[(table["preset"] == "smoke") & (table["repetition"] == 1)])
