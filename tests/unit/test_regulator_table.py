"""The live table: the victim, the offender and the decision of each period."""

import io

from elevatorlab.agent.regulator.control import Decision
from elevatorlab.agent.regulator.observation import Disk, Observation, Usage
from elevatorlab.agent.regulator.report import HOME, SHOWN_DECISIONS, draw, table

WEB = Usage("w", "web", "db", "sda", 0, 50, 0, 2.5e5, 17.256, 0.9, 0.86, 50, True)
BATCH = Usage("b", "batch", "", "sda", 0, 160, 0, 5.2e6, 18.6, 2.98, 1.0, 160, False)
SEEN = Observation(1.0, 1.0, (WEB, BATCH), {"sda": Disk("sda", 0.98, 3.9, 5.5e6, 210, True)})
NUMBERS = {"victim": "web", "wait_ms": 17.256, "sla": 5.0}
CAUSE = "wait_ms of web is 17.256, SLA 5.0"
THROTTLE = Decision("b", "batch", "throttle", 1 << 20, CAUSE, NUMBERS)


def test_a_period_with_a_decision():
    lines = table(SEEN, {"b": 1 << 20}, [THROTTLE])
    assert lines[:2] == [
        "disk sda: utilisation 98.0%",
        f"decision: throttle batch to 1024 KiB/s: {CAUSE}",
    ]
    heads, batch, web = lines[2:]
    assert batch.split() == [
        "batch", "offender", "160", "0", "5078", "18.60~", "2.98~", "100.0~", "1024",
    ]  # fmt: skip
    assert web.split() == ["web", "db", "victim", "50", "0", "244", "17.26", "0.90", "86.0", "-"]
    # Each column ends under its head.
    assert [len(line) for line in (batch, web)] == [len(heads)] * 2
    assert heads.index("role") == web.index("victim") == batch.index("offender")


def test_a_period_without_a_decision_still_shows_who_is_limited():
    _, decision, _, batch, web = table(SEEN, {"b": 1 << 20}, [])
    assert decision == "decision: none, all limits stay as they are"
    assert "offender" in batch and "victim" not in web


def test_a_release_a_report_and_many_decisions():
    release = Decision("b", "batch", "release", None, "the pressure is gone", {})
    report = Decision("", "", "report", None, "nothing to throttle", NUMBERS)
    lines = table(SEEN, {}, [release, report, *[THROTTLE] * SHOWN_DECISIONS])
    assert lines[1:3] == [
        "decision: release batch: the pressure is gone",
        "decision: report: nothing to throttle",
    ]
    assert lines[1 + SHOWN_DECISIONS] == "decision: 2 more, see the log"


def test_the_table_is_drawn_over_the_last_one():
    terminal = io.StringIO()
    draw(SEEN, {}, [THROTTLE], terminal)
    assert terminal.getvalue().startswith(HOME)
    assert terminal.getvalue().count("\n") == len(table(SEEN, {}, [THROTTLE]))
