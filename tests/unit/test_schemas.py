"""The JSON Schemas that the command prints describe what is really written."""

import json

import jsonschema
import pytest

import stored
from elevatorlab.cli.schemas import SCHEMAS, schema
from helpers import cli


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))


def test_what_is_written_meets_its_schema(make_trial):
    written = {
        "trial": make_trial().model_dump(mode="json"),
        "result": stored.result({"reader": stored.fio_read()}),
        "provenance": stored.provenance(),
    }
    for name, content in written.items():
        jsonschema.validate(content, schema(name))


@pytest.mark.parametrize("name", ["trial", "result", "provenance"])
def test_an_unknown_key_does_not(name):
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
