"""The documents: every link leads somewhere, every command can be given, every block compiles."""

import ast
import importlib
import re
import shlex
import sys

import pytest
import typer

import elevatorlab
from elevatorlab.cli import commands
from elevatorlab.cli.schemas import SCHEMAS
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies
from elevatorlab.results import store
from helpers import program, resources

#: Where a page can be besides the top: what is built there is no page of ours.
FOLDERS = ("courses", "data", "docs", "environments", "examples", "lib", "notebooks", "tests")

#: By walking, since a machine without git collects these tests, too. A template's text is filled
#: in first, so it is no page either.
PAGES = sorted(
    name
    for top in (PROJECT.glob("*.md"), *((PROJECT / one).rglob("*.md") for one in FOLDERS))
    for page in top
    if "/templates/" not in (name := str(page.relative_to(PROJECT)))
)

DOCS = [name for name in PAGES if name.startswith("docs/")]

SITE = PROJECT / "docs" / "site"

#: The pages of the repository that tell a reader what to type: those of the site, and those that
#: lie beside what they are about.
GUIDES = [
    name
    for name in PAGES
    if name in DOCS
    or "/" not in name
    or name.startswith(("courses/elevators/", "environments/kernel/"))
]

#: Where a README finds the runs of a workflow, beside the files of its own repository.
ACTIONS = "../../actions/workflows/"


def prose(page):
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$|^ {4}[^\n]*$", "", page, flags=re.M | re.S)


def anchors(page):
    """Return what a link can name in a page: its headings, as a browser's address has them."""
    headings = re.findall(r"^#+ (.*)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def broken(name):
    """Return the links of a page that lead nowhere."""
    page = PROJECT / name
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target or target.startswith(ACTIONS):
            continue
        file = (page.parent / target).resolve() if target else page
        # The site's build writes these.
        generated = file.is_relative_to(PROJECT / "docs" / "reference")
        if not (file.exists() or generated):
            yield link
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield link


def test_the_badge_of_ci_is_that_of_a_workflow():
    links = re.findall(rf"\({ACTIONS}([^/)]+)", (PROJECT / "README.md").read_text())
    assert set(links) == {"ci.yml"} and (PROJECT / ".github/workflows/ci.yml").exists()


def test_a_link_that_leads_nowhere_is_found(monkeypatch, tmp_path):
    (tmp_path / "page.md").write_text(
        "# A Head: line\n\n    [e](block.md)\n\n"
        "[a](#a-head-line) [b](#none) [c](none.md) [d](https://x.y)\n"
    )
    monkeypatch.setattr(sys.modules[__name__], "PROJECT", tmp_path)
    assert list(broken("page.md")) == ["#none", "none.md"]


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    assert list(broken(name)) == []


@pytest.mark.parametrize("name", GUIDES)
def test_commands_can_be_given(name):
    page = re.sub(r" *\\\n *", " ", (PROJECT / name).read_text())
    asked = re.findall(
        r"^ {4}(?:sudo )?(?:\.venv/bin/)?elevatorlab ([^#\n]+?)(?: {2,}|$)", page, re.M
    )
    asked += re.findall(r"`\.venv/bin/elevatorlab ([^`\n]+)", page)
    known = typer.main.get_command(commands.app).commands
    for line in asked:
        command, *arguments = shlex.split(re.sub(r"\s+#.*", "", line))
        if "--help" in arguments:
            arguments.remove("--help")
            assert command in known
            continue
        assert known[command].make_context(command, arguments) is not None, line


@pytest.mark.parametrize("name", GUIDES)
def test_blocks_of_python_compile(name):
    for block in re.findall(r"^```python\n(.*?)^```$", (PROJECT / name).read_text(), re.M | re.S):
        ast.parse(block)


@pytest.mark.parametrize("name", GUIDES)
def test_make_has_the_targets(name):
    makefile = (PROJECT / "Makefile").read_text()
    for target in re.findall(r"(?:^ {4}|`)(?:sudo )?make ([a-z-]+)", (PROJECT / name).read_text()):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_pages_of_the_site_from_elsewhere_are_guides_too():
    others = {one for one in program(SITE / "gather.py").PLACES if one.endswith(".md")}
    assert others <= set(GUIDES)


def test_every_page_of_docs_is_in_the_site():
    index = (PROJECT / "docs/index.md").read_text()
    for name in DOCS:
        page = name.removeprefix("docs/").removesuffix(".md")
        assert page == "index" or re.search(rf"^{re.escape(page)}$", index, re.M), name


def test_the_reference_has_every_public_name(tmp_path):
    program(SITE / "reference.py").write_library(tmp_path / "library.md")
    shown = set(re.findall(r":: elevatorlab\.(\w+)$", (tmp_path / "library.md").read_text(), re.M))
    assert shown == set(elevatorlab.__all__)


def test_the_reference_has_every_schema(tmp_path):
    program(SITE / "reference.py").write_schemas(tmp_path / "schemas.md")
    shown = re.findall(r"^## (\w+)$", (tmp_path / "schemas.md").read_text(), re.M)
    assert shown == list(SCHEMAS)


def test_a_link_out_of_the_site_becomes_words():
    gather = program(SITE / "gather.py")
    places = dict(gather._places())

    def page(name):
        return gather.relinked((PROJECT / name).read_text(), PROJECT / name, places)

    assert "(`examples/elevatorlab-example`)" in page("docs/extending.md")
    assert "](docs/testbeds.md)" not in page("ARTIFACT.md")
    assert "](testbeds.md)" in page("ARTIFACT.md")
    words = gather.relinked(
        "[a](analysis) [d](../docs)",
        PROJECT / "notebooks/x.ipynb",
        {PROJECT / "notebooks/x.ipynb": "notebooks/x.ipynb"},
    )
    assert words == "[a](../notebooks/analysis/index.md) [d](../index.md)"


def test_what_a_browser_fetches_is_found():
    page = '<a href="https://a"><img src="b.png"><link rel="x" href="//c"><p>url(https://d/e)'
    assert resources(page) == ["b.png", "//c", "https://d/e"]
    style = "@import url(https://a/b.css); @import 'c.css'; x { background: url(\"d.png\") }"
    assert resources(style) == ["https://a/b.css", "c.css", "d.png"]


def test_the_gallery_shows_the_function_that_draws_and_not_a_helper(monkeypatch):
    monkeypatch.syspath_prepend(SITE)
    gallery = importlib.import_module("gallery")
    study = studies.get("vm_vs_container")
    with gallery.painters() as sources:
        drawn = study.figures(study.published(), store.load(study.NAME, "published"))
    assert sources[id(drawn["table-5"].figure)].startswith("def tree_times(")
    assert sources[id(drawn["figure-1-none"].figure)].startswith("def times_against_size(")
