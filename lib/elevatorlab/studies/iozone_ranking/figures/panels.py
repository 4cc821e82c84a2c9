"""The devices and variants that a figure shows side by side."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ...kit.cells import rows_of
from ..measures import VARIANTS, devices_in

SHORT = {
    "notebook-5400": "notebook drive",
    "desktop-7200": "desktop drive",
    "single_server_disk": "disk without an arm",
    "sata_ssd": "SATA SSD",
    "nvme_ssd": "NVMe SSD",
    "ram_disk": "RAM disk",
    "file_backed": "file-backed",
    "disk": "disk",
    "as_published": "as published",
    "direct": "direct (-I)",
}


def panels(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield a title and the rows of each device and variant that was measured."""
    for arm in devices_in(rows):
        for variant in VARIANTS:
            some = rows_of(rows, arm=arm, variant=variant)
            if len(some):
                yield f"{SHORT.get(arm, arm)}\n{SHORT[variant]}", some
