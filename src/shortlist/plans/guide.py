"""Features as a guide: a model of the features guesses and predicts, and the proof assumes nothing of it.

The guess of guess-and-verify may come from anywhere. Here it comes from a model of the features:
least squares with departures, whose size the results decide (``nearly_linear``). The verification tests each arm's own results, and holds whatever was guessed and
predicted before them. So the guarantee assumes nothing about how the means depend on the features: a
bad model costs evaluations, never the guarantee. The proof is in docs/proofs.md.

``Study.verify`` begins with the results of a study that relied on the features: they guide, the list
is named, and results after that verify it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from shortlist.arrays import Integers, Mask, Reals
from shortlist.designs.pairs import contrast_design, own_design
from shortlist.engine.algorithm import Algorithm, Need, Procedure
from shortlist.numerics.order import largest_first
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.bets.normal import ByLikelihoods
from shortlist.plans.bets.pooled import ByBets
from shortlist.plans.evidence import (
    HALF_WIDTH,
    PRIOR,
    ByEstimates,
    Evidence,
    OpenPairs,
    Verifier,
    expected_verification,
    squared_threshold,
)
from shortlist.plans.guess_and_verify import (
    MOST_ARMS,
    NAMED_SETS,
    GuessAndVerify,
    Tables,
    with_bets,
    with_likelihoods,
)
from shortlist.plans.means import (
    PAIRS,
    QUARTER,
    SHORTEST,
    Fit,
    Means,
    counts,
    nearly_linear,
)
from shortlist.plans.results import PlanResults
from shortlist.plans.strategy import ReducedProblem, best_of
from shortlist.problem import Problem
from shortlist.relation import Unrelated
from shortlist.rules.thresholds import StrategyThreshold

FOLDS = 5
DEPARTING = 0.5  # of the variance of a gap: with more, plans by the features say too little
FEW = 0.5  # of the arms: with more dimensions a line says too little, and own averages guess
LIKELY_IF_LINEAR, LIKELY_AGAIN_IF_LINEAR = (
    0.9,
    0.8,
)  # as ``LIKELY``, where the means seem to be linear
PAIRED_PRICE = 0.9  # what the mixture of ``PairEvidence`` costs, in ln E

ANY_MEANS = StrategyThreshold(
    NAMED_SETS.name,
    "The C at which the mixture test of one pair reaches 1/share, for a set named beforehand.",
    "after Karnin 2016 and Robbins 1970; proof: docs/proofs.md of shortlist",
    coverage=NAMED_SETS.coverage,
)


class GuidedStrategy(GuessAndVerify):
    """Guess by a model of the features, verify by each arm's own results.

    While the means seem to be linear, sets are verified by ``PredictedEvidence``, else by the estimates
    of one plan after the other. The choice is made when they are named, from results before that.

    Parameters
    ----------
    problem : ReducedProblem
        With the features in a basis of their row space.
    past : (PlanResults, array of bool), optional
        All results so far, and the m arms that are to be verified. They guide; only later results
        verify.
    kind : type of Verifier
        What suits the noise.
    """

    def __init__(
        self,
        problem: ReducedProblem,
        past: tuple[PlanResults, Mask] | None = None,
        kind: type[Verifier] = ByEstimates,
    ) -> None:
        self._basis = with_intercept(problem.features)
        self._bare = np.ascontiguousarray(np.linalg.qr(problem.features)[0])
        arms, rank = self._basis.shape
        self._is_few = rank < FEW * arms
        # With half as many dimensions as arms a line says too little to guess by; but
        # arms without a result of their own can only be guessed by it.
        self._by_features = self._is_few or past is not None
        self._begins = past is None
        self._before = 0 if past is None else int(past[0].pulls.sum())
        super().__init__(problem, kind=kind)
        if past is not None:
            self._begin_with(*past)

    def verifier(self, problem: ReducedProblem, kind: type[Verifier]) -> Verifier:
        """By the arms' own results; the first plan only has to span the features where these are few."""
        own = kind.own(problem, self._basis if self._is_few and self._begins else None)
        return own.before(PlanResults.none(len(problem.features)))

    def _begin_with(self, results: PlanResults, inside: Mask) -> None:
        """Verify arms that were found by other means, with all results so far to guide."""
        made = int(results.pulls.sum())
        self._results, self.inside = results, inside
        verifier = self._verifier = self._verifier.before(results)
        self._whole = verifier.means.fit(results)
        guess = self._guess = self.guess(results, self._whole, verifier.means.noise)
        tables = self._tables.with_rows(
            np.flatnonzero(inside | best_of(guess.means, int(inside.sum())))
        )
        pairs = self._open_pairs(tables, guess, inside, tables.margins(inside))
        rng = np.random.default_rng(made)
        self._tables = self._name(verifier, tables, guess, inside, pairs, made, rng)
        self.b, self.c = self._boundary(self._tables, inside, self._tables.margins(inside))[:2]
        spent = verifier.means.spent(results.pulls)
        self.plan, self._weights = self._next_plan(
            verifier, self._tables, guess, inside, pairs, spent, rng
        )

    def _take_over(
        self,
        before: Self,
        places: Integers,
        results: PlanResults | None,
        seed: int,
        *,
        proves: bool,
    ) -> None:
        """Go on from what a strategy for other arms knows; ``results`` that it lacks only guide."""
        self._by_features = before._by_features
        self._before = before._before if proves else int(before._results.pulls.sum())
        super()._take_over(before, places, results, seed, proves=proves)

    def before_fit(self, verifier: Verifier, total: PlanResults) -> Integers:
        """One pull of each arm without a result, where the features do not tell of it."""
        unknown = super().before_fit(verifier, total)
        if not self._by_features:
            return unknown
        spans = np.linalg.matrix_rank(self._bare[total.pulls > 0]) == self._bare.shape[1]
        return unknown * (not spans)

    def guess(self, results: PlanResults, whole: Fit, noise: Reals) -> Fit:
        """What the model makes of all results."""
        if not self._by_features:
            return whole
        # Results of a study that relied on the features span them, but perhaps not a constant too.
        spans = np.linalg.matrix_rank(self._basis[results.pulls > 0]) == self._basis.shape[1]
        basis = self._basis if spans else self._bare
        return nearly_linear(basis, results, noise, self._problem.sigma)

    def evidence(
        self,
        verifier: Verifier,
        tables: Tables,
        guess: Fit,
        inside: Mask,
        risks: dict[bytes, float],
    ) -> Evidence:
        """By predictions where the means seem to be linear, unless the price would be too high."""
        paired = super().evidence(verifier, tables, guess, inside, risks)
        predicted = verifier.predicted(tables.rows, guess) if guess.departure == 0.0 else None
        if predicted is None:
            return paired
        b, c, squares = (each[0] for each in hardest_pairs(guess, inside, self._problem))
        # As many results as tell these two apart, and what is predicted of each until then. Results of
        # other arms improve the predictions meanwhile: half of the price is expected.
        risk = risks[np.packbits(inside).tobytes()]
        squared = squared_threshold(-math.log(risk), 1.0 / PRIOR) * self._problem.sigma**2
        pulls, spread = 2.0 * squared * squares, guess.own_variances / self._problem.noise_of_arms
        price = 0.25 * math.log1p(pulls * spread[b]) + 0.25 * math.log1p(pulls * spread[c])
        if price > PAIRED_PRICE:
            return paired
        return predicted

    def likely(self, guess: Fit, times: int) -> float:
        """More where the means seem to be linear: guessing is cheap then."""
        if guess.departure == 0.0:
            return LIKELY_IF_LINEAR if times == 0 else LIKELY_AGAIN_IF_LINEAR
        return super().likely(guess, times)

    def plan_for(
        self,
        means: Means,
        pairs: OpenPairs,
        lacking: Reals,
        evidence: Evidence | None,
        guess: Fit,
        spent: float,
        rng: np.random.Generator,
    ) -> tuple[Integers, Reals]:
        """A plan by the features to guess while that says most; to verify, results that are lacking."""
        if evidence is None and self._is_few:
            departures = guess.departures(pairs.b, pairs.c)
            if departures.mean() < DEPARTING * pairs.variances.mean():
                needs = np.maximum(lacking, SHORTEST / pairs.variances)
                most = largest_first(needs * pairs.variances)[:PAIRS]
                dear = means.noise * means.costs
                weights, total = contrast_design(
                    self._basis, pairs.b[most], pairs.c[most], needs[most], noise=dear
                )
                length = max(SHORTEST * spent, min(spent, QUARTER * total))
                scaled = np.ascontiguousarray(self._basis / np.sqrt(dear)[:, None])
                return counts(scaled, *means.in_pulls(weights, length)), np.zeros(len(weights))
        return super().plan_for(means, pairs, lacking, evidence, guess, spent, rng)

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """The arms' own averages; for an arm without a result, what the model says."""
        if self._whole is None or self._guess is None:
            return super().estimates(means, variances)
        seen = np.isfinite(self._whole.own_variances)
        return (
            np.where(seen, self._whole.means, self._guess.means),
            np.where(seen, self._whole.own_variances, self._guess.own_variances),
        )

    def projected(self, count: int, rng: np.random.Generator) -> Reals | None:
        """About how many results it still takes, for means drawn ``count`` times."""
        problem, guess, of = self._problem, self._guess, self._verifier.means
        if guess is None:
            return None
        arms = np.arange(len(guess.means))
        drawn = guess.means + problem.sigma * guess.draw(arms, count, rng)
        others = problem.sigma, problem.epsilon, problem.delta
        needed = [
            expected_verification(means, best_of(means, problem.m), of.noise, *others, of.costs)
            for means in drawn
        ]
        named_at = max((each.made for each in self._tables.namings), default=self._before)
        return np.maximum(np.array(needed) - (self._results.pulls.sum() - named_at), 1.0)

    def cost_if_linear(self) -> float | None:
        """The evaluations that relying on linear means would take, as a share of those without.

        It is the ratio of the best designs for the gaps as they seem to be; None before the first
        plan is in.
        """
        if self._guess is None:
            return None
        pairs = hardest_pairs(self._guess, self.inside, self._problem)
        noise = self._verifier.means.noise * self._verifier.means.costs
        _, linear = contrast_design(
            np.ascontiguousarray(self._problem.features), *pairs, noise=noise
        )
        return min(1.0, linear / own_design(*pairs, noise)[1])


