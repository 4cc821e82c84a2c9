"""The rules by which a measured estimate decides about a published number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from .comparison import Comparison, comparison

if TYPE_CHECKING:
    from ..analysis.intervals import Interval

TIE_MARGIN = 0.01
"""Differences of less than 1 % are called a tie."""

ORDER_OF_MAGNITUDE = 10
"""A value that is off by more than this factor contradicts the document in any direction."""

MOST_REPETITIONS = 200
"""No estimate of the repetitions that would decide a claim is larger than this."""


class Verdict(StrEnum):
    """The verdicts that a claim can have; `docs/explanation/verdicts.md` says when.

    Examples
    --------
    >>> Verdict("direction only").name
    'DIRECTION_ONLY'
    """

    REPRODUCED = "reproduced"
    DIRECTION_ONLY = "direction only"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"
    CALIBRATED = "calibrated"
    CALIBRATION_MISSED = "calibration missed"


DECIDED = (Verdict.REPRODUCED, Verdict.DIRECTION_ONLY, Verdict.CONTRADICTED)
"""The verdicts that say something about the document."""


class Evidence(NamedTuple):
    """How firmly repetitions support a verdict."""

    #: Two-sided, of the weakest t test that the verdict rests on; 1 for what is undecided. None
    #: without a spread to test against: one repetition, or all the same.
    p_value: float | None = None
    #: For what is undecided: how many repetitions would decide it, if more of them scattered as
    #: these do around the same estimate. None: no number up to `MOST_REPETITIONS` would, or nothing
    #: scatters.
    repetitions_to_decide: int | None = None
    #: The estimates that it rests on, each with the published range.
    compared: tuple[Comparison, ...] = ()
    #: How many the weakest test rests on.
    repetitions: int | None = None


class Judgement(NamedTuple):
    """What a judging function returns.

    Attributes
    ----------
    verdict : Verdict
    measured : float or str or None
        The value that the verdict rests on.
    reason : str
        Why.
    evidence : Evidence
        How firm the verdict is.
    cell : str
        Name of the measurement that the verdict rests on. Claims with the same name count as one
        piece of evidence.
        Empty if no other claim rests on this measurement.
    reference_cell : str
        Name of the measurement that `cell` is compared with, where other claims rest on it, too.
    ground : str
        Of a claim that cannot be tested: the part of `reason` that many claims may share.
        Such claims are counted by this text.
    relative_to : str
        What `measured` and the published value are divided by before they are compared, in words;
        empty if they are compared as they are.

    Examples
    --------
    >>> Judgement(Verdict.CONTRADICTED, 0.8, "slower, not faster").measured
    0.8
    """

    verdict: Verdict
    measured: float | str | None
    reason: str
    evidence: Evidence = Evidence()
    cell: str = ""
    relative_to: str = ""
    ground: str = ""
    reference_cell: str = ""


class Held(NamedTuple):
    """The outcome of comparing estimates with what was published; `why` ends a sentence."""

    verdict: Verdict
    why: str
    evidence: Evidence


def not_testable(ground: str, more: str = "") -> Judgement:
    """Judge that nothing was measured here that could decide.

    Parameters
    ----------
    ground : str
        Why not, in a sentence. Claims that cannot be tested are counted by it.
    more : str
        Further sentences, on this claim alone.
    """
    return Judgement(Verdict.NOT_TESTABLE, None, f"{ground} {more}".rstrip(), ground=ground)


def undecided(
    reason: str, measured: float | str | None = None, needed: int | None = None
) -> Judgement:
    """Judge that it was measured, but that the repetitions do not decide it, and why."""
    return Judgement(Verdict.UNDECIDED, measured, reason, Evidence(repetitions_to_decide=needed))


def reproduced_if(holds: bool) -> Verdict:
    """Return the verdict on what holds or does not, with nothing between."""
    return Verdict.REPRODUCED if holds else Verdict.CONTRADICTED


def widened(bounds: tuple[float, float], tolerance: float) -> tuple[float, float]:
    """Widen a range of positive values by a share of its ends.

    >>> widened((1, 2), 0.5)
    (0.5, 3.0)
    """
    low, high = bounds
    return low * (1 - tolerance), high * (1 + tolerance)


def six_digits(value: float) -> float:
    """Return six significant digits: more would suggest a precision that nobody has."""
    return float(f"{value:.6g}")


def compare(
    measured: Interval,
    published: tuple[float, float],
    *,
    neutral: float,
    margin: float,
    allowed: tuple[float, float] | None = None,
) -> Held:
    """Compare an estimate with a published range.

    *Reproduced*: the whole interval lies in the allowed range and, where the document says that
    something differs, on the same side of `neutral` as the published range. *Direction only*: the
    interval is on that side, not within the allowed range, and of the same order of magnitude.
    *Contradicted*: no part of the interval is on that side, or all of it is of another order of
    magnitude; an interval around `neutral`, or where none is claimed, must lie wholly outside the
    allowed range. *Undecided*: the repetitions decide none of this, or there is only one
    repetition. An interval that is too wide never makes a claim *reproduced*. An interval that
    comes nearer to `neutral` than `margin` lies on neither side.

    Parameters
    ----------
    measured : Interval
        The estimate.
    published : tuple of float
        Range that rounding leaves to the published value.
    neutral, margin : float
        "No difference", and the smallest difference that counts; see `Interval.direction`. A
        published range that reaches into the margin claims no difference.
    allowed : tuple of float
        `published` widened by the tolerance; `published` itself by default.

    Examples
    --------
    >>> from elevatorlab.analysis.intervals import mean_interval
    >>> twice = mean_interval([1.9, 2.0, 2.1])
    >>> compare(twice, (1.95, 2.05), neutral=1, margin=0.05).verdict.value
    'direction only'
    >>> compare(twice, (1.95, 2.05), neutral=1, margin=0.05, allowed=(1.7, 2.3)).verdict.value
    'reproduced'
    """
    claimed = _side(published, neutral, margin)
    ends = allowed or published

    def decide(estimate: Interval) -> _Decision:
        found = _decide(estimate, claimed, ends, neutral, margin)
        if found.verdict == Verdict.DIRECTION_ONLY:
            return _of_the_same_order(found, estimate, published)
        return found

    return _held(decide, measured, comparison(measured, published, ends, neutral))


def bounded(measured: Interval, ends: tuple[float, float], neutral: float) -> Held:
    """Hold an estimate against a bound, such as "<1 %" or "within 2 s": no difference is claimed.

    `measured`: *Reproduced* where the whole interval keeps the bound, *contradicted* where all of
    it breaks it, else *undecided*.
    """

    def decide(estimate: Interval) -> _Decision:
        return _decide(estimate, 0, ends, neutral, 0)

    return _held(decide, measured, comparison(measured, ends, ends, neutral))


def together(found: Sequence[Held]) -> tuple[Verdict, Evidence]:
    """Judge what holds only if each of several does: contradicted by one, reproduced by all.

    Returns: The p-value is that of the weakest where all are needed, and else of the firmest, as
    one of so many.
    """
    verdicts = [one.verdict for one in found]
    worst_first = (Verdict.CONTRADICTED, Verdict.UNDECIDED, Verdict.DIRECTION_ONLY)
    verdict = next((one for one in worst_first if one in verdicts), Verdict.REPRODUCED)
    of_it = [one.evidence for one in found if one.verdict == verdict]
    p_values = [one.p_value for one in of_it if one.p_value is not None]
    counts = [one.repetitions for one in of_it if one.repetitions is not None]
    needed = [one.repetitions_to_decide for one in of_it]
    if verdict == Verdict.CONTRADICTED and p_values:
        p_values = [min(1.0, len(found) * min(p_values))]
    return verdict, Evidence(
        p_value=max(p_values, default=None),
        repetitions_to_decide=None if None in needed else max(n for n in needed if n),
        compared=tuple(one for held in found for one in held.evidence.compared),
        repetitions=min(counts, default=None),
    )


class _Decision(NamedTuple):
    """A verdict, its reason, and the values that the truth must not have for it to stand."""

    verdict: Verdict
    why: str
    excluded: tuple[float, ...] = ()


def _side(published: tuple[float, float], neutral: float, margin: float) -> int:
    """Return on which side of no difference a published range is; 0: it claims none."""
    low, high = published
    return 1 if low >= neutral + margin else -1 if high <= neutral - margin else 0


def _decide(
    measured: Interval, claimed: int, allowed: tuple[float, float], neutral: float, margin: float
) -> _Decision:
    if not measured.bounded:
        return _Decision(Verdict.UNDECIDED, "one repetition does not decide the claim")
    of_size = _of_size(measured, allowed)
    if not claimed:
        return of_size
    edge = neutral + claimed * margin  # where the claimed difference begins
    least, most = sorted((claimed * (measured.low - edge), claimed * (measured.high - edge)))
    if most <= 0:
        whys: dict[int | None, str] = {
            -claimed: "the direction is the opposite one",
            0: "a difference is claimed, but none was measured",
            None: "no part of the interval is on the claimed side",
        }
        why = whys[measured.direction(neutral, margin)]
        return _Decision(Verdict.CONTRADICTED, why, (edge,))
    if least >= 0 and of_size.verdict == Verdict.REPRODUCED:
        return of_size._replace(excluded=(*of_size.excluded, edge))
    if least >= 0:
        differs = of_size.verdict == Verdict.CONTRADICTED
        size = "the size differs" if differs else "the repetitions do not decide the size"
        return _Decision(Verdict.DIRECTION_ONLY, f"the direction is the same, but {size}", (edge,))
    if not measured.low <= neutral <= measured.high:
        return _Decision(Verdict.UNDECIDED, "part of the interval counts as a tie")
    if of_size.verdict == Verdict.CONTRADICTED:
        return of_size
    return _Decision(Verdict.UNDECIDED, "the repetitions do not decide the claim")


def _of_size(measured: Interval, allowed: tuple[float, float]) -> _Decision:
    """Decide by the allowed range alone, whatever the direction."""
    low, high = allowed
    if low <= measured.low and measured.high <= high:
        why = "the whole interval is within the allowed range"
        return _Decision(Verdict.REPRODUCED, why, allowed)
    if measured.low > high or measured.high < low:
        why = "the whole interval is outside the allowed range"
        return _Decision(Verdict.CONTRADICTED, why, (high if measured.low > high else low,))
    return _Decision(Verdict.UNDECIDED, "the repetitions do not decide the claim")


def _of_the_same_order(
    found: _Decision, measured: Interval, published: tuple[float, float]
) -> _Decision:
    """Contradict a value that agrees in direction, but is of another order of magnitude."""
    near, far = sorted(map(abs, published))
    least, most = near / ORDER_OF_MAGNITUDE, far * ORDER_OF_MAGNITUDE
    low, high = sorted(map(abs, (measured.low, measured.high)))
    if least <= high and low <= most:
        return found
    nearest = math.copysign(least if high < least else most, measured.value)
    factor = f"a factor of {ORDER_OF_MAGNITUDE}"
    why = f"the direction is the same, but the size is off by more than {factor}"
    return _Decision(Verdict.CONTRADICTED, why, (nearest,))


def _held(decide: Callable[[Interval], _Decision], measured: Interval, drawn: Comparison) -> Held:
    found = decide(measured)
    if found.verdict != Verdict.UNDECIDED:
        evidence = excluding(measured, found.excluded)
    else:
        needed = repetitions_to_decide(
            measured, lambda one: decide(one).verdict != Verdict.UNDECIDED
        )
        evidence = Evidence(1.0 if measured.bounded else None, needed)
    return Held(found.verdict, found.why, evidence._replace(compared=(drawn,)))


def excluding(measured: Interval, excluded: Iterable[float]) -> Evidence:
    """Return the evidence that the true value differs from each of some values."""
    return Evidence(p_value(measured, excluded), repetitions=measured.repetitions)


def p_value(measured: Interval, excluded: Iterable[float]) -> float | None:
    """Return the p-value of a truth that is none of some values; None without a spread."""
    if not measured.bounded or measured.identical:
        return None
    return max(measured.p_value(value) for value in excluded)


def repetitions_to_decide(measured: Interval, decides: Callable[[Interval], bool]) -> int | None:
    """Estimate how many repetitions would decide what these do not.

    Returns: The smallest number with which an interval of the same estimate and scatter decides;
    None where no number up to `MOST_REPETITIONS` does, or there is no scatter to go by.
    """
    if not measured.bounded or measured.identical:
        return None
    more = range(measured.repetitions + 1, MOST_REPETITIONS + 1)
    return next((count for count in more if decides(measured.with_repetitions(count))), None)


def sentence(why: str) -> str:
    """Return `why` with a capital first letter, as the beginning of a sentence."""
    return f"{why[:1].upper()}{why[1:]}"


def rounding_alone(low: float, high: float) -> str:
    """Say which values the rounding of a printed number leaves.

    Examples
    --------
    >>> rounding_alone(0.4857, 0.5758), rounding_alone(0.89851, 0.89853)
    ('rounding alone allows 0.4857 to 0.5758', 'rounding alone allows only 0.8985')
    """
    ends = list(dict.fromkeys((f"{low:.4g}", f"{high:.4g}")))
    return f"rounding alone allows {' to '.join(ends) if len(ends) > 1 else f'only {ends[0]}'}"


def ordering(pairs: Mapping[str, tuple[Interval, bool]], margin: float) -> Held:
    """Judge a claimed order from the ratio slower/faster of each pair that it names.

    `pairs`: For each pair, by a name such as "bfq / none": the measured ratio, which the document
    says is above 1, and whether the interval excludes the published ratio.
    """
    words = {1: "as published", -1: "the other way round", 0: "a tie", None: "undecided"}
    sides = {name: ratio.direction(1, margin) for name, (ratio, _) in pairs.items()}
    reason = "; ".join(
        f"{name} = {ratio.text()}: {words[sides[name]]}" for name, (ratio, _) in pairs.items()
    )
    above = (1.0, math.inf)
    drawn = tuple(comparison(ratio, above, above, 1, name) for name, (ratio, _) in pairs.items())
    verdict = _of_sides(list(sides.values()), all(excluded for _, excluded in pairs.values()))
    if verdict == Verdict.UNDECIDED:
        needed = to_decide_sides([ratio for ratio, _ in pairs.values()], margin)
        bounded = any(ratio.bounded for ratio, _ in pairs.values())
        evidence = Evidence(float(bounded) or None, needed, drawn)
        return Held(verdict, reason, evidence)
    firmness = _p_value_of_order(pairs, sides, verdict, margin)
    repetitions = min(ratio.repetitions for ratio, _ in pairs.values())
    return Held(verdict, reason, Evidence(firmness, compared=drawn, repetitions=repetitions))


def _of_sides(sides: Sequence[int | None], excluded: bool) -> Verdict:
    if -1 in sides:
        return Verdict.CONTRADICTED
    if None in sides:  # it may still turn out the other way round
        return Verdict.UNDECIDED
    if 1 in sides:
        return Verdict.REPRODUCED if set(sides) == {1} else Verdict.DIRECTION_ONLY
    return Verdict.CONTRADICTED if excluded else Verdict.UNDECIDED


def to_decide_sides(ratios: Iterable[Interval], margin: float) -> int | None:
    """Estimate how many repetitions would decide on which side of 1 each ratio is."""
    needed = [
        repetitions_to_decide(each, lambda one: one.direction(1, margin) is not None)
        for each in ratios
        if each.direction(1, margin) is None
    ]
    return None if None in needed else max((n for n in needed if n), default=None)


def _p_value_of_order(
    pairs: Mapping[str, tuple[Interval, bool]],
    sides: Mapping[str, int | None],
    verdict: Verdict,
    margin: float,
) -> float | None:
    """Return the p-value of an order: of its firmest pair, or of all where all are needed."""
    found = {
        name: p_value(ratio, _outside(sides[name], margin)) for name, (ratio, _) in pairs.items()
    }
    wanted = {Verdict.REPRODUCED: 1, Verdict.DIRECTION_ONLY: 1, Verdict.CONTRADICTED: -1}[verdict]
    decisive = [p for name, p in found.items() if sides[name] == wanted] or list(found.values())
    if None in decisive:
        return None
    numbers = [p for p in decisive if p is not None]
    if verdict == Verdict.REPRODUCED or wanted not in sides.values():
        return max(numbers)
    return min(1.0, len(pairs) * min(numbers))


def _outside(side: int | None, margin: float) -> tuple[float, ...]:
    """Return the ratios that the truth must not have for a side to stand; see `_decide`."""
    return (1 - margin, 1 + margin) if side == 0 else (1 + (side or 0) * margin,)
