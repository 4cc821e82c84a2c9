"""The states of the page cache in which a claim about test 2 is judged.

The printed rates show that test 1's files came from memory. The article does not print the size of
test 2's tree, so its times do not tell where the tree came from. (Making the tree warms the cache.)
So each claim about test 2 is judged in every state. It is contradicted only if no state explains
it.
"""

from __future__ import annotations

from functools import wraps

import pandas as pd

from ....judging.claim import Role
from ....judging.claims import Judge
from ....judging.families import Statement
from ....judging.verdicts import Judgement, Verdict
from ...kit.cells import once_a_table
from ...kit.choices import Choice, together
from ..published import TEST_2
from ..trials import CACHE, DRIVE_SUFFIX

_CACHE = Choice(
    "The article does not say how much of the tree was in the page cache", "cache state"
)
_SAID = {"warm": "warm cache", "dropped": "caches dropped", "direct": "direct I/O"}
_STATES: dict[str, str] = {
    variant: _SAID[state] for variant, state in CACHE.items() if not variant.endswith(DRIVE_SUFFIX)
}
"""The state of the cache in each variant on the study's own disk; the published one is first."""


def in_each_state(judge: Judge) -> Judge:
    """Let a claim about test 2 be judged in each state of the cache; see the module's docstring."""

    @wraps(judge)
    def judged(item: Statement, table: pd.DataFrame) -> Judgement:
        tests = item.select.get("test") or item.select["tests"]
        if item.role != Role.PREDICTION or tests not in (TEST_2, "both_tests"):
            return judge(item, table)
        found = {variant: judge(item, rows) for variant, rows in _states(table).items()}
        first = next(iter(found.values()))
        if first.verdict == Verdict.NOT_TESTABLE:
            return first
        measured = {
            _STATES[variant]: one
            for variant, one in found.items()
            if one.verdict != Verdict.NOT_TESTABLE
        }
        return together(measured, _CACHE, len(_STATES))

    return judged


@once_a_table
def _states(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return a table for each state: there, test 2's rows of this state are called as_published."""
    second = table["test"] == TEST_2
    return {
        state: pd.concat(
            [
                table[~second],
                table[second & (table["variant"] == state)].assign(variant="as_published"),
            ]
        )
        for state in _STATES
    }
