"""What several tiers of `test_claims` share."""

from elevatorlab.studies.vm_vs_container.claims import judge

STUDY = "vm_vs_container"


def verdicts(table, kind=""):
    """Verdict by id (without the study) of the claims whose id contains `kind`."""
    return {
        claim.id.removeprefix(f"{STUDY}/"): claim.verdict
        for claim in judge(table)
        if kind in claim.id
    }
