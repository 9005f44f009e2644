"""Findings that support or contradict what the guarantee assumes.

Before any evaluation they are of the features, later also of S, σ and the linear model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from shortlist import notebook
from shortlist.advice import advised, command, command_from, setting
from shortlist.arrays import Reals
from shortlist.errors import UnhealthyFeatures, warn_caller
from shortlist.features import MOST_WITHOUT
from shortlist.noise.spread import ADAPTIVE, ALPHA, HINT, Found, Level, Spread, p_value
from shortlist.numerics.blockwise import (
    blocks,
    condition,
    even,
    exponents,
    first_like,
    share_left_of_ones,
    singular_values,
    sizes,
    squared_norms,
)
from shortlist.plans.difference_bounds import MOST_ARMS
from shortlist.printable import count
from shortlist.problem import Problem
from shortlist.study.insight.audit import audit_results, rests_on_features
from shortlist.study.insight.curvature import curvature
from shortlist.study.insight.linearity import LEVEL, WHILE_RUNNING
from shortlist.study.trial import Trial
from shortlist.study.view import View

UNEVEN, ILL, LOST = 100.0, 1e3, 1e6  # columns' sizes; condition numbers to note, to warn of
FAR = 500  # powers of two: the squares of such columns are out of range
OUTLYING = 10.0  # times the median norm
NEAR, TWINS = 1e-3, 1e-6  # of the usual distance between two arms
EXPRESSED = 1e-8  # what may be left of a constant that the features express


_EXAMINED: WeakKeyDictionary[Problem, list[Finding]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Finding:
    """One check, what it found, and what that means.

    Attributes
    ----------
    name : str
        The name of the check.
    level : {"fine", "untested", "note", "warning"}
        A warning contradicts the guarantee, or the accuracy of the numbers behind it. A note flags
        something that may cost evaluations or deserves a look. What is untested is assumed.
    words : str
        What was found, with the figures.
    meaning : str
        What that means for the guarantee, and what to do.
    file_words : str
        ``words`` for features that come from a file, which are counted from 1, if that differs.
    """

    name: str
    level: Level
    words: str
    meaning: str
    file_words: str = field(default="", repr=False)

    @property
    def contradicts(self) -> str:
        """The assumption that a warning contradicts, for the middle of a sentence."""
        return ASSUMED.get(self.name, self.name)

    @property
    def badge(self) -> str:
        """The finding in a word."""
        return "curved" if self.name == "curvature" else self.name

    def __str__(self) -> str:
        return f"{self.name} ({self.level}): {self.words} {self.meaning}"

    def _repr_html_(self) -> str:
        return Findings([self])._repr_html_()


class Findings(list[Finding]):
    """A list of findings that prints as a table.

    Examples
    --------
    >>> print(Findings([Finding("rank", "fine", "It is 2.", "Good.")]))
    rank (fine): It is 2. Good.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def _repr_html_(self) -> str:
        columns = ("check", "level", "found", "meaning")
        return notebook.table(columns, [(f.name, f.level, f.words, f.meaning) for f in self])


def examine_features(problem: Problem) -> list[Finding]:
    """What can be said about the features before any evaluation.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [1.0, 0.5], [1.0, 40.0]], m=1, sigma=1.0)
    >>> for finding in examine_features(problem):
    ...     print(f"{finding.name}: {finding.level}. {finding.words}")
    rank: fine. The features have rank 2 for 3 arms.
    redundant columns: fine. None of the 2 columns is a combination of the others.
    scaling: fine. Column 1 is 23.1 times as large as column 0 (root mean square); the condition number is 28.5.
    norms: note. The features of arm '2' have norm 40, 35.8 times the median.
    alike: fine. No two arms are nearly alike.
    offset: fine. The features can express an offset common to all means.
    """
    if problem.is_classical:
        return _without_features(
            f"There are no features: each of the {problem.arms} arms is a dimension of its own."
        )
    if problem not in _EXAMINED:  # of many arms it takes a second, and an answer is asked for often
        checks = {
            **{"rank": _rank, "redundant columns": _redundant, "scaling": _scaling},
            **{"norms": _norms, "alike": _alike, "offset": _offset},
        }
        _EXAMINED[problem] = [Finding(name, *check(problem)) for name, check in checks.items()]
    return list(_EXAMINED[problem])


def _without_features(words: str) -> list[Finding]:
    meaning = "Nothing is assumed about the means, and no arm says anything about another."
    return [Finding("rank", "fine", words, meaning)]


def warn_of_features(problem: Problem) -> None:
    """Warn of what contradicts the guarantee; notes stay with ``examine_features``."""
    for finding in examine_features(problem):
        if finding.level == "warning":
            warn_caller(UnhealthyFeatures(str(finding)))


