"""The intervals that are found, and those that stop a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.plot.arms import (
    CHALLENGER,
    INSIDE,
    OUTSIDE,
    colour,
    headline,
    labels_of,
    left_out,
    moment_of,
    most_contested,
    names_of,
    nothing_yet,
    pair_words,
)
from shortlist.plot.figure import (
    FRAME,
    frame_of,
    label_rows,
    number,
    panels_for,
    say,
    write_around,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.insight.history import History, Moment
    from shortlist.study.study import Study

INTERVAL_ROW = 0.26  # inches
GAPS = ("gap", "gap_lower", "gap_upper")
GAPS_AXIS = "difference of two means, with its interval"


def intervals(
    study: Study, *, history: History | None = None, ax: Any = None, caption: bool = True
) -> Figure:
    """The intervals of the arms as the stopping rule read them when the study last looked.

    With individual indices the rule compares the arms' own intervals μ̂ ± Cσ√(xᵀV⁻¹x), and there is one
    panel. With paired indices it compares differences of two means: a second panel shows these,
    each with its interval from −B_ji to B_ij. Up to 30 arms are shown: the shortlist, the boundary
    pair, and the arms nearest to them.

    Parameters
    ----------
    study : Study
        Before the initial pulls are told, a sentence says so.
    history : History, optional
        The history of the study, if available.
    ax : matplotlib Axes, or two of them, optional
        Where to draw; by default a new figure. With paired indices a single Axes gets the
        differences: it is they that stop the study.
    caption : bool
        Whether the picture is explained below the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import shortlist
    >>> study = shortlist.Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> figure = shortlist.plot.intervals(study)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['★ 2 (b)', '1 (c)', '0']
    """
    moment = moment_of(study, history)
    if moment is None:
        return say(_panels(ax, 1, rows=4)[0], nothing_yet(study))
    arms = most_contested(moment)
    alone = study.procedure.engine.setup.alone
    own_axis = f"{own_columns(moment)[0]}, with its interval {study.procedure.interval.formula}"
    panels = _panels(ax, 1 if alone else 2, len(arms))
    shown = labels_of(moment, arms, panels[0]), [colour(moment, arm) for arm in arms]
    words = _stop(study, moment, panels[-1]) + pair_words(moment) + left_out(len(arms), moment)
    late = study.evaluations - moment.evaluation
    words += f"{late:,} results that came in since are not in the picture. " if late else ""
    if alone:
        cut = _draw(panels[0], moment, arms, own_columns(moment), *shown)
        _shade(panels[0], study, moment)
        captions = [(own_axis, words + cut)]
    else:
        cut = _draw(panels[-1], moment, arms, GAPS, *shown)
        panels[-1].axvline(study.problem.epsilon, color="black", linewidth=1.2, zorder=1.9)
        panels[-1].axvline(moment.statistic, color=CHALLENGER, linestyle="--", zorder=1.9)
        captions = [(GAPS_AXIS, words + _dots_alone(moment, arms) + cut)]
    if not alone and len(panels) == 2:
        cut = _draw(panels[0], moment, arms, own_columns(moment), *shown)
        panels[1].set_yticklabels([])
        own = f"Left: These intervals do not stop the study. {study.coverage} {cut}"
        captions = [(own_axis, own), (GAPS_AXIS, f"Right: {captions[0][1]}")]
    return write_around(
        ax, panels, headline(study, moment.evaluation), captions, side="right", caption=caption
    )


def answer(
    study: Study, *, history: History | None = None, ax: Any = None, caption: bool = True
) -> Figure:
    """The shortlist and the arms nearest to it: each arm's mean with its own interval.

    It shows what was found. What made the study stop is in ``intervals``.

    Parameters
    ----------
    study : Study
        Before the initial pulls are told, a sentence says so.
    history : History, optional
        The history of the study, if available.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    caption : bool
        Whether the picture is explained below the axis.

    Examples
    --------
    >>> import numpy as np
    >>> import shortlist
    >>> study = shortlist.Study(np.eye(3), m=1, sigma=0.1, seed=1)
    >>> _ = study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False)
    >>> figure = shortlist.plot.answer(study)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['★ 2', '1', '0']
    """
    moment = moment_of(study, history)
    if moment is None:
        return say(_panels(ax, 1, rows=4)[0], nothing_yet(study))
    arms = most_contested(moment)
    [panel] = _panels(ax, 1, len(arms))
    inside = moment.table["in_shortlist"].to_numpy()[arms]
    names = names_of(moment.problem, arms, panel)
    labels = [f"★ {name}" if star else name for name, star in zip(names, inside, strict=True)]
    colours = np.where(inside, INSIDE, OUTSIDE).tolist()
    cut = _draw(panel, moment, arms, own_columns(moment), labels, colours)
    title = f"The {study.problem.m} best of {study.problem.eligible}"
    title += f"{'' if study.done else ' so far'}, after {study.shortlist.evaluations:,} evaluations"
    words = f"Blue and ★: the shortlist. {study.coverage} "
    words += f"{left_out(len(arms), moment)}{cut}"
    captions = [(f"{own_columns(moment)[0]}, with its interval", words)]
    return write_around(ax, [panel], title, captions, side="right", caption=caption)


def own_columns(moment: Moment) -> tuple[str, str, str]:
    """What an arm's own interval is about, and its ends."""
    from shortlist.study.answer import estimated

    return str(estimated(moment.table).name), "lower", "upper"


