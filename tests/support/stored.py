"""Whole results of no trial in particular, as a testbed leaves them."""

import json

RATES = {
    **{"duration_s": 1.0, "queue_length": 0.5, "utilization_ratio": 0.5},
    **{"read_iops": 0.0, "read_kib_s": 0.0, "read_await_ms": None},
    **{"write_iops": 10.0, "write_kib_s": 40.0, "write_await_ms": 2.0},
}


def result(workloads=None, **changes):
    """Return the content of a ``result.json``; of each workload, what it measured."""
    return {
        "schema_version": 2,
        "outcome": "finished",
        "proofs": [],
        "cpu_busy_ratio": 0.5,
        "device": RATES,
        "server": {"busy_ratio": None, "service_ms": None},
        "partitions": {},
        "regulator": None,
        "workloads": workloads or {},
        **changes,
    }


def provenance(**changes):
    """Return the content of a ``provenance.json``."""
    return {
        "schema_version": 2,
        "testbed": "stub",
        "machine": "stub",
        "accelerator": "none (bare metal)",
        "image_digest": "0" * 64,
        "agent_digest": "1" * 64,
        "kernel": "6.1.0-1",
        "packages": {"fio": "3.33-3"},
        "package": "0.1.0",
        "host": {"cpu": "a processor", "kernel": "6.1", "machine": "x86_64", "cores": 2},
        "wall_s": 1.0,
        **changes,
    }


def fio_read(**changes):
    """Return what fio reports of a few reads."""
    usual = {"requests": 10, "bytes": 40960, "iops": 10.0, "kib_s": 40.0}
    usual |= {"latency_mean_ns": 1000.0, "latency_percentile_ns": {"50.000000": 1000}}
    return {"read": {**usual, **changes}}


def paced_writes(series, **changes):
    """Return what a workload of paced writes measured, whose intervals are those of `series`."""
    return {
        **{"requests": 10, "bytes": 40960, "duration_s": 1.0, "busy_s": 0.1},
        **{"latency_mean_us": 10_000.0, "latency_percentile_us": {"99": 12_000.0}},
        **{"histogram": [[1.5, 10]], "series": series},
        **changes,
    }


def spelled(content):
    """Return the bytes of a file that says `content`."""
    return json.dumps(content).encode()
