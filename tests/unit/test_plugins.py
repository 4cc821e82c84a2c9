"""What other packages, and notebooks, add: found, refused in a sentence, named by its trials."""

import hashlib
import importlib.metadata
import io
import json
import re
import sys
import threading
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Literal

import pytest

import stored
from elevatorlab import studies, testbeds
from elevatorlab.agent.devices import schedulers as of_the_agent
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle import plugin_archive as agent_plugins
from elevatorlab.agent.workloads import KINDS
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import shipped_files
from elevatorlab.plugins.drives import DRIVES
from elevatorlab.plugins.profiles import PROFILES, Profile
from elevatorlab.plugins.registry import Registry
from elevatorlab.plugins.schedulers import SCHEDULERS, SchedulerRecord
from elevatorlab.plugins.studies import STUDIES
from elevatorlab.plugins.testbeds import TESTBEDS
from elevatorlab.plugins.trial_parts import DEVICES, POLICIES, WORKLOADS
from elevatorlab.results import models
from elevatorlab.results.outcome import Outcome
from elevatorlab.running.pools import task
from elevatorlab.sharing.bundles.writing import _plugins
from elevatorlab.testbeds.base import requirements
from elevatorlab.testbeds.plugin_archive import plugin_archive, with_plugins
from elevatorlab.trial import (
    Count,
    DeviceModel,
    PolicyModel,
    Trial,
    WorkloadModel,
    parse,
    profile,
    required_plugins,
)
from elevatorlab.trial.required_plugins import installed

FAR = "class Napping:\n    pass\n"
NAP = {"kind": "naps", "name": "nap", "group": "main", "naps": 2}


class Naps(WorkloadModel):
    """A workload of a test."""

    agent: ClassVar[str] = "napping_beside_disk:Napping"
    needs_filesystem: ClassVar[bool] = False

    kind: Literal["naps"] = "naps"
    naps: Count

    @property
    def requires(self):
        """Something that no testbed has."""
        return ("a pillow",)


@pytest.fixture
def naps(tmp_path, monkeypatch):
    """Register a workload whose far side is a file of its own; return that file."""
    file = tmp_path / "napping_beside_disk.py"
    file.write_text(FAR)
    monkeypatch.syspath_prepend(str(tmp_path))
    with registered(WORKLOADS, "naps", Naps):
        yield file
    sys.modules.pop("napping_beside_disk", None)


@contextmanager
def registered(registry, name, model):
    registry.register(name, model)
    try:
        yield
    finally:
        registry.unregister(name)


def content_of(make_trial, **changes):
    return {**json.loads(make_trial().model_dump_json()), **changes}


def test_a_registered_workload_is_validated_like_ours(naps, make_trial, error_of):
    trial = parse(content_of(make_trial, workloads=[NAP]))
    assert isinstance(trial.workloads[0], Naps)
    assert json.loads(trial.canonical_json())["workloads"] == [NAP]
    assert "a pillow" in requirements(trial)
    said = error_of(parse, content_of(make_trial, workloads=[{**NAP, "naps": 0}]))
    assert "workloads.0.naps: Input should be greater than 0 (given: 0)" in said


def test_an_unknown_kind_lists_what_there_is(naps, make_trial, error_of):
    said = error_of(parse, content_of(make_trial, workloads=[{**NAP, "kind": "sleeps"}]))
    assert "workloads.0: Input should be" in said and "'naps'" in said and "'fio'" in said
    assert said.endswith("(given: kind 'sleeps')")
    said = error_of(parse, content_of(make_trial, workloads=[{"name": "nap"}]))
    assert said.endswith("(given: no kind)")


def test_one_wrong_field_gives_one_sentence(make_trial, error_of):
    wrong = content_of(make_trial)
    wrong["workloads"][0]["name"] = "a b"
    said = error_of(parse, wrong)
    assert said.startswith("trial: workloads.0.name: ") and said.endswith("(given: 'a b')")
    said = error_of(parse, content_of(make_trial, workloads=[]))
    assert said.startswith("trial: workloads: expected at least 1 item; found none")


def test_a_trial_names_what_it_uses_and_ours_name_nothing(naps, make_trial):
    ordinary = make_trial()
    assert ordinary.plugins == () and "plugins" not in json.loads(ordinary.canonical_json())
    (named,) = parse(content_of(make_trial, workloads=[NAP])).plugins
    assert (named.kind, named.name, named.package) == ("workload", "naps", "")


def test_its_hash_changes_with_the_far_side(naps, make_trial):
    content = content_of(make_trial, workloads=[NAP])
    before = parse(content)
    assert parse(content).hash == before.hash
    naps.write_text(FAR + "# changed\n")
    assert parse(content).hash != before.hash


