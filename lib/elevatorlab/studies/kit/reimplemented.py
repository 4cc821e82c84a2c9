"""Schedulers that the kernel no longer has, and their substitutes here."""

from __future__ import annotations

from collections.abc import Iterable

#: The schedulers of environments/kernel/schedulers that the articles of studies 2 and 4 measured.
REIMPLEMENTED = ("cfq", "anticipatory")

#: The scheduler that has left the kernel, by the name of its successor.
SUCCEEDS = {"bfq": "cfq"}

#: What is said of each scheduler that only stands for the article's.
SENTENCES = {
    "cfq": "cfq is our reimplementation from the documents of kernel 4.9, not the code that the "
    "article ran. It shows nothing about that code: in study 4, it does not do what the article's "
    "cfq did.",
    "anticipatory": "anticipatory is our reimplementation from the paper of 2001, not the code "
    "that the article ran.",
    "bfq": "bfq is the successor of the article's cfq, not cfq.",
}


def with_stand_ins(reason: str, schedulers: Iterable[str]) -> str:
    """Return `reason`, plus a sentence for each scheduler that stands for one of the article's.

    Such a scheduler is a reimplementation of the original, or its successor.
    """
    named = (SENTENCES[name] for name in dict.fromkeys(schedulers) if name in SENTENCES)
    return " ".join([reason, *named])
