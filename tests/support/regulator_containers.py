"""Containers that write to block devices of their own: normal ones and an overload."""

import subprocess

IMAGE = "debian:bookworm-slim"

#: Small synchronous writes with think time (perl is part of every Debian image).
NORMAL = """
sysopen(my $disk, "/dev/disk", 0x1 | 0x101000) or die $!;
for (my $i = 0; ; $i = ($i + 1) % 65536) {
    sysseek($disk, $i * 4096, 0);
    syswrite($disk, "x" x 4096) or die $!;
    select(undef, undef, undef, 0.002);
}
"""

#: Large writes around the page cache, as fast as the disk takes them, by several processes.
OVERLOAD = (
    "for i in 1 2 3; do (while true; do dd if=/dev/zero of=/dev/disk bs=32k count=2000 "
    "oflag=direct status=none; done) & done; wait"
)
BUFFERED = "while true; do dd if=/dev/zero of=/dev/disk bs=64k count=1000 status=none; done"


def on_host(command, loop, cgroup):
    """Run a container's command as a plain process of a cgroup."""
    program = ["perl", "-e", command] if command is NORMAL else ["sh", "-c", command]
    program[-1] = program[-1].replace("/dev/disk", f"/dev/{loop}")
    enter = f'echo $$ >{cgroup}/cgroup.procs && exec "$@"'
    return subprocess.Popen(["sh", "-c", enter, "sh", *program], start_new_session=True)


def start(name, loop, command, *options):
    """Start a container whose /dev/disk is a loop device; return the name."""
    run = ["docker", "run", "--detach", "--rm", "--init", "--network=none", f"--name={name}"]
    subprocess.run(
        [*run, f"--device=/dev/{loop}:/dev/disk", *options, IMAGE, *command],
        check=True,
        capture_output=True,
    )
    return name


def start_normal(name, loop, *options):
    return start(name, loop, ["perl", "-e", NORMAL], *options)


def start_overload(name, loop, command=OVERLOAD):
    return start(name, loop, ["sh", "-c", command])


def stop(*names):
    """Remove containers, whether they are there or not."""
    subprocess.run(["docker", "rm", "--force", *names], capture_output=True)
