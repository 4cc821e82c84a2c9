"""Vagrant's commands, without Vagrant."""

from elevatorlab.testbeds.vagrant import commands


def test_what_does_not_end_in_time_says_how_far_it_came(tmp_path, error_of):
    argv, heard = ["sh", "-c", "echo Starting domain; exec sleep 3600"], []
    sentence = error_of(commands.follow, argv, 5, tmp_path / "log", heard.append)
    assert "did not end within 5 s" in sentence and sentence.endswith("Starting domain\n")
    assert heard == ["Starting domain\n"]
