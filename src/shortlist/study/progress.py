"""The line that a running study shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.study.study import Study

NAMES_SHOWN = 5


def describe(study: Study) -> str:
    """Evaluations, the stopping statistic against ε, and the current shortlist."""
    if study.statistic is None:
        return f"{study.evaluations} evaluations · initial pulls"
    names = list(study.shortlist)
    shown = ", ".join(names[:NAMES_SHOWN]) + (" …" if len(names) > NAMES_SHOWN else "")
    return (
        f"{study.evaluations} evaluations · {study.statistic:.4g} → ε = {study.problem.epsilon:g} "
        f"· {shown}"
    )


class ProgressLine:
    """Shown on a terminal, silent elsewhere; drawn at most ten times a second."""

    def __init__(self, study: Study, wanted: bool, console: Any = None) -> None:
        self._study, self._wanted, self._console = study, wanted, console
        self._live: Any = None

    def __enter__(self) -> ProgressLine:
        if self._wanted:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            console = self._console or Console(stderr=True)
            if console.is_terminal:
                # Drawn from a callable, so that the text is only made when it is shown.
                self._live = Live(
                    get_renderable=lambda: Text(describe(self._study), no_wrap=True),
                    console=console,
                    refresh_per_second=10,
                    auto_refresh=False,
                )
                self._live.start()
        return self

    def update(self) -> None:
        """Draw the line if it is time."""
        if self._live is not None and self._due():
            self._live.refresh()

    def _due(self) -> bool:
        from time import monotonic

        now = monotonic()
        if now - getattr(self, "_drawn", 0.0) < 0.1:
            return False
        self._drawn = now
        return True

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.refresh()
            self._live.stop()
