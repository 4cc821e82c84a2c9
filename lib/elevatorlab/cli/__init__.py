"""The same jobs as the notebooks, from a shell."""


def main() -> None:
    """Run the command.

    The workers of a campaign import the script that started the campaign, and so this package.
    Therefore, modules that take long to import are imported only when there is a command to run.
    """
    from .commands import main as run

    run()
