"""The exchange: memory through which agent and trial enter the machine and the result leaves.

environments/deterministic/guest.py is the other end, and describes the layout.
"""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from ...errors import TrialFailed
from .. import agent_answer
from . import qemu

HALF = qemu.EXCHANGE_MIB << 19
INPUT_MAGIC = b"ELINPUT1"
RESULT_MAGIC = b"ELRESULT"


def write(file: Path, inputs: Mapping[str, bytes]) -> None:
    """Write a new exchange file, with `inputs` as a tar archive in its first half.

    `inputs`: Files by name: those that the machine needs to boot, with the agent, or those of a
    trial.
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in inputs.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    content = archive.getvalue()
    with open(file, "wb") as exchange:
        exchange.write(INPUT_MAGIC + len(content).to_bytes(8, "big") + content)
        exchange.truncate(2 * HALF)


def read_result(file: Path) -> dict[str, bytes]:
    """Return the files that the guest sent, by name.

    Returns: ``status``, ``agent.log``, ``dmesg.txt``, ``interrupts.txt``, ``result/...``.
    """
    with open(file, "rb") as exchange:
        exchange.seek(HALF)
        header = exchange.read(16)
        length = int.from_bytes(header[8:], "big")
        content = exchange.read(length) if header[:8] == RESULT_MAGIC else b""
    if header[:8] != RESULT_MAGIC or len(content) != length:
        raise TrialFailed("the guest sent no whole result; expected one in the exchange memory")
    return agent_answer.unpack(content)
