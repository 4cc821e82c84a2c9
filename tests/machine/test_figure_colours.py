"""A scheduler's colour means the scheduler, in every figure."""

from matplotlib.colors import to_hex

from elevatorlab.plugins import studies
from elevatorlab.plugins.schedulers import OF_THE_KERNEL, marker_of
from elevatorlab.results import store
from elevatorlab.showing.style import COLOURS


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
