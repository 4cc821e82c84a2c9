"""What a study's page says first: computed from its claims, for any of them."""

import pytest

from elevatorlab.judging.claims import PUBLISHED_DATA, UNMEASURED, Verdict
from elevatorlab.judging.conclusions import findings
from elevatorlab.judging.families import Role, Source
from elevatorlab.studies.vm_vs_container.claims import judge
from synthetic import as_printed

CLAIM = judge(as_printed(arms=("host",)))[0]
TEMPLATE = {"reason": "So it is. And more.", "testbed": "deterministic", "preset": "quick"}
REPRODUCED, CONTRADICTED = Verdict.REPRODUCED, Verdict.CONTRADICTED
NOT_TESTABLE = Verdict.NOT_TESTABLE


def claims(*verdicts, place="Table 1", **more):
    source = Source(document="It", place=place, row="1")
    update = {**TEMPLATE, "machine": "deterministic", "source": source, "role": Role.PREDICTION}
    return [
        CLAIM.model_copy(
            update={**update, **more, "id": name, "datum": name, "verdict": verdict, "cell": ""}
        )
        for number, verdict in enumerate(verdicts)
        for name in [f"{place}/{number}"]
    ]


def test_calibrations_and_what_is_beyond_the_document_are_no_findings():
    others = [
        *claims(Verdict.CALIBRATED, place="2", role=Role.CALIBRATION),
        *claims(REPRODUCED, place="3", role=Role.BEYOND),
    ]
    assert findings([*claims(REPRODUCED), *others]) == findings(claims(REPRODUCED))


def test_what_was_measured_comes_first_and_is_counted():
    document = claims(
        CONTRADICTED, testbed=PUBLISHED_DATA, machine="", preset="", role=Role.ARITHMETIC
    )
    assert findings([*document, *claims(REPRODUCED, CONTRADICTED, NOT_TESTABLE)]) == [
        "Measured on deterministic, quick, 2 of 3 predictions could be decided (1 reproduced, 1 "
        "contradicted; 2 independent).",
        "By the document's own numbers, 1 of 1 claim could be decided (1 contradicted; 1 "
        "independent).",
    ]


def test_runs_are_never_added_up():
    two = [*claims(REPRODUCED), *claims(REPRODUCED, preset="full")]
    assert len(findings(two)) == 2


def test_places_that_are_contradicted_more_than_once_are_named():
    some = claims(CONTRADICTED, CONTRADICTED, REPRODUCED, NOT_TESTABLE)
    (said,) = findings([*some, *claims(CONTRADICTED, place="Table 2")])
    assert said.endswith(" Contradicted most often: Table 1 (2 of 3).")


@pytest.mark.parametrize("alone", [False, True])
def test_a_reason_that_most_of_the_others_share_is_given(alone):
    others = claims(NOT_TESTABLE, NOT_TESTABLE, *([] if alone else [REPRODUCED]))
    (said,) = findings([*others, *claims(NOT_TESTABLE, reason="Another.")])
    assert said.endswith(" Of the 3 others 2 share one reason: So it is.")
    assert ("could be decided. " in said) == alone


def test_nothing_measured_is_no_finding():
    some = claims(NOT_TESTABLE, NOT_TESTABLE, testbed=UNMEASURED, machine="", preset="")
    assert findings(some) == ["Nothing was measured that could decide the other 2 claims."]
    assert findings([]) == []
