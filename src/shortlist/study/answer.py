"""The shortlist and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist import notebook
from shortlist.arrays import Label
from shortlist.engine.algorithm import Procedure
from shortlist.engine.fits import Posterior
from shortlist.guarantee import Guarantee
from shortlist.printable import printable, rounded_up
from shortlist.problem import Problem

EVERY = slice(None)


@dataclass(frozen=True)
class Certain:
    """What is certain of a list, at any moment, with the probability of the guarantee.

    All of it holds at all times together, and together with the answer at the stop.

    Attributes
    ----------
    epsilon : float or None
        The least ε at which the list is certified now; None if there is none yet. It may be smaller
        than the study's, after a stop too. ``study.widen(epsilon)`` stops the study at it.
    inside : tuple of str
        Arms of the list that are among the m best, up to the study's ε.
    undecided : tuple of str
        Arms that may or may not be: all others are not needed, up to ε. After a stop there may still
        be some: where the list has m arms that are good enough, an arm outside may be better.
    open_inside, open_outside : tuple of str
        If the list is wrong, its worst arm is one of the first, and the best arm that it lacks is one
        of the second. Both are empty where the list is certified.
    words : str
        All that, to be read.
    """

    epsilon: float | None
    inside: tuple[Label, ...]
    undecided: tuple[Label, ...]
    open_inside: tuple[Label, ...]
    open_outside: tuple[Label, ...]
    words: str

    def __str__(self) -> str:
        return self.words

    @property
    def stops_at(self) -> float | None:
        """The least ε that ends the study now, rounded up to two digits; None if there is none."""
        return None if self.epsilon is None else rounded_up(self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The m arms, their means and intervals, and the guarantee in words.

    Attributes
    ----------
    names : list of int or str
        As they were given, best estimated mean first: ``table.loc[names]`` of your own table.
    arms : list of int
        The same by their rows.
    table : DataFrame
        pulls, mean, lower, upper of each, by name; the mean is the average of its results. Where the
        algorithm estimates means by more than that (features; blocks that share a shift or noise),
        there is ``estimate`` too, and lower and upper are about that.
    evaluations : int
        How many evaluations it took.
    final : bool
        Whether the study has stopped; before that there is no guarantee.
    guarantee : Guarantee
        Whether the answer is proven, under which assumptions, or why it is not. Its ``short`` has
        two lines, and ``print`` shows the exact statement.
    error : float or None
        With a budget, the estimated probability that the list is wrong; None without one, and
        until the initial pulls are in.
    audited : int
        How many of the evaluations tested whether the means are linear in the features.
    coverage : str
        How often the means lie between lower and upper, as far as that is proven.
    certain : Certain or None
        The least ε at which the list is certified, and which arms are certain: also before the
        study has stopped. None where nothing is.
    """

    names: list[Label]
    arms: list[int]
    table: pd.DataFrame
    evaluations: int
    final: bool
    guarantee: Guarantee
    error: float | None = None
    audited: int = 0
    coverage: str = ""
    certain: Certain | None = None

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __str__(self) -> str:
        figures = self._shown.to_string(index=False, float_format="{:.4g}".format, na_rep="–")
        if not len(self):
            figures = "No shortlist yet: the first results are not all in."
        return printable("\n".join([figures, *self._below]))

    def _repr_html_(self) -> str:
        shown = self._shown
        figures = notebook.table(list(shown.columns), shown.itertuples(index=False, name=None))
        if not len(self):
            figures = notebook.paragraph("No shortlist yet: the first results are not all in.")
        return figures + "".join(map(notebook.paragraph, self._below))

    @property
    def _shown(self) -> pd.DataFrame:
        return self.table.drop(columns="in_shortlist").reset_index()

    @property
    def _below(self) -> list[str]:
        """What is said below the table."""
        return list(filter(None, [self.already if len(self) else "", self.guarantee.short]))

    @property
    def already(self) -> str:
        """What is certain before the study has stopped; empty afterwards, or if nothing is."""
        return "" if self.final or self.certain is None else self.certain.words

    @property
    def effort(self) -> str:
        """How many evaluations it took, and whether the study has stopped."""
        tested = f" ({self.audited} of them to test linearity)" if self.audited else ""
        state = "stopped" if self.final else "not stopped"
        return f"{self.evaluations} evaluations{tested}, {state}"


def estimated(table: pd.DataFrame) -> pd.Series:
    """What the algorithm takes for the means: the estimates of a table of arms, or else the averages."""
    return table["estimate" if "estimate" in table else "mean"]


def best_first(table: pd.DataFrame, problem: Problem) -> pd.DataFrame:
    """The rows of a table of arms, the best estimated mean first."""
    by = str(estimated(table).name)
    return table.sort_values(by, ascending=problem.minimizes, kind="stable")


def arm_table(
    procedure: Procedure,
    posterior: Posterior,
    C: float,
    now: Any,
    arms: NDArray[np.int64] | slice = EVERY,
) -> pd.DataFrame:
    """A table of arms with their means and intervals in the round ``now``; None before the first.

    The mean is the average of the arm's own results. Where the algorithm makes more of them, by
    features or by what results of a block share, its estimate stands beside it, and the interval is
    the estimate's. Where there are controls a column says which arms they are.

    The intervals are μ̂ ± Cσ√(xᵀV⁻¹x), where the algorithm has no others. Those are of the last
    decision, and may be centred elsewhere: one that lacks the estimate is made to reach it.
    """
    problem, adjusts = procedure.problem, procedure.engine.adjusts
    means = lower = upper = np.full(problem.arms, np.nan)
    retired = np.setdiff1d(np.arange(problem.arms), procedure.arms_left)
    inside = np.zeros(problem.arms, np.bool_)
    averages = procedure.mirrored(posterior.averages)
    averages[retired] = np.nan
    if now is not None:
        known = procedure.engine.estimates(posterior, now)
        means = known.means.copy()
        if known.intervals is None:
            width = C * problem.sigma * np.sqrt(np.maximum(known.variances, 0.0))
            lower, upper = means - width, means + width
        else:
            lower, upper = known.intervals
        unknown = np.isinf(means)  # those that were added and have no result
        unknown[retired] = True
        means = means if adjusts else procedure.mirrored(averages)
        lower, upper = np.fmin(lower, means), np.fmax(upper, means)
        means, lower, upper = map(procedure.mirrored, (means, lower, upper))
        if problem.minimizes:
            lower, upper = upper, lower
        means, lower, upper = (np.where(unknown, np.nan, e) for e in (means, lower, upper))
        inside = now.inside.copy()
    table = pd.DataFrame(
        {
            "name": problem.names if isinstance(arms, slice) else [problem.names[a] for a in arms],
            "pulls": posterior.pulls[arms].copy(),
            "mean": averages[arms],
            **({"estimate": means[arms]} if adjusts else {}),
            "lower": lower[arms],
            "upper": upper[arms],
            "in_shortlist": inside[arms],
        }
    )
    return table.assign(control=~problem.listable[arms]) if problem.controls.exist else table
