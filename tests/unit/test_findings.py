"""What a study's page says first: computed from its claims, for any of them, in few sentences."""

import re

import pytest

from elevatorlab.judging import families
from elevatorlab.judging.claim import PUBLISHED_DATA, UNMEASURED, Role, Source
from elevatorlab.judging.conclusions import MOST_WORDS, clearest, findings, headlines
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.plugins.studies import ours
from synthetic import sample_claim, sample_comparison

TEMPLATE = {"reason": "So it is. And more.", "testbed": "deterministic", "preset": "quick"}
REPRODUCED, CONTRADICTED = Verdict.REPRODUCED, Verdict.CONTRADICTED
NOT_TESTABLE = Verdict.NOT_TESTABLE
DOCUMENT = {"testbed": PUBLISHED_DATA, "machine": "", "preset": "", "role": Role.ARITHMETIC}
NOWHERE = {"testbed": UNMEASURED, "machine": "", "preset": ""}
NUMBERS = {"published": 3.0, "measured": 2.0, "quantity": "a time", "unit": "s"}
IN_WORDS = {"published": "noop is never behind deadline", "measured": "0 of 3 faster", "unit": ""}
IMPLIED = {**IN_WORDS, "published": "implied: more"}
IN_WORDS["quoted"] = True


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
        sample_claim(
            **{**update, **more, "id": name, "datum": name, "verdict": verdict, "cell": ""}
        )
        for number, verdict in enumerate(verdicts)
        for name in [f"{place}/{number}"]
    ]


def one(*interval, **more):
    return (sample_comparison(*interval, **more),)


def measured(verdict, place, value, low, high, **more):
    """Return a claim of a ratio, in seconds with ten to the unit."""
    given = {"published": 20.0, "measured": 10.0 * value, "unit": "s", "quantity": place}
    given |= {"compared": one(value, low, high), **more}
    return claims(verdict, place=place, **given)


def is_one_sentence(text):
    """Tell whether a text has one full stop, apart from what it quotes."""
    own = re.sub("“.*?”", "", text)
    return own.endswith(".") and not re.search(r"[.?!]\s", own)


@pytest.mark.parametrize("values", [IN_WORDS, IMPLIED, NUMBERS], ids=["words", "implied", "number"])
@pytest.mark.parametrize("compared", [(), one(2.0, 1.9, 2.1)], ids=["no interval", "interval"])
def test_every_finding_is_one_sentence_and_five_are_the_most(values, compared):
    more = {**values, "compared": compared}
    run = claims(*Verdict, *[NOT_TESTABLE] * 3, **more)
    said = findings(
        [
            *run,
            *claims(*Verdict, **{**more, "preset": "full"}),
            *claims(*Verdict, **more, **DOCUMENT),
        ]
    )
    assert len(said) == 5 and [text for text in said if not is_one_sentence(text)] == []


def test_calibrations_and_what_is_beyond_the_document_are_no_findings():
    others = [
        *claims(Verdict.CALIBRATED, place="2", role=Role.CALIBRATION),
        *claims(REPRODUCED, place="3", role=Role.BEYOND),
    ]
    assert findings([*claims(REPRODUCED), *others]) == findings(claims(REPRODUCED))


def test_a_finding_names_the_condition_and_both_values():
    said = findings(measured(REPRODUCED, "bfq, 8 threads: time", 2.04, 1.98, 2.1))[1]
    parts = ("Reproduced", "20 s", "bfq, 8 threads: time", "20.4 (19.8 to 21.0) s")
    assert [part for part in parts if part not in said] == []


def test_the_example_is_the_largest_effect_that_the_whole_interval_supports():
    some = [
        *measured(REPRODUCED, "wide", 3.0, 1.1, 8.0),
        *measured(REPRODUCED, "narrow", 0.5, 0.49, 0.51),
        *measured(REPRODUCED, "to zero", 0.01, -0.01, 0.03),
        *measured(REPRODUCED, "once", 9.0, None, None),
    ]
    assert ": narrow: " in findings(some)[1]
    some = [
        *measured(CONTRADICTED, "near", 0.9, 0.8, 1.0),
        *measured(CONTRADICTED, "far from the document", 9.0, 8.0, 10.0),
    ]
    assert ": far from the document: " in findings(some)[1]


