"""Pack the agent into one file that any python3 can run."""

import hashlib
import io
import tarfile
import zipfile
from functools import cache

from ..paths import PROJECT

AGENT = PROJECT / "lib" / "elevatorlab" / "agent"
EPOCH = (2020, 1, 1, 0, 0, 0)


@cache
def agent_archive():
    """Return the bytes of ``agent.pyz``; the same sources give the same bytes.

    Returns
    -------
    bytes
        A zip archive with ``__main__.py`` and the package ``agent``.
    """
    content = io.BytesIO()
    # Stored, not compressed: unpacking would cost the deterministic machine instructions.
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(AGENT.rglob("*.py")):
            inside = file.relative_to(AGENT.parent)
            name = "__main__.py" if inside.name == "__main__.py" else str(inside)
            archive.writestr(zipfile.ZipInfo(name, EPOCH), file.read_bytes())
    return content.getvalue()


@cache
def agent_digest():
    """Return the SHA-256 of `agent_archive`."""
    return hashlib.sha256(agent_archive()).hexdigest()


def as_tar(name):
    """Return a tar archive with the agent in it as the file `name`, for Docker's API."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(agent_archive())
        member.mode = 0o644
        archive.addfile(member, io.BytesIO(agent_archive()))
    return content.getvalue()
