"""The arms of a study in a picture: which are shown, how they are called and coloured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.plot.figure import COLOURS
from shortlist.plot.names import drawn

if TYPE_CHECKING:
    import pandas as pd

    from shortlist.study.insight.history import History, Look
    from shortlist.study.study import Study

ROWS_SHOWN = 30
INSIDE, CHALLENGER, OUTSIDE = COLOURS[0], COLOURS[1], "#666666"


def most_contested(look: Look, most: int = ROWS_SHOWN) -> list[int]:
    """The boundary pair, the shortlist and the arms nearest to it; best mean first.

    An arm is the nearer to the boundary the larger the gap index that the stopping rule reads of
    it. The shortlist takes two places of three at most.
    """
    table = look.table
    by_gap = look.by_gap
    inside = table["in_shortlist"].to_numpy()
    nearest = by_gap[inside[by_gap]][: 2 * most // 3]
    outside = by_gap[~inside[by_gap]][:most]
    ranked = [look.b, look.c, look.boundary, *nearest, *outside, *by_gap[: 2 * most]]
    chosen = list(dict.fromkeys(int(arm) for arm in ranked))[:most]
    return sorted(chosen, key=lambda arm: (-table["mean"].iloc[arm], arm))


def label(look: Look, arm: int) -> str:
    """★ for the shortlist, and which one is b or c."""
    star = "★ " if look.table["in_shortlist"].iloc[arm] else ""
    parts = {"b": look.b, "c": look.c, "boundary": look.boundary}
    if look.boundary == look.b:
        del parts["boundary"]
    roles = ", ".join(word for word, who in parts.items() if who == arm)
    return f"{star}{drawn(look.table['name'].iloc[arm])}{f' ({roles})' if roles else ''}"


def colour(look: Look, arm: int) -> str:
    """By side of the boundary, the challenger apart."""
    if arm == look.c:
        return CHALLENGER
    return INSIDE if look.table["in_shortlist"].iloc[arm] else OUTSIDE


def left_out(shown: int, table: pd.DataFrame) -> str:
    """How many arms are not in the picture."""
    rest = len(table) - shown
    if rest == 0:
        return ""
    return f"{rest:,} of the {len(table):,} arms are left out, those farthest from the boundary. "


def number(value: float) -> str:
    """Four digits, with a minus sign.

    Examples
    --------
    >>> number(-0.123456)
    '−0.1235'
    """
    return f"{value:.4g}".replace("-", "−")


def headline(study: Study, evaluations: int) -> str:
    """What is looked for, by what, and how far it is."""
    problem = study.problem
    until = f"δ = {problem.delta:g}" if study.budget is None else f"budget {study.budget:,}"
    state = "still running"
    if study.done:
        stop = study.answered_at
        state = "stopped" if evaluations == stop else f"stopped after {stop:,}"
    elif study.audit.rejection is not None:
        state = "the means are not linear in the features"
    elif study.audit.is_open:
        state = f"stopped after {study.answered_at:,}, testing linearity"
    return (
        f"{study.bound.name}: the {problem.m} best of {problem.arms}, ε = {problem.epsilon:g}, "
        f"{until}; {evaluations:,} evaluations, {state}"
    )


def after_stop(study: Study) -> int:
    """How many results were told after the stop, but for an audit's: it does not rest on them."""
    from shortlist.study.insight.audit import audit_results

    if not study.model.stopped:
        return 0
    later = study.taken[study.answered_at :]
    return len(later) - audit_results(later)


def past_of(study: Study, history: History | None) -> History:
    """The history at hand, or made."""
    return study.history() if history is None else history


def look_of(study: Study, history: History | None) -> Look | None:
    """What the stopping rule last read, from the history if it is at hand; None before a result."""
    from shortlist.study.insight.history import last_look

    if study.evaluations == 0:
        return None
    return last_look(study) if history is None else history.last


def nothing_yet(study: Study) -> str:
    """Why there is nothing to draw."""
    if study.evaluations == 0:
        return "Nothing to draw yet: no result has been told."
    from shortlist.study.view import before_the_rounds

    return f"Nothing to draw yet: intervals come later. {before_the_rounds(study)}"
