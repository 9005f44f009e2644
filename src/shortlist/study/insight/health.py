"""Findings that support or contradict what the guarantee assumes.

Of the features, of S, σ and the linear model; what a kind of noise finds is its own
(``Noise.finding``). Nothing is examined before somebody reads it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.advice import advise, goes_on, setting
from shortlist.arrays import Reals
from shortlist.noise.normality import differences_of_pairs, mostly_equal, shape_of
from shortlist.noise.spread import ADAPTIVE, ALPHA, HINT, Found, Spread, p_value
from shortlist.printable import count
from shortlist.problem import Problem
from shortlist.study.insight.curvature import curvature
from shortlist.study.insight.feature_findings import examine_features, without_features
from shortlist.study.insight.finding import Finding
from shortlist.study.insight.linearity_words import (
    ENOUGH_REPLICATES,
    cause_of_rejection,
    departure,
    is_linearity_tested,
    not_held,
    remedy,
    spread,
)
from shortlist.study.insight.noise_cause import likely_cause
from shortlist.study.insight.own_spread import lack_of_fit, own_variances
from shortlist.study.insight.shifts import (
    Levels,
    fit_within_blocks,
    results_of,
    shift_finding,
    together,
)
from shortlist.study.trial import Trial
from shortlist.study.view import View

CURVED = 0.01  # below it, a better fit of a curved model is a warning: of 100 linear studies, in 1


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
    >>> study = Study(features, m=1, sigma=0.1, intercept=False, algorithm="LinGapE", audit=False)
    >>> for k in range(30):  # the third mean is not the sum of the others
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [0.5, 0.3, 0.4][trial.arm] + 0.1 * (-1) ** (k // 3))
    >>> [finding.name for finding in examine(study) if finding.level == "warning"]
    ['fit']
    """
    if not study.procedure.relation.uses_features and not study.problem.is_classical:
        does = "verifies without" if study.procedure.relation.guide else "does not look at"
        features = without_features(f"{study.procedure.name} {does} the features.")
    else:
        features = examine_features(study.problem)
    return [*features, *examine_results(study)]


def examine_results(study: View) -> list[Finding]:
    """What the results say about the noise and the model so far."""
    results = spread(study)
    found_noise = study.procedure.noise.finding(results, study.problem.names)
    shifts = []
    if (came := together(study)) is not None:
        shifts = [Finding("shift", *shift_finding(study, *came))]
        found_noise = came[1].explains(found_noise, study.problem.sigma)
    noise = Finding("noise", *found_noise)
    outliers, normal = _outlying(study), []
    explained = False
    if noise.level == "warning":
        cause = likely_cause(study)
        explained = cause.explains_all
        noise, outliers = cause.said_with(noise), [] if explained else outliers
    if study.procedure.noise.normality and not explained:
        normal = [Finding("normal", *_normal(study))]
    size, fit = Finding("S", *_norm(study, results)), Finding("fit", *_fit(study, results))
    checks = [size, noise, *normal, *shifts, fit]
    if study.procedure.relation.audited and not study.problem.has_levels:
        checks.append(Finding("curvature", *_curvature(study, results)))
    return [*checks, *outliers]


