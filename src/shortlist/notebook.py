"""HTML fragments that notebooks show in place of text; every name in them is escaped."""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from shortlist.printable import in_figures, printable


def escaped(words: object) -> str:
    r"""Text as HTML shows it, with control characters written as escapes.

    Examples
    --------
    >>> escaped("<b>C07</b>\x1b")
    '&lt;b&gt;C07&lt;/b&gt;\\x1b'
    """
    return html.escape(printable(words))


def cell(value: object) -> str:
    """A value as a table shows it: four digits of a number, nothing where there is none.

    Examples
    --------
    >>> cell(0.123456), cell(21234.5), cell(None), cell(float("nan")), cell("a<b")
    ('0.1235', '21,234', '', '', 'a&lt;b')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return in_figures(value) if isinstance(value, float) else escaped(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a heading.

    Examples
    --------
    >>> table(["name", "mean"], [("C07", 0.5)])
    '<table><thead><tr><th>name</th><th>mean</th></tr></thead><tbody><tr><td style="text-align:left">C07</td><td>0.5</td></tr></tbody></table>'
    """
    heading = "".join(f"<th>{escaped(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_td, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>"


def _td(value: object) -> str:
    style = ' style="text-align:left"' if isinstance(value, str) else ""
    return f"<td{style}>{cell(value)}</td>"


def paragraph(words: object) -> str:
    """A paragraph, its lines kept."""
    return f"<p>{escaped(words).replace(chr(10), '<br>')}</p>"


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which shows what it is sent."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class NotebookLine:
    """A line of a notebook that can be rewritten; ``text`` gives what it is to say."""

    def __init__(self, text: Any) -> None:
        self._text = text

    def start(self) -> None:
        """Write it for the first time."""
        from IPython.display import display

        self._handle = display(self._bundle(), raw=True, display_id=True)

    def refresh(self) -> None:
        """Write it again."""
        self._handle.update(self._bundle(), raw=True)

    def stop(self) -> None:
        """Leave it as it is."""

    def _bundle(self) -> dict[str, str]:
        return {"text/plain": printable(self._text())}
