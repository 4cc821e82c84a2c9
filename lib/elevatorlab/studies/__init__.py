"""The five studies. Each is a package with the members that `elevatorlab.plugins.studies` lists.

Nothing of ours imports them: they are found by the entry points of this package, like a study of
somebody else's.
"""

from ..plugins.studies import STUDIES, get
from ..running.expansion import parameters

__all__ = ["STUDIES", "get", "parameters"]
