"""Replay the trace of a real drive on its model in the deterministic machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.indices import demerit
from ..results import store, trace
from ..running import campaign, jobs
from ..testbeds.deterministic import DeterministicTestbed
from ..trial import Trial, checked
from ..trial.drives import Drive

MEMORY_MIB = 512

#: Time for which a trial waits per request, on average, before it is stopped (the machine's time).
PATIENCE_S = 0.5

#: What makes requests of one kind; `kinds` says what each may be.
KIND = ["operation", "after", "order", "place"]


@dataclass(frozen=True)
class Replayed:
    """A trace of a real drive, and its replay on the modelled drive."""

    #: The modelled drive.
    drive: Drive
    #: The requests of the trace, as `traces.read` returns them.
    real: pd.DataFrame
    #: Folder of the trial's result.
    folder: Path

    @cached_property
    def response_ms(self) -> pd.Series:
        """Time from issue to completion of each request on the modelled drive, in order."""
        requests = trace.requests(trace.read(self.folder))
        return (requests["completed_s"] - requests["issued_s"]) * 1000

    @cached_property
    def hit(self) -> pd.Series:
        """Whether the modelled drive needed no arm to answer each request, in order.

        A request to an array may have parts on several drives: then none of them needed its arm.
        """
        requests, parts = trace.requests(trace.read(self.folder)), trace.arm(self.folder)
        of = np.searchsorted(requests["issued_s"], parts["time_s"], "right") - 1
        return parts.groupby(of)["hit"].min().reindex(range(len(requests))) == 1

    @property
    def kinds(self) -> pd.DataFrame:
        """How near the model is for each kind of request (see the function `kinds`)."""
        return kinds(self.real, self.response_ms, self.hit)

    @property
    def real_response_ms(self) -> pd.Series:
        """Response time of each request on the real drive, in order; NaN where it is unknown."""
        return self.real["response_us"] / 1000

    @property
    def compared_ms(self) -> tuple[pd.Series, pd.Series]:
        """Modelled and real response times of those requests whose real one is known."""
        known = self.real_response_ms.notna()
        return self.response_ms[known], self.real_response_ms[known]

    def as_json(self) -> dict[str, Any]:
        """Return the numbers that compare the modelled with the real response times.

        All but ``mean_ms`` and ``requests`` are of the requests whose real response time is known.
        Where there are none, the times are None.
        """
        modelled, real = self.compared_ms
        known = len(real) > 0
        return {
            "demerit_ms": round(demerit(modelled, real), 6) if known else None,
            "mean_ms": round(float(self.response_ms.mean()), 6),
            "compared_mean_ms": round(float(modelled.mean()), 6) if known else None,
            "real_mean_ms": round(float(real.mean()), 6) if known else None,
            "requests": len(self.real),
            "compared": len(real),
        }


def kinds(real: pd.DataFrame, response_ms: pd.Series, hit: pd.Series) -> pd.DataFrame:
    """Return how near a modelled drive is for each kind of request.

    Parameters
    ----------
    real : pandas.DataFrame
        The requests of the trace, as `traces.read` returns them.
    response_ms : pandas.Series
        What the modelled drive took for each (ms).
    hit : pandas.Series
        Whether it answered each without its arm.

    Returns
    -------
    pandas.DataFrame
        A row for all requests whose real response time is known, then one for each kind: operation
        (read, write); after, the operation before; order (sequential: it begins where the request
        before ended; other); place (buffer, platter: whether the *modelled* drive needed its arm).
        Then requests (their number), mean_ms, real_mean_ms, demerit_ms, and of_whole: this demerit
        divided by that of all. The first request, which comes after none, is of no kind.
    """
    operation = real["op"].map({"R": "read", "W": "write"})
    goes_on = real["sector"] == (real["sector"] + real["sectors"]).shift()
    parts = [
        operation,
        operation.shift(),
        goes_on.map({True: "sequential", False: "other"}),
        hit.map({True: "buffer", False: "platter"}),
    ]
    told = pd.DataFrame(dict(zip(KIND, parts, strict=True)))
    told = told.assign(modelled=response_ms, real=real["response_us"] / 1000)
    told = told[told["real"].notna()]
    found = [(("all",) * len(KIND), told), *told.groupby(KIND)] if len(told) else []
    rows = [
        (
            *kind,
            len(of),
            of["modelled"].mean(),
            of["real"].mean(),
            demerit(of["modelled"], of["real"]),
        )
        for kind, of in found
    ]
    table = pd.DataFrame(rows, columns=[*KIND, "requests", "mean_ms", "real_mean_ms", "demerit_ms"])
    whole_ms = table["demerit_ms"].head(1).sum()
    # Where both are the same to the last bit, so is each kind.
    return table.assign(of_whole=table["demerit_ms"] / (whole_ms or 1.0)).round(6)


def trial_of(drive: Drive, requests: pd.DataFrame) -> Trial:
    """Return the trial that replays the requests of a trace on a drive.

    After the answer to a request, the request's `next_after_us` passes before the next one arrives.
    The traces of DiskSim were measured in this way: if the times counted from arrival to arrival,
    the HP C3323A would have answered every sixth request before it answered the previous one.
    """
    gaps_us = requests["next_after_us"].shift(fill_value=0)
    writes = (requests["op"] == "W").astype(int)
    places = requests["sector"], requests["sectors"]
    replay = {
        **{"kind": "serial_replay", "name": "replay", "group": "main"},
        "requests": list(zip(gaps_us, writes, *places, strict=True)),
    }
    deadline_s = 60 + PATIENCE_S * len(requests) + gaps_us.sum() / 1e6
    return checked(
        Trial,
        {
            **{"study": "drive", "preset": "smoke", "memory_mib": MEMORY_MIB, "trace": True},
            **{"device": drive, "scheduler": {"name": "none"}, "filesystem": None},
            **{"groups": ({"name": "main"},), "workloads": (replay,)},
            **{"settle_s": 0, "sample_interval_ms": 1000, "deadline_s": deadline_s, "seed": 1},
        },
        "trial",
    )


def replay(
    drive: Drive,
    requests: pd.DataFrame,
    results: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Replayed:
    """Replay the requests of a trace on a drive, unless the result exists.

    `results`: Folder of results. By default, one below ``build/`` for the present image of the
    deterministic testbed. `say`: Called with a text on each thing that the testbed does before the
    first trial.
    """
    testbed = DeterministicTestbed(say=say)
    kept = results or store.default_results(testbed, "drives")
    trial = trial_of(drive, requests)
    share = campaign.Share(testbed, [trial])
    if share.todo(kept):
        jobs.run_shares([share], kept)
    return Replayed(drive, requests, store.folder(kept, testbed) / trial.hash)


#: A kind whose demerit figure is this many times that of all requests is far from the real drive.
FAR = 1.5
#: Fewer requests of a kind say little.
FEW = 100


def nearness(replayed: Sequence[Replayed]) -> str:
    """Return the table of docs/drives.md, which compares modelled drives with the real ones."""
    rows = ["| drive | requests | demerit here | DiskSim's | mean here | mean, real |"]
    rows.append("| --- " * 6 + "|")
    for one in replayed:
        figures, known_ms = one.as_json(), one.drive.drive.disksim_demerit_ms
        cells = [
            *(one.drive.profile, f"{figures['requests']:,}", f"{figures['demerit_ms']:.3f} ms"),
            "" if known_ms is None else f"{known_ms:.3f} ms",
            *(f"{figures[mean]:.2f} ms" for mean in ("mean_ms", "real_mean_ms")),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def nearness_by_kind(kinds: pd.DataFrame) -> str:
    """Return the table of docs/drives.md that compares drives by kind of request.

    `kinds`: rows of the function `kinds`, with a column `drive` before them. A cell says by how
    much the mean is off (%), and how many times the demerit figure of all requests the kind's is:
    bold where these are `FAR` or more. A kind with fewer than `FEW` requests has no cell.
    """
    off = 100 * (kinds["mean_ms"] / kinds["real_mean_ms"] - 1)
    times = kinds["of_whole"].map(lambda one: f"**{one:.2f}**" if one >= FAR else f"{one:.2f}")
    cells = off.map("{:+.1f} %, ".format) + times
    enough = kinds.assign(cell=cells)[kinds["requests"] >= FEW]
    table = enough.pivot(index=KIND, columns="drive", values="cell").fillna("")
    lines = [[*KIND, *table.columns], ["---"] * (len(KIND) + len(table.columns))]
    lines += [[*kind, *row] for kind, row in zip(table.index, table.to_numpy(), strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
