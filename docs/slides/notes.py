"""The teacher's notes of a lecture: its section of docs/teaching.md, part by part."""

from __future__ import annotations

import re

from elevatorlab.paths import PROJECT

#: The parts of a lecture that have no number.
TITLE, EXERCISES = "", "Exercises"


def notes(lecture: int) -> dict[str, str]:
    """Return what the teacher's page says of a lecture, by the part that it belongs to.

    Parameters
    ----------
    lecture : int

    Returns
    -------
    dict of str to str
        Markdown. A part's key is its number. The time is at the title, the marks at the exercises.
    """
    page = (PROJECT / "docs" / "teaching.md").read_text()
    section = re.search(rf"^## {lecture}\. .*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    if not section:
        raise SystemExit(f"expected a section for lecture {lecture} in docs/teaching.md; add one")
    found = {TITLE: _paragraph(section[0], "Time"), EXERCISES: _paragraph(section[0], "Marks")}
    for part, said, ask in re.findall(r"^\| (\d) \| (.*) \| (.*) \|$", section[0], re.MULTILINE):
        found[part] = found.get(part, "") + f"- {said} **Ask:** {ask}\n"
    return found


def _paragraph(section: str, name: str) -> str:
    found = re.search(rf"^{name}: .*?(?=\n\n|\Z)", section, re.MULTILINE | re.DOTALL)
    if not found:
        raise SystemExit(
            f"expected a paragraph that begins with '{name}:' below "
            f"'{section.splitlines()[0]}' in docs/teaching.md; add one"
        )
    return found[0].strip()
