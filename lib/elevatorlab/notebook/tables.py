"""Tables in a notebook: words are aligned at the left, numbers at the right.

``%load_ext elevatorlab.notebook.tables`` aligns all tables of a notebook in this way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ..lectures.tables import EMPTY

_LEFT = ' style="text-align: left"'
"""Each cell has this, since JupyterLab ignores the style sheets of notebooks it does not trust."""


def load_ipython_extension(shell: Any) -> None:
    """Show tables by `as_html`."""
    shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, as_html)


def as_html(table: pd.DataFrame) -> str | None:
    """Return the table in pandas' HTML, but with words at the left and never shortened.

    Examples
    --------
    >>> table = pd.DataFrame({"scheduler": ["none"], "ms": [1.5]})
    >>> re.findall("<td.*", as_html(table))
    ['<td style="text-align: left">none</td>', '<td>1.5</td>']
    """
    # The stubs of pandas lack this method, which exists for IPython alone.
    with pd.option_context("display.max_colwidth", None):
        html: str | None = table._repr_html_()  # type: ignore[operator]
    if html is None:
        return None
    columns = [_has_words(table.iloc[:, place]) for place in range(table.shape[1])]
    head, begin, body = html.partition("<tbody>")
    if table.columns.nlevels == 1:
        head = _in_rows(head, "th", columns)
    body = _in_rows(body, "td", columns)
    index = table.index
    if all(_has_words(index.get_level_values(level)) for level in range(index.nlevels)):
        body = re.sub(r"<th\b", f"<th{_LEFT}", body)
    return head + begin + body


def _has_words(values: Iterable[object]) -> bool:
    """Tell whether some values are words; the dash of an empty cell among numbers is none."""
    words = [value for value in values if isinstance(value, str)]
    numbers = any(not isinstance(value, str) for value in values)
    return any(word != EMPTY for word in words) or (bool(words) and not numbers)


def _in_rows(html: str, tag: str, columns: Sequence[bool]) -> str:
    """Align the cells of each row that has a cell for every column."""

    def aligned(row: re.Match[str]) -> str:
        before, *cells = re.split(rf"(?=<{tag}\b)", row[0])
        first = len(cells) - len(columns)
        if first < 0:
            return row[0]
        words = [False] * first + list(columns)
        return before + "".join(
            cell.replace(f"<{tag}", f"<{tag}{_LEFT}", 1) if left else cell
            for cell, left in zip(cells, words, strict=True)
        )

    return re.sub(r"<tr\b.*?</tr>", aligned, html, flags=re.DOTALL)
