"""Verdicts are told apart with any colour vision, and without colours."""

import itertools
import re

import pytest

from colour_vision import VISION, contrast, delta_e, lab
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.paths import PACKAGE
from elevatorlab.showing.report_pages import template_environment

LEAST_DELTA_E = 15
#: Of a sign to what is behind it (WCAG 2, success criterion 1.4.11).
LEAST_CONTRAST = 3

CSS = (PACKAGE / "showing" / "templates" / "report.css").read_text(encoding="utf-8")
#: The two sets of colours, by variable; only these two places define any.
LIGHT, DARK = (
    dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
)
NAMES = [verdict.replace(" ", "-") for verdict in Verdict]


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_verdicts_differ_with_any_colour_vision(colours, vision):
    seen = {name: lab(colours[name], vision) for name in NAMES}
    near = {
        (one, other): delta_e(seen[one], seen[other])
        for one, other in itertools.combinations(NAMES, 2)
        if delta_e(seen[one], seen[other]) < LEAST_DELTA_E
    }
    assert near == {}


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_a_verdict_stands_out_from_the_page(colours):
    grounds = [_long(colours[name]) for name in ("page", "card")]
    for name in NAMES:
        assert min(contrast(colours[name], ground) for ground in grounds) >= LEAST_CONTRAST


def test_each_verdict_has_a_shape_of_its_own():
    sign = template_environment({}).get_template("parts.html").module.sign
    shapes = [re.findall(r' d="(.*?)"', str(sign(verdict)))[0] for verdict in Verdict]
    assert all(shapes) and len(set(shapes)) == len(Verdict)


def test_the_difference_is_that_of_the_standard():
    """Three pairs of the test data that Sharma, Wu and Dalal published with the formula."""
    assert delta_e((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=5e-5)
    assert delta_e((50, 2.5, 0), (73, 25, -18)) == pytest.approx(27.1492, abs=5e-5)
    assert delta_e((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514)) == pytest.approx(
        0.9082, abs=5e-5
    )


def test_the_colours_of_before_are_found_too_near():
    """*Direction only* and *contradicted* were all but alike to people with deuteranopia."""
    one, other = (lab(colour, "deuteranopia") for colour in ("#8a5a00", "#a63a00"))
    assert delta_e(one, other) < LEAST_DELTA_E


def _long(colour):
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
