"""`regulate audit`: each finding on a small copy of a host, and on the real one."""

import json
import subprocess
import sys

from elevatorlab.testbeds import agent_archive
from regulator_host import blkio_cgroup, loop_device, needs_blkio


@needs_blkio
def test_a_real_buffered_writer_under_a_real_limit(tmp_path):
    program = tmp_path / "agent.pyz"
    program.write_bytes(agent_archive.agent_archive())
    with blkio_cgroup("audit") as folder, loop_device(tmp_path, 128) as loop:
        number = open(f"/sys/block/{loop}/dev").read().strip()
        (folder / "blkio.throttle.write_bps_device").write_text(f"{number} 1048576\n")
        writes = (
            f"import os; open({str(folder / 'cgroup.procs')!r}, 'w').write(str(os.getpid())); "
            f"disk = open('/dev/{loop}', 'wb'); disk.write(bytes(32 << 20)); disk.flush(); "
            "print('written', flush=True); input()"
        )
        writer = subprocess.Popen(
            [sys.executable, "-c", writes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            assert writer.stdout.readline() == "written\n"
            command = [sys.executable, program, "regulate", "audit", "--json"]
            run = subprocess.run(
                [*command, "--cgroup", folder.name], capture_output=True, text=True, timeout=300
            )
        finally:
            writer.communicate("\n", timeout=300)
    assert run.returncode == 1 and run.stderr == ""
    [finding] = json.loads(run.stdout)
    assert finding["problem"].startswith("buffered writes pass its limit by")
    assert "wrote 32768 KiB" in finding["proof"]
