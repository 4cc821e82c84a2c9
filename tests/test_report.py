"""The report: whole, self-contained, and safe to show."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from elevatorlab.figures import save
from elevatorlab.report import ReportFigure, ReportTable, build
from elevatorlab.studies.vm_vs_container.claims import judge
from elevatorlab.studies.vm_vs_container.figures import caption, figures
from elevatorlab.studies.vm_vs_container.published import times
from measured import NONE_YET, as_printed

STUDY = "vm_vs_container"
CLAIMS = judge(as_printed(arms=("host", "container")))


class Page(HTMLParser):
    """What a test wants to know of a page."""

    VOID = {"meta", "img", "input", "link", "br", "hr"}

    def __init__(self, html):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        """Collect a tag."""
        self.tags.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Check that tags close in order."""
        assert self.open.pop() == tag

    def all(self, tag):
        """Attributes of every `tag`."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Build a report with a figure from elsewhere."""
    folder = tmp_path_factory.mktemp("report")
    drawn = figures(times(), NONE_YET)["overview"]
    files = save(drawn, folder / "drawn", "o")
    figure = ReportFigure(STUDY, "overview", files, caption("overview"))
    table = ReportTable(STUDY, "A table", pd.DataFrame({"a": [1.0], "b": ["<b>"]}))
    run = {"testbed": "deterministic", "trials": 72, "image_digest": "sha256:12"}
    return build(folder / "report", CLAIMS, [figure], [run], [table], {STUDY: "Study one"})


def test_the_page_is_well_formed_and_has_every_claim(report):
    """One row a claim, filters by its verdict, testbed and study."""
    html = report.read_text(encoding="utf-8")
    page = Page(html)
    assert page.open == []
    rows = [one for one in page.all("tr") if "data-verdict" in one]
    assert len(rows) == len(CLAIMS)
    assert {(one["data-verdict"], one["data-study"]) for one in rows} == {
        (str(claim.verdict), claim.study) for claim in CLAIMS
    }
    assert {one["name"] for one in page.all("select")} == {"verdict", "testbed", "study"}
    for part in ("Study one", "A table", "image digest", "sha256:12", f"{len(CLAIMS)} claims. "):
        assert part in html


def test_nothing_comes_from_the_network(report):
    """Every address is a file of the report or a place on the page."""
    page = Page(report.read_text(encoding="utf-8"))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    links = [one["href"] for one in page.all("a")] + [one["src"] for one in page.all("img")]
    assert links
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (report.parent / link).is_file()
    assert not page.all("link")
    assert all("src" not in one for one in page.all("script"))
    assert not re.search(r"url\(|@import", report.read_text(encoding="utf-8"))


def test_pictures_have_words(report):
    """For those who do not see them, and a language for those who hear the page."""
    page = Page(report.read_text(encoding="utf-8"))
    assert all(one["alt"] for one in page.all("img"))
    assert page.all("html") == [{"lang": "en"}]


def test_text_is_escaped(report):
    """A value is never markup."""
    assert "&lt;b&gt;" in report.read_text(encoding="utf-8")


def test_the_same_arguments_give_the_same_page(tmp_path):
    """No date, no path."""
    pages = [build(tmp_path / name, CLAIMS).read_bytes() for name in ("one", "two")]
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


def test_several_studies_share_the_page(tmp_path):
    """Each with a section and its own counts."""
    other = [claim.model_copy(update={"study": "other"}) for claim in CLAIMS[:3]]
    html = build(tmp_path, [*CLAIMS, *other]).read_text(encoding="utf-8")
    assert 'id="other"' in html
    assert "3 claims. The documents&#39; own arithmetic: 3 reproduced" in html


def test_nothing_measured_is_said(tmp_path):
    """Published data alone has no provenance."""
    html = build(tmp_path, judge(NONE_YET)).read_text(encoding="utf-8")
    assert "Nothing was run for this report" in html


def test_a_figure_that_cannot_be_shown_is_refused(tmp_path):
    """The error names it."""
    figure = ReportFigure(STUDY, "overview", {"pdf": tmp_path / "o.pdf"}, "words")
    with pytest.raises(ValueError, match="overview.*PNG"):
        build(tmp_path, [], [figure])
