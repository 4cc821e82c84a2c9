"""What a virtual machine needs of this machine: Vagrant, a provider, a box, and perhaps KVM."""

import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import NotReady
from ..base import Readiness
from . import commands, kvm, libvirt

PUBLIC_BOX = "debian/bookworm64"
LOCAL_BOX = "elevatorlab/bookworm64"

INSTALL = "environments/start-libvirt.sh installs and starts what is missing"


def provider() -> str:
    """Return the provider that Vagrant is to use: ``libvirt`` or ``virtualbox``.

    The environment variable VAGRANT_DEFAULT_PROVIDER may name it. Otherwise, it is VirtualBox only
    where virsh is missing and VirtualBox is installed.
    """
    named = os.environ.get("VAGRANT_DEFAULT_PROVIDER")
    if named in ("libvirt", "virtualbox"):
        return named
    if not commands.found("virsh") and commands.found("VBoxManage"):
        return "virtualbox"
    return "libvirt"


def require(provider: str) -> None:
    """Make sure that Vagrant can make a virtual machine with `provider`."""
    _require_vagrant()
    _require_provider(provider)


def _require_vagrant() -> None:
    if not commands.found("vagrant"):
        raise NotReady("the command vagrant is missing", INSTALL)


def _require_provider(provider: str) -> None:
    if provider == "virtualbox":
        if not commands.found("VBoxManage"):
            raise NotReady("the command VBoxManage is missing", "Install VirtualBox")
        return
    if not commands.found("virsh"):
        raise NotReady("the command virsh is missing", INSTALL)
    libvirt.require()
    plugins = commands.run(["vagrant", "plugin", "list"], 60)
    if "vagrant-libvirt" not in plugins.stdout:
        raise NotReady("Vagrant has no provider for libvirt", INSTALL)


def boxes() -> list[str]:
    """Return the names of the usable boxes on this machine, the preferred one first."""
    home = Path(os.environ.get("VAGRANT_HOME", "~/.vagrant.d")).expanduser()
    named = os.environ.get("ELEVATORLAB_BOX")
    wanted = [named] if named else [LOCAL_BOX, PUBLIC_BOX]
    return [box for box in wanted if (home / "boxes" / box.replace("/", "-VAGRANTSLASH-")).is_dir()]


def findings() -> Iterator[Readiness]:
    """Yield the findings on what a virtual machine needs of this machine."""
    chosen = provider()
    for what, check in (
        ("vagrant", _require_vagrant),
        (f"provider {chosen}", lambda: _require_provider(chosen)),
    ):
        try:
            check()
            yield Readiness("vagrant", what, "ready", True, needed=True)
        except NotReady as problem:
            remedy = problem.remedy or INSTALL
            yield Readiness("vagrant", what, problem.lack, False, remedy, needed=True)
    here = boxes()
    remedy = f"`make box` builds one; where {PUBLIC_BOX} can be pulled, `vagrant up` does so itself"
    yield Readiness("vagrant", "box", ", ".join(here) or "none here yet", bool(here), remedy)
    if chosen == "libvirt":
        why_not = kvm.why_not()
        found = f"no: {why_not}" if why_not else "works"
        remedy = "without it the virtual machine is emulated, and not comparable with containers"
        yield Readiness("vagrant", "KVM", found, not why_not, remedy)
