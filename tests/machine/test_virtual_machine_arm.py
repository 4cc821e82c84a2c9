"""Study 1's virtual machine inside the deterministic one: its tables, and its exits."""

import pytest

from elevatorlab.judging.verdicts import Verdict
from elevatorlab.results import tidying
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.tables import (
    MORE_INSTRUCTIONS,
    exit_tables,
    pairs_table,
    with_exits_longer,
)
from synthetic import guest_trials, write_guest_results

FEW = {"repetitions": 2, "schedulers": ["none", "bfq"], "guest_below": ["none", "bfq"]}


@pytest.fixture
def measured(tmp_path):
    """Return a folder of results of all three arms."""
    write_guest_results(tmp_path, guest_trials(**FEW))
    return tmp_path


def test_without_a_request_there_are_no_exits_a_request(measured):
    table = tidying.tidy(measured, vm_vs_container)
    (_, costs_of), _ = exit_tables(table.assign(requests=0))
    assert set(costs_of["exits per request"]) == {"–"}


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
    file = next(measured.glob("deterministic/*/raw/main.exits.json"))
    file.write_text('{"halt_exits": 1}')
    said = error_of(tidying.tidy, measured, vm_vs_container)
    assert f"main.exits.json of trial {file.parents[1].name}: expected counts of exits" in said


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
    assert list(hangs["additional instructions per exit"]) == list(MORE_INSTRUCTIONS)
    measured_here = [one for one in vm_vs_container.judge(table) if one.testbed == "deterministic"]
    judged = [one for one in measured_here if one.verdict != Verdict.NOT_TESTABLE]
    assert set(hangs["claims judged"]) == {len(judged)}
