"""Tables: a caption, a heading for every column, names to the left and numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.report.markup import Markup, element, joined
from shortlist.report.numbers import count

ROWS_SHOWN = 1000
EVERY_ARM = ("shortlist export --table", "study.table()")  # where to get all rows
EVERY_TRIAL = ("shortlist export", "study.trials")


def table(
    caption: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[object]],
    *,
    marked: Sequence[bool] = (),
    sortable: bool = False,
) -> Markup:
    """A table that scrolls by itself where the page is narrow.

    Parameters
    ----------
    caption : str
        What it shows.
    columns : sequence of (heading, kind)
        The kind is ``"name"``, ``"number"`` or ``"words"``.
    rows : sequence of sequences
        The cells, markup or words.
    marked : sequence of bool
        Which rows stand out; none by default.
    sortable : bool
        Whether a click on a heading sorts it, where scripts run.
    """
    kinds = [kind for _, kind in columns]
    head = element("tr", *(element("th", title, scope="col", class_=k) for title, k in columns))
    body = []
    for index, row in enumerate(rows):
        cells = [
            element("th", cell, scope="row", class_=kind)
            if kind == "name"
            else element("td", cell, class_=kind)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        body.append(element("tr", *cells, class_="marked" if marked and marked[index] else None))
    whole = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", head),
        element("tbody", joined(body, "\n")),
        class_="sortable" if sortable else None,
    )
    return _scrolling(whole, caption)


def pairs(caption: str, rows: Sequence[tuple[str, object]]) -> Markup:
    """A table of two columns, a name and what it is."""
    lines = [
        element("tr", element("th", key, scope="row"), element("td", value)) for key, value in rows
    ]
    whole = element(
        "table",
        element("caption", element("span", caption)),
        element("tbody", *lines),
        class_="pairs",
    )
    return _scrolling(whole, caption)


def beyond(rows: int, everything: tuple[str, str], shown: int = ROWS_SHOWN) -> Markup:
    """How many rows a table does not list and where all are; nothing if it lists them all."""
    if rows <= shown:
        return Markup()
    command, call = everything
    return element(
        "p",
        f"{count(rows - shown)} of {count(rows)} are not listed. All are written by ",
        element("code", command),
        ", and in Python they are ",
        element("code", call),
        ".",
        class_="note",
    )


def _scrolling(whole: Markup, label: str) -> Markup:
    # Reached by the keyboard, or it could be scrolled by the mouse only.
    return element("div", whole, class_="wide", tabindex="0", role="group", aria_label=label)
