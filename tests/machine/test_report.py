"""The report: whole, self-contained, and safe to show."""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import parse_qsl

import pandas as pd
import pytest

from elevatorlab import cache, studies
from elevatorlab.judging.claim import Role, is_measured
from elevatorlab.judging.conclusions import findings
from elevatorlab.judging.families import About
from elevatorlab.judging.verdicts import DECIDED
from elevatorlab.plugins import studies as studies_of_all
from elevatorlab.running import provenance
from elevatorlab.showing import report_writer
from elevatorlab.showing.forest import is_relative
from elevatorlab.showing.report import write_report
from elevatorlab.showing.report_pages import (
    ReportFigure,
    ReportTable,
    _decided_first,
    _number,
    build,
)
from elevatorlab.showing.style import ONE_COLUMN, save
from elevatorlab.studies.vm_vs_container.claims import judge
from elevatorlab.studies.vm_vs_container.figures import figures
from elevatorlab.studies.vm_vs_container.published import times
from synthetic import (
    ARMS,
    NONE_YET,
    TCG,
    TESTBEDS,
    as_printed,
    deterministic,
    judged,
    write_results,
)

STUDY = "vm_vs_container"

CLAIMS = judged("host", "container")


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


ORIGIN = provenance.Origin(
    STUDY,
    "deterministic",
    "quick",
    {"aa11": "none, seed 1", "bb22": "bfq, seed 1"},
    {"testbed": "deterministic", "image digest": "sha256:12"},
    "sha256:12",
    "elevatorlab run it",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Build a report with a figure from elsewhere."""
    folder = tmp_path_factory.mktemp("report")
    drawn = figures(times(), NONE_YET)["overview"]
    files = save(drawn.figure, folder / "drawn", "o")
    figure = ReportFigure(
        STUDY,
        "overview--docker-host-full",
        "What matters?",
        files,
        "Of `fio`, *not* fsync.",
        ["aa11"],
    )
    table = ReportTable(
        STUDY, "A table of `time_scale`, *alone*", pd.DataFrame({"a": [1.0], "b": ["<b>"]})
    )
    return build(
        folder / "report", CLAIMS, [figure], [ORIGIN], [table], {STUDY: "Study one"}
    ).parent


def text(report, page):
    return (report / page).read_text(encoding="utf-8")


PAGES = ["index.html", "claims.html", f"{STUDY}.html"]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_well_formed(report, page):
    assert Page(text(report, page)).open == []


def test_the_page_of_claims_has_every_claim(report):
    """One row a claim, filters by its verdict, place and study."""
    page = Page(text(report, "claims.html"))
    rows = [one for one in page.all("tbody") if "data-verdict" in one]
    assert len(rows) == len(CLAIMS)
    assert {(one["data-verdict"], one["data-study"], one["data-where"]) for one in rows} == {
        (str(claim.verdict), claim.study, claim.where) for claim in CLAIMS
    }
    assert {one["name"] for one in page.all("select")} == {"verdict", "role", "where", "study"}


def test_the_overview_leads_to_every_study(report):
    html = text(report, "index.html")
    assert f'<a href="{STUDY}.html">Study one</a>' in html
    assert f"{len(CLAIMS)} claims, each" in html


def test_runs_are_counted_apart(tmp_path):
    """A line for each, none for their sum; each count asks the page of claims for its claims."""
    several = judge(pd.concat([as_printed(arms=ARMS), deterministic()]))
    html = build(tmp_path, several).read_text(encoding="utf-8")
    labels = re.findall(r'<div class="row"><span class="where">(.*?)</span>', html)
    assert labels == [
        "Measured: deterministic, quick",
        "Measured: deterministic, quick, identities",
        "Measured: deterministic, quick, beyond the document",
        "Measured: docker+host+vagrant, full, machine 01234567",
        "Measured: docker+host+vagrant, full, machine 01234567, identities",
        "Measured: docker+host+vagrant, full, machine 01234567, beyond the document",
        "The document&#39;s own arithmetic",
    ]
    links = re.findall(r'href="claims.html#([^"]+)"><b>(\d+)</b>', html)
    for asked, count in links:
        wanted = dict(parse_qsl(asked.replace("&amp;", "&")))
        asked_for = wanted["where"], wanted["role"], wanted["verdict"]
        found = [c for c in several if (c.where, c.role, c.verdict) == asked_for]
        assert len(found) == int(count) > 0
    assert sum(int(count) for _, count in links) == len(several)


def test_what_was_decided_comes_first():
    claims = _decided_first(CLAIMS, [STUDY])
    kinds = [
        (not is_measured(one), one.role != Role.PREDICTION or one.verdict not in DECIDED)
        for one in claims
    ]
    measured = [kind for kind in kinds if not kind[0]]
    assert len(claims) == len(CLAIMS)
    assert measured == sorted(measured) and [kind[0] for kind in kinds] == sorted(
        kind[0] for kind in kinds
    )


def test_a_figure_says_which_trials_it_shows(report):
    """By hash, with the image's digest and the command that makes them again."""
    html = text(report, f"{STUDY}.html")
    page = Page(html)
    origin = html.partition('<details class="origin">')[2].partition("</details>")[0]
    assert "1 of 2 trials of" in origin and "<code>aa11</code>" in origin
    assert "bb22" not in origin
    assert "<code>sha256:12</code>" in origin and "elevatorlab run it" in origin
    (picture,) = [one for one in page.all("a") if one.get("class") == "picture"]
    assert picture["title"] == "1 of 2 trials of deterministic, quick; image sha256:12"
    assert 'id="run-deterministic-quick"' in html and "<code>bb22</code> bfq, seed 1" in html


def test_pictures_are_no_larger_than_they_were_drawn(report):
    """Half of the PNG's pixels, whose header says how many they are."""
    (picture,) = Page(text(report, f"{STUDY}.html")).all("img")
    assert picture["width"] == str(int(200 * ONE_COLUMN) // 2)


def test_a_report_has_all_arms_of_all_testbeds(tmp_path):
    """From folders as the testbeds leave them, to tables, figures and page."""
    write_results(tmp_path / "results")
    made = write_report(tmp_path / "results", tmp_path / "report")
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
    html = text(tmp_path / "report", f"{STUDY}.html")
    assert html.count("<dt>testbed</dt>") == 3
    # By the pointer and below, from each testbed: the overview, and one of the two tests.
    assert html.count("All 16 trials of") == 2 * 3
    assert html.count("8 of 16 trials of") == 2 * 3
    assert f"<dd>{TCG}</dd>" in html
    assert len(list(made["figures"].glob(f"{STUDY}-*.svg"))) == 6


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
    runs = {run.testbed: run.facts for run in provenance.of_results(tmp_path)}
    assert set(runs) == {"deterministic", "docker", "host"}
    assert (runs["host"]["trials"], runs["host"]["wall time_s"]) == (16, 24.0)
    assert runs["host"]["disks"] == "sda"
    assert runs["host"]["kernel"] == "6.1.0-1"
    assert runs["docker"]["environment digest"] == "of container"
    assert not {"QEMU", "image digest"} & set(runs["host"])
    assert runs["deterministic"]["QEMU"] == "7.2"
    assert runs["deterministic"]["kernel"] == "Debian 6.1.0-1"
    assert runs["deterministic"]["image digest"] == "of host"
    assert "disks" not in runs["deterministic"]


def test_a_run_names_the_command_that_makes_it_again(tmp_path):
    """Where the preset leads to its trials; a parameter that no preset has is not guessed."""
    write_results(tmp_path, arms=("host",), repetitions=2)
    (run,) = provenance.of_results(tmp_path)
    asked = f"elevatorlab run {STUDY} --preset smoke --testbed host -p repetitions=2"
    assert run.command == asked
    study = studies.get(STUDY)
    made = provenance.preset_trials(study, "smoke", "deterministic", {"repetitions": 2})
    hashes = {trial.hash for trial in made}
    asked = provenance._command(STUDY, "deterministic", "smoke", hashes, 2)
    assert asked == f"elevatorlab run {STUDY} --preset smoke -p repetitions=2"
    one = {min(trial.hash for trial in made if trial.repetition == 1)}
    asked = provenance._command(STUDY, "deterministic", "smoke", one, 1)
    assert asked == f"elevatorlab run {STUDY} --preset smoke"
    assert provenance._command(STUDY, "deterministic", "smoke", {"of other parameters"}, None) == ""
    far = {trial.hash for trial in provenance.preset_trials(study, "smoke", "ssh-pair")}
    asked = provenance._command(STUDY, "ssh-pair", "smoke", far, None)
    assert asked.endswith("--testbed 'ssh://HOST?target=HOST'")


@pytest.mark.parametrize("below", ["", "further"])
def test_a_report_into_a_file_is_refused_in_one_sentence(below, tmp_path, error_of):
    write_results(tmp_path / "results", arms=("host",), repetitions=1)
    (tmp_path / "file").write_text("mine")
    said = error_of(write_report, tmp_path / "results", tmp_path / "file" / below)
    assert said.startswith(f"report: expected {tmp_path / 'file' / below} to be a folder")
    assert said.endswith("Name another with --out")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", PAGES)
def test_nothing_comes_from_the_network(report, name):
    """Every address is a file of the report or a place on a page of it."""
    page = Page(text(report, name))
    links = [one["href"] for one in page.all("a")] + [one["src"] for one in page.all("img")]
    assert links
    for link in links:
        file, _, place = link.partition("#")
        assert (report / (file or name)).is_file()
        if place and file != "claims.html":  # where it is a question, not a place
            there = Page(text(report, file or name))
            assert place in {one["id"] for _, one in there.tags if "id" in one}
    assert not page.all("link")
    assert all("src" not in one for one in page.all("script"))
    assert not re.search(r"url\(|@import", text(report, name))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(4200662.0, "4200660"), (0.1 + 0.2, "0.3"), (None, "–"), (7, "7"), ("none", "none")],
)
def test_numbers_are_written_plainly(value, shown):
    assert _number(value) == shown


