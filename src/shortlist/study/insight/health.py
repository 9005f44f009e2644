"""Whether the results speak against what the guarantee assumes: S, σ and the linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import NO_ARM, Reals
from shortlist.study.guarantee import advice, is_linearity_tested, passed
from shortlist.study.insight.feature_health import Finding as Finding
from shortlist.study.insight.feature_health import examine_features as examine_features
from shortlist.study.insight.feature_health import is_classical

if TYPE_CHECKING:
    from shortlist.study.view import View


ALPHA, HINT = 0.001, 0.05  # below the one, a p-value is a warning; below the other, worth a word
ENOUGH_REPLICATES = 10  # degrees of freedom from which the replicates' own spread replaces σ
ADAPTIVE = "As the results chose what was evaluated, the p-value is approximate."


def examine(study: View) -> list[Finding]:
    """What can be said of the features, the noise and the model by now.

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
    if study.bound.setting.classical and not is_classical(study.problem):
        features = [
            Finding(
                "rank",
                "fine",
                f"{study.bound.name} does not look at the features.",
                "Nothing is assumed about the means, and no arm teaches anything about another.",
            )
        ]
    else:
        features = examine_features(study.problem)
    if study.problem.noise.is_open:
        words = "σ is to be estimated from the initial pulls, and they are not all in."
        later = "There is no answer before they are."
        return [*features, Finding("noise", "untested", words, later)]
    results = _Results.of(study)
    return [*features, _norm(study, results), _noise(study, results), _fit(study, results)]


@dataclass(frozen=True)
class _Results:
    """The results of every arm that has any: how many, their mean, their sum of squares about it.

    Squares are in units of the arm's noise, (σ_a/σ)², and ``weights`` are counts in these units.
    """

    arms: NDArray[np.int64]
    counts: Reals
    means: Reals
    squares: Reals
    noise: Reals

    @property
    def weights(self) -> Reals:
        """How much the mean of each arm counts."""
        return self.counts / self.noise

    @classmethod
    def of(cls, study: View) -> _Results:
        told = np.array([trial.arm for trial in study.taken], np.int64)
        values = np.array([trial.value for trial in study.taken], np.float64)
        every = np.bincount(told, minlength=study.problem.arms)
        means = np.bincount(told, values, study.problem.arms) / np.maximum(every, 1)
        squares = np.bincount(told, (values - means[told]) ** 2, study.problem.arms)
        arms = np.flatnonzero(every)
        noise = study.problem.relative_noise[arms]
        return cls(arms, every[arms].astype(float), means[arms], squares[arms] / noise, noise)

    @property
    def replicates(self) -> int:
        """The degrees of freedom of the spread within arms."""
        return int(self.counts.sum()) - len(self.arms)


def _norm(study: View, results: _Results) -> Finding:
    S, threshold = study.problem.S, study.bound.threshold
    if S is None:
        words = "No bound S on ‖θ‖ was claimed."
        return Finding("S", "fine", words, f"The threshold {threshold.name!r} needs none.")
    if not threshold.needs_S:
        words = f"S = {S:g} was claimed, and the threshold {threshold.name!r} does not use it."
        return Finding("S", "fine", words, "The guarantee does not depend on S.")
    if len(results.arms) == 0:
        words = "Nothing has been told yet."
        return Finding("S", "untested", words, f"S = {S:g} is taken at its word.")
    x = study.bound.engine.setup.features[results.arms]
    values, vectors = np.linalg.eigh((x.T * results.weights) @ x)
    seen = values > 1e-12 * values[-1]
    values, vectors = values[seen], vectors[:, seen]
    theta = vectors.T @ (x.T @ (results.weights * results.means)) / values
    norm, p = float(np.linalg.norm(theta)), _least_p(theta, values, S, study.problem.sigma)
    words = f"‖θ̂‖ = {norm:.3g} and S = {S:g}"
    if p >= ALPHA:
        inside = "." if norm <= S else f": more, but within its uncertainty (p = {p:.2g})."
        return Finding("S", "fine", words + inside, "The results do not speak against S.")
    words += f": no θ of norm at most {S:g} explains the results (p = {p:.1g})."
    return Finding(
        "S",
        "warning",
        words,
        f"The threshold {threshold.name!r} is proven for ‖θ‖ ≤ S only: the guarantee is void. "
        f"Start anew with a larger S, or with 'self_normalized', which needs none. {ADAPTIVE}",
    )


