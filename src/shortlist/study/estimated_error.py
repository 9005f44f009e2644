"""How probable a wrong shortlist is, as far as a study's own results tell.

What is not known are the true means. Given the results, normal noise and no opinion beforehand, θ
is normal around its estimate: N(θ̂, σ²V⁻¹). So it is drawn, many times, and the share of draws is
counted in which the shortlist is wrong. It does not matter that the results decided what was
evaluated: the likelihood of θ is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist.arrays import Integers, Reals
from shortlist.core.triangle import solve_lower

if TYPE_CHECKING:
    from shortlist.study.view import View


DRAWS = 10_000  # a share of 1 % is then known to a tenth of it
NEAR = 64  # arms on either side of the boundary that are drawn
SALT = 0x6572726F  # a user's own generator of the same seed must give other numbers


def estimated_error(study: View) -> float | None:
    """The share of draws with an arm of the shortlist below the mean of rank m minus ε.

    None until the initial pulls are in.

    Parameters
    ----------
    study : Study
        Nothing is changed in it.

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
    engine, posterior = study.bound.engine, study.model.posterior
    return share_of_wrong(
        engine.features,
        posterior.pulls,
        posterior.means,
        study.round.inside,
        sigma=engine.sigma,
        epsilon=engine.epsilon,
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
    """In how many of ``DRAWS`` draws of θ the arms ``inside`` are not the best, up to ε."""
    triangle = np.linalg.qr(np.sqrt(pulls)[:, None] * features)[1]
    white = solve_lower(triangle.T, features.T)  # a column's length is ‖x‖ in the norm of V⁻¹
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
    """Those of ``own`` that are least certainly above the best of ``others``, NEAR at most."""
    if len(own) <= NEAR:
        return own
    rival = others[np.argmax(means[others])]
    errors = np.sqrt(((white[:, own] - white[:, [rival]]) ** 2).sum(axis=0))
    scores = (means[own] - means[rival]) / np.maximum(errors, np.finfo(float).tiny)
    return own[np.argsort(scores, kind="stable")[:NEAR]]
