"""Arms that are set aside because their evaluations keep failing, in words."""

from __future__ import annotations

import numpy as np

from shortlist.advice import advise, continued
from shortlist.errors import BudgetSpent, OnlyFailingArms, ShortlistError
from shortlist.printable import count
from shortlist.study.budget import no_room
from shortlist.study.ledger import Failures
from shortlist.study.view import View, cells_of

ARMS_SHOWN = 5


def in_words(failures: Failures) -> str:
    """An arm that fails, and how."""
    return f"{failures.last.name!r} ({failures.words})"


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
    >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1)
    >>> for trial in study.ask(3):
    ...     _ = study.fail(trial) if trial.name == "elm" else study.tell(trial, 0.5)
    >>> remedy(study).partition(". ")[0]
    'Repair the evaluation and call study.readmit(), or tell a result of the arm: study.tell(arm=…, value=…)'
    """
    arm = block = None
    if len(study.set_aside) == 1:
        last = study.set_aside[0].last
        arm, block = last.name, last.block
    told = advise("tell", arm=arm, value=None)
    if study.problem.blocks.exist:
        told = advise("tell with block", arm=arm, value=None, block=block)
    again = (
        f"Repair the evaluation and {advise('call readmit')}, or tell a result of the arm: {told}. "
        "Then it is asked for again."
    )
    if can_leave_out(study):
        return (
            f"{again} Until then the study goes on without it once it waits for nothing else, and the "
            "answer is about the others."
        )
    leave_out = f"retire the arm: {advise('retire', arm=arm)}. Then the answer is about the others."
    if not study.model.searches:
        leave_out = (
            f"go on with an algorithm that can do without it: {continued(algorithm='auto')}."
        )
    if not study.aim.certifies:
        leave_out = (
            "begin a study without that arm, with the rest of the budget and these results: "
            f"{advise('carry over')}."
        )
    return f"{again} If it cannot be repaired, {leave_out}"


def can_leave_out(study: View) -> bool:
    """Whether a study can go on without the arms that are set aside, by itself."""
    failing = [failures.last.arm for failures in study.set_aside]
    left = np.setdiff1d(study.procedure.arms_left, failing)
    enough = int(study.problem.listable[left].sum()) > study.problem.m
    return study.model.searches and study.aim.certifies and enough


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
