"""Check the message of a commit, as CONTRIBUTING.md asks: a short subject, and a body.

usage: commit_message.py FILE

git calls it by pre-commit, with the file of the message.
"""

import sys
from pathlib import Path

LONGEST_SUBJECT = 72

#: Subjects that git writes itself, and that a rebase removes or a merge leaves without a body.
OF_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")

#: git removes comments, and with `commit --verbose` all that follows this line.
COMMENT, SCISSORS = "#", "# ------------------------ >8 ------------------------"


def problem(message):
    """Return what is wrong with a message, in one sentence; "" if nothing is."""
    kept = message.partition(SCISSORS)[0].splitlines()
    lines = [line.rstrip() for line in kept if not line.startswith(COMMENT)]
    subject, *rest = "\n".join(lines).strip().splitlines() or [""]
    if not subject or subject.startswith(OF_GIT):
        return ""  # git refuses an empty message itself
    if len(subject) > LONGEST_SUBJECT:
        return (
            f"subject: expected at most {LONGEST_SUBJECT} letters; found {len(subject)}. "
            "Say the rest in the body"
        )
    if not rest:
        return "body: expected one that says why; found none. Add it after an empty line"
    if rest[0]:
        return f"line 2: expected an empty line below the subject; found {rest[0]!r}. Insert one"
    return ""


if __name__ == "__main__":
    sys.exit(problem(Path(sys.argv[1]).read_text()) or 0)
