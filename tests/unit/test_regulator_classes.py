"""Classes from a file: what it may say, and the sentence about what it may not."""

import json

import pytest

from elevatorlab.agent.errors import Refused
from elevatorlab.agent.operations import classes, cli
from elevatorlab.agent.operations.classes import SlaClass
from elevatorlab.agent.regulator.targets import Pattern

NAME = "/etc/regulator.yaml"
SLAE = ["--policy=slae", "--sla-wait-ms=5"]


@pytest.fixture
def read(tmp_path):
    """Return a function that reads classes from a text."""

    def from_file(content):
        file = tmp_path / "classes.json"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return classes.read(file, NAME)

    return from_file


def test_a_file_with_all_that_there_is(read):
    pods = "kubepods.slice/*"
    content = {
        "db": {"sla": 2, "cgroups": ["system.slice/db.service"], "devices": ["sdb"]},
        "batch": {"sla": "none", "cgroups": [pods]},
        "web": {},
    }
    found = read({"classes": content})
    assert found == [
        SlaClass("db", True, 2.0, ("system.slice/db.service",), ("sdb",)),
        SlaClass("batch", True, None, (pods,)),
        SlaClass("web"),
    ]
    assert classes.slas_of(found) == {"db": 2.0, "batch": None}
    assert classes.patterns_of(found, ["sda"]) == [
        Pattern("system.slice/db.service", ("sdb",), "db"),
        Pattern(pods, ("sda",), "batch"),
    ]
    with pytest.raises(Refused, match="block device for the cgroups of class batch; found none"):
        classes.patterns_of(found, [])


@pytest.mark.parametrize(
    "content, sentence",
    [
        ('{"classes":\n {"db" {}}}', "expected JSON in NAME; found in line 2: Expecting ':'"),
        ('{"classes": {"db": {}, "db": {}}}', "expected text with each key once .* found db twice"),
        ([], "the file: expected a mapping with classes; found \\[\\]"),
        ({}, "the file: expected a mapping with classes; found {}"),
        ({"classes": {}, "rules": 1}, "the file: expected classes; found rules"),
        ({"classes": {}}, "classes: expected a mapping of names to classes; found {}"),
        ({"classes": ["db"]}, "classes: expected a mapping of names to classes; found"),
        ({"classes": {"": {}}}, "classes: expected a name for each class; found an empty one"),
        ({"classes": {"db": 5}}, "classes.db: expected a mapping with sla, .*; found 5"),
        ({"classes": {"db": {"slo": 5}}}, "classes.db: expected sla, cgroups, devices; found slo"),
        ({"classes": {"db": {"sla": 0}}}, "classes.db.sla: expected a number above 0, .* found 0"),
        ({"classes": {"db": {"sla": True}}}, "classes.db.sla: expected a number .* found true"),
        ({"classes": {"db": {"sla": None}}}, "classes.db.sla: expected a number .* found null"),
        ({"classes": {"db": {"sla": "5ms"}}}, 'classes.db.sla: expected a number .* found "5ms"'),
        ({"classes": {"db": {"cgroups": "a"}}}, "classes.db.cgroups: expected a list .* found"),
        ({"classes": {"db": {"cgroups": []}}}, "classes.db.cgroups: expected a list .* found"),
        ({"classes": {"db": {"cgroups": ["/"]}}}, "classes.db.cgroups: expected a list .* found"),
        ({"classes": {"db": {"devices": [1]}}}, "classes.db.devices: expected a list .* found"),
        (
            {"classes": {"a": {"cgroups": ["x/*"]}, "b": {"cgroups": ["x/*"]}}},
            "classes.b.cgroups: expected each pattern once; found x/\\*, which class a has already",
        ),
    ],
)
def test_each_bad_entry_gets_a_sentence_that_names_it(read, content, sentence):
    with pytest.raises(Refused, match=sentence.replace("NAME", NAME)) as refusal:
        read(content)
    assert NAME in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(Refused, match=f"file with classes; found {NAME}: No such file"):
        classes.read(tmp_path / "none.json", NAME)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="expected text .* found 'utf-8' codec can't decode"):
        classes.read(tmp_path / "binary", NAME)


def options(tmp_path, content, *more):
    file = tmp_path / "classes.json"
    file.write_text(json.dumps({"classes": content}))
    return cli.parser().parse_args([*more, f"--config={file}"])


def test_the_command_line_and_the_file_together(tmp_path):
    content = {"db": {"sla": 2}, "batch": {"sla": "none"}}
    chosen = options(tmp_path, content, *SLAE, "--class=web=9")
    policy = cli.policy_of(chosen, cli.classes_of(chosen))
    assert policy.slas == {"": 5.0, "web": 9.0, "db": 2.0, "batch": None}


def test_a_threshold_has_no_slas(tmp_path):
    chosen = options(tmp_path, {"a": {}, "db": {"sla": 2}}, "--policy=ute")
    with pytest.raises(Refused, match="without an SLA with --policy ute; found one of class db"):
        cli.classes_of(chosen)


def test_containers_and_cgroups_at_once(tmp_path):
    chosen = options(tmp_path, {"db": {"cgroups": ["x"]}}, *SLAE, "--container=a", "--device=sda")
    known = cli.classes_of(chosen)
    with pytest.raises(Refused, match="--container or classes with cgroups; found both"):
        cli.source_of(chosen, known, None, None)
