"""What a case raises when the scheduler is at fault."""


class Broken(Exception):
    """The scheduler broke a rule; the text is one or two sentences for who wrote it."""


def require(condition: bool, sentence: str) -> None:
    """Raise `Broken` with this sentence where the condition does not hold."""
    if not condition:
        raise Broken(sentence)
