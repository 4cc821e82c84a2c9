"""How often a fit's 95 % intervals contain the truth, and how often its rivals exclude it.

Prints a row for each curve, points, noise and parameter: the share of data sets whose interval
contains the true parameter, for fits with the noise that the points show (`fit_either`) and, as the
baseline, for least squares that take the noise as constant. A cell that has the promised 95 % lies
within 93 and 97 in 19 of 20 runs of 500 data sets, so one of 20 lies outside by chance. Then, for
curves that have rivals: the share of data sets in which the true curve is excluded
(`compare_models`).

    .venv/bin/python benchmarks/coverage.py --sets 500
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from elevatorlab.analysis import models
from elevatorlab.analysis.fits import Fit, fit
from elevatorlab.analysis.models import Model
from elevatorlab.analysis.noise import fit_either
from elevatorlab.analysis.rivals import compare_models

SIZE = 0.05
"""Standard deviation of the noise, as a share of the curve or of its mean."""

CONTAMINATED, TIMES = 0.1, 5
"""Share of the points whose noise is so many times as large."""

FEW, MANY = np.array([1.0, 2, 4, 8, 16]), np.arange(1.0, 21)
LOADS, MANY_LOADS = np.array([0.2, 0.4, 0.6, 0.8, 0.9]), np.linspace(0.1, 0.92, 20)

CURVES: dict[str, tuple[Model, dict[str, float]]] = {
    "steep power": (models.POWER, {"a": 8.0, "b": -1.0}),
    "flat power": (models.POWER, {"a": 328.0, "b": -0.3}),
    "logarithmic": (models.LOGARITHMIC, {"a": 0.2, "b": 0.25}),
    "M/M/1": (models.MM1, {"service_ms": 1.5}),
    "closed share": (models.CLOSED_SHARE, {"z": 0.01, "s": 0.003}),
    "closed busy share": (models.CLOSED_BUSY, {"a": 1.1, "b": 0.5}),
}

POINTS: dict[str, Callable[[bool], np.ndarray]] = {
    "5 x 1": lambda loads: LOADS if loads else FEW,
    "5 x 3": lambda loads: np.repeat(LOADS if loads else FEW, 3),
    "20 x 1": lambda loads: MANY_LOADS if loads else MANY,
}


def constant(curve: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Add noise of one size."""
    return curve + random.normal(0, SIZE * curve.mean(), len(curve))


def proportional(curve: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Add noise in proportion to the curve."""
    return np.asarray(curve * (1 + random.normal(0, SIZE, len(curve))))


def contaminated(curve: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Add noise of one size, but for some points that lie far off."""
    sizes = SIZE * curve.mean() * np.where(random.random(len(curve)) < CONTAMINATED, TIMES, 1)
    return curve + random.normal(0, 1, len(curve)) * sizes


NOISES = (constant, proportional, contaminated)
FITS: dict[str, Callable[..., Fit]] = {"either": fit_either, "constant": fit}


def coverage(cell: tuple[str, str, Callable[..., np.ndarray], int]) -> list[str]:
    """Return a row for each parameter."""
    curve, points, noise, sets = cell
    model, truth = CURVES[curve]
    x = POINTS[points](model.domain == models.UTILIZATION)
    random = np.random.default_rng(zlib.crc32(f"{curve} {points} {noise.__name__}".encode()))
    exact = model.function(x, **truth)
    held = {(name, method): 0 for name in truth for method in FITS}
    for _ in range(sets):
        y = noise(exact, random)
        for method, fitted in FITS.items():
            found = fitted(model, x, y).parameters
            for name, value in truth.items():
                held[name, method] += found[name].low <= value <= found[name].high
    return [
        f"{curve:18} {points:7} {noise.__name__:13} {name:11}"
        + "".join(f"{held[name, method] / sets:10.1%}" for method in FITS)
        for name in truth
    ]


RIVALS = {
    "steep power": models.FALLING_CURVES,
    "flat power": models.FALLING_CURVES,
    "logarithmic": models.SHARE_CURVES,
}


def excluded(cell: tuple[str, str, Callable[..., np.ndarray], int]) -> list[str]:
    """Return a row of how often the true curve is not among those that are supported."""
    curve, points, noise, sets = cell
    if curve not in RIVALS:
        return []
    model, truth = CURVES[curve]
    x = POINTS[points](False)
    random = np.random.default_rng(zlib.crc32(f"rivals {curve} {points}".encode()))
    exact = model.function(x, **truth)
    found = [compare_models(RIVALS[curve], x, noise(exact, random)) for _ in range(sets)]
    without = sum(model.name not in one.supported() for one in found)
    return [f"{curve:18} {points:7} {noise.__name__:13} {'excluded':11}{without / sets:10.1%}"]


def cells(sets: int) -> Iterator[tuple[str, str, Callable[..., np.ndarray], int]]:
    """Yield every curve with all points and all noises."""
    for curve, points, noise in product(CURVES, POINTS, NOISES):
        yield curve, points, noise, sets


def main() -> None:
    """Print the table as it is computed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=500, help="data sets a cell (default: 500)")
    sets = parser.parse_args().sets
    columns = "".join(f"{method:>10}" for method in FITS)
    print(f"{'curve':18} {'points':7} {'noise':13} {'parameter':11}{columns}")
    with ProcessPoolExecutor() as pool:
        for measure in (coverage, excluded):
            for rows in pool.map(measure, cells(sets)):
                for row in rows:
                    print(row, flush=True)


if __name__ == "__main__":
    main()
