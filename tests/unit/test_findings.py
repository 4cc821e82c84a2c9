"""What a study's page says first: computed from its claims, for any of them."""

import pytest

from elevatorlab.judging.claim import PUBLISHED_DATA, UNMEASURED, Role, Source
from elevatorlab.judging.claims import Verdict
from elevatorlab.judging.comparison import Comparison
from elevatorlab.judging.conclusions import findings
from synthetic import judged

CLAIM = judged("host", "container")[0]
TEMPLATE = {"reason": "So it is. And more.", "testbed": "deterministic", "preset": "quick"}
REPRODUCED, CONTRADICTED = Verdict.REPRODUCED, Verdict.CONTRADICTED
NOT_TESTABLE = Verdict.NOT_TESTABLE


def claims(*verdicts, place="Table 1", **more):
    source = Source(document="It", place=place, row="1")
    update = {
        **TEMPLATE,
        "ground": "So it is.",
        "machine": "deterministic",
        "source": source,
        "role": Role.PREDICTION,
    }
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


def one(value, low, high, published=(2.0, 2.0), neutral=1.0, what=""):
    more = {"published": published, "allowed": published, "neutral": neutral, "what": what}
    return (Comparison(value=value, low=low, high=high, **more),)


def measured(verdict, place, value, low, high, **more):
    """Return a claim of a ratio, in seconds with ten to the unit."""
    given = {"published": 20.0, "measured": 10.0 * value, "unit": "s", "quantity": place}
    given |= {"compared": one(value, low, high), **more}
    return claims(verdict, place=place, **given)


def test_a_finding_names_the_condition_and_both_values():
    some = measured(REPRODUCED, "bfq, 8 threads: time", 2.04, 1.98, 2.1)
    assert findings(some)[1] == (
        "Reproduced: the document gives 20 s for bfq, 8 threads: time; "
        "measured: 20.4 (19.8 to 21.0) s."
    )


def test_the_largest_effect_that_the_whole_interval_supports_is_the_example():
    wide = measured(REPRODUCED, "wide", 3.0, 1.1, 8.0)
    narrow = measured(REPRODUCED, "narrow", 0.5, 0.49, 0.51)
    to_zero = measured(REPRODUCED, "to zero", 0.01, -0.01, 0.03)
    once = measured(REPRODUCED, "once", 9.0, None, None)
    assert " for narrow; " in findings([*wide, *narrow, *to_zero, *once])[1]


def test_the_contradiction_that_is_furthest_from_the_document_is_the_example():
    near = measured(CONTRADICTED, "near", 0.9, 0.8, 1.0)
    far = measured(CONTRADICTED, "far", 9.0, 8.0, 10.0)
    assert findings([*near, *far])[1].startswith("Contradicted: the document gives 20 s for far; ")


def test_words_of_the_document_go_first_and_are_quoted():
    """Held against the range that they stand for, and the pair that shows it best."""
    pairs = one(0.8, 0.79, 0.81, (1.0, None), what="bfq / none")
    pairs += one(0.5, 0.49, 0.51, (1.0, None), what="cfq / none")
    words = {"published": "none is the fastest of all", "measured": "0 of 2 pairs", "unit": ""}
    said = claims(CONTRADICTED, place="2", quantity="order", compared=pairs, **words)
    number = measured(CONTRADICTED, "number", 9.0, 8.0, 10.0)
    assert findings([*number, *said])[1] == (
        "Contradicted: “none is the fastest of all” implies above 1 for order (cfq / none); "
        "measured: 0.500 (0.490 to 0.510)."
    )
    tie = one(1.0, 0.999, 1.001, (1.0, None))
    tied = claims(CONTRADICTED, place="2", compared=tie, **words)
    assert " for number; " in findings([*number, *tied])[1]


def test_a_condition_that_the_title_has_is_not_said_again():
    pair = one(0.5, 0.49, 0.51, (1.0, None), what="Test 1: cfq / none")
    words = {"published": "implied: more", "measured": "0 of 1 pairs", "unit": ""}
    some = claims(CONTRADICTED, quantity="time (Test 1)", compared=pair, **words)
    assert "the document implies above 1 for time (Test 1; cfq / none); " in findings(some)[1]


