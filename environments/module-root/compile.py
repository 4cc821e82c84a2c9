#!/usr/bin/env python3
"""Compile kernel modules in the root that make.sh made.

A Kbuild is a program, maybe a stranger's. So it runs without a network, sees nothing but the root
and its own folder, has no rights, and is limited in time, memory, processes and disk space. When
it ends, everything of it is gone.

usage: compile.py ROOT.tar FOLDER WORK

FOLDER is /build/NAME there, as messages of the kernel say; its Kbuild names the modules.
WORK is an empty folder: the root is unpacked there, in memory.
A tar archive goes to standard output: what the compiler said (log), its status, and each module,
stripped (NAME.ko) and not (NAME.debug.ko).
"""

import ctypes
import io
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile

#: Linux's: include/uapi/linux/mount.h, and the number of pivot_root on x86-64.
MS_BIND, MNT_DETACH, SYS_PIVOT_ROOT = 4096, 2, 155

NOBODY = 65534

#: Root's builds run as users from here on, which no distribution gives to anybody: the first that
#: systemd leaves free (docs/UIDS-GIDS), plus the number of the build's process.
FIRST_USER = 0x70000000

#: More would be no module, or no compiler's words.
MODULE_BYTES, LOG_BYTES = 16 << 20, 200_000

#: A limit is by user, so each build has one of its own: root's by `user_of_this_build`, another's
#: in a user namespace, where Linux counts anew since 5.14.
PROCESSES = 200

EXIT_REFUSED = 77

COMPILE = r"""
make --silent -C /lib/modules/*/build M="$PWD" KERNEL_SOURCES=/usr/src/linux-source-6.1 \
    KCPPFLAGS=-I/usr/src/linux-source-6.1/block modules || exit
for module in *.ko; do
    [ -e "$module" ] || exit 0
    mv "$module" "${module%.ko}.debug.ko"
    strip --strip-debug -o "$module" "${module%.ko}.debug.ko"
done
"""

libc = ctypes.CDLL(None, use_errno=True)


def lock_in(arguments):
    """Call this program again, in namespaces of its own, where it is root."""
    walls = ["--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child"]
    if os.getuid():
        walls += ["--user", "--map-root-user"]
    allowed = ["unshare", *walls, "mount", "-t", "tmpfs", "none", arguments[-1]]
    if subprocess.run(allowed, stdin=subprocess.DEVNULL, capture_output=True).returncode:
        print(
            "expected to be allowed namespaces, which lock the compiler in; this machine refuses. "
            "Allow user namespaces, or be root (in a container: docker run --privileged)",
            file=sys.stderr,
        )
        return EXIT_REFUSED
    # Should memory run out, this is what the kernel ends.
    pathlib.Path("/proc/self/oom_score_adj").write_text("1000")
    os.environ["BUILDER"] = str(user_of_this_build() if os.getuid() == 0 else 0)
    again = [sys.executable, "-I", os.path.abspath(__file__), *map(os.path.abspath, arguments)]
    os.execvp("unshare", ["unshare", *walls, *again])


def user_of_this_build():
    """Return a user that no other build has, where this machine has so many."""
    number = FIRST_USER + os.getpid()
    for line in pathlib.Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        if first <= number < first + count:
            return number
    return NOBODY  # in a container whose users are few


def enter(root, folder, work):
    """Make `work` the root of all that comes, with `folder` in it, and leave the rest behind."""
    call(libc.mount, b"none", work.encode(), b"tmpfs", 0, b"size=1g,nr_inodes=100k,mode=755")
    unpack = ["tar", "--extract", "--file", root, "--directory", work]
    subprocess.run([*unpack, "--no-same-owner", "--exclude=./dev/*"], check=True)
    shutil.copytree(folder, pathlib.Path(work, "build", os.path.basename(folder)))
    for device in ("null", "zero", "urandom"):
        pathlib.Path(work, "dev", device).touch()
        there = f"{work}/dev/{device}".encode()
        call(libc.mount, f"/dev/{device}".encode(), there, None, MS_BIND, None)
    os.mkdir(f"{work}/left-behind")
    os.chdir(work)
    call(libc.syscall, SYS_PIVOT_ROOT, b".", b"left-behind")
    os.chdir("/")
    call(libc.umount2, b"/left-behind", MNT_DETACH)


def call(function, *arguments):
    """Call a function of the C library that sets errno."""
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def compile_modules(folder):
    """Compile what is in `folder`; return the compiler's status and words."""
    as_nobody = []
    if user := int(os.environ["BUILDER"]):
        os.chown(folder, user, NOBODY)
        as_nobody = [f"--reuid={user}", f"--regid={NOBODY}", "--clear-groups"]
    command = [
        *("prlimit", "--cpu=60", f"--as={1 << 30}", f"--nproc={PROCESSES}", "--core=0", "--"),
        *("setpriv", *as_nobody, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"),
        *("sh", "-c", COMPILE),
    ]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
    running = subprocess.Popen(
        *(command,),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = running.stdout.read(LOG_BYTES)
    running.stdout.close()
    return running.wait(), said


def modules(folder):
    """Yield the modules in `folder`, by their files' names."""
    for file in sorted(pathlib.Path(folder).glob("*.ko")):
        kind = file.lstat()
        if stat.S_ISREG(kind.st_mode) and kind.st_size <= MODULE_BYTES:
            yield file.name, file.read_bytes()


def main(arguments):
    """Do the one or the other, by where this is; return the exit status."""
    if "BUILDER" not in os.environ:
        return lock_in(arguments)
    enter(*arguments)
    folder = f"/build/{os.path.basename(arguments[1])}"
    status, said = compile_modules(folder)
    made = {"log": said, "status": str(status).encode(), **dict(modules(folder))}
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for name, content in made.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
