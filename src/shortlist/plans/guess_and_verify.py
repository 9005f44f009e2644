"""Guess the m best arms, then verify the guess with later results.

A set J of m arms is *named* at a time t₁ that may depend on all results until then. If J is wrong,
the best arm outside is better by more than ε than the worst arm inside: the truth and J fix which
pair that is. J is called right when every pair of an arm b inside and an arm c outside passes a
test on results after t₁, and the wrong pair passes its own with a probability of at most J's share
of δ. So there is no union over the m(K − m) pairs (an intersection–union test; explore and verify,
Karnin 2016). Several sets may be named, at several times, with shares that add up to δ at most.

**The test.** Plan s after t₁ estimates the gap g = μ_b − μ_c + ε by d_s with variance σ²v_s, where
v_s is known before the plan's results. Let I = Σ 1/v_s and M = Σ d_s/v_s. If
g ≤ 0, exp(λM − λ²σ²I/2) is a supermartingale for every λ > 0, and so is its mixture over a
half-normal λ of variance 1/(σ²ρ),

    E = 2Φ(z) √(ρ/(I + ρ)) exp(z²/2),   z = M/(σ√(I + ρ)),

with ρ chosen at t₁. It ever reaches 1/share with a probability of at most the share (Ville). The
pair passes when it does.

**The shares.** Of δ, 0.04 goes to the pairs themselves, on all results (after ``Study.verify``: all
since then), each with 1/(m(K − m)) of that:
it names nothing, and a pair passes by it too. The rest is for at most three times of naming.
At each, draws from the posterior of a flat prior vote: for the arms thought to be best where these
are right within ε, else for the m best of the draw. A set's share of δ is in proportion to its
votes.

Neither the guess, nor the prior ρ, nor a design or the length of a plan enters the proof: they
decide how long it takes. docs/proofs.md has the whole proof.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from shortlist.arrays import NO_ARM, Integers, Mask, Reals
from shortlist.engine.certified import Certified
from shortlist.errors import InvalidSetting
from shortlist.noise.bounded import StatedRange
from shortlist.noise.estimated import OwnSigma
from shortlist.plans.algorithm import Planned
from shortlist.plans.arm_bounds import INTERVAL
from shortlist.plans.bets.linear import INTERVAL_OF_LINEAR_BETS, ByLinearBets
from shortlist.plans.bets.normal import INTERVAL_OF_LIKELIHOODS, ByLikelihoods
from shortlist.plans.bets.pooled import INTERVAL_OF_BETS
from shortlist.plans.bets.student import INTERVAL_OF_STUDENT, ByStudents
from shortlist.plans.evidence import (
    HALF_WIDTH,
    PRIOR,
    ByEstimates,
    Evidence,
    FittedPlan,
    OpenPairs,
    Verifier,
    placed_rows,
    squared_threshold,
)
from shortlist.plans.means import SHORTEST, Fit, Means
from shortlist.plans.results import PlanResults, placed
from shortlist.plans.strategy import ReducedProblem, Strategy
from shortlist.relation import Unrelated
from shortlist.rules.thresholds import EACH_ARM, ArmInterval, StrategyThreshold

LIKELY = 0.6  # chance that the guess is right at which it is named
LIKELY_AGAIN = 0.5  # the same for a later naming
SAVING = 0.9  # sets are named again if the hardest pair then needs less than this share
LAST_RESORT = 0.1  # of what is left of δ, for the pairs without a named set once arms are added
DRAWS = 1000
DOUBTFUL = 3.0  # standard errors: pairs further apart are not pulled for before sets are named
MOST_ARMS = 200_000  # tables of some fifty rows then take a gigabyte
NARROWED = 0.5  # times its width: a gap that is not known to be larger is taken for that
LEAST_GROWTH = 3.0  # I/ρ by which a pair is expected to pass at the earliest
CONTENDER = 4.0  # standard errors: arms further from the best m are not drawn

NAMED_SETS = StrategyThreshold(
    "named_sets",
    "The C at which the mixture test of one pair reaches 1/share, for a set named beforehand.",
    "after Karnin 2016 and Robbins 1970; proof: docs/proofs.md of shortlist",
    coverage=EACH_ARM,
)


def unpacked(packed: bytes, count: int) -> Mask:
    """The set of arms whose packed bits these are.

    Examples
    --------
    >>> unpacked(np.packbits(np.array([True, False, True])).tobytes(), 3).tolist()
    [True, False, True]
    """
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count).astype(np.bool_)


@dataclass(frozen=True, eq=False)
class Naming:
    """Sets named at one time: the risk of each, the evidence since, and the results until then."""

    evidence: Evidence
    risks: dict[bytes, float]
    made: int

    def risk(self, inside: Mask) -> float:
        """The share of δ spent on declaring this set correct; 0 if it was never named."""
        return self.risks.get(np.packbits(inside).tobytes(), 0.0)


@dataclass(frozen=True, eq=False)
class Tables:
    """All evidence: for the pairs without a named set, and since each naming.

    Attributes
    ----------
    rows : array of int
        The arms b of the tables' rows, in order.
    fall_back : Evidence
        From the first plan on, or from when the arm b got its row.
    level : float
        ln of what the fall-back's E must reach.
    listable : array of bool, K
        Whether each arm may be listed: the others are in no pair that is tested.
    namings : tuple of Naming
        In order of time.
    """

    rows: Integers
    fall_back: Evidence
    level: float
    listable: Mask
    namings: tuple[Naming, ...] = ()

    def after(self, told: FittedPlan, problem: ReducedProblem) -> Tables:
        """With what one more plan says."""
        namings = tuple(
            replace(each, evidence=each.evidence.after(told, problem)) for each in self.namings
        )
        return replace(self, fall_back=self.fall_back.after(told, problem), namings=namings)

    def with_rows(self, arms: Integers) -> Tables:
        """With rows for these arms too."""
        more = np.setdiff1d(arms, self.rows)
        if not len(more):
            return self
        namings = tuple(
            replace(each, evidence=each.evidence.with_rows(more)) for each in self.namings
        )
        fall_back = self.fall_back.with_rows(more)
        return replace(self, rows=np.append(self.rows, more), fall_back=fall_back, namings=namings)

    def placed(self, places: Integers, problem: ReducedProblem, *, named: bool) -> Tables:
        """The same where ``places`` says which of these arms each is; sets with others are gone.

        All sets are gone where what was ``named`` is not to count.
        """
        count = self.fall_back.largest.shape[1]
        gone = np.setdiff1d(np.arange(count), places)
        namings = []
        for each in self.namings:
            sets = [(unpacked(key, count), risk) for key, risk in each.risks.items() if named]
            risks = {
                np.packbits(placed(one, places, False)).tobytes(): risk
                for one, risk in sets
                if not one[gone].any()
            }
            evidence = each.evidence.placed(places, problem)
            namings.append(Naming(evidence, risks, each.made))
        fall_back = self.fall_back.placed(places, problem)
        rows, listable = placed_rows(self.rows, places)[0], placed(self.listable, places, True)
        return Tables(rows, fall_back, self.level, listable, tuple(namings))

    def tested(self, *sets: Mask) -> Tables:
        """With the evidence for some sets up to date."""
        namings = list(self.namings)
        for inside in sets:
            for i, each in enumerate(namings):
                if risk := each.risk(inside):
                    pairs = self.of(inside), self.others(inside)
                    evidence = each.evidence.tested(*pairs, -math.log(risk))
                    namings[i] = replace(each, evidence=evidence)
        return replace(self, namings=tuple(namings))

    def of(self, inside: Mask) -> Integers:
        """The rows of the arms inside, in the order of the arms."""
        place = np.full(len(inside), -1)
        place[self.rows] = np.arange(len(self.rows))
        return place[inside]

    def others(self, inside: Mask) -> Integers:
        """The other arms that may be listed."""
        return np.flatnonzero(self.listable & ~inside)

    def margins(self, inside: Mask) -> Reals:
        """The logarithm of E less what it must reach, for b inside and c outside: a pair passes at 0."""
        here = np.ix_(self.of(inside), self.others(inside))
        margins = self.fall_back.largest[here] - self.level
        for each in self.namings:
            if risk := each.risk(inside):
                margins = np.maximum(margins, each.evidence.largest[here] + math.log(risk))
        return margins

    def least_slack(self, inside: Mask, problem: ReducedProblem) -> Reals:
        """The least ε with which each pair of b inside and c outside passes; ε if it has passed."""
        here = np.ix_(self.of(inside), self.others(inside))
        least = self.fall_back.least_slack(here, self.level, problem)
        for each in self.namings:
            if risk := each.risk(inside):
                slack = each.evidence.least_slack(here, -math.log(risk), problem)
                least = np.minimum(least, slack)
        return np.where(self.margins(inside) >= 0.0, np.minimum(least, problem.epsilon), least)

    def settled(self, inside: Mask) -> Mask:
        """The pairs of b inside and c outside that have passed without a named set.

        The wrong ones of these pairs, whatever the arms inside, ever pass with a probability of at
        most what the fall-back has of δ.
        """
        here = np.ix_(self.of(inside), self.others(inside))
        return np.asarray(self.fall_back.largest[here] >= self.level)

    def with_slack(self, epsilon: float, problem: ReducedProblem) -> Tables:
        """The same results judged with another ε than the problem's."""
        namings = tuple(
            replace(each, evidence=each.evidence.with_slack(epsilon, problem))
            for each in self.namings
        )
        fall_back = self.fall_back.with_slack(epsilon, problem)
        return replace(self, fall_back=fall_back, namings=namings)

    def for_set(self, inside: Mask) -> list[tuple[Evidence, float]]:
        """All evidence for these arms, and ln of what its E must reach: by each naming, the last first.

        The fall-back is at the end.
        """
        namings = [(each.evidence, each.risk(inside)) for each in reversed(self.namings)]
        named = [(evidence, -math.log(risk)) for evidence, risk in namings if risk]
        return [*named, (self.fall_back, self.level)]

    def latest(self, inside: Mask) -> tuple[Evidence, float]:
        """The evidence since these arms were last named, and ln of what its E must reach."""
        return self.for_set(inside)[0]


