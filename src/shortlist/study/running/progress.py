"""The line that a running study shows."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np

from shortlist.notebook import NotebookLine, is_notebook
from shortlist.printable import first_names
from shortlist.study.answer import best_first
from shortlist.study.insight.certain import certain
from shortlist.study.insight.remaining import remaining
from shortlist.study.view import View

NAMES_SHOWN = 5
DRAWN_EVERY = 0.1  # seconds
PROJECTED_EVERY = 1.0
PROJECTING = 20  # a projection that takes long is repeated after this many times as long


def describe(study: View, left: str = "") -> str:
    """Evaluations, those in flight and those that wait, the way to the stop, the shortlist.

    ``left`` says how many evaluations are still needed and how far the list is right, if that is
    known.
    """
    cells = study.problem.cells
    most = "" if cells is None else f" of at most {cells:,}"
    parts = [f"{study.evaluations:,}{study.aim.out_of or most} evaluations"]
    pending, waiting = len(study.pending), len(study.waiting)
    if pending > 1 or waiting:
        parts.append(f"{pending} in flight")
    if waiting:
        parts.append(f"{waiting} waiting for earlier ones")
    if study.audit.is_running:
        parts.append(f"testing linearity: {len(study.audit.missing(study.trials))} to ask for")
        return " · ".join([*parts, _names(study)])
    if left:
        parts.append(left)
    if study.statistic is None:
        return " · ".join([*parts, study.stage])
    return " · ".join([*parts, _names(study)])


def _names(study: View) -> str:
    table = study.model.table()
    return first_names(best_first(table[table["in_shortlist"]], study.problem)["name"], NAMES_SHOWN)


class ProgressLine:
    """A line on a terminal or in a notebook, drawn at most ten times a second; else nothing."""

    def __init__(self, study: View, wanted: bool, console: Any = None) -> None:
        self._study, self._wanted, self._console = study, wanted, console
        self._live: Any = None
        self._drawn = self._project_at = -np.inf
        self._left = self._said = ""

    def say(self, words: str) -> None:
        """Show these words in front of the line until others replace them."""
        if words != self._said:
            self._said = words
            if self._live is not None:
                self._live.refresh()

    def _text(self) -> str:
        rest = describe(self._study, self._left)
        return f"{self._said} · {rest}" if self._said else rest

    def __enter__(self) -> ProgressLine:
        if self._wanted and self._console is None and is_notebook():
            self._live = NotebookLine(self._text)
            self._live.start()
        elif self._wanted:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            console = self._console or Console(stderr=True)
            if console.is_terminal:
                # Drawn from a callable, so that the text is only made when it is shown.
                self._live = Live(
                    get_renderable=lambda: Text(self._text(), no_wrap=True),
                    console=console,
                    refresh_per_second=10,
                    auto_refresh=False,
                )
                self._live.start()
        return self

    def update(self) -> None:
        """Draw the line if it is time."""
        now = monotonic()
        if self._live is None or now - self._drawn < DRAWN_EVERY:
            return
        self._drawn = now
        if now >= self._project_at:
            self._left = _left(self._study)
            took = monotonic() - now
            self._project_at = now + max(PROJECTED_EVERY, PROJECTING * took)
        self._live.refresh()

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._left = ""  # by now it would be an old one
            self._live.refresh()
            self._live.stop()


def _left(study: View) -> str:
    """How many evaluations are projected to be needed, and up to what the list is right so far."""
    if study.aim.out_of:
        return ""  # the budget stands beside the evaluations
    try:
        ahead, now = remaining(study).short, certain(study)
    except np.linalg.LinAlgError:
        return ""  # a line to look at must not end a run
    reached = ""
    if now is not None and now.stops_at is not None:
        reached = f"right up to {now.stops_at:g} → ε = {study.problem.epsilon:g}"
    return " · ".join(filter(None, [ahead, reached]))
