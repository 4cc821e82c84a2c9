"""Recorded /sys trees, built again below a folder of the test."""

import json

from helpers import FIXTURES

TREES = FIXTURES / "sys"

#: By hand after the kernel's Documentation (cciss): nobody here has an HP Smart Array of that age.
CCISS = [
    ["class/block/cciss!c0d0", "link", "../../devices/pci0000:00/0000:02:00.0/block/cciss!c0d0"],
    ["devices/pci0000:00/0000:02:00.0/block/cciss!c0d0/slaves", "folder", ""],
    [
        "class/block/cciss!c0d0p1",
        "link",
        "../../devices/pci0000:00/0000:02:00.0/block/cciss!c0d0/cciss!c0d0p1",
    ],
    ["devices/pci0000:00/0000:02:00.0/block/cciss!c0d0/cciss!c0d0p1/partition", "file", "1\n"],
]


def recorded(name):
    return json.loads((TREES / f"{name}.json").read_text())["tree"]


def build(folder, *trees):
    """Lay the trees below `folder`; return its ``class/block``."""
    for path, kind, value in (entry for tree in trees for entry in tree):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "link":
            place.symlink_to(value)
        elif kind == "folder":
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_text(value)
    return folder / "class/block"
