"""A course's submissions: read whatever they are, run in machines of their own, and marked."""

import csv
import gzip
import io
import os
import re
import shlex
import tarfile
import tracemalloc
import zipfile
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import elevator_rules as rules
from course_submissions import (  # noqa: F401  (fixtures)
    ORDERED,
    SERVICE_MS,
    ZOO,
    assignment_file,
    graded,
    no_machine,
    right,
    scheduler_of,
)
from elevatorlab.agent.errors import AgentError
from elevatorlab.agent.lifecycle.proofs import Proofs
from elevatorlab.cli.commands import app
from elevatorlab.cli.grade import grade as command_grade
from elevatorlab.elevators import check
from elevatorlab.elevators.check.cases import OTHERS
from elevatorlab.elevators.grading import (
    assignments,
    campaign,
    drawing,
    exports,
    grade,
    marking,
    pages,
    submissions,
    trials,
)
from elevatorlab.elevators.grading.assignments import Scenario
from elevatorlab.elevators.grading.grade import Grade
from elevatorlab.elevators.grading.marking import Marked
from elevatorlab.elevators.grading.submissions import Submission
from elevatorlab.errors import ElevatorLabError, NotReady, TrialFailed
from elevatorlab.paths import PROJECT
from elevatorlab.testbeds.deterministic import modules

SCENARIOS = [(name, one) for name in ORDERED for one in assignments.read(name).scenarios]


#: A teacher's secrets.
SEEDS = [f"a secret of the year {2030 + number}" for number in range(12)]


def has_one_right_order(name, scenario, apart_kib):
    """Fail if a choice hangs on what a scheduler's code takes, or on a tie."""
    came_ms = [at_ms for at_ms, _ in scenario.requests]
    expire_ms = scenario.tunables.get("expire_ms", rules.NEVER)
    reference = assignments.read(name).reference
    for choice in right(name, scenario):
        others = [at_ms for at_ms in came_ms if at_ms != choice.at_ms]
        margin_ms = 0.9 if choice.at_ms in came_ms else 1.9
        assert min(abs(at_ms - choice.at_ms) for at_ms in others) >= margin_ms
        waited_ms = choice.at_ms - min(choice.waiting)[0]
        assert abs(waited_ms - expire_ms) >= 7  # the kernel's clock may tick every 4 ms
        if reference == "sstf" and len(choice.waiting) > 1:
            nearest, next_kib = sorted(abs(at - choice.head_kib) for _, at in choice.waiting)[:2]
            assert next_kib - nearest >= apart_kib


@pytest.mark.parametrize(("name", "scenario"), SCENARIOS, ids=lambda one: getattr(one, "what", one))
def test_a_scenario_has_one_right_order(name, scenario):
    has_one_right_order(name, scenario, 64)


@pytest.mark.parametrize("name", ORDERED)
def test_a_drawn_scenario_has_one_right_order_that_no_table_knows(name):
    public = assignments.read(name)
    for seed in SEEDS:
        secret = drawing.hidden(public, seed)
        assert secret == drawing.hidden(public, seed) and not secret.public
        for known, scenario in zip(public.scenarios, secret.scenarios, strict=True):
            has_one_right_order(name, scenario, drawing.SLOT_KIB)
            came = [place for _, place in sorted(scenario.requests)]
            wanted = [one.chosen[1] for one in right(name, scenario)]
            # Who looks sectors up in a table, and takes the oldest where it has none.
            table = [one.chosen[1] for one in right(name, known)]
            found = sorted(came, key=lambda place: table.index(place) if place in table else 99)
            assert marking.order(scenario, found, wanted).marks == 0
            assert marking.order(scenario, wanted, wanted).marks == scenario.marks
            if scenario.tunables:
                assert rules.order(public.reference, scenario.requests, SERVICE_MS) != wanted


def test_another_seed_draws_others():
    for name in assignments.names():
        drawn = [drawing.hidden(assignments.read(name), seed) for seed in SEEDS]
        assert len({one.digest for one in [*drawn, assignments.read(name)]}) == len(SEEDS) + 1
        hashes = {one.hash for each in drawn for one in trials.of(each, each.reference).values()}
        assert len(hashes) == len(SEEDS) * len(drawn[0].runs)


