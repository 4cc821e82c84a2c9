"""Schedulers that have left the kernel, and what stands for them here."""

from __future__ import annotations

from collections.abc import Iterable

#: Those of environments/kernel/schedulers that the documents of studies 2 and 4 measured.
REIMPLEMENTED = ("cfq", "anticipatory")

#: What came after a scheduler that has left the kernel, by name.
SUCCEEDS = {"bfq": "cfq"}

_SAID = {
    "cfq": "cfq is our reimplementation from the documents of kernel 4.9, not the code that the "
    "article ran.",
    "anticipatory": "anticipatory is our reimplementation from the paper of 2001, not the code "
    "that the article ran.",
    "bfq": "bfq is the successor of the article's cfq, not cfq.",
}


def told(reason: str, schedulers: Iterable[str]) -> str:
    """Return a reason that also says which of the schedulers only stand for the document's."""
    return " ".join([reason, *(_SAID[name] for name in dict.fromkeys(schedulers) if name in _SAID)])
