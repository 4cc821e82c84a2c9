"""A disk that serves one request at a time, in a known time: files of a FUSE file system.

Loop devices over its files share it as the partitions of one disk would, and the kernel
counts each of them apart. The server sleeps until the request's service is over, so that
service takes what it should, and not what this machine's storage takes. What is written
is thrown away; what is read is zeros.

    python regulator_disk.py MOUNT-POINT FILES SERVICE-MS KIB-S

A request takes SERVICE-MS and its bytes at KIB-S. (Protocol: linux/fuse.h, version 7.31.)
"""

import contextlib
import ctypes
import os
import pathlib
import stat
import struct
import subprocess
import sys
import time

FILE_BYTES = 1 << 30
MAX_BYTES = 1 << 20

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, RELEASEDIR = 17, 18, 20, 25, 26, 27, 29
ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 34, 36, 38, 42
SILENT = (FORGET, BATCH_FORGET, INTERRUPT)
NOTHING_TO_SAY = (RELEASE, FSYNC, FLUSH, RELEASEDIR, ACCESS, DESTROY)
ENOENT, ENOSYS = 2, 38

ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1 << 0, 1 << 5, 1 << 15, 1 << 22
FOREVER_S = 1 << 30


def attributes(node):
    """Return `struct fuse_attr`: node 1 is the folder, the others are the files."""
    mode, size = (stat.S_IFDIR | 0o755, 0) if node == 1 else (stat.S_IFREG | 0o600, FILE_BYTES)
    return struct.pack(
        "<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
    )


class Server:
    """Answers the kernel's requests, one after the other."""

    def __init__(self, files, service_ms, kib_s):
        self.nodes = {f"disk{index}".encode(): index + 2 for index in range(files)}
        self.service_s = service_ms / 1000
        self.byte_s = 1 / (kib_s * 1024)
        self.free_s = 0.0

    def serve_bytes(self, size):
        """Take the time that `size` bytes take."""
        now_s = time.monotonic()
        self.free_s = max(now_s, self.free_s) + self.service_s + size * self.byte_s
        time.sleep(max(0.0, self.free_s - now_s))

    def answer(self, opcode, node, body):
        """Return (error, content) for one request."""
        if opcode == INIT:
            flags = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES
            sizes = (256, 192, MAX_BYTES, 1, MAX_BYTES // 4096)
            return 0, struct.pack("<4I2H2IH34x", 7, 31, MAX_BYTES, flags, *sizes)
        if opcode == LOOKUP:
            found = self.nodes.get(body.rstrip(b"\0"))
            if found is None:
                return ENOENT, b""
            entry = struct.pack("<4Q2I", found, 0, FOREVER_S, FOREVER_S, 0, 0)
            return 0, entry + attributes(found)
        if opcode in (GETATTR, SETATTR):
            return 0, struct.pack("<Q2I", FOREVER_S, 0, 0) + attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<Q2I", 0, 0, 0)
        if opcode in (READ, WRITE):
            (size,) = struct.unpack_from("<I", body, 16)
            self.serve_bytes(size)
            return 0, bytes(size) if opcode == READ else struct.pack("<2I", size, 0)
        if opcode == STATFS:
            return 0, struct.pack("<5Q4I24x", 1 << 20, 1 << 20, 1 << 20, 99, 99, 4096, 255, 4096, 0)
        return (0, b"") if opcode in NOTHING_TO_SAY else (ENOSYS, b"")

    def run(self, connection):
        """Serve until the file system is unmounted."""
        while True:
            try:
                request = os.read(connection, MAX_BYTES + 8192)
            except OSError:  # unmounted
                return
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            error, content = self.answer(opcode, node, request[40:])
            if opcode not in SILENT:
                header = struct.pack("<IiQ", 16 + len(content), -error, unique)
                with contextlib.suppress(FileNotFoundError):  # who asked is gone
                    os.write(connection, header + content)


def main(mount_point, files, service_ms, kib_s):
    """Mount and serve; a line on standard output says when."""
    connection = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = (
        f"fd={connection},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={MAX_BYTES}"
    )
    if libc.mount(b"disk", mount_point.encode(), b"fuse", 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"cannot mount on {mount_point}")
    print("ready", flush=True)
    Server(int(files), float(service_ms), float(kib_s)).run(connection)


@contextlib.contextmanager
def single_server_disk(folder, loops, service_ms, kib_s):
    """Give each of `loops` (kernel names) a file of one single-server disk."""
    mount_point = pathlib.Path(folder, "single-server-disk")
    mount_point.mkdir()
    command = [
        sys.executable,
        __file__,
        str(mount_point),
        str(len(loops)),
        str(service_ms),
        str(kib_s),
    ]
    with contextlib.ExitStack() as undo:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        undo.callback(server.wait)
        undo.callback(subprocess.run, ["umount", "--lazy", str(mount_point)])
        assert server.stdout.readline() == "ready\n"
        for index, loop in enumerate(loops):
            image = mount_point / f"disk{index}"
            subprocess.run(["losetup", "--direct-io=on", f"/dev/{loop}", image], check=True)
            undo.callback(subprocess.run, ["losetup", "--detach", f"/dev/{loop}"])
            pathlib.Path("/sys/block", loop, "queue/write_cache").write_text("write through\n")
        yield mount_point


if __name__ == "__main__":
    main(*sys.argv[1:])
