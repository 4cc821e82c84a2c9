"""Study 5 with host and target on processors of their own: trials, proof, claims."""

import pandas as pd
import pytest

from elevatorlab.judging.verdicts import Verdict
from elevatorlab.studies import stream_batching as study
from stream_batching_cores_support import band, verdicts
from stream_batching_support import as_published, measured


def test_several_cores_are_judged_by_themselves():
    found = verdicts(band())
    four = found["figure-3a/sbq-4-cores/stock/throughput"]
    assert four.verdict == Verdict.REPRODUCED  # 1.56 here, 615 / 400 published
    assert four.reason.startswith("4 cores of the host, as many of the target: Measured: 1.56 ")
    assert found["figure-5a/sbq-100-reads/stock/throughput"].verdict != Verdict.NOT_TESTABLE


def test_noops_own_curve_is_relative_to_one_core():
    found = verdicts(band())
    two = found["figure-3a/noop-2-cores/throughput"]
    assert two.measured == pytest.approx(142 * 58 / 35, rel=1e-3)  # 235; published 236
    assert two.verdict == Verdict.REPRODUCED
    assert found["figure-3a/noop-1-core/throughput"].verdict == Verdict.NOT_TESTABLE


def test_the_verdicts_of_one_core_stay_as_a_contrast():
    """The default machine's are another run's, and the same with and without it."""
    usual = measured(as_published)
    alone = [one for one in study.judge(usual) if one.machine == "deterministic"]
    beside = study.judge(pd.concat([usual, band()]))
    assert [one for one in beside if one.machine == "deterministic"] == alone
