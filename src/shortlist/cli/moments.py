"""Moments and spans of time, for people and for files."""

from __future__ import annotations

from datetime import UTC, datetime

UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def iso(moment: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC.

    Examples
    --------
    >>> iso(1e9)
    '2001-09-09T01:46:40+00:00'
    """
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def span(seconds: float) -> str:
    """A span of time in its largest unit.

    Examples
    --------
    >>> span(7200.0), span(100000.0), span(0.2)
    ('2 h', '1.2 days', '0 s')
    """
    size, unit = next((pair for pair in UNITS if abs(seconds) >= pair[0]), UNITS[-1])
    figure = seconds / size
    return f"{figure:.1f} {unit}".replace(".0 ", " ") if size > 1 else f"{figure:.0f} {unit}"
