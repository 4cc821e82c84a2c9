"""Delay, rate and queue of the cable between host and target, and the proof that it has them.

What a port sends goes through the kernel's own emulator of networks (netem, tc-netem(8)): a message
waits until those before it are sent, takes its bytes' time at the link's rate, and then the delay.

The proof is a ping, which the other end's kernel answers, and messages of two sizes in each
direction. The kernel stamps them where they enter the queue and where the other end takes them
in. So the delay is what a small message takes, and the throughput is what a large one has more, in
bytes and in time, whatever the processor needs to make and to read them.
"""

from __future__ import annotations

import functools
import json
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple

from ..errors import AgentError, KnobFailed
from . import cable
from .modules import load_module, run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..lifecycle.proofs import Proofs

#: How far the measured rate may be from what was asked for, as a share of it.
RATE_BOUND = 0.05

#: How much longer than the delay a small message may take; a ping has two, and its answer a third.
DELAY_BOUND_US = 5.0

#: Of each kind of message; the quickest of them counts, since whatever disturbs only adds to it.
MESSAGES = 5

#: As many are sent at most, until so many have been stamped.
MOST_MESSAGES = 1000

PATIENCE_S = 5

#: Headers of a segment that take the link's time: Ethernet, IP and UDP.
IP_AND_UDP_BYTES = 20 + 8
HEADER_BYTES = 14 + IP_AND_UDP_BYTES

#: The most that one message to the kernel holds.
LARGEST_BYTES, MOST_SEGMENTS = 65507, 64

#: Of include/uapi/linux/udp.h: one message is sent as segments, and taken in as one.
UDP_SEGMENT, UDP_GRO = 103, 104

#: Of include/uapi/asm-generic/socket.h and linux/net_tstamp.h: stamp what enters a port's queue
#: and what is taken in, by the kernel's clock, and hand out the stamp alone.
SO_TIMESTAMPING = 37
STAMPS = 1 << 8 | 1 << 3 | 1 << 4 | 1 << 11

#: ICMP's request for an answer (RFC 792) without data: type, code, checksum, identifier, number.
ECHO = struct.pack("!BBHHH", 8, 0, 0xF7FF, 0, 0)


class Measured(NamedTuple):
    """What the probes found of one direction of a link."""

    #: What a small message takes.
    delay_us: float
    #: What a large one has more: bytes by time.
    rate_gbit_s: float


def shape(link: Mapping[str, Any], mtu_bytes: int, proofs: Proofs) -> None:
    """Give the cable delay, rate and queue in each direction, and prove them.

    The trial describes the link: ``rate_gbit_s``, ``delay_us``, ``queue_packets``.
    """
    # It stays loaded: the last queue of a port goes some time after the port.
    load_module("sch_netem")
    ends = cable.HOST, cable.TARGET
    shown = [_queue(port, link) for port in ends]
    found_us = ping(cable.TARGET.address)
    _check_delay(found_us, 2 * link["delay_us"], 3 * DELAY_BOUND_US, "a ping")
    for port, other, text in zip(ends, reversed(ends), shown):
        found = measure(port, other, mtu_bytes)
        check(found, link, port.name)
        probe = (
            f"{found.delay_us:.3f} us to the other end, {found.rate_gbit_s:.4f} Gb/s; "
            f"ping {found_us:.3f} us"
        )
        proofs.add(f"tc qdisc of {port.name}", words(link), text, probe)


def words(link: Mapping[str, Any]) -> str:
    """Say what a link is to be."""
    return (
        f"delay {link['delay_us']:g} us, rate {link['rate_gbit_s']:g} Gb/s, "
        f"queue of {link['queue_packets']} packets"
    )


def check(found: Measured, link: Mapping[str, Any], name: str) -> None:
    """Compare what was measured of one direction with what the trial asks for."""
    _check_delay(found.delay_us, link["delay_us"], DELAY_BOUND_US, f"a message from {name}")
    if abs(found.rate_gbit_s / link["rate_gbit_s"] - 1) > RATE_BOUND:
        raise AgentError(
            f"the link carries {found.rate_gbit_s:.4g} Gb/s from {name}; expected "
            f"{link['rate_gbit_s']:.4g} within {RATE_BOUND:.0%}. Run the trial where nothing else "
            "does, or without a link"
        )


