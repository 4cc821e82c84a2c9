"""The documentation site in a browser: whole, without a network, in the dark and on a phone."""

import io
import os
import re
import subprocess
import sys

import nbformat
import pytest
from PIL import Image, ImageStat

import elevatorlab
from browser import SCREENS, chromium, opened, overflow_px
from elevatorlab.paths import BUILD, PROJECT
from helpers import resources

pytestmark = [pytest.mark.image, pytest.mark.browser, pytest.mark.timeout(2400)]

#: Pages that a reader sees first, and one of each kind.
SEEN = (
    "index",
    "notebooks/00-start-here",
    "notebooks/lectures/04-sharing",
    "notebooks/analysis/04-innodb-commit",
    "gallery/container_isolation",
    "tutorial/student",
)

#: What a page has: pictures that are not there, and links by whether they lead to a heading.
FOUND = """() => ({
    broken: [...document.images].filter((one) => !one.naturalWidth).map((one) => one.src),
    links: [...document.querySelectorAll("article a[href]")].map((one) => one.href),
    figures: document.querySelectorAll("article .cell_output img").length,
    words: document.querySelector("article").innerText,
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    (folder / "build").mkdir()
    (folder / "build" / "image").symlink_to(BUILD / "image")
    call = [sys.executable, PROJECT / "docs" / "site" / "build.py", folder / "site"]
    own = {**os.environ, "ELEVATORLAB_BUILD": f"{folder / 'build'}"}
    built = subprocess.run(call, capture_output=True, text=True, cwd=PROJECT, env=own)
    assert built.returncode == 0, built.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


def test_the_site_is_whole_and_fetches_nothing(site):
    for name in ("index", "reference/commands", "reference/schemas", "gallery/innodb_commit"):
        assert (site / f"{name}.html").exists()
    library = (site / "reference/library.html").read_text()
    assert [name for name in elevatorlab.__all__ if f"elevatorlab.{name}" not in library] == []
    assert "Alias for field" not in library and "object at 0x" not in library
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    away = re.compile(r"^(https?:)?//")
    foreign = [
        (page.name, one) for page in pages for one in resources(page.read_text()) if away.match(one)
    ]
    assert len(pages) > 60 and foreign == []
    shown = (site / "gallery/container_isolation.html").read_text()
    assert "What each mechanism can reach" in shown  # its results lie beside the reference
    drives = re.sub("<[^>]+>", "", (site / "gallery/drives.html").read_text())
    assert "def response_times" in drives


def leads_nowhere(link):
    """Tell whether a link to a file leads to none, or to a heading that its page does not have."""
    name, _, anchor = link.removeprefix("file://").partition("#")
    if not os.path.isfile(name):
        return True
    return bool(anchor) and f'id="{anchor}"' not in open(name).read()


def test_each_page_has_its_figures_and_no_dead_link(browser, site):
    """What a page says to the console, or asks of a network, fails in `opened`."""
    for file in sorted(site.rglob("*.html")):
        name = file.relative_to(site).with_suffix("").as_posix()
        if name in ("search", "genindex"):
            continue
        with opened(browser, file) as page:
            found = page.evaluate(FOUND)
            assert (name, found["broken"], overflow_px(page)) == (name, [], 0)
        links = [one for one in found["links"] if one.startswith("file://")]
        assert (name, [one for one in links if leads_nowhere(one)]) == (name, [])
        assert "| --- |" not in found["words"], name
        notebook = site.with_name("site-source") / f"{name}.ipynb"
        if notebook.exists():
            assert found["figures"] == figures(notebook), name
            kind = notebook.parent.name
            assert found["figures"] > 0 or kind not in ("lectures", "analysis"), name


def figures(notebook):
    """Return how many pictures a notebook shows, which has run, unless it measures for hours."""
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if "outputs" in cell]
    assert notebook.parent.name == "experiments" or any(cell.outputs for cell in cells)
    outputs = [output.get("data", {}) for cell in cells for output in cell.outputs]
    return sum(any(kind.startswith("image/") for kind in one) for one in outputs)


@pytest.mark.parametrize("name", SEEN)
def test_no_figure_is_a_white_box_in_the_dark(browser, site, name):
    with opened(browser, site / f"{name}.html", "dark") as page:
        for picture in page.locator("article img").all():
            shown = Image.open(io.BytesIO(picture.screenshot())).convert("L")
            assert ImageStat.Stat(shown).median[0] < 64


@pytest.mark.parametrize("name", SEEN)
def test_a_figure_is_as_large_on_a_phone_as_on_paper(browser, site, name):
    with opened(browser, site / f"{name}.html", "phone") as page:
        assert overflow_px(page) == 0
        small = "one => one.width < one.naturalWidth"
        assert page.evaluate(f"[...document.images].filter({small}).map(one => one.src)") == []


def test_the_first_picture_is_whole_on_the_smallest_phone(browser, site):
    with opened(browser, site / "index.html", "phone") as page:
        page.set_viewport_size({"width": 360, "height": SCREENS["phone"]["viewport"]["height"]})
        box = page.locator("article img").first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360
