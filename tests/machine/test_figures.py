"""Figures: there, deterministic, legible to everyone; a colour means a scheduler in all of them."""

import io

import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image, ImageColor

from elevatorlab.plugins import studies
from elevatorlab.plugins.schedulers import OF_THE_KERNEL, marker_of
from elevatorlab.results import store, tidying
from elevatorlab.showing import pictures, style
from elevatorlab.showing.style import COLOURS
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.figures import CAPTIONS, figures
from elevatorlab.studies.vm_vs_container.published import TEST_2, times
from synthetic import (
    ARMS,
    NONE_YET,
    SCHEDULERS,
    TCG,
    as_printed,
    deterministic,
    emulated,
    guest_trials,
    write_guest_results,
)

HOST = deterministic(jitter=0.05)

REAL = as_printed(arms=ARMS, jitter=0.05)

EMULATED = emulated(REAL)

USUAL = set(CAPTIONS) - {"crossing", "guest-or-host"}


def panels(figure):
    """Titles of a figure's panels, first lines."""
    return [axis.get_title().split("\n")[0] for axis in figure.axes]


def words(figure):
    """Everything that a figure's panels say."""
    return " ".join(
        " ".join(text.get_text().split())
        for axis in figure.axes
        for text in [axis.title, *axis.texts]
    )


@pytest.mark.parametrize("measured", [NONE_YET, HOST, REAL], ids=["published", "two arms", "three"])
def test_every_figure_of_the_article_has_its_counterpart(measured):
    """Figures 1 to 4, Table 5, and the overview; each with a caption."""
    drawn = figures(times(), measured)
    assert set(drawn) == USUAL
    assert all(one.caption == CAPTIONS[name] for name, one in drawn.items())
    titles = panels(drawn["figure-2-mq-deadline"].figure)
    assert titles[0] == "Article, as printed"
    assert len(titles) == (1 if measured.empty else 4)


def test_every_arm_is_drawn():
    """In the legend, and as a line in each panel."""
    drawn = figures(times(), REAL)["figure-1-none"].figure
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["VM", "host", "container"]
    assert [len(axis.containers) for axis in drawn.axes] == [2, 3, 3, 3]


def test_machines_and_presets_are_drawn_apart():
    """One set of figures for each run, named after it, with where it was in words."""
    other = as_printed(arms=ARMS, machine="fedcba9876543210")
    drawn = figures(times(), pd.concat([HOST, REAL, other]))
    assert len(drawn) == 3 * len(USUAL)
    table_5 = drawn["table-5"]  # the default testbed's, which other pages link to
    where = "Measured on the testbed deterministic with the preset quick"
    assert f"{where}: simulated disk, 3 repetitions." in table_5.details
    real = drawn["overview--docker-host-vagrant-full-fedcba98"]
    for part in ("machine fedcba98", ": real machine, physical disk: none, 3 repetitions."):
        assert part in real.details
    assert "Accelerators: none (bare metal) for container and host; KVM for VM." in real.details
    assert "overview--docker-host-vagrant-full-01234567" in drawn


def test_the_repetitions_are_those_of_what_is_shown():
    """Part of a study may have been repeated less often than the rest."""
    fewer = REAL[(REAL["test"] != TEST_2) | (REAL["repetition"] == 1)]
    drawn = figures(times(), fewer)
    assert "physical disk: none, 1 repetition." in drawn["table-5"].details
    assert "physical disk: none, 3 repetitions." in drawn["figure-1-none"].details
    without = figures(times(), REAL[REAL["test"] != TEST_2])
    assert "Measured on" not in without["table-5"].details


@pytest.mark.parametrize("name", [name for name, _ in studies.STUDIES.items()])
def test_a_reference_s_figures_fit_a_paper_s_columns_and_type(name):
    """A column wide, or two; and no word smaller than 8 points."""
    study = studies.get(name)
    for drawn in study.figures(study.published(), store.load(name)).values():
        assert drawn.figure.get_size_inches()[0] in (style.ONE_COLUMN, style.TWO_COLUMNS)
        shown = (one for one in drawn.figure.findobj(Text) if one.get_text().strip())
        assert {round(one.get_fontsize(), 1) for one in shown} <= {8.0, 9.0}


@pytest.mark.parametrize("name", [name for name, _ in studies.STUDIES.items()])
def test_no_word_of_a_reference_s_figures_is_cut_off(name, monkeypatch):
    """Every word that is drawn lies on the canvas: also in a figure of one column."""
    drawn, draw = [], Text.draw
    monkeypatch.setattr(Text, "draw", lambda self, to: (drawn.append(self), draw(self, to))[1])
    study, cut = studies.get(name), []
    for title, one in study.figures(study.published(), store.load(name)).items():
        drawn.clear()
        with style.style():
            one.figure.draw_without_rendering()
        width, height = one.figure.bbox.size
        for words in (some for some in drawn if some.get_text().strip()):
            left, bottom, right, top = words.get_window_extent().extents
            if min(left, bottom) < 0 or right > width or top > height:
                cut.append((title, words.get_text()))
        assert drawn
    assert cut == []


