"""The sections and blocks of the student's tutorial."""

import re

from elevatorlab.paths import PROJECT

PAGE = (PROJECT / "docs/tutorial/student.md").read_text()

SECTIONS = dict(re.findall(r"^## (\d+)\. [^\n]*\n(.*?)(?=^## )", PAGE, re.M | re.S))


def blocks(text, fence="    "):
    """Return the indented blocks of a text, or those between fences of a language."""
    if fence == "    ":
        found = re.findall(r"(?:^ {4}.*\n)+", text, re.M)
        return [re.sub(r"^ {4}", "", one, flags=re.M) for one in found]
    return re.findall(rf"^```{fence}\n(.*?)^```$", text, re.M | re.S)
