"""One record says what a scheduler is; whatever asks, asks it."""

import ast
import io
import json
import re
import zipfile
from pathlib import Path

import pytest

from elevatorlab.agent.devices import schedulers as of_the_agent
from elevatorlab.agent.groups import hierarchies
from elevatorlab.paths import ENVIRONMENTS, PROJECT
from elevatorlab.plugins import schedulers
from elevatorlab.plugins.scheduler_folders import ZOO, named
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from elevatorlab.testbeds.agent_archive import agent_archive
from elevatorlab.testbeds.deterministic.testbed import DeterministicTestbed
from elevatorlab.testbeds.remote.capabilities import capabilities
from elevatorlab.trial import Scheduler, checked
from machine_facts import facts
from scheduler_copy import adios  # noqa: F401  (fixture)

LIB = PROJECT / "lib/elevatorlab"

#: Where names of schedulers stand beside their records, and which: a lecture is about some of
#: ours, a study has those of its document and cfq's successor, and a template is called like what
#: it teaches. Old kernels have cfq's weights, of which the audit knows. "look" is just a word.
NAMED = {
    "agent/operations/weight_findings.py": {"cfq"},
    "cli/scheduler.py": {"fifo"},
    "elevators/templates/": {"fifo", "look", "sstf"},
    "lectures/": set(SCHEDULERS.names()),
    "studies/container_isolation/": {"bfq", "mq-deadline"},
    "studies/innodb_commit/": {"anticipatory", "bfq", "cfq", "mq-deadline"},
    "studies/iozone_ranking/": {"bfq", "cfq", "look", "mq-deadline"},
    "studies/kit/": {"anticipatory", "bfq", "cfq"},
    "studies/stream_batching/": {"look", "sbq"},
    "studies/vm_vs_container/": {"bfq", "kyber", "mq-deadline"},
}


def named_in(file):
    """Return the schedulers that a file names: in quotes, or as a part of a longer name.

    In the commands of a shell, where a word needs no quotes, as a word.
    """
    text = file.read_text()
    names = "|".join(re.escape(name) for name in SCHEDULERS.names() if name != "none")
    if file.suffix not in {".py", ".c", ".h"}:
        return set(re.findall(rf"\b({names})\b", re.sub(r"(^|\s)#.*", "", text, flags=re.M)))
    pattern = re.compile(rf"[\"'`]({names})[\"'`]|_({names})|({names})-")
    return {"".join(groups) for groups in pattern.findall(text)}


#: Where the code decides something by the word "none": in studies, a document's own noop. Elsewhere
#: it is the machine's kind, a group without an SLA, or the title of a lecture's panel.
NONE_DECIDES = (
    *("agent/operations/classes.py", "lectures/elevator.py", "testbeds/remote/capabilities.py"),
    *("testbeds/remote/real_testbed.py", "studies/"),
)


def decides_by_none(source):
    """Tell whether code compares something with "none", which also names a scheduler."""
    compared = (
        part
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        for part in (getattr(side, "elts", None) or [side])
    )
    return any(isinstance(part, ast.Constant) and part.value == "none" for part in compared)


@pytest.mark.parametrize(
    "source", ['x == "none"', '"none" != x', 'x in ("none", "y")', '{} if x == "none" else 1']
)
def test_a_decision_by_none_is_found(source):
    assert decides_by_none(source) and not decides_by_none(source.replace("none", "other"))
    assert not decides_by_none('select("none")')


def test_no_code_knows_what_none_can_do():
    deciding = {
        str(file.relative_to(LIB))
        for file in LIB.rglob("*.py")
        if decides_by_none(file.read_text())
    }
    assert {place for place in deciding if not place.startswith(NONE_DECIDES)} == set()
    stress = [file for file in STRESS if file.suffix == ".py" and decides_by_none(file.read_text())]
    assert not stress


def test_whoever_has_a_module_or_tunables_holds_requests():
    assert [one.name for one in SCHEDULERS.values() if not one.holds_requests] == ["none"]
    assert SchedulerRecord("own", module="own-iosched", tunables=None).holds_requests
    assert SchedulerRecord("built_in").holds_requests
    assert schedulers.room_for("none", 64) == {}
    assert schedulers.room_for("bfq", 64) == {"nr_requests": 64}


def test_a_scheduler_is_named_in_its_record_alone():
    for file in sorted(LIB.rglob("*.py")):
        place = str(file.relative_to(LIB))
        may = [names for where, names in NAMED.items() if place.startswith(where)]
        assert named_in(file) <= set().union(*may), place


#: The stress tests of any scheduler, and their bench.
STRESS = sorted((ENVIRONMENTS / "kernel/test").glob("*.py"))

#: Programs of ours that make machines, and `STRESS`. Of kernel/, the rest is left out: there the
#: schedulers themselves are.
PROGRAMS = STRESS + [
    file
    for file in sorted(ENVIRONMENTS.rglob("*"))
    if (file.suffix in {".py", ".sh", ".c", ".h"} or file.name == "init")
    and file.relative_to(ENVIRONMENTS).parts[0] != "kernel"
]

#: Some stress tests ask for what only SBQ has; one constant names it.
SUBJECT = {"kernel/test/rig.py": {"sbq"}}


def test_a_word_of_a_shell_is_found_and_no_word_of_a_comment(tmp_path):
    file = tmp_path / "some.sh"
    file.write_text("# look around\nmodprobe kyber-iosched # or sstf\nset bfq\n")
    assert named_in(file) == {"bfq", "kyber"}


