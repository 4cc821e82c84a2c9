"""One trial of a campaign, in whatever process it runs; the result leaves as bytes."""

from pathlib import Path

from .. import __version__
from ..errors import NotReady
from ..testbeds.deterministic import scratch

#: (campaign, testbed) of the trials that run in this process for a Dask cluster.
_running = set()


def run(testbed, trial, note):
    """Run `trial` and return its result.

    Returns
    -------
    dict of str to bytes
        The files of the result, by their names in its folder.
    dict
        The provenance.
    """
    with scratch.folder() as place:
        provenance = testbed.run(trial, Path(place), note)
        files = {
            str(file.relative_to(place)): file.read_bytes()
            for file in sorted(Path(place).rglob("*"))
            if file.is_file()
        }
    return files, {**provenance, "package": __version__}


def run_for(campaign, testbed, identity, trial):
    """Do the same on a worker of a Dask cluster, unless its testbed is another one.

    Parameters
    ----------
    campaign : str
        Name by which `stop` finds the trial.
    testbed : Testbed
    identity : str
        The testbed's identity at the client.
    trial : Trial

    Raises
    ------
    NotReady
        When the results would be another image's.
    """
    if refusal := unlike(testbed, identity):
        raise NotReady(refusal)
    job = (campaign, testbed)
    _running.add(job)
    try:
        return run(testbed, trial, lambda text: None)
    finally:
        _running.discard(job)


def unlike(testbed, identity):
    """Say in what the testbed differs here from the client's; "" where it does not."""
    try:
        found = testbed.identity()
    except NotReady as problem:
        return str(problem)
    if found == identity:
        return ""
    return f"expected {testbed.name} {identity[:12]}{testbed.identity_is}; found {found[:12]}"


def stop(campaign):
    """End the trials that run in this process for a campaign."""
    for name, testbed in list(_running):
        if name == campaign:
            testbed.stop()
