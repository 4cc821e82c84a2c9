"""The five studies. Each is a package with the members of `elevatorlab.plugins.studies.Study`.

No other room imports a study. The registry finds the studies by this package's entry points, as it
finds the studies of other packages.
"""

from ..plugins.studies import STUDIES, get
from ..running.expansion import parameters

__all__ = ["STUDIES", "get", "parameters"]
