"""Findings that support or contradict what the guarantee assumes.

Of the features, σ and the linear model; what a kind of noise finds is its own
(``Noise.finding``). Nothing is examined before somebody reads it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shortlist.advice import advise, setting
from shortlist.arrays import Reals
from shortlist.noise.normality import differences_of_pairs, mostly_equal, shape_of
from shortlist.noise.spread import ADAPTIVE, ALPHA, Found, p_value
from shortlist.printable import count
from shortlist.study.insight.audit import is_audited
from shortlist.study.insight.feature_findings import examine_features, without_features
from shortlist.study.insight.finding import Finding
from shortlist.study.insight.linearity import Shapes
from shortlist.study.insight.linearity_words import (
    cause_of_rejection,
    departure,
    is_linearity_tested,
    not_held,
    passed,
    remedy,
    spread,
    term_words,
)
from shortlist.study.insight.shifts import (
    Levels,
    results_of,
    shift_finding,
    together,
)
from shortlist.study.trial import Trial
from shortlist.study.view import View


def examine(study: View) -> list[Finding]:
    """What can be said about the features, the noise and the model so far.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.1, seed=0)
    >>> for value in (0.0, 9.0):
    ...     _ = study.tell(arm="a", value=value)
    >>> [finding.name for finding in examine(study) if finding.level == "warning"]
    ['noise', 'outliers']
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
    if study.procedure.noise.normality:
        normal = [Finding("normal", *_normal(study))]
    return [noise, *normal, *shifts, Finding("fit", *_fit(study)), *outliers]


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


def _fit(study: View) -> Found:
    """What the test of linear means found."""
    problem, audit = study.problem, study.audit
    if not study.procedure.relation.shape:
        words = "Every arm has its own mean: there is no linear model to test."
        return "fine", words, "The guarantee assumes nothing about the means."
    if audit.rejection is not None:
        return _fit_rejected(study)
    if is_linearity_tested(study):
        return "fine", passed(study), "The guarantee says so too."
    if audit.verdict is not None and math.isfinite(audit.verdict.detectable):
        shape = audit.verdict.shape
        term = None if shape is None else Shapes.of(problem).terms[shape]
        words = (
            "The results do not contradict means that are linear in the features "
            f"({term_words(problem, term)} fits best, {p_value(audit.verdict.least)})."
        )
        return "fine", words, "Departures that are too small to show may remain."
    if audit.wanted and not study.done and is_audited(study.procedure):
        words = "Evaluations of arms that are fixed beforehand test whether the means are linear."
        return "untested", words, "They are not in yet."
    words = "Whether the means are linear in the features was not tested."
    return "untested", words, "The guarantee rests on a linear model."


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
