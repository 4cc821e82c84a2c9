"""A scheduler of somebody's own: its folder, its build, and a trial on it."""

import json
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from elevatorlab.agent.devices import modules as of_the_agent
from elevatorlab.agent.devices import schedulers
from elevatorlab.agent.lifecycle import plugins as beside_the_trial
from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS
from elevatorlab.testbeds import plugin_archive
from elevatorlab.testbeds.deterministic import modules
from elevatorlab.trial import parse

ONE_LIST = Path(__file__).with_name("fixtures") / "schedulers" / "one-list"


@pytest.fixture
def folder(tmp_path):
    """Return a copy of the folder, to change."""
    return shutil.copytree(ONE_LIST, tmp_path / "one-list")


@pytest.fixture
def registered(folder):
    """Register the copy; forget it afterwards."""
    yield scheduler_folders.register(folder)
    SCHEDULERS.unregister("one-list")


def changed(folder, **values):
    file = folder / "scheduler.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return scheduler_folders.read(folder)


def test_a_folder_says_what_its_scheduler_is(folder):
    record = scheduler_folders.read(folder)
    assert (record.name, record.module, record.label) == (
        *("one-list", "one-list-iosched"),
        "one list",
    )
    assert record.counters == ("waiting",) and record.tunables == "iosched"
    sources = {"Kbuild", "one-list-iosched.c", "one-list.h"}
    assert set(record.folder.files) == {*sources, "scheduler.json"}


def test_the_digest_is_of_what_decides(folder):
    before = scheduler_folders.read(folder).folder.digest
    (folder / "notes.txt").write_text("nothing of the build\n")
    (folder / "one-list-iosched.mod.c").write_text("what a make in the folder leaves\n")
    assert changed(folder, colour="#000000", label="mine").folder.digest == before
    assert changed(folder, counters=[]).folder.digest != before
    assert changed(folder, counters=["waiting"]).folder.digest == before
    (folder / "one-list.h").write_text("/* another */\n")
    assert scheduler_folders.read(folder).folder.digest != before


def test_an_offered_header_is_part_of_the_sources_that_include_it(folder, tmp_path):
    with open(folder / "one-list.h", "a") as header:
        header.write('# include "one-arm.h"\n')
    record = scheduler_folders.read(folder)
    assert b"struct one_arm {" in record.folder.files["one-arm.h"]
    scheduler_folders.write(record, tmp_path / "kept")
    assert (tmp_path / "kept" / "one-arm.h").is_file()
    assert scheduler_folders.read(tmp_path / "kept").folder.digest == record.folder.digest
    (folder / "one-arm.h").write_text("/* its own */\n")
    assert scheduler_folders.read(folder).folder.files["one-arm.h"] == b"/* its own */\n"


