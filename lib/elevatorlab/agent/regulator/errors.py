"""What a regulator cannot start with: its text is what the operator reads."""


class Refused(Exception):
    """The regulator does not start; the message says what was expected, found, and what to do."""