def _check_delay(found_us: float, least_us: float, more_us: float, what: str) -> None:
    if not least_us <= found_us <= least_us + more_us:
        raise AgentError(
            f"{what} takes {found_us:.4g} us over the link; expected {least_us:g} to "
            f"{least_us + more_us:g}. Run the trial where nothing else does, or without a link"
        )


def _queue(port: cable.Port, link: Mapping[str, Any]) -> str:
    """Put the queue before a port; return what the kernel shows of it.

    It shows the delay in whole ticks alone, so that the probes are what proves it.
    """
    byte_s, packets = round(link["rate_gbit_s"] * 1e9 / 8), link["queue_packets"]
    wanted = f"delay {link['delay_us']:.3f}us rate {8 * byte_s}bit limit {packets}"
    run("tc", *port.place, "qdisc", "add", "dev", port.name, "root", "netem", *wanted.split())
    (shown,) = json.loads(run("tc", *port.place, "-json", "qdisc", "show", "dev", port.name))
    options = shown["options"]
    read = options["rate"]["rate"], options["limit"]
    if read != (byte_s, packets):
        raise KnobFailed(f"tc qdisc of {port.name}", (byte_s, packets), read)
    return f"rate {8 * byte_s / 1e9:g} Gb/s, queue of {packets} packets"


def ping(address: str) -> float:
    """Return in us how long the quickest answer of an address takes, there and back."""
    sock = _stamped(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
    with sock:
        sock.connect((address, 0))  # nobody else's messages
        return _quickest_ns(sock, sock, ECHO, (address, 0)) / 1e3


def measure(sender: cable.Port, receiver: cable.Port, mtu_bytes: int) -> Measured:
    """Measure the direction from one end of the cable to the other."""
    segment = mtu_bytes - IP_AND_UDP_BYTES
    segments = max(1, min(MOST_SEGMENTS, LARGEST_BYTES // segment))
    small, large = b"\0", bytes(segment * segments)
    with _udp(sender, segment) as source, _udp(receiver, segment) as sink:
        small_ns = _quickest_ns(source, sink, small, sink.getsockname())
        large_ns = _quickest_ns(source, sink, large, sink.getsockname())
    more_bits = 8 * (len(large) - len(small) + (segments - 1) * HEADER_BYTES)
    more_ns = large_ns - small_ns
    # Nothing that can be measured: a link without an end.
    rate = more_bits / more_ns if more_ns > 0 else float("inf")
    return Measured(small_ns / 1e3, rate)


def _udp(port: cable.Port, segment_bytes: int) -> socket.socket:
    make = functools.partial(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
    made = _stamped(cable.inside(port.namespace, make) if port.namespace else make())
    made.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, segment_bytes)
    made.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    made.bind((port.address, 0))
    return made


def _stamped(made: socket.socket) -> socket.socket:
    made.settimeout(PATIENCE_S)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, STAMPS)
    return made


def _quickest_ns(
    source: socket.socket, sink: socket.socket, data: bytes, address: tuple[str, int]
) -> int:
    """Send messages one by one; return the time of the quickest.

    It is the time from the port's queue until the other end takes it in. The kernel begins to
    stamp a moment after it is asked to, so that the first messages may have no stamp.
    """
    found_ns: list[int] = []
    for _ in range(MOST_MESSAGES):
        source.sendto(data, address)
        try:
            entered_ns, taken_in_ns = _stamp(source, socket.MSG_ERRQUEUE), _stamp(sink, 0)
        except OSError:
            raise AgentError(
                f"a message to {address[0]} did not arrive within {PATIENCE_S} s; expected the "
                "link to carry it"
            ) from None
        if entered_ns is not None and taken_in_ns is not None:
            found_ns.append(taken_in_ns - entered_ns)
        if len(found_ns) == MESSAGES:
            return min(found_ns)
    raise AgentError(
        f"the kernel stamps no messages to {address[0]}; expected it to say when each arrives"
    )


def _stamp(sock: socket.socket, flags: int) -> int | None:
    """Return the kernel's stamp of the next message, in ns; None where it has none."""
    _, notes, _, _ = sock.recvmsg(1 << 16, 1 << 10, flags)
    for _, kind, stamp in notes:
        if kind == SO_TIMESTAMPING:
            seconds, nanoseconds = struct.unpack_from("=qq", stamp)
            return int(seconds * 1_000_000_000 + nanoseconds) or None
    return None
