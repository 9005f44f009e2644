"""Many arms: whatever work is saved, the pulls are those of the small, obvious implementation."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shortlist.allocations.allocation import NONE
from shortlist.engine.engine import Engine
from shortlist.engine.settings import may_skip_arms
from shortlist.posterior.least_squares import UPDATES, Updates, take_in
from shortlist.posterior.posterior import Posterior
from shortlist.posterior.state import WHOLE, State

import shortlist
from scale import Naive
from shortlist.catalog.registry import find_algorithm
from shortlist.numerics.jit import compiled
from shortlist.numerics.records import Reals

Array = NDArray[np.float64]

SEED = 7
NEAR = 1e-9  # relative: closer than this, rounding decides and not the formula


class Skipping(Engine):
    """Most arms are skipped, however few there are."""

    @property
    def _skips_arms(self) -> bool:
        return self.allocation == NONE and may_skip_arms(self.rules)


def as_kind(kind: type[Engine], engine: Engine) -> Engine:
    return kind(**{each.name: getattr(engine, each.name) for each in fields(engine)})


class Follower:
    """An engine, and where it stands."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.posterior, self.now = engine, engine.posterior(), engine.round()

    def observe(self, arm: int, value: float) -> None:
        self.posterior.observe(arm, value)

    def decide(self) -> Any:
        if not self.posterior.ready:
            self.posterior.refresh()
        decision, self.now = self.engine.decide(self.posterior, self.now, SEED, check_stop=False)
        return decision

    @property
    def inside(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(self.now.inside).tolist())


# Where two implementations may differ: rounding alone decided


def close(first: float, second: float, size: float) -> bool:
    return abs(first - second) <= NEAR * size


def only_rounding(naive: Follower, one: Any, other: Any, inside: frozenset[int]) -> bool:
    """Whether the naive engine's choices and another's hung on less than ``NEAR``."""
    engine, posterior, m = naive.engine, naive.posterior, naive.engine.setup.m
    means, variances, gram = posterior.means, posterior.variances, posterior.state.rows
    scale = engine.setup.sigma * one.threshold
    gaps = np.empty_like(gram)  # gaps[j, i] = B_ij
    for j in range(len(means)):
        engine.rules["indices"](j, means, variances, gram[j], scale, gaps[j])
    # Of two arms nearly the same the width is the root of a difference: all that rounding leaves.
    size = float(np.abs(gaps).max() + np.abs(means).max()) + blur(naive, scale) / NEAR
    others = gaps.copy()
    np.fill_diagonal(others, -np.inf)
    mth = np.partition(others, len(means) - m, axis=1)[:, len(means) - m]
    by_means = engine.rules["candidates"].name == "top_means"
    order = means if by_means else -mth
    if naive.inside != inside:
        out, entered = naive.inside - inside, inside - naive.inside
        return all(close(order[i], order[o], size) for i in out for o in entered)
    outside = np.array([i for i in range(len(means)) if i not in inside])
    if one.b != other.b:
        worst = mth if engine.rules["ambiguous"].name == "mth_gap" else gaps[:, outside].max(axis=1)
        return close(worst[one.b], worst[other.b], size)
    if one.c != other.c:
        return close(gaps[one.b, one.c], gaps[one.b, other.c], size)
    gains = np.abs(gram[one.b] - gram[one.c]) / np.sqrt(1.0 + variances)
    if engine.rules["selection"].name == "largest_variance":
        gains = variances
    return close(gains[one.arm], gains[other.arm], float(np.abs(gram).max()))


def alike_within(first: float, second: float, error: float) -> bool:
    both = math.isnan(first) and math.isnan(second)
    return both or math.isclose(first, second, rel_tol=1e-7, abs_tol=error)


def blur(naive: Follower, scale: float) -> float:
    """What an error of 1e-14 of G's size does to a width of zero."""
    return scale * math.sqrt(1e-14 * float(naive.posterior.variances.max()))


