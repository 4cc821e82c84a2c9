"""Study 3, experiment ``regulation``: the limit that the paper set by hand."""

import pandas as pd
import pytest

from elevatorlab import studies
from elevatorlab.results import store
from elevatorlab.running import campaign
from elevatorlab.studies import container_isolation as study
from helpers import result_of

pytestmark = pytest.mark.image

GIVEN = {
    **{"experiments": ["regulation"], "policies": ["io_max"], "repetitions": 1},
    **{"regulate_from_s": 2, "regulation_s": 4},
}


def test_the_limit_by_hand_holds_the_overload_and_nobody_else(testbed, tmp_path):
    (trial,) = study.trials(studies.parameters(study, "smoke", GIVEN))
    campaign.run([campaign.Share(testbed, [trial])], tmp_path)
    found = result_of(store.folder(tmp_path, testbed) / trial.hash)
    [decision] = found["regulator"]
    assert (decision["container"], decision["limit_bytes_s"]) == ("overloaded-01", 1_000_000)
    assert 2 < decision["time_s"] < 3
    rows = pd.DataFrame(study.rows(trial.model_dump(mode="json"), found))
    rates = rows[rows["time_s"].notna()].pivot(
        index="time_s", columns="subject", values="write_kib_s"
    )
    before, after = rates.loc[:2].mean(), rates.loc[4:].mean()
    assert before["overloaded-01"] > 4000
    assert after.pop("overloaded-01") == pytest.approx(1e6 / 1024, rel=0.1)
    assert (after > 2 * before[after.index]).all()
