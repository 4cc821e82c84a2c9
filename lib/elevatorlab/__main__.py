"""`python -m elevatorlab` is the command elevatorlab."""

from .cli import main

if __name__ == "__main__":
    main()
