"""Loop devices that share a disk of one server, as the partitions of one disk would."""

import contextlib
import json
import pathlib
import subprocess
import sys

from elevatorlab.agent.devices import paced_disk
from elevatorlab.testbeds import agent_archive


@contextlib.contextmanager
def single_server_disk(folder, loops, service_ms, kib_s):
    """Attach each of `loops` (kernel names) to the whole of one paced disk.

    What is written to it is thrown away, so that they do not meet; the kernel counts each apart.
    """
    mount_point = pathlib.Path(folder, "single-server-disk")
    mount_point.mkdir()
    agent, model = pathlib.Path(folder, "disk-agent.pyz"), pathlib.Path(folder, "disk.json")
    agent.write_bytes(agent_archive.agent_archive())
    disk = {"size_mib": 1024, "service_us": service_ms * 1000, "service": "constant", "seed": 1}
    model.write_text(json.dumps({**disk, "bandwidth_kib_s": kib_s, "accept_us": None}))
    command = [sys.executable, str(agent), "paced-disk", str(mount_point), str(model)]
    with contextlib.ExitStack() as undo:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        undo.callback(server.wait)
        undo.callback(subprocess.run, ["umount", "--lazy", str(mount_point)])
        assert server.stdout.readline() == "ready\n"
        for loop in loops:
            image = mount_point / paced_disk.FILE
            subprocess.run(["losetup", "--direct-io=on", f"/dev/{loop}", image], check=True)
            undo.callback(subprocess.run, ["losetup", "--detach", f"/dev/{loop}"])
            pathlib.Path("/sys/block", loop, "queue/write_cache").write_text("write through\n")
        yield mount_point