def test_a_stored_trial_is_refused_with_another_version(naps, make_trial, error_of):
    stored = json.loads(parse(content_of(make_trial, workloads=[NAP])).canonical_json())
    assert parse(stored).hash
    naps.write_text(FAR + "# changed\n")
    said = error_of(parse, stored)
    assert said.startswith("trial: plugins: expected the workload naps of a notebook (digest")
    assert said.count("the workload naps") == 2 and "Run the notebook that registers it" in said


def test_a_stored_trial_says_which_package_it_needs(make_trial, error_of):
    missing = {"kind": "workload", "name": "naps", "package": "nap-lab", "version": "1.2"}
    named = [{**missing, "digest": "0" * 64}]
    said = error_of(parse, content_of(make_trial, workloads=[NAP], plugins=named))
    assert "expected the workload naps of package nap-lab 1.2" in said
    assert "found none of that name. Install nap-lab==1.2" in said


def test_a_trial_that_names_a_plugin_it_does_not_use(naps, make_trial, error_of):
    named = parse(content_of(make_trial, workloads=[NAP])).plugins
    said = error_of(parse, content_of(make_trial, plugins=[one.model_dump() for one in named]))
    assert "plugins: expected none; found the workload naps of a notebook" in said


def test_the_far_side_travels_beside_the_trial(naps, make_trial):
    trial = parse(content_of(make_trial, workloads=[NAP]))
    assert set(with_plugins(trial)) == {"trial.json", "plugins.zip"}
    assert plugin_archive(trial) == plugin_archive(trial)
    with zipfile.ZipFile(io.BytesIO(plugin_archive(trial))) as archive:
        assert archive.read("napping_beside_disk.py").decode() == FAR
        assert json.loads(archive.read("plugins.json")) == {"workload": {"naps": Naps.agent}}
    assert set(with_plugins(make_trial())) == {"trial.json"}


@pytest.fixture
def archive(request, naps, make_trial, tmp_path, monkeypatch):
    """Return the archive of a trial that naps, where only the archive has the far side."""
    naps.write_text(getattr(request, "param", FAR))
    file = tmp_path / "plugins.zip"
    file.write_bytes(plugin_archive(parse(content_of(make_trial, workloads=[NAP]))))
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(tmp_path)])
    return file


def test_the_agent_takes_what_the_archive_brings(archive):
    agent_plugins.load(archive)
    try:
        assert KINDS["naps"].__module__ == "napping_beside_disk"
        assert str(archive) in sys.modules["napping_beside_disk"].__file__
    finally:
        del KINDS["naps"]


@pytest.mark.parametrize("archive", ["import pandas_of_nobody\n"], indirect=True)
def test_the_agent_says_what_it_cannot_import(archive, tmp_path):
    with pytest.raises(AgentError, match="plug-in workload naps: expected .*No module named"):
        agent_plugins.load(archive)
    with pytest.raises(AgentError, match="the trial uses plug-ins; expected .*nothing.zip"):
        agent_plugins.load(tmp_path / "nothing.zip")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("", "it is not of that form"),
        ("no_such_module:Class", "No module named 'no_such_module'"),
        ("no_such_package.module:Class", "No module named 'no_such_package'"),
        ("json", "it is not of that form"),
        ("elevatorlab.nothing:x", "No module named 'elevatorlab.nothing'"),
        ("zlib:crc32", "is no file of Python"),
    ],
)
def test_a_far_side_that_is_not_there(target, why, error_of):
    said = error_of(shipped_files.files, target)
    assert "expected 'module:name'" in said and repr(target) in said
    assert why in said


def test_a_far_side_that_is_not_there_names_whose_it_is(naps, make_trial, error_of):
    naps.unlink()
    said = error_of(parse, content_of(make_trial, workloads=[NAP]))
    assert said.startswith("workload naps: agent: expected 'module:name'")
    assert "(No module named 'napping_beside_disk')" in said


class Mute(WorkloadModel):
    """A workload that nobody does."""

    kind: Literal["mute"] = "mute"


@pytest.mark.parametrize(
    ("name", "model", "said"),
    [
        ("mute", Mute, "workload 'mute': expected an attribute `agent` of its model"),
        ("nap", Naps, "workload 'nap': expected a model whose field `kind` is 'nap'; found 'naps'"),
        ("nap", int, "found 'no such field' in <class 'int'>"),
    ],
)
def test_a_model_that_cannot_work_is_refused_at_once(name, model, said, monkeypatch, error_of):
    assert said in error_of(WORKLOADS.register, name, model)
    assert name not in WORKLOADS
    # The same of an installed package, when it is first asked for.
    entry_points(monkeypatch, (name, f"a_package:{name}", "zoo"))
    monkeypatch.setattr("importlib.metadata.EntryPoint.load", lambda point: model)
    installed_ones = Registry("workload", "a.group", check=WORKLOADS._check)
    assert said in error_of(installed_ones.get, name)


