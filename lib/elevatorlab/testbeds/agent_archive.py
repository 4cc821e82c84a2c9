"""Pack the agent into one file that any python3 can run."""

import hashlib
import io
import tarfile
import zipfile
from functools import cache
from pathlib import Path

from ..plugins import schedulers

AGENT = Path(__file__).resolve().parents[1] / "agent"
_RECORDS = str(schedulers.FILE.relative_to(AGENT.parent))
EPOCH = (2020, 1, 1, 0, 0, 0)


@cache
def agent_archive() -> bytes:
    """Return the bytes of ``agent.pyz``; the same sources give the same bytes.

    Returns: A zip archive with ``__main__.py``, the package ``agent`` and the schedulers' records.
    """
    content = io.BytesIO()
    # Stored, not compressed: unpacking would cost the deterministic machine instructions.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(AGENT.rglob("*.py")):
            inside = file.relative_to(AGENT.parent)
            name = "__main__.py" if inside.name == "__main__.py" else str(inside)
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
