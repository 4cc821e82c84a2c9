"""The same jobs as the notebooks, from a shell."""


def main() -> None:
    """Run the command.

    The workers of a campaign import the script that began it, and so this package: what takes long
    to import waits until there is a command to run.
    """
    from .commands import main as run

    run()
