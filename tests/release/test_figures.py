"""Figures: there, deterministic, legible to everyone."""

from elevatorlab.showing import style
from elevatorlab.studies.vm_vs_container.figures import figures
from elevatorlab.studies.vm_vs_container.published import times
from synthetic import deterministic

HOST = deterministic(jitter=0.05)


def test_files_are_the_same_bytes_each_time(tmp_path):
    for folder in ("one", "two"):
        drawn = figures(times(), HOST)
        for name in ("overview", "table-5"):
            style.save(drawn[name].figure, tmp_path / folder, name)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