def _rank(problem: Problem) -> Found:
    words = f"The features have rank {problem.rank} for {problem.arms} arms."
    if problem.rank < problem.arms:
        meaning = (
            "Each arm says something about the others; the guarantee assumes that the means are "
            "linear in the features."
        )
        return "fine", words, meaning
    meaning = (
        "Any means are linear in them: the guarantee assumes nothing about the means, but there is "
        "no structure to use, and no arm says anything about another. To benefit from "
        "features, use fewer features than arms."
    )
    return "note", words, meaning


def _redundant(problem: Problem) -> Found:
    columns, rank = problem.dimension, problem.rank
    if rank == columns:
        words = f"None of the {columns} columns is a combination of the others."
        return "fine", words, "θ is unique."
    return (
        "note",
        f"{columns - rank} of the {columns} columns can be left out: the rank is {rank}.",
        "Estimates and widths do not change by it, and the guarantee holds. Only the threshold "
        "'frequentist' pays for every column. A bound S need only cover the shortest θ.",
    )


def _scaling(problem: Problem) -> Found:
    size = sizes(problem.features)
    small, large = int(np.argmin(np.where(size > 0.0, size, np.inf))), int(np.argmax(size))
    with np.errstate(over="ignore"):
        ratio = float(size[large] / size[small])
    singular = singular_values(problem.reduced)
    uneven, bent = float(singular[0] / singular[-1]), 1.0
    if problem.rank == problem.dimension:
        bent = condition(problem.features)
    if bent > LOST:  # the reduced features are then others
        uneven = max(uneven, bent)
    pairs = [
        (f"{what.capitalize()} {large + first}", f"{what} {small + first}")
        for what, first in (("column", 0), ("feature", 1))
    ]
    if problem.columns is not None:
        pairs = [(f"Column {problem.columns[large]!r}", repr(problem.columns[small]))] * 2
    words, file_words = (
        f"{one} is {ratio:.3g} times as large as {other} (root mean square); the condition number "
        f"is {uneven:.3g}."
        for one, other in pairs
    )
    if ratio <= UNEVEN and uneven <= ILL:
        return "fine", words, "The columns are of comparable size.", file_words
    reach = "" if problem.S is None else f" (S·L = {problem.S * problem.longest:.3g} here)"
    meaning = (
        "Ordinary least squares is not affected by the scale of the columns. Thresholds that use S "
        "are: their estimate is regularised, which shrinks the coefficients of small columns, and "
        f"S must bound ‖θ‖ in these units{reach}. Bring the columns to the same size first."
    )
    if bent > LOST:
        meaning = (
            f"About {2 * math.log10(bent):.0f} of 16 digits are lost in solving for the means, and "
            "the guarantee is only as good as the digits that remain: even with columns brought to "
            f"the same size the condition number is {bent:.1g}. Leave out columns that are nearly "
            f"combinations of others. {meaning}"
        )
    return "warning" if bent > LOST else "note", words, meaning, file_words


def _norms(problem: Problem) -> Found:
    power = int(exponents(problem.features).max())
    if abs(power) > FAR:
        norms = np.ldexp(np.sqrt(squared_norms(np.ldexp(problem.features, -power))), power)
    else:
        norms = np.sqrt(squared_norms(problem.features))
    arm, median = int(np.argmax(norms)), float(np.median(norms))
    ratio = float(norms[arm] / median) if median > 0.0 else math.inf
    words = (
        f"The features of arm {problem.names[arm]!r} have norm {norms[arm]:.3g}, {ratio:.3g} times "
        "the median."
    )
    if ratio <= OUTLYING:
        return "fine", words, "No arm stands out by its size."
    return (
        "note",
        words,
        "Under the linear model its mean is that much larger than others', and its results weigh "
        "that much more in θ: if the linear model fails anywhere, it is most likely there. The "
        "threshold 'frequentist' grows with the largest norm. Check the units, or take logarithms.",
    )


def _alike(problem: Problem) -> Found:
    x = problem.features
    first = first_like(x)
    again = np.flatnonzero(first != np.arange(len(x)))
    if len(again):
        shared, other = int(first[again[0]]), int(again[0])
        alike = len(again) + len(np.unique(first[again]))
        return (
            "note",
            f"{alike} arms have the same features as another, such as "
            f"{problem.names[shared]!r} and {problem.names[other]!r}.",
            "Under the linear model their means are equal: which of them is on the shortlist is "
            f"chance, and right up to ε = {problem.epsilon:g}. Keep one of each, or add a feature "
            "that tells them apart.",
        )
    near, pair, distance = _nearest(x)
    if near == 0:
        return (
            "fine",
            "No two arms are nearly alike.",
            "No two arms are so close that telling them apart needs extra evaluations.",
        )
    words = (
        f"{near} arms are nearly like another; the nearest, {problem.names[pair[0]]!r} and "
        f"{problem.names[pair[1]]!r}, differ by {distance:.2g} of the usual distance (columns "
        "brought to the same spread)."
    )
    if distance < TWINS:
        return (
            "warning",
            words,
            "That is barely more than rounding error, and no width is taken to be smaller than "
            "rounding error: if both stand at the boundary, the study may never stop. Keep one of "
            "them, or set epsilon above 0.",
        )
    return (
        "note",
        words,
        "The guarantee holds. But if two such arms lie on opposite sides of the boundary, the "
        "evaluations needed to tell them apart may grow as 1/distance²: always with individual "
        "indices (LUCB, UGapE), with paired ones unless other arms differ more in that direction. "
        "A small epsilon avoids it.",
    )


