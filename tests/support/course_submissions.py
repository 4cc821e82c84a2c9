"""What students hand in, and the assignments that it is graded by."""

import pytest
import yaml

import elevator_rules as rules
from elevatorlab.elevators.grading import assignments, campaign, drawing, pages
from elevatorlab.paths import ENVIRONMENTS

ZOO = ENVIRONMENTS / "kernel" / "schedulers"

ORDERED = [name for name in assignments.names() if assignments.read(name).scenarios]

#: What a request of 20 ms takes, with what the machine does around it.
SERVICE_MS = 20.05


def right(name, scenario):
    """Return the order that the rule of an assignment prescribes."""
    expire_ms = scenario.tunables.get("expire_ms", rules.NEVER)
    reference = assignments.read(name).reference
    return rules.choices(rules.RULES[reference](expire_ms), scenario.requests, SERVICE_MS)


def assignment_file(folder, **changes):
    content = yaml.safe_load((assignments.COURSE / "1-sstf" / "sstf.yaml").read_text())
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump({**content, **changes}))
    return file


def scheduler_of(name, replaced="", by=""):
    """Return the files of one of ours, changed; they must have what is replaced."""
    files = {file.name: file.read_bytes() for file in (ZOO / name).iterdir()}
    source = f"{name}-iosched.c"
    assert replaced.encode() in files[source]
    return {**files, source: files[source].replace(replaced.encode(), by.encode(), 1)}


HAS_WORK = "static bool fifo_has_work(struct blk_mq_hw_ctx *hctx)\n{"

DISPATCH = "static struct request *fifo_dispatch_request(struct blk_mq_hw_ctx *hctx)\n{"

HANDED_IN = {
    "right": scheduler_of("sstf"),
    "wrong": scheduler_of("fifo", "list_add_tail(", "list_add("),
    "nothing": scheduler_of("fifo"),
    "panic": scheduler_of("fifo", DISPATCH, DISPATCH + "BUG();"),
    "hangs": scheduler_of("fifo", HAS_WORK, HAS_WORK + "return false;"),
    "typo": scheduler_of("fifo", HAS_WORK, HAS_WORK + "return forgotten;"),
    "hostile": scheduler_of("fifo", DISPATCH, DISPATCH + 'asm volatile("outb %al, $0x80");'),
    "kernels": {
        **scheduler_of("fifo"),
        "scheduler.json": b'{"name": "kyber", "module": "fifo-iosched"}',
    },
}


def hand_in(folder, submissions):
    """Write what students hand in: name -> file -> content."""
    for name, files in submissions.items():
        (folder / name).mkdir(parents=True)
        for file_name, content in files.items():
            (folder / name / file_name).write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Grade the submissions twice by one seed, into two folders; return each with its grades."""
    folder = tmp_path_factory.mktemp("course")
    content = yaml.safe_load((assignments.COURSE / "1-sstf" / "sstf.yaml").read_text())
    conformity = {**content["conformity"], "cases": ["hands_each_request_out_once"]}
    some = {"scenarios": content["scenarios"][:1], "conformity": conformity}
    file = assignment_file(folder, **some)
    hand_in(folder / "handed in", {**HANDED_IN, "=empty": {}})
    assignment = drawing.hidden(assignments.read(str(file)), "a secret of the tests")
    found = []
    for out in (folder / "first", folder / "again"):
        told = []
        grades, ran = campaign.run(
            folder / "handed in",
            assignment,
            out,
            1,
            progress=lambda *step, told=told: told.append(step),
        )
        pages.write(out, assignment, grades, ran)
        found.append((out, {one.student: one for one in grades}, told))
    return assignment, found


@pytest.fixture
def no_machine(monkeypatch):
    """Let nothing run: the reference is known, and a machine is any."""
    monkeypatch.setattr(campaign, "_digest_of_the_machine", lambda assignment: "machine")
    monkeypatch.setattr(campaign, "_reference", lambda *_: {})
