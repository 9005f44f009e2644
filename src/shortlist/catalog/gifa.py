"""The gap-index focused algorithms: Table 1 of the paper, and how to compose another row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from shortlist import advice
from shortlist.arrays import Integers, Reals
from shortlist.designs import Designs
from shortlist.engine.algorithm import OWN, Algorithm, Parts, Procedure
from shortlist.engine.contract import Setup
from shortlist.engine.references import PAPER, Work
from shortlist.engine.relation import Linear, Unrelated, relation_on
from shortlist.engine.threshold import ThresholdInputs
from shortlist.errors import InvalidSetting, unknown_name
from shortlist.features import nearly_redundant
from shortlist.gifa.engine import Engine
from shortlist.gifa.round import Recipe
from shortlist.gifa.rules import RULES, Choice, Rule, find_rule, lucb
from shortlist.gifa.thresholds import (
    AUTO,
    THRESHOLDS,
    Threshold,
    find_threshold,
    least_demanding,
)
from shortlist.linalg import condition, in_units, is_identity, span, squared_norms
from shortlist.problem import Problem

MANY_GAPS = 10_000  # arms: with more, the m-th gaps of all of them take more than 25 ms a round
INITIALIZATIONS = (None, "each", "span", "auto")
ALLOCATIONS = (None, "game", "game_as_published")
KINDS = {  # of rules, in the words of the paper
    **{"candidates": "candidates", "ambiguous": "ambiguous arm", "selection": "selection"},
    **{"stopping": "stop", "indices": "indices"},
}
STOPS = {"lucb": "τ_LUCB", "ugape": "τ_UGapE"}


@dataclass(frozen=True, kw_only=True)
class GIFA(Algorithm):
    """A gap-index focused algorithm (Algorithm 1), composed of rules.

    Parameters
    ----------
    candidates, ambiguous, selection, stopping, indices : str, Rule or function
        The rules, by name, or functions of your own (see ``docs/extending.md``).
    threshold : str, Threshold, Rule or function
        C_{t,δ}; ``"auto"`` takes, among those proven for the problem, the one expected to need the
        fewest evaluations.
    allocation : {None, "game", "game_as_published"}
        How many pulls every arm should have; only for the selection rule ``tracking``.
    regularization : float or function of σ, optional
        λ_V; by default the one that belongs to the threshold.
    initialization : {"auto", "each", "span", None}
        Pulls before the first round: every arm once, a spanning set of arms once, or none;
        ``auto`` is ``each`` if K ≤ 4 rank X, otherwise ``span``, repeated as the threshold needs it
        (ten times for ``self_normalized``, once for the others).
    classical : bool
        Ignore the features: every arm is its own dimension.
    only_m : int, optional
        The only m it is defined for.
    name, summary : str
        For tables.
    works : tuple of str or Work
        What to cite, the work that introduced it first.

    Examples
    --------
    >>> algorithm = GIFA(candidates="top_means", selection="largest_variance")
    >>> algorithm.name
    'GIFA(top_means, largest_gap, largest_variance, lucb, paired)'
    >>> GIFA(selection="gredy")
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown selection rule 'gredy': did you mean 'greedy'? Known: largest_variance, greedy, optimized, both_arms, tracking.
    """

    candidates: Choice = "top_means"
    ambiguous: Choice = "largest_gap"
    selection: Choice = "greedy"
    stopping: Choice = "lucb"
    indices: Choice = "paired"
    threshold: str | Threshold | Rule | Callable[..., float] = "self_normalized"
    allocation: str | None = None
    regularization: float | Callable[[float], float] | None = None
    initialization: str | None = "auto"
    classical: bool = False
    only_m: int | None = None
    name: str = ""
    summary: str = ""
    works: tuple[str | Work, ...] = (PAPER,)

    def __post_init__(self) -> None:
        for kind in RULES:
            object.__setattr__(self, kind, find_rule(kind, getattr(self, kind)))
        if self.threshold != AUTO:
            object.__setattr__(self, "threshold", find_threshold(self.threshold))
        for given, known in (("initialization", INITIALIZATIONS), ("allocation", ALLOCATIONS)):
            if getattr(self, given) not in known:
                raise unknown_name(given, getattr(self, given), [str(each) for each in known])
        if (self.allocation is not None) != ("allocation" in self.rules["selection"].traits):
            raise InvalidSetting(
                f"selection={self.rules['selection'].name!r} with allocation={self.allocation!r}: "
                "'tracking' follows an allocation such as 'game', but no other rule does."
            )
        if not self.name:
            parts = (self.candidates, self.ambiguous, self.selection, self.stopping, self.indices)
            composed = ", ".join(part.name for part in parts)  # type: ignore[union-attr]
            object.__setattr__(self, "name", f"GIFA({composed})")

    @property
    def settings(self) -> dict[str, Any]:
        """Names and numbers from which it is made again; ``OWN`` stands for code."""
        ridge = self.regularization
        return {
            "name": self.name,
            **{kind: OWN if rule.is_own else rule.name for kind, rule in self.rules.items()},
            "threshold": threshold_name(self.threshold),
            "allocation": self.allocation,
            "regularization": OWN if callable(ridge) else None if ridge is None else float(ridge),
            "initialization": self.initialization,
            "classical": self.classical,
            "only_m": self.only_m,
        }

    def with_threshold(self, problem: Problem, threshold: Any) -> tuple[Algorithm, Any]:
        """The algorithm and the threshold on a problem, with ``"auto"`` replaced by the choice."""
        if threshold == AUTO:
            return self, self.chosen_threshold(problem, threshold).name
        if self.threshold == AUTO and threshold is None:
            return replace(self, threshold=self.chosen_threshold(problem)), threshold
        return self, threshold

    @property
    def method(self) -> str:
        """What was used, with the rules in the words of the paper."""
        rules = [f"{words}: {_written(self.rules[kind].name)}" for kind, words in KINDS.items()]
        return f"The algorithm was {self.name} ({self.credit}; {', '.join(rules)})."

    def slow_on(self, problem: Problem) -> str:
        """Where rules read the m-th gaps of very many arms."""
        reading = ("candidates", "ambiguous", "stopping")
        by_gaps = any("mth_gaps" in self.rules[kind].needs for kind in reading)
        if not by_gaps or problem.arms <= MANY_GAPS or self.rules["indices"].name == "individual":
            return ""
        return (
            f"{self.name} compares all pairs of {problem.arms:,} candidates and may take long over each "
            f"result: {advice.setting('algorithm', 'auto')} takes milliseconds."
        )

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules by kind, without the threshold."""
        return {kind: getattr(self, kind) for kind in RULES}

    def bind(
        self, problem: Problem, threshold: Any = None, designs: Designs | None = None
    ) -> Procedure:
        """The algorithm on a problem, with another threshold if one is given.

        ``designs`` were made for another binding, and are shared with it if they are the same.
        """
        problem.blocks.check_taken(self.name, self.takes)
        if problem.noise.needs_replicates:
            raise InvalidSetting(
                f"{self.name} needs a known σ, and {advice.setting('sigma', problem.noise.word)} estimates it: give a "
                "number for sigma, or take algorithm='auto' and no threshold, for up to "
                "200,000 arms."
            )
        if self.only_m is not None and problem.m != self.only_m:
            raise InvalidSetting(
                f"{self.name} is defined for m = {self.only_m}, got m = {problem.m}: use m-LinGapE."
            )
        chosen = self.chosen_threshold(problem, threshold)
        features, initial, setting = self._setting(problem, chosen)
        regularization, noise = setting.regularization, problem.relative_noise
        chosen.check(setting)
        if regularization < 0.0 or (regularization == 0.0 and setting.weakest <= 0.0):
            raise InvalidSetting(
                f"regularization={regularization} without spanning initial pulls leaves least "
                "squares undefined: use GIFA(…, initialization='span') or 'each', or "
                "GIFA(…, regularization=…) above 0."
            )
        if designs is None or not designs.are_of(features, noise):
            designs = Designs(features, noise)
        return Procedure(
            self,
            problem,
            partial(self._parts, problem, chosen, features, initial, setting, designs),
            rebind=partial(self.bind, threshold=chosen, designs=designs),
        )

    def _parts(
        self,
        problem: Problem,
        chosen: Threshold,
        features: Reals,
        initial: Integers,
        setting: ThresholdInputs,
        designs: Designs,
    ) -> Parts:
        """What the procedure is made of."""
        noise = problem.relative_noise
        rules = dict(self.rules)
        setup = Setup(
            features=features,
            m=problem.m,
            sigma=problem.sigma,
            epsilon=problem.epsilon,
            noise=noise,
            initial=initial,
            regularization=setting.regularization,
            shift=chosen.shift(setting),
            stop=rules["stopping"].name,
            lagged="lagged" in rules["stopping"].traits,
            alone=rules["indices"].name == "individual",
        )
        published = self.allocation == "game_as_published"
        engine = Engine(Recipe(setup, rules, chosen.of(setting), designs.of, published))
        relation = relation_on(problem, Unrelated if self.classical else Linear)
        return Parts(chosen, setting, relation, engine)

    def chosen_threshold(self, problem: Problem, threshold: Any = None) -> Threshold:
        """The threshold on this problem: the one given, or the algorithm's own."""
        wanted = self.threshold if threshold is None else threshold
        if isinstance(wanted, Threshold):
            return wanted
        if not (isinstance(wanted, str) and wanted == AUTO):
            return find_threshold(wanted)
        settings = {
            name: self._setting(problem, each)[2]
            for name, each in THRESHOLDS.items()
            if problem.keeps_units or not each.needs_S
        }
        return least_demanding(settings)

    def _setting(
        self, problem: Problem, chosen: Threshold
    ) -> tuple[Reals, Integers, ThresholdInputs]:
        """The features in the basis used, the initial pulls, and what the threshold may depend on."""
        if callable(self.regularization):
            regularization = self.regularization(problem.sigma)
        elif self.regularization is not None:
            regularization = float(self.regularization)
        else:
            regularization = chosen.regularization(problem.sigma, problem.S)
        noise = problem.relative_noise
        longest = float(noise.min()) ** -0.5 if self.classical else problem.longest
        if self.classical:
            features = np.eye(problem.arms)
        else:
            features = problem.in_own_units if regularization > 0.0 else problem.reduced
        if not (self.classical or problem.keeps_units):
            longest = float(np.sqrt((squared_norms(features) / noise).max()))
        initial = self._initial(problem, chosen, features)
        weakest = weakest_direction(in_units(features, noise), initial)
        if weakest == 0.0 and len(initial) and regularization == 0.0:
            if (noise == 1.0).all():
                raise nearly_redundant(condition(features[initial]))
            raise InvalidSetting(
                "the σ of the arms differ too much (the smallest is "
                f"{float(np.sqrt(noise.min())):.2g} times the largest) for their results to be "
                "summed accurately: raise the small ones, for example to a thousandth of the "
                "largest. The guarantee holds with any σ that is not too small."
            )
        setting = ThresholdInputs.of(
            problem,
            classical=self.classical,
            rank=features.shape[1],
            longest=longest,
            regularization=regularization,
            weakest=weakest,
            indices=self.rules["indices"].name,
        )
        return features, initial, setting

    def _initial(self, problem: Problem, chosen: Threshold, features: Reals) -> Integers:
        """The initial pulls, in order."""
        first = self.initialization
        if first is None:
            return np.zeros(0, np.int64)
        if first == "auto":
            first = "each" if problem.arms <= 4 * features.shape[1] else "span"
        each = np.arange(problem.arms)
        initial = each if first == "each" else self._spanning(problem, features)
        rounds = chosen.rounds(len(initial)) if self.initialization == "auto" else 1
        return np.tile(initial, rounds)

    def _spanning(self, problem: Problem, features: Reals) -> Integers:
        """Arms that span the features, well spread in the basis used; mostly computed before."""
        if self.classical:
            return np.arange(problem.arms)
        if features is problem.reduced:
            return problem.spanning
        return span(in_units(features, problem.relative_noise))

    @property
    def unproven(self) -> list[str]:  # type: ignore[override]  # made of the rules
        """Why Theorem 1, which holds for any J(t) and any selection, does not cover the rules."""
        rules, reasons = self.rules, []
        for kind in ("indices", "stopping"):
            if rules[kind].is_own:
                reasons.append(f"the {kind} rule {rules[kind].name!r} is the user's own")
        if "heuristic" in rules["stopping"].traits:
            reasons.append(f"the stopping rule {rules['stopping'].name!r} is not valid")
        # τ_LUCB reads one pair only, so this must be a pair that stands for all others.
        if rules["ambiguous"].is_own and rules["stopping"] is lucb:
            reasons.append(
                f"τ_LUCB relies on b_t, and its rule {rules['ambiguous'].name!r} is the user's own"
            )
        return reasons


