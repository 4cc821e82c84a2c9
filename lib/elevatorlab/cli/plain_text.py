"""Print on any terminal: what its encoding lacks becomes the nearest letters that it has."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

#: Signs that Unicode's own tables do not take apart, in plain letters.
PLAIN = {
    **{"×": "x", "·": "*", "−": "-", "–": "-", "—": "-", "‑": "-", "±": "+/-", "≈": "~", "≤": "<="},
    **{
        "≥": ">=",
        "≠": "!=",
        "→": "->",
        "←": "<-",
        "µ": "u",
        "μ": "u",
        "ß": "ss",
        "ø": "o",
        "Ø": "O",
    },
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "„": '"', "§": "section ", "✓": "yes", "✗": "no"},
    **{"│": "|", "┃": "|", "─": "-", "━": "-", "█": "#", "æ": "ae", "Æ": "AE", "ł": "l", "Ł": "L"},
}


def readable_everywhere() -> None:
    """Let both outputs of this program replace what their encodings lack."""
    codecs.register_error("elevatorlab", _nearest)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="elevatorlab")


def _nearest(problem: UnicodeError) -> tuple[str, int]:
    """Return the letters for what could not be encoded (a handler of `codecs.register_error`)."""
    assert isinstance(problem, UnicodeEncodeError)
    text = problem.object[problem.start : problem.end]
    return "".join(plain(sign) for sign in text), problem.end


def plain(sign: str) -> str:
    """Return a sign in ASCII.

    >>> [plain(sign) for sign in "ö×\N{SUPERSCRIPT TWO}\N{SNOWMAN}"]
    ['o', 'x', '2', '?']
    """
    if "\udc80" <= sign <= "\udcff":  # a byte of a file's name that is no text
        return "?"
    parts = unicodedata.normalize("NFKD", PLAIN.get(sign, sign))
    return parts.encode("ascii", "ignore").decode() or "?"