def side_by_side(naive: Follower, sparing: list[Follower], means: Array, rounds: int) -> int:
    """Rounds in which all chose alike; near-ties end the comparison."""
    rng = np.random.default_rng(SEED)
    sigma = naive.engine.setup.sigma
    for arm in naive.engine.setup.initial.tolist():
        value = means[arm] + sigma * rng.standard_normal()
        for each in (naive, *sparing):
            each.observe(arm, value)
    for t in range(rounds):
        wanted = naive.decide()
        for each in sparing:
            got = each.decide()
            alike = (got.arm, got.b, got.c) == (wanted.arm, wanted.b, wanted.c)
            if not alike or each.inside != naive.inside:
                assert only_rounding(naive, wanted, got, each.inside), (t, wanted, got)
                return t
            error = blur(naive, naive.engine.setup.sigma * wanted.threshold)
            assert alike_within(got.gap, wanted.gap, error)
            assert alike_within(got.statistic, wanted.statistic, error)
        for arm in (wanted.arm, *([] if wanted.queued is None else [wanted.queued])):
            value = means[arm] + sigma * rng.standard_normal()
            for each in (naive, *sparing):
                each.observe(arm, value)
    return rounds


# Instances


def features_of(kind: str, K: int, N: int, rng: np.random.Generator) -> Array:
    x = rng.standard_normal((K, N))
    if kind == "clustered":
        centres = rng.standard_normal((max(3, K // 40), N))
        x = centres[rng.integers(len(centres), size=K)] + 0.1 * x
    elif kind == "nearly duplicate":
        x = x[rng.integers(max(2 * N, K // 5), size=K)] + 1e-4 * rng.standard_normal((K, N))
    elif kind == "duplicate":
        x = x[np.r_[: K // 2, : K - K // 2]]
    elif kind == "heavy-tailed":
        x *= np.abs(rng.standard_t(2, size=(K, 1)))
    return np.ascontiguousarray(x / math.sqrt(N))


KINDS = ("generic", "clustered", "nearly duplicate", "duplicate", "heavy-tailed")


SIZES = [30] * 8 + [80] * 7 + [120] * 8 + [250] * 6 + [600] * 6 + [1100] * 3 + [2000] * 2
SELECTIONS = ["greedy", "largest_variance", "both_arms", "optimized"]


def cases() -> list[dict[str, Any]]:
    """Forty of many shapes, each value of each setting in as many as any other of its values."""
    rng = np.random.default_rng(0)

    def evenly(*values: Any) -> list[Any]:
        return [values[place % len(values)] for place in rng.permutation(len(SIZES))]

    columns = {
        "N": evenly(*range(2, 15)),
        "m": evenly(1, 2, 3, 7),
        "kind": evenly(*KINDS),
        "start": evenly(True, False),
        "sigma": evenly(0.1, 1.0),
        "candidates": evenly("top_means", "smallest_gap"),
        "ambiguous": evenly("largest_gap", "mth_gap"),
        "stopping": evenly("lucb", "ugape", "lucb_lagged"),
        "indices": evenly("paired", "paired", "individual"),
    }
    found = []
    for number, K in enumerate(SIZES):
        case = {key: values[number] for key, values in columns.items()}
        feasible = SELECTIONS if K <= 120 else SELECTIONS[:3]  # "optimized" solves K² programs
        case["selection"] = feasible[number % len(feasible)]
        rules = {
            key: case.pop(key)
            for key in ("candidates", "ambiguous", "selection", "stopping", "indices")
        }
        found.append({"K": K, "seed": number, "rules": rules, **case})
    return found


def engine_for(case: dict[str, Any]) -> tuple[Engine, Array]:
    rng = np.random.default_rng(case["seed"])
    x = features_of(case["kind"], case["K"], case["N"], rng)
    theta = rng.standard_normal(x.shape[1])
    theta /= np.linalg.norm(theta)
    algorithm = shortlist.GIFA(
        **case["rules"],
        threshold="self_normalized" if case["start"] else "frequentist",
        initialization="span" if case["start"] else None,
    )
    instance = shortlist.instances.from_arrays(x, theta=theta, m=case["m"], sigma=case["sigma"])
    return algorithm.bind(replace(instance.problem(0.05, 0.1), S=1.0)).engine, x @ theta


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['seed']}-{case['K']}")
def test_pulls_are_those_of_the_naive_rules(case: dict[str, Any]) -> None:
    engine, means = engine_for(case)
    naive = Follower(as_kind(Naive, engine))
    skipping = Follower(as_kind(Skipping, engine))
    # A round of the naive rules takes K² steps, and 60 rounds change J(t), b, c and the bounds.
    rounds = 60
    compared = side_by_side(naive, [Follower(engine), skipping], means, rounds)
    # Of two arms with the same features rounding alone may decide.
    assert compared == rounds or case["kind"] == "duplicate"


LINEAR = [
    name
    for name in shortlist.algorithms(all=True)
    if isinstance(find_algorithm(name), shortlist.GIFA)
    and not find_algorithm(name).classical
    and not find_algorithm(name).allocation
]


@pytest.mark.parametrize("name", LINEAR)
def test_every_algorithm_pulls_as_its_naive_self(name: str) -> None:
    rng = np.random.default_rng(3)
    x = features_of("generic", 150, 6, rng)
    theta = rng.standard_normal(6)
    m = find_algorithm(name).only_m or 4
    instance = shortlist.instances.from_arrays(x, theta=theta, m=m, sigma=0.5)
    engine = find_algorithm(name).bind(replace(instance.problem(0.05, 0.0), S=3.0)).engine
    naive = Follower(as_kind(Naive, engine))
    others = [Follower(engine), Follower(as_kind(Skipping, engine))]
    assert side_by_side(naive, others, x @ theta, 60) == 60


@pytest.mark.parametrize("candidates", ["top_means", "smallest_gap"])
def test_the_naive_engine_is_naive_and_the_others_are_not(candidates: str) -> None:
    """Else the tests above would compare an implementation with itself."""
    case = {"K": 1500, "N": 8, "m": 3, "kind": "generic", "start": True, "sigma": 1.0, "seed": 1}
    by_gaps = candidates == "smallest_gap"
    rules = {"candidates": candidates} | (
        {"ambiguous": "mth_gap", "stopping": "ugape"} if by_gaps else {}
    )
    engine, _ = engine_for(case | {"rules": rules})
    assert engine._skips_arms == by_gaps
    assert 3 < engine.posterior().state.rows.shape[0] < 40
    naive = as_kind(Naive, engine)
    assert not naive._skips_arms
    assert not naive._settings[WHOLE, True].candidates_may_stay
    assert naive.posterior().state.rows.shape == (1500, 1500)
    skipping = as_kind(Skipping, engine)
    assert skipping._skips_arms == by_gaps
    few, _ = engine_for(case | {"K": 30, "rules": rules})
    assert few._skips_arms == by_gaps


@pytest.mark.parametrize("K", [30, 300, 4100])
@pytest.mark.parametrize("candidates", ["top_means", "smallest_gap"])
def test_results_beyond_all_numbers_leave_a_round_in_bounds(candidates: str, K: int) -> None:
    engine, _ = engine_for(
        {"K": K, "N": 4, "m": 3, "kind": "generic", "start": True, "sigma": 1.0, "seed": 1}
        | {"rules": {"candidates": candidates, "ambiguous": "mth_gap", "stopping": "ugape"}}
    )
    follower = Follower(engine)
    for arm in engine.setup.initial.tolist():
        follower.observe(arm, 1.0)
    for _ in range(3):
        follower.observe(0, 1.7e308)
    follower.posterior.refresh()
    assert not np.any(np.isfinite(follower.posterior.means))
    for _ in range(5):
        decision = follower.decide()
        assert len(follower.inside) == 3
        assert decision.b in follower.inside
        assert decision.c not in follower.inside
        assert 0 <= decision.arm < K
        follower.observe(decision.arm, 1.0)


# What is looked at beside


@pytest.mark.parametrize("candidates", ["top_means", "smallest_gap"])
def test_another_round_on_the_same_posterior_changes_no_pull(candidates: str) -> None:
    engine, truth = engine_for(
        {"K": 400, "N": 6, "m": 3, "kind": "generic", "start": True, "sigma": 0.5, "seed": 2}
        | {"rules": {"candidates": candidates, "ambiguous": "mth_gap", "stopping": "ugape"}}
    )
    skipping = as_kind(Skipping, engine)
    naive, alone, watched = (
        Follower(each) for each in (as_kind(Naive, engine), skipping, skipping)
    )
    rng = np.random.default_rng(3)

    def observe(arm: int) -> None:
        value = truth[arm] + 0.5 * rng.standard_normal()
        for each in (naive, alone, watched):
            each.observe(arm, value)

    for arm in engine.setup.initial.tolist():
        observe(arm)
    for t in range(120):
        wanted, got, seen = naive.decide(), alone.decide(), watched.decide()
        assert (wanted.arm, wanted.b, wanted.c) == (got.arm, got.b, got.c), t
        assert (wanted.arm, wanted.b, wanted.c) == (seen.arm, seen.b, seen.c), t
        if t % 7 == 3:
            again, _ = skipping.last_decision(watched.posterior, watched.now, SEED)
            assert (again.arm, again.b, again.c) == (wanted.arm, wanted.b, wanted.c), t
        observe(wanted.arm)


@pytest.mark.parametrize("arms", [700, 4200])
def test_looking_at_a_stored_study_leaves_its_replay_as_it_is(tmp_path: Path, arms: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((arms, 5))
    means = x @ rng.standard_normal(5)
    file = tmp_path / "many.db"
    settings: dict[str, Any] = {"m": 3, "sigma": 1.0, "seed": 1, "algorithm": "m-LinGapE"}
    study, unseen = (
        shortlist.Study(x, **settings, storage=file, audit=False),
        shortlist.Study(x, **settings, audit=False),
    )
    for t in range(90):
        trials, twins = study.ask(1 + t % 2), unseen.ask(1 + t % 2)
        assert [trial.arm for trial in trials] == [twin.arm for twin in twins]
        for trial, twin in zip(trials, twins, strict=True):
            value = means[study.problem.index(trial.arm)] + rng.standard_normal()
            study.tell(trial, value)
            unseen.tell(twin, value)
        if t > 40 and t % 9 == 0:
            study.why(trials[0])
            study.table()
    loaded = shortlist.Study.load(file)
    assert loaded.fingerprint == study.fingerprint
    assert loaded.table().equals(study.table())
    assert loaded.ask().arm == unseen.ask().arm


# A hundred thousand arms


class Plain:
    """m-LinGapE and LinGIFA (greedy) in plain NumPy, all from V⁻¹ in every round."""

    def __init__(self, x: Array, m: int, sigma: float) -> None:
        self.x, self.m, self.sigma = x, m, sigma
        self.V, self.response = np.zeros((x.shape[1],) * 2), np.zeros(x.shape[1])

    def observe(self, arm: int, value: float) -> None:
        self.V += np.outer(self.x[arm], self.x[arm])
        self.response += value * self.x[arm]

    def look(self, threshold: float) -> None:
        self.inverse = np.linalg.inv(self.V)
        self.means = self.x @ (self.inverse @ self.response)
        self.variances = np.einsum("ij,ij->i", self.x @ self.inverse, self.x)
        self.scale = threshold * self.sigma

    def columns(self, arms: Any) -> Array:
        """B_ij over all i, a column for each j in ``arms``."""
        gram = self.x @ (self.inverse @ self.x[arms].T)
        squares = self.variances[:, None] + self.variances[arms] - 2.0 * gram
        widths = self.scale * np.sqrt(np.maximum(squares, 0.0))
        return self.means[:, None] - self.means[arms] + widths

    def mth_gaps(self, arms: Any) -> Array:
        gaps = self.columns(arms)
        gaps[arms, np.arange(len(arms))] = -np.inf
        return np.partition(gaps, len(gaps) - self.m, axis=0)[len(gaps) - self.m]

    def by_gaps(self, guess: list[int]) -> tuple[Array, Array]:
        """J(t) of the smallest m-th gaps: the guess, unless an arm that others do not put out."""
        arms, values = np.array(guess), self.mth_gaps(np.array(guess))
        upper = self.means + self.scale * np.sqrt(self.variances)
        witnesses = np.argpartition(-upper, 512)[:512]
        witnesses = witnesses[np.argsort(-upper[witnesses])]
        others = np.ones(len(self.x), bool)
        others[arms] = False
        left = np.flatnonzero(others)
        for count in (2 * self.m, 512):
            some = witnesses[:count]
            gram = self.x[left] @ (self.inverse @ self.x[some].T)
            squares = self.variances[left][:, None] + self.variances[some] - 2.0 * gram
            gaps = self.scale * np.sqrt(np.maximum(squares, 0.0))
            gaps += self.means[some] - self.means[left][:, None]
            gaps[left[:, None] == some] = -np.inf
            left = left[(gaps > values.max() * (1 + NEAR)).sum(axis=1) < self.m]
        for j in left:
            arms, values = np.append(arms, j), np.append(values, self.mth_gaps(np.array([j])))
        order = np.argsort(values)[: self.m]
        return arms[order], values[order]

    def pull(self, algorithm: str, threshold: float, guess: list[int]) -> tuple[int, int, int]:
        self.look(threshold)
        if algorithm == "m-LinGapE":
            inside = np.argpartition(-self.means, self.m)[: self.m]
            gaps = self.columns(inside)
            gaps[inside] = -np.inf
            b = int(inside[gaps.max(axis=0).argmax()])
        else:
            inside, values = self.by_gaps(guess)
            b = int(inside[values.argmax()])
        column = self.columns([b])[:, 0]
        column[inside] = -np.inf
        c = int(column.argmax())
        image = self.inverse @ (self.x[b] - self.x[c])
        gains = (self.x @ image) ** 2 / (1.0 + self.variances)
        return int(gains.argmax()), b, c


def large(name: str, K: int, N: int, m: int) -> tuple[Engine, Array]:
    """An engine for many arms; its settings are those of the first few hundred of them."""
    rng = np.random.default_rng([K, N])
    x = rng.standard_normal((K, N)) / math.sqrt(N)
    theta = rng.standard_normal(N)
    theta /= np.linalg.norm(theta)
    few = shortlist.instances.from_arrays(x[: 5 * N], theta=theta, m=m, sigma=0.5)
    engine = find_algorithm(name).bind(few.problem(0.05, 0.0)).engine
    return replace(
        engine,
        setup=replace(engine.setup, features=x, noise=np.ones(K)),
    ), x @ theta


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rounds"), [("m-LinGapE", 20), ("LinGIFA", 20)])
def test_a_hundred_thousand_arms_are_pulled_as_plain_numpy_pulls_them(
    name: str, rounds: int
) -> None:
    engine, means = large(name, 100_000, 10, 3)
    follower, plain = (
        Follower(engine),
        Plain(engine.setup.features, engine.setup.m, engine.setup.sigma),
    )
    rng = np.random.default_rng(2)

    def pull(arm: int) -> None:
        value = means[arm] + engine.setup.sigma * rng.standard_normal()
        follower.observe(arm, value)
        plain.observe(arm, value)

    for arm in engine.setup.initial.tolist():
        pull(arm)
    for t in range(rounds):
        got = follower.decide()
        wanted = plain.pull(name, got.threshold, sorted(follower.inside))
        assert (got.arm, got.b, got.c) == wanted, t
        pull(got.arm)


# Drift


@compiled(typed=True)
def pull_by_turns(state: State, updates: Updates, rounds: int, means: Reals) -> None:
    for t in range(rounds):
        arm = (t * t + t // 3) % means.shape[0]
        take_in(state, updates, arm, means[arm] + 0.3 * ((t % 7) - 3.0))


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 12])
def test_resident_rows_do_not_drift(rows: int) -> None:
    rng = np.random.default_rng(4)
    x, means = rng.standard_normal((400, 9)) / 3.0, rng.standard_normal(400)
    posterior = Posterior(x, regularization=6e-4, resident=rows)
    for arm in range(rows):
        posterior.row(arm)
    # One short of a refresh is the worst moment to look.
    updates = UPDATES[posterior.state.layout]
    pull_by_turns(posterior.state, updates, 3 * 8192 - 1, means)
    V = 6e-4 * np.eye(9) + x.T @ (posterior.pulls[:, None] * x)
    gram = x @ np.linalg.solve(V, x.T)
    variances = np.diag(gram)
    np.testing.assert_allclose(posterior.variances, variances, rtol=1e-8)
    fitted = x @ np.linalg.solve(V, x.T @ posterior.state.sums)
    np.testing.assert_allclose(posterior.means, fitted, rtol=1e-8, atol=1e-8 * abs(fitted).max())
    for arm in range(max(rows, 3)):
        assert rows <= arm or posterior.state.kept.slots[arm] >= 0
        size = np.sqrt(variances[arm] * variances)
        assert np.all(abs(posterior.row(arm) - gram[arm]) <= 1e-8 * size)