def _least_p(theta: Reals, values: Reals, S: float, sigma: float) -> float:
    """The p-value of the θ with ‖θ‖ ≤ S that the results speak against least.

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


def _noise(study: View, results: _Results) -> Finding:
    from scipy.special import chdtr, chdtrc

    sigma, degrees = study.problem.sigma, results.replicates
    if study.bound.reward_range is not None:
        low, high = study.bound.reward_range
        return Finding(
            "noise",
            "fine",
            f"{study.bound.name} does not use σ.",
            f"The guarantee rests on results from {low:g} to {high:g}, and others are refused.",
        )
    if degrees == 0:
        return Finding(
            "noise",
            "untested",
            "No arm has been evaluated twice yet.",
            f"{study.problem.noise.figure} is taken at its word, and the guarantee rests on it.",
        )
    squares = float(results.squares.sum())
    spread = math.sqrt(squares / degrees)
    claim = f"standard deviation {spread:.3g} ({degrees} degrees of freedom), and σ = {sigma:g}"
    if study.problem.noise.each is not None:
        claim = f"{spread / sigma:.3g} times their arm's σ ({degrees} degrees of freedom)"
    words = f"Results of the same arm have {claim}"
    again = results.counts > 1
    each = np.asarray(chdtrc(results.counts[again] - 1, results.squares[again] / sigma**2))
    p = float(chdtrc(degrees, squares / sigma**2))
    p_worst = min(float(each.min()) * len(each), 1.0)
    too_small = (
        "A σ that is too small voids the guarantee: the intervals are too narrow, and the study "
        "stops too early. Start anew with a larger σ. The p-value is for normal noise. " + ADAPTIVE
    )
    if p < ALPHA:
        words += f": too small (χ² = {squares / sigma**2:.4g}, p = {p:.1g})."
        return Finding("noise", "warning", words, too_small)
    if p_worst < ALPHA:
        arm = int(results.arms[again][np.argmin(each)])
        squares_each = (results.squares * results.noise)[again] / (results.counts[again] - 1)
        own = math.sqrt(float(squares_each[np.argmin(each)]))
        words += (
            f"; but those of arm {study.problem.names[arm]!r} have {own:.3g} (p = {p_worst:.1g}, "
            f"as the worst of {len(each)} arms)."
        )
        return Finding("noise", "warning", words, f"σ must hold for every arm. {too_small}")
    if chdtr(degrees, squares / (sigma / 2.0) ** 2) < ALPHA:
        share = (spread / sigma) ** 2
        less = f"a σ of {spread:.3g}" if study.problem.noise.each is None else "such smaller σ"
        return Finding(
            "noise",
            "note",
            words + ": less than half of it.",
            f"The guarantee holds, but it is paid for: evaluations go as σ², and {less} would need "
            f"about {share:.2g} times as many. Mind that σ bounds tails and "
            "not only the spread: for bounded results half the range is safe, less is not.",
        )
    words += f" (p = {p:.2g} that chance alone gives as much)."
    if p < HINT:
        meaning = "A hint that σ is too small, and no proof. See whether it goes on. " + ADAPTIVE
        return Finding("noise", "note", words, meaning)
    return Finding("noise", "fine", words, "The results do not speak against σ.")


def _fit(study: View, results: _Results) -> Finding:
    from scipy.special import chdtrc, fdtrc

    problem = study.problem
    if study.bound.setting.classical or problem.rank == problem.arms:
        words = "Every arm has a mean of its own: there is no fit to fail."
        return Finding("fit", "fine", words, "The guarantee assumes nothing about the means.")
    if study.audit.rejection is not None:
        return _fit_rejected(study)
    if study.bound.misspecification:
        return _fit_within(study, results, study.bound.misspecification)
    x = problem.reduced[results.arms]
    shown = int(np.linalg.matrix_rank(x)) if len(x) else 0
    spare, degrees = len(x) - shown, results.replicates
    if spare == 0:
        words = f"The {len(x)} arms evaluated so far show as many dimensions of the features."
        return Finding("fit", "untested", words, f"Nothing can be said by them. {_when(study)}")
    root = np.sqrt(results.weights)
    theta = np.linalg.lstsq(x * root[:, None], results.means * root, rcond=None)[0]
    misses = results.means - x @ theta
    squares = float((results.weights * misses**2).sum())
    noise, within = problem.sigma**2, float(results.squares.sum())
    if degrees >= ENOUGH_REPLICATES:
        noise = within / degrees
        # Results without any noise miss by rounding alone where the model is right.
        rounding = 1e-24 * float((results.weights * results.means**2).sum())
        ratio = squares / spare / max(noise, rounding, 1e-300)
        p, test = float(fdtrc(spare, degrees, ratio)), f"F = {ratio:.3g} on {spare} and {degrees}"
    else:
        p = float(chdtrc(spare, squares / noise))
        test = f"χ² = {squares / noise:.3g} with the claimed σ on {spare}"
    test += f" degrees of freedom, p = {p:.2g}"
    if ALPHA <= p < HINT:
        words = f"The means of {len(x)} arms are a little off a linear model ({test})."
        meaning = (
            "That is a hint and no proof: of studies in which nothing is wrong, one in twenty shows "
            f"as much. See whether it goes on. {ADAPTIVE}"
        )
        return Finding("fit", "note", words, meaning)
    if p >= ALPHA:
        words = f"The means of {len(x)} of {problem.arms} arms agree with a linear model ({test})."
        if is_linearity_tested(study):
            return Finding("fit", "fine", words, passed(study))
        return Finding("fit", "untested", words, f"The others were not looked at. {_when(study)}")
    worst = int(np.argmax(np.abs(misses) * root))
    size = math.sqrt(max(squares - spare * noise, 0.0) / float(results.weights.sum()))
    return Finding(
        "fit",
        "warning",
        f"The means of {len(x)} arms are not linear in the features ({test}): they miss by about "
        f"{size:.2g}, arm {problem.names[int(results.arms[worst])]!r} by {misses[worst]:+.2g}.",
        "The guarantee assumes that they are, and does not hold. Add features (a column of ones "
        "too, if there is none), or go on with study.without_features(), which keeps every result. "
        f"{ADAPTIVE}",
    )


def _when(study: View) -> str:
    """When linearity is tested, if it is."""
    if study.audit.wanted and not study.done:
        return "Fresh evaluations test it before the answer is final."
    return "The guarantee rests on a linear model, which was not tested."


def _fit_rejected(study: View) -> Finding:
    words, _, what_to_do = advice(study).partition(" The guarantee assumes that they are. ")
    meaning = f"The guarantee assumes that they are, and does not hold. {what_to_do}"
    return Finding("fit", "warning", words[0].upper() + words[1:], meaning)


def _fit_within(study: View, results: _Results, c: float) -> Finding:
    """Whether the means can all be within c of linear."""
    from scipy.special import chdtrc

    from shortlist.numerics.quadratic import nearest, workspace

    x = np.ascontiguousarray(study.problem.reduced[results.arms])
    if not len(x):
        words = "No arm has been evaluated yet."
        return Finding("fit", "untested", words, f"The guarantee rests on c = {c:g}.")
    work = workspace(*x.shape)
    nearest(x, c, results.weights, results.means, NO_ARM, NO_ARM, 0.0, work)
    misses = results.means - work.means
    square = float((results.weights * misses**2).sum()) / study.problem.sigma**2
    # The nearest means are no further from the averages than the true ones.
    p = float(chdtrc(len(x), square))
    test = f"χ² = {square:.3g} on {len(x)} degrees of freedom, p = {p:.2g} at most"
    if p >= ALPHA:
        words = (
            f"The means of {len(x)} arms agree with a linear model to within c = {c:g} ({test})."
        )
        meaning = f"The results do not speak against c, nor do they show that it is large enough. {ADAPTIVE}"
        return Finding("fit", "fine", words, meaning)
    worst = int(np.argmax(np.abs(misses) * np.sqrt(results.weights)))
    return Finding(
        "fit",
        "warning",
        f"The means of {len(x)} arms are further than c = {c:g} from linear ({test}): arm "
        f"{study.problem.names[int(results.arms[worst])]!r} by {misses[worst]:+.2g} more.",
        "The guarantee assumes that they are not, and does not hold. Start anew with a larger "
        "misspecification, or with an algorithm that does not look at the features, such as LUCB. "
        + ADAPTIVE,
    )
