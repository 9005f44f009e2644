"""A study that ends with its budget: how probable it is that its shortlist is wrong.

What is not known are the true means. Given the results, normal noise and no opinion beforehand, θ
is normal around its estimate: N(θ̂, σ²V⁻¹). So it is drawn, many times, and the share of draws is
counted in which the shortlist is wrong. It does not matter that the results decided what was
evaluated: the likelihood of θ is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Reals
from shortlist.guarantee import beyond_rank
from shortlist.study.trial import Trial
from shortlist.study.view import View


def no_room(study: View) -> str:
    """Why the budget, or the audit, has no room for another trial."""
    pending: Sequence[Trial] = study.pending
    if study.audit.is_running:  # what the rounds asked for may be open still, and is not needed
        pending = [trial for trial in study.audit.own(study.trials) if trial.state == "pending"]
    numbers = ", ".join(str(trial.number) for trial in pending[:5])
    more = ", …" if len(pending) > 5 else ""
    if study.audit.is_running:
        return (
            f"the last evaluations of the audit are pending (trials {numbers}{more}): tell their "
            "results, and the study stops or says that the results contradict linear means."
        )
    if pending:
        return (
            f"the last {len(pending):,} of the {study.budget:,} evaluations in the budget "
            f"are pending (trials {numbers}{more}): tell their results. A trial that you fail or "
            "cancel can be asked for again."
        )
    return (
        f"the budget of {study.budget:,} evaluations is spent, but the evaluated arms do not span "
        f"the {study.problem.rank} dimensions of the features, because unrequested results used up "
        "part of it. There is no answer; start a study with a larger budget."
    )


def error_words(error: float | None) -> str:
    """The estimated probability of a wrong shortlist, in a sentence; empty if unknown."""
    return "" if error is None else f"Estimated probability of a wrong shortlist: {rounded(error)}."


def error_meaning(study: View, error: float | None) -> str:
    """How that was estimated and what it supposes; empty if unknown."""
    if error is None:
        return ""
    problem = study.problem
    return (
        f"It is an estimate, not a bound: in that share of {DRAWS:,} draws of the true means from "
        f"their posterior, an arm of the shortlist lies {beyond_rank(problem)}. It assumes normal "
        f"noise with σ = {problem.sigma:g}{study.procedure.relation.supposed}."
    )


def rounded(error: float) -> str:
    """An estimated probability in words, with no more digits than are known.

    Examples
    --------
    >>> rounded(0.0123), rounded(0.0), rounded(0.4567)
    ('about 0.012', 'below 0.001', 'about 0.46')
    """
    return "below 0.001" if error < 0.001 else f"about {error:.2g}"


DRAWS = 10_000  # a share of 1 % is then known to a tenth of it
NEAR = 64  # arms on either side of the boundary that are drawn
SALT = 0x6572726F  # a user's own generator of the same seed must give other numbers


def estimated_error(study: View) -> float | None:
    """The share of draws with an arm of the shortlist below the mean of rank m minus ε.

    None until the initial pulls are in. Nothing is changed in the study.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0]], m=1, sigma=1.0, seed=0, budget=8)
    >>> estimated_error(study) is None
    True
    >>> _ = study.run(lambda trial: [0.5, 0.0][trial.arm], progress=False)
    >>> round(estimated_error(study), 2)  # Φ(−0.5/√(1/4 + 1/4)) = 0.24
    0.24
    """
    if study.statistic is None:
        return None
    engine, posterior = study.procedure.engine, study.model.posterior
    return share_of_wrong(
        engine.setup.features,
        posterior.pulls,
        posterior.means,
        study.round.inside,
        sigma=engine.setup.sigma,
        epsilon=engine.setup.epsilon,
        generator=np.random.default_rng([study.seed, SALT, posterior.observed]),
    )


def share_of_wrong(
    features: Reals,
    pulls: Integers,
    means: Reals,
    inside: NDArray[np.bool_],
    *,
    sigma: float,
    epsilon: float,
    generator: np.random.Generator,
) -> float:
    """The share of ``DRAWS`` draws of θ in which the arms ``inside`` are not the best, up to ε."""
    triangle = np.linalg.qr(np.sqrt(pulls)[:, None] * features)[1]
    white = np.linalg.solve(triangle.T, features.T)  # a column's length is ‖x‖ in the norm of V⁻¹
    own, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    candidates = _nearest(means, white, own, others)
    challengers = _nearest(-means, white, others, own)
    noise = sigma * generator.standard_normal((DRAWS, len(white)))
    held = means[candidates] + noise @ white[:, candidates]
    least = held.min(axis=1)[:, None] + epsilon
    above = (held > least).sum(axis=1) + (len(own) - len(candidates))
    above += (means[challengers] + noise @ white[:, challengers] > least).sum(axis=1)
    return float(np.mean(above >= len(own)))


def _nearest(means: Reals, white: Reals, own: Integers, others: Integers) -> Integers:
    """The arms of ``own`` that are least certainly above the best of ``others``, at most NEAR."""
    if len(own) <= NEAR:
        return own
    rival = others[np.argmax(means[others])]
    errors = np.sqrt(((white[:, own] - white[:, [rival]]) ** 2).sum(axis=0))
    scores = (means[own] - means[rival]) / np.maximum(errors, np.finfo(float).tiny)
    return own[np.argsort(scores, kind="stable")[:NEAR]]
