"""What a machine attests, for tests of `elevatorlab.results.attested`."""

from elevatorlab.results.attested import Attestation

IMAGE, BITS = "a" * 64, "b" * 64


def line(**changes):
    """Return what a machine attests, but for `changes`."""
    usual = {
        "date": "2026-11-22",
        "image_digest": IMAGE,
        "bits": BITS,
        "trials": "innodb_commit=2 vm_vs_container=1",
        "processor": "A, with a comma",
        "kernel": "6.1",
        "distribution": "Debian 12",
        "python": "3.11.7",
        "compiler": "GCC 12.2.0",
        "route": "native",
    }
    return Attestation.model_validate({**usual, **changes})
