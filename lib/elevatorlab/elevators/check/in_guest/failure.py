"""What a case raises when the scheduler is at fault."""


class Broken(Exception):
    """The scheduler broke a rule; the text is one or two sentences for the scheduler's author."""


def require(condition: bool, sentence: str) -> None:
    """Raise `Broken` with this sentence unless the condition holds."""
    if not condition:
        raise Broken(sentence)