def test_what_makes_machines_names_no_scheduler():
    found = {str(file.relative_to(ENVIRONMENTS)): named_in(file) for file in PROGRAMS}
    assert {"deterministic/init", "module-root/compile.py", "test-real.sh"} <= found.keys()
    assert {file: names for file, names in found.items() if names} == SUBJECT


def test_the_agent_has_the_records_without_their_looks():
    with zipfile.ZipFile(io.BytesIO(agent_archive())) as archive:
        shipped = json.loads(archive.read("agent/devices/schedulers.json"))
    assert list(shipped) == [record.name for record in schedulers.OURS.values()]
    assert {name for told in shipped.values() for name in told} == set(schedulers.AGENT_FIELDS)
    for name, told in shipped.items():
        assert told == {key: of_the_agent.RECORDS[name][key] for key in schedulers.AGENT_FIELDS}


def test_every_record_has_a_look_of_its_own():
    records = SCHEDULERS.values()
    for look in ("label", "colour", "marker", "signature"):
        values = [getattr(record, look) for record in records]
        assert len(set(values)) == len(values), look


def test_a_scheduler_that_nobody_registered_can_be_shown():
    look = (*map(schedulers.colour_of, ("x", "x")), schedulers.marker_of("x"))
    assert look[0] == look[1] and re.fullmatch("#[0-9A-F]{6}", look[0]) and look[2]
    assert schedulers.label_of("x") == "x"
    assert look[0] not in {record.colour for record in SCHEDULERS.values()}


def looks(*names):
    return [(schedulers.colour_of(one), schedulers.marker_of(one)) for one in names]


def test_two_schedulers_without_a_look_do_not_look_alike():
    """Nor like one of ours; their names, which once chose, choose the same of six here."""
    names = ("a", "c")
    assert schedulers.colour_of("a") == schedulers.colour_of("c")
    try:
        for name in names:
            SCHEDULERS.register(name, SchedulerRecord(name))
        (first, second), ours = looks(*names), looks(*schedulers.OURS, *ZOO)
        for at in (0, 1):
            assert len({one[at] for one in (first, second, *ours)}) == 2 + len(ours)
        SCHEDULERS.register("a", SchedulerRecord("a", remedy="mend it"), anew=True)
        assert looks(*names) == [first, second]
        taken = SchedulerRecord("c", colour=first[0])
        SCHEDULERS.register("c", taken, anew=True)
        assert schedulers.colour_of("a") == second[0] and schedulers.colour_of("c") == first[0]
    finally:
        for name in names:
            SCHEDULERS.unregister(name)


def scheduler_findings(**changed):
    found = capabilities("host", {**facts(), **changed})
    return {one.what: one for one in found if one.what.startswith("scheduler ")}


def test_doctor_and_trial_know_the_same_schedulers(adios):
    known = {f"scheduler {name}" for name in SCHEDULERS.names()}
    deterministic = {
        one.what: one
        for one in DeterministicTestbed(say=None).findings()
        if one.what.startswith("scheduler ")
    }
    assert set(scheduler_findings()) == set(deterministic) == known
    for what in known:
        assert checked(Scheduler, {"name": what.split()[1]}, "x").name == what.split()[1]
    assert not deterministic["scheduler adios"].ready
    assert deterministic["scheduler adios"].found == "not in the image"


@pytest.mark.parametrize(
    "offered, modules, ready",
    [(["adios"], {}, True), ([], {"adios-iosched": True}, True), ([], {}, False)],
)
def test_a_scheduler_is_offered_by_the_kernel_or_by_its_module(adios, offered, modules, ready):
    modules = {**facts()["modules"], **modules}
    found = scheduler_findings(schedulers=offered, modules=modules)["scheduler adios"]
    assert found.ready == ready
    assert ready or found.remedy.startswith("install it with DKMS, or leave it out")


def test_the_doctor_says_offered_of_a_module_that_the_agent_loads():
    # It once did so of one that the agent did not load.
    for record in [one for one in SCHEDULERS.values() if one.module and not one.folder]:
        modules = {**facts()["modules"], record.module: True}
        found = scheduler_findings(schedulers=[], modules=modules)[f"scheduler {record.name}"]
        assert found.ready and of_the_agent.module(record.name) == record.module


def test_weights_of_version_1_need_a_scheduler_that_weighs():
    def weights(schedulers_there):
        found = {**facts(), "cgroup": 1, "schedulers": schedulers_there}
        return next(one for one in capabilities("host", found) if one.what == "weights")

    (weighs,) = [record for record in SCHEDULERS.values() if "1" in record.weight_files]
    assert weights([weighs.name]).found == weighs.weight_files["1"]
    assert not weights(["none"]).ready
    ((file, value, _),) = hierarchies.V1("/x").weights(Path("/x/a"), 10)
    assert (file.name, value) == (weighs.weight_files["1"], "10")


@pytest.mark.parametrize(("former", "today"), [("noop", "none"), ("deadline", "mq-deadline")])
def test_a_schedulers_former_name_is_refused_with_todays(former, today, error_of):
    record = {"name": former}
    for arguments in ((named, former), (SCHEDULERS.get, former), (checked, Scheduler, record, "")):
        assert f"'{former}', whose place '{today}' has today" in error_of(*arguments)


def test_an_unknown_scheduler_lists_what_there_is(adios, error_of):
    said = error_of(checked, Scheduler, {"name": "nop"}, "trial")
    *_, last, _ = names = SCHEDULERS.names()
    assert names[:2] == ["none", "mq-deadline"] and names[-1] == "adios"
    assert "'none', 'mq-deadline'" in said and f"{last!r} or 'adios' (given: 'nop')" in said
