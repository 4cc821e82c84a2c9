"""Find memory that a module allocated and never freed.

The machine's kernel notes who allocated each object of its general caches (slub_debug=U).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = 4096

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


def sections(folder: Path) -> dict[str, range]:
    """Return the addresses of each section of a loaded module's code, by the section's name.

    What runs only while the module is loaded (.init.text) is taken to fit in a page.
    """
    sizes = {".text": int((folder / "coresize").read_text()), ".init.text": PAGE_BYTES}
    files = {name: folder / "sections" / name for name in sizes}
    begins = {name: int(file.read_text(), 16) for name, file in files.items() if file.exists()}
    return {name: range(begin, begin + sizes[name]) for name, begin in begins.items()}


def leaks(
    before: Snapshot, after: Snapshot, places: dict[str, range]
) -> Iterator[tuple[str, int, str]]:
    """Yield the objects that an unloaded module has not freed.

    `before` was taken before the module was loaded, `after` after it was unloaded; `places` are
    addresses of the sections of the module's code (`sections`). Yields cache, number of objects,
    and the place in the module's code that allocated them, such as ``.text+0x1c``.
    """
    for (cache, stack), number in (after.objects - before.objects).items():
        # The kernel has no names any more for the code of an unloaded module.
        for word in re.findall(r"^0x([0-9a-f]+)", stack, re.M)[:1]:
            address = int(word, 16)
            for name, addresses in places.items():
                if address in addresses:
                    yield cache, number, f"{name}+{address - addresses.start:#x}"