def test_text_is_escaped(report):
    assert "&lt;b&gt;" in text(report, f"{STUDY}.html")


def test_the_same_arguments_give_the_same_page(tmp_path):
    pages = [build(tmp_path / name, CLAIMS).read_bytes() for name in ("one", "two")]
    assert pages[0] == pages[1]
    assert str(tmp_path).encode() not in pages[0]


def test_each_study_has_a_page_of_its_own(tmp_path):
    other = [claim.model_copy(update={"study": "other"}) for claim in CLAIMS[:3]]
    html = build(tmp_path, [*CLAIMS, *other]).read_text(encoding="utf-8")
    assert '<a href="other.html">other</a>' in html and "3 claims ·" in html
    page = text(tmp_path, "other.html")
    assert re.findall(r"<b>(\d+)</b> (.*?)</a>", page) == [("3", "reproduced")]


def test_nothing_measured_is_said(tmp_path):
    html = build(tmp_path, judge(NONE_YET)).read_text(encoding="utf-8")
    assert "Nothing was run for this report" in html
    assert re.findall(r'<div class="row"><span class="where">(.*?)</span>', html) == [
        "The document&#39;s own arithmetic",
        "Not judged, because nothing was measured",
        "Not judged, because nothing was measured, identities",
        "Not judged, because nothing was measured, beyond the document",
    ]


