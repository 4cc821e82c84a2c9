"""What the studies share: what each keeps to, cells and lines of tables, the frame of a trial."""

import numpy as np
import pandas as pd
import pytest

from elevatorlab import studies
from elevatorlab.errors import ElevatorLabError
from elevatorlab.judging.claim import Role
from elevatorlab.judging.families import statements
from elevatorlab.judging.verdicts import Judgement, Verdict, not_testable, reproduced_if, widened
from elevatorlab.plugins.studies import ours
from elevatorlab.records import checked
from elevatorlab.results import store
from elevatorlab.studies.kit.cells import by_repetition, once_a_table, paired_ratio, rows_of
from elevatorlab.studies.kit.choices import Choice, whichever
from elevatorlab.studies.kit.reimplemented import REIMPLEMENTED
from elevatorlab.studies.kit.tables import cells
from elevatorlab.studies.kit.trials import DiskParameters, on_arm, trial
from elevatorlab.trial import Scheduler, TimedReads, parse, profile

TABLE = pd.DataFrame(
    {
        "scheduler": ["none", "none", "bfq", "bfq"],
        "size": pd.array([1, None, 1, 2], dtype="Int64"),
        "repetition": [1, 2, 1, 2],
        "time_s": [2.0, 4.0, 1.0, 2.0],
    }
)
LEAST = {"schedulers": ("bfq",), "device_mib": 64, "deadline_s": 9, "repetitions": 2}


EACH_PRESET = [
    pytest.param(study, preset, id=f"{study.NAME}-{preset}")
    for study in ours()
    for preset in study.PRESETS
]


@pytest.mark.parametrize(("study", "preset"), EACH_PRESET)
def test_every_trial_is_different_and_survives_its_json(study, preset):
    trials = study.trials(studies.parameters(study, preset))
    assert len({trial.hash for trial in trials}) == len(trials)
    assert all(parse(trial.model_dump(mode="json")) == trial for trial in trials)


@pytest.mark.parametrize("study", ours(), ids=lambda study: study.NAME)
def test_a_table_without_a_column_is_refused(study, error_of):
    lacking = store.load(study.NAME, "published").drop(columns="repetition")
    assert "found none named repetition." in error_of(study.judge, lacking)


def test_rows_have_all_the_given_values_and_a_missing_value_is_none_of_them():
    assert rows_of(TABLE, size=1).index.tolist() == [0, 2]
    assert rows_of(TABLE, scheduler="none", size=1).index.tolist() == [0]
    assert len(rows_of(TABLE)) == 4
    assert rows_of(TABLE, scheduler="kyber").empty


@pytest.mark.parametrize("study", ["iozone_ranking", "innodb_commit"])
def test_no_prediction_rests_on_a_scheduler_that_only_stands_for_the_one_of_the_document(study):
    predictions = [one for one in statements(study) if one.role == Role.PREDICTION]
    assert predictions
    assert not [one for one in predictions if set(named(one.select)) & set(REIMPLEMENTED)]


