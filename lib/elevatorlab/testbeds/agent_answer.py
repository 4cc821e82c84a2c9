"""What the agent sends when a trial has ended: the files of its result, or why there are none."""

import io
import tarfile
from collections.abc import Mapping

from ..errors import TrialFailed

#: Files beside the agent's own that the deterministic machine sends.
OF_THE_KERNEL = ("dmesg.txt", "interrupts.txt")

#: Of the log, in a sentence that needs it.
LAST_LINES = 10


def unpack(archive: bytes) -> dict[str, bytes]:
    """Return the files of a tar archive, by name."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {
            member.name: file.read()
            for member in tar.getmembers()
            if member.isfile() and (file := tar.extractfile(member))
        }


def result_files(sent: Mapping[str, bytes], log: bytes) -> dict[str, bytes]:
    """Return the files of the result, by their names in its folder.

    Parameters
    ----------
    sent : mapping of str to bytes
        ``status`` (the agent's exit status), ``result/...`` and perhaps `OF_THE_KERNEL`.
    log : bytes
        The agent's.

    Raises
    ------
    TrialFailed
        The message is the agent's own sentence, or else the end of its log; the whole log is
        attached.
    """
    if sent.get("status") != b"0":
        said = sent.get("result/failure.txt", b"").decode().strip()
        lines = log.decode(errors="replace").strip().splitlines()[-LAST_LINES:]
        end = "\n".join(["log.txt ends:", *lines])
        if not said:
            said = f"the agent broke off (status {sent.get('status', b'unknown').decode()}); {end}"
        elif "log.txt" in said:
            said = f"{said}\n{end}"
        raise TrialFailed(said, log)
    of_result = {
        name.removeprefix("result/"): content
        for name, content in sorted(sent.items())
        if name in OF_THE_KERNEL or name.startswith("result/")
    }
    return {**of_result, "log.txt": log}
