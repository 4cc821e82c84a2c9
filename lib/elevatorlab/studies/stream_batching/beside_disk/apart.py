"""An NVMe/TCP host and its target on processors of their own, on one machine.

The host has the first processors, the target the next ones, as many. Each processor of the host
has a queue of the driver, a connection, and a partner among the target's processors:

- The driver makes a queue for each processor, and works for the queue there.
- A message leaves through the port's queue of the processor that sends it (XPS), and the other
  end takes it in on that processor's partner (RPS), as a network card interrupts the processor
  of a queue.
- The target works for a connection on the processor that took in its last message.
- fio's jobs are pinned to the host's processors, one each.

None of this is taken on trust: the kernel records where both sides work, before the first point,
and a trial in which a side works on the other's processors fails (`check`).
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from typing import TYPE_CHECKING, NamedTuple

from agent.devices import block_device, cable, nvme_target, nvme_tcp
from agent.devices.modules import load_module, run
from agent.errors import AgentError
from agent.groups.worker import ending
from agent.observe import tracefs
from agent.workloads.fio_points import FioPoints, Times

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent.lifecycle.context import Context

RAM_DISK = "ram0"

#: Each processor has a buffer of that size: for some ms of its events, on a machine with many.
BUFFER_KIB = 2048

#: fio's times in the run that is the proof: of a part of them, a processor has thousands of events.
PROOF = Times(ramp_ms=0, counted_ms=0, window_ms=4)

#: What the kernel records, and whose it is.
EVENTS = ("workqueue/workqueue_execute_start", "net/netif_receive_skb")
HOST, TARGET = "host", "target"
WORK_ITEM = re.compile(r"workqueue_execute_start: .* function (nvmet?)_tcp_io_work")
TAKEN_IN = re.compile(rf"netif_receive_skb: dev=({cable.HOST.name}|{cable.TARGET.name}) ")
LINE = re.compile(r"^\s*\S.*-\d+\s+\[(?P<processor>\d+)\]\s")
OWNERS = {
    "nvme": HOST,
    "nvmet": TARGET,
    cable.HOST.name: HOST,
    cable.TARGET.name: TARGET,
}


class Places(NamedTuple):
    """The processors of either side."""

    host: range
    target: range

    @classmethod
    def of(cls, cores: int) -> Places:
        """Return the places where each side has so many processors."""
        return cls(range(cores), range(cores, 2 * cores))


def create(device: Mapping[str, Any], context: Context) -> str:
    """Serve a disk to this machine, from processors of its own; return the host's disk."""
    places = Places.of(device["cores"])
    there = os.cpu_count() or 1
    if there < len(places.host) + len(places.target):
        raise AgentError(
            f"host and target have {device['cores']} processors each; expected a machine with at "
            f"least {2 * device['cores']}, found {there}. Choose fewer (-p cores=...), or another "
            f"machine (--testbed 'deterministic?cpus={2 * device['cores']}')"
        )
    backing = _backing(device["backing"], context)
    nvme_tcp.load_driver(device["driver"], context)
    for module in nvme_target.MODULES:
        load_module(module, journal=context.journal)
    _lay_cable(device["mtu_bytes"], there, context)
    _steer(cable.HOST, places.host, cable.TARGET, places.target)
    _steer(cable.TARGET, places.target, cable.HOST, places.host)
    if device.get("link"):
        load_module("sch_netem")
        for port, processors in ((cable.HOST, places.host), (cable.TARGET, places.target)):
            _shape(port, processors, device["link"], context)
    inside = ("nsenter", f"--net={cable.NAMESPACES / cable.NAMESPACE}")
    address = cable.TARGET.address
    nvme_target.serve(f"/dev/{backing}", address, None, context, inside)
    disk: str = nvme_tcp.connect(device, address, {}, context)
    return disk