BAD = {
    "no_record": (
        lambda at: (at / "scheduler.json").unlink(),
        "expected the folder of a scheduler",
    ),
    "no_json": (lambda at: (at / "scheduler.json").write_text("{"), "expected JSON; found"),
    "no_sources": (lambda at: (at / "one-list-iosched.c").unlink(), "expected a Kbuild (obj-m :="),
    "no_kbuild": (lambda at: (at / "Kbuild").unlink(), "expected a Kbuild (obj-m :="),
    "a_link": (lambda at: (at / "x.h").symlink_to("/etc/shadow"), "expected plain files; x.h is"),
    "a_folder": (lambda at: (at / "x.c").mkdir(), "expected plain files; x.c is"),
    "too_much": (
        lambda at: (at / "x.c").write_bytes(bytes(5 << 20)),
        "expected at most 4 MiB of sources; found 5 MiB",
    ),
    "a_long_name": (lambda at: changed(at, name="a" * 16), "name: String should match pattern"),
    "a_path": (lambda at: changed(at, tunables="../../x"), "tunables: String should match pattern"),
    "a_typo": (lambda at: changed(at, coulor="#000000"), "coulor: no such parameter"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_folder_is_one_sentence(name, folder, error_of):
    spoil, sentence = BAD[name]

    def read():
        spoil(folder)
        scheduler_folders.read(folder)

    said = error_of(read)
    assert str(folder) in said and sentence in said and "\n" not in said


def test_no_folder_is_one_sentence(tmp_path, error_of):
    said = error_of(scheduler_folders.register, tmp_path / "nowhere")
    assert "expected the folder of a scheduler" in said and "elevatorlab scheduler new" in said


def test_a_name_of_the_kernel_is_taken(folder, error_of):
    changed(folder, name="kyber")
    said = error_of(scheduler_folders.register, folder)
    assert "expected a name that is not taken; found 'kyber'" in said


def test_a_trial_names_the_sources(registered, folder, make_trial):
    trial = make_trial(scheduler={"name": "one-list"})
    (module,) = trial.modules
    assert (module.name, module.digest) == ("one-list-iosched", registered.folder.digest)
    assert trial.plugins == () and "modules" not in json.loads(make_trial().canonical_json())
    (folder / "one-list.h").write_text("/* another */\n")
    scheduler_folders.register(folder)
    assert make_trial(scheduler={"name": "one-list"}).hash != trial.hash


def test_a_stored_trial_needs_the_same_sources(registered, folder, make_trial, error_of):
    stored = json.loads(make_trial(scheduler={"name": "one-list"}).canonical_json())
    assert json.loads(parse(stored).canonical_json()) == stored
    (folder / "one-list.h").write_text("/* another */\n")
    scheduler_folders.register(folder)
    said = error_of(parse, stored)
    assert said.startswith("trial: modules: expected the module one-list-iosched (sources' digest")
    SCHEDULERS.unregister("one-list")
    said = error_of(parse, stored)
    assert "expected the folder of scheduler one-list, with the module" in said
    assert "--scheduler FOLDER" in said


def test_its_module_travels_beside_the_trial(registered, make_trial, tmp_path, monkeypatch):
    trial = make_trial(scheduler={"name": "one-list"})
    packed = plugin_archive.module_archive(trial, {"one-list-iosched": b"ELF"})
    with zipfile.ZipFile(BytesIO(packed)) as archive:
        assert set(archive.namelist()) == {"one-list-iosched.ko", "schedulers.json"}
    (tmp_path / "modules.zip").write_bytes(packed)
    monkeypatch.setattr(schedulers, "RECORDS", {})
    monkeypatch.setattr(of_the_agent, "BROUGHT", {})
    beside_the_trial.load_modules(tmp_path / "modules.zip")
    assert of_the_agent.BROUGHT == {"one-list-iosched": b"ELF"}
    assert schedulers.RECORDS["one-list"]["signature"] == "waiting"


def test_no_module_travels_to_a_real_machine(registered, make_trial):
    files = plugin_archive.with_plugins(make_trial(scheduler={"name": "one-list"}))
    assert set(files) == {"trial.json", "modules.zip"}
    with zipfile.ZipFile(BytesIO(files["modules.zip"])) as archive:
        assert archive.namelist() == ["schedulers.json"]


@pytest.mark.image
class TestInTheMachine:
    """What the deterministic machine makes of it."""

    def test_a_trial_runs_on_it(self, registered, make_trial, testbed):
        trial = make_trial(scheduler={"name": "one-list"})
        testbed.prepare([trial])
        outcome = testbed.run(trial)
        result = json.loads(outcome.files["result.json"])
        (proof,) = [one for one in result["proofs"] if one["knob"].endswith("queue/scheduler")]
        assert (proof["read"], proof["probe"]) == ("one-list", "tunables: waiting")
        assert result["workloads"]["reader"]["read"]["requests"] > 100

    def test_a_mistake_is_told_as_the_compiler_does(self, folder, error_of):
        with open(folder / "one-list-iosched.c", "a") as source:
            source.write("int one_list_forgotten(void) { return forgotten; }\n")
        line = len((folder / "one-list-iosched.c").read_text().splitlines())
        said = error_of(modules.build, scheduler_folders.read(folder).folder)
        assert "expected one-list-iosched.ko; it does not compile:" in said
        assert f"one-list-iosched.c:{line}:" in said and "'forgotten' undeclared" in said
        assert "/build/" not in said
