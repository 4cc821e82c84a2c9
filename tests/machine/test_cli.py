"""The command line: exit status, one sentence for what went wrong, and what it prints."""

import csv
import io
import json
import re

import pytest

from elevatorlab.results import references
from elevatorlab.testbeds.deterministic import image
from helpers import ATTESTED, cli

STUDY = "vm_vs_container"

KEYS = {
    *("id", "study", "source", "quantity", "published"),
    *("unit", "testbed", "measured", "verdict", "reason"),
}

#: The smallest campaign from which every figure and table can be made.
SMOKE = [
    *("--preset", "smoke", "-p", "memory_mib=512", "-p", "device_mib=192"),
    *("-p", "sizes_mb=10,50", "-p", "variants=dropped", "-p", "arms=host,container"),
]


def test_claims_are_counted_and_listed_on_request():
    """Of all studies the counts; of one, or with --all, each claim."""
    published = ("--results", "published")
    counted, listed, one = (
        cli("claims", *more, *published).stdout for more in ([], ["--all"], [STUDY])
    )
    assert "iozone_ranking: 54 claims\n" in counted
    assert counted.endswith("claim by claim: elevatorlab claims STUDY, or --all\n")
    assert len(counted.splitlines()) < 50 < len(one.splitlines()) < len(listed.splitlines())
    assert "percentage-erratum" in one and "percentage-erratum" in listed


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smoke") / "results"
    run = cli("run", STUDY, *SMOKE, "--results", folder)
    assert run.returncode == 0, run.stderr
    assert "8 trials to run, 0 finished already" in run.stdout
    return folder


@pytest.mark.image
class TestWithImage:
    """From trials to the report."""

    def test_dry_run(self, tmp_path):
        run = cli("run", STUDY, *SMOKE, "--dry-run", "--results", tmp_path / "r")
        assert run.returncode == 0, run.stderr
        first, where, *listed = run.stdout.splitlines()
        assert "8 trials to run, 0 finished already; minutes not known before" in first
        assert "8 MiB of disk space at most" in first
        assert where == f"results in {tmp_path / 'r'}"
        assert {line.split()[0] for line in listed} == {"deterministic"}
        assert len({line.split()[1] for line in listed}) == 8
        assert not (tmp_path / "r").exists()

    def test_nothing_is_run_twice(self, results):
        before = {file: file.stat().st_mtime_ns for file in results.rglob("*")}
        run = cli("run", STUDY, *SMOKE, "--results", results)
        assert run.returncode == 0, run.stderr
        assert "0 trials to run, 8 finished already" in run.stdout
        assert {file: file.stat().st_mtime_ns for file in results.rglob("*")} == before

    def test_results_are_a_tidy_table(self, results):
        run = cli("results", STUDY, "--results", results)
        rows = list(csv.DictReader(io.StringIO(run.stdout.strip())))
        # two schedulers, two arms; two files in the first test, a tree in the second
        assert len(rows) == 2 * 2 * (2 + 1)
        assert {row["preset"] for row in rows} == {"smoke"}
        for row in rows:
            assert float(row["time_s"]) > 0
            assert int(row["device_read_bytes"]) >= int(row["bytes_read"])  # caches were dropped
        as_json = json.loads(cli("results", STUDY, "--results", results, "--json").stdout)
        assert len(as_json) == len(rows)

    def test_provenance(self, results, testbed):
        for file in results.glob("*/*/provenance.json"):
            content = json.loads(file.read_text())
            assert content["testbed"] == "deterministic"
            assert content["image_digest"] == testbed.identity()
            assert content["packages"]["linux-image-amd64"] == content["kernel"]
            assert content["qemu"].startswith("QEMU emulator")
            assert content["host"]["cores"] >= 1 and content["package"]

    def test_the_report(self, results, tmp_path):
        run = cli("report", "--results", results, "--out", tmp_path)
        assert run.returncode == 0, run.stderr
        assert str(tmp_path / "index.html") in run.stdout
        assert STUDY in (tmp_path / "index.html").read_text()
        assert "All 8 trials of" in (tmp_path / f"{STUDY}.html").read_text()
        starts = {"pdf": b"%PDF-", "png": b"\x89PNG", "svg": b"<?xml"}
        for kind, start in starts.items():
            files = list((tmp_path / "figures").rglob(f"*.{kind}"))
            assert files
            assert [file for file in files if not file.read_bytes().startswith(start)] == []
        with open(tmp_path / "tables" / f"{STUDY}-claims.csv", newline="") as table:
            assert set(next(csv.DictReader(table))) >= KEYS

    def test_a_bundle_is_verified_by_running_its_trials_again(self, results, tmp_path):
        run = cli("bundle", "--results", results, "--out", tmp_path / "b.zip")
        assert run.returncode == 0, run.stderr
        published = re.search(r"manifest SHA-256 ([0-9a-f]{64})", run.stdout)[0]
        run = cli("verify", tmp_path / "b.zip", "--sample", "1")
        assert (run.returncode, run.stdout.count("same bits")) == (0, 1), run.stdout
        assert published in run.stdout

    def test_verify(self, record_property):
        if not (references.FOLDER / f"{STUDY}.digests.csv").exists():
            pytest.skip(
                f"no stored reference in {references.FOLDER}; `elevatorlab reference` makes it"
            )
        run = cli("verify", "--sample", "1", "--attest")
        study, trial = re.search(r"^(\w+) ([0-9a-f]{20}): ", run.stdout, re.MULTILINE).groups()
        stored, _ = references.digests(study)[trial]
        if stored == image.digest():
            assert (run.returncode, run.stdout.count("same bits")) == (0, 1), run.stdout
            record_property(ATTESTED, run.stdout.splitlines()[-1])
        else:  # another agent or newer packages than the reference's: bits cannot be compared
            differ = run.stdout.count("differ, as they may")
            assert (run.returncode, differ) == (4, 1), run.stdout
