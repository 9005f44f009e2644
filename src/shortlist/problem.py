"""The problem: which arms, how many to find, how surely. Input is checked here."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlist.advice import advise, continued, setting
from shortlist.arrays import Label, Mask, Reals
from shortlist.blocks import NO_BLOCKS, Blocks
from shortlist.errors import (
    IndistinguishableArms,
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    UnknownName,
    unknown_among_many,
)
from shortlist.features import (
    Features,
    features_and_names,
    fits_own_units,
    reduce_to_rank,
    with_intercept,
)
from shortlist.linalg import (
    WHOLE,
    blocks,
    exponents,
    first_like,
    gram,
    in_units,
    is_identity,
    span,
    squared_norms,
)
from shortlist.noise import Noise
from shortlist.noise.given import each_arm
from shortlist.noise.noise import checked_number, positive
from shortlist.printable import count, in_figures

EVEN = 1e-4  # λ_min/λ_max of XᵀX
DIRECTIONS = ("maximize", "minimize")
PLACED = 0x77656C6C  # controls have places by other numbers than the order of the other arms
TINY = 1e-140  # of the largest feature in each column: the squares of smaller ones underflow


@dataclass(frozen=True)
class Costs:
    """What one evaluation of each arm costs: time, money, material.

    Where costs are stated, plans that know of them minimise the cost, and what was spent is counted in
    it. They play no part in any guarantee.

    Attributes
    ----------
    each : tuple of float
        In the order of the arms; empty where nothing is stated, and all cost the same.

    Examples
    --------
    >>> costs = Costs.of({"ash": 1.0, "elm": 10.0}, ["ash", "elm"])
    >>> costs.total([4, 2]), costs.words(24.0)
    (24.0, 'cost 24')
    >>> EQUAL.total([4, 2]), EQUAL.words(6.0)
    (6.0, '')
    """

    each: tuple[float, ...] = ()

    @staticmethod
    def of(costs: Any, names: Sequence[Label]) -> Costs:
        """The costs that a user states: nothing, a number for every arm, or numbers by name."""
        if costs is None:
            return EQUAL
        if isinstance(costs, Costs):
            return costs
        values = each_arm("costs", costs, names)
        return Costs(
            tuple(positive(f"cost of arm {n!r}", v) for n, v in zip(names, values, strict=True))
        )

    @staticmethod
    def read(written: list[float] | None) -> Costs:
        """The costs that ``written`` gave."""
        return EQUAL if written is None else Costs(tuple(map(float, written)))

    @property
    def written(self) -> list[float] | None:
        """The costs as they are stored."""
        return list(self.each) or None

    @property
    def stated(self) -> bool:
        """Whether there are any."""
        return bool(self.each)

    @property
    def why_no_more_arms(self) -> str:
        """Why arms that are added would have none, in words; empty where nothing is stated."""
        own = "every arm of this study has a cost of its own, and none is known of new arms"
        return own if self.each else ""

    def of_arms(self, arms: int) -> Reals:
        """The cost of every arm, 1 where nothing is stated."""
        return np.array(self.each) if self.each else np.ones(arms)

    def among(self, arms: NDArray[np.int64]) -> Costs:
        """Those of some arms, by their rows."""
        return Costs(tuple(self.each[arm] for arm in arms)) if self.each else self

    def total(self, pulls: Any) -> float:
        """What so many evaluations of each arm cost."""
        return float(np.asarray(pulls, np.float64) @ self.of_arms(len(pulls)))

    def words(self, total: float) -> str:
        """A cost in words; empty where nothing is stated."""
        return f"cost {in_figures(total)}" if self.each else ""

    @property
    def announcement(self) -> str:
        """What was stated, in words."""
        if not self.each:
            return "the same of every arm"
        return f"{min(self.each):g} to {max(self.each):g} for an evaluation"


EQUAL = Costs()


@dataclass(frozen=True)
class Controls:
    """Arms that are evaluated on every block and are never listed, such as a known compound.

    They help to know the shift of a block. The answer is about the other arms.

    Attributes
    ----------
    wells : tuple of int
        How many wells of each arm a block has, in the order of the arms: 0 for an arm that may be
        listed. Empty where there are no controls.

    Examples
    --------
    >>> from shortlist.blocks import Shift
    >>> controls = Controls.of({"DMSO": 2}, ["ash", "DMSO", "elm"], Shift())
    >>> controls.wells, controls.listable(3).tolist(), controls.words(["ash", "DMSO", "elm"])
    ((0, 2, 0), [True, False, True], "'DMSO' (2 on every block)")
    """

    wells: tuple[int, ...] = ()

    @staticmethod
    def of(stated: Any, names: Sequence[Label], blocks: Blocks) -> Controls:
        """The controls that a user states: nothing, names, or numbers of wells by name."""
        if stated is None:
            return NO_CONTROLS
        if not isinstance(stated, Controls):
            stated = Controls._of_names(stated, names)
        if stated.exist and not blocks.takes_controls:
            raise InvalidSetting(
                f"controls are for {setting('blocks', 'shift')}, where they share a plate with the arms "
                f"that are compared: give {setting('blocks', 'shift')}, or leave out controls and their "
                "arms."
            )
        return stated

    @staticmethod
    def _of_names(stated: Any, names: Sequence[Label]) -> Controls:
        if isinstance(stated, str) or not isinstance(stated, Mapping | Iterable):
            raise InvalidSetting(
                "controls must be a list of arms, or a number of wells for each by name, such as "
                f"{setting('controls', {'DMSO': 2})}, got {stated!r}."
            )
        listed = list(stated.items() if isinstance(stated, Mapping) else ((n, 1) for n in stated))
        rows = {str(name): row for row, name in enumerate(names)}
        wells = [0] * len(names)
        for name, number in listed:
            row = rows.get(str(name))
            if row is None:
                raise UnknownName(f"controls: {unknown_among_many('arm', str(name), names)}")
            if wells[row]:
                raise InvalidSetting(
                    f"controls name {name!r} twice: for two wells on every plate write "
                    f"{setting('controls', {str(name): 2})}."
                )
            wells[row] = whole_number(
                f"controls[{name!r}], a number of wells on every plate,", number, 1
            )
        return Controls(tuple(wells)) if listed else NO_CONTROLS

    @staticmethod
    def read(written: list[int] | None) -> Controls:
        """The controls that ``written`` gave."""
        return NO_CONTROLS if written is None else Controls(tuple(map(int, written)))

    @property
    def written(self) -> list[int] | None:
        """The controls as they are stored."""
        return list(self.wells) or None

    @property
    def exist(self) -> bool:
        """Whether there are any."""
        return any(self.wells)

    def listable(self, arms: int) -> Mask:
        """Whether each arm may be listed."""
        return np.array(self.wells) == 0 if self.wells else np.ones(arms, np.bool_)

    def among(self, arms: NDArray[np.int64]) -> Controls:
        """Those among some arms, by their rows."""
        left = Controls(tuple(self.wells[arm] for arm in arms)) if self.wells else self
        return left if left.exist else NO_CONTROLS

    def with_more(self, arms: int) -> Controls:
        """The same where so many arms were added that are no controls."""
        return Controls((*self.wells, *[0] * arms)) if self.wells else self

    def check_request(self, count: int) -> None:
        """Raise where a block of so many trials has no room for two arms beside the controls."""
        wells = sum(self.wells)
        if self.exist and count < wells + 2:
            raise InvalidSetting(
                f"{count} trials have no room for two arms to compare beside the {wells} for controls: "
                f"ask for more, such as {advise('ask for', count=max(24, 2 * wells))}."
            )

    def places(self, count: int, block: int, seed: int) -> dict[int, int]:
        """Where in a block of ``count`` trials the controls are, at random: rows by place.

        Examples
        --------
        >>> Controls((0, 2)).places(6, block=0, seed=1)
        {2: 1, 5: 1}
        >>> NO_CONTROLS.places(6, block=0, seed=1)
        {}
        """
        if not self.exist:
            return {}
        rows = np.repeat(np.arange(len(self.wells)), self.wells)
        drawn = np.random.default_rng([seed, block, PLACED]).permutation(count)
        return dict(sorted(zip(drawn.tolist(), rows.tolist(), strict=False)))

    @property
    def announcement(self) -> str:
        """Which rows are controls, in words."""
        rows = [f"row {row} ({wells})" for row, wells in enumerate(self.wells) if wells]
        return ", ".join(rows) or "none"

    def by_name(self, names: Sequence[Label]) -> dict[str, int]:
        """How many wells each control has."""
        return {str(names[row]): wells for row, wells in enumerate(self.wells) if wells}

    def words(self, names: Sequence[Label]) -> str:
        """The controls and how many wells each has, in words; empty where there are none."""
        some = self.by_name(names).items()
        return ", ".join(f"{name!r} ({wells} on every block)" for name, wells in some)


NO_CONTROLS = Controls()


@dataclass(frozen=True, eq=False)
class Problem:
    """The m best of K arms, up to ε, with confidence 1 − δ.

    Attributes
    ----------
    features : array, K × N
        One row per arm; the identity for a classical bandit.
    names : tuple of int or str
        What the arms are called, as it was given.
    m : int
        How many to find.
    noise : Noise
        What is known about the noise.
    delta, epsilon : float
        Risk and slack.
    S : float or None
        A bound on ‖θ‖, if one is known.
    direction : {"maximize", "minimize"}
        Whether the best arms are those of largest or of smallest mean. Only what people see follows
        it: algorithms always look for the largest (see ``Procedure.mirrored``).
    columns : tuple of str or None
        What the features are called, if they have names.
    intercept : bool
        Whether the last column is one of ones that was added to the features as given.
    blocks : Blocks
        What results share.
    costs : Costs
        What an evaluation of each arm costs.
    controls : Controls
        Arms that are on every block and are never listed.

    Examples
    --------
    >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], m=1, sigma=0.5)
    >>> problem.arms, problem.dimension, problem.rank
    (3, 2, 2)
    """

    features: NDArray[np.float64]
    names: tuple[Label, ...]
    m: int
    noise: Noise
    delta: float
    epsilon: float
    S: float | None
    direction: str = "maximize"
    columns: tuple[str, ...] | None = None
    intercept: bool = False
    blocks: Blocks = NO_BLOCKS
    costs: Costs = EQUAL
    controls: Controls = NO_CONTROLS

    @classmethod
    def of(
        cls,
        features: ArrayLike | pd.DataFrame | Features | None = None,
        m: int = 1,
        *,
        sigma: Any,
        reward_range: Any = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        S: float | None = None,
        arms: Sequence[Any] | None = None,
        direction: str = "maximize",
        intercept: bool = False,
        blocks: Any = None,
        costs: Any = None,
        controls: Any = None,
    ) -> Problem:
        """Check the input and make a problem of it.

        With ``intercept`` a column of ones is added, where the features cannot express a constant.
        """
        matrix, names, columns = features_and_names(features, arms)
        given = matrix.shape[1]
        if flag("intercept", intercept) and features is not None:
            matrix, columns = with_intercept(matrix, columns)
        shared = Blocks.of(blocks)
        held = Controls.of(controls, names, shared)
        problem = cls(
            features=matrix,
            names=names,
            m=_count(m, int(held.listable(len(names)).sum()), len(names)),
            noise=Noise.of(sigma, reward_range, names),
            delta=_number("delta", delta),
            epsilon=_number("epsilon", epsilon),
            S=None if S is None else _number("S", S),
            direction=_direction(direction),
            columns=columns,
            intercept=matrix.shape[1] > given,
            blocks=shared,
            costs=Costs.of(costs, names),
            controls=held,
        )
        problem._check_slack()
        if features is not None:
            problem._check_distinguishable()
        return problem

    def locked(self) -> Problem:
        """The same problem with read-only features."""
        features = self.features.view()
        features.flags.writeable = False
        return replace(self, features=features)

    def widened(self, epsilon: object) -> Problem:
        """The same problem with a larger ε, or as large a one.

        Examples
        --------
        >>> Problem.of(arms=["ash", "beech"], m=1, sigma=1.0, epsilon=0.2).widened(0.1)
        Traceback (most recent call last):
            ...
        shortlist.errors.InvalidSetting: epsilon can only be made larger, since results have been seen: it is 0.2, got 0.1. A study with a smaller one and these results: study.continued(epsilon=0.1).
        """
        wider = _number("epsilon", epsilon)
        if wider < self.epsilon:
            raise InvalidSetting(
                "epsilon can only be made larger, since results have been seen: it is "
                f"{self.epsilon:g}, got {wider:g}. A study with a smaller one and these results: "
                f"{continued(epsilon=wider)}."
            )
        problem = replace(self, epsilon=wider)
        low, high = self.noise.limits
        if wider > (high - low) * (
            1 + 1e-9
        ):  # the range itself ends a study at once: that may be meant
            problem._check_slack()
        return problem

    def _check_slack(self) -> None:
        """Raise where ε is as large as the range of the results: any m arms would do."""
        low, high = self.noise.limits
        if self.epsilon < high - low:
            return
        meant = f"epsilon={self.epsilon * (high - low) / 100:g}"
        raise InvalidSetting(
            f"epsilon={self.epsilon:g} is as large as the range of the results, {low:g} to {high:g}: any "
            f"{self.m} arms would be an answer. epsilon is in the units of the results"
            + (
                f": for {self.epsilon:g} % of the range write {meant}."
                if self.epsilon < 100
                else "."
            )
        )

    @property
    def minimizes(self) -> bool:
        """Whether the best arms are those of smallest mean."""
        return self.direction == "minimize"

    @property
    def arms(self) -> int:
        """K, the number of arms."""
        return len(self.names)

    @cached_property
    def listable(self) -> Mask:
        """Whether each arm may be listed: all but controls."""
        return self.controls.listable(self.arms)

    @cached_property
    def eligible(self) -> int:
        """How many arms may be listed."""
        return int(self.listable.sum())

    @property
    def cells(self) -> int | None:
        """Evaluations of every arm on every block, where the blocks are a pool."""
        return None if self.blocks.number is None else self.arms * self.blocks.number

    @property
    def sigma(self) -> float:
        """σ, that of the noisiest arm where they differ; NaN until it is estimated."""
        return self.noise.sigma

    @property
    def has_levels(self) -> bool:
        """Whether results of a block share a level of its own, so that only differences are compared."""
        return self.blocks.exist and not self.blocks.once

    @cached_property
    def relative_noise(self) -> NDArray[np.float64]:
        """(σ_a/σ)² of every arm; all 1 where the arms have the same σ."""
        return self.noise.relative(self.arms)

    @property
    def dimension(self) -> int:
        """N, the number of features, with the intercept where one was added."""
        return self.features.shape[1]

    @property
    def given(self) -> Features:
        """The features as they were given, without an intercept that was added."""
        kept = self.dimension - self.intercept
        columns = None if self.columns is None else self.columns[:kept]
        return Features(self.features[:, :kept], self.names, columns)

    @property
    def features_in_words(self) -> str:
        """How many features there are, for the middle of a sentence.

        Examples
        --------
        >>> Problem.of([[1.0], [2.0], [4.0]], sigma=1.0, intercept=True).features_in_words
        '1 feature and an intercept'
        """
        added = " and an intercept" if self.intercept else ""
        return f"{count(self.dimension - self.intercept, 'feature')}{added}"

    @property
    def rank(self) -> int:
        """The rank of the features of arms that may be listed."""
        return self.reduced.shape[1] - self._indicators

    @property
    def is_classical(self) -> bool:
        """Whether the features are the identity: no arm says anything about another."""
        return is_identity(self.features)

    @property
    def longest(self) -> float:
        """L = max_a ‖x_a‖, with x_a in units of σ_a/σ where the noise of the arms differs."""
        return float(np.sqrt((squared_norms(self.features) / self.relative_noise).max()))

    @cached_property
    def reduced(self) -> NDArray[np.float64]:
        """The features in a basis of their row space, whatever the units of their columns.

        A control has an indicator of its own in place of its features: its mean may be any, and
        says nothing of what is linear in them.

        Examples
        --------
        >>> given = {"m": 1, "sigma": 1.0, "blocks": "shift", "controls": ["DMSO"]}
        >>> rows, arms = [[1.0], [2.0], [4.0], [9.0]], ["a", "b", "c", "DMSO"]
        >>> Problem.of(rows, arms=arms, **given).reduced.tolist()
        [[1.0, 0.0], [2.0, 0.0], [4.0, 0.0], [0.0, 1.0]]
        """
        if not self._indicators:
            return reduce_to_rank(self.features)
        others = reduce_to_rank(self.features[self.listable])
        found = np.zeros((self.arms, others.shape[1] + self._indicators))
        found[self.listable, : others.shape[1]] = others
        found[~self.listable, others.shape[1] :] = np.eye(self._indicators)
        return found

    @cached_property
    def _indicators(self) -> int:
        """How many controls have an indicator in place of their features."""
        return 0 if not self.controls.wells or self.is_classical else self.arms - self.eligible

    @cached_property
    def keeps_units(self) -> bool:
        """Whether the features can be used in the units that they came in."""
        return fits_own_units(self.features)

    @property
    def in_own_units(self) -> NDArray[np.float64]:
        """The reduced features, for what uses S or a regularisation, which depend on ‖θ‖."""
        if not self.keeps_units:
            raise InvalidFeatures(
                "thresholds that use S, and regularization, depend on the units of the features, "
                "but these columns differ too much in size for that: divide each column by its "
                "largest absolute value and give S in these units, or use "
                f"{setting('threshold', 'self_normalized')} without a regularization."
            )
        return self.reduced

    @cached_property
    def orthonormal(self) -> NDArray[np.float64]:
        """The features as orthonormal columns: the size of a feature plays no part in it.

        With many arms and even features these are the reduced ones: that loses no digits, and saves
        the memory of another table.
        """
        if is_identity(self.reduced) or (self.reduced.size > WHOLE and self.is_even):
            return self.reduced
        return np.ascontiguousarray(np.linalg.qr(self.reduced)[0])

    @cached_property
    def is_even(self) -> bool:
        """Whether no direction of the features is much shorter than another."""
        if self._gram is None:
            return False
        values = np.linalg.eigvalsh(self._gram)
        return bool(values[0] > EVEN * values[-1])

    @cached_property
    def _gram(self) -> NDArray[np.float64] | None:
        return gram(self.reduced)

    @cached_property
    def spanning(self) -> NDArray[np.int64]:
        """Arms that span the features, well spread in units of their noise."""
        return span(in_units(self.reduced, self.relative_noise))

    def of_arms(self, arms: NDArray[np.int64]) -> Problem:
        """The same question about some of the arms, by their rows.

        Examples
        --------
        >>> problem = Problem.of(arms=["ash", "beech", "elm"], m=1, sigma=1.0)
        >>> problem.of_arms(np.array([0, 2])).names
        ('ash', 'elm')
        """
        features = np.eye(len(arms)) if self.is_classical else self.features[arms]
        names = tuple(self.names[arm] for arm in arms.tolist())
        noise, costs = self.noise.of_arms(arms), self.costs.among(arms)
        controls = self.controls.among(arms)
        return replace(
            self, features=features, names=names, noise=noise, costs=costs, controls=controls
        )

    def with_arms(self, names: Sequence[Label], rows: NDArray[np.float64] | None) -> Problem:
        """The same question with more arms, whose features are ``rows``; None without features.

        Examples
        --------
        >>> problem = Problem.of([[1.0, 0.0], [0.0, 1.0]], m=1, sigma=1.0, arms=["ash", "beech"])
        >>> problem.with_arms(["elm"], np.array([[0.6, 0.8]])).features.shape
        (3, 2)
        """
        listed, controls = (*self.names, *names), self.controls.with_more(len(names))
        if rows is None:
            features = np.eye(len(listed))
            return replace(self, features=features, names=listed, controls=controls)
        rows = np.column_stack([rows, np.ones(len(rows))]) if self.intercept else rows
        features = np.vstack([self.features, rows])
        found = replace(self, features=features, names=listed, controls=controls)
        found._check_distinguishable()
        return found.locked()

    def index(self, arm: int | str) -> int:
        """The row of an arm, which is given by its name; or by the row, if no name is a number.

        Examples
        --------
        >>> Problem.of(arms=["ash", "beech"], m=1, sigma=1.0).index("beech")
        1
        >>> Problem.of(arms=[20, 10], m=1, sigma=1.0).index(10)
        1
        """
        if isinstance(arm, str):
            row = self._rows.get(arm)
            if row is None:
                raise unknown_among_many("arm", arm, self.names)
            return row
        if isinstance(arm, numbers.Integral) and not isinstance(arm, bool):
            row = self._rows.get(str(int(arm))) if self._are_numbered else int(arm)
            if row is not None and 0 <= row < self.arms:
                return row
        which = f" or a row from 0 to {self.arms - 1}"
        if self._are_numbered:
            which = f", such as {self.names[0]!r} or {self.names[-1]!r}"
        raise InvalidInput(f"arm must be a name{which}, got {arm!r}.")

    @cached_property
    def _rows(self) -> dict[str, int]:
        """The rows by the arms' names as text, which is how files and commands have them."""
        return {str(name): row for row, name in enumerate(self.names)}

    @cached_property
    def _are_numbered(self) -> bool:
        """Whether a number is the name of an arm, and not its row."""
        return any(isinstance(name, int) for name in self.names)

    def _check_distinguishable(self) -> None:
        zero = np.flatnonzero(self.listable & ~self.features.any(axis=1))
        if len(zero):
            raise IndistinguishableArms(
                f"arm {self.names[zero[0]]!r} has only zeros as features: the linear model says "
                "that its mean is exactly 0 and that evaluating it reveals nothing. Remove it, or "
                "use intercept=True."
            )
        self._check_sizes()
        if self.epsilon > 0.0:
            return
        arms = np.flatnonzero(self.listable)
        first = first_like(self.features[arms] if self.controls.exist else self.features)
        again = np.flatnonzero(first != np.arange(len(arms)))
        if len(again):
            one, other = (self.names[arms[k]] for k in (first[again[0]], again[0]))
            raise IndistinguishableArms(
                f"arms {one!r} and {other!r} have the same features: their means are equal under "
                "the linear model, and with epsilon=0 no number of evaluations can tell which of "
                "them belongs on the shortlist. Keep one of them, give them different features, or "
                "set epsilon > 0."
            )

    def _check_sizes(self) -> None:
        powers = exponents(self.features)
        for rows in blocks(self.features):
            sizes = np.ldexp(np.abs(self.features[rows]), -powers).max(axis=1)
            sizes[~self.listable[rows]] = np.inf  # the features of controls play no part
            if sizes.min() < TINY:
                arm = rows.start + int(np.argmin(sizes))
                raise InvalidFeatures(
                    f"every feature of arm {self.names[arm]!r} is below {TINY:g} of another arm's: "
                    "the squares of such small numbers cannot be told from 0. Remove the arm, or "
                    "bring its features to the size of the others'."
                )