def test_a_seed_that_can_be_guessed_and_a_scenario_without_room_are_refused(tmp_path, error_of):
    said = error_of(command_grade, tmp_path, "sstf", seed="1234567")
    assert said.startswith("--seed: expected a secret of at least 8 characters")
    assert said.endswith("found 7")
    crowd = {"what": "a crowd", "marks": 1, "requests": [[at, 4 * at] for at in range(9)]}
    narrow = assignments.read(str(assignment_file(tmp_path, scenarios=[crowd])))
    said = error_of(drawing.hidden, narrow, SEEDS[0])
    assert said.startswith("--seed: expected room for other places in scenario 'a crowd'")


@pytest.mark.parametrize(("name", "scenario"), SCENARIOS, ids=lambda one: getattr(one, "what", one))
def test_a_scenario_tells_the_rules_apart(name, scenario):
    wanted = [one.chosen[1] for one in right(name, scenario)]
    expire_ms = scenario.tunables.get("expire_ms", rules.NEVER)
    reference = assignments.read(name).reference
    for other in set(rules.RULES) - {reference}:
        assert rules.order(other, scenario.requests, SERVICE_MS, expire_ms) != wanted
    if scenario.tunables:
        assert rules.order(reference, scenario.requests, SERVICE_MS) != wanted
    came = [place for _, place in sorted(scenario.requests)]
    assert marking.order(scenario, came, wanted).marks == 0  # for doing nothing


SCENARIO = Scenario(what="x", marks=4, requests=[(0, 4), (1, 40), (2, 8), (3, 24)])


def test_an_order_gets_its_right_steps_and_its_first_difference_is_named():
    right_order = [4, 8, 24, 40]
    assert marking.order(SCENARIO, right_order, right_order).marks == 4
    marked = marking.order(SCENARIO, [4, 8, 40, 24], right_order)
    assert marked.marks == 2  # one step of the two that first come, first served has not
    assert "Dispatch 3 is the first that differs. The head is at 0.01 MiB" in marked.says
    assert "Yours: the request at 0.04 MiB, which came at 1 ms" in marked.says
    marked = marking.order(SCENARIO, [4, 8, 8, 24, 40], right_order)
    assert "found 5" in marked.says and marked.marks < 4


def test_a_number_is_said_without_an_exponent():
    part = assignments.read("open").scored[1]
    assert marking.measure(part, 5154.2, 5080.0, 1.5).says.startswith("5150 reads/s; ")


def test_what_is_wrong_is_said_and_has_no_marks():
    verdicts = (check.CaseVerdict(OTHERS[0].name, "failed", "It leaks 3 objects"),)
    marked = marking.conformity(SCENARIO, check.Conformity("x", "0" * 64, verdicts))
    assert "It leaks 3 objects" in marked.says and marked.marks == 0


def test_a_score_needs_every_part():
    parts = [Marked(what="a", marks=1, of=1, says="", ratio=2.0), marking.nothing(SCENARIO, "")]
    assert marking.score(parts, 1) == 200 and marking.score(parts, 2) is None


def test_an_unknown_assignment_is_refused_with_those_there_are(error_of):
    said = error_of(assignments.read, "cfq")
    assert said.startswith("assignment: expected one of c-look, look")
    assert said.endswith("or a file that ends in .yaml; found 'cfq'")


