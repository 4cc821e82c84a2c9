"""Find memory that a module allocated and never freed.

The machine's kernel notes who allocated each object of its general caches (slub_debug=U). It does
not note who allocated whole pages. So the calls of the module that allocate and free them are
traced, and counted.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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


TRACING = Path("/sys/kernel/tracing")
CALLS = TRACING / "instances/pages"

#: Functions that give pages, or parts of pages for each processor, and those that take them back.
#: What vmalloc gives needs no tracing, since it has an object in a general cache.
GIVE = (
    "alloc_pages __alloc_pages __get_free_pages get_zeroed_page alloc_pages_exact __alloc_percpu "
    "__alloc_percpu_gfp"
).split()
TAKE = "__free_pages free_pages __folio_put free_pages_exact free_percpu".split()

#: No code of the kernel's own is behind this address.
MODULES_FROM = 0xFFFF_FFFF_A000_0000


@contextmanager
def calls_counted() -> Iterator[None]:
    """Trace which modules call these functions, while a with block runs."""
    CALLS.mkdir(exist_ok=True)
    probes = os.open(TRACING / "kprobe_events", os.O_WRONLY | os.O_APPEND)
    for name in (*GIVE, *TAKE):
        os.write(probes, f"p:pages/{name} {name} caller=+0($stack):x64\n".encode())
    os.close(probes)
    (CALLS / "events/pages/filter").write_text(f"caller >= {MODULES_FROM:#x}")
    (CALLS / "events/pages/enable").write_text("1")
    try:
        yield
    finally:
        (CALLS / "events/pages/enable").write_text("0")


def pages_left(places: Iterable[dict[str, range]]) -> tuple[int, str]:
    """Return how many more calls have given the module pages than taken some, and a place.

    `places`: Addresses of the sections of the module's code, for each time that it was loaded. The
    place is that of the most frequent call that gives pages.
    """
    given: Counter[str] = Counter()
    taken = 0
    for line in (CALLS / "trace").read_text().splitlines():
        if not (found := re.search(r": (\w+): .* caller=0x([0-9a-f]+)", line)):
            continue
        address = int(found[2], 16)
        for sections_then in places:
            for name, addresses in sections_then.items():
                if address in addresses:
                    taken += found[1] in TAKE
                    if found[1] in GIVE:
                        given[f"{name}+{address - addresses.start:#x}"] += 1
    (place, _), *_ = given.most_common(1) or [("", 0)]
    return given.total() - taken, place
