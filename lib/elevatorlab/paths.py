"""Where things are. The package works from a checkout, so all of it lies below one folder."""

import os
from pathlib import Path

#: The checkout: notebooks, environments, data.
PROJECT = Path(__file__).resolve().parents[2]

DATA = PROJECT / "data"
ENVIRONMENTS = PROJECT / "environments"

#: Everything that a command makes; `make clean` removes it.
BUILD = Path(os.environ.get("ELEVATORLAB_BUILD", PROJECT / "build"))
