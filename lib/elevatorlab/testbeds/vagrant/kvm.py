"""Whether KVM works here. The file /dev/kvm does not prove it; a kernel that boots does."""

import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path

from ...errors import NotReady
from ...paths import BUILD
from ..deterministic import image, our_qemu

DEVICE = Path("/dev/kvm")

#: Message of a kernel without a root file system. The kernel then restarts, and QEMU ends. With KVM
#: this takes less than a second; where KVM's instructions are themselves emulated, maybe minutes.
BOOTED = "Kernel panic - not syncing: VFS"
DEADLINE_S = 15

ANSWER = BUILD / "kvm.json"


@functools.cache
def why_not() -> str:
    """Return why KVM does not work here, as a clause; "" if it works.

    The kernel of the deterministic image is booted once under KVM. The answer is kept until this
    machine's kernel or QEMU changes.
    """
    if not DEVICE.exists():
        return f"{DEVICE} is missing"
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return f"{DEVICE} may not be opened by this user; join the group kvm and log in again"
    kernel = image.FOLDER / "vmlinuz"
    if not kernel.exists():
        return "it cannot be tried before `make setup` has built a kernel to boot"
    try:
        asked = {"qemu": our_qemu.version_of_another(our_qemu.NAME), "kernel": os.uname().release}
    except NotReady as problem:
        return str(problem)
    answer = _remembered(asked)
    return _ask(asked, kernel) if answer is None else answer


def _remembered(asked: dict[str, str]) -> str | None:
    try:
        kept = json.loads(ANSWER.read_text())
        return kept["why_not"] if kept["asked"] == asked else None
    except (OSError, ValueError, KeyError):
        return None


def _ask(asked: dict[str, str], kernel: Path) -> str:
    answer = _boot(kernel, "kvm")
    BUILD.mkdir(parents=True, exist_ok=True)
    fresh = ANSWER.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps({"asked": asked, "why_not": answer}, indent=1) + "\n")
    fresh.rename(ANSWER)
    return answer


def _boot(kernel: Path, accelerator: str) -> str:
    """Boot `kernel` with `accelerator`; return why that failed, or an empty string."""
    with tempfile.TemporaryDirectory(prefix="elevatorlab-kvm.") as folder:
        console = Path(folder) / "console"
        command = [
            our_qemu.NAME,
            *("-accel", accelerator, "-m", "256M", "-no-reboot"),
            *("-nodefaults", "-no-user-config", "-display", "none", "-net", "none"),
            *("-serial", f"file:{console}"),
            *("-kernel", str(kernel), "-append", "console=ttyS0 quiet panic=-1"),
        ]
        try:
            run = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=DEADLINE_S,
            )
        except subprocess.TimeoutExpired:
            return f"a kernel did not boot with it within {DEADLINE_S} s"
        if run.returncode == 0 and BOOTED in console.read_text(errors="replace"):
            return ""
        said = " ".join(run.stderr.split())[-200:] or f"status {run.returncode}"
        return f"a kernel did not boot with it ({said})"