def test_a_bad_assignment_is_one_sentence(tmp_path, error_of):
    twice = {"what": "x", "marks": 1, "requests": [[0, 4], [5, 4]]}
    bad = {
        "expected each place once": {"scenarios": [twice]},
        "expected some, or something scored": {"scenarios": []},
        "markz: no such parameter": {"markz": 1},
        "cases: expected some of": {"conformity": {"what": "x", "marks": 1, "cases": ["x"]}},
        "scheduler: expected one of": {"reference": "nobody"},
    }
    for sentence, changes in bad.items():
        said = error_of(assignments.read, str(assignment_file(tmp_path, **changes)))
        assert sentence in said and "\n" not in said
    (tmp_path / "mine.yaml").write_text("a: [")
    assert "expected YAML; found" in error_of(assignments.read, str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").write_text("hello")
    assert "expected the fields" in error_of(assignments.read, str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize("name", assignments.names())
def test_the_text_for_students_has_the_marks_of_the_file(name):
    assignment = assignments.read(name)
    (file,) = assignments.COURSE.glob(f"*/{name}.yaml")
    text = file.with_name("README.md").read_text()
    by_hand = sum(part.marks for part in assignment.by_hand)
    total = assignment.marks + by_hand
    assert f"{total} marks: {assignment.marks} by the machine, {by_hand} by hand" in text
    rows = re.findall(r"^\| [^|]+ \| (?:3 × )?(\d+) \|$", text.partition("## Marks")[2], re.M)
    scored = (assignment.scored[0].marks,) if assignment.scored else ()
    listed = (assignment.build, assignment.conformity, *assignment.scenarios)
    of_parts = [*(part.marks for part in listed), *scored]
    assert [int(row) for row in rows] == [*of_parts, *(part.marks for part in assignment.by_hand)]


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def test_a_submission_is_found_wherever_it_is_in_an_archive(tmp_path):
    inside = {"../up/in hand/Kbuild": b"obj", "../up/in hand/x.c": b"c", "__MACOSX/Kbuild": b"no"}
    zipped(tmp_path / "ada.zip", inside)
    with tarfile.open(tmp_path / "bob.tar.gz", "w:gz") as archive:
        for name, content in inside.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("../up/in hand/shadow.h")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            link.type, link.linkname = kind, "/etc/shadow"
            archive.addfile(link)
    found = submissions.find(tmp_path)
    assert [one.student for one in found] == ["ada", "bob"]
    assert all(one.files == {"Kbuild": b"obj", "x.c": b"c"} for one in found)
    assert list(tmp_path.parent.glob("**/in hand")) == []


def test_an_archive_alone_in_a_folder_is_what_was_handed_in(tmp_path):
    (tmp_path / "ada").mkdir()
    zipped(tmp_path / "ada" / "sstf.zip", {"sstf/Kbuild": b"obj", "sstf/x.c": b"c"})
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "hers.zip").symlink_to(tmp_path / "ada" / "sstf.zip")
    ada, bob = submissions.find(tmp_path)
    assert ada.files == {"Kbuild": b"obj", "x.c": b"c"}
    assert not bob.files and bob.problem.endswith("found no file in it")


def test_links_in_a_folder_are_not_followed(tmp_path):
    folder = tmp_path / "in" / "ada"
    folder.mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "y.c").write_text("the teacher's")
    for name in ("Kbuild", "x.c"):
        (folder / name).write_text("")
    (folder / "y.c").symlink_to(tmp_path / "secret" / "y.c")
    (folder / "more").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "z.c")
    (ada,) = submissions.find(tmp_path / "in")
    assert ada.files.keys() == {"Kbuild", "x.c"}


def two_gib(path):
    """Make a file of 2 GiB that takes no room on the disk."""
    path.touch()
    os.truncate(path, 2 << 30)


def in_a_folder(path):
    path.mkdir()
    (path / "Kbuild").touch()
    two_gib(path / "x.c")


def unpacks_to_gigabytes(path, kind):
    """Write an archive of a few KiB whose one member, no plain file maybe, has 2 GiB of zeros.

    gzip takes files that are one after the other for one.
    """
    header = tarfile.TarInfo("x.c")
    header.size, header.type = 2 << 30, kind
    zeros = gzip.compress(bytes(16 << 20))
    path.write_bytes(gzip.compress(header.tobuf()) + 128 * zeros)


GIGABYTES = {
    "folder": in_a_folder,
    "two.zip": two_gib,
    "two.tar": two_gib,
    "file.tar.gz": lambda path: unpacks_to_gigabytes(path, tarfile.REGTYPE),
    "link.tgz": lambda path: unpacks_to_gigabytes(path, tarfile.SYMTYPE),
    "header.tgz": lambda path: unpacks_to_gigabytes(path, tarfile.XHDTYPE),
}


@pytest.mark.parametrize("name", GIGABYTES)
def test_two_gigabytes_are_refused_unread(name, tmp_path):
    GIGABYTES[name](tmp_path / name)
    tracemalloc.start()
    try:
        (found,) = submissions.find(tmp_path)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.problem == "expected at most 1000 files and 4 MiB; found more"
    assert most_bytes < 64 << 20


