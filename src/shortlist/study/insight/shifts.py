"""Shifts that results share: whether there are any, and results without those that a study allows for.

**A plate or day effect.** Results that were told in one call, such as those of a plate, came together;
where they are told one by one, those that were asked for in one call. If something shifts them all,
results of one arm differ more from group to group than within a group. That is tested by analysis of
variance, groups beside arms: every arm has a mean of its own, so that it does not matter which arms a
group has or how the means depend on features. σ plays no part in it. For independent normal noise the
level is exact but for the adaptive choice of arms.

**With ``blocks="shift"``** the same equations give the noise within blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist.advice import advise, goes_on
from shortlist.arrays import Integers, Mask, Reals
from shortlist.noise.spread import ADAPTIVE, ALPHA, Found, Spread, p_value
from shortlist.plans.design import rooted
from shortlist.study.trial import came_together
from shortlist.study.view import View

MOST_GROUPS = 400  # that are compared, the largest ones: equations for their shifts are solved
FEWEST_SPARE = 4  # degrees of freedom within groups from which there is a test
ROUNDING = 1e-24  # of the mean square of the results: their variance where there is no noise


@dataclass(frozen=True, eq=False)
class Levels:
    """A level of every group, by least squares beside a mean of every arm.

    Attributes
    ----------
    kept : array of bool
        The results of the largest groups: the others were left out.
    each : array
        The level of every result that was kept.
    groups, degrees : int
        How many there are, and how many degrees of freedom they take from the results beside the means.
    taken : array
        How many of these they take from the results of each arm.
    squares, between : float
        The sum of squares of results about their arm's mean, and what of it levels explain.
    weight : float
        The sum of squares that levels of variance 1 would give, were there nothing else.

    Examples
    --------
    >>> arms, groups = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> levels = Levels.of(arms, groups, np.array([1.0, 2.0, 5.0, 6.0]), np.ones(2))
    >>> levels.each.round(9).tolist(), levels.degrees, levels.taken.round(9).tolist()
    ([-2.0, -2.0, 2.0, 2.0], 1, [0.5, 0.5])
    """

    kept: Mask
    each: Reals
    groups: int
    degrees: int
    taken: Reals
    squares: float
    between: float
    weight: float

    @classmethod
    def of(cls, arms: Integers, groups: Integers, values: Reals, noise: Reals) -> Levels:
        """Of results by arm and group, where those of arm a have the variance ``noise[a]``."""
        _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        largest = np.sort(np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
        kept = np.isin(groups, largest)
        arms, values = arms[kept], values[kept]
        groups = np.searchsorted(largest, groups[kept])
        pulls = np.maximum(np.bincount(arms, minlength=len(noise)), 1)
        off = values - (np.bincount(arms, values, len(noise)) / pulls)[arms]
        table = np.zeros((len(largest), len(noise)))
        np.add.at(table, (groups, arms), 1.0)
        # The equations for the levels once the means of the arms are eliminated.
        matrix = np.diag(table @ (1.0 / noise)) - (table / (noise * pulls)) @ table.T
        sums = np.zeros(len(largest))
        np.add.at(sums, groups, off / noise[arms])
        white, _ = rooted(np.eye(len(sums)), matrix)
        levels = white.T @ (white @ sums)
        own = (white**2).sum(axis=0) @ table - ((white @ table) ** 2).sum(axis=0) / pulls
        between, squares = float(levels @ matrix @ levels), float((off**2 / noise[arms]).sum())
        figures = squares, between, float(np.trace(matrix))
        return cls(kept, levels[groups], len(largest), len(white), own / noise, *figures)


@dataclass(frozen=True, eq=False)
class Shifts:
    """How far groups of results are apart.

    Attributes
    ----------
    groups : int
        How many there are.
    size : float
        About how much results are shifted: the standard deviation of the shifts.
    within : float
        The variance of results of an arm within a group, in units of the arm's noise.
    degrees, spare : int
        The degrees of freedom between groups and within them.
    ratio : float
        Fisher's F.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> arms, groups = np.tile(np.arange(6), 8), np.repeat(np.arange(8), 6)
    >>> found = Shifts.of(arms, groups, rng.standard_normal(48) + 2.0 * (groups % 2), np.ones(6))
    >>> found.degrees, found.spare, found.p < 1e-4
    (7, 35, True)
    """

    groups: int
    size: float
    within: float
    degrees: int
    spare: int
    ratio: float

    @classmethod
    def of(cls, arms: Integers, groups: Integers, values: Reals, noise: Reals) -> Shifts | None:
        """Of results by arm and group, where those of arm a have the variance ``noise[a]``.

        None where the results cannot tell.
        """
        levels = Levels.of(arms, groups, values, noise)
        arms, values, degrees = arms[levels.kept], values[levels.kept], levels.degrees
        spare = len(values) - len(np.unique(arms)) - degrees
        if degrees == 0 or spare < FEWEST_SPARE:
            return None
        least = ROUNDING * float((values**2 / noise[arms]).mean()) + 1e-300
        within = max((levels.squares - levels.between) / spare, least)
        beyond = max(levels.between - degrees * within, 0.0) / levels.weight
        ratio = levels.between / degrees / within
        return cls(levels.groups, math.sqrt(beyond), within, degrees, spare, ratio)

    @property
    def p(self) -> float:
        """The probability of so large an F without shifts."""
        from scipy.special import fdtrc

        return float(fdtrc(self.degrees, self.spare, self.ratio))

    @property
    def is_found(self) -> bool:
        """Whether the results contradict that there are no shifts: of 1,000 studies without, in 1."""
        return self.p < ALPHA

    def explains(self, noise: Found, sigma: float) -> Found:
        """What was found of σ, where that is for shifts to explain."""
        from scipy.special import chdtrc

        level, words, meaning, *more = noise
        if level != "warning" or not self.is_found:
            return noise
        inside = f"{math.sqrt(self.within):.3g} ({self.spare} degrees of freedom)"
        words += f" But there is a plate or day effect, and within groups it is {inside}."
        if chdtrc(self.spare, self.spare * self.within / sigma**2) < ALPHA:
            meaning = f"That is above σ = {sigma:g} too, so that both are wrong. {meaning}"
            return level, words, meaning, *more
        meaning = (
            "The results do not contradict σ as the noise within a group: it need not be larger."
        )
        return "note", words, meaning


def results_of(study: View) -> tuple[Integers, Integers, Reals]:
    """The arms, blocks and values of all results so far."""
    arms = np.array([trial.arm for trial in study.taken], np.int64)
    blocks = np.array([trial.block_index for trial in study.taken], np.int64)
    return arms, blocks, np.array([trial.value for trial in study.taken], np.float64)


def spread_within_blocks(study: View) -> Spread:
    """How far results are from a level of every block and a mean of every arm."""
    arms, blocks, values = results_of(study)
    noise = study.problem.relative_noise
    if not len(arms):
        return Spread.of(arms, values, noise)
    levels = Levels.of(arms, blocks, values, noise)
    return Spread.of(arms[levels.kept], values[levels.kept] - levels.each, noise, levels.taken)


def together(study: View) -> tuple[str, Shifts] | None:
    """How results came together, and the shifts of these groups; None if they cannot tell.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1)
    >>> for day in range(4):
    ...     _ = study.tell_unasked((k, 0.1 * k + day + 0.01 * (day == k), None) for k in (0, 1, 2))
    >>> how, shifts = together(study)
    >>> how, shifts.groups, shifts.is_found
    ('told', 4, True)
    """
    if study.problem.blocks.exist:
        return None
    trials = [trial for trial in study.taken if trial.carried_from is None]
    how, named = came_together(trials)
    if not how:
        return None
    groups = np.unique(named, return_inverse=True)[1]
    arms = np.array([trial.arm for trial in trials], np.int64)
    values = np.array([trial.value for trial in trials], np.float64)
    shifts = Shifts.of(arms, groups, values, study.problem.relative_noise)
    return None if shifts is None else (how, shifts)


def shifts_cancel(study: View, results: str = "all results") -> str:
    """What lets shifts cancel in a study without blocks."""
    how = f"with {results}, and the shifts cancel; there it guides, and later results prove."
    return goes_on(how, blocks="shift")


def shift_finding(study: View, how: str, shifts: Shifts) -> Found:
    """Whether there is a plate or day effect, and what to do."""
    test = f"F = {shifts.ratio:.3g} on {shifts.degrees} and {shifts.spare} degrees of freedom"
    test += f", {p_value(shifts.p)}"
    if not shifts.is_found:
        words = f"Results that were {how} together share no shift that shows ({test})."
        return "fine", words, "A plate or day effect that is too small to show may remain."
    words = (
        f"Results that were {how} together share a shift ({test}): a plate or day effect, of about "
        f"{shifts.size:.2g} from one of {shifts.groups} groups to another."
    )
    on = goes_on(
        "with all results: each group is a block there, its shift cancels whatever it is, and "
        f"{advise('ask')} gives whole plates.",
        blocks="shift",
    )
    meaning = (
        "The guarantee assumes that a result is the arm's mean and fresh noise, so it does not hold. A "
        f"larger σ is not the remedy. {on} There results from here guide, and later "
        "ones prove. Of 1,000 studies without such an effect, one shows as much. " + ADAPTIVE
    )
    return "warning", words, meaning, "", shifts_cancel(study)
