"""The pulls: those of the oracle, compiled or interpreted, alone or among many, asked or simulated."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from shortlist.engine.engine import Engine
from shortlist.rules.registry import RULES

import forks
import shortlist
from once import once
from oracle import Hint, Oracle, Recipe, arms_in, recipe
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.fits import Posterior
from shortlist.gifa.initial import INITIALIZATIONS
from shortlist.gifa.thresholds import THRESHOLDS
from shortlist.seeds import run_seeds, seed_stream
from shortlist.study.trial import Reason

Array = NDArray[np.float64]

SEED = 20_21
NAMES = tuple(
    name
    for name in shortlist.algorithms(all=True)
    if isinstance(find_algorithm(name), shortlist.GIFA)
)
SPANNED = (
    "self_normalized",
    "two_arms_mixture",
)  # need initial pulls that do
TRACKING = ("LinGame",)


# Instances


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and the reward of the k-th pull of every arm."""

    features: Array
    rewards: Array
    m: int
    sigma: float
    delta: float
    epsilon: float
    after: int  # evaluations after the initial ones
    S: float = 1.3

    def study(self, algorithm: str | shortlist.GIFA, seed: int = SEED) -> shortlist.Study:
        return shortlist.Study(
            self.features,
            self.m,
            sigma=self.sigma,
            delta=self.delta,
            epsilon=self.epsilon,
            S=self.S,
            algorithm=algorithm,
            seed=seed,
            audit=False,
            intercept=False,
        )


def gaussian(
    K: int, N: int, m: int, sigma: float, epsilon: float, after: int, delta: float = 0.05
) -> Case:
    """Gaussian features of unequal norms, ‖θ‖ = 1."""
    rng = np.random.default_rng([K, N, m])
    features = rng.standard_normal((K, N)) * rng.uniform(0.4, 1.6, (K, 1))
    theta = rng.standard_normal(N)
    means = features @ (theta / np.linalg.norm(theta))
    rewards = means + sigma * rng.standard_normal((1200, K))
    return Case(features, rewards, m, sigma, delta, epsilon, after)


def all_tied(K: int, m: int) -> Case:
    """Arms that differ in nothing: every choice of every round is a tie among equal counts."""
    return Case(np.eye(K), np.zeros((200, K)), m, 0.5, 0.05, 0.0, 40)


CASES: dict[str, Case] = {
    "K4 N2 m1": gaussian(4, 2, 1, sigma=0.15, epsilon=0.05, after=100),
    "K5 N3 m4": gaussian(5, 3, 4, sigma=0.6, epsilon=0.3, after=45),
    "K12 N3 m4": gaussian(12, 3, 4, sigma=0.2, epsilon=0.2, after=55, delta=0.1),
    "K15 N6 m1": gaussian(15, 6, 1, sigma=0.9, epsilon=0.3, after=52),
    "K30 N5 m2": gaussian(30, 5, 2, sigma=0.5, epsilon=0.3, after=30),
    "K30 N6 m18": gaussian(30, 6, 18, sigma=0.5, epsilon=0.0, after=25),
    "K7 N9 m1": gaussian(7, 9, 1, sigma=0.4, epsilon=0.5, after=45),
    # At N far above K a smaller σ, hence λ_V = (σ/20)², costs the oracle's 40 × 40 inverse the
    # nine digits it needs; the package works in the row space and does not mind.
    "K6 N40 m2": gaussian(6, 40, 2, sigma=0.8, epsilon=1.5, after=45, delta=0.01),
    "K20 N20 m7": gaussian(20, 20, 7, sigma=0.2, epsilon=0.7, after=50),
    "K9 tied m4": all_tied(9, 4),
    "K80 N4 m3": gaussian(80, 4, 3, sigma=0.5, epsilon=0.0, after=20),
}


def allowed(name: str, m: int) -> bool:
    """Two find one arm only."""
    return m == 1 or not name.startswith(("LinGapE", "LinGame (as published)"))


