"""What several tiers of `test_readme` share."""

#: Run here, in this order: the later ones use what the earlier ones leave.
RUN = [
    "claims --results published",
    "claims",
    "claims innodb_commit",
    "report",
    "bundle",
    "verify BUNDLE",
]
