"""Which of several curves the data support, and which they cannot tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from .fits import Fit, fit
from .models import Model
from .noise import fit_either
from .number_texts import plain

INDISTINGUISHABLE = 7.0
"""A rival whose AICc is less than this above the best "should rarely be dismissed" (Burnham,
Anderson and Huyvaert, "AIC model selection and multimodel inference in behavioral ecology",
Behavioral Ecology and Sociobiology 65, 2011). With five points and noise of 5 %, the true curve is
beyond 2 in a quarter of data sets, and beyond this in 3 or 4 of 100 (benchmarks/coverage.py)."""


@dataclass(frozen=True, eq=False)
class ModelComparison:
    """Fits of rival models, in the order of their support by the data.

    Attributes
    ----------
    fits : tuple of Fit
        The best one first.
    table : pandas.DataFrame
        One row per model, same order: model, equation, noise (that of its fit), parameters (how
        many), rss, r2, aicc, delta_aicc (to the best) and evidence_ratio (how many times better
        the best one is supported: exp(delta / 2)).
    sentence : str
        The outcome for a reader, with the warnings about the best fit.
    """

    fits: tuple[Fit, ...]
    table: pd.DataFrame
    sentence: str

    @property
    def best(self) -> Fit:
        """The fit with the smallest AICc."""
        return self.fits[0]

    def supported(self) -> list[str]:
        """Return the names of the models that these data cannot tell from the best."""
        return self.table.loc[self.table["delta_aicc"] < INDISTINGUISHABLE, "model"].tolist()


def compare_models(
    models: Sequence[Model],
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    iops: npt.ArrayLike | None = None,
) -> ModelComparison:
    """Fit every model to the same points and rank them by AICc.

    Parameters
    ----------
    models : sequence of Model
        Two or more, for example `models.CURVES`.
    x, y, weights, iops
        As in `fits.fit`. Without weights, each curve is fitted with the noise that the points show
        around it (see `noise.fit_either`).

    Returns
    -------
    ModelComparison

    Raises
    ------
    ValueError
        With fewer than two models, or with too few points for AICc. Also when a model cannot use a
        point that another model uses: AICc of different data cannot be compared.
    """
    if len(models) < 2:
        raise ValueError(f"expected two or more rivals, found {len(models)}")
    fits = [
        fit_either(model, x, y, iops=iops)
        if weights is None
        else fit(model, x, y, weights, iops=iops)
        for model in models
    ]
    used = {one.model.name: len(one.x) for one in fits}
    if len(set(used.values())) > 1:
        raise ValueError(
            f"expected rivals that all use the same points, found {used}: leave out the points "
            "outside of the narrowest domain"
        )
    short = [one for one in fits if np.isnan(one.aicc)]
    if short:
        needed = max(len(one.parameters) for one in short) + 3
        raise ValueError(
            f"expected {needed} or more points to rank {short[0].model.name} by AICc, found "
            f"{len(short[0].x)}"
        )
    fits.sort(key=lambda one: one.aicc)
    table = pd.DataFrame(
        {
            "model": one.model.name,
            "equation": one.model.equation,
            "noise": one.noise,
            "parameters": len(one.parameters),
            "rss": one.rss,
            "r2": one.r2,
            "aicc": one.aicc,
            "delta_aicc": one.aicc - fits[0].aicc,
        }
        for one in fits
    )
    with np.errstate(over="ignore"):  # against an exact fit the ratio is infinite
        table["evidence_ratio"] = np.exp(table["delta_aicc"] / 2)
    return ModelComparison(tuple(fits), table, _sentence(fits, table))


def _sentence(fits: list[Fit], table: pd.DataFrame) -> str:
    best = table.iloc[0]
    tied = table[table["delta_aicc"] < INDISTINGUISHABLE]
    rest = table.drop(tied.index)
    if len(tied) > 1:
        text = (
            f"{len(fits[0].x)} points cannot tell {_listed(tied['model'])} apart "
            f"(AICc within {tied['delta_aicc'].max():.2g})"
        )
    else:
        text = f"The curve “{best['model']}” fits best (R2 {best['r2']:.4f})"
    if len(rest):
        second = rest.iloc[0]
        text += (
            f". The next, “{second['model']}” (R2 {second['r2']:.4f}), is "
            f"{_times(second['evidence_ratio'])} less likely (AICc)"
        )
    text += "."
    if fits[0].warnings:
        text += f" Against {best['model']} itself: {' '.join(fits[0].warnings)}"
    return text


def _listed(names: pd.Series) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _times(ratio: float) -> str:
    return f"{plain(ratio, 2)} times" if ratio < 1e6 else "more than a million times"
