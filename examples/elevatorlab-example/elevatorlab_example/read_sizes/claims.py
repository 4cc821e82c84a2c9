"""The published numbers, and the verdict that each of them gets."""

from pathlib import Path

from elevatorlab.analysis.intervals import ratio_interval
from elevatorlab.judging import engine
from elevatorlab.judging.families import read_published, statements
from elevatorlab.judging.verdicts import Judgement, compare, not_testable, widened

from .trials import NAME

#: ``claims/read_sizes.yaml`` and ``published/read_sizes/``, in this package.
DATA = Path(__file__).with_name("data")


def published():
    """Return the published table."""
    return read_published(NAME, "rates", DATA)


def judge(measured):
    """Give every published number its verdict."""
    return engine.judge(statements(NAME, DATA), {"ratio_of_rates": _ratio_of_rates}, measured)


def _ratio_of_rates(statement, measured):
    sizes_kib = [statement.select["large_kib"], statement.select["small_kib"]]
    rates_kib_s = measured.pivot_table("kib_s", "repetition", "size_kib")
    if not set(sizes_kib) <= set(rates_kib_s):
        return not_testable(f"Reads of {list(rates_kib_s)} KiB alone were measured.")
    ratio = ratio_interval(rates_kib_s[sizes_kib[0]], rates_kib_s[sizes_kib[1]])
    low, high = statement.published - 0.05, statement.published + 0.05  # as it is rounded
    allowed = widened((low, high), statement.tolerance)
    verdict, why, evidence = compare(ratio, (low, high), neutral=1, margin=0.01, allowed=allowed)
    return Judgement(verdict, ratio.value, f"{ratio.text()}: {why}.", evidence)
