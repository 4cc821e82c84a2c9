"""Facts of a machine that has everything."""

from elevatorlab.agent.observe.facts import NVME_TCP_MODULES


def facts(**changes):
    """Return what a machine is and has that has everything."""
    everything = {
        **{"cgroup": 2, "schedulers": ["none"], "kernel": "6.1", "loop": True, "tracefs": True},
        **{"machine_id": "1", "fuse": True, "io_cost": True, "null_blk": True, "drop_caches": True},
        "virtualization": "none",
        "modules": dict.fromkeys(NVME_TCP_MODULES, True),
        "scratch": {"disks": ["sda"], "free_mib": 9000},
        "programs": dict.fromkeys(
            ("fio", "iostat", "iozone", "ip", "losetup", "mariadbd", "mkfs.ext4", "sysbench"), True
        ),
    }
    everything["modules"] |= changes
    return everything
