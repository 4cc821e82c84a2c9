"""Many trials, several at a time; what is finished is never run twice."""

import shutil
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from . import __version__, store
from .errors import ElevatorLabError, TrialFailed

MIB_PER_RESULT = 1


@dataclass
class Plan:
    """What a campaign would do."""

    todo: list
    finished: int

    def __str__(self):
        return f"{len(self.todo)} trials to run, {self.finished} finished already"


def plan(trials, testbed, results):
    """Divide `trials` into those that are finished in `results` and those to run."""
    unique = {trial.hash: trial for trial in trials}
    todo = [
        trial
        for trial in unique.values()
        if not store.finished(store.folder_of(results, testbed.name, trial))
    ]
    return Plan(todo, len(unique) - len(todo))


def run(trials, testbed, results, workers=None, progress=None):
    """Run what is not finished yet.

    Parameters
    ----------
    trials : list of Trial
    testbed : Testbed
    results : path
    workers : int, optional
        Trials at the same time; by default what the testbed allows.
    progress : callable, optional
        Called as ``progress(done, total, trial)`` after each trial.

    Raises
    ------
    NotReady
        Before anything starts, when the testbed cannot run the trials.
    TrialFailed
        After all others have ended, when some failed; the message has each one's sentence.
    """
    store.check(results, testbed)
    with store.sole_writer(results, testbed):
        _run_the_rest(trials, testbed, results, workers, progress)


def _run_the_rest(trials, testbed, results, workers, progress):
    todo = plan(trials, testbed, results).todo
    if not todo:
        return
    _check_disk(results, len(todo))
    testbed.prepare(todo)
    for leftover in store.folder_of(results, testbed.name, todo[0]).parent.glob("*.part"):
        shutil.rmtree(leftover)
    failures = []
    with ThreadPoolExecutor(workers or testbed.slots) as pool:
        running = {pool.submit(_run_one, trial, testbed, results): trial for trial in todo}
        try:
            for done, future in enumerate(as_completed(running), start=1):
                trial = running[future]
                try:
                    future.result()
                except TrialFailed as failure:
                    failures.append(f"trial {trial.hash} ({_labels(trial)}): {failure}")
                if progress:
                    progress(done, len(todo), trial)
        except BaseException:  # Ctrl-C, SIGTERM: end the machines, keep what is finished
            pool.shutdown(wait=False, cancel_futures=True)
            testbed.stop()
            raise
    if failures:
        shown = "\n".join(failures[:5])
        raise TrialFailed(f"{len(failures)} of {len(todo)} trials failed:\n{shown}")


def _run_one(trial, testbed, results):
    folder = store.folder_of(results, testbed.name, trial)
    with store.Writer(folder) as writer:
        provenance = testbed.run(trial, writer.part)
        writer.finish(trial, {**provenance, "package": __version__})


def _labels(trial):
    return ", ".join([trial.scheduler.name, *trial.labels.values()])


def _check_disk(results, count):
    free_mib = shutil.disk_usage(results).free >> 20
    if free_mib < count * MIB_PER_RESULT + 100:
        raise ElevatorLabError(
            f"results folder {results}: expected {count * MIB_PER_RESULT + 100} MiB of free disk "
            f"space for {count} trials; found {free_mib} MiB. Free some, or name another folder"
        )
