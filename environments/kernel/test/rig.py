# SPDX-License-Identifier: GPL-2.0-only
"""Devices, schedulers, counters and fio in the test guest."""

import contextlib
import itertools
import json
import mmap
import os
import pathlib
import re
import struct
import subprocess
import threading
import time
import types

#: The scheduler whose tunables and counters are known here, and the module that brings it.
SBQ = types.SimpleNamespace(name="sbq", module="sbq-iosched")

#: The scheduler under test, and its module; `stress.py` may choose another.
UNDER_TEST = types.SimpleNamespace(**vars(SBQ))

NULL_BLK = pathlib.Path("/sys/kernel/config/nullb")
TROUBLE = re.compile(
    r"BUG|WARNING|Oops|hung_task|blocked for more|soft lockup|rcu.*stall|I/O error|KASAN"
)


#: Ends a test that would hang. Nothing else is measured against the clock: the host may be slow.
LIMIT_S = 600


def wait_until(condition, what):
    """Wait for what must come; `what` says what it is."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, f"in {LIMIT_S} s not seen: {what}"
        time.sleep(0.01)


def write(path, value):
    """Write one value to a file of the kernel's, in one call."""
    with open(path, "wb", buffering=0) as file:
        file.write(str(value).encode())


def load(module, *options):
    """Load a module: a file beside this one, if there is one, or the image's."""
    file = pathlib.Path(__file__).with_name(f"{module}.ko")
    command = ["insmod", str(file)] if file.exists() else ["modprobe", module]
    subprocess.run([*command, *options], check=True)


def holds_batches():
    """Tell whether SBQ is under test, which holds requests until there is a batch."""
    return UNDER_TEST.name == SBQ.name


def of_the_kernel():
    """Return the names of the kernel's schedulers, and load their modules.

    harness.py has written both beside this file, from their records.
    """
    modules = json.loads(pathlib.Path(__file__).with_name("schedulers.json").read_text())
    for module in filter(None, modules.values()):
        load(module)
    return list(modules)


class Queue:
    """The request queue of a block device."""

    def __init__(self, name):
        self.device = f"/dev/{name}"
        self.folder = pathlib.Path(f"/sys/block/{name}/queue")

    def wait_for_disk(self):
        places = self.folder, pathlib.Path(self.device)
        wait_until(lambda: all(place.exists() for place in places), self.device)
        wait_until(self.takes_a_scheduler, f"{self.device} taking a scheduler")

    def takes_a_scheduler(self):
        """Tell whether the queue is registered: its folder and its files are there before."""
        try:
            chosen = re.search(r"\[(.+?)\]", (self.folder / "scheduler").read_text())[1]
            self.select(chosen)
        except FileNotFoundError:
            return False
        return True

    def select(self, scheduler=None):
        """Choose a scheduler; by default the one under test."""
        write(self.folder / "scheduler", scheduler or UNDER_TEST.name)

    def hold_for(self, timeout_us):
        """Let SBQ hold requests so long; no other scheduler has this tunable."""
        if holds_batches():
            self.set("batch_timeout_us", timeout_us)

    def set(self, knob, value):
        write(self.folder / "iosched" / knob, value)

    def get(self, knob):
        return int((self.folder / "iosched" / knob).read_text())

    def wait_for_requests(self, number=100):
        stat = self.folder.parent / "stat"
        wait_until(lambda: int(stat.read_text().split()[0]) >= number, f"{number} reads")

    def counters(self):
        names = (
            "released_by_nr released_by_bytes released_by_timeout held bypassed merged dispatched"
        )
        return {name: self.get(name) for name in names.split()}

    def check_counters(self):
        """At rest, every request that came in has gone to the driver; only SBQ counts them."""
        if not holds_batches():
            return {}
        found = self.counters()
        assert found["held"] + found["bypassed"] == found["dispatched"], found
        return found


class NullBlk(Queue):
    """A null_blk device that lives as long as the with block."""

    def __init__(self, **options):
        self.config = NULL_BLK / "nullb0"
        self.config.mkdir()
        settings = {"size": 64, "memory_backed": 1, "blocksize": 512, "irqmode": 0, **options}
        for name, value in settings.items():
            write(self.config / name, value)
        write(self.config / "power", 1)
        super().__init__("nullb0")
        assert self.folder.exists(), list(pathlib.Path("/sys/block").iterdir())

    def __enter__(self):
        return self

    def power_off(self):
        write(self.config / "power", 0)

    def power_on(self):
        """Show the disk again, with all that was written to it."""
        write(self.config / "power", 1)

    def __exit__(self, *_):
        self.config.rmdir()


@contextlib.contextmanager
def hold_per_cpu():
    """Let queues that select SBQ in the with block hold for each processor."""
    set_hold_per_cpu(1)
    try:
        yield
    finally:
        set_hold_per_cpu(0)


