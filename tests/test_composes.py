"""Every noise × what results share × features × what happens on the way: certified, or one clear refusal.

The table is that of docs/composes.md, and is checked against it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.errors import InvalidInput, LinearityRejected, StudyStopped

PAGE = Path(__file__).parents[1] / "docs" / "composes.md"
MEANS = (0.9, 0.8, 0.25, 0.2, 0.15, 0.1)
NAMES = [f"a{arm}" for arm in range(len(MEANS))]
BEST, NEW = {"a0", "a1"}, 0.3
SIGMA, SLACK, EACH, MOST = 0.1, 0.05, 6, 2400

NOISES = {
    "σ": {"sigma": SIGMA},
    "σ per arm": {"sigma": [SIGMA] * len(MEANS)},
    "range": {"sigma": "bounded", "reward_range": (-0.5, 1.5)},
    "estimate": {"sigma": "estimate"},
    "estimate per arm": {"sigma": "estimate per arm"},
}
SHARED: dict[str, dict[str, Any]] = {
    **{"nothing": {}, "pool": {"blocks": 80}},
    **{"drawn afresh": {"blocks": "random"}, "shifted": {"blocks": "shift"}},
}
FEATURES = ("none", "linear", "guide")
EVENTS = (
    *("nothing", "correct", "retire", "add", "widen", "verify", "budget", "costs"),
    *("fails", "breaks", "unasked"),
)
CELLS = list(itertools.product(EVENTS, NOISES, SHARED, FEATURES))
REFUSALS = {
    "pool": "the results of a pool are fixed numbers in a range",
    "verify": "the answer assumes nothing about how the means depend on the features: there is nothing left "
    "to verify",
    "add": "every arm of this study has a σ of its own, and none is known of new arms: nothing was changed",
}
QUICK = 7  # one cell in so many runs always


def refusal(event: str, noise: str, shared: str, features: str) -> str:
    """Why a cell is refused; empty if it is not."""
    if shared == "pool" and noise != "range":
        return REFUSALS["pool"]
    relies = features == "linear" and shared != "pool"
    refused = (event == "verify" and not relies) or (event, noise) == ("add", "σ per arm")
    return REFUSALS[event] if refused else ""


def estimated(event: str, noise: str, shared: str, features: str) -> bool:
    """Whether a budget is spent on the best estimate: where its algorithm knows σ and nothing is shared."""
    known = noise in ("σ", "σ per arm", "range")
    return event == "budget" and known and shared == "nothing" and features != "guide"


class Instance:
    """A study of an easy instance, and its measurements."""

    def __init__(self, noise: str, shared: str, features: str, event: str, seed: int) -> None:
        self.rng, self.shared, self.levels = np.random.default_rng(seed), shared, dict[Any, float]()
        self.noise = noise
        settings: dict[str, Any] = {**NOISES[noise], **SHARED[shared]}
        if event == "costs":
            settings["costs"] = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
        if event == "budget":
            settings["budget"] = 240
        rows = None
        if features != "none":
            rows = np.array(MEANS)[:, None]
            settings["trust"] = features
        settings |= {"m": 2, "arms": NAMES, "seed": 1, "epsilon": SLACK}
        self.study = shortlist.Study(rows, **settings)
        self.made = 0

    def value(self, arm: int, block: Any) -> float:
        mean = (*MEANS, NEW)[arm]
        if self.shared != "nothing":
            mean += self.levels.setdefault(block, self.rng.uniform(-0.3, 0.3))
        if self.shared == "pool":
            return float(mean)
        if self.noise == "range":
            return float(mean + self.rng.uniform(-SIGMA, SIGMA))
        return float(mean + SIGMA * self.rng.standard_normal())

    def work(self, until: int = MOST, failing: int | None = None) -> None:
        """Tell results until the study is done, or so many are in."""
        while not self.study.done and self.made < until:
            try:
                # Of results that come together it is tested, at a level, whether they share a shift.
                trials = self.study.ask(1 if self.shared == "nothing" else EACH)
            except (
                StudyStopped
            ):  # an arm that always fails was left out, which was all that was missing
                break
            assert trials or self.study.done
            for trial in trials:
                if trial.arm == failing:
                    if not self.study.done:
                        self.study.fail(trial, "broken")
                else:
                    self.study.tell(trial, self.value(trial.arm, trial.block))
                    self.made += 1

    def happens(self, event: str, features: str) -> None:
        """What happens on the way."""
        study = self.study
        if event == "correct":
            self.work()
            told = next(trial for trial in study.trials if trial.state == "told")
            assert told.value is not None
            study.correct(told.number, told.value + 0.02, reason="typo")
        elif event == "retire":
            study.retire("a3", reason="sold out")
        elif event == "add":
            study.add(None if features == "none" else [[NEW]], arms=["new"])
        elif event == "widen":
            study.widen(0.1)
        elif event == "verify":
            self.work()
            study.verify()
        elif event == "unasked":
            for arm, turn in itertools.product(range(len(MEANS)), range(3)):
                block = {"nothing": None, "pool": turn}.get(self.shared, 9000 + turn)
                more = {} if block is None else {"block": block}
                known = any(t.cell == (arm, turn) and t.state == "told" for t in study.trials)
                if not study.done and not (self.shared == "pool" and known):
                    study.tell(arm=arm, value=self.value(arm, block), **more)


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
def walk(event: str, noise: str, shared: str, features: str) -> str:
    """How a cell ends, with other measurements if means that are linear are rejected, by chance."""
    try:
        return walked(event, noise, shared, features)
    except LinearityRejected:
        return walked(event, noise, shared, features, seed=9)


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
def walked(event: str, noise: str, shared: str, features: str, seed: int = 8) -> str:
    """How a cell ends: "" if certified and right, or the refusal.

    Tests of what is assumed find something in up to 1 of 100 studies where nothing is wrong, and then the
    answer is in doubt: in that case other measurements decide, once.
    """
    key = event, noise, shared, features
    failing = 5 if event == "fails" else None
    try:
        cell = Instance(noise, shared, features, event, seed)
        cell.work(EACH, failing)
        cell.happens(event, features)
    except InvalidInput as error:
        return str(error)
    cell.work(failing=5 if event in ("fails", "breaks") else None)
    study = cell.study
    if seed == 8 and study.shortlist.guarantee.status in ("in doubt", "not certified"):
        return walked(*key, seed=9)
    assert study.done
    assert study.shortlist.guarantee.status == ("budget" if estimated(*key) else "proven")
    assert set(study.shortlist.names) == BEST
    if event == "budget":
        assert study.evaluations == study.budget or shared == "pool"
    return ""


def cells() -> Iterator[Any]:
    for place, cell in enumerate(CELLS):
        yield pytest.param(*cell, marks=[] if place % QUICK == 0 else [pytest.mark.slow])


@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@pytest.mark.parametrize(("event", "noise", "shared", "features"), list(cells()))
def test_it_ends_certified_and_right_or_says_in_one_sentence_why_it_cannot(
    event: str, noise: str, shared: str, features: str
) -> None:
    said, expected = walk(event, noise, shared, features), refusal(event, noise, shared, features)
    assert said.startswith(expected) if expected else not said


def test_the_table_in_the_docs_is_the_one_that_is_walked() -> None:
    assert table() in PAGE.read_text()


def table() -> str:
    """The table as Markdown: a row for each event, a column for what is shared and known."""
    columns = list(itertools.product(SHARED, FEATURES))
    head = "".join(f" {shared}, {features} |" for shared, features in columns)
    rows = [f"| |{head}", f"|---|{'---|' * len(columns)}"]
    for event in EVENTS:
        found = [
            " ".join(sorted({_mark(event, noise, *column) for noise in NOISES}, reverse=True))
            for column in columns
        ]
        rows.append(f"| {event} | {' | '.join(found)} |")
    return "\n".join(rows)


def _mark(event: str, noise: str, shared: str, features: str) -> str:
    """What the table has for a cell."""
    why = refusal(event, noise, shared, features)
    marks = {"": "yes", REFUSALS["pool"]: "(r)", REFUSALS["verify"]: "(v)", REFUSALS["add"]: "(a)"}
    return "(e)" if estimated(event, noise, shared, features) else marks[why]
