"""Trials in this process: its threads wait for a machine that does the work."""

from concurrent.futures import ThreadPoolExecutor

from . import task


class Here:
    """A pool of `width` threads.

    Real machines are driven from here, one trial at a time each: the client only talks to them, so
    a worker would add nothing but another program between.
    """

    def __init__(self, width):
        self._threads = ThreadPoolExecutor(width)
        self._testbeds = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._threads.shutdown()

    def submit(self, testbed, trial, note):
        """Run a trial when its turn comes."""
        self._testbeds.add(testbed)
        return self._threads.submit(task.run, testbed, trial, note)

    def stop(self):
        """End what runs, start nothing more, and wait until all has ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for testbed in self._testbeds:
            testbed.stop()
        self._threads.shutdown()