VERY_SKEWED = 1.0  # half of what an exponential distribution is; below, it is said in a note
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
    far noisier than σ, distances are measured by that noise: the finding on σ says so. Where blocks
    have levels, results of different blocks cannot be compared, and there is no such check.
    """
    if not (study.procedure.noise.uses_sigma and study.taken) or study.problem.has_levels:
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
        way = f"If it was mistyped, {advise('correct it', trial=trials[k].number)} corrects it."
        return [Finding("outliers", "warning", words, _mistyped(trials[k]), way=way)]
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


def _normal(study: View) -> Found:
    """The finding on whether all replicates look as normal noise makes them."""
    problem, trials = study.problem, list(study.taken)
    arms, blocks, values = results_of(study)
    if problem.blocks.shifts and len(arms):
        levels = Levels.of(arms, blocks, values, problem.relative_noise)
        kept = np.flatnonzero(levels.kept)
        arms, values = arms[kept], values[kept] - levels.each
        trials = [trials[k] for k in kept]
    elif problem.blocks.exist and len(arms):
        pairs, values = differences_of_pairs(arms, blocks, values)
        arms, trials = arms[pairs], [trials[k] for k in pairs]
    if (alike := mostly_equal(arms, values)) is not None:
        words = f"Most results of arm {problem.names[alike]!r} are equal: its noise is not normal."
        way = f"For results of a few values {setting('sigma', 'bounded')} with a range assumes nothing else."
        meaning = (
            "The guarantee assumes normal noise, and does not hold. If the evaluation fixes its random "
            f"seed, let it take trial.seed. {way}"
        )
        return "warning", words, meaning, "", way
    shape = shape_of(arms, values)
    if shape is None:
        words = "No arm has enough results to see whether its noise looks normal."
        return "untested", words, "The guarantee assumes that it is."
    rare = "Extremes that are too rare to be among the results cannot be seen."
    if shape.p_furthest < ALPHA:
        trial = trials[shape.furthest]
        how = "own standard deviation"
        if problem.blocks.exist:
            how += ", within blocks"
        words = (
            f"The result {trial.value:.4g} of arm {trial.name!r} (trial {trial.number}) is "
            f"{shape.distance:,.3g} times the others' {how}, from the others of its arm "
            f"({p_value(shape.p_furthest, 1)}, as the furthest of {count(len(values), 'result')})."
        )
        way = (
            f"If it was mistyped, {advise('correct it', trial=trial.number)} corrects it; if not, the noise has rare "
            f"extremes, and only a new study with {setting('sigma', 'bounded')} and a range allows for "
            "these."
        )
        meaning = f"The guarantee assumes normal noise, which has no such results. {way} {ADAPTIVE}"
        return "warning", words, meaning, "", way
    if shape.p_skewed < ALPHA:
        side = "large" if shape.skewness > 0.0 else "small"
        whose = "" if shape.group is None else f" of arm {problem.names[shape.group]!r}"
        words = (
            f"The results{whose} are skewed (skewness {shape.skewness:.2g}, "
            f"{p_value(shape.p_skewed, 1)}): few are very {side}."
        )
        way = "Averages of several runs as one result would be closer to normal."
        if abs(shape.skewness) < VERY_SKEWED:
            meaning = f"The guarantee assumes normal noise, which this is nearly. {way} {ADAPTIVE}"
            return "note", words, meaning, "", way
        meaning = f"The guarantee assumes normal noise, and does not hold. {way} {ADAPTIVE}"
        return "warning", words, meaning, "", way
    words = (
        f"No result is further off than normal noise allows ({p_value(shape.p_furthest)}), nor are the "
        f"results skewed ({p_value(shape.p_skewed)})."
    )
    return "fine", words, rare


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
    way = advise("correct it", trial=trial.number)
    return f"Was it mistyped? Then correct it with {way}. This is a heuristic check."


def _norm(study: View, results: Spread) -> Found:
    S, threshold = study.problem.S, study.procedure.threshold
    if S is None:
        words = "No bound S on ‖θ‖ was claimed."
        return "fine", words, f"The threshold {threshold.name!r} needs none."
    if not threshold.needs_S:
        words = f"S = {S:g} was claimed, and the threshold {threshold.name!r} does not use it."
        return "fine", words, "The guarantee does not depend on S."
    if len(results.arms) == 0:
        words = "Nothing has been told yet."
        return "untested", words, f"S = {S:g} is taken as given."
    x = study.procedure.engine.setup.features[results.arms]
    values, vectors = np.linalg.eigh((x.T * results.weights) @ x)
    seen = values > 1e-12 * values[-1]
    values, vectors = values[seen], vectors[:, seen]
    theta = vectors.T @ (x.T @ (results.weights * results.means)) / values
    norm, p = float(np.linalg.norm(theta)), _least_p(theta, values, S, study.problem.sigma)
    words = f"‖θ̂‖ = {norm:.3g} and S = {S:g}"
    if p >= ALPHA:
        inside = "." if norm <= S else f": more, but within its uncertainty ({p_value(p)})."
        return "fine", words + inside, "The results do not contradict S."
    way = goes_on("with all results, and needs no S.", threshold="self_normalized")
    words += f": no θ of norm at most {S:g} explains the results ({p_value(p, 1)})."
    return (
        "warning",
        words,
        f"The threshold {threshold.name!r} is proven for ‖θ‖ ≤ S only: the guarantee is void. "
        f"{way} {ADAPTIVE}",
        "",
        way,
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
    if not study.procedure.relation.shape:
        words = "Every arm has its own mean: there is no linear model to test."
        return "fine", words, "The guarantee assumes nothing about the means."
    if problem.has_levels:
        return fit_within_blocks(study)
    if study.audit.rejection is not None:
        return _fit_rejected(study)
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
    noise = max(problem.noise.scale**2, results.rounding)
    if not study.procedure.noise.uses_sigma:
        found, freedom = lack_of_fit(x, results)
        p = float(chdtrc(freedom, found)) if freedom else 1.0
        test = f"χ² = {found:.3g} by the spread of each arm, on about {freedom:.3g}"
        noise = results.within
    elif degrees >= ENOUGH_REPLICATES:
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
            return "fine", words, "The guarantee says how that was tested."
        return "untested", words, f"The others were not looked at. {_when(study)}"
    worst = int(np.argmax(np.abs(misses) * root))
    size = math.sqrt(max(squares - spare * noise, 0.0) / float(results.weights.sum()))
    return (
        "warning",
        f"The means of {len(x)} arms are not linear in the features ({test}): they miss by about "
        f"{size:.2g}, arm {problem.names[int(results.arms[worst])]!r} by {misses[worst]:+.2g}.",
        f"The guarantee assumes that the means are linear, so it does not hold. {remedy(study)} "
        + ADAPTIVE,
        "",
        remedy(study),
    )


def _curvature(study: View, results: Spread) -> Found:
    """The finding on whether the square of a feature, or a product of two, improves the fit.

    Of all ways in which means are not linear it looks for a common one, and so it finds smaller
    departures than the check of the fit. It is computed where it is read, and stops no study.
    """
    from scipy.special import chdtr, chdtrc, fdtrc

    problem, degrees = study.problem, results.replicates
    curve = None
    if len(results.arms):
        rows = problem.features[results.arms]
        curve = curvature(rows, *_weighed(study, results))
    if curve is None:
        words = f"{count(len(results.arms), 'arm')} with results cannot show a curvature."
        return "untested", words, _when(study)
    if degrees < ENOUGH_REPLICATES and cause_of_rejection(study) in ("shift", "sigma"):
        return (
            "untested",
            "A curvature cannot be told from noise that is larger than σ.",
            _when(study),
        )
    if not study.procedure.noise.uses_sigma:
        p = float(chdtrc(1, curve.gain))
        test = f"χ² = {curve.gain:.3g} by the spread of each arm"
    else:
        gain = curve.gain / max(problem.sigma**2, results.rounding)
        p, test = float(chdtrc(1, gain)), f"χ² = {gain:.3g} with the claimed σ"
    if degrees >= ENOUGH_REPLICATES and study.procedure.noise.uses_sigma:
        squares = float(results.squares.sum()) / problem.sigma**2
        if min(chdtrc(degrees, squares), chdtr(degrees, squares)) < CURVED / 2.0:
            # The noise is larger or smaller than σ, which must not decide.
            gain = curve.gain / results.within
            p = float(fdtrc(1, degrees, gain))
            test = f"F = {gain:.3g} by {degrees} degrees of freedom of replicates"
    p = min(curve.terms * p, 1.0)
    if curve.terms > 1:
        test += f", the largest of {curve.terms:,} squares and products"
    if p >= CURVED:
        words = f"No square or product of features fits better ({p_value(p)}, approximate; {test})."
        return "fine", words, "Curvature that is too small for these results to show may remain."
    words, file_words = (
        f"A curved model fits better ({p_value(p)}, approximate): with {term} ({test})."
        for term in _terms(problem, *curve.columns)
    )
    wrong = (
        "The guarantee assumes that the means are linear in the features: the list may be wrong."
    )
    if not study.done:
        return "note", words, f"{wrong} See whether it is so at the stop. {ADAPTIVE}", file_words
    way = goes_on("in the same study, and tests the list by each arm's own results.")
    meaning = (
        f"{wrong} {way} Or "
        f"begin a new study with {setting('trust', 'guide')}, or with squares and products among "
        f"the features: {advise('carry over')} gives it the results. {ADAPTIVE}"
    )
    return "warning", words, meaning, file_words, way


def _weighed(study: View, results: Spread) -> tuple[Any, ...]:
    """Roots of weights and averages; where no σ is stated also the arms' own variances, and their degrees."""
    if study.procedure.noise.uses_sigma:
        return np.sqrt(results.weights), results.means
    own = own_variances(results), np.maximum(results.degrees, 1.0)
    return np.sqrt(results.counts), results.means, own


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
    cause = cause_of_rejection(study)
    if cause == "shift":
        words = "A linear model does not explain the results, which share shifts."
        return "untested", words, "Whether the means are linear cannot be judged with them."
    if cause == "sigma":
        words = "A linear model with this σ does not explain the results, but no σ so small would."
        return "untested", words, "Whether the means are linear cannot be judged before σ is right."
    words = departure(study)
    way = remedy(study)
    return "warning", words[0].upper() + words[1:], f"{not_held(study)} {way}", "", way


def doubts(study: View) -> list[Finding]:
    """The findings of health that contradict the guarantee.

    Examples
    --------
    >>> from shortlist import Study
    >>> doubts(Study(arms=["a", "b"], m=1, sigma=0.5))
    []
    """
    # Arms that are nearly alike may cost evaluations, and never the guarantee.
    findings = examine(study)
    return [each for each in findings if each.level == "warning" and each.name != "alike"]


def doubts_by_results(study: View) -> list[Finding]:
    """Those of them that come from the results: the features are examined when a study begins."""
    return [each for each in examine_results(study) if each.level == "warning"]
