"""What a case raises when the scheduler is at fault."""


class Broken(Exception):
    """The scheduler broke a rule; the text is one or two sentences for the scheduler's author.

    `hangs`: Whether something waits that would wait for ever.
    """

    def __init__(self, sentence: str, hangs: bool = False) -> None:
        super().__init__(sentence)
        self.hangs = hangs


def require(condition: bool, sentence: str) -> None:
    """Raise `Broken` with this sentence unless the condition holds."""
    if not condition:
        raise Broken(sentence)
