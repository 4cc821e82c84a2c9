"""Each finding of a study is one sentence, whatever it is about."""

import re

import pytest

from elevatorlab.judging.claim import PUBLISHED_DATA, UNMEASURED, Role, Source
from elevatorlab.judging.claims import Verdict
from elevatorlab.judging.comparison import Comparison
from elevatorlab.judging.conclusions import MOST_WORDS, findings
from synthetic import judged

CLAIM = judged("host", "container")[0]
RANGE = Comparison(value=2.0, low=1.9, high=2.1, published=(3, 3), allowed=(3, 3), neutral=1.0)
IN_WORDS = {"published": "noop is never behind deadline", "measured": "0 of 3 faster"}
IMPLIED = {"published": "implied: more", "measured": "0 of 3 faster"}
NUMBERS = {"published": 3.0, "measured": 2.0}


def claim(verdict, name, **more):
    given = {"testbed": "deterministic", "machine": "deterministic", "preset": "quick"}
    given |= {
        "id": name,
        "datum": name,
        "cell": "",
        "verdict": verdict,
        "quantity": "a time",
        "unit": "s",
    }
    given |= {"source": Source(document="It", place="Table 1", row=""), "role": Role.PREDICTION}
    return CLAIM.model_copy(
        update={**given, "reason": "So it is. And more.", "ground": "So it is.", **more}
    )


def run(more):
    """Return claims of one run with every verdict; three cannot be tested for one reason."""
    lacking = [claim(Verdict.NOT_TESTABLE, f"lacking {number}") for number in range(3)]
    return [claim(verdict, str(verdict), **more) for verdict in Verdict] + lacking


def document(more):
    where = {"testbed": PUBLISHED_DATA, "machine": "", "preset": "", "role": Role.ARITHMETIC}
    verdicts = (Verdict.CONTRADICTED, Verdict.REPRODUCED)
    return [claim(verdict, f"of it, {verdict}", **more, **where) for verdict in verdicts]


def is_one_sentence(text):
    """Tell whether a text has one full stop, apart from what it quotes."""
    own = re.sub("“.*?”", "", text)
    return own.endswith(".") and not re.search(r"[.?!]\s", own)


@pytest.mark.parametrize("values", [IN_WORDS, IMPLIED, NUMBERS], ids=["words", "implied", "number"])
@pytest.mark.parametrize("compared", [(), (RANGE,)], ids=["without interval", "with interval"])
def test_every_finding_is_one_sentence_and_five_are_the_most(values, compared):
    more = {**values, "compared": compared}
    said = findings([*run(more), *document(values)])
    assert len(said) == 5
    assert [text for text in said if not is_one_sentence(text)] == []


def test_what_is_not_decided_is_in_the_sentence_that_counts():
    assert findings(run(NUMBERS))[:2] == [
        "Of 10 predictions, 1 is reproduced, 1 is contradicted, 1 holds in direction only, "
        "1 is undecided, and 4 cannot be tested here.",
        "All 4 that cannot be tested have one reason: “So it is”.",
    ]


def test_a_reason_gives_way_to_what_was_found():
    some = [*run({**NUMBERS, "compared": (RANGE,)}), *document(NUMBERS)]
    said = findings(some)
    assert len(said) == 5 and not any("one reason" in one for one in said)


def test_a_document_and_nothing_measured_are_a_sentence_each():
    where = {"testbed": UNMEASURED, "machine": "", "preset": ""}
    some = [*document(NUMBERS), claim(Verdict.NOT_TESTABLE, "none", **where)]
    assert findings(some) == [
        "The document fails 1 of 2 checks of its own numbers: it gives 3 s for a time; "
        "computed: 2 s.",
        "Nothing was measured that could decide 1 claim.",
    ]


def test_words_of_the_document_are_quoted_only_where_the_finding_stays_short():
    quantity = "the time with one scheduler divided by that with another, a tree of small files"
    words = "one scheduler is faster than another in each of the tests that we have made here"
    short = claim(Verdict.REPRODUCED, "short", **IN_WORDS, compared=(RANGE,))
    long = short.model_copy(update={"published": words, "quantity": quantity})
    quoting = "Reproduced: “noop is never behind deadline” implies 3 for a time; "
    assert findings([short])[1].startswith(quoting)
    said = findings([long])[1]
    assert said.startswith(f"Reproduced: the document implies 3 for {quantity}; measured: ")
    assert len(said.split()) <= MOST_WORDS


def test_a_value_that_is_compared_as_a_ratio_stands_beside_its_ratio():
    """A trial timed 2.3 s, and not the 87 s that the document's disk would have taken."""
    timed = {**NUMBERS, "measured": 2.284, "relative_to": "another size"}
    some = [claim(Verdict.REPRODUCED, "1", **timed, compared=(RANGE,))]
    assert "2.284 s, as a ratio 2.00 (1.90 to 2.10)" in findings(some)[1]
    assert "3 s, as a ratio " in findings(some)[1]
