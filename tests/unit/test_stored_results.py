"""Stored results: read with their version, refused by field, and described by JSON Schemas."""

import json

import pytest

import stored
from elevatorlab.agent.lifecycle import run
from elevatorlab.agent.observe.sampler import COLUMNS
from elevatorlab.cli.schemas import SCHEMAS, schema
from elevatorlab.plugins.trial_parts import WORKLOADS
from elevatorlab.results import models, reading, store
from elevatorlab.results.outcome import Outcome
from helpers import cli

FIO = {"reader": stored.fio_read()}


@pytest.fixture
def folder(tmp_path, make_trial):
    """Return the folder of a whole result."""
    trial = make_trial()
    files = {"result.json": stored.spelled(stored.result(FIO))}
    store.write(tmp_path / trial.hash, trial, Outcome(files, stored.provenance()))
    return tmp_path / trial.hash


def change(folder, name, **changes):
    content = {**json.loads((folder / name).read_text()), **changes}
    (folder / name).write_text(json.dumps(content))


def test_what_was_written_is_read(folder):
    one = reading.read(folder)
    assert one.result.as_given() == stored.result(FIO)
    assert one.provenance.as_given() == stored.provenance()
    assert one.trial["study"] == "laboratory"


def test_whole_numbers_stay_whole(folder):
    change(folder, "result.json", workloads={"reader": stored.fio_read(iops=10)})
    found = reading.read(folder).result.as_given()["workloads"]["reader"]["read"]
    assert (type(found["iops"]), type(found["kib_s"])) == (int, float)


def test_the_agent_writes_the_version_that_is_read():
    assert run.SCHEMA_VERSION == models.SCHEMA_VERSION


def test_the_agent_samples_what_is_read():
    assert list(models.Sample.model_fields) == list(COLUMNS)


@pytest.mark.parametrize("version", [None, 1, 3])
@pytest.mark.parametrize("name", ["result.json", "provenance.json"])
def test_another_version_is_refused(folder, name, version, error_of):
    change(folder, name, schema_version=version)
    said = error_of(_read_all, folder)
    assert f"{name} of trial {folder.name}: schema_version: expected 2; found {version}" in said
    assert "version of the package that made it" in said


def _read_all(folder):
    one = reading.read(folder)
    return one.result, one.provenance


NOT_A_NUMBER = {**stored.RATES, "read_iops": float("nan")}
WRONG = [
    ({"workloads": {"reader": stored.fio_read(kib_s="x")}}, "reader.read.kib_s: expected a number"),
    ({"device": NOT_A_NUMBER}, "device.read_iops: expected a number (given: nan)"),
    (
        {"workloads": {"reader": stored.fio_read(requests=0.5)}},
        "expected a whole number (given: 0.5",
    ),
    (
        {"workloads": {"reader": {**stored.fio_read(), "colour": 1}}},
        "workloads.reader.colour: no su",
    ),
    ({"colour": "blue"}, "colour: no such parameter (given: 'blue')"),
    ({"workloads": {}}, "workloads.reader: required, and not given"),
    ({"outcome": "failed"}, "outcome: Input should be 'finished'"),
]


@pytest.mark.parametrize(("changes", "sentence"), WRONG)
def test_a_wrong_field_of_a_result_is_named(folder, changes, sentence, error_of):
    change(folder, "result.json", **changes)
    said = error_of(_read_all, folder)
    assert said.startswith(f"result.json of trial {folder.name}: ") and sentence in said


def test_a_wrong_field_of_the_provenance_is_named(folder, error_of):
    change(folder, "provenance.json", wall_s="long")
    said = error_of(_read_all, folder)
    assert said.startswith(f"provenance.json of trial {folder.name}: wall_s: expected a number")


def test_a_plug_in_that_the_provenance_names_wrongly_is_named(folder, error_of):
    named = {"kind": "workload", "name": "naps", "package": "zoo", "version": "1", "digest": "d"}
    change(folder, "provenance.json", plugins=[named], testbed_plugin={**named, "kind": "testbed"})
    assert reading.read(folder).provenance.plugins[0].package == "zoo"
    change(folder, "provenance.json", plugins=[{"kind": "workload", "name": "naps"}])
    said = error_of(_read_all, folder)
    assert said.startswith(f"provenance.json of trial {folder.name}: plugins.0.digest: required")


def test_a_testbed_that_says_too_little_is_told_so(tmp_path, make_trial, error_of):
    told = stored.provenance()
    del told["machine"]
    said = error_of(store.write, tmp_path / "hash", make_trial(), Outcome({}, told))
    assert "machine: required, and not given" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["trial.json", "result.json", "provenance.json"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [("{", "expected a whole file"), ("[]", "expected a JSON object; found list")],
)
def test_a_damaged_file_is_named(folder, name, content, sentence, error_of):
    (folder / name).write_text(content)
    said = error_of(_read_all, folder)
    assert said.startswith(f"{name} of trial {folder.name}: {sentence}")


