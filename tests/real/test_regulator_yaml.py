"""Classes in YAML: read by the command, handed to the agent as JSON."""

import contextlib
import signal
import subprocess

from helpers import start_cli, wait_until
from regulator_host import BLKIO_MARKS, blkio_cgroup, events, loop_devices
from regulator_program import file  # noqa: F401  (fixtures)

pytestmark = BLKIO_MARKS


@contextlib.contextmanager
def regulating(file, log, *options):
    """Run the command over a file's classes; it is ended in the end."""
    process = start_cli("regulate", "--config", file, "--log", log, *options)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.stdout.close()
        process.stderr.close()


def test_yaml_is_read_again_when_the_command_gets_sighup(tmp_path):
    file, log = tmp_path / "regulator.yaml", tmp_path / "log.jsonl"
    options = (
        "--policy=slae",
        "--sla-wait-ms=5",
        "--period-s=0.2",
        f"--state={tmp_path / 'state'}",
    )
    with loop_devices(1) as [loop], blkio_cgroup("pods") as above:
        text = f"classes:\n  pods:\n    cgroups: [{above.name}]\n    devices: [{loop}]\n    sla: "
        file.write_text(f"{text}4\n")
        with regulating(file, log, *options) as process:
            wait_until(lambda: events(log, "container"))
            file.write_text("classes: [")
            process.send_signal(signal.SIGHUP)
            sentence = process.stderr.readline()
            for sla in ("soon", 3):
                file.write_text(f"{text}{sla}\n")
                before = len(events(log, "reload"))
                process.send_signal(signal.SIGHUP)
                wait_until(lambda before=before: len(events(log, "reload")) > before)
            process.terminate()
            assert process.wait(60) == 0
    assert sentence.startswith(f"regulate: expected YAML in {file}; found in line 1: ")
    assert sentence.endswith("; what was read before stays in force\n")
    assert events(log, "start")[0]["law"]["slas"] == {"": 5.0, "pods": 4.0}
    refused, taken = events(log, "reload")
    assert refused["refused"].startswith(f"{file}: classes.pods.sla: expected a number above 0")
    assert taken["law"]["slas"] == {"": 5.0, "pods": 3.0}
    assert len(events(log, "container")) == 1 == len(events(log, "stop"))
