"""Folders of new schedulers: what is in them, and names that cannot be."""

import re

import pytest

from elevatorlab.elevators import templates
from elevatorlab.plugins import scheduler_folders
from helpers import cli


@pytest.mark.parametrize("template", templates.TEMPLATES)
def test_a_new_folder_is_one_that_can_be_built(template, tmp_path):
    folder = templates.new("mine", template, tmp_path)
    record = scheduler_folders.read(folder)
    assert (record.name, record.module, record.label) == ("mine", "mine-iosched", "mine")
    assert set(record.folder.files) == {"Kbuild", "mine-iosched.c", "scheduler.json"}
    written = "".join(file.read_text() for file in folder.iterdir())
    assert "@" not in written.replace("@file", "")
    assert "mine_dispatch_request" in written


@pytest.mark.parametrize("template", templates.TEMPLATES)
def test_what_is_left_to_do_is_marked(template, tmp_path):
    folder = templates.new("mine", template, tmp_path)
    source = (folder / "mine-iosched.c").read_text()
    assert ("TODO" in source) == (template in ("sstf", "look"))
    assert max(map(len, source.expandtabs(8).splitlines())) <= 100


WRONG = {
    "no identifier": ("c-look", "expected a C identifier in small letters"),
    "begins with a digit": ("2fast", "expected a C identifier in small letters"),
    "too long": ("a_longer_elevator", "expected at most 15 letters, as the kernel does; found 17"),
    "the kernel's": ("bfq", "bfq is another scheduler's already; take another one"),
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


def test_the_command_says_what_to_do_next(tmp_path):
    run = cli("scheduler", "new", "mine", "--template", "look", cwd=tmp_path)
    assert run.returncode == 0 and "elevatorlab scheduler check mine" in run.stdout
    assert (tmp_path / "mine" / "README.md").read_text().startswith("# mine\n")


def test_the_readme_prints_commands_that_work_where_the_folder_was_made(tmp_path):
    run = cli("scheduler", "new", "mine", cwd=tmp_path)
    (told,) = re.findall(r"then: (.* scheduler) check mine$", run.stdout, re.MULTILINE)
    readme = (tmp_path / "mine" / "README.md").read_text()
    commands = re.findall(r"^    (.*?) +#", readme, re.MULTILINE)
    assert commands == [f"{told} {job} mine" for job in ("build", "check", "compare")]