def weakest_direction(features: Reals, initial: Integers) -> float:
    """λ_min of Σ x xᵀ over the initial pulls; 0 where they do not span.

    Examples
    --------
    >>> weakest_direction(np.eye(2), np.array([0, 1, 1]))
    1.0
    """
    if len(initial) < features.shape[1]:
        return 0.0
    if is_identity(features):  # K may be so large that to find eigenvalues takes minutes
        return float(np.bincount(initial, minlength=len(features)).min())
    values = np.linalg.eigvalsh(features[initial].T @ features[initial])
    return float(values[0]) if values[0] > 1e-12 * values[-1] else 0.0


def _written(rule: str) -> str:
    """The name of a rule in a sentence."""
    return STOPS.get(rule, rule.replace("_", " "))


def threshold_name(threshold: Any) -> str:
    """The name of a threshold as it is stored: ``OWN`` for one of the user's."""
    if isinstance(threshold, str) and threshold == AUTO:
        return AUTO
    found = find_threshold(threshold)
    return found.name if THRESHOLDS.get(found.name) is found else OWN


class TableOneRow(NamedTuple):
    """A row of Table 1; the name without a selection rule means the first one."""

    algorithm: str
    candidates: str
    ambiguous: str
    selections: tuple[str, ...]
    stopping: str
    indices: str
    classical: bool
    only_m: int | None
    work: str  # a key of works.toml
    about: str


