"""The report: whole, self-contained, and safe to show."""

import json
import re
import shutil
from html.parser import HTMLParser

import pandas as pd
import pytest

from elevatorlab import jobs
from elevatorlab.figures import save
from elevatorlab.report import ReportFigure, ReportTable, _counts, build
from elevatorlab.studies.vm_vs_container.claims import judge
from elevatorlab.studies.vm_vs_container.figures import figures
from elevatorlab.studies.vm_vs_container.published import times
from measured import ARMS, NONE_YET, TCG, TESTBEDS, as_printed, deterministic, write_results

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
    files = save(drawn.figure, folder / "drawn", "o")
    figure = ReportFigure(STUDY, "overview--docker-host-full", files, drawn.caption)
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
    for part in (
        "Study one",
        "A table",
        "image digest",
        "sha256:12",
        f"{len(CLAIMS)} claims, each",
    ):
        assert part in html


def test_runs_are_counted_apart():
    """A card for each, none for their sum."""
    several = judge(pd.concat([as_printed(arms=ARMS), deterministic()]))
    counts = _counts(several)
    assert list(counts) == [
        "Measured: deterministic, quick",
        "Measured: docker+host+vagrant, full, machine 01234567",
        "The documents' own arithmetic",
    ]
    assert sum(sum(some.values()) for some in counts.values()) == len(several)


def test_what_was_decided_is_open_and_the_rest_can_be_opened(report):
    """Three parts, which hold each claim once."""
    page = Page(report.read_text(encoding="utf-8"))
    parts = [one for one in page.all("details") if one.get("class") == "part"]
    assert ["open" in one for one in parts] == [False, True, False, False]  # the first: a table
    html = report.read_text(encoding="utf-8")
    titles = re.findall(r"<h3>(.*) \((\d+)\)</h3>", html)
    assert [title for title, _ in titles] == [
        "Decided by a measurement",
        "Not testable here",
        "The documents&#39; own arithmetic",
    ]
    assert sum(int(count) for _, count in titles) == len(CLAIMS)


def test_pictures_are_no_larger_than_they_were_drawn(report):
    """Half of the PNG's pixels, whose header says how many they are."""
    page = Page(report.read_text(encoding="utf-8"))
    (picture,) = page.all("img")
    assert picture["width"] == str(int(200 * 4.8) // 2)
    assert "<b>overview.</b>" in report.read_text(encoding="utf-8")


def test_a_report_has_all_arms_of_all_testbeds(tmp_path):
    """From folders as the testbeds leave them, to tables, figures and page."""
    write_results(tmp_path / "results")
    made = jobs.report(tmp_path / "results", tmp_path / "report")
    table = pd.read_csv(made["tables"] / f"{STUDY}.csv")
    arms = table.groupby("arm")[["testbed", "accelerator", "backing_scheduler", "device"]].first()
    assert arms.loc["vm"].tolist() == ["vagrant", TCG, "none", "file_backed, 384 MiB"]
    assert arms["testbed"].to_dict() == TESTBEDS
    judged = pd.read_csv(made["tables"] / f"{STUDY}-claims.csv", keep_default_na=False)
    assert set(judged["testbed"]) == {"docker+host+vagrant", "published data"}
    improvement = judged[judged["id"] == f"{STUDY}/table-1/10mb/improvement"].iloc[0]
    assert "Not comparable: the VM's processor is emulated" in improvement["reason"]
    html = made["report"].read_text(encoding="utf-8")
    assert "Measured: docker+host+vagrant, smoke, machine 01234567" in html
    assert html.count("<dt>testbed</dt>") == 3
    assert f"<dd>{TCG}</dd>" in html
    assert len(list(made["figures"].glob("*.svg"))) == 6


def test_runs_of_every_kind_of_testbed_have_their_provenance(tmp_path):
    """One entry for each testbed, machine and preset; QEMU and disks where there are any."""
    write_results(tmp_path, arms=("host", "container"))
    simulated = tmp_path / "deterministic" / "one"
    shutil.copytree(next((tmp_path / "host-01234567").glob("*/")), simulated)
    (simulated.parent / "identity").touch()
    content = json.loads((simulated / "provenance.json").read_text())
    content |= {"testbed": "deterministic", "machine": "deterministic", "qemu": "7.2"}
    del content["host"]["disks"]
    (simulated / "provenance.json").write_text(json.dumps(content))
    runs = {run["testbed"]: run for run in jobs._runs(tmp_path)}
    assert set(runs) == {"deterministic", "docker", "host"}
    assert (runs["host"]["trials"], runs["host"]["wall_time_s"]) == (16, 24.0)
    assert runs["host"]["disks"] == "sda"
    assert runs["host"]["kernel"] == "6.1.0-1"
    assert runs["docker"]["environment_digest"] == "of container"
    assert not {"QEMU", "image_digest"} & set(runs["host"])
    assert runs["deterministic"]["QEMU"] == "7.2"
    assert runs["deterministic"]["kernel"] == "Debian 6.1.0-1"
    assert runs["deterministic"]["image_digest"] == "of host"
    assert "disks" not in runs["deterministic"]


@pytest.mark.parametrize("below", ["", "further"])
def test_a_report_into_a_file_is_refused_in_one_sentence(below, tmp_path, error_of):
    write_results(tmp_path / "results", arms=("host",), repetitions=1)
    (tmp_path / "file").write_text("mine")
    said = error_of(jobs.report, tmp_path / "results", tmp_path / "file" / below)
    assert said.startswith(f"report: expected {tmp_path / 'file' / below} to be a folder")
    assert said.endswith("Name another with --out")
    assert (tmp_path / "file").read_text() == "mine"


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
