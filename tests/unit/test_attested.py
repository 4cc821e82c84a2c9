"""Which machines have verified the bits: the line, the file, the matrix and the badge."""

import csv
import json
from types import SimpleNamespace

import pytest

from attestations import BITS, IMAGE, line
from elevatorlab.plugins import studies
from elevatorlab.results import attested, reading, references
from elevatorlab.results.attested import Attestation
from elevatorlab.sharing import attestation
from elevatorlab.sharing.verification import ANOTHER_IMAGE, SAME, Verification
from elevatorlab.showing import badge
from elevatorlab.studies import vm_vs_container
from helpers import cli
from synthetic import write_results


@pytest.fixture
def file(tmp_path):
    """Return a function that writes lines to a file as a user appends them."""

    def write(*lines):
        target = tmp_path / "attested.csv"
        header = ",".join(Attestation.model_fields)
        target.write_text("\n".join([header, *(one.line() for one in lines)]) + "\n")
        return target

    return write


def test_a_line_is_read_as_it_was_printed(file):
    two = [line(), line(route="CI", trials="innodb_commit=12")]
    assert attested.read(file(*two)) == two
    assert two[0].counts == {"innodb_commit": 2, "vm_vs_container": 1}


@pytest.mark.parametrize(
    ("field", "value"), [("date", "today"), ("bits", "b"), ("trials", "3"), ("route", "mine")]
)
def test_a_wrong_line_is_named(file, error_of, field, value):
    rows = line().model_dump() | {field: value}
    target = file(line())
    with open(target, "a", newline="") as out:
        csv.writer(out).writerow(rows.values())
    assert f"{target}, line 3: {field}: " in error_of(attested.read, target)


def test_the_bits_stand_for_every_result_in_any_order():
    one, two = {("a", "1"): "x", ("b", "2"): "y"}, {("b", "2"): "y", ("a", "1"): "x"}
    assert attestation.bits_of(one) == attestation.bits_of(two)
    assert attestation.bits_of(one) != attestation.bits_of({**one, ("b", "2"): "z"})


def test_only_the_same_bits_are_attested(error_of):
    found = [Verification("s", "1", SAME, ""), Verification("s", "2", ANOTHER_IMAGE, "")]
    said = error_of(attestation.of_verification, {}, found, IMAGE)
    assert said.startswith("not attested: s 2:")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Return a folder of results that the stored reference knows."""
    reference = tmp_path / "reference"
    reference.mkdir()
    monkeypatch.setattr(references, "FOLDER", reference)
    monkeypatch.setattr(attestation.studies, "ours", lambda: [vm_vs_container])
    write_results(tmp_path / "results", arms=("host",), repetitions=1)
    with open(reference / "vm_vs_container.digests.csv", "w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["trial", "image_digest", "result_sha256"])
        for one in reading.results_in(tmp_path / "results"):
            rows.writerow([one.folder.name, "of host", reading.digest(one.folder)])
    return tmp_path / "results"


def test_results_like_the_references_are_attested(results, monkeypatch):
    monkeypatch.setattr(attestation, "Attestation", dict)
    found = attestation.of_results(results, "of host")
    count = len(list(results.glob("*/*/result.json")))
    assert count and found["trials"] == f"vm_vs_container={count}"


@pytest.mark.parametrize(
    ("variables", "route"),
    [({}, "native"), ({"CI": "true"}, "CI"), ({"ELEVATORLAB_ROUTE": "container"}, "container")],
)
def test_the_line_says_how_it_was_run(monkeypatch, variables, route):
    for name in ("CI", "ELEVATORLAB_ROUTE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(attestation.our_qemu, "compiler", lambda: "GCC 12.2.0")
    found = [Verification("s", "1", SAME, ""), Verification("s", None, SAME, "")]
    stored = {("s", "1"): SimpleNamespace(result_sha256=BITS)}
    one = attestation.of_verification(stored, found, IMAGE)
    assert (one.route, one.trials, one.image_digest) == (route, "s=1", IMAGE)
    assert one.processor and one.kernel and one.distribution
    assert one.bits == attestation.bits_of({("s", "1"): BITS})


def test_results_with_another_bit_are_not(results, error_of):
    file = next(results.glob("*/*/result.json"))
    content = json.loads(file.read_text())
    file.write_text(json.dumps({**content, "another": 1}))
    said = error_of(attestation.of_results, results, "of host")
    assert said == f"not attested: vm_vs_container {file.parent.name} did not give the same bits"


def test_results_of_another_image_cannot_be_compared(results, error_of):
    said = error_of(attestation.of_results, results, IMAGE)
    assert "no trial of the reference was run with its image; this one is aaaaaaaaaaaa" in said


def test_a_bundle_is_not_attested():
    run = cli("verify", "some.zip", "--attest")
    assert run.returncode == 2 and "it is about the reference" in run.stderr


def test_the_lines_of_the_repository_are_about_our_studies():
    """And each is one that `verify --attest` could have printed."""
    names = {study.NAME for study in studies.ours()}
    lines = attested.read()
    assert lines and {name for one in lines for name in one.counts} <= names


def test_the_badge_is_up_to_date():
    assert badge.FILE.read_text() == badge.svg(attested.read()), "elevatorlab artifact draws it"


def test_the_badge_counts_kinds_of_machines_and_not_lines():
    again, other = line(date="2026-11-23", route="CI"), line(compiler="clang 14.0.6")
    older = line(image_digest="c" * 64, processor="B")
    said = badge.words([older, line(), again, other])
    assert said == "aaaaaaaaaaaa on 1 processor model, 1 distribution, 2 compilers"
    assert badge.words([]) == "none yet"
