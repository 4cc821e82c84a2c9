"""What runs inside the deterministic machine, from boot to power-off.

The machine is stopped once, at an instruction that this program chooses, and kept; each
trial continues a copy of it. What comes in (before the stop the agent, after it a trial)
and the result that goes out pass through the exchange: nvdimm memory that both sides see.

Layout of the exchange, the same in both halves: 8 bytes of magic, 8 bytes of length (big
endian), a tar archive. The first half is read here, the second half is written here.
"""

import fcntl
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import traceback

import boot

EXCHANGE = "/dev/pmem1"
INPUT_MAGIC = b"ELINPUT1"
RESULT_MAGIC = b"ELRESULT"
PAUSE_PORT = 0x505  # pvpanic: QEMU stops the machine
EXIT_PORT = 0xF4  # isa-debug-exit: QEMU exits with status 2 * value + 1
EXIT_VALUE = 0x10
BLKFLSBUF = 0x1261  # linux/fs.h: forget what is cached of a block device
TRIAL = pathlib.Path("/run/trial")

# Started once before the stop, so that no trial has to fetch them from the root.
WARM_UP = [
    ["cat", "--version"],
    ["crun", "--version"],
    ["dd", "--version"],
    ["find", "--version"],
    ["fio", "--version"],
    ["mariadbd", "--no-defaults", "--version"],
    ["mkfs.ext4", "-V"],
    ["mount", "--version"],
    ["sh", "-c", ":"],
    ["sysbench", "--version"],
]

MORE_MOUNTS = [
    ("configfs", "/sys/kernel/config", "configfs"),
    ("tracefs", "/sys/kernel/tracing", "tracefs"),
]


def write_port(port, value):
    with open("/dev/port", "r+b", buffering=0) as ports:
        ports.seek(port)
        ports.write(bytes([value]))


def receive(exchange, folder):
    """Unpack what lies in the first half of the exchange, and do not remember it."""
    magic, length = os.pread(exchange, 8, 0), int.from_bytes(os.pread(exchange, 8, 8), "big")
    if magic != INPUT_MAGIC:
        raise RuntimeError(f"nothing in {EXCHANGE}: expected {INPUT_MAGIC!r}, found {magic!r}")
    archive = io.BytesIO(read_all(exchange, 16, length))
    with tarfile.open(fileobj=archive) as tar:
        tar.extractall(folder)
    fcntl.ioctl(exchange, BLKFLSBUF)


def read_all(exchange, offset, length):
    parts = []
    while length:
        part = os.pread(exchange, min(length, 1 << 20), offset)
        parts.append(part)
        offset += len(part)
        length -= len(part)
    return b"".join(parts)


def boot_machine_inside():
    """Boot a virtual machine inside this one, if one is wanted (outer.py)."""
    if (TRIAL / "machine.json").exists():
        import outer

        outer.boot(TRIAL)
        (TRIAL / "machine.json").unlink()


def load_agent():
    """Unpack and import the agent, and start once what it starts."""
    boot.unpack_agent(TRIAL / "agent.pyz")
    (TRIAL / "agent.pyz").unlink()
    import agent.lifecycle.run  # noqa: F401

    for command in [*WARM_UP, ["python3", str(boot.AGENT), "worker"]]:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def run_agent():
    """Run the agent in a child, so that this process survives whatever happens to it."""
    child = os.fork()
    if child == 0:
        status = 70
        try:
            sys.argv = [str(boot.AGENT), str(TRIAL / "trial.json"), str(TRIAL / "result")]
            log = os.open(TRIAL / "agent.log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.chdir("/")
            status = sys.modules["agent.lifecycle.run"].main(sys.argv[1:])
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    while True:  # as process 1, this one also collects orphans
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)


def send(exchange, half):
    """Hand over the result folder, the agent's log, and the kernel's own account."""
    dmesg = subprocess.run(["dmesg"], capture_output=True).stdout
    (TRIAL / "dmesg.txt").write_bytes(dmesg)
    (TRIAL / "interrupts.txt").write_text(pathlib.Path("/proc/interrupts").read_text())
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("result", "status", "agent.log", "dmesg.txt", "interrupts.txt"):
            if (TRIAL / name).exists():
                tar.add(TRIAL / name, arcname=name)
    content = archive.getvalue()
    if len(content) + 16 > half:
        raise RuntimeError(f"the result has {len(content)} bytes; {half - 16} fit")
    os.pwrite(exchange, content, half + 16)
    os.pwrite(exchange, RESULT_MAGIC + len(content).to_bytes(8, "big"), half)
    os.fsync(exchange)


def main():
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", LC_ALL="C.UTF-8")
    subprocess.run(["modprobe", "configfs"], check=True)
    boot.mount_kernel_file_systems(MORE_MOUNTS)
    TRIAL.mkdir()
    exchange = os.open(EXCHANGE, os.O_RDWR)
    half = os.lseek(exchange, 0, os.SEEK_END) // 2
    receive(exchange, TRIAL)
    boot_machine_inside()
    load_agent()
    write_port(PAUSE_PORT, 1)
    # ---- a trial starts here ----
    try:
        receive(exchange, TRIAL)
        (TRIAL / "status").write_text(str(run_agent()))
    except Exception:
        with open(TRIAL / "agent.log", "a") as log:
            traceback.print_exc(file=log)
    send(exchange, half)
    write_port(EXIT_PORT, EXIT_VALUE)


main()
