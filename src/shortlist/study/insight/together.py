"""Whether results that came together share a shift: a plate or day effect.

Results that were told in one call, such as those of a plate, came together; where they are told one by
one, those that were asked for in one call. If something shifts them all, results of one arm differ more
from group to group than within a group. That is tested by analysis of variance, groups beside arms:
every arm has a mean of its own, so that it does not matter which arms a group has or how the means
depend on features. σ plays no part in it. For independent normal noise the level is exact but for the
adaptive choice of arms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortlist.arrays import Integers, Reals
from shortlist.noise.spread import ADAPTIVE, ALPHA, Found, p_value
from shortlist.study.trial import Trial
from shortlist.study.view import View

MOST_GROUPS = 400  # that are compared, the largest ones: equations for their shifts are solved
FEWEST_SPARE = 4  # degrees of freedom within groups from which there is a test
NEGLIGIBLE = 1e-9  # of the largest eigenvalue: groups that nothing connects
ROUNDING = 1e-24  # of the mean square of the results: their variance where there is no noise


@dataclass(frozen=True)
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
        _, groups, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        if len(sizes) > MOST_GROUPS:
            kept = np.isin(groups, np.argsort(-sizes, kind="stable")[:MOST_GROUPS])
            return cls.of(arms[kept], groups[kept], values[kept], noise)
        pulls = np.bincount(arms, minlength=len(noise))
        table = np.zeros((len(sizes), len(noise)))
        np.add.at(table, (groups, arms), 1.0)
        off = values - (np.bincount(arms, values, len(noise)) / np.maximum(pulls, 1))[arms]
        # The equations for the shifts once the means of the arms are eliminated.
        matrix = np.diag(table @ (1.0 / noise)) - (table / (noise * np.maximum(pulls, 1))) @ table.T
        sums = np.bincount(groups, off / noise[arms], len(sizes))
        roots, vectors = np.linalg.eigh(matrix)
        known = roots > NEGLIGIBLE * max(float(roots[-1]), 1.0)
        degrees = int(known.sum())
        spare = len(values) - int((pulls > 0).sum()) - degrees
        if degrees == 0 or spare < FEWEST_SPARE:
            return None
        between = float(((vectors[:, known].T @ sums) ** 2 / roots[known]).sum())
        least = ROUNDING * float((values**2 / noise[arms]).mean()) + 1e-300
        within = max((float((off**2 / noise[arms]).sum()) - between) / spare, least)
        beyond = max(between - degrees * within, 0.0) / float(roots[known].sum())
        return cls(
            len(sizes), math.sqrt(beyond), within, degrees, spare, between / degrees / within
        )

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
        meaning = "The results do not contradict σ as the noise within a group: it need not be larger."
        return "note", words, meaning


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
    trials = [trial for trial in study.taken if trial.carried_from is None]
    how, groups = groups_of(trials)
    if groups is None:
        return None
    arms = np.array([trial.arm for trial in trials], np.int64)
    values = np.array([trial.value for trial in trials], np.float64)
    shifts = Shifts.of(arms, groups, values, study.problem.relative_noise)
    return None if shifts is None else (how, shifts)


def groups_of(trials: Sequence[Trial]) -> tuple[str, Integers | None]:
    """How told trials came together, and the group of each; None if they came one by one."""
    for how, times in (
        ("told", [trial.closed_at for trial in trials]),
        ("asked for", [trial.asked_at for trial in trials]),
    ):
        sizes = Counter(times)
        if 2 * sum(size for size in sizes.values() if size > 1) >= max(len(trials), 1):
            places = {time: place for place, time in enumerate(sizes)}
            return how, np.array([places[time] for time in times], np.int64)
    return "", None


def shift_finding(how: str, shifts: Shifts) -> Found:
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
    meaning = (
        "The guarantee assumes that a result is the arm's mean and fresh noise, so it does not hold. A "
        "larger σ is not the remedy. study.continued(blocks='shift') goes on with all results: each "
        "group is a block there, its shift cancels whatever it is, and study.ask(n) gives whole "
        f"plates. Of 1,000 studies without such an effect, one shows as much. {ADAPTIVE}"
    )
    return "warning", words, meaning