BAD = {
    "empty": (lambda at: at.mkdir(), "expected the folder of a scheduler; found no file in it"),
    "no.zip": (lambda at: at.write_bytes(b"PK no"), "that can be read; found File is not a zip"),
    "no.tar": (lambda at: at.write_bytes(b"no"), "that can be read; found"),
    "large.zip": (lambda at: zipped(at, {"x.c": bytes(5 << 20)}), "and 4 MiB; found more"),
    "none.zip": (lambda at: zipped(at, {"x.c": b""}), "one folder with a Kbuild; found none"),
    "two.zip": (
        lambda at: zipped(at, {"a/Kbuild": b"", "b/Kbuild": b""}),
        "one folder with a Kbuild; found 2 of them",
    ),
    "named.zip": (
        lambda at: zipped(at, {"Kbuild": b"", f"{'x' * 300}.c": b""}),
        "expected names of at most 255 bytes; found 'xxx",
    ),
    "linked": (lambda at: at.symlink_to("/etc"), "expected a folder, or an archive"),
    "pipe": (os.mkfifo, "expected a folder, or an archive"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_submission_is_one_sentence(name, tmp_path):
    make, sentence = BAD[name]
    make(tmp_path / name)
    (found,) = submissions.find(tmp_path)
    assert not found.files and sentence in found.problem and "\n" not in found.problem


def test_what_nobody_has_handed_in_is_ignored_and_named(tmp_path, no_machine, capsys, monkeypatch):
    for name in ("ada", "bob"):
        (tmp_path / "in" / name).mkdir(parents=True)
    for name in ("notes.txt", "marks.ods"):
        (tmp_path / "in" / name).write_text("x")
    assert [one.student for one in submissions.find(tmp_path / "in")] == ["ada", "bob"]

    def graded(jobs, assignment, *_):
        return ((job, grade.grade(*job, assignment, {})) for job in jobs)

    monkeypatch.setattr(campaign, "_several", graded)
    command_grade(tmp_path / "in", "sstf", tmp_path / "out")
    told = capsys.readouterr()
    stray = "ignored, since each is neither a folder nor an archive: marks.ods, notes.txt\n"
    assert stray in told.out and "graded: 2 broken" in told.out
    assert "submissions: 2 of 2" in told.err


def test_odd_names_have_addresses_of_their_own():
    names = ["ada", "a da", "a/da", "..", "ä", "ada?", "=1+1", "x" * 300]
    slugs = [Submission(name).slug for name in names]
    assert len(set(slugs)) == len(slugs) and slugs[0] == "ada"
    assert all(slug.isascii() and "/" not in slug and 0 < len(slug) < 80 for slug in slugs)


def test_no_submissions_twins_and_a_scheduler_s_own_folder_are_refused(tmp_path, error_of):
    assert "expected a folder with a folder" in error_of(submissions.find, tmp_path / "nowhere")
    assert "at least one submission; found none" in error_of(submissions.find, tmp_path)
    (tmp_path / "ada").mkdir()
    zipped(tmp_path / "ada.zip", {})
    assert "found two of 'ada'" in error_of(submissions.find, tmp_path)
    (tmp_path / "Kbuild").touch()
    assert "found a scheduler's own" in error_of(submissions.find, tmp_path)


def test_who_cannot_be_graded_is_tried_again(tmp_path, monkeypatch, no_machine, error_of):
    assignment = assignments.read("sstf")
    for name in ("ada", "bob", "carl"):
        (tmp_path / "in" / name).mkdir(parents=True)
    asked = []

    def grading(jobs, *_):
        for one, digest in jobs:
            asked.append(one.student)
            empty = grade.grade(one, digest, assignment, {})
            yield (one, digest), "it was killed" if asked == ["ada", "bob"] else empty

    monkeypatch.setattr(campaign, "_several", grading)
    out = tmp_path / "out"
    said = error_of(command_grade, tmp_path / "in", "sstf", out)
    assert asked == ["ada", "bob", "carl"]
    assert said.startswith("1 of 3 submissions could not be graded (the first: 'bob': Not graded")
    written = csv.DictReader((out / "marks.csv").read_text().splitlines())
    rows = {row["student"]: row for row in written}
    assert (rows["ada"]["marks"], rows["bob"]["marks"]) == ("0", "")
    assert rows["bob"]["problem"] == "Not graded: it was killed"
    assert "Not graded: it was killed" in (out / "index.html").read_text()
    assert "0 of" not in (out / "feedback" / "bob.html").read_text()
    command_grade(tmp_path / "in", "sstf", out)
    assert asked == ["ada", "bob", "carl", "bob"]


FAILING = {
    "a bug": ("grade", ValueError("a bug\nof ours"), "ValueError: a bug of ours"),
    # A machine without namespaces, say: nobody gets 0 marks for that.
    "nothing compiles": (
        "modules.build",
        NotReady("no namespaces", "Grade elsewhere"),
        "NotReady: no",
    ),
    # The laboratory's check fails, and not what it checks.
    "too busy": ("check.check", TrialFailed("it did not end"), "TrialFailed: it did not end"),
}


@pytest.mark.parametrize("what", FAILING)
def test_what_fails_the_laboratory_is_a_sentence_and_no_marks(what, monkeypatch):
    place, problem, sentence = FAILING[what]

    def fails(*_, **__):
        raise problem

    monkeypatch.setattr(grade.modules, "build", lambda folder: SimpleNamespace(said=""))
    monkeypatch.setattr(f"elevatorlab.elevators.grading.grade.{place}", fails)
    monkeypatch.setattr(campaign.task, "unlike", lambda *_: "")
    job = (Submission("ada", scheduler_of("fifo")), "")
    assert campaign._graded(job, assignments.read("open"), {}, "").startswith(sentence)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("x.c: In function 'error':\nx.c:7:2: error: 'y' undeclared", "x.c:7:2: error: 'y' undecl"),
        ('WARNING: no\nERROR: modpost: "y" [fifo-iosched.ko] undefined!', 'ERROR: modpost: "y" ['),
        ("make[1]: *** No rule to make target 'x.o'.  Stop.", "make[1]: *** No rule to make"),
    ],
)
def test_why_it_does_not_compile_is_what_the_check_says(said, sentence, monkeypatch):
    def cannot(folder):
        raise modules.DoesNotCompile(folder, "it does not compile:", said)

    monkeypatch.setattr(modules, "build", cannot)
    files = scheduler_of("fifo")
    problem = grade.grade(Submission("ada", files), "", assignments.read("sstf"), {}).problem
    assert problem.startswith(f"expected fifo-iosched.ko; it does not compile: {sentence}")
    assert problem.endswith(check.check(ZOO / "fifo").failures[0].said)


