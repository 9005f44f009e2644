"""A study that ends with its budget: what is left of it, and what its answer is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.algorithms.xy_halving import EXTENSION, no_guarantee
from shortlist.errors import (
    BudgetSpent,
    InvalidInput,
    LinearityRejected,
    ShortlistError,
    StudyStopped,
)
from shortlist.study.estimated_error import DRAWS

if TYPE_CHECKING:
    from shortlist.study.view import View


def evaluations_left(study: View) -> int:
    """The results still to be told; failed and cancelled trials have used nothing up."""
    assert study.budget is not None
    return max(0, study.budget - study.evaluations - len(study.waiting))


def nothing_to_ask(study: View) -> ShortlistError:
    """Why there is no trial to be asked for."""
    if study.done:
        more = "" if study.budget is not None else ", or call study.reopen() to go on evaluating"
        return StudyStopped(
            f"the study stopped after {study.shortlist.evaluations} evaluations and its answer is "
            f"final: read study.shortlist{more}."
        )
    if study.audit.rejection is not None:
        from shortlist.study.guarantee import advice

        return LinearityRejected(advice(study))
    return BudgetSpent(no_room(study))


def no_room(study: View) -> str:
    """Why the budget, or the audit, has no room for another trial."""
    numbers = ", ".join(str(trial.number) for trial in study.pending[:5])
    more = ", …" if len(study.pending) > 5 else ""
    if study.audit.is_open:
        return (
            f"the last evaluations of the audit are under way (trials {numbers}{more}): tell them, "
            "and the study stops or says that the means are not linear in the features."
        )
    if study.pending:
        return (
            f"of the budget of {study.budget:,} evaluations the last {len(study.pending):,} are "
            f"under way (trials {numbers}{more}): tell them. One that is failed or cancelled may be "
            "asked for again."
        )
    return (
        f"the budget of {study.budget:,} evaluations is spent, and the arms evaluated do not span "
        f"the features, which have {study.problem.rank} dimensions: results were told that nobody "
        "had asked for. There is no answer; begin a study with a larger budget."
    )


def check_reopening(study: View) -> None:
    """Raise where there is no stop to be taken back, or where that would exceed the budget."""
    if not study.done:
        raise InvalidInput("the study has not stopped: there is nothing to reopen.")
    if study.budget is not None:
        raise InvalidInput(
            f"the budget of {study.budget:,} evaluations is spent, and a study's budget is final. "
            "To evaluate more, begin a study with a larger budget and tell it these results first."
        )


def worth_of_budget(study: View, error: float | None) -> str:
    """What the answer is worth: the estimated probability that it is wrong, and what that is."""
    if error is None:
        return study.bound.guarantee()
    problem = study.problem
    slack = "" if problem.epsilon == 0 else f" minus ε = {problem.epsilon:g}"
    linear = (
        ""
        if study.bound.setting.classical
        else " and means linear in the features, which was not tested"
    )
    return (
        f"{no_guarantee(study.budget)} Estimated probability of a wrong shortlist: {rounded(error)}. It is an estimate, "
        f"not a bound: of {DRAWS:,} draws of the true means, as these results leave them open, that "
        f"share has an arm of the shortlist below the mean of rank {problem.m}{slack}. It supposes "
        f"normal noise with σ = {problem.sigma:g}{linear}. {EXTENSION}"
    )


def rounded(error: float) -> str:
    """A share of the draws, no more precise than it is.

    Examples
    --------
    >>> rounded(0.0123), rounded(0.0), rounded(0.4567)
    ('about 0.012', 'below 0.001', 'about 0.46')
    """
    return "below 0.001" if error < 0.001 else f"about {error:.2g}"
