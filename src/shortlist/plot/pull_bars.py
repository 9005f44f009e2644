"""Where the evaluations went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.plot.arms import INSIDE, OUTSIDE, ROWS_SHOWN, after_stop, headline, names_of
from shortlist.plot.figure import COLOURS, axes_for, label_rows, say, write_around

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.study import Study

PULLS_ROW = 0.26  # inches
STATES = ("told", "pending", "failed")


def pulls(study: Study, *, ax: Any = None, caption: bool = True) -> Figure:
    """The evaluations of each arm: told, pending (hatched) and failed (crossed); best mean on top.

    With more than 30 arms, up to ten of the shortlist are shown and those with the most
    evaluations.

    Parameters
    ----------
    study : Study
        Before its first trial, a sentence says so.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    caption : bool
        Whether the picture is explained below the axes.

    Examples
    --------
    >>> import numpy as np
    >>> import shortlist
    >>> study = shortlist.Study(np.eye(2), m=1, sigma=0.1, seed=1)
    >>> trials = study.ask(5)
    >>> _ = study.tell(trials[0], 0.1)
    >>> figure = shortlist.plot.pulls(study)
    >>> for bars in figure.axes[0].containers:
    ...     print(bars.get_label(), bars.datavalues.tolist())
    told [1, 0]
    pending [2, 2]
    """
    from shortlist.study.answer import best_first

    counts = {}
    for state in STATES:
        pulled = [trial.arm for trial in study.trials if trial.state == state]
        counts[state] = np.bincount(np.array(pulled, np.int64), minlength=study.problem.arms)
    total = np.sum(list(counts.values()), axis=0)
    if not total.any():
        _, panel = axes_for(ax, 4, PULLS_ROW)
        return say(panel, "Nothing to draw yet: no evaluation has been asked for.")
    table = study.model.table()
    arms = _most_pulled(total, table["in_shortlist"].to_numpy())
    arms = best_first(table.iloc[arms], study.problem).index.to_numpy()
    inside = table["in_shortlist"].to_numpy()[arms]
    colours = np.where(inside, INSIDE, OUTSIDE).tolist()
    _, panel = axes_for(ax, max(len(arms), 4), PULLS_ROW)
    places = np.arange(len(arms), 0, -1)
    ends = np.zeros(len(arms), np.int64)
    for state in STATES:
        widths = counts[state][arms]
        if state == "told" or widths.any():
            style = _style(state, colours)
            bars = panel.barh(places, widths, left=ends, height=0.7, label=state, zorder=2, **style)
            ends += widths
    told = [f"{count:,}" for count in counts["told"][arms]]
    panel.bar_label(bars, told, padding=3, fontsize=8, color="0.3")
    labels = [
        f"★ {name}" if star else name
        for name, star in zip(names_of(study.problem, arms.tolist(), panel), inside, strict=True)
    ]
    label_rows(panel, labels, places, colours)
    panel.set_xlim(0, 1.08 * max(ends.max(), 1))
    panel.xaxis.get_major_locator().set_params(integer=True)
    captions = [("evaluations", _legend(study, counts, arms))]
    title = headline(study, study.evaluations)
    return write_around(ax, [panel], title, captions, side="right", caption=caption)


def _most_pulled(total: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The arms with most evaluations, and up to ten of the shortlist even if they had none."""
    by_total = np.argsort(-total, kind="stable")
    ranked = [*by_total[inside[by_total]][: ROWS_SHOWN // 3], *by_total]
    return np.sort(np.array(list(dict.fromkeys(ranked))[:ROWS_SHOWN]))


def _style(state: str, colours: list[str]) -> dict[str, Any]:
    if state == "told":
        return {"color": colours}
    face, hatch = ("white", "////") if state == "pending" else (COLOURS[4], "xxxx")
    return {"facecolor": face, "edgecolor": colours, "hatch": hatch, "linewidth": 0.8}


def _legend(study: Study, counts: dict[str, np.ndarray], arms: np.ndarray) -> str:
    told, pending, failed = (int(counts[state].sum()) for state in STATES)
    words = f"Told: {told:,} (filled, with the number"
    words += "; blue and ★: the shortlist). " if study.statistic is not None else "). "
    late = after_stop(study)
    words += f"Of these {late:,} after the stop. " if late else ""
    words += f"Pending: {pending:,} (hatched). " if pending else ""
    words += f"Failed: {failed:,} (orange, crossed). " if failed else ""
    rest = study.problem.arms - len(arms)
    if rest:
        told_there = told - int(counts["told"][arms].sum())
        words += (
            f"{rest:,} of the {study.problem.arms:,} arms are left out, with {told_there:,} "
            "results between them."
        )
    return words