def test_a_tunable_that_is_not_there_is_said_in_words(tmp_path):
    """The agent's own sentence names a file of its machine."""
    *_, bound = assignments.read("look").scenarios
    with pytest.raises(AgentError) as missing:
        Proofs().set(tmp_path / "iosched" / "expire_ms", 250)
    why = grade._missing(bound, TrialFailed(str(missing.value)))
    assert why == "your scheduler has no tunable expire_ms, which this part sets to 240"
    assert grade._missing(SCENARIO, TrialFailed("it hangs")) == ""


def test_both_workers_and_a_cluster_are_refused(tmp_path, error_of):
    said = error_of(campaign.run, tmp_path, assignments.read("sstf"), tmp_path, 2, "tcp://x:1")
    assert "--workers and --cluster: expected one of them" in said


def test_a_leaderboard_has_the_best_first(tmp_path):
    assignment = assignments.read("open")
    parts = [marking.everything(part, "") for part in assignment.parts]
    names = {"ada": 80.0, "bob": None, "carl": 120.0}
    grades = [
        Grade(student=name, digest="", score=score, parts=tuple(parts))
        for name, score in names.items()
    ]
    made = pages.write(tmp_path, assignment, grades, {})
    feedback = (made["feedback"] / "ada.html").read_text()
    left_out = assignment.conformity.left_out
    assert len(left_out) + len(assignment.conformity.cases) == len(OTHERS)
    assert f"asks for, too: {', '.join(left_out)}." in feedback
    page = made["leaderboard"].read_text()
    assert page.index("carl") < page.index("ada") and "bob" not in page


def grade_of(student, assignment, marks=1.5):
    parts = [marking.nothing(part, "") for part in assignment.parts]
    parts[-1] = parts[-1].model_copy(update={"marks": marks})
    return Grade(student=student, digest="", kind="wrong", parts=tuple(parts))


