"""Features as a guide: a model of the features helps to guess, and has no part in the proof.

The guess of guess-and-verify may come from anywhere. Here a model predicts every arm's mean from
the features and results of the other arms, and the prediction is weighed against the arm's own
average by how well such predictions have fitted so far (empirical Bayes). The verification uses
each arm's own results alone, as without features. So the guarantee assumes nothing about how the
means depend on the features: a bad model costs evaluations, never the guarantee.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from shortlist.arrays import Reals
from shortlist.designs.pairs import contrast_design, own_design
from shortlist.engine.algorithm_on_problem import AlgorithmOnProblem
from shortlist.errors import InvalidSetting
from shortlist.noise import GIVEN
from shortlist.numerics.order import largest_first
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import WORDS
from shortlist.plans.guess_and_verify import HALF_WIDTH, NAMED_SETS, GuessAndVerify
from shortlist.plans.means import Fit, OwnFit
from shortlist.plans.phased import PAIRS
from shortlist.plans.strategy import ReducedProblem
from shortlist.problem import Problem
from shortlist.rules.thresholds import StrategyThreshold

FOLDS = 5
MODEL_COST = 5e8  # nanoseconds of a decision with a user's model, a guess

ANY_MEANS = StrategyThreshold(
    NAMED_SETS.name,
    "The C at which the mixture test of one pair reaches 1/share, for a set named beforehand.",
    f"{GIVEN}; nothing is assumed about how the means depend on the features",
    NAMED_SETS.source,
    coverage=NAMED_SETS.coverage,
)


class LeastSquares:
    """Least squares with an intercept, weighted by the number of results of each arm.

    Examples
    --------
    >>> line = LeastSquares()
    >>> line.fit(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> line.predict(np.array([[3.0]])).round(6).tolist()
    [7.0]
    """

    def fit(self, features: Reals, averages: Reals, weights: Reals) -> None:
        """Fit the averages."""
        root = np.sqrt(weights)
        rows = np.column_stack([np.ones(len(features)), features])
        self.coefficients = np.linalg.lstsq(rows * root[:, None], averages * root, rcond=None)[0]

    def predict(self, features: Reals) -> Reals:
        """What the fit says of arms with these features."""
        return np.asarray(self.coefficients[0] + features @ self.coefficients[1:])


def copied(model: Any) -> Any:
    """An unfitted copy of a model, which gives the same predictions whenever it is fitted.

    Every ``random_state`` that is None becomes 0.
    """
    if not hasattr(model, "get_params"):
        twin = copy.deepcopy(model)
        if getattr(twin, "random_state", 0) is None:
            twin.random_state = 0
        return twin
    try:
        from sklearn.base import clone
    except ImportError:
        clone = copy.deepcopy
    twin = clone(model)
    drawn = [key for key, value in twin.get_params().items() if value is None]
    fixed = {key: 0 for key in drawn if key.rpartition("__")[2] == "random_state"}
    return twin.set_params(**fixed) if fixed else twin


def predicted(model: Any, features: Reals, averages: Reals, pulls: Reals) -> Reals:
    """Every arm's mean as a model predicts it that was fitted to other arms.

    Parameters
    ----------
    model : object with fit and predict, or None
        None is least squares.
    features, averages : array
        Those of all arms.
    pulls : array
        How many results each average is of, in units of the most noisy arm's.

    Examples
    --------
    >>> x = np.arange(1.0, 7.0)[:, None]
    >>> predicted(None, x, 2.0 * x[:, 0], np.ones(6)).round(6).tolist()
    [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    """
    arms = len(features)
    fold = np.random.default_rng(0).permutation(arms) % FOLDS
    predictions = np.empty(arms)
    for number in range(min(FOLDS, arms)):
        out = fold == number
        given, wanted = (features[~out], averages[~out]), features[out]
        if model is None:
            line = LeastSquares()
            line.fit(*given, pulls[~out])
            predictions[out] = line.predict(wanted)
        else:
            predictions[out] = _predicted_by(model, *given, wanted)
    return predictions


def _predicted_by(model: Any, features: Reals, averages: Reals, wanted: Reals) -> Reals:
    """What a copy of the user's model predicts, checked."""
    name = type(model).__name__
    try:
        twin = copied(model)
        twin.fit(features, averages)
        found = np.asarray(twin.predict(wanted), np.float64)
    except Exception as error:
        raise InvalidSetting(
            f"model={name} failed on the features of {len(averages)} arms and their averages: "
            f"{type(error).__name__}: {error}. fit(X, y) and predict(X) must work on any 80 % "
            "of the arms. The last result was not recorded: correct the model, load the study with "
            "it (Study.load(…, model=…)), and tell that result again."
        ) from error
    if found.shape in ((len(wanted), 1), (len(wanted),)) and np.isfinite(found).all():
        return found.ravel()
    what = f"the shape {found.shape}" if np.isfinite(found).all() else "numbers that are not finite"
    raise InvalidSetting(
        f"model={name} must predict one finite number for each of {len(wanted)} arms, got {what}: "
        "give a regressor that follows scikit-learn's conventions."
    )


def combined(averages: Reals, variances: Reals, predictions: Reals) -> tuple[Reals, Reals]:
    """Means and variances from averages and predictions, by how well these fit.

    The predictions err with a variance τ² beyond the noise of the averages. It is estimated from
    all arms, and one standard error is added: predictions that fit by chance are not taken for
    exact. An arm that its prediction misses by more has a larger τ² of its own. The best arms are
    often such ones, and would else be drawn down to the others.

    Examples
    --------
    >>> averages, variances = np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 0.1)
    >>> combined(averages, variances, averages)[1].round(3).tolist()
    [0.041, 0.041, 0.041, 0.041]
    >>> combined(averages, variances, averages[::-1])[1].round(3).tolist()
    [0.099, 0.098, 0.098, 0.099]
    """
    misfits = (averages - predictions) ** 2 - variances
    error = math.sqrt(2.0 / len(averages)) * float(variances.mean())
    excess = np.maximum(max(float(misfits.mean()), 0.0) + error, misfits)
    both = 1.0 / variances + 1.0 / excess
    return (averages / variances + predictions / excess) / both, 1.0 / both


class GuidedStrategy(GuessAndVerify):
    """Guess by a model of the features, verify by each arm's own results.

    Parameters
    ----------
    problem : ReducedProblem
        With every arm its own dimension.
    features : array, K × N
        For the model.
    reduced : array, K × rank
        The same in a basis of their row space.
    model : object with fit and predict, or None
        None is least squares.
    """

    def __init__(
        self, problem: ReducedProblem, features: Reals, reduced: Reals, model: Any
    ) -> None:
        super().__init__(problem)
        self._features, self._reduced, self._model = features, reduced, model
        self._guess: OwnFit | None = None
        self.cost += MODEL_COST if model is not None else 0.0

    def guess(self, whole: Fit) -> Fit:
        """The averages, drawn towards the predictions as far as these have fitted."""
        sigma, own = self._problem.sigma, whole.own_variances
        predictions = predicted(self._model, self._features, whole.means, 1.0 / own)
        means, variances = combined(whole.means, sigma**2 * own, predictions)
        self._guess = OwnFit(means, variances / sigma**2)
        return self._guess

    def cost_if_linear(self) -> float | None:
        """The evaluations that relying on linear means would take, as a share of those without.

        It is the ratio of the best designs for the gaps as they seem to be; None before the first
        plan is in.
        """
        if self._guess is None:
            return None
        inside, means, own = self.inside, self._guess.means, self._guess.own
        b = np.repeat(np.flatnonzero(inside), (~inside).sum())
        c = np.tile(np.flatnonzero(~inside), inside.sum())
        errors = self._problem.sigma * np.sqrt(own[b] + own[c])
        gaps = np.maximum(means[b] - means[c] + self._problem.epsilon, HALF_WIDTH * errors)
        most = largest_first(-gaps)[:PAIRS]
        pairs, noise = (b[most], c[most], gaps[most] ** -2.0), self._problem.noise_of_arms
        _, linear = contrast_design(self._reduced, *pairs, noise=noise)
        return min(1.0, linear / own_design(*pairs, noise)[1])


@dataclass(frozen=True)
class Guided:
    """Guess-and-verify with the features as a guide: they help to guess, and prove nothing.

    The guarantee holds whatever the means are. ``Study(features, trust="guide")`` takes it.

    Parameters
    ----------
    model : object with fit and predict, optional
        A regressor by scikit-learn's conventions. It is copied for each fit, and every
        ``random_state`` that is None is set to 0. By default least squares with an intercept.

    Examples
    --------
    >>> guided = Guided()
    >>> guided.name
    'Guess-and-verify (guided by least squares)'
    >>> guided.bind(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 1, sigma=0.5)).assumptions
    'the noise is σ-sub-Gaussian; nothing is assumed about how the means depend on the features'
    >>> Guided(model="forest")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: model must have the methods fit(X, y) and predict(X), as the regressors of scikit-learn have, got 'forest'.
    """

    model: Any = None
    summary: ClassVar[str] = "guesses by a model of the features, verifies without them"

    def __post_init__(self) -> None:
        model = self.model
        if model is None:
            return
        usable = all(callable(getattr(model, each, None)) for each in ("fit", "predict"))
        if isinstance(model, type) or not usable:
            made = ""
            if isinstance(model, type):
                made = f" (a class: pass an instance of it, such as {model.__name__}())"
            raise InvalidSetting(
                "model must have the methods fit(X, y) and predict(X), as the regressors of "
                f"scikit-learn have, got {model!r}{made}."
            )

    @property
    def model_name(self) -> str | None:
        """The class of the model; None for least squares."""
        return None if self.model is None else type(self.model).__name__

    @property
    def name(self) -> str:
        """For tables."""
        return f"Guess-and-verify (guided by {self.guide})"

    @property
    def guide(self) -> str:
        """What guesses, in words."""
        return self.model_name or "least squares"

    def bind(self, problem: Problem, threshold: Any = None) -> AlgorithmOnProblem:
        """The algorithm on a problem."""
        planned = Planned(
            strategy=partial(
                GuidedStrategy, features=problem.features, reduced=problem.reduced, model=self.model
            ),
            threshold=ANY_MEANS,
            interval_words=WORDS,
            name=self.name,
            summary=self.summary,
            uses_noise=True,
            classical=True,
        )
        return replace(planned.bind(problem, threshold), guide=self.guide, rebind=self.bind)
