"""The stored reference of the testbed with virtual machines inside, beside the default one's."""

from collections import Counter

from elevatorlab.judging import claims, kept
from elevatorlab.judging.verdicts import Verdict
from elevatorlab.results import tidying
from elevatorlab.results.references import Source
from elevatorlab.studies import vm_vs_container
from elevatorlab.studies.vm_vs_container.tables import exits, pairs_table
from virtual_machine_reference_support import STUDY, measured, store_it  # noqa: F401  (fixtures)


def test_its_claims_are_judged_beside_the_default_ones(measured):
    default = kept.judge(Source.of(STUDY)).claims
    assert {one.testbed for one in default} == {"host", claims.PUBLISHED_DATA}
    store_it(measured)
    judged = kept.judge(Source.of(STUDY, "reference/quick")).claims
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
    (_, costs_of), (_, hangs) = exits.exit_tables(table)
    # 400 exits, 10 requests and half a second of work a trial.
    assert set(costs_of["exits per request"]) == {"40.0"}
    assert set(costs_of["instructions per exit"]) == {"1,250,000"}
    direct = costs_of["variant"] == "direct"
    assert set(costs_of[direct]["added per exit"]) == {"0"}
    assert set(costs_of[~direct]["added per exit"]) == {"–"}
    assert list(hangs["additional instructions per exit"]) == list(exits.MORE_INSTRUCTIONS)
    measured_here = [one for one in vm_vs_container.judge(table) if one.testbed == "nested"]
    judged = [one for one in measured_here if one.verdict != Verdict.NOT_TESTABLE]
    assert set(hangs["claims judged"]) == {len(judged)}