def _nearest(x: Reals) -> tuple[int, tuple[int, int], float]:
    """How many arms have a near neighbour, the nearest pair, and its relative distance."""
    from scipy.spatial import KDTree

    if np.abs(exponents(x)).max() > FAR:
        x = even(x)
    spread = _spread(x)
    varies = spread > 0.0
    scale = np.where(varies, 1.0 / np.where(varies, spread, 1.0), 0.0)
    usual = math.sqrt(2.0 * int(varies.sum()))
    # A projection shortens distances, so those near are near in it too; a tree of few dimensions
    # is quick, and one of all is needed for the few arms that are left.
    kept = np.arange(len(x))
    directions = np.linalg.qr(np.random.default_rng(0).standard_normal((x.shape[1], 6)))[0]
    for seen in (x @ (scale[:, None] * directions), None):
        points = x[kept] * scale if seen is None else seen
        found, partners = KDTree(points).query(points, k=2, distance_upper_bound=NEAR * usual)
        distances, partner = np.asarray(found)[:, 1] / usual, np.asarray(partners)[:, 1]
        near = np.isfinite(distances)
        if not near.any():
            return 0, (0, 0), math.inf
        one = int(np.argmin(distances))
        pair = int(kept[one]), int(kept[partner[one]])
        kept = kept[near]
    return int(near.sum()), pair, float(distances[one])


def _spread(x: Reals) -> Reals:
    """The standard deviation of every column."""
    middle, total = x.mean(axis=0), np.zeros(x.shape[1])
    for rows in blocks(x):
        total += ((x[rows] - middle) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(total / len(x)))


def _offset(problem: Problem) -> Found:
    left = share_left_of_ones(problem.reduced)
    if left < EXPRESSED:
        words = "The features can express an offset common to all means."
        return "fine", words, "The results may have any common level."
    return (
        "note",
        f"The features cannot express an offset common to all means: {100.0 * left:.0f} % of a "
        "constant remains unexplained.",
        "If the results have a common level, such as a background, the linear model is wrong by it "
        "and the guarantee does not hold. Add a column of ones, unless an arm with all features 0 "
        "would have mean 0.",
    )


CURVED = 0.01  # below it, a better fit of a curved model is a warning: of 100 linear studies, in 1
ENOUGH_REPLICATES = 10  # degrees of freedom from which the replicates' own spread replaces σ


def examine(study: View) -> list[Finding]:
    """What can be said about the features, the noise and the model so far.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.

    Examples
    --------
    >>> from shortlist import Study
    >>> features = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> study = Study(features, m=1, sigma=0.1, algorithm="m-LinGapE", audit=False)
    >>> for k in range(30):  # the third mean is not the sum of the others
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [0.5, 0.3, 0.4][trial.arm] + 0.1 * (-1) ** (k // 3))
    >>> [finding.name for finding in examine(study) if finding.level == "warning"]
    ['fit']
    """
    if not study.bound.relation.uses_features and not study.problem.is_classical:
        does = "verifies without" if study.bound.relation.guide else "does not look at"
        features = _without_features(f"{study.bound.name} {does} the features.")
    else:
        features = examine_features(study.problem)
    results = spread(study)
    noise = Finding("noise", *study.bound.noise.finding(results, study.problem.names))
    if study.bound.noise.awaits_estimate:
        return [*features, noise]
    size, fit = Finding("S", *_norm(study, results)), Finding("fit", *_fit(study, results))
    found = [size, noise, fit]
    if _is_linear(study):
        found.append(Finding("curvature", *_curvature(study, results)))
    return [*features, *found, *_outlying(study)]


def spread(study: View) -> Spread:
    """The results of every arm so far: how many, their mean and their spread."""
    told = np.array([trial.arm for trial in study.taken], np.int64)
    values = np.array([trial.value for trial in study.taken], np.float64)
    return Spread.of(told, values, study.problem.relative_noise)


