"""The documents: a site that fetches nothing, and Python that runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elevatorlab
from docs_examples import blocks, typed
from elevatorlab.paths import PROJECT
from helpers import cli, resources

SITE = PROJECT / "docs" / "site"


@pytest.mark.timeout(2400)
def test_the_site_is_whole_and_fetches_nothing(tmp_path):
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, SITE / "build.py", site], capture_output=True, text=True, cwd=PROJECT
    )
    assert built.returncode == 0, built.stderr
    for name in ("index", "reference/commands", "reference/schemas", "gallery/innodb_commit"):
        assert (site / f"{name}.html").exists()
    library = (site / "reference/library.html").read_text()
    assert [name for name in elevatorlab.__all__ if f"elevatorlab.{name}" not in library] == []
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    away = re.compile(r"^(https?:)?//")
    foreign = [
        (page.name, one) for page in pages for one in resources(page.read_text()) if away.match(one)
    ]
    assert len(pages) > 60 and foreign == []
    for picture in Path(site / "gallery").glob("*.html"):
        for source in re.findall(r'<img[^>]*src="([^"]+)"', picture.read_text()):
            assert (picture.parent / source).exists()
    shown = (site / "gallery/container_isolation.html").read_text()
    assert "What each mechanism can reach" in shown  # its results lie beside the reference
    drives = re.sub("<[^>]+>", "", (site / "gallery/drives.html").read_text())
    assert "def response_times" in drives


@pytest.mark.image
@pytest.mark.timeout(600)
def test_a_scheduler_of_ones_own_is_run_and_drawn(tmp_path):
    """One block after the other, with the folder of the first one's result in the second."""
    made = cli("scheduler", "new", "mine", "--template", "look", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run, draw, register = blocks("docs/elevators.md")
    draw = draw.replace('"RESULTS/deterministic/HASH"', 'ran["mine"].folder')
    assert "HASH" not in draw
    typed("\n".join([register, run, draw]), tmp_path)