#: For each platform, what it calls its downloads, and whom it finds in them.
DOWNLOADED = {
    "moodle": ["Ada Lovelace_12_assignsubmission_file", "=Bob_9_assignsubmission_file_s.zip"],
    "canvas": ["lovelaceada_12_345_sstf-1", "=bob_LATE_9_346_sstf_of_bob"],
    "nbgrader": ["12", "9"],
}


@pytest.mark.parametrize("platform", DOWNLOADED)
def test_a_platform_gets_the_marks_as_it_reads_them(platform, tmp_path):
    assignment = assignments.read("sstf")
    names = DOWNLOADED[platform]
    exports.refuse_unknown(platform, names)
    lost = Grade(student=names[1], digest="", problem="Not graded: it was killed")
    grades = [grade_of(names[0], assignment), lost]
    text = exports.write(platform, tmp_path, assignment, grades).read_text()
    *_, ada, bob = csv.DictReader(text.splitlines())
    who, given = {
        "moodle": ("Identifier", "Grade"),
        "canvas": ("ID", assignment.title),
        "nbgrader": ("student_id", "score"),
    }[platform]
    before = "Participant " if platform == "moodle" else ""
    assert (ada[who], bob[who]) == (f"{before}12", f"{before}9")
    assert (ada[given], bob[given]) == ("1.5", "")
    assert all(cell[:1] != "=" for row in csv.reader(text.splitlines()) for cell in row)


#: What each platform would read otherwise: the second line of Canvas's table, and all columns.
HEADS = {
    "moodle": "Identifier,Full name,Grade,Maximum Grade,Last modified (grade),Feedback comments",
    "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,Assignment 1: from FIFO to SSTF\n"
    "    Points Possible,,,,,20",
    "nbgrader": "assignment,duedate,timestamp,student_id,last_name,first_name,email,raw_score,"
    "late_submission_penalty,score,max_score",
}


@pytest.mark.parametrize("platform", HEADS)
def test_a_platform_finds_its_columns(platform, tmp_path):
    text = exports.write(platform, tmp_path, assignments.read("sstf"), []).read_text()
    assert text == f"{HEADS[platform]}\n"


def test_a_student_whom_a_platform_does_not_know_is_refused(tmp_path, error_of):
    def refused(platform):
        return error_of(command_grade, tmp_path, "sstf", export=platform)

    (tmp_path / "ada lovelace").mkdir()
    for platform in exports.PLATFORMS:
        said = refused(platform)
        assert said.startswith(f"--export {platform}: expected submissions with names such as ")
        assert said.endswith("found 'ada lovelace'. Rename it") and "\n" not in said
    assert refused("ilias") == "--export: expected one of moodle, canvas, nbgrader; found 'ilias'"
    (tmp_path / "ada lovelace").rename(tmp_path / "ada_12_1_x")
    (tmp_path / "ada_12_2_x").mkdir()
    assert "'ada_12_1_x' and 'ada_12_2_x', which are both of 12" in refused("canvas")


def test_every_assignment_stands_for_valid_trials():
    for name in assignments.names():
        assignment = assignments.read(name)
        found = trials.of(assignment, assignment.reference)
        assert len({one.hash for one in found.values()}) == len(assignment.runs)


def test_what_the_page_for_teachers_says_can_be_typed(tmp_path, no_machine, monkeypatch):
    page = (PROJECT / "docs" / "teaching.md").read_text()
    commands = re.findall(r"^ {4}elevatorlab (grade .*)$", page, re.M)
    assert [shlex.split(one)[-1] for one in commands] == list(exports.PLATFORMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(campaign, "_several", lambda jobs, *_: ((one, "stopped") for one in jobs))
    for command in commands:
        _, folder, *_, platform = words = shlex.split(command)
        for name in DOWNLOADED[platform]:
            (tmp_path / folder / name).mkdir(parents=True)
        ended = CliRunner().invoke(app, [*words, "--out", str(tmp_path / f"{folder}.out")])
        assert isinstance(ended.exception, ElevatorLabError), ended.output
        rows = (tmp_path / f"{folder}.out" / f"{platform}.csv").read_text().splitlines()
        assert len(rows) >= 3


def test_the_page_for_teachers_has_every_kind():
    page = (PROJECT / "docs" / "teaching.md").read_text()
    table = page.partition("| it is |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([a-z ]+?) \|", table, re.M) == list(grade.KINDS)