APART = 8.0  # σ: no noise with this σ makes results differ by so much
ODD = 2.0  # times the span of all other arms' means, for an arm that was evaluated once
FEWEST = 4  # arms with which one can be compared
TOO_LARGE = 2.0  # σ: if the bulk of the results is as noisy, σ is too small, and nothing mistyped
BY_CHANCE = 3.0  # over the root of the degrees of freedom: few results may be noisy by chance
MEDIAN_OF_NORMAL = 0.6745  # of the absolute value, in standard deviations


def _outlying(study: View) -> list[Finding]:
    """The result that fits the others of its study least, if it fits them badly; else nothing.

    This is a heuristic check, for slips of the pen: a result far from the others of its arm, or
    the only one of its arm and far beyond those of all other arms. Where the bulk of the results is
    far noisier than σ, distances are measured by that noise: the finding on σ says so.
    """
    if not (study.bound.noise.uses_sigma and study.taken):
        return []
    problem, trials = study.problem, study.taken
    arms = np.array([trial.arm for trial in trials], np.int64)
    values = np.array([trial.value for trial in trials], np.float64)
    sigmas = problem.sigma * np.sqrt(problem.relative_noise)
    counts = np.bincount(arms, minlength=problem.arms)
    sums = np.bincount(arms, values, problem.arms)
    apart = _apart(arms, values, sigmas)
    k = int(np.argmax(apart))
    kept = np.arange(len(values)) != k
    others = _apart(arms[kept], values[kept], sigmas)
    others = others[others >= 0.0]
    freedom = max(1, int(np.maximum(np.bincount(arms[kept]) - 1, 0).sum()))
    bulk = float(np.median(others)) / MEDIAN_OF_NORMAL if len(others) else 1.0
    is_noisy = bulk > TOO_LARGE * (1.0 + BY_CHANCE / math.sqrt(freedom))
    least = APART * (bulk if is_noisy else 1.0)
    if apart[k] > least:
        rest = int(counts[arms[k]]) - 1
        usual = (sums[arms[k]] - values[k]) / rest
        words = (
            f"The result {values[k]:.4g} of arm {problem.names[arms[k]]!r} (trial {trials[k].number}) is "
            f"{abs(values[k] - usual) / sigmas[arms[k]]:,.0f} σ from the arm's "
            f"{'other result' if rest == 1 else f'{rest} others'}."
        )
        return [Finding("outliers", "warning", words, _mistyped(trials[k]))]
    evaluated = np.flatnonzero(counts)
    if len(evaluated) <= FEWEST:
        return []
    means = sums / np.maximum(counts, 1)
    order = evaluated[np.argsort(means[evaluated], kind="stable")]
    for alone, nearest, furthest in (order[[-1, -2, 0]], order[[0, 1, -1]]):
        beyond, span = abs(means[alone] - means[nearest]), abs(means[nearest] - means[furthest])
        if counts[alone] == 1 and beyond > max(least * sigmas[alone], ODD * span):
            trial = trials[int(np.argmax(arms == alone))]
            words = (
                f"The one result of arm {problem.names[alone]!r}, {means[alone]:.4g} (trial "
                f"{trial.number}), is {beyond / sigmas[alone]:,.0f} σ beyond those of all other arms, "
                "and has no replicate."
            )
            meaning = f"{_mistyped(trial)} Otherwise evaluate the arm again."
            return [Finding("outliers", "note", words, meaning)]
    return []


def _apart(arms: NDArray[np.int64], values: Reals, sigmas: Reals) -> Reals:
    """How far each result is from the mean of the others of its arm, in the σ of that distance.

    It is -1 for the only result of an arm.
    """
    others = np.bincount(arms, minlength=len(sigmas))[arms] - 1
    sums = np.bincount(arms, values, len(sigmas))[arms]
    with np.errstate(all="ignore"):
        usual = (sums - values) / others
        apart = np.abs(values - usual) / (sigmas[arms] * np.sqrt(1.0 + 1.0 / others))
    return np.where(others > 0, apart, -1.0)


def _mistyped(trial: Trial) -> str:
    way = advised(
        command("correct", f"{trial.number} --value X --reason TEXT"),
        f"study.correct({trial.number}, value, reason=…)",
    )
    return f"Was it mistyped? Then correct it with {way}. This is a heuristic check."


