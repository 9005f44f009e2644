"""Nothing that the benchmarks import has gone from the package, nor what the parts of a round call."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from paths import BENCHMARKS
from shortlist.numerics.jit import Pointer, compile_at_once

NAMES = sorted(path.stem for path in BENCHMARKS.glob("*.py"))


@pytest.fixture(autouse=True)
def first_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # before tests/report and its like


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_loads(name: str) -> None:
    assert importlib.import_module(name).__doc__


def test_the_parts_of_a_round_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Interpreted: compiling its loop would take longer than all other tests of benchmarks."""
    parts = importlib.import_module("parts")
    written, reward = parts.rounds, parts.shortlist.instances.classic(K=4, m=2, omega=1.0).reward

    def interpreted(*given: Any) -> None:
        written.interpret(*(reward if isinstance(each, Pointer) else each for each in given))

    monkeypatch.setattr(parts, "rounds", interpreted)
    monkeypatch.setattr(parts, "ROUNDS", 20)
    monkeypatch.setattr(parts, "REPEATS", 1)
    parts.main()
    printed = capsys.readouterr().out
    assert all(part in printed for part in parts.PARTS)


def test_a_tell_is_short() -> None:
    """It was 64 calls in 13 files."""
    ask_tell, house = importlib.import_module("ask_tell"), importlib.import_module("house")
    compile_at_once()  # interpreted, a round is hundreds of calls
    study, means = ask_tell.begin()
    ask_tell.ask_and_tell(study, means, 300)  # and no look of the audit is due
    assert study.stage == "rounds"
    passed, _ = house.files_passed(study.tell, study.ask(), 0.0)
    assert len(passed) <= 32
    assert len(set(passed)) <= 6


def test_the_loop_beside_which_speed_is_measured_pulls_as_often_as_asked() -> None:
    speed, loop = importlib.import_module("speed"), importlib.import_module("numpy_loop")
    instance, *_ = speed.INSTANCES["K=4, N=3, m=2"]
    for name in ("m-LinGapE", "LinGIFA"):
        rounds, _ = loop.run(
            *(instance.features, instance.means, instance.m, instance.sigma),
            algorithm=name,
            rounds=30,
        )
        assert rounds == 30
        engine = speed.engine_of(name, instance, as_numpy=True)
        assert not len(engine.setup.initial)
        assert engine.setup.parts["threshold"] == "frequentist"
