"""The message of a commit has a short subject and a body; the hook says what is wrong."""

import subprocess
import sys

import pytest
import yaml

import commit_message
from commit_message import problem
from elevatorlab.paths import PROJECT

BODY = "\n\nIt was missing.\n"

GOOD = [
    "Add the sampler" + BODY,
    "x" * 72 + BODY,
    "Merge branch 'other'\n",
    "\n# all of it is a comment\n",
    "Add the sampler" + BODY + "# a comment\n" + commit_message.SCISSORS + "\ndiff --git a b\n",
]

WRONG = {
    "x" * 73 + BODY: "subject: expected at most 72 letters; found 73. Say the rest in the body",
    "Add it\n\n# a comment\n": "body: expected one that says why; found none",
    f"Add it\n{commit_message.SCISSORS}\ndiff\n": "body: expected one that says why; found none",
    "Add it\nand more\n\nWhy.\n": "line 2: expected an empty line below the subject; found",
}


@pytest.mark.parametrize("message", GOOD)
def test_a_good_message_passes(message):
    assert problem(message) == ""


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_message_is_refused_in_one_sentence(message):
    assert problem(message).startswith(WRONG[message])


def test_the_hook_is_git_s_and_its_status_says_no(tmp_path):
    config = yaml.safe_load((PROJECT / ".pre-commit-config.yaml").read_text())
    (hook,) = [one for one in config["repos"][0]["hooks"] if one["id"] == "commit-message"]
    program = hook["entry"].split()[-1]
    assert hook["stages"] == ["commit-msg"] and (PROJECT / program).exists()
    for message, status in ((GOOD[0], 0), ("Add it\n", 1)):
        (tmp_path / "message").write_text(message)
        command = [sys.executable, PROJECT / program, tmp_path / "message"]
        run = subprocess.run(command, capture_output=True, text=True)
        assert (run.returncode, run.stderr.count("\n")) == (status, status)
