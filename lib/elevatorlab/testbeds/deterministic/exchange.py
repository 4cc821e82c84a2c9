"""The memory through which a trial enters the machine and its result leaves.

Layout: see environments/deterministic/guest.py, the other end.
"""

import io
import tarfile

from ...errors import TrialFailed
from . import qemu

HALF = qemu.EXCHANGE_MIB << 19
TRIAL_MAGIC = b"ELTRIAL1"
RESULT_MAGIC = b"ELRESULT"


def write_trial(file, trial_json, agent):
    """Put the trial and the agent's archive into a new exchange file."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in (("trial.json", trial_json.encode()), ("agent.pyz", agent)):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    content = archive.getvalue()
    with open(file, "wb") as exchange:
        exchange.write(TRIAL_MAGIC + len(content).to_bytes(8, "big") + content)
        exchange.truncate(2 * HALF)


def read_result(file):
    """Return the files that the guest sent, by name.

    Returns
    -------
    dict of str to bytes
        ``status``, ``agent.log``, ``dmesg.txt``, ``interrupts.txt``, ``result/...``.

    Raises
    ------
    TrialFailed
        When the guest sent nothing whole.
    """
    with open(file, "rb") as exchange:
        exchange.seek(HALF)
        header = exchange.read(16)
        length = int.from_bytes(header[8:], "big")
        content = exchange.read(length) if header[:8] == RESULT_MAGIC else b""
    if header[:8] != RESULT_MAGIC or len(content) != length:
        raise TrialFailed("the guest sent no whole result; expected one in the exchange memory")
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