def _norm(study: View, results: Spread) -> Found:
    S, threshold = study.problem.S, study.bound.threshold
    if S is None:
        words = "No bound S on ‖θ‖ was claimed."
        return "fine", words, f"The threshold {threshold.name!r} needs none."
    if not threshold.needs_S:
        words = f"S = {S:g} was claimed, and the threshold {threshold.name!r} does not use it."
        return "fine", words, "The guarantee does not depend on S."
    if len(results.arms) == 0:
        words = "Nothing has been told yet."
        return "untested", words, f"S = {S:g} is taken as given."
    x = study.bound.engine.setup.features[results.arms]
    values, vectors = np.linalg.eigh((x.T * results.weights) @ x)
    seen = values > 1e-12 * values[-1]
    values, vectors = values[seen], vectors[:, seen]
    theta = vectors.T @ (x.T @ (results.weights * results.means)) / values
    norm, p = float(np.linalg.norm(theta)), _least_p(theta, values, S, study.problem.sigma)
    words = f"‖θ̂‖ = {norm:.3g} and S = {S:g}"
    if p >= ALPHA:
        inside = "." if norm <= S else f": more, but within its uncertainty ({p_value(p)})."
        return "fine", words + inside, "The results do not contradict S."
    words += f": no θ of norm at most {S:g} explains the results ({p_value(p, 1)})."
    return (
        "warning",
        words,
        f"The threshold {threshold.name!r} is proven for ‖θ‖ ≤ S only: the guarantee is void. "
        f"Start a new study with a larger S, or with 'self_normalized', which needs none. {ADAPTIVE}",
    )


