"""What a reader of the report's pages is told of a claim: in words, with possible values."""

import re

import pytest

from elevatorlab.judging import families, verdict_cache
from elevatorlab.judging.claim import Kind, Source
from elevatorlab.judging.families import About
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.plugins import studies
from elevatorlab.showing import reader_words
from elevatorlab.showing.report_pages import build
from synthetic import sample_claim
from synthetic import sample_comparison as one

STUDY = "innodb_commit"


def claim(**more):
    given = {"study": STUDY, "quantity": "a time", "unit": "s", "verdict": Verdict.REPRODUCED}
    given |= {
        "kind": Kind.TIME,
        "source": Source(document="Why?", place="Table 1", row="flush=0, cfq"),
    }
    return sample_claim(**{**given, "id": f"{STUDY}/one", "reason": "So.", **more})


def shown(page):
    """Return what a reader reads: the text without code, scripts and drawings."""
    hidden = r"<(code|pre|script|style|svg)\b.*?</\1>"
    text = re.sub(hidden, "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", text)


def test_no_page_shows_a_backquote(tmp_path):
    """Neither of the claims that are stored, nor of any text that a claim can bring."""
    code = {name: "what `elevatorlab` says" for name in ("quantity", "formula", "reason", "cell")}
    stored = verdict_cache.every_claim("published")
    build(tmp_path, [*stored, claim(**code, shared_with=("a",), datum="of `it`")])
    pages = sorted(tmp_path.glob("*.html"))
    assert len(pages) == 2 + len(studies.STUDIES)
    assert [page.name for page in pages if "`" in shown(page)] == []
    assert "what <code>elevatorlab</code> says" in (tmp_path / "claims.html").read_text()


def test_no_page_shows_an_identifier_of_a_claims_place(tmp_path):
    """A label stands for a value, and the kernel's own names are code."""
    place = "no_cache: cfq (cfq), flush=1, 8 threads"
    more = {"cell": place, "shared_with": ("a",), "datum": "Results, cfq: ioutil_percent"}
    more |= {"quantity": "waits at flush=0 with slice_idle", "reason": "It is read_write."}
    build(tmp_path, [claim(**more)])
    html = (tmp_path / "claims.html").read_text(encoding="utf-8")
    assert "(device without a cache: CFQ, the log flushed at each commit, 8 threads)" in html
    assert "Stands on: Results, CFQ: ioutil in %." in html
    assert "waits at the log flushed once a second with <code>slice_idle</code>" in html
    _, _, table = shown(tmp_path / "claims.html").rpartition("Verdict")
    assert "waits at the log" in table and "Stands on" in table
    assert re.findall(r"\b[a-z]+_[a-z_]+\b|\b\w+=\w+", table) == []


@pytest.mark.parametrize("name", studies.STUDIES.names())
def test_the_places_of_all_claims_have_labels(name):
    """Of every study's stored claims."""
    for item in families.statements(name):
        row = reader_words.place(item.claim["source"].row, name)
        datum = reader_words.place(item.claim["datum"], name)
        for text in (row, datum.partition("`")[0]):
            assert not re.search(r"\b[a-z]+_[a-z_]+\b|\bnan\b|\b[a-z_]+=\d", text), text


def test_a_place_without_a_number_says_nothing_of_it():
    place = "writes_starving_reads, as_published, container, none, 10.0"
    told = "Test 1, cache warm, container, none, 10 MB"
    assert reader_words.place(place, "vm_vs_container") == told
    place = "high_read_latency, as_published, vm, kyber, nan"
    assert reader_words.place(place, "vm_vs_container") == "Test 2, cache warm, VM, kyber"
    assert reader_words.place("of another package, some_thing", "unknown") == (
        "of another package, some thing"
    )


def test_files_and_code_stay_as_they_are():
    said = "See docs/virtual_machines.md and `both_tests`."
    assert reader_words.labelled(said, "vm_vs_container") == said


