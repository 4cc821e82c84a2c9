"""Study 1: do I/O schedulers perform better in virtual machines or in Docker containers?"""

from .claims import judge
from .columns import COLUMNS, ORDER, TABLE, rows
from .figures import figures
from .published import NAME
from .published import times as published
from .tables import overview_table, tables
from .trials import PRESETS, VARIATIONS, Parameters, trials

TITLE = "Do I/O schedulers perform better in virtual machines or in containers?"
NUMBER = 1

__all__ = ["COLUMNS", "NAME", "NUMBER", "ORDER", "PRESETS", "TABLE", "TITLE"]
__all__ += ["VARIATIONS", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
