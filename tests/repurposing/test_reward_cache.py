"""Rewards are kept with their seeds, whatever ends the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from screens import small
from shortlist.errors import InvalidSetting
from shortlist.repurposing import Dynamics, Semantics
from shortlist.repurposing.reward_cache import RewardCache
from shortlist.repurposing.synthetic_data import DataSet


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small(networks=2)


@pytest.mark.slow
def test_an_interrupted_study_goes_on_with_the_same_pulls(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pulls(cache: Path | None, stop: int | None = None) -> list[tuple[int, float | None]]:
        screen = data.screen(cache=cache, seed=4)
        study = screen.study(2, epsilon=0.3)
        study.run(screen.objective, max_evaluations=stop, progress=False)
        return [(trial.arm, trial.value) for trial in study.trials]

    path = tmp_path / "pulls.csv"
    whole = pulls(None)
    assert pulls(path, 100) == whole[:100]
    with path.open("a") as file:
        file.write("reverser 1,12345,0.")  # ended in the middle of a line
    assert pulls(path) == whole
    assert len(path.read_text().splitlines()) == 2 + len(whole)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a reward that is in the file was simulated again")

    monkeypatch.setattr(Dynamics, "simulate", never)
    assert pulls(path) == whole


def test_a_cache_of_another_screen_is_refused(data: DataSet, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    data.screen(cache=path).reward(0, 1)
    kept = path.read_bytes()
    for other in ({"semantics": Semantics(free="zero")}, {"seed": 5}, {"labels": None}):
        same = "semantics" not in other
        if same:  # neither the seed nor the labels change a reward
            assert data.screen(cache=path, **other).reward(0, 1) == data.screen().reward(0, 1)
        else:
            with pytest.raises(InvalidSetting, match="contains rewards of another screen"):
                data.screen(cache=path, **other)
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("drug,seed,reward\na,1,0.5\n", 1),
        ("# rewards of the screen x\ndrug,seed,reward\na,1\n", 3),
        ("# rewards of the screen x\ndrug,seed,reward\na,1,0.5\nb,one,0.5\n", 4),
        (b"\xff\xfe\n".decode("latin-1"), 1),
    ],
)
def test_a_file_that_is_no_cache_is_left_alone(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidSetting, match=f"line {line}: this is not a reward cache"):
        RewardCache(path, "x")
    assert path.read_text(encoding="latin-1") == text


@pytest.mark.parametrize("start", ["", "# rewards of", "# rewards of the screen x\ndrug,se"])
def test_a_cache_ended_before_its_first_reward(start: str, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    path.write_text(start)
    cache = RewardCache(path, "x")
    cache.put("a, or b", 2**64 - 1, 0.1 + 0.2)
    again = RewardCache(path, "x")
    assert again.get("a, or b", 2**64 - 1) == 0.1 + 0.2
    assert path.read_text().splitlines()[:2] == ["# rewards of the screen x", "drug,seed,reward"]


FORMULA = "=cmd|' /C calc'!A0"


def test_rewards_are_kept_under_any_name(tmp_path: Path) -> None:
    kept = RewardCache(tmp_path / "pulls.csv", "x")
    drugs = [FORMULA, f"'{FORMULA}", "C07", "a\nb", "a\rb", "a\x85b", "a\u2028b", 'a"b', "a,b", " "]
    for number, drug in enumerate(drugs):
        kept.put(drug, number, 0.5)
    assert "\n=" not in kept.path.read_text()
    again = RewardCache(kept.path, "x")
    assert [again.get(drug, number) for number, drug in enumerate(drugs)] == [0.5] * len(drugs)