SHARE = {"kind": Kind.SHARE}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        # a ratio to a reference, times the printed value of 32 %
        ({"unit": "%", "measured": 1.92, "compared": (one(0.06, -0.02, 0.14),)}, "2 (0 to 4) %"),
        (
            SHARE | {"unit": "%", "measured": 96.0, "compared": (one(96.0, 90.0, 102.0),)},
            "96 (90 to 100) %",
        ),
        (SHARE | {"unit": "", "compared": (one(0.9, 0.7, 1.1),)}, "0.90 (0.70 to 1.00)"),
        ({"measured": 2.5, "compared": (one(2.5, -3.9, 8.9),)}, "2 (0 to 9) s"),
        # a difference can be negative
        (
            {"unit": "%", "measured": 1.0, "compared": (one(1.0, -1.5, 3.5, neutral=0.0),)},
            "1 (-2 to 4) %",
        ),
    ],
)
def test_no_interval_reaches_what_is_impossible(more, text):
    some = claim(**{"measured": more["compared"][0].value, **more})
    assert reader_words.measured_value(reader_words.readable(some)) == text


def test_a_value_has_the_interval_of_the_comparison_that_it_comes_from():
    some = one(6.728, 6.527, 6.930, what="1 writer"), one(5.95, 5.92, 5.99, what="2 writers")
    said = reader_words.measured_value(claim(unit="ms", measured=6.728, compared=some))
    assert said == "6.7 (6.5 to 6.9) ms, 1 writer"


def test_a_ratio_of_several_says_which_comparison_it_comes_from():
    some = one(2.0, 1.9, 2.1, what="warm cache"), one(3.0, 2.9, 3.1, what="direct I/O")
    more = {"measured": 2.284, "relative_to": "another size", "compared": some}
    said = reader_words.measured_value(claim(**more))
    assert said == "2.284 s, as a ratio 2.00 (1.90 to 2.10), warm cache"


def test_a_share_is_not_multiplied_by_a_difference():
    """Else 48 % with a difference of -2 % had an interval from -530 % to 620 %."""
    difference = one(-0.0152, -0.1985, 0.1681, neutral=0.0)
    said = reader_words.measured_value(claim(unit="", measured=0.478, compared=(difference,)))
    assert said == "0.48; the difference is -0.02 (-0.20 to 0.17)"


def test_what_decides_and_counts_is_not_changed():
    some = claim(datum="a_b", cell="c_d", measured=2.0, compared=(one(2.0, -1.0, 5.0),))
    same = reader_words.readable(some)
    for name in ("id", "datum", "cell", "measured", "verdict", "published", "testbed"):
        assert getattr(same, name) == getattr(some, name)


def test_pictures_without_a_name_are_not_named(tmp_path):
    named = claim(compared=(one(2.0, 1.9, 2.1, what="a"), one(2.0, 1.9, 2.1, what="b")))
    nameless = claim(id=f"{STUDY}/two", compared=(one(2.0, 1.9, 2.1), one(2.0, 1.9, 2.1)))
    build(tmp_path, [named, nameless])
    html = (tmp_path / f"{STUDY}.html").read_text(encoding="utf-8")
    assert re.findall(r"from top to bottom: ([^<]*)<", html) == ["a, b"]


@pytest.mark.parametrize(
    ("about", "text"),
    [
        (About(venue="A Journal"), "Why? Author not named. A Journal."),
        (About(authors="A. A. Author Jr.", venue="It"), "Why? A. A. Author Jr. It."),
        (About(), "Why?"),
    ],
)
def test_a_document_is_cited_in_correct_english(about, text, tmp_path):
    build(tmp_path, [claim()], about={STUDY: about})
    for page in ("index.html", f"{STUDY}.html"):
        html = (tmp_path / page).read_text(encoding="utf-8")
        (cited,) = re.findall(r'<p class="document">(.*?)</p>', html)
        assert re.sub(r"<[^>]+>", "", cited) == text


def test_the_first_page_says_what_is_still_running(tmp_path):
    for running, there in ((["the fifth study"], True), ([], False)):
        build(tmp_path, [claim()], running=running)
        assert ("the fifth study" in shown(tmp_path / "index.html")) == there