def test_of_a_package_only_the_folder_travels():
    files = shipped_files.files("elevatorlab.plugins.profiles:PROFILES")
    assert {"elevatorlab/__init__.py", "elevatorlab/plugins/registry.py"} <= set(files)
    assert files["elevatorlab/__init__.py"] == files["elevatorlab/plugins/__init__.py"] == b""
    assert not any(name.startswith("elevatorlab/trial") for name in files)


def test_a_registered_scheduler_reaches_the_agent(make_trial, tmp_path, monkeypatch):
    record = SchedulerRecord("adios", module="adios-iosched", signature="window")
    archive = tmp_path / "plugins.zip"
    with registered(SCHEDULERS, "adios", record):
        trial = make_trial(scheduler={"name": "adios"})
        assert [(one.kind, one.name) for one in trial.plugins] == [("scheduler", "adios")]
        archive.write_bytes(plugin_archive(trial))
    monkeypatch.setattr(sys, "path", list(sys.path))
    agent_plugins.load(archive)
    assert of_the_agent.RECORDS.pop("adios")["module"] == "adios-iosched"


def test_a_registered_profile_is_a_disk(make_trial):
    with registered(PROFILES, "tape", Profile(service_time_us=10**6, parallelism=1)):
        trial = make_trial(device=profile("tape", 64))
        assert [(one.kind, one.name) for one in trial.plugins] == [("profile", "tape")]


class Drum(DeviceModel):
    """A device of a test."""

    agent: ClassVar[str] = "napping_beside_disk:Napping"

    kind: Literal["drum"] = "drum"
    size_mib: Count = 1

    @property
    def requires(self):
        """What another device needs, too."""
        return ("device null_blk",)


def test_a_registered_device_says_what_it_requires(naps, make_trial):
    with registered(DEVICES, "drum", Drum):
        trial = parse(content_of(make_trial, device={"kind": "drum"}))
        assert "device null_blk" in requirements(trial)
        assert "device drum" not in requirements(trial)
        assert [(one.kind, one.name) for one in trial.plugins] == [("device", "drum")]


class Calm(PolicyModel):
    """A policy of a test."""

    agent: ClassVar[str] = "napping_beside_disk:Napping"

    longest: Count = 4


def test_a_registered_policy_checks_its_options(naps, make_trial, error_of):
    with registered(POLICIES, "calm", Calm):
        trial = parse(content_of(make_trial, regulator={"policy": "calm"}))
        assert json.loads(trial.canonical_json())["regulator"]["options"] == {"longest": 4}
        wrong = {"policy": "calm", "options": {"longest": 0}}
        said = error_of(parse, content_of(make_trial, regulator=wrong))
        assert "regulator.options of the policy calm: longest: Input should be greater" in said
        numbered = {"policy": "calm", "threshold": 0.5}
        said = error_of(parse, content_of(make_trial, regulator=numbered))
        assert "expected no number of another with the policy calm; found threshold" in said
    said = error_of(parse, content_of(make_trial, regulator={"policy": "calm"}))
    assert "regulator.policy: Input should be 'aimd', " in said and "(given: 'calm')" in said


@pytest.mark.parametrize("number", ["sla_wait_ms", "threshold"])
def test_a_policy_that_asks_for_a_number_of_the_agents_own_is_refused(number, naps, error_of):
    """The agent would call it without that number."""
    said = error_of(POLICIES.register, "calm", type("Numbered", (Calm,), {"number": number}))
    assert said.startswith("policy 'calm': expected a model whose `number` is None, ")
    assert f"; found {number!r}" in said and "calm" not in POLICIES


def test_a_bundle_lists_what_its_trials_use(naps, make_trial):
    trial = json.loads(parse(content_of(make_trial, workloads=[NAP])).canonical_json())
    assert _plugins([trial, trial]) == (installed("workload", "naps"),)
    assert _plugins([json.loads(make_trial().canonical_json())]) == ()


def entry_points(monkeypatch, *named):
    """Have these entry points found, each (name, value, package)."""
    found = []
    for name, value, package in named:
        point = importlib.metadata.EntryPoint(name, value, "a.group")
        distribution = type("Dist", (), {"name": package, "version": "1"})()
        vars(point).update(dist=distribution)
        found.append(point)
    monkeypatch.setattr("elevatorlab.plugins.registry.entry_points", lambda group: found)


def test_ours_come_first(monkeypatch):
    entry_points(monkeypatch, ("zebra", "json:dumps", "elevatorlab"), ("ape", "json:loads", "zoo"))
    registry = Registry("animal", "a.group")
    registry.register("cat", len)
    assert registry.names() == ["zebra", "ape", "cat"]
    brought = {name: registry.package(name) for name in registry.names()}
    assert (brought["zebra"].name, brought["ape"].name) == ("elevatorlab", "zoo")
    assert brought["cat"] is None