# fmt: off
TABLE_1 = (
    TableOneRow("LUCB", "top_means", "largest_gap", ("largest_variance", "both_arms"), "lucb", "individual",
        True, None, "kalyanakrishnan", "Kalyanakrishnan et al. 2012; no features"),
    TableOneRow("UGapE", "smallest_gap", "largest_gap", ("largest_variance",), "ugape", "individual",
        True, None, "gabillon", "Gabillon et al. 2012; no features"),
    TableOneRow("LinGapE", "top_means", "largest_gap", ("greedy", "optimized"), "lucb", "paired",
        False, 1, "xu", "Xu et al. 2018; the best arm only (m = 1)"),
    TableOneRow("m-LinGapE", "top_means", "largest_gap", ("greedy", "optimized", "largest_variance"),
        "lucb", "paired", False, None, PAPER, "Réda et al. 2021; LinGapE for any m"),
    TableOneRow("LinGIFA", "smallest_gap", "mth_gap", ("greedy", "largest_variance"), "ugape", "paired",
        False, None, PAPER, "Réda et al. 2021; all in terms of gap indices"),
    # Not greedy: it shrinks the pair's width and may leave each arm's own, which then never stops.
    TableOneRow("LinGIFA (individual)", "smallest_gap", "mth_gap", ("largest_variance",), "ugape",
        "individual", False, None, PAPER, "LinGIFA with each arm bounded alone"),
    TableOneRow("LinGIFA (tau LUCB)", "smallest_gap", "mth_gap", ("greedy", "largest_variance"), "lucb",
        "paired", False, None, PAPER, "LinGIFA with the stop of LUCB"),
)
# fmt: on