def told_apart(name: str, case: str) -> bool:
    """Some choices of an allocation are left to rounding: which of equally close alternatives is."""
    return not (case == "K9 tied m4" and find_algorithm(name).allocation)


NAMED = [
    (case, name)
    for case in CASES
    for name in NAMES
    # With many arms only some rows of G are kept; 80 initial pulls would show nothing of that.
    if allowed(name, CASES[case].m)
    and told_apart(name, case)
    and (case != "K80 N4 m3" or recipe(name, 0.5).initialization != "each")
]


# Compositions that have no name


@dataclass(frozen=True)
class Composition:
    """Settings that both sides understand; regularisation None is the threshold's own."""

    candidates: str
    ambiguous: str
    selection: str
    stopping: str
    indices: str
    threshold: str
    initialization: str | None
    regularization: float | None
    classical: bool

    def algorithm(self) -> shortlist.GIFA:
        return shortlist.GIFA(**vars(self))

    def recipe(self, sigma: float, S: float) -> Recipe:
        # The proven ones each have their own; the other thresholds are meant for unregularised least squares.
        own = {"frequentist": (sigma / 20) ** 2}
        ridge = self.regularization
        return Recipe(
            **{
                **vars(self),
                "regularization": own.get(self.threshold, 0.0) if ridge is None else ridge,
            }
        )

    def sound(self) -> bool:
        """Whether least squares and the threshold are defined."""
        biased = self.threshold == "frequentist"
        ridge = self.regularization
        positive = biased if ridge is None else ridge > 0
        spans = self.initialization is not None
        return (
            (positive or spans)
            and (positive or not biased)
            and (spans or self.threshold not in SPANNED)
        )


def compositions(count: int) -> list[Composition]:
    """A fixed random choice of all that can be composed."""
    every = [
        Composition(*choice)
        for choice in itertools.product(
            ("top_means", "smallest_gap"),
            ("largest_gap", "mth_gap"),
            ("largest_variance", "greedy", "optimized", "both_arms"),
            ("lucb", "ugape", "lucb_lagged"),
            ("paired", "individual"),
            (*("self_normalized", "frequentist", "lucb1", "two_arms_mixture", "heuristic"),),
            (None, "each", "span"),
            (None, 0.0, 0.4),
            (False, True),
        )
    ]
    sound = [each for each in every if each.sound()]
    chosen = np.random.default_rng(SEED).choice(len(sound), count, replace=False)
    return [sound[i] for i in chosen]


COMPOSED_CASES = ("K12 N3 m4", "K30 N5 m2", "K30 N6 m18", "K6 N40 m2", "K15 N6 m1", "K5 N3 m4")
COMPOSED = list(zip(itertools.cycle(COMPOSED_CASES), compositions(84)))


# Side by side with the oracle


@dataclass(frozen=True)
class Trace:
    """Rounds compared, the initial pulls apart; no rounding error could have turned a strict one."""

    rounds: int
    strict: int
    stopped: bool


