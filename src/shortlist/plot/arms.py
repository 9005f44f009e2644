"""The arms of a study in a picture: which are shown, their names and colours, and the title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shortlist.plot.figure import COLOURS, room
from shortlist.printable import NAME_WIDTH, cut

if TYPE_CHECKING:
    from shortlist.problem import Problem
    from shortlist.study.insight.history import History, Moment
    from shortlist.study.study import Study

ROWS_SHOWN = 30
# Letters of a name before its middle is left out in a panel that is less wide than so many inches.
NARROW_NAME, WIDE = 24, 5.0
INSIDE, CHALLENGER, OUTSIDE = COLOURS[0], COLOURS[1], "#666666"


def most_contested(moment: Moment) -> list[int]:
    """The boundary pair, the shortlist and the arms nearest to it; best mean first.

    An arm is the nearer to the boundary the larger the gap index that the stopping rule reads of
    it. The shortlist takes two places of three at most.
    """
    from shortlist.study.answer import best_first

    table, by_gap = moment.table, moment.by_gap
    inside = table["in_shortlist"].to_numpy()
    nearest = by_gap[inside[by_gap]][: 2 * ROWS_SHOWN // 3]
    outside = by_gap[~inside[by_gap]][:ROWS_SHOWN]
    ranked = [moment.b, moment.c, moment.boundary, *nearest, *outside, *by_gap[: 2 * ROWS_SHOWN]]
    chosen = list(dict.fromkeys(int(arm) for arm in ranked))[:ROWS_SHOWN]
    return best_first(table.iloc[sorted(chosen)], moment.problem).index.tolist()


def labels_of(moment: Moment, arms: Sequence[int], ax: Any) -> list[str]:
    """The names of arms, with ★ for the shortlist and their roles in the boundary pair."""
    parts = {"b": moment.b, "c": moment.c, "boundary": moment.boundary}
    if moment.boundary == moment.b:
        del parts["boundary"]
    labels = []
    for arm, name in zip(arms, names_of(moment.problem, arms, ax), strict=True):
        star = "★ " if moment.table["in_shortlist"].iloc[arm] else ""
        roles = ", ".join(word for word, who in parts.items() if who == arm)
        labels.append(f"{star}{name}{f' ({roles})' if roles else ''}")
    return labels


def pair_words(moment: Moment) -> str:
    """What b, c and the boundary are, as sentences."""
    words = "b: the arm of the shortlist whose place is least certain. c: its challenger. "
    if moment.boundary != moment.b:
        words += "boundary: the arm of the shortlist that the stopping rule looks at. "
    return words


def colour(moment: Moment, arm: int) -> str:
    """The colour of an arm: by its side of the boundary, and one for the challenger."""
    if arm == moment.c:
        return CHALLENGER
    return INSIDE if moment.table["in_shortlist"].iloc[arm] else OUTSIDE


def left_out(count: int, moment: Moment) -> str:
    """How many arms are not in the picture, as a sentence; empty if all are."""
    shown = len(moment.by_gap)
    rest = shown - count
    words = f"{rest:,} of the {shown:,} arms are left out, those farthest from the boundary. "
    return words if rest else ""


def headline(study: Study, evaluations: int) -> str:
    """The title: what is looked for, by which algorithm, and the state of the study."""
    problem = study.problem
    until = study.aim.short(problem)
    state = "still running"
    if study.done:
        stop = study.answered_at
        state = "stopped" if evaluations == stop else f"stopped after {stop:,}"
    elif study.audit.rejection is not None:
        state = "linear means with this σ were rejected"
    elif study.audit.is_running:
        state = f"stopped after {study.answered_at:,}, testing linearity"
    return (
        f"{study.procedure.name}: the {problem.m} best of {problem.eligible}, ε = {problem.epsilon:g}, "
        f"{until};\n{evaluations:,} evaluations, {state}"
    )


def after_stop(study: Study) -> int:
    """How many results were told after the stop, without those of an audit."""
    from shortlist.study.insight.audit import audit_results

    if not study.model.stopped:
        return 0
    later = study.taken[study.answered_at :]
    return len(later) - audit_results(later)


def moment_of(study: Study, history: History | None) -> Moment | None:
    """What the stopping rule last read, from the history if it is given; None before a result."""
    from shortlist.study.insight.history import last_moment

    if study.evaluations == 0:
        return None
    return last_moment(study) if history is None else history.last


def nothing_yet(study: Study) -> str:
    """Why there is nothing to draw, as a sentence."""
    if study.evaluations == 0:
        return "Nothing to draw yet: no result has been told."
    from shortlist.study.view import before_the_rounds

    return f"Nothing to draw yet: intervals come later. {before_the_rounds(study)}"


def names_of(problem: Problem, arms: Sequence[int], ax: Any) -> list[str]:
    """The names of arms, cut to the room that a panel has; one that is not unique has its row."""
    width = NAME_WIDTH if room(ax) >= WIDE else NARROW_NAME
    names = [cut(str(problem.names[arm]), width) for arm in arms]
    seen = Counter(names)
    return [
        name if seen[name] == 1 else f"{name} #{arm}" for name, arm in zip(names, arms, strict=True)
    ]
