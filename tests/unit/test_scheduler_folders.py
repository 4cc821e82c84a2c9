"""A scheduler of somebody's own: its folder, new or not, its build, and a trial on it."""

import json
import re
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from matplotlib.markers import MarkerStyle

from elevatorlab.agent.devices import modules as of_the_agent
from elevatorlab.agent.devices import schedulers
from elevatorlab.agent.lifecycle import plugin_archive as beside_the_trial
from elevatorlab.elevators import templates
from elevatorlab.plugins import scheduler_folders
from elevatorlab.plugins.schedulers import SCHEDULERS
from elevatorlab.testbeds import plugin_archive
from elevatorlab.trial import parse
from helpers import cli
from scheduler_copy import folder, registered  # noqa: F401  (fixtures)


def changed(folder, **values):
    file = folder / "scheduler.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return scheduler_folders.read(folder)


def test_a_folder_says_what_its_scheduler_is(folder):
    record = scheduler_folders.read(folder)
    assert (record.name, record.module) == ("one-list", "one-list-iosched")
    assert record.label == "one list"
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
    "a_makefile": (lambda at: (at / "Kbuild").rename(at / "Makefile"), "a Makefile, which is not"),
    "no_sources": (lambda at: (at / "one-list-iosched.c").unlink(), "expected a Kbuild (obj-m :="),
    "no_kbuild": (lambda at: (at / "Kbuild").unlink(), "expected a Kbuild (obj-m :="),
    "a_link": (lambda at: (at / "x.h").symlink_to("/etc/shadow"), "expected plain files; x.h is"),
    "a_folder": (lambda at: (at / "x.c").mkdir(), "expected plain files; x.c is"),
    "too_much": (lambda at: (at / "x.c").write_bytes(bytes(5 << 20)), "(4 MiB); found 524"),
    "a_long_name": (lambda at: changed(at, name="a" * 16), "and _ (given: 'aaaa"),
    "a_number": (lambda at: changed(at, name=5), "digits, - and _ (given: 5)"),
    "a_name_of_the_kernel": (lambda at: changed(at, name="bfq"), "the kernel's; found 'bfq'"),
    "a_path": (lambda at: changed(at, tunables="../../x"), "tunables: expected the name of a file"),
    "a_typo": (lambda at: changed(at, coulor="#000000"), "label, colour, marker, source; found 'c"),
    "a_list": (lambda at: (at / "scheduler.json").write_text("[]"), "weight_files, label, colour"),
    "a_colour": (lambda at: changed(at, colour="green"), "colour: expected a colour such as"),
    "a_marker": (lambda at: changed(at, marker="Q"), "marker: expected a marker of matplotlib's, "),
    "a_label": (lambda at: changed(at, label="x" * 25), "label: expected a text of at most 24"),
}


def test_the_markers_are_those_that_matplotlib_draws():
    drawn = {one for one in MarkerStyle.markers if isinstance(one, str) and len(one) == 1}
    assert set(scheduler_folders.MARKERS) == drawn - {" "}


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
    assert "expected the folder of a scheduler; found no such folder" in said
    said = error_of(scheduler_folders.register, tmp_path)
    assert "expected the folder of a scheduler; found no scheduler.json in it. Begin" in said


@pytest.mark.parametrize("kbuild", ["Kbuild", "Makefile"])
def test_a_stranger_s_folder_lacks_one_line_which_is_shown(kbuild, folder, error_of):
    """With that line, it is the folder of the scheduler that its sources make."""
    (folder / "scheduler.json").unlink()
    text = (folder / "Kbuild").read_text().replace("one-list-iosched.o", "list.o")
    (folder / "Kbuild").rename(folder / kbuild).write_text(text)
    said = error_of(scheduler_folders.read, folder)
    assert "found sources without a scheduler.json. It needs one line: " in said
    (folder / "scheduler.json").write_text(said.partition("one line: ")[2])
    (folder / kbuild).rename(folder / "Kbuild")
    record = scheduler_folders.read(folder)
    assert (record.name, record.module) == ("one-list", "list")


def test_a_name_stands_for_the_folder_of_ours(folder, monkeypatch, error_of):
    ours = SCHEDULERS.get("sstf").folder.path
    assert scheduler_folders.named("sstf") == "sstf"
    assert scheduler_folders.folder_of("sstf") == ours
    assert scheduler_folders.folder_of(str(folder)) == folder
    said = error_of(scheduler_folders.folder_of, "kyber")
    assert said.endswith("'kyber' has no sources here")
    monkeypatch.chdir(folder.parent)
    folder.rename("sstf")
    said = error_of(scheduler_folders.named, "sstf")
    assert "'sstf' is both here. Write ./sstf for the folder" in said
    assert scheduler_folders.named("./sstf") == Path("./sstf")
    monkeypatch.chdir(ours.parent)
    assert scheduler_folders.folder_of("sstf") == ours


def test_a_name_of_ours_is_taken(folder, error_of):
    changed(folder, name="sstf")
    said = error_of(scheduler_folders.register, folder)
    assert "expected a name that is not taken; found 'sstf'" in said


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


@pytest.mark.parametrize("template", templates.TEMPLATES)
def test_a_new_folder_is_one_that_can_be_built(template, tmp_path):
    folder = templates.new("mine", template, tmp_path)
    record = scheduler_folders.read(folder)
    assert (record.name, record.module, record.label) == ("mine", "mine-iosched", "mine")
    assert set(record.folder.files) == {"Kbuild", "mine-iosched.c", "scheduler.json"}
    written = "".join(file.read_text() for file in folder.iterdir())
    assert "@" not in written.replace("@file", "")
    assert "mine_dispatch_request" in written
    source = (folder / "mine-iosched.c").read_text()
    assert ("TODO" in source) == (template in ("sstf", "look"))
    assert max(map(len, source.expandtabs(8).splitlines())) <= 100


WRONG = {
    "no identifier": ("c-look", "expected a C identifier in small letters"),
    "begins with a digit": ("2fast", "expected a C identifier in small letters"),
    "too long": ("a_longer_elevator", "expected at most 15 letters"),
    "the kernel's": ("bfq", "bfq is another scheduler's already"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_name_that_cannot_be_is_refused_in_one_sentence(wrong, tmp_path):
    name, sentence = WRONG[wrong]
    run = cli("scheduler", "new", name, cwd=tmp_path)
    assert run.returncode == 1 and sentence in run.stderr and run.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    run = cli("scheduler", "new", "mine", cwd=tmp_path)
    assert run.returncode == 1 and "expected no such folder yet" in run.stderr
    assert not list((tmp_path / "mine").iterdir())


def test_an_unknown_template_is_refused(tmp_path):
    run = cli("scheduler", "new", "mine", "--template", "cfq", cwd=tmp_path)
    assert run.returncode == 1
    assert "template: expected fifo, sstf, look, deadline; found 'cfq'" in run.stderr


def test_the_readme_prints_commands_that_work_where_the_folder_was_made(tmp_path):
    run = cli("scheduler", "new", "mine", cwd=tmp_path)
    (told,) = re.findall(r"then: (.* scheduler) check mine$", run.stdout, re.MULTILINE)
    readme = (tmp_path / "mine" / "README.md").read_text()
    commands = re.findall(r"^    (.*?) +#", readme, re.MULTILINE)
    assert commands == [f"{told} {job} mine" for job in ("build", "check", "compare")]
