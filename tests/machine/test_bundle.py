"""Bundles: whole, readable by other programs, checked to the last byte when they come back."""

import hashlib
import json
import random
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from rocrate.rocrate import ROCrate

import stored
from browser import barriers, chromium, opened, overflow_px
from elevatorlab.errors import ElevatorLabError
from elevatorlab.results.outcome import Outcome
from elevatorlab.sharing import bundles, verification
from elevatorlab.sharing.bundles import manifest, reading
from elevatorlab.showing.report import write_report
from elevatorlab.trial import parse
from elevatorlab.trial.trial import content_hash
from fake_testbed import FakeTestbed
from helpers import cli
from synthetic import write_results

STUDY = "vm_vs_container"
IMAGE = "a" * 64


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_results(folder, arms=("host", "container"), repetitions=2)
    return folder


@pytest.fixture(scope="module")
def made(results):
    file = results.with_name("made.zip")
    bundles.write(results, file, write_report)
    return file


@pytest.fixture
def changed(made, tmp_path):
    """Return a function that copies the bundle with other files in it, and returns the copy."""

    def write(changes=None, more=(), without=(), link=None):
        target = tmp_path / "changed.zip"
        with zipfile.ZipFile(made) as old, zipfile.ZipFile(target, "w") as new:
            for name in old.namelist():
                if name not in without:
                    new.writestr(name, (changes or {}).get(name, old.read(name)))
            for name, content in more:
                about = zipfile.ZipInfo(name)
                about.external_attr = (0o120777 if name == link else 0o100644) << 16
                new.writestr(about, content)
        return target

    return write


def content_of(file, name):
    with zipfile.ZipFile(file) as opened_zip:
        return opened_zip.read(name)


def damage(file):
    with bundles.Bundle(file) as bundle:
        return bundle.damage()


def test_a_bundle_is_an_ro_crate(made, results, tmp_path):
    """Each trial is a part of it; each run is an action with its program and its results."""
    zipfile.ZipFile(made).extractall(tmp_path)
    crate = ROCrate(tmp_path)
    parts = {part.id for part in crate.root_dataset["hasPart"]}
    folders = {path.parent for path in results.glob("*/*/trial.json")}
    assert {f"results/{path.parent.name}/{path.name}/" for path in folders} <= parts
    assert {"manifest.json", "report/", "data/claims/", "environment/requirements.lock"} <= parts
    assert [part for part in parts if not (tmp_path / part).exists()] == []
    actions = crate.get_by_type("CreateAction")
    whole = next(one for one in actions if one["instrument"] == crate.mainEntity)
    assert len(whole["result"]) == len(folders)
    actions.remove(whole)
    assert {one["name"] for one in actions} == {f"{STUDY}: docker, smoke", f"{STUDY}: host, smoke"}
    assert sum(len(one["result"]) for one in actions) == len(folders)
    assert {one["instrument"]["version"] for one in actions} == {"of host", "of container"}


def test_a_bundle_is_a_workflow_run_crate(made, tmp_path):
    """So says the profile's own validator; and it notices what is missing."""
    import crates  # here, since the validator takes seconds to load

    zipfile.ZipFile(made).extractall(tmp_path / "crate")
    assert crates.issues(tmp_path / "crate", tmp_path) == []
    metadata = tmp_path / "crate" / "ro-crate-metadata.json"
    content = json.loads(metadata.read_text())
    for one in content["@graph"]:
        if one["@type"] == "CreateAction":
            del one["instrument"]
    metadata.write_text(json.dumps(content))
    found = crates.issues(tmp_path / "crate", tmp_path)
    assert any("MUST have an instrument property" in sentence for sentence in found)


def test_its_workflow_is_a_script_with_the_commands(made, tmp_path):
    script = content_of(made, "workflow.sh").decode()
    assert f"elevatorlab run {STUDY} --preset smoke" in script
    assert script.endswith("elevatorlab report --results results\n")
    (tmp_path / "workflow.sh").write_text(script)
    assert subprocess.run(["sh", "-n", tmp_path / "workflow.sh"]).returncode == 0