def test_a_trial_that_says_too_little_is_named(folder, error_of):
    (folder / "trial.json").write_text('{"preset": "quick", "workloads": []}')
    said = error_of(reading.read, folder)
    assert said.startswith(f"trial.json of trial {folder.name}: study: required")


def test_figures_of_another_package_are_whatever_they_are(folder):
    trial = json.loads((folder / "trial.json").read_text())
    trial["workloads"][0]["kind"] = "somebody_elses"
    (folder / "trial.json").write_text(json.dumps(trial))
    change(folder, "result.json", workloads={"reader": {"anything": [1]}})
    assert reading.read(folder).result.workloads == {"reader": {"anything": [1]}}


def test_every_kind_of_ours_says_what_it_measures():
    assert [kind for kind, model in WORKLOADS.items() if model.measurements is None] == []


SAMPLES = ",".join(COLUMNS) + "\n0.1,device,1.5,0,6,0,0.2,,0.3,0.4\n0.1,main,1.5,0,6,0,,,,\n"


def test_samples_are_read(folder):
    (folder / "samples.csv").write_text(SAMPLES)
    table = reading.read_samples(folder)
    assert list(table["target"]) == ["device", "main"]
    assert table["read_iops"].sum() == 3.0
    assert table["queue_length"].isna().sum() == 1


def test_a_group_may_have_the_name_of_nothing(folder):
    (folder / "samples.csv").write_text(SAMPLES.replace("main", "null"))
    assert list(reading.read_samples(folder)["target"]) == ["device", "null"]


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("1.5,0,6,0,,,,", "much,0,6,0,,,,", ", line 3: read_iops: expected a number; found 'much'"),
        ("0.1,main", ",main", ", line 3: time_s: expected a number; found an empty cell. Remove"),
        ("0.1,main", "0.1,", ", line 3: target: expected a name; found an empty cell"),
        ("1.5,0,6,0,,,,", "1.5,0,,0,,,,", ", line 3: read_kib_s: expected a number; found an"),
        ("1.5,0,6,0,,,,", "inf,0,6,0,,,,", ", line 3: read_iops: expected a number; found 'inf'"),
        ("0.3,0.4", "x,0.4", ", line 2: queue_length: expected a number or nothing; found 'x'"),
        ("0.1,main", "\n0.1,main", ", line 3: time_s: expected a number; found an empty cell"),
        ("read_iops", "riops", ": expected the columns time_s, target, read_iops, "),
        (SAMPLES, "", ": expected a whole file; found that it is damaged"),
    ],
)
def test_wrong_samples_are_named(folder, before, after, sentence, error_of):
    (folder / "samples.csv").write_text(SAMPLES.replace(before, after))
    said = error_of(reading.read_samples, folder)
    assert said.startswith(f"samples.csv of trial {folder.name}{sentence}")


def test_samples_that_are_not_there_are_named(folder, error_of):
    said = error_of(reading.read_samples, folder)
    assert "expected a file that can be read; found otherwise (No such file" in said


# To import jsonschema takes a second, which no collection of tests needs.


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(name):
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_what_is_written_meets_its_schema(make_trial):
    import jsonschema

    written = {
        "trial": make_trial().model_dump(mode="json"),
        "result": stored.result({"reader": stored.fio_read()}),
        "provenance": stored.provenance(),
    }
    for name, content in written.items():
        jsonschema.validate(content, schema(name))


@pytest.mark.parametrize("name", ["trial", "result", "provenance"])
def test_an_unknown_key_does_not(name):
    import jsonschema

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"colour": "blue"}, schema(name))


def test_a_result_s_schema_has_the_figures_of_every_kind():
    kinds = schema("result")["$defs"]["figures by kind of workload"]["properties"]
    assert {"fio", "fio_points", "paced_writes", "sysbench_insert"} <= set(kinds)


def test_they_are_printed_or_written(tmp_path):
    printed = json.loads(cli("schemas", "provenance").stdout)
    assert printed["title"].startswith("provenance.json")
    ended = cli("schemas", "--out", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert {file.name for file in tmp_path.iterdir()} == {f"{n}.schema.json" for n in SCHEMAS}
    assert json.loads((tmp_path / "provenance.schema.json").read_text()) == printed


def test_an_unknown_name_is_refused_with_those_there_are(error_of):
    said = error_of(schema, "colour")
    assert said == f"schema: expected one of {', '.join(SCHEMAS)}; found 'colour'"
