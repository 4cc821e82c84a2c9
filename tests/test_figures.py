"""Figures: there, deterministic, legible to everyone."""

import pandas as pd
import pytest

from elevatorlab import figures as style
from elevatorlab.studies.vm_vs_container.figures import CAPTIONS, caption, figures
from elevatorlab.studies.vm_vs_container.published import times
from measured import NONE_YET, SCHEDULERS, as_printed

HOST = as_printed(arms=("host", "container"), jitter=0.05, testbed="deterministic", preset="quick")


def panels(figure):
    """Titles of a figure's panels, first lines."""
    return [axis.get_title().split("\n")[0] for axis in figure.axes]


@pytest.mark.parametrize("measured", [NONE_YET, HOST], ids=["published alone", "measured"])
def test_every_figure_of_the_article_has_its_counterpart(measured):
    """Figures 1 to 4, Table 5, and the overview; each with a caption."""
    drawn = figures(times(), measured)
    assert set(drawn) == set(CAPTIONS)
    titles = panels(drawn["figure-2-mq-deadline"])
    assert titles[0] == "Article, as printed"
    assert len(titles) == (1 if measured.empty else 4)


def test_testbeds_are_drawn_apart():
    """One set of figures for each run, named after it."""
    other = as_printed(testbed="vagrant")
    drawn = figures(times(), pd.concat([HOST, other]))
    assert "overview--deterministic-quick" in drawn
    assert "overview--vagrant-full" in drawn
    assert len(drawn) == 2 * len(CAPTIONS)
    assert caption("table-5--vagrant-full").endswith("Testbed and preset: vagrant-full.")


def test_what_was_not_run_is_not_drawn():
    """One scheduler, one variant, one repetition, a few sizes."""
    few = HOST.query(
        "scheduler == 'bfq' and variant == 'dropped' and repetition == 1 "
        "and published_size_mb in (10, 100)"
    )
    drawn = figures(times(), few)
    assert panels(drawn["figure-3-bfq"]) == ["Article, as printed", "Rerun, caches dropped"]
    assert panels(drawn["figure-1-none"]) == ["Article, as printed"]


def test_the_title_claims_only_what_was_measured():
    """Schedulers that differ with a warm cache take the sentence away."""

    def title(factor):
        table = as_printed(arms=("host", "container"), factor=factor)
        return figures(times(), table)["overview"].get_suptitle()

    def as_expected(row):
        flat = row["size_mib"] / 1000 / row["time_s"]
        late = row["variant"] != "as_published" and row["scheduler"] == "bfq"
        return flat * (2 if late else 1)

    assert "Only when reads reach the disk" in title(as_expected)
    assert "Only" not in title(lambda row: 1)


def test_files_are_the_same_bytes_each_time(tmp_path):
    """No dates, no random ids, no paths."""
    for folder in ("one", "two"):
        drawn = figures(times(), HOST)
        for name in ("overview", "table-5"):
            style.save(drawn[name], tmp_path / folder, name)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_fonts_are_embedded_as_truetype(tmp_path):
    """Journals refuse Type 3 fonts."""
    drawn = figures(times(), NONE_YET)
    pdf = style.save(drawn["figure-1-none"], tmp_path, "figure")["pdf"].read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Subtype /Type3" not in pdf


def test_one_colour_a_scheduler_and_one_shape_an_arm():
    """All different, so that neither is needed alone."""
    assert set(style.COLOURS) == set(SCHEDULERS)
    for look in (style.COLOURS, style.MARKERS, style.HATCHES, style.LINES):
        assert len(set(look.values())) == len(look)
    assert set(style.MARKERS) == set(style.HATCHES) == set(style.LINES)
