"""The verdicts on a scheduler, as lines for a terminal and as a page."""

from __future__ import annotations

from ...showing.report_pages import template_environment
from .cases import CASES, Case
from .conformity import CaseVerdict, Conformity

#: For each outcome, the verdict on claims whose sign and colour the page shows.
SIGNS = {"passed": "reproduced", "failed": "contradicted", "not run": "not testable here"}


def summary(conformity: Conformity) -> str:
    """Return one or two sentences about all cases."""
    number = len(conformity.verdicts)
    if conformity.passed:
        return f"All {number} cases passed."
    passed = sum(one.outcome == "passed" for one in conformity.verdicts)
    failed = ", ".join(one.case for one in conformity.failures)
    return f"{passed} of {number} cases passed; failed: {failed}."


def case_of(verdict: CaseVerdict) -> Case:
    """Return the case that a verdict belongs to."""
    return next(one for one in CASES if one.name == verdict.case)


def lines(verdict: CaseVerdict) -> list[str]:
    """Return the lines that a terminal shows for a verdict; for a failure, also what it means."""
    first = f"{verdict.outcome:8}{verdict.case:28}{verdict.said}".rstrip()
    if verdict.outcome != "failed":
        return [first]
    case = case_of(verdict)
    means = ["", f"    {case.title}", f"    {case.means}"]
    trace = ["", *(f"    {line}" for line in verdict.trace)] if verdict.trace else []
    return [first, *means, *trace, ""]


def html(conformity: Conformity) -> str:
    """Return the verdicts as a page of HTML."""
    return (
        template_environment({})
        .get_template("check.html")
        .render(
            here="",
            name=conformity.name,
            sources=conformity.sources,
            passed=conformity.passed,
            summary=summary(conformity),
            cases=[(case_of(verdict), verdict) for verdict in conformity.verdicts],
            signs=SIGNS,
        )
    )