def test_a_title_is_broken_where_it_would_leave_the_figure():
    one, two = Figure(figsize=(style.ONE_COLUMN, 2)), Figure(figsize=(style.TWO_COLUMNS, 2))
    for figure in (one, two):
        style.entitle(figure, "mq-deadline: time to read a file while another is written")
    assert one.get_suptitle().count("\n") == 1 and "\n" not in two.get_suptitle()


def test_the_size_of_each_tree_is_said():
    """Variants that reach the disk read fewer files, so their seconds do not compare."""
    half = HOST["size_mib"].where(HOST["variant"] != "dropped", 0.5)
    table = HOST.assign(size_mib=half.where(HOST["test"] == TEST_2, HOST["size_mib"]))
    printed, _, dropped, _ = figures(times(), table)["table-5"].figure.axes
    assert printed.get_xlabel() == "time to read (s)\ntree: size not given"
    assert dropped.get_xlabel() == "time to read (s)\ntree: 0.5 MiB"


def test_no_number_of_the_overview_hides_the_axis():
    for axis in figures(times(), HOST)["overview"].figure.axes:
        assert axis.spines["bottom"].get_zorder() > max(one.get_zorder() for one in axis.texts)


@pytest.mark.parametrize("name", ["figure-1-none", "table-5"])
def test_an_emulated_vm_has_panels_of_its_own_that_say_why(name):
    """No panel shows it beside what it does not compare with."""
    figure = figures(times(), EMULATED)[name].figure
    said = words(figure)
    assert "VM: NOT COMPARABLE with host and container. Its processor is emulated" in said
    assert TCG in said
    assert said.count("not comparable with the panel above") == 3
    assert panels(figure).count("VM alone (emulated),") == 3
    assert "NOT COMPARABLE" not in words(figures(times(), REAL)[name].figure)
    # Time axes of the panels above end far below the emulated times.
    above, below = (
        axis.get_ylim() if name == "figure-1-none" else axis.get_xlim()
        for axis in (figure.axes[1], figure.axes[5])
    )
    assert above[1] < below[1]


def test_the_overview_says_that_the_vm_is_emulated():
    """It compares within an arm; still, a reader must know."""
    drawn = figures(times(), EMULATED)["overview"].figure
    assert "VM (rerun: emulated)" in [text.get_text() for text in drawn.legends[0].get_texts()]
    alone = figures(times(), emulated(as_printed(arms=("vm",))))["overview"]
    assert f"Accelerator of the machine: {TCG}" in alone.details


def test_schedulers_crossed_have_a_figure():
    """One cell a pair, in each arm and test; nothing else changes."""
    below = ("none", "bfq", None)
    crossed = pd.concat([REAL.assign(backing_scheduler=name) for name in below])
    drawn = figures(times(), crossed)
    assert set(drawn) == {*USUAL, "crossing"}
    axes = drawn["crossing"].figure.axes
    assert len(axes) == 2 * len(ARMS)
    assert all(len(axis.texts) == len(below) * len(SCHEDULERS) for axis in axes)
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert labels == ["none", "as it was", "bfq"]
    assert axes[0].texts[0].get_text() == "1.00×"
    assert "Shown: caches dropped" in drawn["crossing"].details
    few = crossed[(crossed["backing_scheduler"] == "none") | (crossed["scheduler"] == "bfq")]
    cells = [text.get_text() for text in figures(times(), few)["crossing"].figure.axes[0].texts]
    assert cells.count("not run") == 6


def test_the_guests_and_the_hosts_schedulers_have_a_figure(tmp_path):
    """Of the study's own trials: all 16 pairs in each test, and of the virtual machine alone."""
    trials = guest_trials(repetitions=2)
    write_guest_results(tmp_path, trials)
    drawn = figures(times(), tidying.tidy(tmp_path, vm_vs_container))
    assert set(drawn) == {*USUAL, "guest-or-host"}
    pairs = drawn["guest-or-host"]
    axes = pairs.figure.axes
    assert [axis.get_title() for axis in axes] == [
        "Test 1: read files while writing",
        "Test 2: read small files while reading",
    ]
    for axis in axes:
        cells = [text.get_text().partition("\n")[0] for text in axis.texts]
        # none, mq-deadline, bfq, kyber across in the guest; the same down on the host.
        ratios = [[1.2 if inside == 2 else 1 for inside in range(4)] for _ in range(4)]
        ratios[2] = [1.5 * one for one in ratios[2]]
        assert cells == [f"{one:.2f}×" for line in ratios for one in line]
    labels = [label.get_text() for label in axes[0].get_yticklabels()]
    assert labels == ["none", "mq-deadline", "bfq", "kyber"]
    shown = [one for one in trials if one.labels["variant"] == "dropped"]
    guests = {one.hash for one in shown if one.labels["arm"] == "vm"}
    assert pairs.trials == guests and len(guests) == 16 * 2 * 2
    assert "Measured on the testbed deterministic with the preset quick" in pairs.details
    assert "Shown: caches dropped" in pairs.details


