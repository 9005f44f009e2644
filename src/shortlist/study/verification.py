"""The second certificate: whether an answer can be verified by the arms' own results, and its price."""

from __future__ import annotations

import math

import numpy as np

from shortlist.advice import advise, reader, setting
from shortlist.arrays import Integers, Mask, Reals
from shortlist.plans.design import pair_design
from shortlist.plans.guess import PRICE
from shortlist.plans.guess_and_verify import MOST_ARMS
from shortlist.printable import count
from shortlist.problem import Problem
from shortlist.proof.naming import share_of
from shortlist.study.insight.audit import rests_on_features
from shortlist.study.view import View

SLOWER = 1.6  # verifying takes longer than the mean growth of ln E says: measured


def cannot_verify(study: View) -> str:
    """Why ``study.verify()`` is refused; empty if it is not.

    Examples
    --------
    >>> from shortlist import Study
    >>> cannot_verify(Study(arms=["ash", "elm"], m=1, sigma=0.1))[:52]
    'the answer assumes nothing about how the means depen'
    """
    if not study.aim.certifies:
        return (
            "a study with a budget stops when the budget is spent, and proves nothing: there is "
            "nothing to verify. Begin one without a budget, with these results: "
            f"{advise('carry over')}."
        )
    if study.model.verifies:
        more = "It is done." if study.done else "Go on asking and telling until it stops."
        return f"the answer is verified by the arms' own results already. {more}"
    if not rests_on_features(study.procedure):
        return (
            "the answer assumes nothing about how the means depend on the features: there is "
            "nothing left to verify."
        )
    if study.problem.arms > MOST_ARMS:
        return (
            f"every arm has to be evaluated to verify a list, and with more than {MOST_ARMS:,} arms "
            f"(here {study.problem.arms:,}) that is not done: leave out arms that are known to be bad."
        )
    if not study.model.initialized:
        return (
            "the initial pulls are not all in, so there is no list to verify yet: go on asking and "
            "telling. To rely on the arms' own results from the start, begin a study with "
            f"{setting('trust', 'guide')}."
        )
    return ""


def expected_evaluations(study: View) -> int:
    """About how many evaluations it takes to verify the list so far, with two digits.

    The means are taken to be as estimated.
    """
    model, problem = study.model, study.problem
    known = model.procedure.engine.estimates(model.posterior, model.round)
    noise = problem.relative_noise if known.noise is None else known.noise
    costs, inside = problem.costs.of_arms(problem.arms), model.round.inside
    pairs = boundary_needs(known.means, inside, problem)
    weights, total = pair_design(
        None, noise * costs, *pairs, np.zeros(len(noise)), problem.listable
    )
    expected = SLOWER * float(np.maximum(weights * total / costs, 1.0).sum())
    digits = 1 - math.floor(math.log10(expected))
    return int(round(expected, digits))


def boundary_needs(
    means: Reals, inside: Mask, problem: Problem
) -> tuple[Integers, Integers, Reals]:
    """The pairs at the boundary, if these are the means: b, c, and about what verifying each needs.

    A gap that seems to be 0 or less is taken for the smallest one that is not.
    """
    outside = ~inside & problem.listable & np.isfinite(means)
    candidates, others = np.flatnonzero(inside), np.flatnonzero(outside)
    worst, best = candidates[np.argmin(means[inside])], others[np.argmax(means[outside])]
    b = np.concatenate([np.full(len(others), worst), candidates])
    c = np.concatenate([others, np.full(len(candidates), best)])
    gaps, sigma = means[b] - means[c] + problem.epsilon, problem.noise.scale
    gaps = np.maximum(gaps, np.min(gaps, initial=sigma, where=gaps > 0.0))
    level = PRICE - math.log(share_of(0) * problem.delta)
    return b, c, 2.0 * level * (sigma / gaps) ** 2


def price_of_proof(study: View) -> str:
    """What it costs to drop the assumption on the features, in a sentence; empty if it cannot be."""
    if cannot_verify(study) or not reader().has_study:
        return ""
    m = study.problem.m
    which = "this arm by results of its own" if m == 1 else f"these {m} by results of their own"
    needed = count(expected_evaluations(study), "more evaluation")
    return (
        f"About {needed} would verify {which}, if the means are as estimated: {advise('verify')}."
    )
