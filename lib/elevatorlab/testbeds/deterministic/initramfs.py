"""Make archives for the initramfs; the kernel unpacks several of them one after the other."""

from __future__ import annotations

import io
from collections.abc import Mapping


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
