"""Looks at a study: shared, at most so often, and no earlier than what was acknowledged."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

import shortlist
from served import begun
from shortlist.serve.follower import Follower


def test_who_asks_at_once_shares_a_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(tmp_path / "study.db")
    looks: list[str] = []
    refresh = shortlist.Study.refresh

    def counted(study: shortlist.Study) -> None:
        looks.append(threading.current_thread().name)
        refresh(study)

    async def many() -> None:
        follower = Follower(lambda: shortlist.Study.load(tmp_path / "study.db"))
        await follower.latest(0)
        monkeypatch.setattr(shortlist.Study, "refresh", counted)
        follower._due = 0.0
        found = await asyncio.gather(*(follower.latest(0) for _ in range(100)))
        assert len({id(each) for each in found}) == 1
        assert len(looks) == 1
        assert "look" in looks[0]
        await asyncio.gather(*(follower.latest() for _ in range(100)))
        assert len(looks) == 1  # the next one is not due yet
        follower.close()

    asyncio.run(many())


def test_what_is_wanted_is_waited_for(tmp_path: Path) -> None:
    study = begun(tmp_path / "study.db")

    async def follow() -> None:
        follower = Follower(lambda: shortlist.Study.load(tmp_path / "study.db"))
        assert (await follower.latest()).changes == 0
        study.ask(3)
        assert (await follower.latest()).changes == 0  # as it was last seen
        assert (await follower.latest(study.changes)).status["pending"] == 3
        # More than there are: the storage was put back to an earlier copy, say.
        assert (await follower.latest(99)).changes == 3
        follower.close()

    asyncio.run(follow())


def test_long_looks_are_followed_by_long_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    from shortlist.serve import follower as module

    begun(tmp_path / "study.db")
    live = module.live
    monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setattr(module, "live", lambda *given: [time.sleep(0.3), live(*given)][1])

    async def follow() -> None:
        follower = Follower(lambda: shortlist.Study.load(tmp_path / "study.db"))
        await follower.latest(0)
        assert follower._due - time.monotonic() > 0.8  # three times as long as the look took
        follower.close()

    asyncio.run(follow())


def test_a_study_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    async def follow() -> None:
        follower = Follower(lambda: shortlist.Study.load(tmp_path / "none.db"))
        with pytest.raises(shortlist.errors.StorageError, match=r"none\.db"):
            await follower.latest(0)
        begun(tmp_path / "none.db")
        assert (await follower.latest(0)).changes == 0  # it is there now
        assert follower.problem == ""
        follower.close()

    asyncio.run(follow())