def set_hold_per_cpu(value):
    """Set the parameter of SBQ's module."""
    write(f"/sys/module/{SBQ.module.replace('-', '_')}/parameters/hold_per_cpu", value)


class NvmeTcp(Queue):
    """An NVMe controller over TCP in front of `backing`, whose target is another namespace.

    Parameters
    ----------
    backing : str
        The device that the target serves.
    driver : str
        ``stock`` (Debian's nvme-tcp), or ``one-send`` (the same with one-send.patch).
    mtu_bytes : int
        Of the veth pair between host and target.
    options : dict
        More of the connection: ``queue_size``, ``nr_io_queues``, ...
    """

    modules = {"stock": "nvme-tcp", "one-send": "nvme-tcp-one-send"}
    target = pathlib.Path("/sys/kernel/config/nvmet")
    rule = pathlib.Path("/run/modprobe.d/one-send.conf")

    def __init__(self, backing, driver="stock", mtu_bytes=9000, **options):
        # Without multipath=N the namespace is a path of a multipath device: it has no scheduler.
        load("nvme-core", "multipath=N")
        for module in "nvme-fabrics", "nvmet-tcp", "veth":
            load(module)
        # Whenever it connects, the kernel asks for Debian's driver, which would stay loaded.
        self.rule.parent.mkdir(exist_ok=True)
        self.rule.write_text("" if driver == "stock" else "install nvme-tcp /bin/true\n")
        load(self.modules[driver])
        self.driver = self.modules[driver].replace("-", "_")
        self.options = options
        self.link(mtu_bytes)
        self.serve(backing)
        self.connect()

    @classmethod
    def drivers(cls):
        """Return the drivers to test with: the patched one belongs to SBQ's document."""
        return tuple(cls.modules) if holds_batches() else ("stock",)

    @staticmethod
    def link(mtu_bytes):
        for words in [
            "ip netns add target",
            f"ip link add host mtu {mtu_bytes} type veth peer target mtu {mtu_bytes} netns target",
            "ip address add 10.0.0.1/24 dev host",
            "ip link set host up",
            "ip -n target address add 10.0.0.2/24 dev target",
            "ip -n target link set target up",
            "ip -n target link set lo up",
        ]:
            subprocess.run(words.split(), check=True)

    def serve(self, backing):
        subsystem = self.target / "subsystems" / "elevator-test"
        subsystem.mkdir()
        write(subsystem / "attr_allow_any_host", 1)
        (subsystem / "namespaces" / "1").mkdir()
        write(subsystem / "namespaces" / "1" / "device_path", backing)
        write(subsystem / "namespaces" / "1" / "enable", 1)
        port = self.target / "ports" / "1"
        port.mkdir()
        address = {"trtype": "tcp", "adrfam": "ipv4", "traddr": "10.0.0.2", "trsvcid": 4420}
        for name, value in address.items():
            write(port / f"addr_{name}", value)
        # The target listens in the namespace of the process that links the subsystem.
        link = ["ln", "-s", str(subsystem), str(port / "subsystems" / "elevator-test")]
        subprocess.run(["nsenter", "--net=/run/netns/target", *link], check=True)

    def connect(self):
        words = {"traddr": "10.0.0.2", "trsvcid": 4420, "nqn": "elevator-test"}
        words |= {"keep_alive_tmo": LIMIT_S, **self.options}
        words = ["transport=tcp", *(f"{name}={value}" for name, value in words.items())]
        with open("/dev/nvme-fabrics", "r+b", buffering=0) as fabrics:
            fabrics.write(",".join(words).encode())
            instance = re.search(rb"instance=(\d+)", fabrics.read(4096))[1].decode()
        self.controller = pathlib.Path(f"/sys/class/nvme/nvme{instance}")
        super().__init__(f"nvme{instance}n1")
        self.wait_for_disk()

    def delete(self):
        write(self.controller / "delete_controller", 1)

    def reset(self):
        write(self.controller / "reset_controller", 1)

    def close(self):
        if self.controller.exists():
            self.delete()
        (self.target / "ports" / "1" / "subsystems" / "elevator-test").unlink()
        (self.target / "ports" / "1").rmdir()
        write(self.target / "subsystems" / "elevator-test" / "namespaces" / "1" / "enable", 0)
        (self.target / "subsystems" / "elevator-test" / "namespaces" / "1").rmdir()
        (self.target / "subsystems" / "elevator-test").rmdir()
        subprocess.run(["ip", "netns", "delete", "target"], check=True)
        subprocess.run(["rmmod", self.driver], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def fio_command(device, **options):
    settings = {
        "name": "job",
        "filename": device,
        "direct": 1,
        "ioengine": "libaio",
        "bs": "4k",
        "iodepth": 32,
        "randseed": 1,
        "allow_file_create": 0,  # of a disk that is gone it would make a file
        "output-format": "json",
        **options,
    }
    return ["fio", *(f"--{name}={value}" for name, value in settings.items())]


def verified(**options):
    """Return options for fio: write, then read back and compare every block."""
    return {"rw": "randwrite", "verify": "crc32c", "verify_fatal": 1, "do_verify": 1, **options}


def start(device, **options):
    command = fio_command(device, **options)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def endless(**options):
    """Return options for fio: read and write until the disk goes."""
    day_s = 24 * 60 * 60
    return {"rw": "randrw", "numjobs": 2, "time_based": 1, "runtime": day_s, **options}


def said_by(job):
    """Return what fio has said when it ends."""
    return job.communicate(timeout=LIMIT_S)[0]


def each_reads_back(job, least_bytes=1 << 20):
    """Tell whether each job of a running fio has read back some of what it wrote."""
    jobs = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    accounts = [pathlib.Path(f"/proc/{one}/io").read_text() for one in jobs]
    read_bytes = [int(re.search(r"^read_bytes: (\d+)", one, re.M)[1]) for one in accounts]
    return bool(jobs) and min(read_bytes) >= least_bytes


def finish(job):
    """Return fio's report of its jobs; an error of fio or of a verification is an error here."""
    said = said_by(job)
    assert job.returncode == 0, f"fio ended with {job.returncode}: {said[-1500:]}"
    return json.loads(said[said.index("{") :])["jobs"]


def fio(device, **options):
    return finish(start(device, **options))


class Writer(threading.Thread):
    """Writes blocks of its own until it is told to stop or the disk fails.

    fio forgets what it wrote when the disk fails. This remembers which write of each block was
    the last one that was acknowledged, and so can say later whether it is on the disk.
    """

    size, blocks = 4096, 8

    def __init__(self, device, first):
        super().__init__(daemon=True)
        self.device, self.first = device, first
        self.acknowledged, self.tried, self.error = {}, None, None
        self.ended = threading.Event()
        self.start()

    def content(self, block, number):
        return struct.pack("QQ", block, number) * (self.size // 16)

    def run(self):
        disk = os.open(self.device, os.O_RDWR | os.O_DIRECT)
        page = mmap.mmap(-1, self.size)  # O_DIRECT wants whole pages
        try:
            for number in itertools.count(1):
                if self.ended.is_set():
                    break
                block = self.first + number % self.blocks
                page[:] = self.content(block, number)
                self.tried = block, number
                os.pwrite(disk, page, block * self.size)
                self.acknowledged[block] = number
        except OSError as error:
            self.error = error
        os.close(disk)

    def written(self):
        """Return the number of the last write that was acknowledged."""
        return max(list(self.acknowledged.values()), default=0)

    def check(self, device):
        """Compare what is on the disk with what it acknowledged; return the number of writes."""
        disk = os.open(device, os.O_RDONLY | os.O_DIRECT)
        page = mmap.mmap(-1, self.size)
        for block, number in self.acknowledged.items():
            assert os.preadv(disk, [page], block * self.size) == self.size
            allowed = [self.content(block, number), self.content(*self.tried)]
            found = struct.unpack_from("QQ", page)
            assert page[:] in allowed, (found, (block, number), self.tried)
        os.close(disk)
        return self.written()


class Writers:
    """Many of them, behind the first `offset_mib` of a disk, where fio is at work."""

    def __init__(self, device, number=24, offset_mib=48):
        first = (offset_mib << 20) // Writer.size
        self.all = [Writer(device, first + Writer.blocks * at) for at in range(number)]

    def wait_for_writes(self, each=Writer.blocks):
        """Wait until every one has written so many times more than now."""
        goals = [(one, one.written() + each) for one in self.all]
        wait_until(
            lambda: all(one.written() >= goal or one.error for one, goal in goals), "their writes"
        )

    def check(self, device, fail):
        """Stop them; return how many writes were acknowledged, all of which are on the disk.

        `fail` says whether each of them must have seen its disk fail, or none.
        """
        for writer in self.all:
            if not fail:
                writer.ended.set()
        for writer in self.all:
            writer.join(LIMIT_S)
            assert not writer.is_alive(), "a write neither succeeds nor fails"
            assert bool(writer.error) == fail, writer.error
        number = sum(writer.check(device) for writer in self.all)
        assert number > 2 * len(self.all), number
        return number


def trouble():
    """Return the kernel's complaints since the last call."""
    log = subprocess.run(["dmesg", "--read-clear"], capture_output=True, text=True).stdout
    return [line for line in log.splitlines() if TROUBLE.search(line)]
