"""What several files of tests share with `test_campaign`."""

import time

import pytest

import stored
from elevatorlab.errors import TrialFailed
from elevatorlab.results.outcome import Outcome


class Bench:
    """A small testbed of the real protocol: a trial is a moment's wait and an empty result."""

    identity_is = ""
    anywhere = False
    defaults = {}

    def __init__(self, name, machine, slots=1, takes="host", fails=(), lasts_s=0.05):
        self.name, self._machine, self.slots = name, machine, slots
        self._takes, self.fails, self.lasts_s = takes, fails, lasts_s
        self.spans, self.stopped, self.closed, self.prepared = [], 0, 0, None

    def findings(self):
        return []

    def takes(self, trial):
        return trial.machine == self._takes

    def prepare(self, trials):
        self.prepared = trials

    def machine(self):
        return self._machine

    def folder_name(self):
        return self.name

    def identity(self):
        return self.name

    def run(self, trial, note):
        note("runs")
        start_s = time.monotonic()
        time.sleep(self.lasts_s)
        self.spans.append((start_s, time.monotonic(), trial))
        if trial.seed in self.fails:
            raise TrialFailed("the disk is on fire; expected water", b"smoke\nflames\n")
        return Outcome({"result.json": b"{}"}, stored.provenance(testbed=self.name))

    def stop(self):
        self.stopped += 1

    def clean(self):
        return ""

    def close(self):
        self.closed += 1


@pytest.fixture
def trials(make_real_trial):
    def make(count, **more):
        return [
            make_real_trial(seed=seed, repetition=1 + seed // 3, **more) for seed in range(count)
        ]

    return make
