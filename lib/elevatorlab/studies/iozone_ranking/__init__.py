"""Study 2: how to choose the right kernel I/O scheduler, by a ranking of IOzone's figures."""

from .claims import judge
from .columns import COLUMNS, ORDER, TABLE, rows
from .figures import figures
from .published import NAME
from .published import sample_log as published
from .tables import overview_table, tables, write_log
from .trials import PRESETS, VARIATIONS, Parameters, trials

TITLE = "How to choose the right kernel I/O scheduler: the IOzone ranking"
NUMBER = 2

__all__ = ["COLUMNS", "NAME", "NUMBER", "ORDER", "PRESETS", "TABLE", "TITLE"]
__all__ += ["VARIATIONS", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
__all__ += ["write_log"]
