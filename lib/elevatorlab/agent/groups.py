"""Groups: processes that share one cgroup (v2), plainly or in a container of their own."""

import json
import os
import pathlib
import subprocess

from .errors import TrialFailed

ROOT = pathlib.Path("/sys/fs/cgroup/elevatorlab")

#: Where a container sees the agent.
AGENT_INSIDE = "/elevatorlab-agent"

LIMITS = {
    "read_bytes_s": "rbps",
    "write_bytes_s": "wbps",
    "read_iops": "riops",
    "write_iops": "wiops",
}


def prepare_root(journal):
    """Make the cgroup under which a trial's groups live, with the controllers they need."""
    top = ROOT.parent
    if not (top / "cgroup.controllers").exists():
        raise TrialFailed(
            f"{top} is not a cgroup v2 hierarchy; boot with systemd.unified_cgroup_hierarchy=1"
        )
    missing = {"io", "memory"} - set((top / "cgroup.controllers").read_text().split())
    if missing:
        raise TrialFailed(
            f"this kernel's cgroup v2 lacks the controller(s) {', '.join(sorted(missing))}"
        )
    journal.will("remove_folder", ROOT)
    ROOT.mkdir(exist_ok=True)
    for folder in (top, ROOT):
        (folder / "cgroup.subtree_control").write_text("+io +memory")


class ProcessGroup:
    """Plain processes of the machine in one cgroup.

    Attributes
    ----------
    path : pathlib.Path
        The cgroup.
    work : str or None
        The folder on the device under test, as the group's own processes see it; None where
        the trial has no file system.
    """

    def __init__(self, name, disk, journal):
        self.name = name
        self.path = ROOT / name
        journal.will("remove_folder", self.path)
        self.path.mkdir()
        journal.will("kill_group", self.path)
        self.work = None
        if disk is not None:
            self.work = str(disk / name)
            os.mkdir(self.work)

    def command(self, argv):
        """Return the command that runs `argv` inside the group."""
        enter = f'echo $$ >{self.path}/cgroup.procs && exec "$@"'
        return ["sh", "-c", enter, "sh", *argv]


class ContainerGroup:
    """A container made by a real OCI runtime (crun): namespaces, overlay root, cgroup.

    Its writable layer is on the device under test, so a file that the container writes is
    reached through overlayfs, as in a Docker container. The agent is the
    only thing mounted into it.
    """

    def __init__(self, name, disk, journal, agent):
        self.name = name
        self.agent = agent
        self.path = ROOT / name
        self.container = f"elevatorlab-{name}"
        self.work = "/work"
        journal.will("remove_folder", self.path)
        self.path.mkdir()
        journal.will("kill_group", self.path)
        layers = disk / name
        for layer in ("upper", "work", "upper/work"):
            (layers / layer).mkdir(parents=True)
        bundle = pathlib.Path("/run/elevatorlab/bundles", name)
        journal.will("remove_tree", bundle)
        (bundle / "rootfs").mkdir(parents=True)
        journal.will("unmount", bundle / "rootfs")
        options = f"lowerdir=/,upperdir={layers}/upper,workdir={layers}/work"
        _run(["mount", "-t", "overlay", "overlay", "-o", options, str(bundle / "rootfs")])
        (bundle / "config.json").write_text(json.dumps(self._oci_configuration()))
        journal.will("delete_container", self.container)
        runtime = ["crun", "--cgroup-manager=cgroupfs", "run", "--detach", "--bundle", str(bundle)]
        # Not captured: the container's first process keeps these files open.
        started = subprocess.run(
            [*runtime, self.container], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        if started.returncode:
            raise TrialFailed(f"crun could not start the container of group {name!r}; see log.txt")

    def _oci_configuration(self):
        """Return the container's description (OCI runtime specification 1.0)."""
        kernel_mounts = [
            ("/proc", "proc", ["nosuid", "noexec", "nodev"]),
            ("/dev", "tmpfs", ["nosuid", "mode=755"]),
            ("/sys", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
        ]
        mounts = [
            {"destination": target, "type": kind, "source": kind, "options": options}
            for target, kind, options in kernel_mounts
        ]
        mounts.append(
            {
                "destination": AGENT_INSIDE,
                "source": self.agent,
                "options": ["bind", "ro"],
                "type": "bind",
            }
        )
        return {
            "ociVersion": "1.0.2",
            "hostname": self.name,
            "root": {"path": "rootfs", "readonly": False},
            "process": {
                "args": ["sleep", "infinity"],
                "cwd": "/",
                "user": {"uid": 0, "gid": 0},
                "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"],
            },
            "mounts": mounts,
            "linux": {
                "cgroupsPath": f"/{ROOT.name}/{self.name}/container",
                "namespaces": [
                    {"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")
                ],
            },
        }

    def command(self, argv):
        """Return the command that runs `argv` inside the container."""
        inside = [AGENT_INSIDE if argument == self.agent else argument for argument in argv]
        return ["crun", "exec", self.container, *inside]


def create(group, disk, journal, agent):
    """Make one of the trial's groups."""
    if group["isolation"] == "container":
        return ContainerGroup(group["name"], disk, journal, agent)
    return ProcessGroup(group["name"], disk, journal)


def limit(group, limits, device, proofs):
    """Set a group's I/O limits on `device` and prove each with the kernel's own answer."""
    number = pathlib.Path("/sys/block", device, "dev").read_text().strip()
    wanted = {key: limits[name] for name, key in LIMITS.items() if limits.get(name)}
    if wanted:
        value = " ".join(f"{key}={number_s}" for key, number_s in wanted.items())
        proofs.set(
            group.path / "io.max",
            f"{number} {value}",
            read_as=lambda text: _only(text, number, wanted),
        )
    if limits.get("weight"):
        proofs.set(
            group.path / "io.weight",
            f"default {limits['weight']}",
            read_as=lambda text: text.splitlines()[0].strip(),
        )


def _only(text, number, wanted):
    """Return the device's line of ``io.max``, reduced to the keys that were set."""
    for line in text.splitlines():
        device, *pairs = line.split()
        if device == number:
            values = dict(pair.split("=") for pair in pairs)
            return " ".join([number, *(f"{key}={values[key]}" for key in wanted)])
    return text.strip()


def _run(argv):
    run = subprocess.run(argv, capture_output=True, text=True)
    if run.returncode:
        raise TrialFailed(f"{' '.join(argv[:3])} failed: {run.stderr.strip()}")
