"""An exception anywhere within ask or tell: nothing of the call was done, and it can be repeated."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import shortlist
from examples.race import RACE
from paths import TESTS
from shortlist import Study
from shortlist.engine.follow import DECIDE, Steps
from shortlist.plans.pairs_in_doubt import PairsInDoubt
from shortlist.problem import Problem
from shortlist.study.model import Model
from shortlist.study.trial import Trial

PACKAGE = str(Path(shortlist.__file__).parent)
FEATURES = np.array([[1.0, 0.0], [0.9, 0.4], [0.2, 0.9], [0.0, 1.0], [0.3, 0.3]])
MEANS = FEATURES @ np.array([0.8, 0.3])
# Also called when an object is thrown away: what is raised then has nobody to go to.
THROWN_AWAY = ("_close", "<genexpr>")
MOST = 6  # moments within one call
# Without so large a slack these would take hundreds of results more, each like the one before.
COINS: dict[str, Any] = {"sigma": "bounded", "reward_range": (0.0, 1.0), "epsilon": 0.5}
KINDS: dict[str, dict[str, Any]] = {
    "m-LinGapE": {"algorithm": "m-LinGapE"},
    "m-LinGapE optimized": {"algorithm": "m-LinGapE optimized"},
    "LinGIFA": {"algorithm": "LinGIFA"},
    "LUCB": {"algorithm": "LUCB"},
    "LUCB both arms": {"algorithm": "LUCB both arms"},
    "UGapE": {"algorithm": "UGapE"},
    "LinGame": {"algorithm": "LinGame"},
    "Guess-and-verify": {"algorithm": "Guess-and-verify"},
    "bets": COINS,
    "pairs-in-doubt": {"budget": 30},
    "sigma estimated": {"algorithm": "Guess-and-verify", "sigma": "estimate"},
}


def begin(kind: str, **others: Any) -> Study:
    settings: dict[str, Any] = {"sigma": 0.2, "seed": 3, **KINDS[kind], **others}
    if "budget" not in settings:
        settings = {"epsilon": 0.2, **settings}  # without it most would take hundreds of results
    return Study(FEATURES, 2, **settings)


def result(trial: Trial) -> float:
    value = MEANS[trial.arm] + 0.2 * np.random.default_rng(trial.number).standard_normal()
    return float(np.clip(value, 0.0, 1.0))


class Interruption:
    """Raises KeyboardInterrupt at the calls of these numbers, of those made within the package.

    Python removes a profile function that raises, and a trace function too: the first interruption
    comes from the one, the second from the other. The garbage collector waits, because what it
    throws away would be interrupted with nobody to hear of it.
    """

    def __init__(self, *at: int) -> None:
        assert len(at) <= 2
        self.calls, self.raised, self._at = 0, 0, at
        self.was_speaking = False  # the study, when the last one came
        # Held here: Python does not hold a profile function while it calls it.
        self._first, self._second = self._profile, self._trace

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and self._is_due(frame):
            sys.settrace(self._second)
            raise KeyboardInterrupt

    def _trace(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and self._is_due(frame):
            raise KeyboardInterrupt

    def _is_due(self, frame: FrameType) -> bool:
        code = frame.f_code
        if code.co_name in THROWN_AWAY or not code.co_filename.startswith(PACKAGE):
            return False
        self.calls += 1
        is_due = self.calls in self._at
        if is_due:
            self.raised += 1
        return is_due

    def __enter__(self) -> Interruption:
        gc.disable()
        sys.setprofile(self._first)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        sys.settrace(None)
        gc.enable()


def is_speaking(error: BaseException) -> bool:
    """Whether a study was saying what it found: after the change, which then is made."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is Study._speak.__code__ for frame, _ in frames)


def calls(act: Callable[[], Any]) -> int:
    """How many Python calls are made within the package, were it not interrupted."""
    with Interruption() as counted:
        act()
    return counted.calls


def interrupted(act: Callable[[], Any], *at: int) -> Interruption:
    """How the call was interrupted."""
    with Interruption(*at) as made:
        try:
            act()
        except KeyboardInterrupt as error:
            made.was_speaking = is_speaking(error)
    return made


@dataclass
class Replayed:
    """What a study's log gives to one that begins anew."""

    model: Model
    answered_at: int
    audit: list[Any]
    done: bool

    @classmethod
    def of(cls, study: Study) -> Replayed:
        model = Model(study._log._procedure, study.seed)
        stops: list[int] = []
        for steps in (Steps.of(DECIDE), study.all_steps()):
            model.take(steps, lambda: stops.append(model.posterior.observed))
        study._log._agreed = -1  # all is made again from the log
        return cls(model, stops[-1] if stops else 0, audited(study), study.done)