def named(value):
    """Yield the texts in what a claim selects, as deep as they lie."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from named(one)
    elif isinstance(value, str):
        yield value


def test_a_ratio_pairs_repetitions():
    none, bfq = (by_repetition(TABLE, "time_s", scheduler=name) for name in ("none", "bfq"))
    assert paired_ratio(none, bfq).value == pytest.approx(2)
    assert paired_ratio(none[none.index == 1], bfq[bfq.index == 2]) is None


def test_cells_come_in_order_under_their_names_and_none_is_left_out():
    found = [(cell, len(rows)) for cell, rows in cells(TABLE, {"size": "MiB"})]
    assert found[:2] == [({"MiB": 1}, 2), ({"MiB": 2}, 1)]
    assert pd.isna(found[2][0]["MiB"])
    assert list(cells(TABLE[:0], ["scheduler", "size"])) == []


def test_the_frame_of_a_trial_is_from_the_parameters():
    parameters = checked(DiskParameters, LEAST, "parameters")
    made = trial(
        parameters,
        "iozone_ranking",
        2,
        **on_arm("vm"),
        device=profile("sata_ssd", 64),
        scheduler=Scheduler(name="bfq"),
        workloads=(TimedReads(name="reader", group="main", sizes_mib=(1,), cache="warm"),),
    )
    assert (made.study, made.preset, made.deadline_s) == ("iozone_ranking", "quick", 9)
    assert (made.seed, made.repetition, made.machine) == (2, 2, "virtual_machine")
    assert parameters.model_copy(update={"first_seed": 5}).seed(2) == 6
    assert list(parameters.each_repetition) == [1, 2]
    assert parameters.each_backing_scheduler == (None,)


def test_a_container_is_isolated_and_the_others_are_not():
    isolations = {arm: on_arm(arm)["groups"][0].isolation for arm in ("host", "vm", "container")}
    assert isolations == {"host": "process", "vm": "process", "container": "container"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("device", "/dev/sda", "parameters: device: String should match"),
        ("repetitions", 0, "parameters: repetitions: Input should be greater than 0"),
        ("backing_schedulers", ("warp",), "backing_schedulers.0: Input should be 'none', "),
        ("disk", "nvme", "parameters: disk: no such parameter"),
    ],
)
def test_a_wrong_choice_is_named(name, value, said):
    with pytest.raises(ElevatorLabError) as problem:
        checked(DiskParameters, {**LEAST, name: value}, "parameters")
    assert said in str(problem.value)


def test_what_holds_is_reproduced_and_a_tolerance_is_a_share_of_each_end():
    assert [reproduced_if(np.bool_(holds)) for holds in (True, False)] == [
        Verdict.REPRODUCED,
        Verdict.CONTRADICTED,
    ]
    assert widened((2, 4), 0.5) == (1, 6)


def test_what_is_made_of_a_table_is_made_once_and_goes_with_it():
    made = []

    @once_a_table
    def length(table):
        made.append(len(table))
        return len(table)

    one, other = pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2, 3]})
    assert [length(table) for table in (one, other, one, other)] == [2, 3, 2, 3] and made == [2, 3]
    for size in range(20):  # one of these gets the place in memory of another
        assert length(pd.DataFrame({"a": range(size)})) == size


R, D, C, U = Verdict.REPRODUCED, Verdict.DIRECTION_ONLY, Verdict.CONTRADICTED, Verdict.UNDECIDED
CACHE = Choice("The article does not name the state of the cache", "state")


@pytest.mark.parametrize(
    ("found", "possible", "verdict"),
    [
        ([R, R], 2, R),
        ([D, D], 2, D),
        ([C, C], 2, C),
        ([D, C], 2, Verdict.NOT_TESTABLE),  # the direction depends on what the article leaves open
        ([R, D], 2, Verdict.NOT_TESTABLE),
        ([R, U], 2, U),
        ([C, C], 3, Verdict.NOT_TESTABLE),  # a state that was not measured may explain it
        ([R, R], 3, Verdict.NOT_TESTABLE),  # or be the one that the article had, and show otherwise
    ],
)
def test_two_choices_that_decide_differently_decide_nothing(found, possible, verdict):
    judged = {f"state {n}": Judgement(one, 1.0, "") for n, one in enumerate(found)}
    assert whichever(judged, CACHE, possible).verdict == verdict


def test_who_reads_a_verdict_learns_why_a_possibility_was_not_judged():
    judged = {
        "state 1": Judgement(Verdict.REPRODUCED, 1.0, "It holds."),
        "state 2": not_testable("The device was idle."),
    }
    one_state = whichever(judged, CACHE, 2)
    assert one_state.measured is None and "The device was idle." in one_state.reason
    judged["state 1"] = not_testable("Not run here.")
    none = whichever(judged, CACHE, 2)
    assert "The device was idle." in none.reason and "Not run here." in none.reason
    # What is counted is neither: one state alone is no reason.
    assert none.ground not in [one.ground for one in judged.values()]
    judged["state 1"] = judged["state 2"]
    assert whichever(judged, CACHE, 2) == judged["state 2"]
