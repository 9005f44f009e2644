"""Studies in memory: a change is kept whole or not at all, wherever it is cut short."""

from __future__ import annotations

from contextlib import suppress

import pytest

from shortlist.storage import memory
from shortlist.storage.base import Change, Checkpoint, Event, Known, Settings

NOTHING = Known(0, 0, [])


def test_a_change_that_was_cut_short_is_finished_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once it is kept it is kept, and entered once."""
    storage = memory.MemoryStorage()
    storage.begin("s", Settings("{}", "[]", None, "", None, 0.0), Checkpoint(0, "", "", "", ""))
    rows, events = [(0, "open"), (1, "open")], [Event(3, "reopened", -1, 0.0, "ann")]
    change = Change(rows, [], events, Checkpoint(3, "a", "", "", ""))
    with storage.transaction(writing=True) as transaction:
        transaction.commit(change)
    told = Change(
        [], [(1, "told")], [Event(5, "verifying", -1, 0.0, "ann")], Checkpoint(5, *"bbbb")
    )
    with storage.transaction(writing=True) as transaction:
        transaction.commit(told)

    class Cut(list[Event]):
        def __iadd__(self, other: object) -> Cut:  # type: ignore[override,misc]
            raise KeyboardInterrupt

    kept = storage._study
    monkeypatch.setattr(kept, "events", Cut(kept.events))
    with pytest.raises(KeyboardInterrupt):
        storage.transaction(writing=False).__enter__()
    monkeypatch.setattr(kept, "events", list(kept.events))
    for _ in range(2):
        with storage.transaction(writing=False) as transaction:
            assert transaction.checkpoint == told.checkpoint
            assert transaction.news(NOTHING) == (
                [(0, "open"), (1, "told")],
                [*events, *told.events],
            )
            assert transaction.news(Known(3, 2, [1])) == ([(1, "told")], list(told.events))


def test_a_transaction_that_raises_keeps_nothing() -> None:
    storage = memory.MemoryStorage(Checkpoint(0, "", "", "", ""))
    with suppress(KeyboardInterrupt), storage.transaction(writing=True) as transaction:
        transaction.commit(Change([(0, "open")], [], [], Checkpoint(1, "a", "", "", "")))
        raise KeyboardInterrupt
    with storage.transaction(writing=False) as transaction:
        assert transaction.checkpoint.changes == 0
        assert transaction.news(NOTHING) == ([], [])
