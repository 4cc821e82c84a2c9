"""A null_blk with a queue for each processor, and experiments whose answers are known."""

import os
import pathlib

from agent.devices.block_device import BLOCK, CONFIG
from agent.devices.modules import load_module
from agent.workloads.base import Workload

RUN = pathlib.Path("/sys/module/truths/parameters/run")
FIGURES = ("ns", "count", "wait_ns", "must_wait_ns")


def create(device, context):
    """Make the device; return its kernel name."""
    load_module("null_blk", "nr_devices=0")
    folder = CONFIG / "elevatorlab"
    context.journal.will("remove_folder", folder)
    folder.mkdir()
    context.journal.will_write(folder / "power", "0")
    attributes = {
        **{"size": device["size_mib"], "memory_backed": 0, "irqmode": 0},
        **{"submit_queues": os.cpu_count(), "hw_queue_depth": 256, "power": 1},
    }
    for name, value in attributes.items():
        context.proofs.set(folder / name, value)
    # Newer kernels name the disk after its folder, older ones after its index.
    return folder.name if (BLOCK / folder.name).exists() else "nullb0"


class Truths(Workload):
    """Do the experiments."""

    def prepare(self):
        load_module("truths", journal=self.context.journal)

    def run(self):
        self.answers = [self.answer(one) for one in self.specification["experiments"]]

    def answer(self, experiment):
        RUN.write_text(experiment)
        return dict(zip(FIGURES, map(int, RUN.read_text().split()), strict=True))

    def measurements(self):
        return {"answers": self.answers}
