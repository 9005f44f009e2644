"""A slow and obvious oracle of the gap-index focused algorithms.

Written from the paper (Table 1, Algorithm 1) and its thresholds, not from
the package: every round inverts the design matrix of the original features and fills the whole
K × K matrix of gap indices. Of the package it shares one convention only: who wins a tie.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]

WORD = 2**64
GOLDEN = 0x9E3779B97F4A7C15
CANDIDATES, AMBIGUOUS, CHALLENGER, SELECTION = 0, 1, 2, 3
PURPOSES = ("candidates", "b", "c", "selection")
NEAR = 1e-9  # relative: closer than this, rounding decides and not the formula


# Ties


def mix(value: int) -> int:
    """SplitMix64's finaliser."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) % WORD
    return value ^ (value >> 31)


def priority(seed: int, t: int, purpose: int, arm: int) -> int:
    """Among tied arms the one of largest priority wins; ``t`` results are known."""
    key = (seed + GOLDEN * (4 * t + purpose + 1)) % WORD
    return mix((mix(key) + GOLDEN * (arm + 1)) % WORD)


# What is run


@dataclass(frozen=True)
class Recipe:
    """One row of Table 1 with its settings."""

    candidates: str = "top_means"
    ambiguous: str = "largest_gap"
    selection: str = "greedy"
    stopping: str = "lucb"
    indices: str = "paired"
    threshold: str = "self_normalized"
    regularization: float = 0.0
    initialization: str | None = "each"
    classical: bool = False
    threshold_regularization: float | None = None  # erratum 5: the published m-LinGapE's differs
    allocation: str | None = None
    statistic_over_variance: bool = True  # erratum 8: the published LinGame forgets 1/σ²


# Table 1; the first selection rule is the one meant by the bare name.
TABLE_1: dict[str, tuple[tuple[str, ...], dict[str, object]]] = {
    "LUCB": (
        ("largest_variance", "both_arms"),
        {"indices": "individual", "classical": True},
    ),
    "UGapE": (
        ("largest_variance",),
        {
            "candidates": "smallest_gap",
            "stopping": "ugape",
            "indices": "individual",
            "classical": True,
        },
    ),
    "LinGame": (("tracking",), {"allocation": "game"}),
    "LinGapE": (("greedy", "optimized"), {}),
    "m-LinGapE": (("greedy", "optimized", "largest_variance"), {}),
    "LinGIFA": (
        ("greedy", "largest_variance"),
        {"candidates": "smallest_gap", "ambiguous": "mth_gap", "stopping": "ugape"},
    ),
    "LinGIFA (individual)": (
        ("largest_variance",),
        {
            "candidates": "smallest_gap",
            "ambiguous": "mth_gap",
            "stopping": "ugape",
            "indices": "individual",
        },
    ),
    "LinGIFA (tau LUCB)": (
        ("greedy", "largest_variance"),
        {"candidates": "smallest_gap", "ambiguous": "mth_gap", "stopping": "lucb"},
    ),
}
PUBLISHED = " (as published)"


def recipe(name: str, sigma: float) -> Recipe:
    """The settings meant by a name: Table 1, or the settings of the published runs."""
    published = name.endswith(PUBLISHED)
    plain = name.removesuffix(PUBLISHED)
    algorithm = max((row for row in TABLE_1 if plain.startswith(row)), key=len)
    selections, rules = TABLE_1[algorithm]
    words = plain.removeprefix(algorithm).strip()
    selection = words.replace(" ", "_") or selections[0]
    if selection not in selections:
        raise ValueError(f"{name!r} is no row of Table 1")
    settings: dict[str, object] = {**rules, "selection": selection}
    classical = bool(rules.get("classical", False))
    settings["threshold"] = "lucb1" if classical else "self_normalized"
    settings["initialization"] = "each" if classical else "auto"
    if published and algorithm == "LinGame":
        settings["allocation"] = "game_as_published"
        settings["threshold"] = "heuristic"
        settings["statistic_over_variance"] = False
        settings["regularization"] = (sigma / 20) ** 2
        settings["initialization"] = "each"
    elif published:
        if rules.get("stopping", "lucb") == "lucb":
            settings["stopping"] = "lucb_lagged"
        if classical:
            settings["initialization"] = "each"
        else:
            settings["threshold"] = "frequentist"
            settings["threshold_regularization"] = (sigma / 20) ** 2
            lingape = algorithm in ("LinGapE", "m-LinGapE")
            settings["regularization"] = 1.0 if lingape else (sigma / 20) ** 2
            settings["initialization"] = "each" if lingape else None
    return Recipe(**settings)  # type: ignore[arg-type]


