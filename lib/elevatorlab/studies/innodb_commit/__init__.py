"""Study 4: what a scheduler does to a database that waits for its log."""

from .claims import judge
from .columns import COLUMNS, ORDER, TABLE, rows
from .figures import figures
from .published import NAME
from .published import table as published
from .tables import overview_table, tables
from .trials import PRESETS, VARIATIONS, Parameters, trials

TITLE = "I/O schedulers seriously revisited: rows inserted into InnoDB per second"
NUMBER = 4

__all__ = ["COLUMNS", "NAME", "NUMBER", "ORDER", "PRESETS", "TABLE", "TITLE"]
__all__ += ["VARIATIONS", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
