"""Loads in the cgroups that podman, Kubernetes and systemd make, on cgroup v1 with cgroupfs.

Each function here is a context in which loads run: name -> command. They share a loop device,
which each finds as /dev/disk. The context's value is name -> cgroup, below the hierarchy's root.
"""

import contextlib
import json
import os
import subprocess
import tempfile
import uuid
from pathlib import Path

from helpers import wait_until
from regulator_host import BLKIO

CGROUPS = Path("/sys/fs/cgroup")

#: Debian's crun refuses a host on which cgroup v2 has a controller beside those of v1.
RUNTIME = "runc"

#: podman's own defaults need CAP_SYS_RESOURCE.
ULIMITS = ("--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024")

#: Where podman puts containers by itself, and where this puts those of another class.
PARENT, OTHER_PARENT = "libpod_parent", "elevatorlab-batch"

#: The quality of service of the pods of Kubernetes.
QUALITIES = {"web-1": "guaranteed", "web-2": "burstable", "batch": "besteffort"}

SYSTEMD = "/usr/lib/systemd/systemd"


def root_file_system(folder):
    """Make a root for containers: empty folders, and links to the host's /usr, mounted there."""
    for name in ("dev", "etc/systemd/system", "proc", "run", "sys", "tmp", "usr", "var"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (folder / name).symlink_to(f"usr/{name}")
    return folder


@contextlib.contextmanager
def _podman(folder):
    """Yield a function that runs a container; it takes options, a root and a command."""
    # podman takes no path of more than 50 characters for what it keeps while it runs.
    with tempfile.TemporaryDirectory(prefix="podman-", dir="/run") as short:
        places = [f"--root={folder / 'storage'}", f"--runroot={short}/run", f"--tmpdir={short}/tmp"]
        program = ["podman", *places, "--cgroup-manager=cgroupfs", f"--runtime={RUNTIME}"]
        run = [*program, "run", "--detach", "--network=none", "--volume=/usr:/usr:ro", *ULIMITS]

        def start(*options, root, command):
            """Return the new container's id."""
            ended = subprocess.run(
                [*run, *options, "--rootfs", root, *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            assert ended.returncode == 0, ended.stderr
            return ended.stdout.strip()

        try:
            yield start
        finally:
            subprocess.run([*program, "rm", "--all", "--force", "--time=0"], check=True)


@contextlib.contextmanager
def podman(folder, loop, loads):
    """Run each load in a container of podman; the load "batch" has another parent."""
    parents = {name: OTHER_PARENT if name == "batch" else PARENT for name in loads}
    with contextlib.ExitStack() as undo:
        for parent in (PARENT, OTHER_PARENT):
            undo.callback(remove, parent)
        start = undo.enter_context(_podman(folder))
        ids = {
            name: start(
                f"--cgroup-parent=/{parents[name]}",
                f"--device=/dev/{loop}:/dev/disk",
                root=root_file_system(folder / name),
                command=command,
            )
            for name, command in loads.items()
        }
        yield {name: f"{parents[name]}/libpod-{one}" for name, one in ids.items()}


@contextlib.contextmanager
def systemd(folder, loop, loads):
    """Run each load as a service with IOAccounting, of a systemd of its own in a container."""
    root = root_file_system(folder / "root")
    (root / "etc/machine-id").touch()
    units = root / "etc/systemd/system"
    wanted = " ".join(f"{name}.service" for name in loads)
    (units / "loads.target").write_text(f"[Unit]\nDefaultDependencies=no\nWants={wanted}\n")
    for name, command in loads.items():
        program = root / "etc" / name
        program.write_text(command[-1])
        call = f"/usr/bin/{command[0]} /etc/{name}"
        service = f"[Service]\nIOAccounting=yes\nExecStart={call}\n"
        (units / f"{name}.service").write_text(f"[Unit]\nDefaultDependencies=no\n{service}")
    with contextlib.ExitStack() as undo:
        undo.callback(remove, PARENT)
        start = undo.enter_context(_podman(folder))
        container = start(
            "--systemd=always",
            f"--device=/dev/{loop}:/dev/disk",
            f"--volume={BLKIO}:{BLKIO}:rw",  # podman shows it for reading alone
            root=root,
            command=[SYSTEMD, "--unit=loads.target"],
        )
        above = f"{PARENT}/libpod-{container}/system.slice"
        yield {name: f"{above}/{name}.service" for name in loads}


def kubernetes(driver):
    """Return a context of pods, as a kubelet with this cgroup driver lays them out."""

    @contextlib.contextmanager
    def pods(folder, loop, loads):
        """Run each load in a pod of the quality of service that `QUALITIES` gives it."""
        with contextlib.ExitStack() as undo:
            yield {
                name: undo.enter_context(
                    _container(folder / name, loop, command, _place(driver, QUALITIES[name]))
                )
                for name, command in loads.items()
            }

    return pods


def _place(driver, quality):
    """Return where a new pod's container comes (pkg/kubelet/cm of Kubernetes; containerd).

    Only guaranteed pods have no cgroup of their quality above them.
    """
    above = ["kubepods"] if quality == "guaranteed" else ["kubepods", quality]
    unique, container = str(uuid.uuid4()), uuid.uuid4().hex * 2
    if driver == "cgroupfs":
        return "/".join([*above, f"pod{unique}", container])
    # A slice's name begins with the names of those above it, joined by dashes.
    parts = [*above, f"pod{unique.replace('-', '_')}"]
    slices = ["-".join(parts[: depth + 1]) + ".slice" for depth in range(len(parts))]
    return "/".join([*slices, f"cri-containerd-{container}.scope"])


@contextlib.contextmanager
def _container(folder, loop, command, cgroup):
    """Run a container in a cgroup with runc, as containerd does."""
    root = root_file_system(folder / "root")
    subprocess.run([RUNTIME, "spec", "--bundle", folder], check=True)
    file = folder / "config.json"
    spec = json.loads(file.read_text())
    spec["process"].update(terminal=False, args=command, rlimits=[])
    spec["root"] = {"path": str(root)}
    binds = {"/usr": ("/usr", "ro"), "/dev/disk": (f"/dev/{loop}", "rw")}
    spec["mounts"] += [
        {"destination": inside, "type": "bind", "source": outside, "options": ["bind", access]}
        for inside, (outside, access) in binds.items()
    ]
    spec["linux"]["cgroupsPath"] = f"/{cgroup}"
    spec["linux"]["resources"]["devices"] = [{"allow": True, "access": "rwm"}]
    file.write_text(json.dumps(spec))
    program = [RUNTIME, f"--root={folder / 'state'}"]
    name = f"elevatorlab-{uuid.uuid4().hex}"
    with contextlib.ExitStack() as undo:
        undo.callback(remove, cgroup)
        # What a container inherits is open as long as it runs: no pipes.
        null = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run([*program, "run", "--detach", "--bundle", folder, name], check=True, **null)
        undo.callback(subprocess.run, [*program, "delete", "--force", name], check=True)
        yield cgroup


def remove(cgroup):
    """Remove a cgroup with all below it, and those above it that are empty then."""
    wait_until(lambda: not any(_processes(cgroup)), 60)
    for hierarchy in CGROUPS.iterdir():
        below = [folder for folder, _, _ in os.walk(hierarchy / cgroup, topdown=False)]
        above = [hierarchy / parent for parent in Path(cgroup).parents[:-1]]
        for folder in [*below, *above]:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _processes(cgroup):
    """Yield what each cgroup there says of its processes."""
    for file in (BLKIO / cgroup).rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            yield file.read_text()