def _panels(ax: Any, panels: int, rows: int) -> list[Any]:
    """Panels side by side; the last of the axes that are given."""
    size = (2.5 + 4.0 * panels, FRAME + 0.9 + INTERVAL_ROW * rows)
    return panels_for(ax, size, columns=panels)[1][-panels:]


def _draw(
    ax: Any,
    moment: Moment,
    arms: list[int],
    columns: tuple[str, str, str],
    labels: list[str],
    colours: list[str],
) -> str:
    """Draw the arms; returns what the caption says of those that do not fit."""
    places = np.arange(len(arms), 0, -1)
    middle, low, high = (moment.table[column].to_numpy() for column in columns)
    for arm, place, shade in zip(arms, places.tolist(), colours, strict=True):
        bar = {"color": shade, "linewidth": 2.5, "solid_capstyle": "butt"}  # no longer than it is
        ax.plot([low[arm], high[arm]], [place, place], zorder=2, **bar)
        ax.plot([middle[arm]], [place], "o", color=shade, markeredgecolor="white", zorder=3)
    label_rows(ax, labels, places, colours)
    pair = [arms.index(arm) for arm in {moment.b, moment.c, moment.boundary}.intersection(arms)]
    frame = frame_of(low[arms], high[arms], pair)
    return "" if frame is None else _cut(ax, frame, low[arms], high[arms], places, colours)


def _cut(
    ax: Any,
    frame: tuple[float, float],
    low: np.ndarray,
    high: np.ndarray,
    places: np.ndarray,
    colours: list[str],
) -> str:
    """Point to what reaches beyond the frame; returns what the caption says of it."""
    before, beyond = np.isfinite(low) & (low < frame[0]), np.isfinite(high) & (high > frame[1])
    if not (before | beyond).any():
        return ""
    margin = 0.05 * (frame[1] - frame[0])
    left, right = frame[0] - margin, frame[1] + margin
    ax.set_xlim(left, right)
    for outside, end, mark in ((before, left, "<"), (beyond, right, ">")):
        for k in np.flatnonzero(outside):
            ax.plot([end], [places[k]], mark, color=colours[k], clip_on=False, zorder=4)
    return "An arrow: the interval goes on beyond the frame, or lies there. "


def _dots_alone(moment: Moment, arms: list[int]) -> str:
    """Why some differences have no interval, as a sentence; empty if all have one."""
    widths = moment.table["gap_upper"].to_numpy()[arms] - moment.table["gap_lower"].to_numpy()[arms]
    if np.isfinite(widths).all():
        return ""
    return "A dot without a line: the results so far do not bound this difference. "


def _shade(ax: Any, study: Study, moment: Moment) -> None:
    """Shade the band from L_j (where the smallest are sought, U_j) as wide as the statistic."""
    if not study.procedure.engine.setup.lagged:
        column, width = ("lower", moment.statistic)
        if study.problem.minimizes:
            column, width = "upper", -moment.statistic
        end = moment.table[column].iloc[moment.boundary]
        ax.axvspan(*sorted([end, end + width]), color="#FBE3D6", zorder=1)
        ax.axvline(end, color=INSIDE, linestyle=":", zorder=1.9)
        ax.axvline(end + width, color=CHALLENGER, linestyle=":", zorder=1.9)


def _stop(study: Study, moment: Moment, ax: Any) -> str:
    """What stops the study, as sentences."""
    setup, m = study.procedure.engine.setup, study.problem.m
    alone = setup.alone
    verb = "stopped" if study.model.stopped else "stops"
    band = "the width of the band" if alone else "dashes"
    figure = f"({band}: {number(moment.statistic)})"
    until = f"is at most ε = {study.problem.epsilon:g}{'' if alone else ' (line)'}. "
    if setup.stop == "ugape":
        [name] = names_of(moment.problem, [moment.boundary], ax)
        turned = study.problem.minimizes
        rows = f"Every row is {f'{name} minus the arm' if turned else f'the arm minus {name}'}. "
        upper = f"the m-th largest upper end (m = {m})"
        if alone:
            rows = ""
            upper += f" of the other arms minus the lower end of {name}"
            if turned:
                upper = f"the upper end of {name} minus the m-th smallest lower end (m = {m})"
        return f"{rows}The study {verb} when {upper} {figure} {until}"
    rows = "★: c minus the arm; others: the arm minus b. "
    if study.problem.minimizes:
        rows = "★: the arm minus c; others: b minus the arm. "
    if alone:
        rows = ""
    if not setup.aim.certifies:
        meaning = (
            "Each interval would contain the difference of two arms named beforehand with "
            f"probability {1 - study.problem.delta:g}; of arms chosen by the results it does so "
            "less often. "
        )
        if setup.aim.proves:
            meaning = ""
        return (
            f"{rows}{meaning}Dashes: the upper end of c, {number(moment.statistic)}. The study {verb} "
            f"after {setup.aim.budget:,} evaluations, regardless of these bounds. "
        )
    if setup.lagged:
        last = f"({'' if alone else 'dashes: '}{number(moment.statistic)})"
        return f"{rows}The study {verb} when B_cb of the pair before the last result {last} {until}"
    if setup.stop == "lucb":
        upper = "the upper end of c"
        if alone:
            upper = "U_b − L_c" if study.problem.minimizes else "U_c − L_b"
        return f"{rows}The study {verb} when {upper} {figure} {until}"
    return f"{rows}The study {verb} when the user's own rule {setup.stop!r} {figure} {until}"