@pytest.fixture
def written(monkeypatch, tmp_path):
    """Return a list that grows when a report is written, which has but a page and a figure."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    times = []

    def write(results, out, against, called, running):
        times.append((results, against, called))
        (out / "figures").mkdir(parents=True, exist_ok=True)
        for name in ("index.html", "figures/one.svg"):
            (out / name).write_text(f"{results} {against} {called} {running}")

    monkeypatch.setattr(report_writer, "write", write)
    return times


def test_a_report_is_written_again_only_if_it_would_be_another(written, tmp_path):
    out = tmp_path / "report"
    for results, against, called in ((None, None, None), ("reference/quick", None, None)) * 2:
        for _ in range(2):
            write_report(results, out, against, called)
    assert len(written) == 4  # each time over the other
    write_report("reference/quick", out, "published")
    write_report("reference/quick", out, "published", "as printed")
    write_report("reference/quick", out, "published", "as printed")
    assert len(written) == 6
    for running in (["innodb_commit"], ["innodb_commit"], []):
        write_report("reference/quick", out, running=running)
    assert len(written) == 8


def test_other_results_are_reported_anew(written, tmp_path):
    write_results(tmp_path / "results", arms=("host",), repetitions=1)
    for _ in range(2):
        write_report(tmp_path / "results")
    assert (tmp_path / "results" / "report" / "index.html").exists() and len(written) == 1
    next((tmp_path / "results").glob("*/*/result.json")).unlink()
    write_report(tmp_path / "results")
    write_report(tmp_path / "results", tmp_path)
    write_report(tmp_path / "results", tmp_path / "results")
    assert len(written) == 4
    next((tmp_path / "results").glob("*/*/result.json")).unlink()
    write_report(tmp_path / "results", tmp_path)
    assert len(written) == 5


@pytest.mark.parametrize("name", ["index.html", "figures/one.svg"])
@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_text("?")])
def test_a_damaged_report_is_written_again(written, tmp_path, name, damage):
    for _ in range(2):
        write_report(None, tmp_path / "report")
    damage(tmp_path / "report" / name)
    for _ in range(2):
        write_report(None, tmp_path / "report")
    assert len(written) == 2


def test_a_report_on_a_study_of_somebody_else_is_always_written(written, tmp_path, monkeypatch):
    """Nobody knows of which files it is made."""
    monkeypatch.setattr(studies_of_all.STUDIES, "package", lambda name: None)
    for _ in range(2):
        write_report(None, tmp_path / "report")
    assert len(written) == 2 and not (tmp_path / "cache").exists()


def test_where_nothing_can_be_kept_the_report_is_written_all_the_same(
    written, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "ROOT", tmp_path / "file" / "cache")
    for _ in range(2):
        write_report(None, tmp_path / "report")
    assert len(written) == 2


def test_to_see_that_nothing_changed_imports_no_library_that_draws():
    """It would take longer than all the rest."""
    program = (
        "import sys, elevatorlab.cli.commands, elevatorlab.showing.report; print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "elevatorlab.showing.cache_keys" in run.stdout.split()
    assert not {"matplotlib", "pandas", "numpy", "scipy"} & set(run.stdout.split())


def test_a_page_says_first_what_came_out(report):
    html = text(report, f"{STUDY}.html")
    listed = re.findall("<li>(.*?)</li>", html.partition('<ul class="found">')[2].split("</ul>")[0])
    assert [one.replace("&#39;", "'") for one in listed] == findings(CLAIMS)
    assert html.index('<ul class="found">') < html.index("Figures</h2>")


def test_the_overview_says_what_was_found_and_who_published_it(tmp_path):
    known = {STUDY: About(authors="A. Author", venue="A Journal", link="https://example.org/")}
    html = build(tmp_path, CLAIMS, about=known).read_text(encoding="utf-8")
    found = html.partition('<h2 id="found">')[2].partition("</section>")[0]
    said = re.findall("<li>(.*?)</li>", found.replace("&#39;", "'"))
    assert said == findings(CLAIMS) and 0 < len(said) <= 5
    assert '<a href="https://example.org/">' in found and "A. Author. A Journal." in found


def test_each_place_of_a_document_is_drawn_with_its_claims(report):
    """A row a claim, with a line a comparison in a picture that has words."""
    html = text(report, f"{STUDY}.html")
    section = html.partition('<h2 id="forests">')[2].partition("</section>")[0]
    drawn = [[one for one in claim.compared if is_relative(one)] for claim in CLAIMS]
    assert section.count("<circle") == sum(map(len, drawn)) > 0
    rows = section.count("<tr>") - section.count("<thead>")
    assert section.count('role="img"') == rows == len([one for one in drawn if one])
    assert max(map(len, drawn)) > 1 and "from top to bottom: " in section
    assert 'aria-label="published' in section


def test_a_figure_that_cannot_be_shown_is_refused(tmp_path):
    figure = ReportFigure(STUDY, "overview", "Overview", {"pdf": tmp_path / "o.pdf"}, "words")
    with pytest.raises(ValueError, match="overview.*PNG"):
        build(tmp_path, [], [figure])


def test_figures_for_the_appendix_come_last(report, tmp_path):
    """Below a heading of their own, whichever was drawn first."""
    files = {kind: report.parent / "drawn" / f"o.{kind}" for kind in ("png", "svg")}
    detail = ReportFigure(STUDY, "detail", "Detail", files, "words", appendix=True)
    kept = ReportFigure(STUDY, "kept", "Kept", files, "words")
    page = build(tmp_path, CLAIMS, [detail, kept], [ORIGIN]).parent / f"{STUDY}.html"
    places = [page.read_text().index(f'id="{name}"') for name in ("kept", "appendix", "detail")]
    assert places == sorted(places)


def test_no_page_has_raw_markup(report):
    """Captions have it for notebooks; pages show what it means."""
    pages = list(report.glob("*.html"))
    assert pages
    for page in pages:
        shown = re.sub(r"<(code|script|style)\b.*?</\1>", "", page.read_text(), flags=re.DOTALL)
        assert re.findall(r"`|\*\w[^*\n]*\w\*", re.sub(r"<svg.*?</svg>", "", shown)) == []
    html = text(report, f"{STUDY}.html")
    assert "<summary>A table of <code>time_scale</code>, <em>alone</em> (1 rows)" in html
    assert 'alt="Of fio, not fsync."' in html


def test_a_table_without_rows_is_left_out(tmp_path):
    empty = ReportTable(STUDY, "Nothing here", pd.DataFrame({"a": []}))
    page = build(tmp_path, CLAIMS, tables=[empty]).with_name(f"{STUDY}.html")
    assert "Nothing here" not in page.read_text(encoding="utf-8")