def test_words_of_the_document_go_first_and_are_quoted():
    """Held against the range that they stand for, and the pair that contradicts them least."""
    pairs = one(0.8, 0.79, 0.81, (1.0, None), what="bfq / none")
    pairs += one(0.5, 0.49, 0.51, (1.0, None), what="cfq / none")
    order = claims(CONTRADICTED, place="2", quantity="order", compared=pairs, **IN_WORDS)
    number = measured(CONTRADICTED, "number", 9.0, 8.0, 10.0)
    said = findings([*number, *order])[1]
    parts = ("Contradicted", f"“{IN_WORDS['published']}”", "above 1", "order (bfq / none)")
    assert [part for part in (*parts, "0.800 (0.790 to 0.810)") if part not in said] == []
    tie = one(1.0, 0.999, 1.001, (1.0, None))
    tied = claims(CONTRADICTED, place="2", compared=tie, **IN_WORDS)
    assert ": number: " in findings([*number, *tied])[1]


def test_words_of_the_document_are_quoted_only_where_the_finding_stays_short():
    quantity = "the time with one scheduler divided by that with another, a tree of small files"
    words = "one scheduler is faster than another in each of the tests that we have made here"
    more = {**IN_WORDS, "compared": one(2.0, 1.9, 2.1)}
    assert "“noop is never behind deadline”" in findings(claims(REPRODUCED, **more))[1]
    said = findings(claims(REPRODUCED, **{**more, "published": words, "quantity": quantity}))[1]
    assert words not in said and len(said.split()) <= MOST_WORDS


def test_a_condition_that_the_title_has_is_not_said_again():
    pair = one(0.5, 0.49, 0.51, (1.0, None), what="Test 1: cfq / none")
    some = claims(CONTRADICTED, **{**IMPLIED, "quantity": "time (Test 1)"}, compared=pair)
    assert ": time (Test 1; cfq / none): " in findings(some)[1]


def test_what_is_compared_as_a_ratio_is_told_as_a_ratio():
    """A trial timed 2.3 s, and not the 87 s that the document's disk would have taken."""
    timed = {**NUMBERS, "measured": 2.284, "unit": "s", "relative_to": "another size"}
    said = findings(claims(REPRODUCED, **timed, compared=one(2.0, 1.9, 2.1)))[1]
    assert "relative to another size: " in said and "2.00 (1.90 to 2.10) here" in said
    assert "2.284" not in said and " s " not in said


def test_the_clearest_of_several_conditions_is_told():
    first, clearer = (one(2.0, 1.9, 2.1)[0], one(3.0, 2.9, 3.1)[0])
    several = (first, clearer.model_copy(update={"what": "direct I/O"}))
    timed = {**NUMBERS, "measured": 2.284, "relative_to": "another size", "compared": several}
    said = findings(claims(REPRODUCED, **timed))[1]
    assert "direct I/O" in said and "3.00 (2.90 to 3.10) here" in said


def test_what_is_implied_in_words_says_so():
    timed = {"measured": 26.9, "unit": "kIOPS", "relative_to": "noop"}
    some = claims(REPRODUCED, published="implied: peaks", **timed, compared=one(2.0, 1.9, 2.1))
    assert "implied by the document" in findings(some)[1]


def test_a_claim_is_no_finding_where_another_on_the_same_measurement_fares_worse():
    cell = {"cell": "the same trials"}
    good = [one.model_copy(update=cell) for one in measured(REPRODUCED, "good", 2.0, 1.9, 2.1)]
    bad = [one.model_copy(update=cell) for one in measured(CONTRADICTED, "bad", 9.0, 8.9, 9.1)]
    (bad_one,) = findings([*good, *bad])[1:]
    assert bad_one.startswith("Contradicted: bad: ")


def test_a_sentence_without_an_interval_is_quoted_with_what_was_found():
    said = findings(claims(REPRODUCED, quantity="who is behind", compared=(), **IN_WORDS))[1]
    parts = ("who is behind", "“noop is never behind deadline”", "0 of 3 faster")
    assert [part for part in parts if part not in said] == []


def test_the_first_sentence_counts_what_was_measured_by_verdict():
    document = claims(CONTRADICTED, REPRODUCED, **DOCUMENT)
    some = claims(REPRODUCED, CONTRADICTED, Verdict.UNDECIDED, Verdict.UNDECIDED, NOT_TESTABLE)
    said = findings([*document, *some])[0]
    assert re.findall(r"\d+", said) == ["5", "1", "1", "2", "1"]


def test_claims_that_share_a_datum_are_counted_once_beside_all():
    some = [one.model_copy(update={"datum": "d"}) for one in claims(REPRODUCED, REPRODUCED)]
    said = findings([*some, *claims(CONTRADICTED, place="2")])[0]
    assert "2 are reproduced (1 independent)" in said


