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
        "The run deterministic, quick decides 2 of 3 predictions: 1 reproduced, 1 contradicted.",
        "Reproduced most often: Table 1 (1 of 2).",
        "Contradicted most often: Table 1 (1 of 2).",
        "1 cannot be tested here.",
        "The document fails 1 of 1 check of its own numbers; most often: Table 1 (1 of 1).",
    ]


def test_the_run_that_decides_most_speaks():
    two = [*claims(REPRODUCED), *claims(REPRODUCED, REPRODUCED, preset="full")]
    assert findings(two)[0] == (
        "The run deterministic, full (one of 2 runs) decides 2 of 2 predictions: 2 reproduced."
    )


def test_the_place_that_is_contradicted_most_often_is_named():
    some = claims(CONTRADICTED, CONTRADICTED, REPRODUCED, NOT_TESTABLE)
    said = findings([*some, *claims(CONTRADICTED, place="Table 2")])
    assert "Contradicted most often: Table 1 (2 of 3)." in said


def test_a_sentence_is_quoted_where_all_its_claims_agree():
    agreed = claims(REPRODUCED, published="noop is not behind deadline")
    mixed = claims(CONTRADICTED, REPRODUCED, place="2", published="cfq is behind all the others")
    implied = claims(CONTRADICTED, place="3", published="implied: one is above the other")
    said = findings([*mixed, *agreed, *implied])
    assert said[1:] == [
        "Reproduced, for example: “noop is not behind deadline”.",
        "Contradicted most often: 2 (1 of 2).",
    ]


def test_what_is_open_is_told_from_what_cannot_be_tested():
    some = claims(REPRODUCED, Verdict.UNDECIDED, Verdict.UNDECIDED, NOT_TESTABLE)
    said = "The repetitions leave 2 undecided, and 1 cannot be tested here."
    assert findings(some)[-1] == said


@pytest.mark.parametrize("decided", [[], [REPRODUCED]])
def test_a_reason_that_most_of_the_others_share_is_given(decided):
    others = claims(NOT_TESTABLE, NOT_TESTABLE, *decided)
    said = findings([*others, *claims(NOT_TESTABLE, place="2", reason="Another.")])
    assert said[-1] == "3 cannot be tested here, 2 of them for one reason: So it is."


def test_a_document_without_errors_passes():
    some = claims(REPRODUCED, testbed=PUBLISHED_DATA, machine="", preset="", role=Role.ARITHMETIC)
    assert findings(some) == ["The document passes 1 check of its own numbers."]


def test_nothing_measured_is_no_finding():
    some = claims(NOT_TESTABLE, NOT_TESTABLE, testbed=UNMEASURED, machine="", preset="")
    assert findings(some) == ["Nothing was measured that could decide 2 claims."]
    assert findings([]) == []


def test_five_sentences_are_the_most():
    every = [
        *claims(*Verdict),
        *claims(*Verdict, preset="full"),
        *claims(*Verdict, testbed=PUBLISHED_DATA, machine="", preset="", role=Role.ARITHMETIC),
    ]
    assert len(findings(every)) == 5
