"""Nothing lost: processes killed at random moments, resumed, and held against their own word.

``make torture`` kills them a thousand times, 25 at most in a study as here.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import crash
import forks
import shortlist

pytestmark = pytest.mark.slow
NewStorage = Callable[[], str]
KILLS = 25
TRUTH = set(crash.MEANS.argsort()[-crash.M :].tolist())


def run_and_kill(storage: str, noted: Path, workers: int, longest: float) -> None:
    command = [*forks.python(), crash.__file__, storage, str(noted)]
    out = subprocess.run(
        [*command, str(KILLS), str(workers), str(longest)],
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
    )
    ended = json.loads(out.stdout)
    assert ended["last"] == 0
    assert ended["killed"] == KILLS
    # Most were killed while the study ran, at moments all over it.
    running = [moment for moment in ended["moments"] if 0 < moment < ended["noted"]]
    assert len(running) > KILLS / 2
    assert len(set(running)) > KILLS / 4
    assert set(ended["ends"]) <= {0, -signal.SIGKILL}, out.stderr


def assert_acknowledged_are_there_once(study: shortlist.Study, noted: Path) -> None:
    acknowledged = dict(line.split() for line in noted.read_text().splitlines())
    assert len(acknowledged) > 100
    for number, value in acknowledged.items():
        trial = study.trials[int(number)]
        assert (trial.state, trial.value) == ("told", float(value))
    told = [t.number for t in study.trials if t.state == "told"]
    assert sorted(t.number for t in study.taken + study.waiting) == told
    assert study.posterior.pulls.sum() == len(study.taken)
    # Killed between the commit and the note: told, and not acknowledged to anybody.
    assert len(told) - len(acknowledged) <= KILLS


def replayed(study: shortlist.Study) -> shortlist.Study:
    """One process in memory that does, in order, what all of them did: it must ask for the same."""
    memory = crash.begin(None)
    asked = {t.opened: t for t in study.trials}
    closed = {t.closed: t for t in study.trials if t.closed is not None}
    for change in sorted([*asked, *closed]):
        if change in asked:
            trial = asked[change]
            (own,) = memory._log.ask(1, in_turn=trial.in_turn, run=None) or []
            assert (own.number, own.arm, own.seed) == (trial.number, trial.arm, trial.seed)
        else:
            trial = closed[change]
            if trial.state == "told":
                memory.tell(trial.number, trial.value)
            else:
                memory.cancel(trial.number)
    return memory


def test_a_study_whose_process_is_killed_again_and_again(tmp_path: Path) -> None:
    """One process, on SQLite: ends with the very pulls of a run that nobody disturbed."""
    storage, noted = str(tmp_path / "study.db"), tmp_path / "noted"
    run_and_kill(storage, noted, workers=1, longest=0.05)
    study = shortlist.Study.load(storage)
    undisturbed = crash.begin(None)
    undisturbed.run(crash.objective, progress=False)
    assert study.done
    assert undisturbed.done
    assert [(t.arm, t.value) for t in study.taken] == [(t.arm, t.value) for t in undisturbed.taken]
    assert [t.state for t in study.trials] == ["told"] * len(study.trials)
    assert study.shortlist.names == undisturbed.shortlist.names
    assert_acknowledged_are_there_once(study, noted)


def test_eight_processes_on_one_study_killed_at_random(
    new_storage: NewStorage, tmp_path: Path
) -> None:
    storage, noted = new_storage(), tmp_path / "noted"
    run_and_kill(storage, noted, workers=8, longest=0.02)
    study = shortlist.Study.load(storage)
    assert study.done
    assert set(study.shortlist) == TRUTH
    assert_acknowledged_are_there_once(study, noted)
    memory = replayed(study)
    assert memory.shortlist.names == study.shortlist.names
    assert [t.number for t in memory.taken] == [t.number for t in study.taken]
    assert (memory.posterior.means == study.posterior.means).all()
