"""What several tiers of `test_stream_batching_cores` share."""

import pandas as pd

from elevatorlab import studies
from elevatorlab.studies import stream_batching as study
from stream_batching_support import as_published, measured


def expanded(preset="quick", **overrides):
    return study.trials(studies.parameters(study, preset, {"experiments": ("cores",), **overrides}))


def on_cores(slot=1000, transfer=0, **changes):
    """Return rows of one, two and four cores: so many times the rate of one, SBQ as published."""
    said = f"cpus 8, slot {slot}, transfer {transfer}"
    machine = {
        **{"testbed": "multicore", "machine": f"m-{slot}-{transfer}", "time_scale": 4.0},
        "accelerator": f"TCG, parallel rounds: {said} (1 instruction = 1 ns)",
    }
    rates = {1: 35_000, 2: 58_000, 4: 99_000}
    rows = [measured(as_published, rate).assign(cores=cores) for cores, rate in rates.items()]
    return pd.concat(rows).query("driver == 'stock'").assign(**{**machine, **changes})


def band(**changes):
    return pd.concat([on_cores(**changes), on_cores(200, **changes), on_cores(200, 100, **changes)])


def verdicts(table):
    """Return the claims about one run by the end of their names."""
    judged = study.judge(table)
    return {one.id.partition("/")[2]: one for one in judged if one.machine == "m-1000-0"}
