"""What a guarantee also rests on because of the way a study went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.study.trial import Trial
    from shortlist.study.view import View


def conditions(study: View) -> list[tuple[str, str]]:
    """A word and a sentence for each; none if all results came in the order asked for.

    After a stop they are those of the answer: what came later has no part in it.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB")
    >>> trial = study.fail(study.ask(), "dropped")
    >>> [word for word, _ in conditions(study)]
    ['Failures']
    """
    taken, until = _answer(study)
    found = []
    if out_of_order(study):
        found.append(
            (
                "Order",
                "Some results were taken in before others that had been asked for earlier. So how "
                "long an evaluation takes must not depend on its value.",
            )
        )
    unasked = sum(trial.cause.origin == "unasked" for trial in taken)
    if unasked:
        found.append(
            (
                "Data nobody asked for",
                f"Results told without having been asked for: {unasked:,}. Whether and when they "
                "were told did not depend on their values.",
            )
        )
    carried = sum(trial.cause.origin == "carried" for trial in taken)
    if carried:
        found.append(
            (
                "Carried over",
                f"Results carried over from an earlier study: {carried:,}, all that it had, each "
                "arm's in their order. What an arm gives does not depend on which study asks.",
            )
        )
    lost = sum(
        trial.state in ("failed", "cancelled") and (trial.closed or 0) <= until
        for trial in study.trials
    )
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
    taken, until = _answer(study)
    numbers = [trial.number for trial in taken]
    earlier = study.trials[: max(numbers, default=0)]
    open_then = any(trial.closed is None or trial.closed > until for trial in earlier)
    return open_then or numbers != sorted(numbers)


def _answer(study: View) -> tuple[Sequence[Trial], int]:
    """The results that the answer rests on, and the last change of the study before it."""
    taken: Sequence[Trial] = study.taken
    if study.model.stopped:
        taken = taken[: study.answered_at]
    elif study.trials:
        return taken, max(trial.closed or trial.opened for trial in study.trials)
    return taken, max((trial.closed or 0 for trial in taken), default=0)
