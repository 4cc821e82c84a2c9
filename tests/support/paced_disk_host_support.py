"""What several files of tests share with `test_paced_disk_host`."""

DISK = {"kind": "paced_disk", "profile": "server", "size_mib": 16, "service_us": 1850}


def writes(duration_s, group="main"):
    phase = {"duration_s": duration_s, "think_us": 2000}
    plain = {"kind": "paced_writes", "name": f"of-{group}", "group": group}
    return {**plain, "request_bytes": 4096, "phases": (phase,)}


def divided(duration_s, **more):
    groups = ("one", "two")
    return {
        "device": DISK,
        "divided": True,
        "groups": [{"name": name} for name in groups],
        "workloads": [writes(duration_s, name) for name in groups],
        **more,
    }
