"""A strategy of one's own as an algorithm."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from examples.race import RACE
from planned import INSTANCE, X, begin, result
from shortlist import errors
from shortlist.catalog.registry import ALGORITHMS
from shortlist.plans.algorithm import Planned
from shortlist.plans.guess_and_verify import NAMED_SETS
from shortlist.plans.question import Question
from shortlist.plans.strategy import Strategy


class Lazy(Strategy):
    """Pulls everybody once and believes it."""

    def __init__(self, task: Question) -> None:
        self.plan = np.ones(task.arms, np.int64)
        self.inside = np.arange(task.arms) < task.m
        self.b, self.c, self.threshold, self.statistic = 0, task.m, np.inf, np.inf
        self.task = task

    def decide(self, arms: Any, values: Any, seed: int) -> None:
        sums = np.bincount(arms, values, self.task.arms)
        self.inside = np.argsort(np.argsort(-sums)) < self.task.m
        self.b, self.c = np.flatnonzero(self.inside)[0], np.flatnonzero(~self.inside)[0]
        self.threshold, self.statistic = 1.0, -1.0

    def differences(self, j: int) -> Any:
        return (np.zeros(len(self.plan)),) * 3

    def threshold_at(self, time: float) -> float:
        return 1.0


def test_a_strategy_of_ones_own_says_what_it_is_worth(tmp_path: Path) -> None:
    own: dict[str, Any] = {"strategy": Lazy, "threshold": NAMED_SETS}
    lazy = Planned(name="Lazy", unproven=("one pull proves nothing",), **own)
    study = begin("", algorithm=lazy, storage=tmp_path / "study.db")
    study.run(result, progress=False)
    assert study.evaluations == len(X)
    assert study.shortlist.guarantee.text.startswith(
        "Heuristic: no proof covers this answer, because on"
    )
    with pytest.raises(errors.InvalidSetting, match=r"with Study\.load\(storage, algorithm="):
        shortlist.Study.load(tmp_path / "study.db")
    again = shortlist.Study.load(tmp_path / "study.db", algorithm=lazy)
    assert again.shortlist.names == study.shortlist.names
    extended = Planned(name="Lazy", extends="it is proven for two arms", **own)
    words = extended.bind(INSTANCE.problem(0.05, 0.0)).claim.text
    assert words.startswith(
        "Extension without a theorem: it is proven for two arms. The intended claim is: no"
    )
    assert not extended.bind(INSTANCE.problem(0.05, 0.0)).proven
    with pytest.raises(errors.InvalidSetting, match="defined for m = 1, got m = 2"):
        Planned(name="One", only_m=1, **own).bind(INSTANCE.problem(0.05, 0.0))


@pytest.mark.parametrize("own", [RACE, shortlist.PairsInDoubt(budget=9), shortlist.Guided()])
def test_a_copy_of_an_algorithm_is_the_same_algorithm(own: Any) -> None:
    for twin in (copy.copy(own), copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert twin == own
        assert hash(twin) == hash(own)
    assert own not in list(ALGORITHMS.values())


@pytest.mark.parametrize("name", ["Guess-and-verify", "Guess-and-verify (own results)", "LUCB"])
def test_a_study_stored_with_a_copy_of_an_algorithm_is_loaded_by_its_name(
    name: str, tmp_path: Path
) -> None:
    twin = copy.deepcopy(ALGORITHMS[name])
    study = begin("", algorithm=twin, storage=tmp_path / "study.db")
    assert shortlist.Study.load(tmp_path / "study.db").fingerprint == study.fingerprint
