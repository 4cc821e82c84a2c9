"""What the pages tell a reader to type works: each command, and each block of Python."""

import os
import re
import shlex

import pytest

from docs_examples import RUN, blocks, typed
from elevatorlab.paths import BUILD, PROJECT
from elevatorlab.showing import artifact
from helpers import cli
from synthetic import write_results


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """Return what runs commands where two studies have run, into the usual folders."""
    folder = tmp_path_factory.mktemp("reproduced")
    (folder / "build").mkdir()
    (folder / "build" / "image").symlink_to(BUILD / "image")
    own = {**os.environ, "ELEVATORLAB_BUILD": f"{folder / 'build'}"}

    def run(line):
        return cli(*shlex.split(line), cwd=folder, env=own)

    run.folder = folder
    small = "--preset smoke -p schedulers=none"
    smaller = "-p memory_mib=512 -p device_mib=192 -p sizes_mb=10 -p variants=dropped -p arms=host"
    for line in (
        f"run vm_vs_container {small} {smaller}",
        f"run iozone_ranking {small} -p tool=fio",
    ):
        ran = run(line)
        assert ran.returncode == 0, ran.stderr
    return run


@pytest.mark.image
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("line", RUN)
def test_a_command_works_on_what_was_run(reproduced, line):
    ran = reproduced(line.replace("BUNDLE", "elevatorlab-bundle.zip"))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout and "Traceback" not in ran.stderr
    for place in re.findall(r"^(?:report|figures|tables) +(\S+)$", ran.stdout, re.M):
        assert (reproduced.folder / place).exists()


@pytest.mark.image
def test_the_report_of_the_reference_leaves_that_of_the_results_alone(reproduced):
    """Where they are is what the README says."""
    build = reproduced.folder / "build"
    (build / "report").mkdir(exist_ok=True)
    (build / "report" / "index.html").write_text("mine")
    assert reproduced("report --results published").returncode == 0
    assert (build / "published-report" / "index.html").exists()
    assert (build / "report" / "index.html").read_text() == "mine"


#: Pages with Python whose own tests run it, and the one that needs a cluster of machines.
ELSEWHERE = {
    "docs/extending.md": "test_extending.py",
    "docs/importing.md": "test_importing.py",
    "docs/tutorial/student.md": "test_student.py",
    "docs/campaigns.md": "",
}

HERE = {"docs/drives.md", "docs/elevators.md", "docs/tutorial/researcher.md"}


def test_every_page_with_python_is_tested():
    pages = (PROJECT / "docs").rglob("*.md")
    shown = {name for page in pages if blocks(name := f"{page.relative_to(PROJECT)}")}
    assert shown == HERE | set(ELSEWHERE)
    assert all(list((PROJECT / "tests").glob(f"*/{one}")) for one in ELSEWHERE.values() if one)


def test_a_researcher_s_table_is_read(tmp_path):
    write_results(tmp_path / "out" / "mine")
    (code,) = blocks("docs/tutorial/researcher.md")
    said = typed(code, tmp_path)
    assert re.search(r"^writes_starving_reads +bfq +container +12 +0\.0", said, re.M), said


def test_a_drive_is_a_device(tmp_path):
    code, *_ = blocks("docs/drives.md")
    assert "profile='barracuda'" in typed(f"{code}\nprint(device)", tmp_path)


@pytest.mark.parametrize(
    "page", sorted({page for page, _, _ in artifact.PARTS}), ids=lambda page: page.name
)
def test_what_the_pages_say_of_the_reference_is_up_to_date(page):
    assert artifact.up_to_date(page) == page.read_text(), (
        "bring it up to date: elevatorlab artifact"
    )


PAGE = artifact.PAGE.read_text()

#: In the order in which USENIX asks for them.
APPENDIX = [
    "Abstract",
    "Scope",
    "Contents",
    "Hosting",
    "Requirements",
    "Installation",
    "Experiments workflow",
    "Evaluation and expected results",
    "Badges",
]


def test_the_appendix_has_all_sections_and_claims():
    page = artifact.appendix()
    parts = artifact.sections(page)
    assert list(parts) == APPENDIX and all(parts.values())
    expected = re.findall(r"^\| (C\d+): .* \| (.*?) \|$", parts[APPENDIX[-2]], re.M)
    assert [number for number, _ in expected] == re.findall(r"^\| (C\d+) \|", PAGE, re.M)
    assert [words for _, words in expected[: artifact.GENERAL]] == ["status 0"] * artifact.GENERAL
    for words in [words for _, words in expected[artifact.GENERAL :]]:
        assert re.fullmatch(r"(\d+ [a-z ]+)(, \d+ [a-z ]+)*", words)
    assert all(what in PAGE for what in parts["Installation"].splitlines())
    document = artifact.in_latex(page)
    assert re.findall(r"\\section\{([\w ]+)", document) == APPENDIX
    assert document.count(r"\begin{longtable") == page.count("| --- |\n")