def side_by_side(case: Case, algorithm: str | shortlist.GIFA, rules: Recipe) -> Trace:
    """Pull by pull: the study and the oracle choose alike."""
    study = case.study(algorithm)
    K = len(case.features)
    initial = study.procedure.engine.setup.initial.tolist()
    if rules.initialization == "each":
        assert initial == list(range(K))
    elif rules.initialization is None:
        assert initial == []
    else:
        x = np.eye(K) if rules.classical else case.features
        assert np.linalg.matrix_rank(x[initial]) == np.linalg.matrix_rank(x)
    oracle = Oracle(
        features=case.features,
        recipe=rules,
        m=case.m,
        sigma=case.sigma,
        delta=case.delta,
        epsilon=case.epsilon,
        seed=SEED,
        initial=initial,
        S=case.S,
    )
    counts = np.zeros(K, int)
    rounds = strict = 0
    while oracle.t < len(initial) + case.after:
        hint = Hint(inside=lambda: arms_in(study.shortlist.names))
        if not study.done:
            trial = study.ask()
            # why() also looks at all results, each time
            why = Reason.of(trial, study.problem, study.aim)
            if why.b is not None and why.c is not None:
                hint = Hint(hint.inside, int(why.b), int(why.c), trial.arm)
        verdict = oracle.ask(hint)
        if verdict.kind == "round":
            rounds += 1
            strict += not verdict.near
        where = oracle.t, verdict
        if "stop" in verdict.near and verdict.stop != study.done:
            break
        assert verdict.stop == study.done, where
        if verdict.kind == "round":
            found, wanted = study.statistic, verdict.statistic
            undefined = math.isnan(found) and math.isnan(wanted)
            assert undefined or math.isclose(found, wanted, rel_tol=1e-8, abs_tol=1e-9), where
        if verdict.stop:
            assert arms_in(study.shortlist.names) == verdict.inside, where
            assert study.shortlist.evaluations == study.evaluations == oracle.t
            return Trace(rounds, strict, True)
        assert trial.arm == verdict.arm, where
        if verdict.kind != "initial" and verdict.b is not None:
            assert (why.b, why.c) == (verdict.b, verdict.c), where
        reward = float(case.rewards[counts[trial.arm], trial.arm])
        counts[trial.arm] += 1
        oracle.tell(trial.arm, reward)
        study.tell(trial, reward)
    assert study.posterior.pulls.tolist() == counts.tolist()
    last = study.why(trial)
    assert (last.b, last.c) == (why.b, why.c)
    return Trace(rounds, strict, False)


def kept(make: Callable[[], Trace], *key: object) -> Trace:
    """What ``make`` makes, once a test run: the tests of all traces may run in another process."""
    file = once(
        f"trace-{sha256(repr(key).encode()).hexdigest()}.json",
        lambda place: place.write_text(json.dumps(asdict(make()))),
    )
    return Trace(**json.loads(file.read_text()))


def named_trace(case: str, name: str) -> Trace:
    one = CASES[case]
    return kept(lambda: side_by_side(one, name, recipe(name, one.sigma)), case, name)


def composed_trace(case: str, composition: Composition) -> Trace:
    one = CASES[case]
    rules = composition.recipe(one.sigma, one.S)
    return kept(lambda: side_by_side(one, composition.algorithm(), rules), case, composition)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "name"), NAMED, ids=lambda value: value)
def test_a_named_algorithm_pulls_as_the_oracle(case: str, name: str) -> None:
    assert named_trace(case, name).rounds > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "composition"),
    COMPOSED,
    ids=[f"{case}-{'-'.join(map(str, vars(one).values()))}" for case, one in COMPOSED],
)
def test_a_composed_algorithm_pulls_as_the_oracle(case: str, composition: Composition) -> None:
    assert composed_trace(case, composition).rounds > 0


def test_every_rule_every_threshold_and_every_initialization_was_composed() -> None:
    chosen = [one for _, one in COMPOSED]
    for kind, rules in RULES.items():
        # Tracking follows an allocation and is met under the names of those that do.
        assert {getattr(one, kind) for one in chosen} == set(rules) - {"tracking"}
    assert {one.threshold for one in chosen} == set(THRESHOLDS)
    assert {one.initialization for one in chosen} == set(INITIALIZATIONS) - {"auto"}
    assert any(one.threshold == "frequentist" and one.regularization is None for one in chosen)


@pytest.mark.slow
def test_rounding_decided_few_rounds() -> None:
    """Most of them where arms are linearly independent and counts alone tell b from c."""
    traces = [named_trace(*one) for one in NAMED] + [composed_trace(*one) for one in COMPOSED]
    rounds = sum(trace.rounds for trace in traces)
    assert rounds > 10_000
    assert sum(trace.strict for trace in traces) >= 0.95 * rounds


@pytest.mark.slow
def test_the_stop_of_every_algorithm_was_seen() -> None:
    seen = {name for case, name in NAMED if named_trace(case, name).stopped}
    assert seen == set(NAMES)
    assert sum(composed_trace(*one).stopped for one in COMPOSED) >= len(COMPOSED) / 10


