"""Testbeds that run nothing, and trials for campaigns on them."""

import time

import pytest

import stored
from elevatorlab.errors import TrialFailed
from elevatorlab.results.outcome import Outcome


class FakeTestbed:
    """What every testbed answers; those below run trials in their own way."""

    name = "stub"
    anywhere = True
    slots = 1
    identity_is = ""
    defaults = {}

    def findings(self):
        return []

    def takes(self, trial):
        return True

    def prepare(self, trials):
        self.prepared = trials

    def machine(self):
        return self.name

    def folder_name(self):
        return self.name

    def identity(self):
        return self.name

    def stop(self):
        self.stopped = True

    def clean(self):
        return ""

    def close(self):
        self.closed = True


class Bench(FakeTestbed):
    """A testbed of real machines: a trial is a moment's wait and an empty result."""

    anywhere = False

    def __init__(self, name, machine, slots=1, takes="host", fails=(), lasts_s=0.05):
        self.name, self._machine, self.slots = name, machine, slots
        self._takes, self.fails, self.lasts_s = takes, fails, lasts_s
        self.spans, self.stopped, self.closed, self.prepared = [], 0, 0, None

    def takes(self, trial):
        return trial.machine == self._takes

    def machine(self):
        return self._machine

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

    def close(self):
        self.closed += 1


@pytest.fixture
def trials(make_real_trial):
    def make(count, **more):
        return [
            make_real_trial(seed=seed, repetition=1 + seed // 3, **more) for seed in range(count)
        ]

    return make
