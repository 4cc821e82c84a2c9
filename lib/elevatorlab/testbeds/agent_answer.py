"""What the agent sends when a trial has ended: its result, or why there is no result."""

import io
import tarfile
from collections.abc import Mapping

from ..errors import TrialFailed

#: Files beside the agent's own that the deterministic machine sends.
OF_THE_KERNEL = ("dmesg.txt", "interrupts.txt")

#: Number of the log's last lines that an error message quotes.
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
    """Return the files of a result, by their names in the result's folder.

    `sent`: Files by name: ``status`` (the agent's exit status), ``result/...``, and from the
    deterministic machine also `OF_THE_KERNEL`.
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
