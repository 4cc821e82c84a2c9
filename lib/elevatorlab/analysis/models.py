"""The curves that are compared with each other, each with its equation, units and validity.

A model is a function, a guess and bounds, as in lmfit. In addition, it says for which x it is valid
(`domain`), and whether it describes an open or a closed system (`system`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from .queueing import interactive_wait_ms, md1_wait_ms, mm1_wait_ms

Guess = Callable[[np.ndarray, np.ndarray], Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Model:
    """A curve y = f(x; parameters) with the limits of its validity.

    Attributes
    ----------
    name, equation : str
        Name of the model, and its equation as text.
    function : callable
        ``f(x, *parameters)``; its argument names are the parameters' names. It must be
        differentiable and accept complex parameters, which the solver's derivatives use.
    guess : callable
        Takes x and y; returns start values of all parameters.
    bounds : mapping of str to (float, float)
        Lowest and highest value of a parameter; unlimited where not named.
    domain : tuple of float
        Open interval of the x for which the equation has a meaning.
    system : {"open", "closed"} or None
        For laws of a queue: the kind of arrivals that the law describes.
    """

    name: str
    equation: str
    function: Callable[..., np.ndarray]
    guess: Guess
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    domain: tuple[float, float] = (-np.inf, np.inf)
    system: Literal["open", "closed"] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the function's arguments."""
        return tuple(inspect.signature(self.function).parameters)[1:]

    def valid(self, x: npt.ArrayLike) -> np.ndarray:
        """Tell for each x whether it lies inside the domain."""
        return (np.asarray(x) > self.domain[0]) & (np.asarray(x) < self.domain[1])

    def domain_text(self) -> str:
        """Say in words where the equation is valid."""
        low, high = self.domain
        if high == np.inf:
            return "everywhere" if low == -np.inf else f"above {low:g}"
        return f"between {low:g} and {high:g}"