def _lay_cable(mtu_bytes: int, queues: int, context: Context) -> None:
    """Make a cable like the agent's own, whose ports have a queue for each processor."""
    load_module("veth", journal=context.journal)
    context.journal.will("remove_namespace", cable.NAMESPACE)
    run("ip", "netns", "add", cable.NAMESPACE)
    context.journal.will("remove_link", cable.HOST.name)
    port = ["mtu", str(mtu_bytes), "numtxqueues", str(queues), "numrxqueues", str(queues)]
    peer = ["peer", "name", cable.TARGET.name, *port, "netns", cable.NAMESPACE]
    run("ip", "link", "add", cable.HOST.name, *port, "type", "veth", *peer)
    for end in (cable.HOST, cable.TARGET):
        run("ip", *end.place, "address", "add", f"{end.address}/30", "dev", end.name)
        run("ip", *end.place, "link", "set", end.name, "up")
    file = pathlib.Path("/sys/class/net", cable.HOST.name, "mtu")
    context.proofs.compare(file, mtu_bytes, file.read_text().strip())


def _backing(backing: Mapping[str, Any], context: Context) -> str:
    """Make what the target serves: nothing in it holds the target's processors up by a lock.

    A RAM disk is the kernel's own (brd). A disk that takes time keeps no data, which null_blk
    would do under one lock; all processors share its one queue, as they share one disk.
    """
    if not backing["service_time_us"]:
        size = f"rd_size={backing['size_mib'] << 10}"
        load_module("brd", "rd_nr=1", size, "max_part=0", journal=context.journal)
        sectors = (block_device.BLOCK / RAM_DISK / "size").read_text().strip()
        context.proofs.compare(f"{RAM_DISK} sectors", backing["size_mib"] << 11, sectors)
        return RAM_DISK
    load_module("null_blk", "nr_devices=0")
    folder: pathlib.Path = block_device.CONFIG / "elevatorlab"
    context.journal.will("remove_folder", folder)
    folder.mkdir()
    context.journal.will_write(folder / "power", "0")
    timer = 2
    attributes = {
        "size": backing["size_mib"],
        "memory_backed": 0,
        "submit_queues": 1,
        "hw_queue_depth": backing["parallelism"],
        "irqmode": timer,
        "completion_nsec": round(backing["service_time_us"] * 1000),
        "mbps": backing["bandwidth_mib_s"],
        "power": 1,
    }
    for name, value in attributes.items():
        context.proofs.set(folder / name, value)
    # Newer kernels name the disk after its folder, older ones after its index.
    if (block_device.BLOCK / folder.name).exists():
        return folder.name
    return "nullb" + (folder / "index").read_text().strip()


def _steer(sender: cable.Port, senders: range, receiver: cable.Port, receivers: range) -> None:
    """Have each of the senders' processors be heard by its partner.

    The kernel counts the queues of a message's sender from 1 where it asks for its receiver's.
    """
    sends, hears = [], []
    for number, (one, other) in enumerate(zip(senders, receivers)):
        sends.append((f"tx-{number + 1}/xps_cpus", 1 << one))
        hears.append((f"rx-{number}/rps_cpus", 1 << other))
    _write(sender, sends)
    _write(receiver, hears)


def _write(port: cable.Port, masks: list[tuple[str, int]]) -> None:
    """Write masks of processors to files of a port's queues, wherever the port is."""
    folder = f"/sys/class/net/{port.name}/queues"
    script = "; ".join(f"echo {_words(mask)} > {folder}/{file}" for file, mask in masks)
    place = ["ip", "netns", "exec", port.namespace] if port.namespace else []
    run(*place, "sh", "-ec", script)


def _shape(port: cable.Port, senders: range, link: Mapping[str, Any], context: Context) -> None:
    """Give each sender's queue of a port the link's delay, and an equal part of its rate."""
    byte_s = round(link["rate_gbit_s"] * 1e9 / 8 / len(senders))
    wanted = f"delay {link['delay_us']:.3f}us rate {8 * byte_s}bit limit {link['queue_packets']}"
    run("tc", *port.place, "qdisc", "replace", "dev", port.name, "root", "handle", "1:", "mq")
    for number in range(len(senders)):
        parent = ["parent", f"1:{number + 2:x}", "netem", *wanted.split()]
        run("tc", *port.place, "qdisc", "add", "dev", port.name, *parent)
    shown = json.loads(run("tc", *port.place, "-json", "qdisc", "show", "dev", port.name))
    rates = [one["options"]["rate"]["rate"] for one in shown if one["kind"] == "netem"]
    expected = [byte_s] * len(senders)
    context.proofs.compare(f"tc qdisc of {port.name}, bytes/s", expected, str(rates))


