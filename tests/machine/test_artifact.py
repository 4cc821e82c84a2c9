"""What a reviewer reads: every command exists, the table fits the studies, the papers are there."""

import re

from elevatorlab.showing import artifact

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
]


def test_the_appendix_has_all_sections_and_claims():
    page = artifact.appendix()
    parts = artifact.sections(page)
    assert list(parts) == APPENDIX and all(parts.values())
    expected = re.findall(r"^\| (C\d+): .* \| (.*?) \|$", parts[APPENDIX[-1]], re.M)
    assert [number for number, _ in expected] == re.findall(r"^\| (C\d+) \|", PAGE, re.M)
    assert [words for _, words in expected[: artifact.GENERAL]] == ["status 0"] * artifact.GENERAL
    for words in [words for _, words in expected[artifact.GENERAL :]]:
        assert re.fullmatch(r"(\d+ [a-z ]+)(, \d+ [a-z ]+)*", words)
    assert all(what in PAGE for what in parts["Installation"].splitlines())
