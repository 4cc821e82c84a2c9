"""Whether a submission has code of its own, or a template's under other names."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from ...plugins import scheduler_folders
from ...testbeds.deterministic import modules
from .. import templates
from ..check import reach


def of_a_template(built: modules.Built) -> str:
    """Return the template whose code a module has; "" if it has another's.

    What the compiler made is compared, so other names, comments or lines are no other code, nor are
    functions that nobody calls.
    """
    code = _code(built.file)
    return next((name for name in templates.TEMPLATES if _of(name) == code), "")


def _of(template: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        record = scheduler_folders.read(templates.new("unchanged", template, Path(place)))
    assert record.folder
    return _code(modules.build(record.folder).file)


def _code(module: Path) -> str:
    """Return a digest of a module's instructions, and of what it asks of the kernel."""
    section = ("objdump", "--full-contents", "--section=.text", str(module))
    instructions = reach.said(*section)[2:]  # before that, the file's name
    asks = reach.said("nm", "--undefined-only", str(module))
    return hashlib.sha256("\n".join([*instructions, *asks]).encode()).hexdigest()