@pytest.mark.slow
def test_where_all_is_tied_nothing_is_left_to_rounding() -> None:
    traces = [named_trace(*one) for one in NAMED if one[0] == "K9 tied m4"]
    assert all(trace.strict == trace.rounds for trace in traces)
    # A round that pulls both arms is one round.
    assert {trace.rounds for trace in traces} == {20, 40}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["m-LinGapE", "LinGIFA greedy (as published)"])
def test_decisions_stay_right_across_a_refresh(name: str) -> None:
    """The posterior is made anew after 1024 evaluations."""
    short = gaussian(4, 3, 2, sigma=0.5, epsilon=0.0, after=0)
    rewards = short.rewards * 0.02 + 0.5 * np.random.default_rng(3).standard_normal((1200, 4))
    case = Case(short.features, rewards, 2, 0.5, 0.05, 0.0, 1100)
    trace = side_by_side(case, name, recipe(name, case.sigma))
    assert trace.rounds == case.after == 1100
    assert trace.strict >= 0.95 * trace.rounds


# One implementation: compiled, interpreted, in threads, asked, simulated


def pulled(
    study: shortlist.Study, reward: Callable[[int], float], most: int | None = None
) -> list[int]:
    """The arms that a study asks for, up to 60 after the initial ones if no limit is given."""
    if most is None:
        most = len(study.procedure.engine.setup.initial) + 60
    while not study.done and study.evaluations < most:
        trial = study.ask()
        study.tell(trial, reward(trial.arm))
    return [trial.arm for trial in study.trials]


def linear_instance(K: int, N: int, m: int, sigma: float = 0.5) -> shortlist.instances.Instance:
    rng = np.random.default_rng([K, N, m, 5])
    features = rng.standard_normal((K, N)) * rng.uniform(0.5, 1.5, (K, 1))
    theta = rng.standard_normal(N)
    return shortlist.instances.from_arrays(
        features, theta=theta / np.linalg.norm(theta), m=m, sigma=sigma
    )


UNNAMED: dict[str, shortlist.GIFA] = {
    "frequentist": shortlist.GIFA(threshold="frequentist", initialization=None, name="frequentist"),
    "heuristic": shortlist.GIFA(
        threshold="heuristic",
        initialization="span",
        indices="individual",
        candidates="smallest_gap",
        selection="both_arms",
        name="heuristic",
    ),
    "mth gap, lagged": shortlist.GIFA(
        ambiguous="mth_gap", stopping="lucb_lagged", selection="optimized", name="mth gap, lagged"
    ),
}
ALL = {**{name: find_algorithm(name) for name in NAMES}, **UNNAMED}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_interpreted_rules_pull_as_the_compiled_ones(name: str) -> None:
    algorithm = ALL[name]
    plain = algorithm.interpreted()
    m = 3 if allowed(name, 3) else 1
    rng = np.random.default_rng(11)
    features = rng.standard_normal((7, 4))
    rewards = features @ [1.0, 0.0, 0.5, 0.0] + rng.standard_normal((100, 7))

    def stream() -> Callable[[int], float]:
        counts = np.zeros(7, int)

        def reward(arm: int) -> float:
            counts[arm] += 1
            return float(rewards[counts[arm] - 1, arm])

        return reward

    settings: dict[str, Any] = {"sigma": 1.0, "S": 1.2, "seed": 3}
    fast = shortlist.Study(
        features, m, algorithm=algorithm, **settings, audit=False, intercept=False
    )
    slow = shortlist.Study(features, m, algorithm=plain, **settings, audit=False, intercept=False)
    assert pulled(fast, stream()) == pulled(slow, stream())
    assert fast.evaluations > len(fast.procedure.engine.setup.initial)
    assert fast.done == slow.done
    if not fast.done:
        assert fast.statistic == slow.statistic or math.isnan(fast.statistic or 0.0)

    instance = linear_instance(6, 3, m)
    options: dict[str, Any] = {"runs": 2, "seed": 8, "max_samples": 60, "progress": False}
    pd.testing.assert_frame_equal(
        shortlist.compare(algorithm, instance, **options).frame,
        shortlist.compare(plain, instance, **options).frame,
    )


