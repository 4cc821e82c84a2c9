"""Pack the agent into one file that any python3 can run: for trials, or for operators."""

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from ..plugins import schedulers

AGENT = Path(__file__).resolve().parents[1] / "agent"

#: The room of the agent that only operators use. A change to it must change no result.
OPERATIONS = AGENT / "operations"

_RECORDS = str(schedulers.FILE.relative_to(AGENT.parent))
EPOCH = (2020, 1, 1, 0, 0, 0)


@cache
def agent_archive() -> bytes:
    """Return the bytes of ``agent.pyz``; the same sources give the same bytes.

    Returns: A zip archive with ``__main__.py``, the package ``agent`` without what only operators
        use, and the schedulers' records.
    """
    files = [file for file in AGENT.rglob("*.py") if not file.is_relative_to(OPERATIONS)]
    return _packed(AGENT / "__main__.py", files)


def operators_archive() -> bytes:
    """Return the bytes of an ``agent.pyz`` that also does the jobs of operators."""
    return _packed(OPERATIONS / "__main__.py", AGENT.rglob("*.py"))


def _packed(program: Path, files: Iterable[Path]) -> bytes:
    content = io.BytesIO()
    # Stored, not compressed: unpacking would cost the deterministic machine instructions.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", EPOCH), program.read_bytes())
        for file in sorted(files):
            name = str(file.relative_to(AGENT.parent))
            archive.writestr(zipfile.ZipInfo(name, EPOCH), file.read_bytes())
        archive.writestr(zipfile.ZipInfo(_RECORDS, EPOCH), schedulers.for_the_agent())
    return content.getvalue()


@cache
def agent_digest() -> str:
    """Return the SHA-256 of `agent_archive`."""
    return hashlib.sha256(agent_archive()).hexdigest()


def as_tar(name: str) -> bytes:
    """Return a tar archive with the agent in it as the file `name`, for Docker's API."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(agent_archive())
        member.mode = 0o644
        archive.addfile(member, io.BytesIO(agent_archive()))
    return content.getvalue()
