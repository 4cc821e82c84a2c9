"""Write a knob, read it back, and keep the evidence."""

import pathlib

from .errors import KnobFailed, TrialFailed


class Proofs:
    """Evidence that each setting of a trial took effect, in the order of setting."""

    def __init__(self):
        self.records = []

    def add(self, knob, written, read, probe=None):
        """Record one knob; `probe` is what a short test of its effect showed."""
        self.records.append(
            {"knob": str(knob), "written": str(written), "read": str(read), "probe": probe}
        )

    def set(self, file, value, journal=None, read_as=str.strip):
        """Write `value` to `file` and read it back.

        Parameters
        ----------
        file : path
            A file in sysfs, configfs or a cgroup.
        value : str or int
            What to write.
        journal : Journal, optional
            Where the old value is noted first, if it is to be restored afterwards.
        read_as : callable
            Turns the file's text into the value to compare with.

        Raises
        ------
        KnobFailed
            When the kernel refuses the value or shows another one afterwards.
        """
        file = pathlib.Path(file)
        if not file.exists():
            raise TrialFailed(
                f"the knob {file} does not exist in this kernel; expected it to take {value!r}"
            )
        if journal is not None:
            journal.will_write(file, read_as(file.read_text()))
        try:
            file.write_text(f"{value}\n")
        except OSError as refusal:
            found = f"{file.read_text().strip()} ({refusal.strerror})"
            raise KnobFailed(file, value, found) from refusal
        self.compare(file, value, read_as(file.read_text()))

    def compare(self, file, written, read):
        """Record a knob, whoever has set it, if it holds what was meant."""
        if read != str(written):
            raise KnobFailed(file, written, read)
        self.add(file, written, read)