class GuessAndVerify(Strategy):
    """Plans to guess the m best, then plans to verify the guess.

    Parameters
    ----------
    problem : ReducedProblem
        What the strategy is given.
    shares : tuple of float, optional
        The shares of δ for each time that sets are named. What they leave is the fall-back's. By default
        the verifier's.
    kind : type of Verifier
        What suits the noise.
    """

    def __init__(
        self,
        problem: ReducedProblem,
        shares: tuple[float, ...] | None = None,
        kind: type[Verifier] = ByEstimates,
    ) -> None:
        arms = len(problem.features)
        verifier = self.verifier(problem, kind)
        shares = verifier.shares if shares is None else shares
        left = 1.0 - sum(shares)
        if min(shares, default=1.0) <= 0.0 or left < -1e-9:
            raise InvalidSetting(
                f"shares must be above 0 and add up to 1 at most, got {shares}: more would be a "
                "larger risk than δ."
            )
        self._problem, self._shares = problem, shares
        self._verifier = verifier
        self.keeps_values, self.goes_on = self._verifier.keeps_values, self._verifier.goes_on
        self.tests_linearity = self._verifier.tests_linearity
        if problem.first is None:
            self.plan, self._weights = self._verifier.means.first()
        else:
            self.plan, self._weights = problem.first, problem.first / problem.first.sum()
        self._results = self._verifier.means.summary(PlanResults.none(arms))
        rows = np.arange(arms if arms <= verifier.most_rows else 0)
        listable = problem.may_be_listed
        each = left * problem.delta / (problem.m * (int(listable.sum()) - problem.m))
        level = -math.log(each) if left > 1e-9 else math.inf
        self._tables = Tables(rows, self._verifier.nothing(rows), level, listable)
        self._looked = 0  # results so far when sets were last considered to be named
        self._whole: Fit | None = None
        self._guess: Fit | None = None
        self.inside = np.zeros(arms, np.bool_)
        self._guides = False  # whether the results of the plan are to guide only
        # A strategy for fewer arms that completes its plan before this one goes on, and which of
        # its arms each is.
        self._waits: tuple[Self, Integers] | None = None
        # Whether the last set is not to be named, as other arms wait: nothing would be left for them.
        self._keeps_share = False
        self._grew = False  # whether arms were added: then what is proven is for one ε

    def verifier(self, problem: ReducedProblem, kind: type[Verifier]) -> Verifier:
        """How results become means and evidence."""
        arms, rank = problem.features.shape
        return kind.own(problem) if rank == arms else kind.linear(problem)

    def guess(self, results: PlanResults, whole: Fit, noise: Reals) -> Fit:
        """What the guess is made from: all results as they are, or a model of them.

        ``noise`` is (σ_a/σ)² as it is known now.
        """
        return whole

    def evidence(
        self,
        verifier: Verifier,
        tables: Tables,
        guess: Fit,
        inside: Mask,
        risks: dict[bytes, float],
    ) -> Evidence:
        """Nothing yet, for sets that are named now with these risks; it suits the arms inside."""
        risk = risks[np.packbits(inside).tobytes()]
        return verifier.evidence(tables.rows, guess, inside, risk, max(risks.values()))

    def likely(self, guess: Fit, times: int) -> float:
        """How likely sets must be to be named, where some were named ``times`` times."""
        return LIKELY if times == 0 else LIKELY_AGAIN

    def decide(self, results: PlanResults, seed: int) -> None:
        """Weigh the new results, and make the next plan."""
        if self._waits is not None:
            before, places = self._waits[0].copy(), self._waits[1]
            before._keeps_share = True
            before.decide(results.placed(np.flatnonzero(places != NO_ARM)), seed)
            self._take_over(before, places, None, seed, proves=True)
            return
        summary = self._verifier.means.summary(results)
        told = FittedPlan(results, self._verifier.means.fit(summary), self._guess)
        verifier = self._verifier.after(told)
        tables = self._tables
        if not self._guides:
            problem = self._problem._replace(noise=verifier.means.noise)
            tables = tables.after(told, problem)
        self._plan_anew(verifier, tables, self._results + summary, seed)

    def _plan_anew(self, verifier: Verifier, tables: Tables, total: PlanResults, seed: int) -> None:
        """Guess by all results, see what has passed, name sets if they are likely, and plan."""
        plan, weights, looked, problem = self.plan, self._weights, self._looked, self._problem
        made = int(total.pulls.sum())
        whole = verifier.means.fit(total)
        guess = self.guess(total, whole, verifier.means.noise)
        best = problem.best_of(guess.means)
        tables = tables.with_rows(np.flatnonzero(best)).tested(best, self.inside)
        inside = self._guessed(tables, guess)
        margins = tables.margins(inside)
        stops = bool(margins.min() >= 0.0)
        at = self._boundary(tables, inside, margins)
        if not stops:
            pairs = self._open_pairs(tables, guess, inside, margins)
            rng = np.random.default_rng([seed, made])
            if verifier.looks(made, looked):
                looked = made
                tables = self._name(verifier, tables, guess, inside, pairs, made, rng)
            spent = verifier.means.spent(total.pulls)
            plan, weights = self._next_plan(verifier, tables, guess, inside, pairs, spent, rng)
        self._verifier, self._tables, self._results = verifier, tables, total
        self._whole, self._guess, self._looked = whole, guess, looked
        self._guides = False
        self.plan, self._weights, self.inside = plan, weights, inside
        self.b, self.c, self.threshold, self.statistic = at

    # Other arms

    def go_on(
        self, before: Self, places: Integers, results: PlanResults, seed: int, *, proves: bool
    ) -> PlanResults:
        """Take over the evidence on pairs that are left, if it proves anything, and plan anew.

        Where arms are added the plan is completed first: whether its results count must not depend
        on them.
        """
        if (places == NO_ARM).any() and results.pulls.any():
            self._waits = before, places
            self.plan, self._weights = placed(before.plan, places, 0), np.zeros(len(places))
            self.inside = placed(before.inside, places, False)
            self.b, self.c = (
                int(np.flatnonzero(places == each)[0]) for each in (before.b, before.c)
            )
            self._results, self._guides = before._results.placed(places), True
            self._verifier = self._verifier.taking_over(before._verifier, places)
            return results.placed(places)
        self._take_over(*before._ended(results, seed, places), seed, proves=proves)
        return self.no_results()

    def _ended(
        self, results: PlanResults, seed: int, places: Integers
    ) -> tuple[Self, Integers, PlanResults]:
        """The strategy without waiting any longer, these places, and the results that only guide."""
        if self._waits is None:
            return self, places, results
        first, then = self._waits
        within = results.placed(np.flatnonzero(then != NO_ARM))
        now = self.copy()
        now._keeps_share = True
        now._take_over(*first._ended(within, seed, then), seed, proves=True)
        return now, places, PlanResults.none(len(now.plan))

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
        now, grows = self.copy(), bool((places == NO_ARM).any())
        now._waits, tables = None, now._tables
        known, total = before._verifier, before._results
        if results is not None:
            known, total = known.guided_by(results), total + results
        # If nothing is assumed of the arms that are left, nothing may rest on means linear in all arms.
        proves &= known.means.by_averages or not now._verifier.means.by_averages
        if not proves:
            known = known.guiding()
        else:
            named = now._verifier.keeps_named or not grows
            tables = before._tables.placed(places, now._problem, named=named)
            now._shares, now._looked = before._shares, before._looked
            now._grew = grows or before._grew
            now.inside = placed(before.inside, places, False)
            if grows:
                tables = now._with_last_resort(tables)
        verifier = now._verifier.taking_over(known, places)
        now._plan_first(verifier, tables, total.placed(places), seed)
        vars(self).update(vars(now))

    def _plan_first(
        self, verifier: Verifier, tables: Tables, total: PlanResults, seed: int
    ) -> None:
        """Plan anew; first for arms of which nothing is known."""
        unknown = self.before_fit(verifier, total)
        if not unknown.any():
            self._plan_anew(verifier, tables, total, seed)
            return
        self._verifier, self._tables, self._results = verifier, tables, total
        self._whole, self._guess, self._guides = None, None, True
        self.plan, self._weights = unknown, np.zeros(len(unknown))
        held = int(self.inside.sum()) == self._problem.m
        averages = total.sums / np.maximum(total.pulls, 1)
        self.inside = self.inside if held else self._problem.best_of(averages)
        self.b, self.c = int(np.argmax(self.inside)), int(np.argmin(self.inside))

    def before_fit(self, verifier: Verifier, total: PlanResults) -> Integers:
        """The plan that is needed before anything can be guessed; zeros if none."""
        return verifier.means.before_fit(total)

    @property
    def takes_arms(self) -> bool:
        """Whether sets may still be named."""
        if self._waits is not None:
            return self._waits[0].takes_arms
        return len(self._tables.namings) < len(self._shares)

    def _with_last_resort(self, tables: Tables) -> Tables:
        """With a fall-back that begins now, for arms that were added; later namings pay for it.

        The last one was for the arms before, and ends. The best m may be others whenever arms are
        added, so that all pairs are counted. Something is left for that (see ``_keeps_share``) unless
        results were corrected since; pairs then pass by the named sets alone.
        """
        named = len(tables.namings)
        left = sum(self._shares[named:])
        shares = [(1.0 - LAST_RESORT) * share for share in self._shares[named:]]
        self._shares = (*self._shares[:named], *shares)
        arms = len(self._problem.features)
        each = LAST_RESORT * left * self._problem.delta / (arms * (arms - 1) / 2)
        nothing = self._verifier.nothing(tables.rows)
        return replace(tables, fall_back=nothing, level=-math.log(each) if each > 0.0 else math.inf)

    def _guessed(self, tables: Tables, guess: Fit) -> Mask:
        """The m arms of largest mean, or those named before if these seem to be verified sooner.

        Where many arms are alike within ε, the m of largest mean change with every plan. The
        evidence for the ones named before would be lost.
        """
        best, held = self._problem.best_of(guess.means), self.inside
        if not any(each.risk(held) for each in tables.namings):
            return best
        return held if self._work(tables, guess, held) < self._work(tables, guess, best) else best

    def _work(self, tables: Tables, guess: Fit, inside: Mask) -> float:
        """How many times the evaluations made so far the verification of a set seems to need."""
        pairs = self._open_pairs(tables, guess, inside, tables.margins(inside))
        if not len(pairs.b):
            return -math.inf
        if pairs.gaps.min() <= 0.0:
            return math.inf
        evidence, level = tables.latest(inside)
        have, squared = evidence.wanted(pairs, level, 1.0 / PRIOR)
        needs = self._needs(pairs, squared, width=0.0) - have
        if evidence is tables.fall_back and len(tables.namings) < len(self._shares):
            level = -math.log(self._problem.delta * self._shares[len(tables.namings)])
            fresh = self._verifier.squared_threshold(level)
            needs = np.minimum(needs, self._needs(pairs, fresh, width=0.0))
        return float((needs * pairs.variances).max())

    def _boundary(
        self, tables: Tables, inside: Mask, margins: Reals
    ) -> tuple[int, int, float, float]:
        """The pair b, c furthest from passing, its C and its upper bound on μ_c − μ_b."""
        row, column = np.unravel_index(np.argmin(margins), margins.shape)
        b, c = np.flatnonzero(inside)[row], tables.others(inside)[column]
        here = tables.of(inside)[row], c
        # A pair that passed by an earlier naming may have no result since the last.
        known = (
            each
            for each in tables.for_set(inside)
            if each[0].information[here] > 0.0 and math.isfinite(each[1])
        )
        evidence, level = next(known, (None, math.inf))
        if evidence is None:
            return int(b), int(c), math.inf, math.inf
        # As in ``differences``, to the last digit.
        bounds = evidence.bounds(np.array(here[:1]), np.array(here[1:]), level, self._problem)
        bound = -float(bounds.lower[0])
        # A pair that passed once has passed, though its bound may be wider now.
        passed = bool(margins[row, column] >= 0.0)
        slack = self._problem.epsilon
        statistic = min(bound, slack) if passed else max(bound, np.nextafter(slack, np.inf))
        return int(b), int(c), float(bounds.threshold[0]), float(statistic)

    def _open_pairs(self, tables: Tables, guess: Fit, inside: Mask, margins: Reals) -> OpenPairs:
        candidates, others = np.flatnonzero(inside), tables.others(inside)
        row, column = np.nonzero(margins < 0.0)
        variances = guess.variances(candidates)[row, others[column]]
        b, c = candidates[row], others[column]
        gaps = guess.means[b] - guess.means[c] + self._problem.epsilon
        return OpenPairs(b, c, tables.of(inside)[row], gaps, variances)

    # Naming

    def _name(
        self,
        verifier: Verifier,
        tables: Tables,
        guess: Fit,
        inside: Mask,
        pairs: OpenPairs,
        made: int,
        rng: np.random.Generator,
    ) -> Tables:
        """The tables with sets named now, where that is worth while."""
        problem, times = self._problem, len(tables.namings)
        if times >= len(self._shares) - self._keeps_share:
            return tables
        from scipy.special import ndtr

        least = self.likely(guess, times)
        doubt = float((pairs.gaps / np.sqrt(pairs.variances)).min()) / problem.sigma
        if ndtr(doubt) < least:  # the chance that one pair alone is right
            return tables
        votes = vote(guess, inside, problem, rng)
        key = np.packbits(inside).tobytes()
        if votes.get(key, 0.0) < least:
            return tables
        risks = {each: problem.delta * self._shares[times] * of for each, of in votes.items()}
        evidence, level = tables.latest(inside)
        if times and evidence is not tables.fall_back:
            have, squared = evidence.wanted(pairs, level, 1.0 / PRIOR)
            now = np.maximum(self._needs(pairs, squared) - have, 0.0)
            again = self._needs(pairs, verifier.squared_threshold(-math.log(risks[key])))
            if (again * pairs.variances).max() > SAVING * (now * pairs.variances).max():
                return tables
        arms = np.flatnonzero(np.any([unpacked(each, len(inside)) for each in risks], axis=0))
        tables = tables.with_rows(arms)
        named = Naming(self.evidence(verifier, tables, guess, inside, risks), risks, made)
        return replace(tables, namings=(*tables.namings, named))

    def _needs(self, pairs: OpenPairs, squared: Any, width: float = HALF_WIDTH) -> Reals:
        """The information at which a gap is C standard errors, if it is as it seems to be."""
        sigma = self._problem.sigma
        gaps = np.maximum(pairs.gaps, width * sigma * np.sqrt(pairs.variances))
        return np.asarray(squared * (sigma / gaps) ** 2)

    # Plans

    def _next_plan(
        self,
        verifier: Verifier,
        tables: Tables,
        guess: Fit,
        inside: Mask,
        pairs: OpenPairs,
        spent: float,
        rng: np.random.Generator,
    ) -> tuple[Integers, Reals]:
        """A plan for the open pairs, with some of what they need, and its weights.

        ``spent`` is what the results so far have cost: their number where all arms cost the same.
        """
        sigma = self._problem.sigma
        evidence, level = tables.latest(inside)
        guesses = evidence is tables.fall_back and len(tables.namings) < len(self._shares)
        if guesses:  # only the pairs in doubt matter
            apart = pairs.gaps / (sigma * np.sqrt(pairs.variances))
            pairs = pairs.only(apart < max(DOUBTFUL, float(apart.min()) + 0.5))
            have = np.zeros(len(pairs.b))
            squared = np.full(len(have), 2.0 * math.log(1.0 / self._problem.delta) + 2.0)
        else:
            have, squared = evidence.wanted(pairs, level, LEAST_GROWTH)
        widths = NARROWED * sigma * np.sqrt(squared * pairs.variances)
        lacking = squared * (sigma / np.maximum(pairs.gaps, widths)) ** 2 - have
        to_add_to = None if guesses else evidence
        return self.plan_for(verifier.means, pairs, lacking, to_add_to, guess, spent, rng)

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
        """A plan that gives the pairs some of the information they lack, and its weights.

        ``evidence`` is what it is to add to; None before a guess is named. Where that counts the results
        of all plans together, the plan asks for those that are missing.
        """
        # A pair that seems to lack nothing is still open: it must not be forgotten.
        least = SHORTEST / pairs.variances
        in_all = None if evidence is None else evidence.in_all(pairs, lacking, least)
        needs = np.maximum(lacking, least) if in_all is None else in_all[1]
        weights, total = means.design(
            pairs.b, pairs.c, needs, needs * pairs.variances, self._weights
        )
        if in_all is not None:
            return means.lacking(
                pairs.b, pairs.c, weights * total / means.costs, in_all[0], spent, rng
            ), weights
        length = max(means.shortest * spent, min(spent, means.of_needed * total))
        return means.plan(weights, length, rng), weights

    def suppose(self, means: Reals) -> None:
        """Go on as if the plan's results had come out as the verifier supposes, if it does."""
        results = self._verifier.supposed(self.plan, means)
        if results is not None:
            self.decide(results, 0)

    # What a study shows

    def projected(self, count: int, rng: np.random.Generator) -> Reals | None:
        """By what the verification of sets that may be right would take."""
        guess, problem = self._guess, self._problem
        if guess is None:
            return None
        last = [each.made for each in self._tables.namings if each.risk(self.inside)][-1:]
        since = sum(int(self._results.pulls.sum()) - made for made in last)
        drawn = guess.means + problem.sigma * guess.draw(np.arange(len(guess.means)), count, rng)
        needed = [self._verifier.verification(each, problem.best_of(each)) for each in drawn]
        known = [each for each in needed if each is not None]
        return np.maximum(np.array(known) - since, 1.0) if known else None

    def differences(self, j: int) -> tuple[Reals, Reals, Reals]:
        """Estimates of μ_i − μ_j for every arm i, with the bounds of the latest evidence.

        Where that has nothing, as for pairs that passed before these arms were named again, the bounds
        are those of earlier namings or of the fall-back. Each bound holds on its own, but not all of them together. A
        pair that passed once has passed: its bound is ε at most, though that of the latest results
        alone may be larger. Where i is not in the tables, or nothing is known yet, the bounds are
        infinite.
        """
        lower, upper = np.full(len(self.inside), -np.inf), np.full(len(self.inside), np.inf)
        if self._whole is None:  # arms that were added have no result yet
            return np.zeros(len(lower)), lower, upper
        gap = self._whole.means - self._whole.means[j]
        tables, every = self._tables, np.arange(len(gap))
        has_row = j in tables.rows
        if has_row:  # as b: bounds are for μ_j − μ_i
            places, columns = np.full(len(gap), np.flatnonzero(tables.rows == j)[0]), every
        else:  # as c, of the arms that have rows
            places, columns = np.arange(len(tables.rows)), np.full(len(tables.rows), j)
        for evidence, level in reversed(tables.for_set(self.inside)):
            known = (evidence.information[places, columns] > 0.0) & math.isfinite(level)
            rows, others = places[known], columns[known]
            bounds = evidence.bounds(rows, others, level, self._problem)
            arms = others if has_row else tables.rows[rows]
            signed = (-bounds.gaps, -bounds.upper, -bounds.lower) if has_row else bounds[:3]
            gap[arms], lower[arms], upper[arms] = signed
        gap[j] = lower[j] = upper[j] = 0.0
        passed, slack = tables.margins(self.inside) >= 0.0, self._problem.epsilon
        if self.inside[j]:
            others = tables.others(self.inside)[passed[np.flatnonzero(self.inside) == j][0]]
            upper[others] = np.maximum(np.minimum(upper, slack), gap)[others]
        else:
            others = np.flatnonzero(self.inside)[passed[:, tables.others(self.inside) == j][:, 0]]
            lower[others] = np.minimum(np.maximum(lower, -slack), gap)[others]
        return gap, lower, upper

    def certified(self, epsilon: float) -> Certified:
        """What the pairs say that have passed; of single arms, those that passed without a named set.

        A named set has no share of δ for claims about its single arms, and the fall-back has one for
        all pairs.
        """
        if not self.has_looked:
            return super().certified(epsilon)
        tables, inside = self._tables, self.inside
        passed = tables.margins(inside) >= 0.0
        if self._grew:
            least = self._problem.epsilon if passed.all() else math.inf
        else:
            least = float(tables.least_slack(inside, self._problem).max())
        arms = np.flatnonzero(tables.listable)
        known = Certified.by_pairs(inside[arms], least, passed, tables.settled(inside))
        return known.among(arms, len(inside))

    @property
    def against_linear(self) -> float:
        """As the verifier has it."""
        return self._verifier.against_linear

    @property
    def noise_seen(self) -> Reals:
        """(σ_a/σ)² as it is known now."""
        return self._verifier.means.noise

    @property
    def has_looked(self) -> bool:
        """Whether a plan is in."""
        return self._whole is not None

    def widen(self, epsilon: float) -> None:
        """Judge all evidence so far with this ε; the arms inside and the plan stay."""
        after = self.copy()
        if self._waits is not None:
            before = self._waits[0].copy()
            before.widen(epsilon)
            after._waits = before, self._waits[1]
        after._tables = self._tables.with_slack(epsilon, self._problem)
        after._problem = self._problem._replace(epsilon=epsilon)
        after._verifier = self._verifier.with_slack(epsilon)
        if self.has_looked:
            after._tables = after._tables.tested(self.inside)
            at = after._boundary(after._tables, self.inside, after._tables.margins(self.inside))
            after.b, after.c, after.threshold, after.statistic = at
        vars(self).update(vars(after))

    def estimates(self, means: Reals, variances: Reals) -> tuple[Reals, Reals]:
        """By all results; with features and noise that differs, by those of the plans made so far."""
        if self._guides:  # −∞ is the mean of an arm that was added and has no result
            pulls, sums = self._results.pulls, self._results.sums
            averages = np.where(pulls > 0, sums / np.maximum(pulls, 1), -np.inf)
            own = np.where(pulls > 0, self._verifier.means.noise / np.maximum(pulls, 1), 0.0)
            return averages, own
        by = self._verifier.means
        if self._whole is None or by.by_averages or (by.noise == 1.0).all():
            return means, variances
        return self._whole.means, self._whole.own_variances

    def intervals(self) -> tuple[Reals, Reals]:
        """Bounds on every arm by itself, by the plans made so far."""
        return self._verifier.intervals()

    def threshold_at(self, time: float) -> float:
        """C of the guess that is named first."""
        level = -math.log(self._shares[0] * self._problem.delta)
        return math.sqrt(squared_threshold(level, 1.0 / PRIOR))