def test_what_was_not_run_is_said_not_drawn():
    """One scheduler, one variant, one repetition, a few sizes."""
    few = HOST.query(
        "scheduler == 'bfq' and variant == 'dropped' and repetition == 1 "
        "and published_size_mb in (10, 100)"
    )
    drawn = figures(times(), few)
    titles = ["Article, as printed", "Rerun, caches dropped"]
    assert panels(drawn["figure-3-bfq"].figure) == titles
    missing = drawn["figure-1-none"].figure
    assert panels(missing) == ["Article, as printed", ""]
    assert "none was not run" in words(missing)
    assert missing.get_size_inches()[0] == drawn["figure-3-bfq"].figure.get_size_inches()[0]
    assert "Test 2 was not run" in words(drawn["table-5"].figure)
    assert words(drawn["overview"].figure).count("not run") >= 3


def test_the_title_claims_only_what_was_measured():
    """Schedulers that differ with a warm cache take the sentence away."""

    def title(factor):
        table = as_printed(arms=("host", "container"), factor=factor)
        return figures(times(), table)["overview"].figure.get_suptitle()

    def as_expected(row):
        flat = row["size_mib"] / 1000 / row["time_s"]
        late = row["variant"] != "as_published" and row["scheduler"] == "bfq"
        return flat * (2 if late else 1)

    assert "Only when reads reach the disk" in title(as_expected)
    assert "Only" not in title(lambda row: 1)


def test_reruns_of_the_tree_share_their_range():
    _, *reruns = figures(times(), HOST)["table-5"].figure.axes
    assert len(reruns) > 1 and len({axis.get_xlim() for axis in reruns}) == 1


def test_all_panels_of_a_row_and_all_schedulers_have_one_range():
    """So that the printed times and each rerun can be compared by eye."""
    drawn = figures(times(), HOST)
    ranges = {
        axis.get_ylim()
        for name, one in drawn.items()
        if name.startswith("figure-")
        for axis in one.figure.axes
    }
    assert len(ranges) == 1


def test_a_picture_of_a_notebook_is_small_and_keeps_the_colours(tmp_path):
    """It has more pixels than the page, for sharp letters, and its size on paper."""
    drawn = figures(times(), REAL)
    shown = {name: pictures.picture(one.figure) for name, one in drawn.items()}
    assert sum(len(one.data) for one in shown.values()) < 200_000
    inches = drawn["overview"].figure.get_size_inches()[0]
    assert shown["overview"].width == round(96 * inches)
    picture = Image.open(io.BytesIO(shown["overview"].data)).convert("RGB")
    assert picture.width == round(144 * inches)
    there = [colour for _, colour in picture.getcolors()]
    for wanted in (ImageColor.getrgb(style.COLOURS[name]) for name in SCHEDULERS):
        nearest = min(max(abs(a - b) for a, b in zip(wanted, one, strict=True)) for one in there)
        assert nearest < 12


def test_fonts_are_embedded_as_truetype(tmp_path):
    """Journals refuse Type 3 fonts."""
    drawn = figures(times(), NONE_YET)
    pdf = style.save(drawn["figure-1-none"].figure, tmp_path, "figure")
    pdf = pdf["pdf"].read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Subtype /Type3" not in pdf


def test_one_colour_a_scheduler_and_one_shape_an_arm():
    """All different, so that neither is needed alone."""
    assert set(style.COLOURS) >= set(SCHEDULERS)
    for look in (style.COLOURS, style.MARKERS, style.LINES):
        assert len(set(look.values())) == len(look)
    assert set(style.MARKERS) == set(style.LINES)


def figure(study, name):
    study = studies.get(study)
    return study.figures(study.published(), store.load(study.NAME))[name].figure


def test_the_article_s_cfq_has_the_colour_of_cfq_and_the_axis_ends_near_the_data():
    for axis in figure("innodb_commit", "slice-idle").axes:
        assert to_hex(axis.lines[-1].get_color()).upper() == COLOURS["cfq"]
        assert axis.get_ylim()[1] < 1.3


def test_mean_ranks_have_the_schedulers_markers_and_ties_do_not_hide_one_another():
    for axis in figure("iozone_ranking", "critical-difference").axes:
        dots = [line for line in axis.lines if line.get_marker() != "None"]
        looks = {(to_hex(dot.get_color()).upper(), dot.get_marker()) for dot in dots}
        assert looks == {(COLOURS[name], marker_of(name)) for name in (*OF_THE_KERNEL, "cfq")}
        assert sorted(dot.get_ydata()[0] for dot in dots) == [0, 1, 2, 3, 4]
