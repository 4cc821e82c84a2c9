"""The stored reference of an earlier testbed, with virtual machines inside."""

import json
from collections import Counter

import pytest

from elevatorlab import cache
from elevatorlab.judging import claims, verdict_cache
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.plugins import studies
from elevatorlab.results import references, store, tidying
from elevatorlab.results.references import ResultSource
from elevatorlab.running import provenance
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.tables import (
    MORE_INSTRUCTIONS,
    exit_tables,
    pairs_table,
    with_exits_longer,
)
from synthetic import NESTED, nested_trials, write_nested_results, write_results

STUDY = "vm_vs_container"


FEW = {"repetitions": 2, "schedulers": ["none", "bfq"], "guest_below": ["none", "bfq"]}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Return a folder of results of that testbed; another testbed's are the default reference."""
    monkeypatch.setattr(cache, "ROOT", tmp_path / "cache")
    monkeypatch.setattr(references, "FOLDER", tmp_path / "reference")
    monkeypatch.setattr(studies, "ours", lambda: [vm_vs_container])
    write_results(tmp_path / "default", arms=("host",), repetitions=1, preset="quick")
    references.write(tmp_path / "default", vm_vs_container)
    write_nested_results(tmp_path / "results", nested_trials(**FEW))
    return tmp_path / "results"


def store_it(measured):
    references.write(measured, vm_vs_container, "quick", "nested")
    file = references.folder("quick", "nested") / "provenance.json"
    parameters = {STUDY: {**FEW, "guest": True}}
    file.write_text(json.dumps({**json.loads(file.read_text()), "parameters": parameters}))


def test_both_are_loaded_and_each_has_its_origin(measured):
    store_it(measured)
    table = store.load(STUDY)
    assert set(table["testbed"]) == {"host", "nested"}
    assert set(table[table["testbed"] == "nested"]["image_digest"]) == {NESTED}
    (found,) = (one for one in provenance.of([ResultSource.of(STUDY)]) if one.testbed == "nested")
    assert found.image_digest == NESTED and all(found.trials.values())
    assert found.command == ""  # its testbed is gone


def test_published_data_and_folders_have_nothing_of_it(measured):
    store_it(measured)
    assert ResultSource.of(STUDY).presets["nested"] == "quick"
    for results in ("published", "reference/paper", measured):
        assert "nested" not in ResultSource.of(STUDY, results).presets


def test_without_a_request_there_are_no_exits_a_request(measured):
    table = tidying.tidy(measured, vm_vs_container)
    (_, costs_of), _ = exit_tables(table.assign(requests=0))
    assert set(costs_of["exits per request"]) == {"–"}
    assert set(costs_of["added per exit"]) == {"–"}


def test_exits_lengthen_the_virtual_machine_alone(measured):
    table = tidying.tidy(measured, vm_vs_container)
    longer = with_exits_longer(table, 1_000_000)  # 400 exits of 1 ms in 1 s
    ratio = longer["time_s"] / table["time_s"]
    guest = table["arm"] == "vm"
    assert ratio[guest].round(9).eq(1.4).all() and ratio[~guest].eq(1).all()


def test_without_exits_there_is_no_table(measured):
    table = tidying.tidy(measured, vm_vs_container)
    assert exit_tables(table[table["arm"] != "vm"]) == []


def test_damaged_counts_of_exits_are_named(measured, error_of):
    file = next(measured.glob("nested/*/raw/main.exits.json"))
    file.write_text('{"halt_exits": 1}')
    said = error_of(tidying.tidy, measured, vm_vs_container)
    assert f"main.exits.json of trial {file.parents[1].name}: expected counts of exits" in said


def test_its_claims_are_judged_beside_the_default_ones(measured):
    default = verdict_cache.judge(STUDY).claims
    assert {one.testbed for one in default} == {"host", claims.PUBLISHED_DATA}
    store_it(measured)
    judged = verdict_cache.judge(STUDY, "reference/quick").claims
    places = Counter(one.where for one in judged)
    nested = "nested, quick, machine 5d5d5d5d"
    assert places[nested] == places["host, quick, machine 01234567"] > 0
    missing = {one.id for one in judged if one.reason.startswith("No VM was measured")}
    assert missing
    of_nested = {one.id: one for one in judged if one.where == nested}
    assert not any(of_nested[name].reason.startswith("No VM was measured") for name in missing)
    verdicts = {of_nested[name].verdict for name in missing}
    assert verdicts - {Verdict.NOT_TESTABLE}
    assert (
        "Measured on the testbed nested with the preset quick (machine 5d5d5d5d)"
        in claims.overview(judged)
    )


def test_its_tables_say_who_should_schedule_and_what_exits_cost(measured):
    table = tidying.tidy(measured, vm_vs_container)
    guests = table[table["arm"] == "vm"]
    assert set(guests["exits"]) == {400} and table[table["arm"] != "vm"]["exits"].isna().all()
    ((_, pairs),) = pairs_table(table)
    bfq = pairs[pairs["scheduler"] == "bfq"].iloc[0]
    assert bfq["guest alone"].startswith("1.2") and bfq["host alone"].startswith("1.5")
    assert bfq["both"].startswith("1.8") and bfq["better in"] == "guest"
    (_, costs_of), (_, hangs) = exit_tables(table)
    # 400 exits, 10 requests and half a second of work a trial.
    assert set(costs_of["exits per request"]) == {"40.0"}
    assert set(costs_of["instructions per exit"]) == {"1,250,000"}
    direct = costs_of["variant"] == "direct"
    assert set(costs_of[direct]["added per exit"]) == {"0"}
    assert set(costs_of[~direct]["added per exit"]) == {"–"}
    assert list(hangs["additional instructions per exit"]) == list(MORE_INSTRUCTIONS)
    measured_here = [one for one in vm_vs_container.judge(table) if one.testbed == "nested"]
    judged = [one for one in measured_here if one.verdict != Verdict.NOT_TESTABLE]
    assert set(hangs["claims judged"]) == {len(judged)}
