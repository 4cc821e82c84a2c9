"""Study 5: Stream Batch Queuing, an I/O scheduler that holds requests back, over NVMe/TCP."""

from .claims import judge
from .columns import COLUMNS, ORDER, TABLE, rows
from .figures import figures
from .published import NAME
from .published import points as published
from .tables import overview_table, tables
from .trials import BATCH_NR, BATCH_TIMEOUT_US, PRESETS, VARIATIONS, Parameters, trials

TITLE = "Does it pay to hold requests back over NVMe/TCP?"
NUMBER = 5

__all__ = ["BATCH_NR", "BATCH_TIMEOUT_US", "COLUMNS", "NAME", "NUMBER", "ORDER", "PRESETS", "TABLE"]
__all__ += ["TITLE", "VARIATIONS", "Parameters", "figures", "judge", "overview_table", "published"]
__all__ += ["rows", "tables", "trials"]