class Answering:
    """A testbed that has every result at once; `name` decides which package brings it."""

    def __init__(self, name):
        self.name = name

    def run(self, trial, note):
        """Return a result without measurements."""
        return Outcome({"result.json": b"{}"}, {"testbed": self.name})


def test_the_provenance_names_a_stranger_s_testbed(make_trial, monkeypatch):
    here = f"{__name__}:Answering"
    entry_points(monkeypatch, ("tank", here, "basin"), ("deterministic", here, "elevatorlab"))
    monkeypatch.setitem(required_plugins.REGISTRIES, "testbed", Registry("testbed", "a.group"))

    def told(name):
        return task.run(Answering(name), make_trial(), print).provenance

    assert "testbed_plugin" not in told("deterministic")
    read = models.Provenance.model_validate(stored.provenance(**told("tank")))
    expected = {"kind": "testbed", "name": "tank", "package": "basin", "version": "1"}
    assert expected.items() <= read.testbed_plugin.model_dump().items()
    source = Path(__file__).read_bytes()
    digest = hashlib.sha256(f"\0{len(source)}\0".encode() + source).hexdigest()
    assert read.testbed_plugin.digest == digest


def test_two_packages_that_bring_one_name(monkeypatch, error_of):
    entry_points(monkeypatch, ("ape", "json:dumps", "zoo"), ("ape", "json:loads", "jungle"))
    said = error_of(Registry("animal", "a.group").names)
    assert "animal 'ape': expected one package to bring it; found zoo and jungle" in said


def test_a_package_that_cannot_be_imported(monkeypatch, error_of):
    entry_points(monkeypatch, ("ape", "no_such_module:ape", "zoo"))
    said = error_of(Registry("animal", "a.group").get, "ape")
    assert "animal 'ape': expected zoo to bring it" in said and "uninstall that package" in said


def test_a_taken_name(naps, error_of):
    assert "not taken; found 'fio'" in error_of(WORKLOADS.register, "fio", Naps)
    assert "not taken; found 'naps'" in error_of(WORKLOADS.register, "naps", Drum)


def test_trials_of_every_study_name_no_plugin():
    """What is ours is found like anybody's, and named by no trial."""
    groups = re.findall(r'entry-points."(.*?)"', (PROJECT / "pyproject.toml").read_text())
    registries = (DEVICES, DRIVES, POLICIES, PROFILES, SCHEDULERS, STUDIES, TESTBEDS, WORKLOADS)
    assert sorted(groups) == sorted(one.group for one in registries)
    assert Trial.model_fields["plugins"].default == ()
    for study in STUDIES.values():
        trials = study.trials(studies.parameters(study, "smoke"))
        assert trials and all(trial.plugins == () for trial in trials)


class _Far:
    def __init__(self, address, say=print):
        self.address = address


def test_an_address_reaches_the_testbed_that_it_begins_with(monkeypatch, error_of):
    monkeypatch.setattr(TESTBEDS, "_known", {**TESTBEDS._known, "far": _Far})
    assert testbeds.get("far://there?x=1").address == "far://there?x=1"
    assert testbeds.get("far+there://y").address == "there://y"
    assert "expected an address, far://...; found 'far'" in error_of(testbeds.get, "far")


def test_a_stand_in_hides_no_other_entry_from_another_thread(monkeypatch):
    """A cluster's worker reads trials in one thread while another one ends a grading."""
    ended, seen = threading.Event(), set()

    def read():
        while not ended.is_set():
            seen.add(type(SCHEDULERS.get("none")))

    SCHEDULERS.names()  # loads them, so that what is copied here is whole
    monkeypatch.setattr(SCHEDULERS, "_known", dict(SCHEDULERS._known))
    often, before_s = 1e-6, sys.getswitchinterval()
    sys.setswitchinterval(often)
    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20_000):
        with SCHEDULERS.standing_in("mine", SchedulerRecord("mine")):
            pass
    ended.set()
    reader.join()
    sys.setswitchinterval(before_s)
    assert seen == {SchedulerRecord} and "mine" not in SCHEDULERS


def test_a_stand_in_may_come_before_anything_was_asked():
    """As in a worker whose first job is a submission that is called like one of our schedulers."""
    fresh = Registry("scheduler", "elevatorlab.schedulers", collections=True)
    with fresh.standing_in("sstf", SchedulerRecord("sstf", source="a student")):
        assert fresh.get("sstf").source == "a student"
    assert fresh.get("sstf").folder is not None and fresh.get("none").source == "linux"
