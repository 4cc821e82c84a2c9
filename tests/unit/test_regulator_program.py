"""The regulator as the operator runs it: one program, real cgroups, real devices."""

import os
import re
import signal
import subprocess
import sys

import pytest

from regulator_program_support import SLAE, program, refused  # noqa: F401  (fixtures)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ((), "the following arguments are required: --policy"),
        (("--policy", "slae"), "expected one of --sla-wait-ms, .* found none"),
        ((*SLAE, "--sla-queue", "2"), "found --sla-wait-ms and --sla-queue"),
        ((*SLAE, "--class", "db=fast"), "expected --class CLASS=SLA .* found 'db=fast'"),
        ((*SLAE, "--class", "=2"), "expected --class CLASS=SLA .* found '=2'"),
        (("--policy", "slae", "--sla-wait-ms", "0"), "expected a number above 0, found 0"),
        (("--policy", "pi"), "--policy pi judges one metric"),
        (("--policy", "ute-paper", "--options", '{"step": "huge"}'), "step is one of mild, sharp"),
        ((*SLAE, "--options", '{"loud": 1}'), "expected --options that the policy slae takes"),
        (("--policy", "ute", "--threshold", "75"), "between 0 and 1, found 75"),
        (("--policy", "ute", "--period-s", "0.001"), "expected 0.05 to 60 seconds"),
        (("--policy", "ute", "--cgroup", "/x", "--container", "y"), "not allowed with"),
    ],
)
def test_options_that_make_no_sense(program, options, sentence):
    assert re.search(sentence, refused(program, *options))


def test_a_second_signal_after_everything_was_put_back_is_no_failure():
    """A group of processes is signalled at once: the program, and the command that passes it on."""
    program = (
        "import os, signal, time\n"
        "def put_back(*_):\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "    print('back', flush=True)\n"
        "signal.signal(signal.SIGTERM, put_back)\n"
        "print(os.getpid(), flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    command = (
        "import sys; from elevatorlab.cli import main\n"
        "from elevatorlab.testbeds import agent_archive\n"
        f"agent_archive.agent_archive = lambda: {program.encode()!r}\n"
        "sys.argv[1:] = ['regulate']; main()"
    )
    run = [sys.executable, "-c", command]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        os.kill(int(process.stdout.readline()), signal.SIGTERM)
        assert process.stdout.readline() == "back\n"
        process.terminate()
        assert process.wait(60) == 0
