"""The preset paper: every published point, 8 times where that takes one processor, else less."""

from collections import Counter

import pytest

from elevatorlab.plugins import studies
from elevatorlab.running.expansion import parameters
from elevatorlab.running.provenance import preset_trials
from elevatorlab.studies import stream_batching, vm_vs_container
from elevatorlab.studies.innodb_commit.trials import CACHED_DRIVE
from elevatorlab.studies.stream_batching.published import (
    read_ratio,
    request_size,
    single_core_latency,
)

REPETITIONS = 8
#: Of study 4, on four processors: each way of their turns, two of the four ways twice.
REPETITIONS_OF_STUDY_4 = 6
#: Of several processors a side, each of which takes time.
REPETITIONS_OF_CORES = 3
#: What repetitions of a cell differ in.
SEEDS = {"seed": ..., "repetition": ..., "rounds": ..., "device": {"seed"}}


@pytest.mark.parametrize("study", studies.ours(), ids=lambda study: study.NAME)
def test_every_cell_is_repeated(study):
    often = {}
    for trial in preset_trials(study, "paper"):
        if not crossed(trial):
            cell = trial.model_dump_json(exclude=SEEDS)
            often.setdefault("cores" in trial.labels, Counter())[cell] += 1
    assert {apart: set(cells.values()) for apart, cells in often.items()} == {
        False: {REPETITIONS_OF_STUDY_4 if study.NUMBER == 4 else REPETITIONS},
        **({True: {REPETITIONS_OF_CORES}} if study is stream_batching else {}),
    }


def crossed(trial):
    """Tell whether a scheduler of a virtual machine stands above one of its host."""
    return trial.labels.get("arm") == "vm" and trial.scheduler.name != "none"


def test_study_1_reads_the_articles_sizes_in_every_state_of_the_cache():
    sizes = {}
    for trial in preset_trials(vm_vs_container, "paper"):
        if trial.labels["test"] == "writes_starving_reads":
            sizes.setdefault(trial.labels["variant"], set()).add(trial.workloads[1].sizes_mib)
    assert len(sizes) == 5
    assert set.union(*sizes.values()) == {tuple(range(10, 101, 10))}


def test_study_1_combines_16_pairs_of_schedulers_three_times():
    of_test = Counter(
        (
            trial.labels["test"],
            trial.groups[0].virtual_machine.scheduler.name,
            trial.scheduler.name,
        )
        for trial in preset_trials(vm_vs_container, "paper")
        if crossed(trial)
    )
    assert len(of_test) == 2 * 4 * 3 and set(of_test.values()) == {3}


def test_study_2_has_as_many_requests_a_file_as_the_article():
    found = parameters(studies.get("iozone_ranking"), "paper")
    assert found.size_mib * 1024 / found.record_kib == 1024 / 8


def test_study_4_has_the_drives_with_the_controllers_cache():
    study = studies.get("innodb_commit")
    found = parameters(study, "paper")
    on_them = [
        trial
        for trial in preset_trials(study, "paper")
        if getattr(trial.device, "profile", None) == CACHED_DRIVE
    ]
    assert len(on_them) == REPETITIONS_OF_STUDY_4 * len(found.drive_schedulers)


def test_study_5_has_every_published_point_of_one_core():
    published = {("iodepth", depth) for depth in single_core_latency()["io_depth"]}
    published |= {("rwmixread", percent) for percent in read_ratio()["read_percent"]}
    published |= {("bs", f"{size}k") for size in request_size()["request_kb"]}
    measured = {
        point
        for trial in preset_trials(stream_batching, "paper")
        if trial.labels["target"] == "ram" and trial.labels["driver"] == "stock"
        for points in trial.workloads[0].points
        for point in points.items()
    }
    assert published <= measured
