"""Judge the claims that need the paper alone: do its numbers agree with each other?"""

from __future__ import annotations

import pandas as pd

from ...analysis.queueing import interactive_wait_ms, mm1_wait_ms, queue_length, think_time_ms
from ...judging.engine import Judge
from ...judging.families import Statement
from ...judging.verdicts import Judgement, reproduced_if
from .published import endpoint, printed_wait_ms


def _difference(item: Statement, _: pd.DataFrame) -> Judgement:
    after, before = (printed_wait_ms(item.select[name]) for name in ("after", "before"))
    found = round(after - before, 1)
    holds = abs(found - item.number) < 0.05
    return Judgement(reproduced_if(holds), found, f"{after:g} - {before:g} = {found:g} ms.")


def _wait_before_and_after(item: Statement, _: pd.DataFrame) -> Judgement:
    before = printed_wait_ms("normal, before")
    after = printed_wait_ms("normal, with overload (in the subtraction)")
    printed = printed_wait_ms("normal, difference")
    holds = abs(before - after - printed) < 0.05
    reason = (
        f"The paper calls the wait before the overloaded container appears W_New ({before:g} ms), "
        f"and the wait after it W_Pre ({after:g} ms). By these words, the difference is "
        f"{before - after:.1f} ms, but the paper prints {printed:+g}."
    )
    if not holds:
        reason += " The two names are swapped."
    return Judgement(reproduced_if(holds), f"{before - after:.1f} ms", reason)


def _two_waits(item: Statement, _: pd.DataFrame) -> Judgement:
    used = printed_wait_ms("normal, with overload (in the subtraction)")
    reason = f"The same sentence subtracts from {used:g}, so {item.number:g} is a misprint."
    return Judgement(reproduced_if(abs(used - item.number) < 0.05), used, reason)


def _one_curve(item: Statement, _: pd.DataFrame) -> Judgement:
    first = endpoint("write_kb_s", 1) / endpoint("iops", 1)
    low, high = 138.5 / 27.5, 139.5 / 26.5
    reason = (
        f"Figure 2 is Figure 1 times the size of a write: {first:.3g} KB at 1 container, {low:.3g} "
        f"to {high:.3g} at 20. One curve cannot decline both as a power of n (heading, Figure 1) "
        "and exponentially (the text below it)."
    )
    return Judgement(reproduced_if(not low <= first <= high), f"{first:.3g} KB a write", reason)


def _load_is_rate_times_wait(item: Statement, _: pd.DataFrame) -> Judgement:
    found = queue_length(endpoint("iops", 1), printed_wait_ms("normal, before"))
    holds = abs(100 * found / item.number - 1) <= item.tolerance
    reason = f"328 writes/s of 0.82 ms keep the device busy {found:.2%} of the time."
    return Judgement(reproduced_if(holds), round(100 * found, 2), reason)


def predictions() -> pd.DataFrame:
    """Return the waits that two laws predict at the paper's second and third point.

    The parameters of both laws follow from the paper's first point.

    Returns: Index utilization_ratio; columns mm1_ms (M/M/1, its service time from 0.82 ms at 26.98
    %), closed_ms (closed law, its think time from 328 writes/s and 0.82 ms), published_ms.
    """
    first_ms, first = printed_wait_ms("normal, before"), endpoint("utilization_percent", 1) / 100
    service_ms = first_ms * (1 - first)
    think_ms = think_time_ms(endpoint("iops", 1), first_ms)
    at = pd.Index([0.71, 0.92], name="utilization_ratio")
    return pd.DataFrame(
        {
            "mm1_ms": mm1_wait_ms(at.to_numpy(), service_ms),
            "closed_ms": interactive_wait_ms(at.to_numpy(), think_ms),
            "published_ms": [printed_wait_ms("71 %"), 30.0],
        },
        index=at,
    )


def _mm1_through_the_first_point(item: Statement, _: pd.DataFrame) -> Judgement:
    found = predictions()
    text = "; ".join(
        f"at {u:.0%} M/M/1 gives {row.mm1_ms:.1f} ms, the closed law {row.closed_ms:.1f}, the "
        f"paper {row.published_ms:g}{' or more' if u > 0.9 else ''}"
        for u, row in zip(found.index, found.itertuples(), strict=True)
    )
    holds = (found["mm1_ms"] / found["published_ms"] > 1 - item.tolerance).all()
    return Judgement(
        reproduced_if(bool(holds)), f"{found['mm1_ms'].iloc[0]:.2g} ms at 71 %", f"{text}."
    )


JUDGES: dict[str, Judge] = {
    "difference": _difference,
    "wait_before_and_after": _wait_before_and_after,
    "two_waits": _two_waits,
    "one_curve": _one_curve,
    "load_is_rate_times_wait": _load_is_rate_times_wait,
    "mm1_through_the_first_point": _mm1_through_the_first_point,
}
