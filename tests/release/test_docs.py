"""The documents: every link leads somewhere, every command can be given, every block compiles."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import elevatorlab
from elevatorlab.paths import PROJECT
from helpers import resources

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
