"""Numbers that several programs here take as options."""

import argparse
import contextlib


def positive(text):
    """Return a number above 0."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