def check_is_its_log(study: Study, log: Replayed) -> None:
    """The study is what its log gives to one that begins anew."""
    model, own = log.model, study._log.model
    assert model.digest() == own.digest()
    assert repr(model.decision) == repr(own.decision)  # NaN is not equal to itself
    assert model.stopped == study.model.stopped
    assert study.answered_at == log.answered_at
    assert np.array_equal(model.posterior.pulls, study.posterior.pulls)
    assert study.evaluations == len(study.taken)
    assert np.bincount([t.arm for t in study.taken], minlength=5).tolist() == (
        study.posterior.pulls.tolist()
    )
    if model.decision is not None:
        assert np.array_equal(model.round.inside, study.round.inside)
        threshold = model.procedure.engine.threshold
        assert threshold(study.posterior, study.round) == threshold(model.posterior, model.round)
    assert audited(study) == log.audit
    assert study.done == log.done


def audited(study: Study) -> list[Any]:
    """All that is known of the audit."""
    audit = study.audit
    verdict = None if audit.verdict is None else (audit.verdict.rejected, audit.verdict.least)
    made = [trial.number for trial in audit.results]
    return [audit.plan, verdict, audit.rejection, made, audit.missing(study.trials)]


def story(study: Study) -> list[Any]:
    """All that is known of the trials but the time of day."""
    # Causes in words, since a statistic that is NaN is not equal to itself.
    rows = [(t.number, t.arm, t.state, t.value, t.reason, repr(t.cause)) for t in study.trials]
    return [*rows, study.fingerprint, [t.number for t in study.pending]]


def moments(study: Study, made: int) -> list[int]:
    """The first, the last and some other of the Python calls that were made.

    Others are drawn every time: kinds and evaluations have most of their code in common, and between
    them they reach all of it.
    """
    drawn = np.random.default_rng(int(study.fingerprint[:8], 16)).permutation(made)
    return sorted({1, made, *(1 + drawn[: MOST - 2]).tolist()})


def shake(study: Study, act: Callable[[], Any], again: Callable[[], Any]) -> None:
    """Interrupt a call at Python calls that it makes, then let it be.

    ``again`` makes the same call in a study that has met no interruption.
    """
    before, log, made = story(study), Replayed.of(study), calls(again)
    for at in moments(study, made):
        came = interrupted(act, at)
        if not came.raised:
            return  # fewer calls than the other's: something was computed once and kept
        if came.was_speaking:
            check_is_its_log(study, Replayed.of(study))
            return
        assert story(study) == before  # so the log is the same too
        check_is_its_log(study, log)
    act()


