"""What `make prose` prints: sentences and pages that a reader may find long. It never fails.

usage: prose.py
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from elevatorlab.judging import conclusions, verdict_cache
from elevatorlab.paths import PROJECT
from elevatorlab.plugins import studies
from elevatorlab.showing import artifact

WORDS_A_SENTENCE = 30
SENTENCES_A_CAPTION = 3
#: Two pages of a conference.
WORDS_OF_THE_APPENDIX = 1100
LINES_OF_README = 150


def sentences(text: str) -> list[str]:
    """Divide a text where a sentence ends: a point, and then a space."""
    return re.split(r"(?<=[.!?])\s+|(?<=[.!?]\))\s+", text.strip())


def remarks() -> Iterator[tuple[str, str]]:
    """Yield each remark: where, and what is long."""
    for page in (PROJECT / "README.md", PROJECT / "ARTIFACT.md", *PROJECT.glob("docs/**/*.md")):
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
        text = re.sub(r"^(    |\||#|!\[).*$", "", text, flags=re.M)
        for paragraph in re.split(r"\n\s*\n|\n[-*\d]", text):
            for one in sentences(" ".join(paragraph.split())):
                if len(one.split()) > WORDS_A_SENTENCE:
                    yield f"{page.relative_to(PROJECT)}", f"{len(one.split())} words: {one[:80]}"
    for study in studies.ours():
        figures = importlib.import_module(f"{study.__name__}.figures")
        for name, caption in figures.CAPTIONS.items():
            if (count := len(sentences(caption))) > SENTENCES_A_CAPTION:
                yield f"caption {study.NAME} {name}", f"{count} sentences"
        for one in conclusions.findings(verdict_cache.judge(study.NAME).claims):
            if (count := len(one.split())) > WORDS_A_SENTENCE:
                yield f"finding of {study.NAME}", f"{count} words: {one[:80]}"
    if (count := len(artifact.appendix().split())) > WORDS_OF_THE_APPENDIX:
        yield "appendix", f"{count} words, expected {WORDS_OF_THE_APPENDIX}"
    if (count := (PROJECT / "README.md").read_text().count("\n")) > LINES_OF_README:
        yield "README.md", f"{count} lines, expected {LINES_OF_README}"


def main() -> None:
    """Print the remarks, and how many there are."""
    found = list(remarks())
    for where, what in found:
        print(f"{where}: {what}")
    print(f"prose: {len(found)} remarks")


if __name__ == "__main__":
    main()
