"""A trial far away goes on while the connection is broken, and who comes back hears of it."""

import json

import pytest

from elevatorlab.errors import TrialFailed
from elevatorlab.testbeds.remote import far_agent
from elevatorlab.testbeds.remote.far_agent import FarAgent
from elevatorlab.testbeds.remote.shell import ConnectionLost, Unreachable

LOST = ConnectionLost("the connection to there broke")


class Shell:
    """A shell whose commands end as a test says: an exception is raised, a list is streamed."""

    name = "there"

    def __init__(self, *ends):
        self.ends, self.asked = list(ends), []

    def run(self, argv, timeout_s=60):
        self.asked.append(argv)
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, Exception):
            raise end
        return end

    def lines(self, argv):
        for said in self.run(argv):
            if isinstance(said, Exception):
                raise said
            yield json.dumps(said)


@pytest.fixture
def clock(monkeypatch):
    """Let waiting take no time, and count it; return the seconds waited so far."""
    waited = [0.0]

    def sleep(seconds):
        waited[0] += seconds
        assert waited[0] < 3600, "expected somebody to give up by now"

    monkeypatch.setattr("tenacity.nap.time.sleep", sleep)
    monkeypatch.setattr("tenacity.time.monotonic", lambda: 1000 + waited[0])
    return waited


def follow(shell, told, bring=None):
    until_s = far_agent.time.monotonic() + 3600
    return FarAgent(shell)._follow("RUN", told.append, bring, until_s)


def test_a_broken_connection_is_tried_again(clock):
    told = []
    shell = Shell(LOST, Unreachable("there does not answer"), "done")
    assert FarAgent(shell)._persist(told.append, shell.run, ["start"]) == "done"
    assert told == [
        "the connection to there broke; trying again",
        "there does not answer; trying again",
    ]
    assert clock == [2.0]


def test_a_connection_that_stays_away_is_given_up(clock):
    shell = Shell(LOST)
    with pytest.raises(TrialFailed) as failure:
        FarAgent(shell)._persist(lambda text: None, shell.run, ["start"])
    assert str(failure.value) == (
        "the connection to there broke, and did not come back within 300 s. The trial goes on "
        "there; the same command fetches its result"
    )
    assert 300 <= clock[0] <= 302


def test_another_problem_is_not_tried_again(clock):
    shell = Shell(ValueError("not of the connection"))
    with pytest.raises(ValueError, match="not of the connection"):
        FarAgent(shell)._persist(lambda text: None, shell.run, ["start"])
    assert len(shell.asked) == 1


def test_a_log_is_followed_from_where_it_broke_off(clock):
    told = []
    first = [{"offset": 10, "text": "a"}, {"offset": 20, "text": "b"}, LOST]
    shell = Shell(first, LOST, [{"offset": 30, "text": "c"}, {"state": "finished"}])
    assert follow(shell, told) == "finished"
    assert [text for text in told if len(text) == 1] == ["a", "b", "c"]
    assert len([text for text in told if text.endswith("trying again")]) == 2
    assert [argv[-1] for argv in shell.asked] == ["0", "20", "20"]


def test_containers_are_brought_again_where_the_connection_broke_meanwhile(clock):
    answers, brought = [LOST, None], []

    def bring(wanted):
        brought.append(wanted)
        if problem := answers.pop(0):
            raise problem

    line = {"offset": 10, "text": "a"}
    asked = {"containers": {"disk": "loop0", "groups": {"main": "loop0p1"}}}
    shell = Shell([line, asked, {"state": "finished"}], [asked, {"state": "finished"}])
    assert follow(shell, [], bring) == "finished"
    assert brought == [("loop0", {"main": "loop0p1"})] * 2 and answers == []
    assert [argv[-1] for argv in shell.asked] == ["0", "10"]


def test_each_line_starts_the_patience_anew(clock):
    """Broken after every line, it takes longer than one break may; nothing is given up."""
    away = [Unreachable("there does not answer")] * 200
    line = [{"offset": 10, "text": ""}, LOST]
    shell = Shell(line, *away, line, *away, [{"state": "finished"}])
    assert follow(shell, []) == "finished"
    assert clock[0] > far_agent.RECONNECT_S