def test_the_run_that_decides_most_speaks():
    two = [*claims(REPRODUCED), *claims(REPRODUCED, REPRODUCED, preset="full")]
    assert "the preset full (one of 2 runs), 2 are reproduced" in findings(two)[0]


def test_a_document_fails_by_the_number_that_is_furthest_off():
    near = {"published": 10.0, "measured": 11.0, "unit": "%", "quantity": "near"}
    far = {**near, "measured": 20.0, "quantity": "far", "place": "2"}
    both = [*claims(CONTRADICTED, **near, **DOCUMENT), *claims(CONTRADICTED, **far, **DOCUMENT)]
    (said,) = findings(both)
    assert "fails 2 of 2 checks" in said and said.endswith("10 % for far; computed: 20 %.")
    in_words = claims(CONTRADICTED, CONTRADICTED, published="a", measured="b", **DOCUMENT)
    assert "most often in Table 1 (2 of 2)" in findings(in_words)[0]


@pytest.mark.parametrize("decided", [[], [REPRODUCED]])
def test_the_most_frequent_reason_of_what_is_not_testable_is_given(decided):
    others = claims(NOT_TESTABLE, NOT_TESTABLE, *decided)
    for place in "234":
        others += claims(NOT_TESTABLE, place=place, ground=f"Another, {place}.")
    said = findings(others)
    assert said[0].endswith(" 5 cannot be tested here.")
    assert said[1] == "2 of the 5 that cannot be tested have one reason: “So it is”."


def test_a_reason_gives_way_to_what_was_found():
    more = {**NUMBERS, "compared": one(2.0, 1.9, 2.1)}
    some = [
        *claims(*Verdict, *[NOT_TESTABLE] * 3, **more),
        *claims(*Verdict, **NUMBERS, **DOCUMENT),
    ]
    said = findings(some)
    assert len(said) == 5 and not any("one reason" in one for one in said)


def test_a_document_without_errors_passes_and_nothing_measured_is_no_finding():
    passes = findings(claims(REPRODUCED, **DOCUMENT))
    nothing = findings(claims(NOT_TESTABLE, NOT_TESTABLE, **NOWHERE))
    assert re.findall(r"\d+", *passes) == ["1"] and re.findall(r"\d+", *nothing) == ["2"]
    fails = claims(CONTRADICTED, REPRODUCED, **NUMBERS, **DOCUMENT)
    said = findings([*fails, *claims(NOT_TESTABLE, place="2", **NOWHERE)])
    assert len(said) == 2 and "fails 1 of 2 checks" in said[0] and "1 claim." in said[1]
    assert findings([]) == []


def test_the_headline_has_both_values_and_the_verdict_of_its_claim_alone():
    other = claims(CONTRADICTED, place="Table 9", **NUMBERS)
    (line,) = headlines([*measured(REPRODUCED, "a time", 2.0, 1.9, 2.1), *other], "a time/0")
    assert "20 s" in line and line.endswith(REPRODUCED) and "\n" not in line
    assert headlines(other, "a time/0") == []


def test_the_clearest_claim_is_a_decided_prediction_with_the_largest_effect():
    weak, strong, beyond = (
        measured(REPRODUCED, name, value, 0.9 * value, 1.1 * value, role=role)
        for name, value, role in (
            ("weak", 2.0, Role.PREDICTION),
            ("strong", 4.0, Role.PREDICTION),
            ("beyond", 9.0, Role.BEYOND),
        )
    )
    undecided = measured(Verdict.UNDECIDED, "undecided", 9.0, 8.0, 10.0)
    assert clearest([*weak, *strong, *beyond, *undecided]) == strong[0]
    turned = {strong[0].id}  # another machine decides otherwise
    assert clearest([*weak, *strong], turned) == weak[0]
    assert clearest([*beyond, *undecided, *claims(REPRODUCED, **DOCUMENT)]) is None
    assert clearest([*weak, *strong], verdict=CONTRADICTED) is None


def test_the_clearest_claim_has_the_verdict_of_its_datum():
    good, bad = (
        one.model_copy(update={"cell": "the same trials"})
        for one in (
            *measured(REPRODUCED, "good", 9.0, 8.9, 9.1),
            *measured(CONTRADICTED, "bad", 2.0, 1.9, 2.1),
        )
    )
    assert clearest([good, bad]) == bad


@pytest.mark.parametrize("study", [study.NAME for study in ours()])
def test_every_document_has_a_claim_that_stands_for_it(study):
    named = families.headline(study)
    (claim,) = [one for one in families.statements(study) if one.claim["id"] == named]
    # Of a scheduler that the kernel no longer has, only a reimplementation can be measured.
    assert claim.role in (Role.PREDICTION, Role.BEYOND)
