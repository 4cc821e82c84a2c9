"""Synthetic measured tables for the tests of study 1."""

import itertools

import pandas as pd

from elevatorlab.studies.vm_vs_container.claims import COLUMNS, SCHEDULERS
from elevatorlab.studies.vm_vs_container.published import TEST_1, TEST_2, times

VARIANTS = ("as_published", "dropped", "direct")
NONE_YET = pd.DataFrame(columns=COLUMNS)


def as_printed(arms=("container", "vm"), repetitions=3, jitter=0.0, factor=None, **columns):
    """Return a table in which a rerun gives the article's own times.

    `factor(row)` multiplies a time; `jitter` is the relative spread between repetitions.
    """
    printed = times()
    rows = []
    for arm, variant, repetition in itertools.product(arms, VARIANTS, range(1, repetitions + 1)):
        like = printed[printed["arm"] == (arm if arm == "vm" else "container")]
        for one in like.to_dict("records"):
            size_mib = one["published_size_mb"] if one["test"] == TEST_1 else 50.0
            bytes_read = int(size_mib * 2**20)
            row = {
                "trial": f"{arm}-{variant}-{one['scheduler']}-{repetition}",
                "study": "vm_vs_container",
                "testbed": "vagrant",
                "preset": "full",
                "arm": arm,
                "scheduler": one["scheduler"],
                "variant": variant,
                "test": one["test"],
                "published_size_mb": one["published_size_mb"],
                "size_mib": size_mib,
                "seed": repetition,
                "repetition": repetition,
                "time_s": one["time_s"] * (1 + jitter * (repetition - 2)),
                "bytes_read": bytes_read,
                "device_read_bytes": 0 if variant == "as_published" else bytes_read,
                "storage_read_bytes": 0 if variant == "as_published" else bytes_read,
                "image_digest": "",
                **columns,
            }
            row["time_s"] *= factor(row) if factor else 1
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


__all__ = ["NONE_YET", "SCHEDULERS", "TEST_1", "TEST_2", "VARIANTS", "as_printed"]
