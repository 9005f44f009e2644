"""Which algorithm is used when the user names none (``"auto"``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.arrays import Reals
from shortlist.catalog.gifa import GIFA
from shortlist.catalog.registry import ALGORITHMS, find_algorithm
from shortlist.designs import Designs
from shortlist.engine.algorithm import Algorithm
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.gifa.thresholds import AUTO
from shortlist.linalg import in_units, largest_first
from shortlist.plans.guess_and_verify import MOST_ARMS as MOST_ARMS_GUESSED
from shortlist.plans.guess_and_verify import Guided
from shortlist.plans.pairs_in_doubt import PairsInDoubt
from shortlist.problem import Problem

# For more arms than a strategy has tables for.
MANY_ARMS = GIFA(threshold=AUTO, name="m-LinGapE with the threshold auto")
SOLVED = 150  # arms: with more, whether one tells of others is not computed
NEAREST = 10  # pairs of arms that are solved
TRUSTS = ("linear", "guide")
REWEIGHTED, SMALLEST = 10, 1e-9  # times that weights are found, and what is added to them
ALONE = 1.9  # ‖w*‖₁ of a pair; 2 is that of the two arms alone


def recommended(problem: Problem) -> Algorithm:
    """The proven algorithm that is expected to need the fewest evaluations.

    A guess is verified. If no pair of arms is compared better by pulling others than by pulling the
    two, features are of little use, and every arm is judged by its own results. With blocks, arms
    are compared within them.

    Examples
    --------
    >>> recommended(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)).name
    'Guess-and-verify'
    """
    if problem.arms > MOST_ARMS_GUESSED:
        return MANY_ARMS
    if not arms_tell_of_others(problem):
        return ALGORITHMS["Guess-and-verify (own results)"]
    return ALGORITHMS["Guess-and-verify"]


def arms_tell_of_others(problem: Problem) -> bool:
    """Whether pulling other arms compares some pair of arms better than pulling the pair itself.

    The pulls are proportional to ‖w*‖₁², w* the lightest weights with Xᵀw = x_b − x_c; ‖w‖₁ is 2
    for the pair alone. Only the pairs of nearest features are solved; with few dimensions or very
    many arms none is, and the answer is yes.

    Examples
    --------
    >>> import numpy as np
    >>> arms_tell_of_others(Problem.of(np.eye(12), m=2, sigma=1.0))
    False
    >>> arms_tell_of_others(Problem.of([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]], m=1, sigma=1.0))
    True
    """
    features, noise = problem.reduced, problem.relative_noise
    arms, rank = features.shape
    if rank == arms:
        return False
    if arms > SOLVED or 4 * rank < arms or noise.min() < 1.0 or problem.costs.stated:
        return True
    squares = np.einsum("ij,ij->i", features, features)
    sums = squares[:, None] + squares[None, :]
    apart = (sums - 2.0 * features @ features.T) / sums
    first, second = np.triu_indices(arms, 1)
    nearest = largest_first(-apart[first, second])[:NEAREST]
    targets = features[first[nearest]] - features[second[nearest]]
    if (lightened(in_units(features, noise), targets) < ALONE).any():
        return True
    designs = Designs(features, noise)
    return any(
        float(np.abs(designs.of(int(first[k]), int(second[k]))).sum()) < ALONE for k in nearest
    )


def lightened(shown: Reals, targets: Reals) -> Reals:
    """‖w‖₁ of some w with Xᵀw = target for each row: hardly above the least, and without a solver to load.

    Least squares, reweighted so that large weights cost little.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    >>> lightened(X, X[[0]] - X[[2]]).round(2).tolist()
    [0.2]
    """
    weights = np.ones((len(targets), len(shown)))
    for _ in range(REWEIGHTED):
        V = np.einsum("pa,ai,aj->pij", np.abs(weights) + SMALLEST, shown, shown)
        weights = (np.abs(weights) + SMALLEST) * (
            np.linalg.solve(V, targets[:, :, None])[:, :, 0] @ shown.T
        )
    return np.abs(weights).sum(axis=1)


def resolve_choice(
    choice: str | Algorithm | None, threshold: Any, problem: Problem, budget: object = None
) -> tuple[Algorithm, Any]:
    """Algorithm and threshold with every ``"auto"`` replaced by the choice on the problem.

    Where nothing is named it is ``"auto"``: with a budget ``PairsInDoubt``, or where that knows nothing
    of the noise or of blocks Guess-and-verify with a budget; with a threshold m-LinGapE, as strategies
    have bounds of their own; else what is ``recommended``.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0)
    >>> algorithm, threshold = resolve_choice("m-LinGapE", "auto", problem)
    >>> algorithm.name, threshold
    ('m-LinGapE', 'self_normalized')
    """
    if budget is not None:
        algorithm = _with_budget(choice, budget, problem)
    elif not (choice is None or is_auto(choice)):
        algorithm = find_algorithm(choice)
    elif threshold is None or is_auto(threshold):
        algorithm = recommended(problem)
    else:
        algorithm = ALGORITHMS["m-LinGapE"]
    return algorithm.with_threshold(problem, threshold)


def algorithm_for_trust(
    trust: object,
    choice: str | Algorithm | None,
    *,
    has_features: bool,
) -> str | Algorithm | None:
    """The algorithm that goes with what is trusted of the features; else the choice as it is.

    Parameters
    ----------
    trust : {"linear", "guide"}
        Whether an answer may rest on means that are linear in the features.
    choice
        As given to ``Study``.
    has_features : bool
        Whether there are any.

    Examples
    --------
    >>> algorithm_for_trust("guide", None, has_features=True).name
    'Guess-and-verify (guided)'
    >>> algorithm_for_trust("guide", "LUCB", has_features=True)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: trust = 'guide' selects its own algorithm, but algorithm = 'LUCB' was given: leave one of the two out.
    """
    if trust not in TRUSTS:
        raise unknown_name("trust", trust, TRUSTS)
    if trust != "guide":
        return choice
    if not has_features:
        raise InvalidSetting(
            "trust = 'guide' needs features to be guided by: give features, or leave out trust."
        )
    if not (choice is None or is_auto(choice)):
        name = choice if isinstance(choice, str) else find_algorithm(choice).name
        raise InvalidSetting(
            f"trust = 'guide' selects its own algorithm, but algorithm = {name!r} was given: leave "
            "one of the two out."
        )
    return Guided()


def _with_budget(choice: str | Algorithm | None, budget: object, problem: Problem) -> Algorithm:
    """The algorithm that was named, or the usual one; raises if that does not work on a budget."""
    own = PairsInDoubt(budget=budget)  # type: ignore[arg-type]  # it is checked there
    if choice is None or is_auto(choice):
        suits = not (problem.blocks.exist or problem.noise.needs_replicates)
        choice = own if suits else recommended(problem)
    if choice in (PairsInDoubt.__name__, own.name):
        return own
    given = find_algorithm(choice)
    name, stated = given.name, given.settings.get("budget")
    if stated == own.budget:
        return given
    if given.searches and not stated:
        return given.read({**given.settings, "budget": own.budget})
    if stated:
        raise InvalidSetting(
            f"budget = {budget} was given, and an algorithm with a budget of {stated}: leave "
            "out one of the two."
        )
    raise InvalidSetting(
        f"budget = {budget} and algorithm = {name!r} contradict each other: {name} stops when it is "
        f"certain enough, and only {own.name} and Guess-and-verify work on a budget. Leave out one of "
        "the two."
    )


def is_unspecified(choice: Any, threshold: Any) -> bool:
    """Whether nothing was named: a stored study keeps what it was begun with, whatever is
    recommended now.
    """
    return all(each is None or is_auto(each) for each in (choice, threshold))


def is_auto(choice: Any) -> bool:
    """Whether the choice is the word ``"auto"``."""
    return isinstance(choice, str) and choice == AUTO
