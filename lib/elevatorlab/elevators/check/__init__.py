"""Check that a scheduler does what the block layer requires, in the deterministic machine."""

from .conformity import Conformity, Verdict, check

__all__ = ["Conformity", "Verdict", "check"]