def test_a_bundle_has_what_it_takes_to_judge_again(made):
    names = zipfile.ZipFile(made).namelist()
    for name in ("report/index.html", "report/claims.html", f"data/claims/{STUDY}.yaml", "LICENSE"):
        assert name in names
    assert [name for name in names if "__pycache__" in name or not manifest.safe(name)] == []


@pytest.mark.browser
@pytest.mark.parametrize("screen", ["wide", "phone"])
def test_its_page_opens_in_a_browser(made, screen, tmp_path):
    zipfile.ZipFile(made).extractall(tmp_path)
    with chromium() as running, opened(running, tmp_path / "ro-crate-preview.html", screen) as page:
        assert barriers(page) == []
        assert overflow_px(page) <= 0
        assert page.get_by_text(f"{STUDY}: host, smoke").is_visible()
        page.get_by_role("link", name="report", exact=True).click()
        assert page.locator("h1").inner_text() == "Elevator Lab: report"


def test_one_other_byte_of_any_file_is_found_and_named(made, changed):
    """Each file of a trial, and one of every other kind; at a random place."""
    names = zipfile.ZipFile(made).namelist()
    trial = next(name for name in names if name.endswith("trial.json")).rpartition("/")[0]
    some = [name for name in names if name.startswith(trial) or not name.startswith("results/")]
    for name in set(some) - {manifest.NAME}:
        content = bytearray(content_of(made, name))
        content[random.Random(name).randrange(len(content))] ^= 1
        found = damage(changed({name: bytes(content)}))
        assert found == [f"{name}: CHANGED, its SHA-256 is not the manifest's"]


def test_a_byte_that_changes_on_the_way_is_found(made, tmp_path, error_of):
    """Anywhere in the zip file itself: it is refused, or it names a file, or nothing was lost."""
    whole = made.read_bytes()
    before = {name: content_of(made, name) for name in zipfile.ZipFile(made).namelist()}
    draw, noticed = random.Random(0), 0
    for _ in range(60):
        content = bytearray(whole)
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        file = tmp_path / "bent.zip"
        file.write_bytes(content)
        try:
            with bundles.Bundle(file) as bundle:
                found = bundle.damage()
        except ElevatorLabError as refusal:
            found = [str(refusal)]
        if found:
            noticed += 1
        else:  # a date or another field that says nothing of the content
            assert {name: content_of(file, name) for name in before} == before
    assert noticed > 40


def test_files_that_are_missing_or_too_many_are_named(changed):
    name = f"report/tables/{STUDY}.csv"
    assert damage(changed(without=[name])) == [f"{name}: missing"]
    assert damage(changed(more=[("results/new", b"x")])) == ["results/new: not in the manifest"]


def rehashed(made, changes):
    """Return the manifest as somebody writes it who changes files and knows how this works."""
    listed = json.loads(content_of(made, manifest.NAME))
    for name, content in changes.items():
        sha256 = hashlib.sha256(content).hexdigest()
        listed["files"][name] = {"size_bytes": len(content), "sha256": sha256}
    return {**changes, manifest.NAME: json.dumps(listed).encode()}


def test_a_table_that_the_results_do_not_give_is_found(made, changed, tmp_path):
    """Even with a manifest that fits."""
    name = f"report/tables/{STUDY}.csv"
    table = content_of(made, name).replace(b"bfq", b"none", 1)
    run = cli("verify", changed(rehashed(made, {name: table})))
    assert run.returncode == 1
    assert f"the report's table is NOT what the results give ({STUDY}.csv)" in run.stdout


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ((b'"seed": 1', b'"seed": 2'), "another trial than its folder's name says"),
        ((b"{", b"\xff{"), "no JSON"),
    ],
)
def test_a_trial_under_another_name_is_found(made, changed, other, said):
    name = next(n for n in zipfile.ZipFile(made).namelist() if n.endswith("/trial.json"))
    trial = content_of(made, name).replace(*other)
    run = cli("verify", changed(rehashed(made, {name: trial})))
    assert run.returncode == 1
    assert f"{name}: {said}" in run.stderr


