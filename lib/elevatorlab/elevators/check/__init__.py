"""Check that a scheduler does what the block layer asks of one, in the deterministic machine."""

from .conformity import Conformity, Verdict, check

__all__ = ["Conformity", "Verdict", "check"]