def _least_p(theta: Reals, values: Reals, S: float, sigma: float) -> float:
    """The p-value of the θ with ‖θ‖ ≤ S that the results contradict least.

    It is the nearest to θ̂ in the norm of Σ x xᵀ: θ_i = θ̂_i v_i/(v_i + κ) along its axes, with κ
    such that its norm is S.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtrc

    if np.linalg.norm(theta) <= S:
        return 1.0

    def excess(log_kappa: float) -> float:
        return float(np.linalg.norm(theta * values / (values + math.exp(log_kappa)))) / S - 1.0

    middle = math.log(values[-1])
    low, high = middle - 60.0, middle + math.log(np.linalg.norm(theta) / S) + 1.0
    kappa = math.exp(brentq(excess, low, high)) if excess(low) > 0.0 else 0.0
    distance = float((values * (theta * kappa / (values + kappa)) ** 2).sum())
    return float(chdtrc(len(theta), distance / sigma**2))


def _fit(study: View, results: Spread) -> Found:
    from scipy.special import chdtrc, fdtrc

    problem = study.problem
    if not study.bound.relation.shape:
        words = "Every arm has its own mean: there is no linear model to test."
        return "fine", words, "The guarantee assumes nothing about the means."
    if study.audit.rejection is not None:
        return _fit_rejected(study)
    if study.bound.relation.tolerance:
        return _fit_within(study, results, study.bound.relation.tolerance)
    x = problem.reduced[results.arms]
    shown = int(np.linalg.matrix_rank(x)) if len(x) else 0
    spare, degrees = len(x) - shown, results.replicates
    if spare == 0:
        words = (
            f"The {len(x)} arms evaluated so far span {shown} dimensions of the features, and any "
            "means fit."
        )
        return "untested", words, f"They cannot test linearity. {_when(study)}"
    root = np.sqrt(results.weights)
    theta = np.linalg.lstsq(x * root[:, None], results.means * root, rcond=None)[0]
    misses = results.means - x @ theta
    squares = float((results.weights * misses**2).sum())
    noise = problem.sigma**2
    if degrees >= ENOUGH_REPLICATES:
        noise = results.within
        ratio = squares / spare / noise
        p, test = float(fdtrc(spare, degrees, ratio)), f"F = {ratio:.3g} on {spare} and {degrees}"
    else:
        p = float(chdtrc(spare, squares / noise))
        test = f"χ² = {squares / noise:.3g} with the claimed σ on {spare}"
    test += f" degrees of freedom, {p_value(p)}"
    if ALPHA <= p < HINT:
        words = f"The means of {len(x)} arms are a little off a linear model ({test})."
        meaning = (
            "That is a hint and no proof: of studies in which nothing is wrong, one in twenty shows "
            f"as much. See whether it goes on. {ADAPTIVE}"
        )
        return "note", words, meaning
    if p >= ALPHA:
        words = f"The means of {len(x)} of {problem.arms} arms agree with a linear model ({test})."
        if is_linearity_tested(study):
            return "fine", words, passed(study)
        return "untested", words, f"The others were not looked at. {_when(study)}"
    worst = int(np.argmax(np.abs(misses) * root))
    size = math.sqrt(max(squares - spare * noise, 0.0) / float(results.weights.sum()))
    return (
        "warning",
        f"The means of {len(x)} arms are not linear in the features ({test}): they miss by about "
        f"{size:.2g}, arm {problem.names[int(results.arms[worst])]!r} by {misses[worst]:+.2g}.",
        f"The guarantee assumes that the means are linear, so it does not hold. {remedy(study)} "
        + ADAPTIVE,
    )


def _is_linear(study: View) -> bool:
    """Whether the means are assumed to be linear in the features, and not all means are."""
    return study.bound.relation.audited


def _curvature(study: View, results: Spread) -> Found:
    """The finding on whether the square of a feature, or a product of two, improves the fit.

    Of all ways in which means are not linear it looks for a common one, and so it finds smaller
    departures than the check of the fit. It is computed where it is read, and stops no study.
    """
    from scipy.special import chdtr, chdtrc, fdtrc

    problem, degrees = study.problem, results.replicates
    found = None
    if len(results.arms):
        rows = problem.features[results.arms]
        found = curvature(rows, np.sqrt(results.weights), results.means)
    if found is None:
        words = f"{count(len(results.arms), 'arm')} with results cannot show a curvature."
        return "untested", words, _when(study)
    gain = found.gain / max(problem.sigma**2, results.rounding)
    p, test = float(chdtrc(1, gain)), f"χ² = {gain:.3g} with the claimed σ"
    if degrees >= ENOUGH_REPLICATES:
        squares = float(results.squares.sum()) / problem.sigma**2
        if min(chdtrc(degrees, squares), chdtr(degrees, squares)) < CURVED / 2.0:
            # The noise is larger or smaller than σ, which must not decide.
            gain = found.gain / results.within
            p = float(fdtrc(1, degrees, gain))
            test = f"F = {gain:.3g} by {degrees} degrees of freedom of replicates"
    p = min(found.terms * p, 1.0)
    if found.terms > 1:
        test += f", the largest of {found.terms:,} squares and products"
    if p >= CURVED:
        words = f"No square or product of features fits better ({p_value(p)}, approximate; {test})."
        return "fine", words, "Curvature that is too small for these results to show may remain."
    words, file_words = (
        f"A curved model fits better ({p_value(p)}, approximate): with {term} ({test})."
        for term in _terms(problem, *found.columns)
    )
    wrong = (
        "The guarantee assumes that the means are linear in the features: the list may be wrong."
    )
    if not study.done:
        return "note", words, f"{wrong} See whether it is so at the stop. {ADAPTIVE}", file_words
    verify = advised(command("verify"), "study.verify()")
    carried = advised(command_from("NEW.toml"), "new_study.carry_over(study)")
    meaning = (
        f"{wrong} {verify} goes on in the same study and tests the list by each arm's own results. "
        f"Or begin a new study with {setting('trust', 'guide')}, or with squares and products "
        f"among the features: {carried} gives it the results. {ADAPTIVE}"
    )
    return "warning", words, meaning, file_words


def _terms(problem: Problem, one: int, other: int) -> tuple[str, str]:
    """A square or a product in words: of columns, and of the features of a file."""
    if problem.columns is not None:
        names = repr(problem.columns[one]), repr(problem.columns[other])
        term = f"the square of {names[0]}" if one == other else f"{names[0]} times {names[1]}"
        return term, term
    if one == other:
        return f"the square of column {one}", f"the square of feature {one + 1}"
    return f"column {one} times column {other}", f"feature {one + 1} times feature {other + 1}"


def _when(study: View) -> str:
    """A sentence on whether linearity will be tested."""
    if study.audit.wanted and not study.done:
        return "Fresh evaluations test it before the answer is final."
    return "The guarantee rests on a linear model, which was not tested."


def _fit_rejected(study: View) -> Found:
    words = departure(study)
    return "warning", words[0].upper() + words[1:], f"{_not_held(study)} {remedy(study)}"


def _not_held(study: View) -> str:
    shape = study.bound.relation.shape
    return f"The guarantee assumes means that are {shape} and noise of at most σ: it does not hold."


def _fit_within(study: View, results: Spread, c: float) -> Found:
    """The finding on whether all means can be within c of linear."""
    from scipy.special import chdtrc

    from shortlist.numerics.quadratic import nearest_to, workspace

    x = np.ascontiguousarray(study.problem.reduced[results.arms])
    if not len(x):
        words = "No arm has been evaluated yet."
        return "untested", words, f"The guarantee rests on c = {c:g}."
    work = workspace(x)
    nearest_to(results.means, results.weights, c, work)
    misses = results.means - work.means
    square = float((results.weights * misses**2).sum()) / study.problem.sigma**2
    # The nearest means are no further from the averages than the true ones.
    p = float(chdtrc(len(x), square))
    test = f"χ² = {square:.3g} on {len(x)} degrees of freedom, {p_value(p)} at most"
    if p >= ALPHA:
        words = (
            f"The means of {len(x)} arms agree with a linear model to within c = {c:g} ({test})."
        )
        meaning = (
            "The results do not contradict c, nor do they show that it is large enough. " + ADAPTIVE
        )
        return "fine", words, meaning
    worst = int(np.argmax(np.abs(misses) * np.sqrt(results.weights)))
    return (
        "warning",
        f"The means of {len(x)} arms are further than c = {c:g} from linear ({test}): arm "
        f"{study.problem.names[int(results.arms[worst])]!r} by {misses[worst]:+.2g} more.",
        "The guarantee assumes that no mean is further away, so it does not hold. Start a new "
        "study with a larger misspecification, or with an algorithm that does not look at the "
        f"features, such as LUCB. {ADAPTIVE}",
    )


def doubts(study: View) -> list[Finding]:
    """The findings of health that contradict the guarantee.

    Examples
    --------
    >>> from shortlist import Study
    >>> doubts(Study(arms=["a", "b"], m=1, sigma=0.5))
    []
    """
    # Arms that are nearly alike may cost evaluations, and never the guarantee.
    found = examine(study)
    return [each for each in found if each.level == "warning" and each.name != "alike"]


ASSUMED = {  # what a finding of this name contradicts
    "fit": "that the means are linear in the features",
    "curvature": "that the means are linear in the features and not curved",
    "noise": "that the noise is no larger than σ",
    "S": "that ‖θ‖ is at most S",
    "scaling": "that the numbers are accurate enough (scaling)",
}


def is_linearity_untested(study: View) -> bool:
    """Whether an answer assumes that the means are linear, and nothing has tested it."""
    if not rests_on_features(study.bound):
        return False
    if not study.bound.relation.audited:
        return not study.audit.wanted
    verdict = study.audit.verdict
    if verdict is None or not study.audit.results:
        return True
    return all(map(math.isinf, verdict.detectable))  # nothing would have been found


def is_linearity_tested(study: View) -> bool:
    """Whether the answer is final, assumes that the means are linear, and was tested for it."""
    return study.done and rests_on_features(study.bound) and not is_linearity_untested(study)


def untested(study: View) -> str:
    """Why linearity was not tested, in a sentence."""
    what, audit = _assumed(study), study.audit
    if not audit.wanted:
        return f"{what} was assumed, not tested ({advised('audit = false', 'audit=False')}); {_evaluated(study)}."
    if not audit.results:
        return f"{what} was not tested: every evaluation made for it failed; {_evaluated(study)}."
    return (
        f"{what} was not tested: the {len(audit.results):,} evaluations made for it could not have "
        f"shown a misfit; {_evaluated(study)}."
    )


def passed(study: View) -> str:
    """How linearity was tested and what would have been found, in a sentence."""
    audit, what = study.audit, _assumed(study)
    if not study.bound.relation.audited:
        level = f"level {WHILE_RUNNING * LEVEL * 100:g} %"
        return f"{what} was tested as the results came in ({level}); {_evaluated(study)}."
    assert audit.verdict is not None
    tested = len({trial.arm for trial in audit.results})
    single, spread = audit.verdict.detectable
    sizes = [f"of {single:.2g} at a typical one of them"] if math.isfinite(single) else []
    sizes += [f"of {spread:.2g} spread over all"] if math.isfinite(spread) else []
    before = audit_results(study.taken) - len(audit.results)
    earlier = f", and by {before:,} before it" if before else ""
    span, gap = _span_and_gap(study)
    return (
        f"{what} was tested by {len(audit.results):,} fresh evaluations of {tested:,} arms at the "
        f"stop, which are not included in the pulls of the shortlist{earlier} (level "
        f"{LEVEL * 100:g} %); {_evaluated(study)}. A misfit {' or '.join(sizes)} would have been found with "
        f"probability 0.9, where the estimated means span {span:.2g} and ranks {study.problem.m} and "
        f"{study.problem.m + 1} are {gap:.2g} apart: smaller departures, which can make the list "
        "wrong, were not excluded."
    )


def _span_and_gap(study: View) -> tuple[float, float]:
    """How far the estimated means reach, and how far apart those next to the boundary are."""
    ranked = np.sort(study.table()["mean"].to_numpy())
    ranked = ranked if study.problem.minimizes else ranked[::-1]
    gap = abs(ranked[study.problem.m - 1] - ranked[study.problem.m])
    return float(abs(ranked[-1] - ranked[0])), float(gap)


def _assumed(study: View) -> str:
    return f"That {study.bound.relation.assumed}"


def _evaluated(study: View) -> str:
    seen = int((study.model.posterior.pulls > 0).sum())
    return f"{seen:,} of {study.problem.arms:,} arms were evaluated"


def advice(study: View) -> str:
    """Why linear means with this σ were rejected, and what to do."""
    return f"{departure(study)} {_not_held(study)} {remedy(study)}"


Cause = Literal["sigma", "linearity", "either"]
BADGES: dict[Cause, str] = {
    "sigma": "σ too small",
    "linearity": "linearity rejected",
    "either": "linearity or σ rejected",
}


def rejected(study: View) -> tuple[str, str]:
    """Why an answer is not certified, where linear means with this σ were rejected.

    Returns a badge, and sentences that also say what to do.
    """
    return BADGES[_cause(study, spread(study))[0]], advice(study)


def _cause(study: View, results: Spread) -> tuple[Cause, str]:
    """What is wrong where a linear model with this σ does not explain the results, and why.

    A linear model is tested with σ as it was given, and one that is too small is rejected however
    linear the means are. Results of the same arm tell the two apart: they say what the noise is
    whatever the means.
    """
    from scipy.special import chdtrc

    degrees, (level, words, *_) = (
        results.replicates,
        study.bound.noise.finding(results, study.problem.names),
    )
    if level == "warning":
        return "sigma", (
            f"{words} So σ is too small, and whether the means are linear cannot be judged before "
            "it is right."
        )
    freedom = f"{count(degrees, 'degree')} of freedom"
    p = 1.0
    if degrees:
        p = float(chdtrc(degrees, float(results.squares.sum()) / study.problem.sigma**2))
    linear = f"the means are not {study.bound.relation.shape}"
    if degrees >= ENOUGH_REPLICATES and p >= HINT:
        return (
            "linearity",
            f"Results of the same arm agree with σ ({freedom}, {p_value(p)}), so {linear}.",
        )
    if p < HINT:
        return "either", (
            f"Either σ is too small, as results of the same arm suggest ({freedom}, {p_value(p)}), or "
            f"{linear}."
        )
    told = advised(command("tell", "--arm ARM --value X"), "study.tell(arm=…, value=…)")
    return "either", (
        f"Either {linear} or σ is too small: results of the same arm are too few to say which "
        f"({freedom}). Evaluate a few arms again, {ENOUGH_REPLICATES} times in all, and tell the "
        f"results: {told}."
    )


def _larger_sigma(study: View, results: Spread) -> str:
    """How to continue with a σ that results of the same arm do not contradict."""
    ways = study.problem.noise.larger(results)
    carried = advised(command_from("NEW.toml"), "new_study.carry_over(study)")
    return (
        f"begin a new study with a larger σ ({' or '.join(ways)}), and give it the results: "
        f"{carried}. Continuations of this study would keep its σ."
    )


def remedy(study: View) -> str:
    """How to continue where a linear model with this σ does not explain the results.

    By a command in a shell, by a call in Python.

    Examples
    --------
    >>> from shortlist import Study
    >>> print(remedy(Study([[1.0], [2.0]], m=1, sigma=0.5))[:62])
    No result is lost. If unsure, continue without features, which
    """
    results = spread(study)
    cause, _ = _cause(study, results)
    larger = _larger_sigma(study, results)
    if cause == "sigma":
        return f"No result is lost: {larger}"
    words = _without_linearity(study)
    return words if cause == "linearity" else f"{words} If instead σ is too small, {larger}"


def _without_linearity(study: View) -> str:
    """How to continue where the means are not linear."""
    c, arms = study.bound.relation.tolerance, study.problem.arms
    carried = advised(command_from("NEW.toml"), "new_study.carry_over(study)")
    verified = (
        advised(command("verify"), "study.verify()")
        + " goes on in this study with the features as a guide only"
    )
    if arms > MOST_WITHOUT:
        return (
            f"No result is lost. With more than {MOST_WITHOUT:,} arms (here {arms:,}) a study "
            f"cannot continue without features. {verified}. Or begin one with other features, in "
            f"which the means are closer to linear: {carried} gives it the results. Or leave out "
            "arms that are known to be bad."
        )
    within = f"c of linear, with a c above {c:g}" if c else "a known c of linear"
    others = [verified]
    if arms <= MOST_ARMS:
        others.insert(
            0,
            advised(
                command("continue", "--misspecification C"),
                "study.continued(algorithm=MisLid(misspecification=c))",
            )
            + f", if every mean is within {within}",
        )
    if any(
        each.name == "offset" and each.level != "fine" for each in examine_features(study.problem)
    ):
        others.append(
            "a new study with a column of ones added to the features, since the present ones "
            "cannot express a level common to all results"
        )
    without = advised(command("continue", "--without-features"), "study.continued(features=None)")
    return (
        "No result is lost. If unsure, continue without features, which keeps every result and "
        f"assumes nothing about the means: {without}. Alternatives: {'; '.join(others)}. To give a "
        f"new study these results: {carried}."
    )


def departure(study: View) -> str:
    """What contradicts means that are linear, or within c of linear, and the likely cause."""
    rejection, shape = study.audit.rejection, study.bound.relation.shape
    assert rejection is not None
    return (
        f"the results contradict means that are {shape} in the features with noise of "
        f"{study.problem.noise.size} "
        f"(tested at level {LEVEL * 100:g} % after "
        f"{rejection.evaluations:,} evaluations): arm {rejection.name!r} was measured at "
        f"{rejection.measured:.3g}, but a linear model of the other results gives "
        f"{rejection.predicted:.3g}. {_cause(study, spread(study))[1]}"
    )