WITHOUT_NUMBA = """
import json, sys, warnings
import numpy as np
import shortlist
warnings.simplefilter("error")

names = json.loads(sys.argv[1])
instance = shortlist.instances.classic(K=4, m=2, omega=1.0)
rewards = np.random.default_rng(5).standard_normal((99, 5))
features = np.random.default_rng(6).standard_normal((5, 3))
answer = {}
for name in names:
    results = shortlist.compare(name, instance, runs=2, seed=4, max_samples=40, progress=False)
    study = shortlist.Study(features, 2, sigma=1.0, S=1.0, seed=9, algorithm=name)
    while not study.done and study.evaluations < 40:
        trial = study.ask()
        study.tell(trial, rewards[trial.number, trial.arm])
    answer[name] = [results.frame.pulls.tolist(), [trial.arm for trial in study.trials]]
print(json.dumps(answer))
"""
# All of them, each in one process: test_interpreted_rules_pull_as_the_compiled_ones.
FEW = ["LUCB both arms", "m-LinGapE optimized", "LinGIFA", "LinGame"]


@pytest.mark.slow
def test_without_numba_the_pulls_are_the_same() -> None:
    def answers(**environment: str) -> dict[str, Any]:
        start = (sys.executable,) if environment else forks.python()
        done = subprocess.run(
            [*start, "-c", WITHOUT_NUMBA, json.dumps(FEW)],
            env={**os.environ, **environment},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    compiled = answers()
    assert all(len(study) == 40 for _, study in compiled.values())
    assert compiled == answers(NUMBA_DISABLE_JIT="1")


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing() -> None:
    instance = linear_instance(8, 3, 2)
    names = ["LUCB both arms", "UGapE", "m-LinGapE", "m-LinGapE optimized", "LinGIFA", *TRACKING]
    options: dict[str, Any] = {"runs": 20, "seed": 6, "max_samples": 2000, "progress": False}
    frames = [
        shortlist.compare(names, instance, workers=workers, **options).frame for workers in (1, 2)
    ]
    pd.testing.assert_frame_equal(*frames)
    assert frames[0]["samples"].nunique() > 50


@pytest.mark.slow
@pytest.mark.parametrize("arms", [8, 120])
@pytest.mark.parametrize("name", ["LUCB", "m-LinGapE", "m-LinGapE optimized", "LinGIFA", *TRACKING])
def test_a_run_alone_is_the_same_run_among_many(name: str, arms: int) -> None:
    """What a run leaves behind in the arrays does not reach the next."""
    instance = linear_instance(arms, 4, 3, sigma=0.2)
    options: dict[str, Any] = {"seed": 2, "max_samples": 400, "progress": False, "workers": 1}
    many = shortlist.compare(name, instance, runs=40, **options).frame
    alone = shortlist.compare(name, instance, runs=1, **options).frame
    pd.testing.assert_frame_equal(alone, many.iloc[:1])
    engine = find_algorithm(name).bind(instance.problem(0.05, 0.0)).engine
    seeds = run_seeds(2, 40)
    assert many["seed"].tolist() == seeds.tolist()
    for run in (1, 17, 39):
        lone = engine.replicate(instance.reward, instance.parameters, seeds[run : run + 1], 400)
        assert lone.pulls[0].tolist() == many["pulls"][run]
        assert lone.samples[0] == many["samples"][run]
        assert lone.stopped[0] == many["stopped"][run]
        names = [instance.names[arm] for arm in np.flatnonzero(lone.recommended[0])]
        assert names == many["recommendation"][run]


def assert_same_as_study(
    row: pd.Series, study: shortlist.Study, reward: Callable[[int], float], most: int
) -> None:
    """A simulated run and a study, told the same rewards, end alike."""
    arms = pulled(study, reward, most)
    assert np.bincount(arms, minlength=study.problem.arms).tolist() == row["pulls"]
    assert study.evaluations == row["samples"]
    assert study.done == row["stopped"]
    assert sorted(study.shortlist.names) == sorted(row["recommendation"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_simulator_pulls_as_a_study(name: str) -> None:
    """On recorded rewards of one row, which are no longer random, and on a Gaussian stream."""
    m = 2 if allowed(name, 2) else 1
    noisy = linear_instance(9, 3, m, sigma=0.3)
    fixed = shortlist.instances.recorded(noisy.features, noisy.means[None, :], m=m, sigma=0.3)
    most = 120
    for instance in (fixed, noisy):
        frame = shortlist.compare(
            ALL[name], instance, runs=2, seed=5, max_samples=most, progress=False, S=1.0
        ).frame
        for _, row in frame.iterrows():
            stream = np.zeros(4, np.uint64)
            seed_stream(np.uint64(row["seed"]), stream)

            def reward(arm: int, instance: Any = instance, stream: Any = stream) -> float:
                return float(instance.reward(arm, instance.parameters, stream))

            study = shortlist.Study(
                instance.features,
                m,
                sigma=0.3,
                S=1.0,
                algorithm=ALL[name],
                seed=int(row["seed"]),
                audit=False,
                intercept=False,
            )
            assert_same_as_study(row, study, reward, most)


# Rows of G made on demand

ON_DEMAND = [
    "m-LinGapE",
    "m-LinGapE optimized",
    "m-LinGapE largest variance",
    "m-LinGapE greedy (as published)",
    "LinGIFA",
    "LinGIFA (individual) largest variance",
    "LinGIFA (tau LUCB) greedy (as published)",
    *TRACKING,
]


def decided(engine: Engine, posterior: Posterior, rewards: Array, rounds: int) -> list[int]:
    """Arms, b and c of many rounds, decided by hand."""
    now = engine.round()
    counts = np.zeros(len(engine.setup.features), int)
    told: list[int] = []

    def observe(arm: int) -> None:
        posterior.observe(arm, float(rewards[counts[arm], arm]))
        counts[arm] += 1

    for arm in engine.setup.initial:
        observe(arm)
    if not posterior.ready:
        posterior.refresh()
    for _ in range(rounds):
        decision, now = engine.decide(posterior, now, SEED)
        told += [decision.arm, decision.b, decision.c]
        observe(decision.arm)
    return told


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_DEMAND)
def test_rows_made_on_demand_give_the_same_pulls(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    K, m = 120, 4
    instance = linear_instance(K, 5, m, sigma=2.0)
    problem = instance.problem(0.05, 0.0)
    engine = find_algorithm(name).bind(problem).engine
    rewards = instance.means + 2.0 * np.random.default_rng(1).standard_normal((200, K))
    options: dict[str, Any] = {
        "regularization": engine.setup.regularization,
        "shift": engine.setup.shift,
    }
    told = {}
    frames = {}
    for resident in (K, m + 16, m + 1):
        monkeypatch.setattr(Engine, "_resident", lambda self, resident=resident: resident)
        posterior = Posterior(engine.setup.features, resident=resident, **options)
        made = engine.round()
        assert posterior.state.rows.shape == (resident, K)
        assert resident == len(made.gaps) + (len(made.memory.top_arms) if made.memory else 0)
        told[resident] = decided(engine, posterior, rewards, 150)
        frames[resident] = shortlist.compare(
            name, instance, runs=2, seed=1, max_samples=1100, progress=False
        ).frame
    assert told[K] == told[m + 16] == told[m + 1]
    assert len(set(told[K])) > m + 1  # so rows have had to make room
    pd.testing.assert_frame_equal(frames[K], frames[m + 16])
    pd.testing.assert_frame_equal(frames[K], frames[m + 1])


def test_many_arms_keep_few_rows_by_themselves() -> None:
    """Else the test above would compare nothing that is used."""
    problem = linear_instance(120, 5, 4).problem(0.05, 0.0)
    posterior = find_algorithm("m-LinGapE").bind(problem).engine.posterior()
    assert posterior.state.rows.shape == (12, 120)
