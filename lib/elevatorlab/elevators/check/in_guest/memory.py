"""Find memory that a module allocated and never freed.

The machine's kernel notes who allocated each object of its general caches (slub_debug=U).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CACHES = Path("/sys/kernel/debug/slab")
ALL_CACHES = Path("/sys/kernel/slab")
TEXT = re.compile(r"^ *(\d+) (.*?)(?: waste=\S+)? age=.*$")


@dataclass(frozen=True)
class Snapshot:
    """The allocated objects in the kernel's general caches, at one moment."""

    #: Number of objects, by cache and stack of callers.
    objects: Counter[tuple[str, str]]
    #: Names of all slab caches.
    caches: frozenset[str]


def snapshot() -> Snapshot:
    """Read every cache that notes who allocated its objects."""
    objects: Counter[tuple[str, str]] = Counter()
    for file in sorted(CACHES.glob("kmalloc-*/alloc_traces")):
        for block in file.read_text().split("\n\n"):
            first, *stack = block.strip().splitlines() or [""]
            if found := TEXT.match(first):
                objects[file.parent.name, "\n".join(map(str.strip, stack))] += int(found[1])
    return Snapshot(objects, frozenset(path.name for path in ALL_CACHES.iterdir()))


def check_all_objects() -> None:
    """Let the kernel check the guard bytes of every object; the kernel logs what it finds."""
    for file in sorted(ALL_CACHES.glob("kmalloc-*/validate")):
        file.write_text("1\n")


def sections(folder: Path) -> dict[str, int]:
    """Return the address of each section of a loaded module's code, by the section's name."""
    files = (folder / "sections" / name for name in (".text", ".init.text"))
    return {file.name: int(file.read_text(), 16) for file in files if file.exists()}


def leaks(
    before: Snapshot, after: Snapshot, places: dict[str, int]
) -> Iterator[tuple[str, int, str]]:
    """Yield the objects that an unloaded module has not freed.

    `before` was taken before the module was loaded, `after` after it was unloaded; `places` are
    addresses of the sections of the module's code (`sections`). Yields cache, number of objects,
    and the place in the module's code that allocated them, such as ``.text+0x1c``.
    """
    for (cache, stack), number in (after.objects - before.objects).items():
        # The kernel has no names any more for the code of an unloaded module.
        for word in re.findall(r"^0x([0-9a-f]+)", stack, re.M)[:1]:
            begins = {at: name for name, at in places.items() if at <= int(word, 16)}
            at = max(begins)
            yield cache, number, f"{begins[at]}+{int(word, 16) - at:#x}"
