"""What the regulator shows: a Grafana dashboard of its metrics, and a live table."""

import io
import itertools
import json
import re

import pytest

from elevatorlab.agent.operations import metrics
from elevatorlab.agent.operations.live_table import HOME, SHOWN_DECISIONS, draw, table
from elevatorlab.agent.regulator.control import Decision
from elevatorlab.agent.regulator.observation import Disk, Observation, Usage
from elevatorlab.paths import PROJECT

DASHBOARD = json.loads((PROJECT / "docs/grafana/regulator.json").read_text())
PANELS = DASHBOARD["panels"]
TARGETS = [(panel, target) for panel in PANELS for target in panel["targets"]]
EXPRESSIONS = [target["expr"] for _, target in TARGETS]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
QUERIES = [one["query"]["query"] for one in VARIABLES.values() if one["type"] == "query"]

#: A panel is 24 columns wide at most (Grafana's dashboard schema).
COLUMNS = 24
#: What Grafana itself puts in place of a name after ``$``.
BUILT_IN = {"__range", "__rate_interval"}
#: A label that Prometheus adds to all that it reads from a host.
ADDED_LABEL = "instance"


@pytest.fixture(scope="module")
def exported():
    """Return each exported metric: name -> (kind, labels), from a page with all of them."""
    usage = Usage("w", "web", "", "sda", 1, 1, 1, 1, 1.0, 1, 1, 2, True)
    seen = Observation(1.0, 1.0, (usage,), {"sda": Disk("sda", 0.9, 1, 1, 1, True)})
    page = metrics.page(seen, {"w": 1 << 20}, {"throttle": 1}, 0)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))
    samples = re.findall(r"^(elevatorlab_\w+)(?:\{(.*)\})? \S+$", page, re.MULTILINE)
    labels = {name: set(re.findall(r'(\w+)="', inside)) for name, inside in samples}
    assert kinds.keys() == labels.keys()
    return {name: (kind, labels[name]) for name, kind in kinds.items()}


def asked(text):
    """Return each metric in a query with the labels that are asked of it."""
    found = re.findall(r"(elevatorlab_\w+)(?:\{([^}]*)\})?", text)
    return [(name, set(re.findall(r"(\w+)=~?\"", inside))) for name, inside in found]


def test_every_metric_is_shown_and_no_other_is_asked_for(exported):
    shown = {name for text in EXPRESSIONS for name, _ in asked(text)}
    assert shown == exported.keys()
    assert {name for text in QUERIES for name, _ in asked(text)} <= exported.keys()


def test_labels_are_those_that_the_metrics_have(exported):
    for text in EXPRESSIONS + QUERIES:
        for name, labels in asked(text):
            assert labels <= exported[name][1] | {ADDED_LABEL}, text
    for _, target in TARGETS:
        [(name, _)] = asked(target["expr"])
        used = re.findall(r"{{(\w+)}}", target["legendFormat"])
        used += re.findall(r"by \((.+?)\)", target["expr"])
        assert set(used) <= exported[name][1], target["expr"]


def test_counters_are_asked_how_fast_they_grow_and_gauges_what_they_are(exported):
    for text in EXPRESSIONS:
        for name, _ in asked(text):
            grows = re.search(rf"(rate|increase)\({name}", text) is not None
            assert grows == (exported[name][0] == "counter"), text


def test_every_variable_that_is_used_is_there():
    used = set(re.findall(r"\$\{?(\w+)", json.dumps([PANELS, QUERIES])))
    assert used - BUILT_IN - {"__all"} == VARIABLES.keys()
    assert VARIABLES["datasource"]["type"] == "datasource"


def test_the_file_is_a_dashboard_as_grafana_imports_it():
    assert 8 <= len(DASHBOARD["uid"]) <= 40 and DASHBOARD["title"]
    assert isinstance(DASHBOARD["schemaVersion"], int)
    assert DASHBOARD["time"].keys() == {"from", "to"}
    assert "id" not in DASHBOARD  # that is an installation's own
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["type"] in ("stat", "timeseries") and panel["title"] and panel["description"]
        assert panel["fieldConfig"].keys() == {"defaults", "overrides"}
        letters = [target["refId"] for target in panel["targets"]]
        assert letters == ["A", "B"][: len(letters)]
    for part in PANELS + [target for _, target in TARGETS]:
        assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_panels_lie_side_by_side():
    taken = []
    for panel in PANELS:
        x, y, width, height = (panel["gridPos"][key] for key in "xywh")
        assert 0 <= x < x + width <= COLUMNS
        taken += itertools.product(range(x, x + width), range(y, y + height))
    assert len(set(taken)) == len(taken)
    assert len(taken) == COLUMNS * (1 + max(row for _, row in taken))


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
