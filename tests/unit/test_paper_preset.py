"""The preset paper: every published point that one processor can measure, 8 times."""

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
#: What repetitions of a cell differ in.
SEEDS = {"seed": ..., "repetition": ..., "device": {"seed"}}


@pytest.mark.parametrize("study", studies.ours(), ids=lambda study: study.NAME)
def test_every_cell_is_repeated(study):
    made = preset_trials(study, "paper")
    assert len({trial.hash for trial in made}) == len(made)
    cells = Counter(trial.model_dump_json(exclude=SEEDS) for trial in made)
    assert set(cells.values()) == {REPETITIONS}


def test_study_1_reads_what_the_article_read_and_contrasts_in_small():
    sizes = {}
    for trial in preset_trials(vm_vs_container, "paper"):
        if trial.labels["test"] == "writes_starving_reads":
            key = trial.labels["variant"], trial.labels["scale"]
            sizes.setdefault(key, set()).add(trial.workloads[1].sizes_mib)
    assert {key: len(some) for key, some in sizes.items()} == dict.fromkeys(sizes, 1)
    (published,) = sizes.pop(("as_published", "1"))
    assert published == tuple(range(10, 101, 10))
    assert {scale for _, scale in sizes} == {"0.1"} and len(sizes) == 4
    assert {some.pop()[-1] for some in sizes.values()} == {10}


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
    assert len(on_them) == REPETITIONS * len(found.drive_schedulers)


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