def words(name: str) -> str:
    """A rule's name as the paper writes it."""
    return name.replace("_", " ")


def as_table_1(row: TableOneRow, selection_rule: str) -> GIFA:
    """The algorithm of a row, with one of its selection rules."""
    default = selection_rule == row.selections[0]
    return GIFA(
        candidates=row.candidates,
        ambiguous=row.ambiguous,
        selection=selection_rule,
        stopping=row.stopping,
        indices=row.indices,
        threshold="lucb1" if row.classical else "self_normalized",
        classical=row.classical,
        only_m=row.only_m,
        name=row.algorithm if default else f"{row.algorithm} {words(selection_rule)}",
        summary=f"{row.about}; pulls by {words(selection_rule)}",
        works=(row.work,),
    )


# Its stop, Z > C²/2 with Z the generalised likelihood ratio, is τ_LUCB with paired indices. The
# paper proves that as δ → 0 it needs no more than necessary where there is one right answer (the
# best arm is its example), with wider gains and a threshold of its own: with those here, and with
# ε > 0, it is an extension without a theorem.
LINGAME = GIFA(
    selection="tracking",
    allocation="game",
    name="LinGame",
    works=("degenne",),
    summary="Degenne et al. 2020 for any m; pulls by a game; the stop is proven; ε > 0 is a relaxation",
)

ALGORITHMS: dict[str, GIFA] = {
    algorithm.name: algorithm
    for row in TABLE_1
    for algorithm in (as_table_1(row, name) for name in row.selections)
}
ALGORITHMS[LINGAME.name] = LINGAME
ALIASES: dict[str, str] = {
    f"{row.algorithm} {words(row.selections[0])}": row.algorithm for row in TABLE_1
}