def refused(error_of, file):
    return error_of(bundles.Bundle, file)


@pytest.mark.parametrize("name", ["../up", "/etc/up", "a/../../up", "a\\up", "C:/up", "a/./b"])
def test_a_file_that_would_leave_its_folder_is_refused(name, changed, error_of):
    said = refused(error_of, changed(more=[(name, b"x")]))
    assert "expected plain files, each once, that stay in their folder" in said
    assert said.endswith("Do not unpack it")


def test_a_link_is_refused(changed, error_of):
    assert "found 'link'" in refused(error_of, changed(more=[("link", b"/etc")], link="link"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_a_name_are_refused(changed, error_of):
    assert "found 'LICENSE'" in refused(error_of, changed(more=[("LICENSE", b"mine")]))


def test_a_bomb_does_not_go_off(made, changed, monkeypatch, error_of):
    """Neither one that says how large it is, nor one that does not."""
    bomb = changed({"LICENSE": bytes(300 << 20)})
    assert damage(bomb) == ["LICENSE: CHANGED, its SHA-256 is not the manifest's"]
    monkeypatch.setattr(reading, "LIMIT_BYTES", 200 << 20)
    assert "expected at most 0 GiB of files; found 0.3 GiB" in refused(error_of, bomb)
    assert "larger" in refused(error_of, changed({manifest.NAME: bytes(65 << 20)}))


def test_what_is_no_bundle_is_said_in_one_sentence(made, changed, tmp_path, error_of):
    cases = {
        "it is not even a zip file": b"hello",
        "its end is missing: it is cut off. Copy it again": made.read_bytes()[:-5000],
    }
    for sentence, content in cases.items():
        (tmp_path / "b.zip").write_bytes(content)
        said = refused(error_of, tmp_path / "b.zip")
        assert said.startswith(f"bundle {tmp_path / 'b.zip'}: expected") and sentence in said
    assert "without manifest.json" in refused(error_of, changed(without=[manifest.NAME]))
    assert "it is damaged" in refused(error_of, changed({manifest.NAME: b'{"format"'}))
    assert "it is damaged" in refused(error_of, changed({manifest.NAME: b"[]"}))
    other = json.dumps({"format": "elevatorlab-bundle/9", "package": "7.0"}).encode()
    said = refused(error_of, changed({manifest.NAME: other}))
    assert "found 'elevatorlab-bundle/9', made by version '7.0'" in said
    wrong = json.dumps({"format": bundles.FORMAT, "package": "1", "files": {"a": 1}}).encode()
    assert "files.a" in refused(error_of, changed({manifest.NAME: wrong}))
    assert "No such file" in refused(error_of, tmp_path / "none.zip")
    assert "Is a directory" in refused(error_of, tmp_path)
    run = cli("verify", tmp_path / "b.zip")
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)


def test_trials_of_real_machines_are_checked_but_not_run(made):
    run = cli("verify", made)
    assert run.returncode == 0, run.stderr
    assert "files are as its manifest says" in run.stdout
    for testbed in ("docker", "host"):
        assert f"16 trials not run again: they ran on a real machine ({testbed})" in run.stdout


def test_where_a_bundle_cannot_be_written_nothing_is_left(results, tmp_path, error_of):
    said = error_of(bundles.write, results, tmp_path / "no" / "b.zip", write_report)
    assert f"expected the folder {tmp_path / 'no'} to exist; it does not" in said
    assert "found the folder" in error_of(bundles.write, results, tmp_path, write_report)
    said = error_of(bundles.write, tmp_path / "empty", tmp_path / "b.zip", write_report)
    assert "expected" in said and list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def simulated(results, tmp_path_factory):
    """Return results as another image of the deterministic testbed would have left them."""
    found = tmp_path_factory.mktemp("simulated") / "results"
    for folder in results.glob("*/*/"):
        place = found / "deterministic" / folder.name
        shutil.copytree(folder, place)
        content = json.loads((place / "provenance.json").read_text())
        content |= {"testbed": "deterministic", "machine": "deterministic", "qemu": "7.2"}
        content["image_digest"] = IMAGE
        (place / "provenance.json").write_text(json.dumps(content))
        trial = parse(json.loads((place / "trial.json").read_text()))
        (place / "trial.json").write_text(trial.canonical_json() + "\n")
    (found / "deterministic" / "identity").touch()
    return found


class Again(FakeTestbed):
    """A testbed that gives each trial the result that `folder` holds, with times multiplied."""

    name, anywhere = "deterministic", False

    def __init__(self, folder, identity, factor):
        self.folder, self._identity, self.factor = folder, identity, factor

    def identity(self):
        return self._identity

    machine = identity

    def run(self, trial, note):
        factor = self.factor(trial)
        stored = Path(self.folder, self.name, trial.hash)
        content = json.loads((stored / "result.json").read_text())
        for workload in content["workloads"].values():
            for read in workload.get("reads", ()):
                read["time_ns"] = round(read["time_ns"] * factor)
        provenance = json.loads((stored / "provenance.json").read_text())
        return Outcome({"result.json": json.dumps(content).encode()}, provenance)


def no_report(results, out):
    """Stand in for the report where a test looks at the results alone."""
    out.mkdir()


@pytest.fixture(scope="module")
def verified(simulated, tmp_path_factory):
    """Return a function that verifies a bundle of `simulated` on a machine that gives `factor`."""
    build = tmp_path_factory.mktemp("build")
    file = simulated.with_name("b.zip")
    bundles.write(simulated, file, no_report)
    with bundles.Bundle(file) as bundle:
        stored, left_out = verification.unpacked(bundle, simulated.with_name("unpacked"))
    assert left_out == [] and len(stored) == 32

    def again(identity, factor=lambda trial: 1, sample=None):
        machine = Again(simulated, identity, factor)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(verification, "BUILD", build)
            found = verification.again(stored, machine, sample)
        assert list((build / "verify").iterdir()) == []
        return found

    return again


def test_the_same_image_and_the_same_bits(verified):
    found = verified(IMAGE, sample=2)
    assert [one.answer for one in found] == ["same"] * 2
    assert verification.outcome(found) == "same"


def test_an_interrupted_verification_goes_on_where_it_stopped(verified):
    ran = []

    def interrupted(trial):
        if len(ran) == 3:
            raise KeyboardInterrupt
        ran.append(trial.hash)
        return 1

    def counted(trial):
        ran.append(trial.hash)
        return 1

    with pytest.raises(KeyboardInterrupt):
        verified(IMAGE, interrupted, sample=8)
    found = verified(IMAGE, counted, sample=8)
    assert [one.answer for one in found] == ["same"] * 8
    assert len(ran) == len(set(ran)) == 8
    verified(IMAGE, counted, sample=8)  # what was compared is not kept
    assert len(ran) == 16


def test_another_image_with_other_times_is_compared_by_rows(verified):
    """It says by how much they differ, and leaves the verdict open."""
    found = verified("b" * 64, lambda trial: 1.25, sample=2)
    assert [one.answer for one in found] == ["another image"] * 2
    for one in found:
        assert "stored with image aaaaaaaaaaaa, this one is bbbbbbbbbbbb" in one.sentence
        assert "what differs is the recipe (environments/)" in one.sentence
        assert "these differ: time_s by up to 25.00%" in one.sentence
    assert verification.outcome(found) == "another image"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"agent_digest": "2" * 64}, "the agent (lib/elevatorlab/agent)"),
        ({"kernel": "6.1.0-2"}, "the kernel (6.1.0-1, now 6.1.0-2)"),
        ({"qemu": "QEMU 9"}, "QEMU (None, now QEMU 9)"),
        ({"packages": {"fio": "3.34", "a": "1"}}, "2 Debian packages (a, fio)"),
        ({"packages": dict.fromkeys("abcd", "1")}, "5 Debian packages (a, b, c, ...)"),
        ({}, "the recipe (environments/), or QEMU's options"),
        ({"kernel": "7", "qemu": "9"}, "the kernel (6.1.0-1, now 7), QEMU (None, now 9)"),
    ],
)
def test_what_differs_between_two_images_is_named(changed, said):
    before = stored.provenance()
    assert verification.differences_of_images(before, {**before, **changed}) == said


