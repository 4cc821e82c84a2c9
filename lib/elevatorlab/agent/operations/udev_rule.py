"""Make the scheduler of a device permanent, by a udev rule; or undo it.

A rule is looked at whenever the kernel tells of the disk: at boot, when it is plugged in, and when
``udevadm trigger`` asks. It names the disk by its serial number where it has one, because ``sda``
may be another disk tomorrow.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys

from ..devices import block_device, schedulers
from ..devices.modules import load_module
from ..errors import AgentError
from ..observe.facts import has_module

RULES = pathlib.Path("/etc/udev/rules.d")
BLOCK = pathlib.Path("/sys/class/block")

#: Properties that udev's own rules give a disk, the one that stays longest first.
STABLE = ("ID_SERIAL", "ID_WWN_WITH_EXTENSION", "ID_WWN", "ID_PATH")

#: After 60-persistent-storage.rules, which sets these properties.
FILE = "61-elevatorlab-{disk}.rules"

TEXT = """\
# Written by: elevatorlab apply --device {disk} --scheduler {scheduler} --write
# Undone by:  elevatorlab apply --device {disk} --undo
# Before:     {before}
{rule}
"""


def main(argv: list[str]) -> int:
    """Do what the command line says; return the exit status."""
    options = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        disks = block_device.disks_of(options.device)
        if options.undo:
            for disk in disks:
                undo(disk)
            return 0
        for disk in disks:
            permit(disk, options.scheduler, load=options.write)
        for disk in disks:
            write(disk, options.scheduler) if options.write else show(disk, options.scheduler)
    except AgentError as problem:
        print(f"elevatorlab apply: {problem}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="elevatorlab apply", description=__doc__.partition("\n\n")[0], allow_abbrev=False
    )
    parser.add_argument(
        "--device",
        required=True,
        help="sda, nvme0n1, md0 (all its members), a partition, c0d0, mapper/NAME, disk/by-id/...",
    )
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--scheduler", help="one that the device offers")
    wanted.add_argument("--undo", action="store_true", help="remove the rule; as it was before")
    parser.add_argument(
        "--write", action="store_true", help="install the rule and prove it (needs root)"
    )
    return parser


def permit(disk: str, scheduler: str, load: bool) -> None:
    """Refuse a scheduler that the disk does not offer, nor would with its module.

    With `load`, a module that is missing is loaded; otherwise its being there is enough.
    """
    if not (BLOCK / disk / "queue/scheduler").exists():
        raise AgentError(f"/dev/{disk} has no scheduler to choose; expected a disk that has")
    if not pathlib.Path("/dev", disk.replace("!", "/")).exists():
        raise AgentError(
            f"{disk} is one path of a multipath disk, of which udev is not told; expected a disk "
            "of its own. Boot with nvme_core.multipath=N"
        )
    offered = schedulers.offered(disk)
    module = schedulers.module(scheduler)
    if module and scheduler not in offered and has_module(module):
        if not load:
            return
        load_module(module)
        offered = schedulers.offered(disk)
    if scheduler not in offered:
        raise AgentError(
            f"/dev/{disk} does not offer the scheduler {scheduler!r}; expected one of "
            f"{', '.join(offered)}"
        )


def rule(disk: str, scheduler: str) -> str:
    """Return the udev rule that gives `disk` its `scheduler`, in one line."""
    return (
        f'ACTION=="add|change", SUBSYSTEM=="block", ENV{{DEVTYPE}}=="disk", {_match(disk)}, '
        f'ATTR{{queue/scheduler}}="{scheduler}"'
    )


def _match(disk: str) -> str:
    known = properties(disk)
    for name in STABLE:
        if _literal(known.get(name, "")):
            return f'ENV{{{name}}}=="{known[name]}"'
    for name in ("wwid", "serial"):
        file = BLOCK / disk / name
        value = file.read_text().strip() if file.exists() else ""
        if _literal(value):
            return f'ATTR{{{name}}}=="{value}"'
    return f'KERNEL=="{disk}"'


def _literal(value: str) -> bool:
    """Tell whether udev takes a value as it stands: no pattern, no quotation mark, no blank end."""
    return bool(re.fullmatch(r"[\w.:+,=/@-]([\w .:+,=/@-]*[\w.:+,=/@-])?", value))


def properties(disk: str) -> dict[str, str]:
    """Return what udev knows of a disk; nothing where it never ran."""
    argv = ["udevadm", "info", "--query=property", f"--name=/dev/{disk.replace('!', '/')}"]
    try:
        lines = subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()
    except FileNotFoundError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line)


def show(disk: str, scheduler: str) -> None:
    """Print the rule and where it belongs."""
    print(f"# {RULES / FILE.format(disk=disk)}\n{rule(disk, scheduler)}")
    if 'KERNEL=="' in rule(disk, scheduler):
        print(
            f"# {disk} has no serial number that udev knows, so the rule names it as it is called "
            "now; after a change of disks this may be another one"
        )


def write(disk: str, scheduler: str) -> None:
    """Install the rule, have udev apply it, and prove that it did; or leave all as it was."""
    _need_root()
    file = RULES / FILE.format(disk=disk)
    earlier = file.read_text() if file.exists() else None
    before = _current(disk)
    original = _before(earlier) if earlier else before
    content = TEXT.format(
        disk=disk, scheduler=scheduler, before=original, rule=rule(disk, scheduler)
    )
    try:
        _put(file, content)
        _udevadm("control", "--reload")
        _prove(disk, scheduler)
    except BaseException:
        _restore(file, earlier, disk, before)
        raise
    print(f"{file}: written; udev has given {disk} {scheduler} (was {before})")


def _prove(disk: str, scheduler: str) -> None:
    """Take the scheduler away and let udev bring it back: nobody else can have done it."""
    other = next((name for name in schedulers.offered(disk) if name != scheduler), None)
    if other is None:
        raise AgentError(
            f"/dev/{disk} offers {scheduler} alone; expected another one, too, or a rule is "
            "neither needed nor to be proved"
        )
    _select(disk, other)
    _trigger(disk)
    if _current(disk) != scheduler:
        raise AgentError(
            f"udev did not apply the rule: expected {scheduler} on /dev/{disk}, found "
            f"{_current(disk)}. The rule was removed again. Does udev run here, and does no later "
            "rule set another scheduler?"
        )


def undo(disk: str) -> None:
    """Remove the rule and give the disk the scheduler that it had before it."""
    file = RULES / FILE.format(disk=disk)
    if not file.exists():
        raise AgentError(
            f"there is nothing to undo: expected {file}, which `--write` makes; found none"
        )
    _need_root()
    before = _before(file.read_text())
    file.unlink()
    _udevadm("control", "--reload")
    _select(disk, before)
    print(f"{file}: removed; {disk} has {before} again")


def _restore(file: pathlib.Path, earlier: str | None, disk: str, before: str) -> None:
    if earlier is None:
        file.unlink(missing_ok=True)
    else:
        _put(file, earlier)
    subprocess.run(["udevadm", "control", "--reload"], capture_output=True)
    _select(disk, before)


def _before(text: str) -> str:
    found = re.search(r"^# Before: +(\S+)$", text, re.MULTILINE)
    if not found:
        raise AgentError(
            "the rule in place is not one of ours: expected a line '# Before: SCHEDULER' in it. "
            "Remove it by hand"
        )
    return found.group(1)


def _put(file: pathlib.Path, content: str) -> None:
    """Write a file so that it is there whole or not at all."""
    part = file.with_name(file.name + ".part")  # udev reads only what ends in .rules
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(content)
        os.replace(part, file)
    except OSError as problem:
        raise AgentError(f"{file} cannot be written: {problem.strerror}") from problem


def _current(disk: str) -> str:
    return schedulers.selected((BLOCK / disk / "queue/scheduler").read_text())


def _select(disk: str, scheduler: str) -> None:
    (BLOCK / disk / "queue/scheduler").write_text(scheduler)


def _trigger(disk: str) -> None:
    _udevadm("trigger", "--action=change", str((BLOCK / disk).resolve()))
    _udevadm("settle", "--timeout=30")


def _udevadm(*arguments: str) -> None:
    try:
        run = subprocess.run(["udevadm", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise AgentError("udevadm is missing; expected a machine with udev") from None
    if run.returncode:
        found = run.stderr.strip() or f"status {run.returncode}"
        raise AgentError(f"udevadm {arguments[0]} failed: {found}; expected udev to run here")


def _need_root() -> None:
    if os.geteuid() != 0:
        raise AgentError(f"expected root, to write to {RULES}; found user {os.geteuid()}")
