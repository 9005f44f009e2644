"""What a guarantee also rests on because of the way a study went."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.study.view import View


def conditions(study: View) -> list[tuple[str, str]]:
    """A word and a sentence for each; none if all results came in the order asked for.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> trial = study.fail(study.ask(), "dropped")
    >>> [word for word, _ in conditions(study)]
    ['Failures']
    """
    found = []
    if out_of_order(study):
        found.append(
            (
                "Order",
                "Some results were taken in before others that had been asked for earlier. So how "
                "long an evaluation takes must not depend on its value.",
            )
        )
    unasked = sum(trial.cause.origin == "unasked" for trial in study.taken)
    if unasked:
        found.append(
            (
                "Data nobody asked for",
                f"Results told without having been asked for: {unasked:,}. Whether they were told "
                "did not depend on their values.",
            )
        )
    lost = sum(trial.state in ("failed", "cancelled") for trial in study.trials)
    if lost:
        found.append(
            (
                "Failures",
                f"Failed or cancelled: {lost:,}; no value was made up for these. Whether an "
                "evaluation fails does not depend on the value that it would have had.",
            )
        )
    return found


def out_of_order(study: View) -> bool:
    """Whether a result was taken in before one that was asked for earlier."""
    numbers = [trial.number for trial in study.taken]
    open_before = bool(numbers and study.pending) and study.pending[0].number < max(numbers)
    return open_before or numbers != sorted(numbers)
