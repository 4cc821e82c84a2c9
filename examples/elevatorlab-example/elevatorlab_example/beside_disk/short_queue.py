"""The law of a policy: the disk's mean queue stays under a length."""

from typing import NamedTuple


class ShortQueue(NamedTuple):
    """Hold the queue under `longest` requests; `target`, `low`, `high` are ratios of it."""

    longest: float = 4.0
    target: float = 0.8
    low: float = 0.65
    high: float = 0.9

    @staticmethod
    def signal(pressure):
        """Return what is linear in the load: U = L / (1 + L) of a queue with one server."""
        return pressure / (1 + pressure)

    def pressure(self, pool, usages, disk, settings):
        """Return (pressure, offenders, numbers)."""
        if disk is None:
            return None, [], {}
        offenders = [usage for usage in usages if usage.requests or usage.key in pool.throttled]
        numbers = {"queue_length": round(disk.queue_length, 2), "longest": self.longest}
        return disk.queue_length / self.longest, offenders, numbers

    def keep(self, pressure):
        """Return how much of the load may stay."""
        return self.target / pressure

    def sentence(self, numbers):
        """Say what was found."""
        return f"queue of the disk is {numbers['queue_length']}, longest {numbers['longest']}"