def test_another_image_with_all_trials_is_compared_by_verdicts(verified):
    """Twice the time everywhere changes no ratio, and so no verdict."""
    *trials, verdicts = verified("b" * 64, lambda trial: 2)
    assert {one.answer for one in trials} == {"another image"}
    assert (verdicts.study, verdicts.trial, verdicts.answer) == (STUDY, None, "same")
    assert verification.outcome([*trials, verdicts]) == "same"


def test_other_verdicts_are_named(verified):
    """Where all become so slow that no turn of a processor counts, an order is decided."""
    *_, verdicts = verified("b" * 64, lambda trial: 10 if trial.scheduler.name == "bfq" else 1000)
    assert verdicts.answer == "different"
    assert "DIFFER: " in verdicts.sentence and ", now " in verdicts.sentence


def test_other_bits_on_the_same_image_are_different(verified):
    found = verified(IMAGE, lambda trial: 1.25, sample=1)
    assert found[0].answer == verification.outcome(found) == "different"
    assert "DIFFERENT bits on the same image" in found[0].sentence


def test_trials_of_another_version_are_left_out(simulated, tmp_path):
    """A trial with a field that this version does not know is checked, and not run."""
    simulated = shutil.copytree(simulated, tmp_path / "results")
    place = next(simulated.glob("*/*/trial.json")).parent
    content = {**json.loads((place / "trial.json").read_text()), "colour": "blue"}
    (place / "trial.json").write_text(json.dumps(content))
    place.rename(place.with_name(content_hash(content)))
    bundles.write(simulated, tmp_path / "b.zip", no_report)
    with bundles.Bundle(tmp_path / "b.zip") as bundle:
        stored, left_out = verification.unpacked(bundle, tmp_path / "unpacked")
    assert len(stored) == 31
    assert left_out == [
        "1 trials not run again: their format is that of another version of the package"
    ]


