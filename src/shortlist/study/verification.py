"""The second certificate: whether an answer can be verified by the arms' own results, and its price."""

from __future__ import annotations

import math

from shortlist.advice import advise, continued, reader, setting
from shortlist.plans.evidence import expected_verification
from shortlist.plans.guess_and_verify import MOST_ARMS
from shortlist.printable import count
from shortlist.study.insight.audit import rests_on_features
from shortlist.study.view import View


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
    if study.problem.blocks.shifts:
        return (
            "results of single arms say nothing where blocks are shifted. Go on with all results and "
            f"without features: {continued(features=None)}."
        )
    if study.problem.arms > MOST_ARMS:
        return (
            f"every arm has to be evaluated to verify a list, and with more than {MOST_ARMS:,} arms "
            f"(here {study.problem.arms:,}) that is not done: leave out arms that are known to be bad."
        )
    if study.problem.noise.awaits_estimate or not study.model.initialized:
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
    model = study.model
    known = model.procedure.engine.estimates(model.posterior, model.round)
    expected = expected_verification(
        known.means,
        model.round.inside,
        study.problem.relative_noise if known.noise is None else known.noise,
        study.problem.sigma,
        study.problem.epsilon,
        study.problem.delta,
        study.problem.costs.of_arms(study.problem.arms),
    )
    digits = 1 - math.floor(math.log10(expected))
    return int(round(expected, digits))


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