def power_law(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Evaluate y = a x^b.

    Parameters
    ----------
    x : array
        Positive, for example a number of containers.
    a : float
        Value at x = 1, in the unit of y; not negative.
    b : float
        Exponent, without a unit; negative for a decline.

    References
    ----------
    Isolation paper, section 3.2.1, Figures 1 and 2: IOPS and write speed.
    """
    return a * x**b


def logarithm(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Evaluate y = a + b ln(x).

    Parameters
    ----------
    x : array
        Positive, for example a number of containers.
    a, b : float
        Value at x = 1, and growth when x grows by the factor e, both in the unit of y.

    References
    ----------
    Isolation paper, section 3.2.2, Figures 3 and 4: utilisation and queue length. The curve
    has no upper limit, although a utilisation has.
    """
    curve: np.ndarray = a + b * np.log(x)
    return curve


def straight_line(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Evaluate y = a + b x.

    Parameters
    ----------
    x : array
    a, b : float
        Value at x = 0 in the unit of y, and slope in that unit per unit of x.
    """
    return a + b * x


def exponential_curve(x: np.ndarray, a: float, b: float) -> np.ndarray:
    """Evaluate y = a exp(b x).

    `a`: Value at x = 0, in the unit of y; not negative.

    References
    ----------
    Isolation paper, section 3.2.1, which calls the decline of Figure 2 exponential.
    """
    return a * np.exp(b * x)


def closed_share(n: np.ndarray, z: float, s: float) -> np.ndarray:
    """Evaluate y = 1 / (z + s n): the rate of each of n closed writers at a shared server.

    It follows from X = 1 / (Z + W) with a wait that grows linearly with the number of writers.

    `z`, `s`: In the inverse unit of y (for IOPS: seconds), not negative. z is the part of a cycle's
    time that does not depend on n; s is what each writer adds to the cycle's time.
    """
    return 1 / (z + s * n)


def closed_busy(n: np.ndarray, a: float, b: float) -> np.ndarray:
    """Evaluate y = 1 - 1 / (a + b n): the share of time for which a closed writer waits.

    It follows from U = W / (Z + W) with a wait that grows linearly with the number of writers.

    `a`, `b`: Without a unit, not negative: 1 / (1 - y) at n = 0, and what each writer adds to it.
    """
    return 1 - 1 / (a + b * n)


def _raised(y: np.ndarray) -> np.ndarray:
    """Lift values of 0 (a stalled container) a little, so that start values exist."""
    if not np.max(y) > 0:
        raise ValueError(
            f"expected positive values of y for this curve, found none above {np.max(y):g}: "
            "leave the curve out of the rivals"
        )
    return np.asarray(np.maximum(y, 1e-3 * np.max(y)))


def _line(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    b, a = np.polyfit(x, y, 1)
    return {"a": a, "b": b}


def _log_line(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    line = _line(x, np.log(_raised(y)))
    return {"a": np.exp(line["a"]), "b": line["b"]}


def _inverse_line(n: np.ndarray, y: np.ndarray) -> dict[str, float]:
    inverse = 1 / _raised(y)
    line = _line(n, inverse)
    least = 1e-3 * inverse.mean()
    return {"z": max(line["a"], least), "s": max(line["b"], least / n.mean())}


def _rising_line(n: np.ndarray, y: np.ndarray) -> dict[str, float]:
    # Single shares may exceed 1 by their noise; the curve never reaches 1.
    if not np.mean(y) < 1:
        raise ValueError(
            f"expected shares of time for this curve, below 1 in the mean; found {np.mean(y):g}: "
            "divide percentages by 100, or leave the curve out of the rivals"
        )
    line = _line(n, 1 / np.maximum(1 - y, 1e-3))
    return {"a": max(line["a"], 1e-3), "b": max(line["b"], 1e-3)}


def _scale(function: Callable[..., np.ndarray], name: str) -> Guess:
    """Guess the factor of a law that is proportional to its one parameter."""
    return lambda x, y: {name: max(float(np.median(y / function(x, 1.0))), 1e-9)}


NOT_NEGATIVE = (0.0, np.inf)
POSITIVE_X = (0.0, np.inf)
UTILIZATION = (0.0, 1.0)

POWER = Model(
    "power",
    "y = a x^b",
    power_law,
    lambda x, y: _log_line(np.log(x), y),
    {"a": NOT_NEGATIVE},
    POSITIVE_X,
)
LOGARITHMIC = Model(
    "logarithmic",
    "y = a + b ln(x)",
    logarithm,
    lambda x, y: _line(np.log(x), y),
    domain=POSITIVE_X,
)
LINEAR = Model("linear", "y = a + b x", straight_line, _line)
EXPONENTIAL = Model(
    "exponential", "y = a exp(b x)", exponential_curve, _log_line, {"a": NOT_NEGATIVE}
)
CLOSED_SHARE = Model(
    "closed share",
    "y = 1 / (z + s n)",
    closed_share,
    _inverse_line,
    {"z": NOT_NEGATIVE, "s": NOT_NEGATIVE},
    POSITIVE_X,
    "closed",
)
CLOSED_BUSY = Model(
    "closed busy share",
    "y = 1 - 1 / (a + b n)",
    closed_busy,
    _rising_line,
    {"a": NOT_NEGATIVE, "b": NOT_NEGATIVE},
    POSITIVE_X,
    "closed",
)
MM1 = Model(
    "M/M/1",
    "W = S / (1 - U)",
    mm1_wait_ms,
    _scale(mm1_wait_ms, "service_ms"),
    {"service_ms": NOT_NEGATIVE},
    UTILIZATION,
    "open",
)
MD1 = Model(
    "M/D/1",
    "W = S (1 + U / (2 (1 - U)))",
    md1_wait_ms,
    _scale(md1_wait_ms, "service_ms"),
    {"service_ms": NOT_NEGATIVE},
    UTILIZATION,
    "open",
)
INTERACTIVE = Model(
    "interactive (closed)",
    "W = Z U / (1 - U)",
    interactive_wait_ms,
    _scale(interactive_wait_ms, "think_ms"),
    {"think_ms": NOT_NEGATIVE},
    UTILIZATION,
    "closed",
)

CURVES = (POWER, LOGARITHMIC, LINEAR, EXPONENTIAL)
"""Rivals for any quantity over the number of containers."""

FALLING_CURVES = (*CURVES, CLOSED_SHARE)
"""Rivals for a quantity that containers share, such as IOPS, over their number."""

SHARE_CURVES = (*CURVES, CLOSED_BUSY)
"""Rivals for a share of time that rises with the number of containers."""

QUEUES = (MM1, MD1)
"""Rivals for the wait at one server of an open system."""

WAIT_LAWS = (MM1, MD1, INTERACTIVE, LINEAR, EXPONENTIAL)
"""Rivals for the wait over the utilisation."""