def with_intercept(reduced: Reals) -> Reals:
    """An orthonormal basis of the features and a constant.

    Examples
    --------
    >>> with_intercept(np.arange(4.0)[:, None]).shape, with_intercept(np.eye(3)[:, :2]).shape
    ((4, 2), (3, 3))
    >>> with_intercept(np.ones((3, 1))).shape
    (3, 1)
    """
    basis = np.linalg.qr(reduced)[0]
    ones = np.ones(len(basis))
    left = ones - basis @ (basis.T @ ones)
    if np.linalg.norm(left) > 1e-6 * np.linalg.norm(ones):
        left -= basis @ (basis.T @ left)
        basis = np.column_stack([basis, left / np.linalg.norm(left)])
    return np.ascontiguousarray(basis)


def hardest_pairs(
    guess: Fit, inside: Mask, problem: ReducedProblem
) -> tuple[Integers, Integers, Reals]:
    """b, c and the inverse squared gaps of the pairs that are hardest to tell apart."""
    b = np.repeat(np.flatnonzero(inside), (~inside).sum())
    c = np.tile(np.flatnonzero(~inside), inside.sum())
    own = guess.own_variances
    errors = problem.sigma * np.sqrt(own[b] + own[c])
    gaps = np.maximum(guess.means[b] - guess.means[c] + problem.epsilon, HALF_WIDTH * errors)
    most = largest_first(-gaps)[:PAIRS]
    return b[most], c[most], gaps[most] ** -2.0