def _words(mask: int) -> str:
    """Return a mask as the kernel reads it: words of 32 bits with commas between."""
    digits = f"{mask:x}"
    digits = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(digits[start : start + 8] for start in range(0, len(digits), 8))


# Beside the disk the agent is another package, whose types mypy does not see.
class FioPointsApart(FioPoints):  # type: ignore[misc]
    """The same on several of the host's processors, after a proof of who works where.

    The proof is a run of fio before the points, since to switch the tracepoints on holds all
    processors up: some 6 ms for each.
    """

    def prepare(self) -> None:
        """Make ready, and refuse a kernel that cannot say where its work is done."""
        super().prepare()
        if not tracefs.there():
            raise AgentError(
                "this kernel has no tracepoints; expected them, since nothing else proves that "
                "host and target keep to their processors"
            )
        tracefs.BUFFER_KIB = BUFFER_KIB
        self.places = Places.of(self.specification["cores"])
        self.buffer = tracefs.Buffer("elevatorlab-places", EVENTS, self.context.journal)

    def run(self) -> None:
        """Prove where the work of the first point is done, then measure all points."""
        self.buffer.start()
        argv = self._command(self.specification["points"][0], PROOF, None)
        ended = self.worker.call("run", argv=argv)
        text, lost = self.buffer.stop()
        if ended["status"]:
            raise AgentError(ending("fio", ended["status"], ended["errors"]))
        if lost:
            raise AgentError(
                f"{lost} events of the trace were lost; expected none, since they may be of host "
                "or target on the other's processors. Choose fewer cores"
            )
        sides = zip((HOST, TARGET), self.places)
        words = "; ".join(f"{side} {span(numbers)}" for side, numbers in sides)
        self.context.proofs.add("processors", words, check(text, self.places))
        super().run()


#: Of the events of a side: the kernel may run a timer, such as that of a late acknowledgement, on
#: another processor. One to three of some ten thousand events were seen there, in one trial of ten.
MOST_STRAYED = 0.001


def span(numbers: range) -> str:
    """Return how processors are spelled: "0-3"."""
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def located(text: str) -> dict[str, dict[int, int]]:
    """Count the events of host and target by processor.

    The text is tracefs' ``trace`` file, with `EVENTS`: work items of the drivers, and messages that
    a port took in, say whose they are.
    """
    found: dict[str, dict[int, int]] = {HOST: {}, TARGET: {}}
    for line in text.splitlines():
        known = WORK_ITEM.search(line) or TAKEN_IN.search(line)
        where = LINE.match(line)
        if known and where:
            counts = found[OWNERS[known[1]]]
            processor = int(where["processor"])
            counts[processor] = counts.get(processor, 0) + 1
    return found


def check(text: str, places: Places) -> str:
    """Return what a trace shows, as a proof."""
    words = []
    for (side, counts), own in zip(located(text).items(), places):
        strayed = sum(count for number, count in counts.items() if number not in own)
        idle = [number for number in own if number not in counts]
        if strayed > MOST_STRAYED * sum(counts.values()) or idle:
            shown = ", ".join(f"{number}: {count}" for number, count in sorted(counts.items()))
            raise AgentError(
                f"the {side} has the processors {span(own)}; expected its work on all of them, and "
                f"at most {MOST_STRAYED:.1%} of it elsewhere, found these events by processor: "
                f"{shown or 'none'}"
            )
        words.append(f"{side} {sum(counts.values())} events on {span(own)}, {strayed} elsewhere")
    return "; ".join(words)