def vote(
    guess: Fit, inside: Mask, problem: ReducedProblem, rng: np.random.Generator
) -> dict[bytes, float]:
    """The share of draws from the posterior that speak for each set.

    A draw speaks for the arms inside where they are right within ε, else for its own m best. Sets
    are packed bits.
    """
    errors, listable = problem.sigma * np.sqrt(guess.own_variances), problem.may_be_listed
    low = np.sort((guess.means - CONTENDER * errors)[listable])[-problem.m]
    contenders = np.flatnonzero(inside | (listable & (guess.means + CONTENDER * errors >= low)))
    held = inside[contenders]
    packed = np.packbits(inside).tobytes()
    votes = {packed: 0.0}
    block = max(1, min(DRAWS, int(2e7) // len(contenders)))
    for start in range(0, DRAWS, block):
        count = min(block, DRAWS - start)
        drawn = guess.draw(contenders, count, rng) * problem.sigma + guess.means[contenders]
        best = np.argpartition(-drawn, problem.m - 1, axis=1)[:, : problem.m]
        lowest = np.take_along_axis(drawn, best, axis=1).min(axis=1)
        right = drawn[:, held].min(axis=1) >= lowest - problem.epsilon
        votes[packed] += float(right.sum()) / DRAWS
        others = np.zeros((count - int(right.sum()), len(contenders)), np.bool_)
        np.put_along_axis(others, best[~right], True, axis=1)
        for drawn_set, number in Counter(map(bytes, others)).items():
            other = np.zeros(len(inside), np.bool_)
            other[contenders[np.frombuffer(drawn_set, np.bool_)]] = True
            key = np.packbits(other).tobytes()
            for _ in range(number):  # one by one: number / DRAWS is rounded differently
                votes[key] = votes.get(key, 0.0) + 1.0 / DRAWS
    return votes


NAMED_BETS = StrategyThreshold(
    "named_bets",
    "The C at which the bets on one pair reach 1/share, for a set named beforehand.",
    "after Karnin 2016 and Waudby-Smith and Ramdas 2024; proof: docs/proofs.md of shortlist",
    coverage=EACH_ARM,
)


def with_bets(
    planned: Planned,
    strategy: Callable[[ReducedProblem], Strategy],
    interval: ArmInterval = INTERVAL_OF_BETS,
) -> Planned:
    """An algorithm that tests results in a range by bets, with another strategy."""
    bets = replace(
        planned,
        strategy=strategy,
        threshold=NAMED_BETS,
        works=("karnin", "waudby_smith"),
        interval=interval,
        results=StatedRange(),
    )
    return replace(planned, in_range=bets)


NAMED_LIKELIHOODS = StrategyThreshold(
    "named_likelihoods",
    "The C at which the likelihoods of one pair reach 1/share, for a set named beforehand.",
    "after Karnin 2016 and Wasserman, Ramdas and Balakrishnan 2020; proof: docs/proofs.md of shortlist",
    coverage=EACH_ARM,
)


def with_likelihoods(planned: Planned, strategy: Callable[[ReducedProblem], Strategy]) -> Planned:
    """An algorithm by the arms' own results that tests normal noise of unknown σ by likelihoods."""
    likelihoods = replace(
        planned,
        strategy=strategy,
        threshold=NAMED_LIKELIHOODS,
        works=("karnin", "wasserman"),
        interval=INTERVAL_OF_LIKELIHOODS,
        results=OwnSigma(),
    )
    return replace(planned, own_sigma=likelihoods)


def _guess_and_verify(
    name: str, summary: str, of_bets: ArmInterval = INTERVAL_OF_BETS, **others: Any
) -> Planned:
    planned = Planned(
        strategy=GuessAndVerify,
        threshold=NAMED_SETS,
        name=name,
        works=("karnin",),
        adapted=True,
        summary=f"Karnin 2016, adapted to any m; {summary}",
        interval=INTERVAL,
        uses_noise=True,
        uses_costs=True,
        most_arms=MOST_ARMS,
        checks=False,
        **others,
    )
    return with_bets(planned, partial(GuessAndVerify, kind=ByLinearBets), of_bets)


NAMED_STUDENTS = StrategyThreshold(
    "named_students",
    "The C at which Student's statistics of one pair, or likelihoods where every arm is a direction of its "
    "own, reach 1/share, for a set named beforehand.",
    "after Karnin 2016; proof: docs/proofs.md of shortlist",
    coverage=EACH_ARM,
)


def with_students(planned: Planned) -> Planned:
    """An algorithm with features that tests normal noise of unknown σ by Student's statistics."""
    students = replace(
        planned,
        strategy=partial(GuessAndVerify, kind=ByStudents),
        threshold=NAMED_STUDENTS,
        interval=INTERVAL_OF_STUDENT,
        results=OwnSigma(),
    )
    return replace(planned, own_sigma=students)


ALGORITHMS = {
    "Guess-and-verify": with_students(
        _guess_and_verify(
            "Guess-and-verify",
            "names the m best when they are likely, then verifies them",
            INTERVAL_OF_LINEAR_BETS,
        )
    ),
    "Guess-and-verify (own results)": with_likelihoods(
        _guess_and_verify(
            "Guess-and-verify (own results)",
            "the same by the arms' own results, without features",
            relation=Unrelated,
        ),
        partial(GuessAndVerify, kind=ByLikelihoods),
    ),
}
