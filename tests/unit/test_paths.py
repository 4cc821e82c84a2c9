"""Where things are, and what the program is called here."""

import sys

import pytest

from elevatorlab import paths
from elevatorlab.results import store
from elevatorlab.showing.report import REPORT, default_place


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        (".venv/bin/elevatorlab", ".venv/bin/elevatorlab"),
        ("/somewhere/bin/elevatorlab", "/somewhere/bin/elevatorlab"),
        ("/usr/lib/python3/site-packages/ipykernel_launcher.py", "elevatorlab"),
    ],
)
def test_a_command_is_printed_as_the_program_was_called(called, shown, monkeypatch):
    monkeypatch.setattr(sys, "argv", [called])
    assert paths.command("claims --all") == f"{shown} claims --all"


def test_a_program_that_the_shell_finds_needs_no_folder(monkeypatch, tmp_path):
    program = tmp_path / "elevatorlab"
    program.touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setattr(sys, "argv", [f"{program}"])
    assert paths.command("claims") == "elevatorlab claims"


def test_an_error_names_the_command_as_it_was_called(monkeypatch, tmp_path, error_of):
    monkeypatch.setattr(sys, "argv", [".venv/bin/elevatorlab"])
    said = error_of(store.load, "vm_vs_container", tmp_path / "none")
    assert ".venv/bin/elevatorlab run STUDY --results FOLDER" in said


def test_no_two_reports_share_a_folder(tmp_path):
    places = [default_place(one) for one in (None, "published", tmp_path / "a", tmp_path / "b")]
    assert len({*places, REPORT}) == 5
    assert default_place("reference") == default_place(None)