# Numbers by their names: whether one is right, and what to say of one that is not.
RIGHT: dict[str, tuple[Callable[[float], bool], str]] = {
    "delta": (
        lambda value: 0.0 < value < 1.0,
        "delta, the risk of a wrong answer, must lie between 0 and 1, got {}: 0.05 is usual.",
    ),
    "epsilon": (
        lambda value: 0.0 <= value < math.inf,
        "epsilon, the slack in the means, must be 0 or more, got {}.",
    ),
    "S": (
        lambda value: 0.0 < value < math.inf,
        "S, a bound on the norm of θ, must be above 0, got {}.",
    ),
}


def _number(name: str, value: object) -> float:
    number, (is_right, words) = checked_number(name, value), RIGHT[name]
    if not is_right(number):
        raise InvalidSetting(words.format(number))
    return number


def _count(m: object, eligible: int, arms: int) -> int:
    """How many arms to find, if there are more that may be listed."""
    if isinstance(m, bool) or not isinstance(m, numbers.Integral):
        raise InvalidSetting(f"m must be a whole number, got {m!r}.")
    which = "" if eligible == arms else " that are not controls"
    if eligible < 2:
        raise InvalidSetting(
            f"of {count(arms, 'arm')} only {eligible} may be listed, since controls are not: there is "
            "nothing to find. Name fewer controls."
        )
    if not 1 <= int(m) < eligible:
        raise InvalidSetting(
            f"m must be at least 1 and below the number of arms{which} ({eligible}), got {int(m)}."
        )
    return int(m)


