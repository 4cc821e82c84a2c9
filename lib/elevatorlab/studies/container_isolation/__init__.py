"""Study 3: how containers disturb each other's I/O, and how a regulator keeps them apart."""

from .claims import judge
from .columns import COLUMNS, ORDER
from .figures import figures
from .published import numbers as published
from .tables import overview_table, tables
from .trials import NAME, PRESETS, Parameters, trials
from .trials import rows_of as rows

TITLE = "How do containers disturb each other's I/O, and what keeps them apart?"

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