# What is decided


@dataclass(frozen=True)
class Hint:
    """What another implementation chose: it settles a choice that rounding alone decides."""

    inside: Callable[[], frozenset[int]] | None = None
    b: int | None = None
    c: int | None = None
    arm: int | None = None


@dataclass(frozen=True)
class Verdict:
    """One round. ``near`` names the choices that hung on less than ``NEAR``."""

    stop: bool
    inside: frozenset[int]
    arm: int | None = None
    b: int | None = None
    c: int | None = None
    threshold: float = math.nan
    statistic: float = math.nan
    kind: str = "round"
    near: frozenset[str] = frozenset()


@dataclass
class Oracle:
    """Algorithm 1, asked and told one evaluation at a time."""

    features: Array
    recipe: Recipe
    m: int
    sigma: float
    delta: float
    epsilon: float
    seed: int
    initial: Sequence[int]
    S: float | None = None
    noise: Array | None = None  # (σ_a/σ)² of every arm; 1 where nothing is said
    pulled: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    inside: frozenset[int] = frozenset()
    last_pair: tuple[int, int] | None = None
    queue: list[int] = field(default_factory=list)
    designs: dict[tuple[int, int], Array] = field(default_factory=dict)
    losses: dict[frozenset[int], Array] = field(default_factory=dict)
    mixability: dict[frozenset[int], float] = field(default_factory=dict)
    due: Array | None = None

    def __post_init__(self) -> None:
        self.arms = len(self.features)
        self.X = np.eye(self.arms) if self.recipe.classical else np.asarray(self.features, float)
        self.noise = np.ones(self.arms) if self.noise is None else self.noise
        self.shown = (
            self.X / np.sqrt(self.noise)[:, None]
        )  # by an evaluation, in units of its noise
        self.even = bool((self.noise == 1.0).all())
        # Then V is diagonal, and arms pulled equally often are equal to the last bit.
        same = self.X.shape[1] == self.arms and bool(np.all(np.eye(self.arms) == self.X))
        self.orthogonal = same and self.even
        _, values, directions = np.linalg.svd(self.X, full_matrices=False)
        self.rank = int(np.sum(values > 1e-10 * values[0]))
        row_space = directions[: self.rank].T
        # Without regularisation V is only invertible on the span of the arms.
        invertible = self.recipe.regularization > 0 or self.rank == self.X.shape[1]
        self.Z = self.X if invertible else self.X @ row_space
        if self.initial:
            start = self.shown[list(self.initial)] @ row_space
            self.weakest = float(np.linalg.eigvalsh(start.T @ start)[0])

    # The posterior

    @property
    def t(self) -> int:
        """How many results are known."""
        return len(self.pulled)

    def counts(self, begin: int = 0) -> NDArray[np.int64]:
        """N_a."""
        return np.bincount(self.pulled[begin:], minlength=self.arms)

    def design_matrix(self) -> Array:
        """V = λI + Σ x xᵀ σ²/σ_a²."""
        explored = self.Z.T @ ((self.counts() / self.noise)[:, None] * self.Z)
        return self.recipe.regularization * np.eye(self.Z.shape[1]) + explored

    def means(self, inverse: Array) -> Array:
        """μ̂_a = x_aᵀ V⁻¹ Σ r x σ²/σ_a²."""
        sums = np.bincount(self.pulled, self.rewards, minlength=self.arms) / self.noise
        return self.Z @ (inverse @ (sums @ self.Z))

    # Gap indices

    def threshold(self) -> float:
        """C_{t,δ}."""
        recipe, K, N = self.recipe, self.arms, self.X.shape[1]
        t = self.t if self.initial else self.t + 1  # erratum 6
        confidence = math.log(1 / self.delta)
        A = self.shown.T @ (self.counts()[:, None] * self.shown)
        if recipe.threshold == "self_normalized":
            u = 0.1
            logdet = np.linalg.slogdet(np.eye(N) + A / (u * self.weakest))[1]
            return math.sqrt(2 * (1 + u) * (confidence + logdet / 2))
        if recipe.threshold == "lucb1":
            return math.sqrt(2 * math.log(5 * K * t**4 / (4 * self.delta)))
        if recipe.threshold == "heuristic":
            forgotten = 1.0 if recipe.statistic_over_variance else 1 / self.sigma
            return forgotten * math.sqrt(2 * math.log((1 + math.log(t)) / self.delta))
        ridge = recipe.threshold_regularization
        if ridge is None:
            ridge = recipe.regularization
        assert self.S is not None
        bias = math.sqrt(ridge) * self.S / self.sigma
        if recipe.threshold == "frequentist":  # equation (2), in λ_V (erratum 4)
            longest = np.linalg.norm(self.shown, axis=1).max()
            spread = N * math.log(1 + (t + 1) * longest**2 / (ridge * N))
            return math.sqrt(2 * confidence + spread) + bias
        raise ValueError(recipe.threshold)

    def norms(self, inverse: Array) -> Array:
        """‖x_a‖_{V⁻¹}."""
        return np.sqrt(np.einsum("ik,ik->i", self.Z @ inverse, self.Z))

    def gap_indices(self, inverse: Array, means: Array, threshold: float) -> Array:
        """B_ij, i in rows and j in columns."""
        if self.recipe.indices == "individual":
            norms = self.norms(inverse)
            width = norms[:, None] + norms[None, :]
        else:
            pairs = self.Z[:, None, :] - self.Z[None, :, :]
            width = np.sqrt(np.einsum("ijk,ijk->ij", pairs @ inverse, pairs))
        return means[:, None] - means[None, :] + threshold * self.sigma * width

    def mth_gaps(self, B: Array) -> dict[int, float]:
        """The m-th largest of B_ij over i ≠ j."""
        others = B.copy()
        np.fill_diagonal(others, -np.inf)
        return dict(enumerate(np.partition(others, -self.m, axis=0)[-self.m].tolist()))

    # Choosing

    def best(
        self,
        values: Mapping[int, float],
        purpose: int,
        hint: int | None,
        near: set[str],
        *,
        exact: bool = False,
    ) -> int:
        """The arm of largest value; ties by priority; a hair's breadth by the hint.

        Equal numbers are a tie where the arithmetic behind them is exact. Elsewhere (G of linearly
        independent arms is diag(1/N_a) only up to rounding) they are equal by chance.
        """
        top = max(values.values())
        slack = NEAR * max(abs(value) for value in values.values())
        close = [arm for arm, value in values.items() if top - value <= slack]
        tied = [arm for arm in close if values[arm] == top]
        exact = exact or self.orthogonal or top == 0.0
        if len(close) > (len(tied) if exact else 1):
            near.add(PURPOSES[purpose])
            if hint in close:
                return int(hint)  # type: ignore[arg-type]
        return self.by_priority(tied, purpose)[0]

    def by_priority(self, tied: list[int], purpose: int) -> list[int]:
        """Tied arms, the one that wins first."""
        if len(tied) == 1:
            return tied
        return sorted(tied, key=lambda arm: -priority(self.seed, self.t, purpose, arm))

    def best_m(
        self,
        values: Mapping[int, float],
        hint: Callable[[], frozenset[int]] | None,
        near: set[str],
    ) -> frozenset[int]:
        """J(t): the m arms of largest value."""
        last, first_out = sorted(values.values(), reverse=True)[self.m - 1 : self.m + 1]
        slack = NEAR * max(abs(value) for value in values.values())
        exact = self.orthogonal or last == 0.0
        if last - first_out <= slack and not (exact and last == first_out):
            near.add(PURPOSES[CANDIDATES])
            chosen = frozenset() if hint is None else hint()
            rest = set(values) - chosen
            if len(chosen) == self.m and all(
                values[i] >= values[o] - slack for i in chosen for o in rest
            ):
                return chosen
        sure = [arm for arm, value in values.items() if value > last]
        tied = [arm for arm, value in values.items() if value == last]
        return frozenset((sure + self.by_priority(tied, CANDIDATES))[: self.m])

    def select(
        self, V: Array, inverse: Array, b: int, c: int, hint: int | None, near: set[str]
    ) -> int:
        """a_t."""
        rule = self.recipe.selection
        if rule == "both_arms":
            return b
        if rule == "largest_variance":
            norms = self.norms(inverse)
            return self.best({b: norms[b], c: norms[c]}, SELECTION, hint, near)
        if rule == "greedy":
            pair = self.Z[b] - self.Z[c]
            more = self.Z[:, :, None] * self.Z[:, None, :]
            after = V + more / self.noise[:, None, None]
            left = np.linalg.solve(after, pair[:, None])[:, :, 0] @ pair
            return self.best(dict(enumerate((-left).tolist())), SELECTION, hint, near)
        if rule == "optimized":  # erratum 1: argmin
            w, counts = self.design(b, c), self.counts()
            total = float(np.abs(w).sum())
            behind = {a: -counts[a] * total / abs(w[a]) for a in range(self.arms) if w[a] != 0}
            return self.best(
                behind, SELECTION, hint, near, exact=self.rank == self.arms and self.even
            )
        if rule == "tracking":
            return self.track(inverse, hint, near)
        raise ValueError(rule)

    def track(self, inverse: Array, hint: int | None, near: set[str]) -> int:
        """The arm furthest behind its allocation."""
        rule, counts = self.recipe.allocation, self.counts()
        if rule == "game_as_published":
            target = self.t * self.play(inverse)
        else:
            if self.due is None:
                self.due = counts.astype(float)
            target = self.due = self.due + self.play(inverse)
        ahead = {a: target[a] - counts[a] for a in range(self.arms)}
        return self.best(ahead, SELECTION, hint, near)

    def play(self, inverse: Array) -> Array:
        """LinGame's shares (Degenne et al. 2020; erratum 8)."""
        K, J = self.arms, self.inside
        published = self.recipe.allocation == "game_as_published"
        means = self.means(inverse)
        losses = self.losses.setdefault(J, np.zeros(K))
        rate = math.log(K) / self.mixability.setdefault(J, 0.01)
        w = np.exp(-rate * (losses - losses.min()))
        w /= w.sum()
        answered = inverse
        if not published:
            V = self.Z.T @ ((w / self.noise)[:, None] * self.Z)
            answered = np.linalg.inv(V + 1e-12 * np.trace(V) * np.eye(len(V)))

        slack = 0.0 if published else self.epsilon

        def distance(pair: tuple[int, int]) -> float:
            y = self.Z[pair[0]] - self.Z[pair[1]]
            return float((means[pair[0]] - means[pair[1]] + slack) ** 2 / (y @ answered @ y))

        i, j = min(((i, j) for i in sorted(J) for j in range(K) if j not in J), key=distance)
        y = self.Z[i] - self.Z[j]
        moved = np.abs(self.Z @ answered @ y) * (means[i] - means[j] + slack)
        moved /= y @ answered @ y
        norms, most = self.norms(inverse), math.log(self.t)
        if published:
            gains = (moved + np.sqrt(2 * most * norms)) ** 2 / 2
        else:
            gains = (moved / self.sigma + math.sqrt(2 * most) * norms) ** 2 / 2 / self.noise
        gains = np.minimum(gains, most)
        mixed = math.log(float(w @ np.exp(rate * (gains - gains.max())))) / rate + gains.max()
        self.losses[J] = losses - gains
        self.mixability[J] += max(mixed - float(w @ gains), 0.0)
        return w

    def design(self, b: int, c: int) -> Array:
        """w* = argmin ‖w‖₁ subject to Σ w_a x_a σ/σ_a = x_b − x_c; of several that of cheapest arms."""
        if (b, c) not in self.designs:
            K = self.arms
            if self.rank == K:
                w = np.zeros(K)
                w[b], w[c] = math.sqrt(self.noise[b]), -math.sqrt(self.noise[c])
            else:
                # w = p − n with p, n ≥ 0. No two arms have the same price, so there is one answer.
                prices = np.array([1.0 + 1e-7 * mix(a) / WORD for a in range(K)])
                answer = linprog(
                    np.tile(prices, 2),
                    A_eq=np.hstack([self.shown.T, -self.shown.T]),
                    b_eq=self.X[b] - self.X[c],
                    bounds=(0, None),
                    options={"dual_feasibility_tolerance": 1e-10},
                )
                assert answer.status == 0, answer.message
                w = answer.x[:K] - answer.x[K:]
                w[np.abs(w) < 1e-8 * np.abs(w).max()] = 0.0
            self.designs[b, c] = w
        return self.designs[b, c]

    # Algorithm 1

    def ask(self, hint: Hint | None = None) -> Verdict:
        """The next pull, or the stop."""
        hint = hint or Hint()
        if self.t < len(self.initial):
            return Verdict(False, self.inside, self.initial[self.t], kind="initial")
        if self.queue:
            return Verdict(False, self.inside, self.queue.pop(0), kind="queued")
        near: set[str] = set()
        V = self.design_matrix()
        inverse = np.linalg.inv(V)
        means, C = self.means(inverse), self.threshold()
        B = self.gap_indices(inverse, means, C)

        lagged = self.recipe.stopping == "lucb_lagged"
        statistic = math.nan
        if lagged and self.last_pair is not None:  # erratum 7: before J is chosen anew
            b, c = self.last_pair
            statistic = float(B[c, b])
            self.near_stop(statistic, B, near)
            if statistic <= self.epsilon:
                return Verdict(True, self.inside, None, b, c, C, statistic, near=frozenset(near))

        rules = (self.recipe.candidates, self.recipe.ambiguous, self.recipe.stopping)
        reads_all = bool({"smallest_gap", "mth_gap", "ugape"} & set(rules))
        mth = self.mth_gaps(B) if reads_all else {}
        if self.recipe.candidates == "top_means":
            ranked = dict(enumerate(means.tolist()))
        else:
            ranked = {j: -gap for j, gap in mth.items()}
        self.inside = J = self.best_m(ranked, hint.inside, near)
        outside = [i for i in range(self.arms) if i not in J]
        if self.recipe.ambiguous == "largest_gap":
            largest = B[outside].max(axis=0).tolist()
            doubt = {j: largest[j] for j in J}
        else:
            doubt = {j: mth[j] for j in J}
        b = self.best(doubt, AMBIGUOUS, hint.b, near)
        gaps = dict(zip(outside, B[outside, b].tolist(), strict=True))
        c = self.best(gaps, CHALLENGER, hint.c, near)

        if not lagged:
            lucb = self.recipe.stopping == "lucb"
            statistic = float(B[c, b]) if lucb else max(mth[j] for j in J)
            self.near_stop(statistic, B, near)
            if statistic <= self.epsilon:
                return Verdict(True, J, None, b, c, C, statistic, near=frozenset(near))

        arm = self.select(V, inverse, b, c, hint.arm, near)
        if self.recipe.selection == "both_arms":
            self.queue.append(c)
        self.last_pair = (b, c)
        return Verdict(False, J, arm, b, c, C, statistic, "round", near=frozenset(near))

    def near_stop(self, statistic: float, B: Array, near: set[str]) -> None:
        """Whether rounding decides about the stop."""
        if abs(statistic - self.epsilon) <= NEAR * np.abs(B).max():
            near.add("stop")

    def tell(self, arm: int, reward: float) -> None:
        """Take in a result."""
        self.pulled.append(arm)
        self.rewards.append(reward)


def arms_in(names: Iterable[str]) -> frozenset[int]:
    """Arms by their default names, which are their numbers."""
    return frozenset(int(name) for name in names)