def suspicious_delta(delta: float) -> str:
    """What to say of a risk that is rather a confidence; empty for others.

    Examples
    --------
    >>> suspicious_delta(0.95)
    'delta is the risk of a wrong answer: for 95 % confidence write delta=0.05, got 0.95.'
    >>> suspicious_delta(0.1)
    ''
    """
    if delta <= 0.5:
        return ""
    return (
        f"delta is the risk of a wrong answer: for {100 * delta:.10g} % confidence write "
        f"delta={1.0 - delta:.3g}, got {delta:g}."
    )


def _direction(direction: object) -> str:
    if direction not in DIRECTIONS:
        raise InvalidSetting(
            f"direction must be 'maximize' or 'minimize', got {direction!r}: are the best arms those "
            "of largest or of smallest mean?"
        )
    return str(direction)


def flag(name: str, value: object) -> bool:
    """The value, if it is True or False, and nothing that only looks like it."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidSetting(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def whole_number(name: str, value: object, least: int) -> int:
    """The value, if it is a whole number of at least ``least``.

    Examples
    --------
    >>> whole_number("runs", 2.5, 1)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: runs must be a whole number, at least 1, got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
        raise InvalidSetting(f"{name} must be a whole number, at least {least}, got {value!r}.")
    return int(value)


def checked_seed(seed: object) -> int:
    """The seed, if it is a whole number of 64 bits."""
    if (
        isinstance(seed, bool)
        or not isinstance(seed, int | np.integer)
        or not 0 <= int(seed) < 2**64
    ):
        raise InvalidSetting(f"seed must be a whole number from 0 to 2**64 − 1, got {seed!r}.")
    return int(seed)


def drawn_seed() -> int:
    """A new random seed."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
