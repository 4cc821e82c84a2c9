"""The mailbox: memory in which the machine leaves a question for the host, and finds the answer.

The machine stands still until the host has answered, so its time does not depend on the host's.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading

from . import ports

EXCHANGE = "/dev/pmem1"

#: Where the mailbox is in the exchange: its second half.
BEGIN = 64 << 20

#: A question: a mark, what is asked, a place in bytes, and a length in bytes. Data stand behind it.
QUESTION = struct.Struct("<8sIQI")
QUESTION_BYTES = 512
ASKS, ANSWERED = b"ELASKS\0\0", b"ELANSWER"

#: Largest length of data.
DATA_BYTES = 1 << 20

#: What may be asked of the host beside NBD's own requests: to make a disk (its size, as the length,
#: and whether it takes FUA, as the place), and to fill it with what only the host knows.
NEW_DISK, FILL = 0x100, 0x101


class Mailbox:
    """The machine's side."""

    def __init__(self) -> None:
        self._file = os.open(EXCHANGE, os.O_RDWR | os.O_DIRECT)
        self._memory = mmap.mmap(-1, QUESTION_BYTES + DATA_BYTES)
        self._one_at_a_time = threading.Lock()

    def close(self) -> None:
        """Close the file of the exchange."""
        os.close(self._file)

    def ask(self, kind: int, at: int, length: int, data: bytes = b"") -> bytes:
        """Ask the host; return as many bytes of its answer as the question has no data."""
        with self._one_at_a_time, memoryview(self._memory) as memory:
            memory[: QUESTION.size] = QUESTION.pack(ASKS, kind, at, length)
            end = QUESTION_BYTES + len(data)
            memory[QUESTION_BYTES:end] = data
            os.pwrite(self._file, memory[:end], BEGIN)
            ports.write(ports.PAUSE, 1)
            wanted = 0 if data else min(length, DATA_BYTES)
            os.preadv(self._file, [memory[: QUESTION_BYTES + wanted]], BEGIN)
            if memory[: len(ANSWERED)] != ANSWERED:
                raise RuntimeError("the host gave no answer")
            return bytes(memory[QUESTION_BYTES : QUESTION_BYTES + wanted])