def test_several_studies_or_presets_of_one_machine_share_its_program(tmp_path):
    """As `make reproduce` leaves them: one image, several runs."""
    results = tmp_path / "results"
    write_results(results, arms=("host",), preset="smoke")
    write_results(results, arms=("host",), preset="quick")
    bundles.write(results, tmp_path / "b.zip", no_report)
    zipfile.ZipFile(tmp_path / "b.zip").extractall(tmp_path / "unpacked")
    crate = ROCrate(tmp_path / "unpacked")
    actions = [
        one for one in crate.get_by_type("CreateAction") if one["instrument"] != crate.mainEntity
    ]
    assert {one["name"] for one in actions} == {f"{STUDY}: host, {p}" for p in ("smoke", "quick")}
    assert len({one["instrument"].id for one in actions}) == 1


def test_a_report_reads_bundles_on_both_sides(made, results, tmp_path):
    """And calls the other side by the name that it was given."""
    mine = shutil.copyfile(made, tmp_path / "mine.zip")
    done = cli("report", "--results", str(mine), "--against", str(made))
    assert done.returncode == 0, done.stderr
    beside = (tmp_path / "mine-report" / "beside.html").read_text()
    assert f"Side by side with {made}" in beside
    assert "The verdicts differ on 0 of them" in beside


def test_a_report_refuses_a_damaged_bundle(changed, results, tmp_path):
    said = cli("report", "--results", str(results), "--against", str(changed({"LICENSE": b"x"})))
    assert said.returncode == 1 and "LICENSE: CHANGED" in said.stderr