def test_no_two_examples_rest_on_one_measurement():
    cell = {"cell": "the same trials"}
    good = [one.model_copy(update=cell) for one in measured(REPRODUCED, "good", 2.0, 1.9, 2.1)]
    bad = [one.model_copy(update=cell) for one in measured(CONTRADICTED, "bad", 9.0, 8.9, 9.1)]
    less = measured(CONTRADICTED, "less", 3.0, 2.9, 3.1)
    assert findings([*good, *bad, *less])[2].startswith(
        "Contradicted: the document gives 20 s for less; "
    )


def test_a_sentence_without_an_interval_is_quoted_with_what_was_found():
    words = {"published": "noop is never behind deadline", "measured": "0 of 3 faster"}
    some = claims(REPRODUCED, quantity="who is behind", compared=(), **words)
    assert findings(some)[1] == (
        "Reproduced: the document says “noop is never behind deadline” of who is behind; "
        "measured: 0 of 3 faster."
    )


def test_the_first_sentence_counts():
    document = claims(
        *(CONTRADICTED, REPRODUCED),
        **{"testbed": PUBLISHED_DATA, "machine": "", "preset": "", "role": Role.ARITHMETIC},
    )
    assert findings([*document, *claims(REPRODUCED, CONTRADICTED, NOT_TESTABLE)])[0] == (
        "Of 3 predictions, 1 is reproduced, 1 is contradicted, and 1 cannot be tested here."
    )


def test_claims_that_share_a_datum_are_counted_once_beside_all():
    some = [one.model_copy(update={"datum": "d"}) for one in claims(REPRODUCED, REPRODUCED)]
    said = findings([*some, *claims(CONTRADICTED, place="2")])[0]
    assert said.endswith(", 2 are reproduced (1 independent) and 1 is contradicted.")


def test_the_run_that_decides_most_speaks():
    two = [*claims(REPRODUCED), *claims(REPRODUCED, REPRODUCED, preset="full")]
    assert findings(two)[0] == (
        "Of 2 predictions on the testbed deterministic with the preset full (one of 2 runs), "
        "2 are reproduced."
    )


def test_a_document_fails_by_the_number_that_is_furthest_off():
    where = {"testbed": PUBLISHED_DATA, "machine": "", "preset": "", "role": Role.ARITHMETIC}
    near = claims(CONTRADICTED, published=10.0, measured=11.0, unit="%", quantity="near", **where)
    far = claims(
        *(CONTRADICTED,),
        **{"place": "2", "published": 10.0, "measured": 20.0, "unit": "%", "quantity": "far"},
        **where,
    )
    assert findings([*near, *far]) == [
        "The document fails 2 of 2 checks of its own numbers: it gives 10 % for far; "
        "computed: 20 %."
    ]
    in_words = claims(CONTRADICTED, CONTRADICTED, published="a", measured="b", **where)
    assert findings(in_words) == [
        "The document fails 2 of 2 checks of its own numbers, most often in Table 1 (2 of 2)."
    ]


def test_what_is_open_is_told_from_what_cannot_be_tested():
    some = claims(REPRODUCED, Verdict.UNDECIDED, Verdict.UNDECIDED, NOT_TESTABLE)
    assert findings(some)[0] == (
        "Of 4 predictions, 1 is reproduced, 2 are undecided, and 1 cannot be tested here."
    )


@pytest.mark.parametrize("decided", [[], [REPRODUCED]])
def test_a_reason_that_most_of_the_others_share_is_given(decided):
    others = claims(NOT_TESTABLE, NOT_TESTABLE, *decided)
    said = findings([*others, *claims(NOT_TESTABLE, place="2", ground="Another.")])
    assert said[0].endswith(" 3 cannot be tested here.")
    assert said[1] == "2 of the 3 that cannot be tested have one reason: “So it is”."


def test_a_document_without_errors_passes():
    some = claims(REPRODUCED, testbed=PUBLISHED_DATA, machine="", preset="", role=Role.ARITHMETIC)
    assert findings(some) == ["The document passes 1 check of its own numbers."]


def test_nothing_measured_is_no_finding():
    some = claims(NOT_TESTABLE, NOT_TESTABLE, testbed=UNMEASURED, machine="", preset="")
    assert findings(some) == ["Nothing was measured that could decide 2 claims."]
    assert findings([]) == []


def test_five_findings_are_the_most():
    every = [
        *claims(*Verdict),
        *claims(*Verdict, preset="full"),
        *claims(*Verdict, testbed=PUBLISHED_DATA, machine="", preset="", role=Role.ARITHMETIC),
    ]
    assert len(findings(every)) == 5
