"""Results of one study as the first results of another, which assumes less of the means."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shortlist.study.study import Study

Result = tuple[int, float]


def carry_over(study: Study, rehearsal: Study, into: Study) -> None:
    """Tell ``into`` every result of ``study``, in one transaction; do nothing if it has any yet.

    What an arm gave is the same whoever asked for it, so results may be used again as long as each
    arm's stay in the order in which they came. Which arms come first is then ours to choose: an
    algorithm that goes plan by plan counts what its plan has room for.

    Parameters
    ----------
    study : Study
        Whose results.
    rehearsal : Study
        Like ``into``, in memory, to find out what its plans have room for.
    into : Study
        Who is told.
    """
    if into.trials:
        return
    into._tell_carried(_in_order_of_use(study, rehearsal))


def _in_order_of_use(study: Study, rehearsal: Study) -> list[Result]:
    stock: dict[int, deque[float]] = {}
    for trial in study.taken:
        assert trial.value is not None
        stock.setdefault(trial.arm, deque()).append(trial.value)
    order: list[Result] = []
    while not rehearsal.done:
        missing = rehearsal.bound.engine.missing(rehearsal.posterior, rehearsal.round)
        wanted = [
            (arm, stock[arm].popleft())
            for arm in np.flatnonzero(missing).tolist()
            for _ in range(min(missing[arm], len(stock.get(arm, ()))))
        ]
        if not wanted:
            break
        rehearsal._tell_carried(wanted)
        order += wanted
    return order + [(arm, value) for arm, values in stock.items() for value in values]
