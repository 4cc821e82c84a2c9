"""The agent's jobs: ``python3 agent.pyz JOB ARGUMENT...``.

``trial TRIAL.json RESULT [SITE.json]``  run one trial here and now
``start RUN``, ``supervise RUN``         run the trial of a run folder, detached or not
``follow RUN [OFFSET]``                  its log, until it ends
``fetch RUN``, ``stop RUN``, ``forget RUN``, ``clean RUNS``
``facts SCRATCH [MODULE...]``             what this machine is and has
``backing-scheduler NAME PATH``          select the scheduler of the disk below a path, until EOF
``serve-nvme JSON ADDRESS HOST SECONDS`` serve a disk over NVMe/TCP to one host, until EOF
``paced-disk FOLDER MODEL.json``         serve a disk whose service takes a known time
``worker [SOCKET]``                      the agent's hand inside a group
``trial-regulator JSON``                 regulate the groups of a trial, until a signal or EOF

What operators run besides is in ``operations``, which does not travel with a trial.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself takes longer to load than all else here
if TYPE_CHECKING:
    from typing import Any


def main(job: str, arguments: list[str]) -> Any:
    """Do one job; return the exit status.

    Each job imports what it needs alone: a worker is started while the machine is under test.
    """
    if job == "trial":
        from agent.lifecycle.run import main as run_trial

        return run_trial(arguments)
    if job == "worker":
        from agent.groups import worker

        return worker.listen(*arguments) if arguments else worker.serve()
    if job == "trial-regulator":
        from agent.lifecycle.trial_regulator import main as regulate

        return regulate(*arguments)
    if job == "paced-disk":
        from agent.devices.paced_disk import main as serve_disk

        return serve_disk(*arguments)
    if job == "facts":
        from agent.observe.facts import show

        return show(*arguments)
    if job == "backing-scheduler":
        from agent.lifecycle.second_machine import select_backing_scheduler

        return select_backing_scheduler(*arguments)
    if job == "serve-nvme":
        from agent.lifecycle.second_machine import serve_nvme

        return serve_nvme(*arguments)
    if job in ("start", "supervise", "follow", "fetch", "stop", "forget", "clean"):
        from agent.lifecycle import supervisor

        return getattr(supervisor, job)(*arguments)
    return f"unknown job {job!r}; expected one of those that the agent's __main__.py lists"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
