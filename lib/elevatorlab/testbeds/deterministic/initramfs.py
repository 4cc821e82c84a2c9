"""Make archives for the initramfs; the kernel unpacks several of them one after the other."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path


def archive(files: Mapping[str, tuple[int, bytes | None]]) -> bytes:
    """Return a cpio archive (newc).

    `files`: By path: mode and content. A folder has the content None, and comes before its files.
    """
    out = io.BytesIO()
    for number, (path, (mode, content)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))]):
        kind = 0o040000 if content is None else 0o100000
        data, name = content or b"", path.encode() + b"\0"
        fields = [number, kind | mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        out.write(b"\0" * (-out.tell() % 4) + data)
        out.write(b"\0" * (-out.tell() % 4))
    return out.getvalue()


def of_folder(folder: Path) -> bytes:
    """Return an archive of a folder; what is executable for its owner is so for all.

    An archive that cpio makes has each folder's number of links, which differs from one file system
    of the host to another.
    """
    paths = sorted(folder.rglob("*"))
    return archive({str(path.relative_to(folder)): _entry(path) for path in paths})


def _entry(path: Path) -> tuple[int, bytes | None]:
    if path.is_dir():
        return 0o755, None
    return 0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes()
