"""How many bytes do larger reads move?"""

from .claims import judge, published
from .shown import figures, overview_table, tables
from .trials import COLUMNS, NAME, ORDER, PRESETS, Parameters, rows, trials

TITLE = "How many bytes do larger reads move?"

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
