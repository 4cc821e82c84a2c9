"""Study 5: Stream Batch Queuing, an I/O scheduler that holds requests back, over NVMe/TCP."""

from .claims import judge
from .figures import figures
from .published import points as published
from .rows import COLUMNS, ORDER, rows
from .tables import overview_table, tables
from .trials import NAME, PRESETS, Parameters, trials

TITLE = "Does holding requests back pay over NVMe/TCP?"

__all__ = ["COLUMNS", "NAME", "ORDER", "PRESETS", "TITLE", "Parameters"]
__all__ += ["figures", "judge", "overview_table", "published", "rows", "tables", "trials"]