def busiest(kind: str) -> list[int]:
    """Evaluations to interrupt: the first ones, those that take most calls, and the last."""
    study, made = begin(kind), []
    while not study.done:
        trial = study.ask()
        made.append(calls(lambda t=trial: study.tell(t, result(t))))  # type: ignore[misc]
    assert len(made) < 2000
    return sorted({0, 1, *np.argsort(made)[-3:].tolist(), len(made) // 2, len(made) - 1})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_anywhere_it_is_its_log_and_goes_on_as_if_nothing_had_been(kind: str) -> None:
    chosen = busiest(kind)
    shaken, calm = begin(kind), begin(kind)
    for step in range(chosen[-1] + 1):
        if step not in chosen:
            for study in (shaken, calm):
                trial = study.ask()
                study.tell(trial, result(trial))
            continue
        shake(shaken, lambda: shaken.ask(), lambda: calm.ask())
        mine, other = shaken.trials[-1], calm.trials[-1]
        assert mine.arm == other.arm
        shake(
            shaken,
            lambda m=mine: shaken.tell(m, result(m)),  # type: ignore[misc]
            lambda o=other: calm.tell(o, result(o)),  # type: ignore[misc]
        )
        assert shaken.trials[mine.number].state == "told"
    assert shaken.done
    assert calm.done
    assert story(shaken) == story(calm)
    assert shaken.shortlist.names == calm.shortlist.names
    assert shaken.table().equals(calm.table())


def ways(study: Study) -> Iterator[Callable[[], Any]]:
    """Every way to change a study, one after the other."""
    yield lambda: study.ask(4)
    yield lambda: study.tell_many([(number, 0.5 + 0.1 * number) for number in (0, 2)])
    yield lambda: study.tell(arm=1, value=0.4)
    yield lambda: study.fail(1, "broken")
    yield lambda: study.cancel(3)
    yield lambda: study._log.ask(3, in_turn=True, run=None)
    yield lambda: study.tell(6, 0.1)  # has to wait for the one before it
    yield lambda: study.tell(5, 0.2)
    yield lambda: study._log.give_up([study.trials[7]], cancel=False)
    yield lambda: study.ask(2)  # the one given back, and a new one
    while not study.done:
        trial = study.ask()
        study.tell(trial, result(trial))
    yield study.reopen
    yield lambda: study.ask()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LUCB both arms", "Guess-and-verify", "sigma estimated"])
@pytest.mark.parametrize("stored", [False, True])
def test_every_change_is_made_wholly_or_not_at_all(kind: str, stored: bool, tmp_path: Path) -> None:
    places: list[dict[str, Any]] = [
        {"storage": tmp_path / f"{name}.db"} if stored else {} for name in ("shaken", "calm")
    ]
    shaken, calm = (begin(kind, **place) for place in places)
    for act, again in zip(ways(shaken), ways(calm), strict=True):
        # What is kept cannot be taken back: an exception may come when it is kept already.
        if not stored:
            shake(shaken, act, again)
            continue
        before, made = story(shaken), calls(again)
        for at in moments(shaken, made):
            if not interrupted(act, at).raised:
                break  # it had nothing more to do than to read what was kept
            shaken.refresh()
            check_is_its_log(shaken, Replayed.of(shaken))
            if story(shaken) != before:
                break
        else:
            act()
        assert story(shaken)[:-2] == story(calm)[:-2]
        assert story(Study.load(tmp_path / "shaken.db")) == story(shaken)
    assert story(shaken) == story(calm)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shift"), [("m-LinGapE", 0), ("Guess-and-verify", 1), ("LinGIFA", 2)]
)
def test_a_second_interruption_does_not_keep_the_first_from_being_mended(
    kind: str, shift: int
) -> None:
    shaken, calm = begin(kind, epsilon=0.0), begin(kind, epsilon=0.0)
    while shaken.stage != "rounds":
        for study in (shaken, calm):
            trial = study.ask()
            study.tell(trial, result(trial))
    mine, other = shaken.ask(), calm.ask()
    before, log = story(shaken), Replayed.of(shaken)
    made = calls(lambda: calm.tell(other, result(other)))
    twice = 0
    tried = range(1, made - 2, 2)
    for at in tried:
        assert interrupted(lambda: shaken.tell(mine, result(mine)), at).raised
        later = 1 + (7 * at + shift) % made  # while all is read again
        twice += interrupted(lambda: shaken.table(), later).raised
        assert story(shaken) == before
        check_is_its_log(shaken, log)
    assert 3 * twice > len(tried)
    shaken.tell(mine, result(mine))
    assert story(shaken) == story(calm)


STRATEGIES = {
    "Race": RACE,
    "pairs-in-doubt": PairsInDoubt(budget=60),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_decision_that_is_interrupted_leaves_all_as_it_was(name: str) -> None:
    noise: dict[str, Any] = {"sigma": "bounded", "reward_range": (0, 1)}
    engine: Any = STRATEGIES[name].bind(Problem.of(FEATURES, 2, **noise)).engine
    course = engine.round()
    course.begin(1)
    for _ in range(3):
        for cell in course.order:
            value = float(np.clip(MEANS, 0.0, 1.0)[cell.arm])
            course.take(cell.arm, cell.block, value, asked=True)
        twin = course.copy()
        made = calls(lambda t=twin: t.decide())  # type: ignore[misc]
        before, strategy = dict(vars(course)), dict(vars(course.search.strategy))
        for at in range(1, made + 1):
            if not interrupted(lambda: course.decide(), at).raised:
                break  # fewer calls than the twin's: something was computed once and kept
            for then, now in ((before, course), (strategy, course.search.strategy)):
                assert vars(now).keys() == then.keys()
                assert all(value is then[key] for key, value in vars(now).items())
        else:
            course.decide()
        own, other = course.search.strategy, twin.search.strategy
        assert own.statistic == other.statistic
        assert own.plan.tolist() == other.plan.tolist()
        if course.search.stopped:
            break


@pytest.mark.skipif(sys.platform == "win32", reason="no signals are inherited there")
def test_tests_that_interrupt_run_where_ctrl_c_is_ignored(tmp_path: Path) -> None:
    """As under nohup, from cron, and in background jobs; so do programs that they start."""
    (tmp_path / "test_one.py").write_text(
        "import os, signal, subprocess, sys, pytest\n"
        "def test_one():\n"
        "    with pytest.raises(KeyboardInterrupt):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    own = 'import os, signal; os.kill(os.getpid(), signal.SIGINT)'\n"
        "    ended = subprocess.run([sys.executable, '-c', own], stderr=subprocess.DEVNULL)\n"
        "    assert ended.returncode == -signal.SIGINT\n"
    )
    settings = ["-p", "conftest", "-c", os.devnull, "--rootdir", str(tmp_path), "-q", "-s"]
    pytest_alone = [sys.executable, "-m", "pytest", *settings, str(tmp_path / "test_one.py")]
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ended = subprocess.run(
        [*ignoring, *pytest_alone], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
