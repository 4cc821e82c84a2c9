"""Check that a scheduler does what the block layer requires, in the deterministic machine."""

from .conformity import CaseVerdict, Conformity, check

__all__ = ["Conformity", "CaseVerdict", "check"]
