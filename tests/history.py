"""Checks what a stored study holds against what its users did and were told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import shortlist
from shortlist.catalog.registry import find_algorithm
from shortlist.storage.memory import MemoryStorage
from shortlist.study.log import begun


def check_history(
    study: shortlist.Study,
    acknowledged: Iterable[tuple[int, float]],
    attempted: Iterable[tuple[int, float]],
) -> None:
    """Every acknowledged result is there once, none is invented, and a replay is the same.

    Parameters
    ----------
    study : Study
        Freshly loaded.
    acknowledged : iterable of (arm, value)
        Results of which ``tell`` has said that they are stored.
    attempted : iterable of (arm, value)
        All results that were ever given to ``tell``, those as well; each once.
    """
    stored = Counter((t.arm, t.value) for t in study.trials if t.state == "told")
    promised, given = Counter(acknowledged), Counter(attempted)
    lost = promised - stored
    assert not lost, f"acknowledged and not stored: {lost}"
    invented = stored - given
    assert not invented, f"stored and never told, or stored twice: {invented}"
    told = sorted(t.number for t in study.trials if t.state == "told")
    assert sorted(t.number for t in [*study.taken, *study.waiting]) == told
    assert int(study.posterior.pulls.sum()) == len(study.taken)
    check_replay(study)


def check_replay(study: shortlist.Study) -> None:
    """Do in memory, in order, what was done to a stored study: it must ask for the same."""
    log = study._log
    memory = object.__new__(shortlist.Study)
    procedure = find_algorithm(log._definition.recalled(None, study.name)[0]).bind(
        study.problem, log._definition.choices["threshold"]
    )
    memory._begin(procedure, log._definition, MemoryStorage(begun(log._definition)))
    asked = {t.opened: t for t in study.trials if t.cause.origin != "unasked"}
    given = {t.opened: t for t in study.trials if t.cause.origin == "unasked"}
    closed = {t.closed: t for t in study.trials if t.closed is not None}
    events = {event.change: event for event in log.ledger.events}
    for change in sorted({*asked, *given, *closed, *events}):
        if change in events:
            event = events[change]
            if event.kind == "reopened":
                memory.reopen()
            elif event.kind == "corrected":
                memory.correct(event.trial, event.value, reason=event.reason)
        elif change in asked:
            trial = asked[change]
            (own,) = memory._log.ask(1, in_turn=trial.in_turn, run=None) or []
            assert (own.number, own.arm, own.seed) == (trial.number, trial.arm, trial.seed)
        elif change in given:
            trial = given[change]
            memory.tell(arm=trial.arm, value=trial.first_value, key=trial.key)
        elif closed[change].cause.origin != "unasked":
            trial = closed[change]
            if trial.state == "told":
                memory.tell(trial.number, trial.first_value)
            elif trial.state == "failed":
                memory.fail(trial.number)
            else:
                memory.cancel(trial.number)
    assert [t.number for t in memory.taken] == [t.number for t in study.taken]
    assert memory.posterior.means.tobytes() == study.posterior.means.tobytes()
