"""Arms that are set aside because their evaluations keep failing, in words."""

from __future__ import annotations

from shortlist.advice import advise
from shortlist.errors import BudgetSpent, OnlyFailingArms, ShortlistError
from shortlist.printable import count, on_one_line
from shortlist.study.budget import no_room
from shortlist.study.ledger import Failures
from shortlist.study.view import View, cells_of

ARMS_SHOWN, REASON_SHOWN = 5, 200  # characters


def in_words(failures: Failures) -> str:
    """An arm that fails, and how."""
    return f"{failures.last.name!r} ({failed_words(failures)})"


def failed_words(failures: Failures) -> str:
    """How often an arm failed in a row, and the last line of the last reason."""
    lines = (failures.last.reason or "").strip().splitlines()
    why = f", the last: {on_one_line(lines[-1].strip())[:REASON_SHOWN]}" if lines else ""
    return f"{failures.number:,} failures in a row{why}"


def failing_arms(study: View) -> str:
    """The arms that are set aside, with their failures."""
    shown = [in_words(failures) for failures in study.set_aside[:ARMS_SHOWN]]
    more = len(study.set_aside) - len(shown)
    return "; ".join([*shown, f"{more:,} more"] if more else shown)


def remedy(study: View) -> str:
    """What to do about the arms of a study that are set aside.

    Examples
    --------
    >>> from shortlist import Study
    >>> remedy(Study(arms=["ash", "elm"], m=1, sigma=0.1)).partition("repaired, ")[2]
    'retire the arm: study.retire(…, reason=…, whatever_the_results=True). Then the answer is about the others.'
    """
    arm = study.set_aside[0].last.name if len(study.set_aside) == 1 else None
    leave_out = f"retire the arm: {advise('retire', arm=arm)}. Then the answer is about the others."
    if study.problem.blocks.shifts and study.model.initialized:
        leave_out = study.problem.blocks.without_arm
    if not study.aim.certifies:
        leave_out = (
            "begin a study without that arm, with the rest of the budget and these results: "
            f"{advise('carry over')}."
        )
    return (
        "Repair the evaluation and tell a result of the arm "
        f"({advise('tell', arm=None, value=None)}): then it is asked for again. If it cannot be repaired, {leave_out}"
    )


def set_aside_words(study: View) -> str:
    """Which arms are set aside, and what to do, in sentences; empty if there are none.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1)
    >>> set_aside_words(study)
    ''
    """
    if not study.set_aside:
        return ""
    return f"Set aside, and no longer asked for: {failing_arms(study)}. {remedy(study)}"


def nothing_to_ask(study: View) -> ShortlistError:
    """Why a study that has not stopped has no trial to be asked for."""
    if study.problem.blocks.number is not None and not study.set_aside:
        return BudgetSpent(
            f"every cell that is left of the pool is pending: {cells_of(study.pending)}. Tell their "
            "results first. One that is lost can be asked for again when it is cancelled: "
            f"{advise('cancel', trial=study.pending[0].number)}."
        )
    if not is_for_failures(study):
        return BudgetSpent(no_room(study))
    under_way = ""
    if study.pending:
        trials = count(len(study.pending), "pending trial")
        under_way = f" {trials} may be told first: what is needed after that may be another arm."
    return OnlyFailingArms(
        "every evaluation that the study needs now is of an arm that keeps failing: "
        f"{failing_arms(study)}. {remedy(study)}{under_way}"
    )


def is_for_failures(study: View) -> bool:
    """Whether it is for arms set aside, not for a budget or an audit, that no more is asked for."""
    made = len(study.taken) + len(study.pending) + len(study.waiting)
    return bool(study.set_aside) and study.aim.room(made) > 0 and not study.audit.is_running
