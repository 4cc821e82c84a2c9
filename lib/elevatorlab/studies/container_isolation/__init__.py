"""Study 3: how containers disturb each other's I/O, and how a regulator keeps them apart."""

from .claims import judge
from .columns import COLUMNS, ORDER, TABLE, rows
from .figures import figures
from .published import NAME
from .published import numbers as published
from .tables import overview_table, tables
from .trials import trials
from .trials_containers import PRESETS, Parameters

TITLE = "How do containers disturb each other's I/O, and what isolates them?"
NUMBER = 3

__all__ = ["COLUMNS", "NAME", "NUMBER", "ORDER", "PRESETS", "TABLE", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