@dataclass(frozen=True)
class Guided(Algorithm):
    """Guess-and-verify with the features as a guide: they help to guess, and prove nothing.

    The guarantee holds whatever the means are. ``Study(features, trust="guide")`` takes it.

    Examples
    --------
    >>> guided = Guided()
    >>> guided.name
    'Guess-and-verify (guided by least squares)'
    >>> guided.bind(Problem.of([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], 1, sigma=0.5)).relation.assumed
    ''
    """

    name = "Guess-and-verify (guided by least squares)"
    guide = "least squares"
    summary = "guesses by a model of the features, verifies without them"
    works = ("karnin",)
    adapted = True
    needs = Need(
        "trust",
        'with the value "guide" chooses this algorithm',
        "Guided is selected with trust='guide': pass that to Study, write "
        'trust = "guide" in a screen.toml, or pass shortlist.Guided() to compare.',
        'With features used only as a guide (trust = "guide" in a screen.toml)',
    )

    @property
    def settings(self) -> dict[str, Any]:
        """None: its name says it all."""
        return {}

    @classmethod
    def read(cls, settings: dict[str, Any]) -> Self:
        """The same, from a storage."""
        return cls()

    def bind(
        self,
        problem: Problem,
        threshold: Any = None,
        past: tuple[PlanResults, Mask] | None = None,
    ) -> Procedure:
        """The algorithm on a problem, from the first result on or after those of the past."""
        guided = partial(GuidedStrategy, past=past)
        planned = Planned(
            strategy=guided,
            threshold=ANY_MEANS,
            interval=INTERVAL,
            name=self.name,
            summary=self.summary,
            works=self.works,
            adapted=self.adapted,
            uses_noise=True,
            uses_costs=True,
            most_arms=MOST_ARMS,
            checks=False,
            relation=partial(Unrelated, guide=self.guide),
        )
        planned = with_bets(planned, partial(guided, kind=ByBets))
        planned = with_likelihoods(planned, partial(guided, kind=ByLikelihoods))
        return replace(planned.bind(problem, threshold), rebind=self.bind)
