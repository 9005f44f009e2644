"""σ estimated from replicates: an upper bound that normal noise exceeds with a chosen probability.

Σ_a Σ_k (y_ak − ȳ_a)² / σ² is χ² with Σ_a (n_a − 1) degrees of freedom, whatever the means. So,
except with probability q, σ² is at most that sum of squares over the χ² quantile at q. For noise
that is only known to be sub-Gaussian no such bound exists: a rare large value may not be among
the replicates. The same holds arm by arm, with Σ_k (y_ak − ȳ_a)² and n_a − 1 degrees of freedom.

Where results of different blocks are shifted, those that a level of every block and a mean of every arm
leave unexplained take the place of replicates (``EstimatedWithinBlocks``).

An algorithm that tests by likelihoods or Student's statistics needs no bound on the σ of an arm: a few
replicates are enough for it to begin with (``Measured``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shortlist.advice import continued, setting
from shortlist.arrays import Integers, Label, Reals
from shortlist.errors import InvalidInput, InvalidSetting
from shortlist.noise.given import ByArm
from shortlist.noise.noise import Choice, Noise
from shortlist.noise.replicates import FirstResults
from shortlist.noise.spread import ADAPTIVE, ALPHA, Found, Spread, p_value

# A fifth of δ, and at least 60 degrees of freedom: docs/measurements.md says why.
SHARE = 0.2
DEGREES = 60
FEWEST = 0.5  # of the degrees of freedom: within small blocks there are fewer than in large ones
DEGREES_OF_EACH = 30  # where each arm has a σ of its own
DEGREES_WITHIN = 3  # of differences within the first blocks
DEGREES_MEASURED = 4  # the same where no σ is bounded: docs/measurements.md says why
SMALLEST = (
    1e-4  # of the largest σ: smaller bounds are raised to it, so that results can be added up
)
HALF = 0.5  # a risk for a bound of which only the spread is used
MOST_EQUAL = 0.5  # of an arm's replicates: normal results rounded to 1.3 σ have about as many


class Estimate(NamedTuple):
    """An upper bound on σ, and the replicates' spread (0 if only rounding) and degrees.

    Per arm, ``equal`` is the largest share of an arm's replicates that have the same value; within
    blocks, that of all results.
    """

    sigma: float
    spread: float
    degrees: int
    equal: float = 0.0


class Estimated(Noise):
    """One σ for all arms, from replicates among the initial pulls.

    Attributes
    ----------
    share : float
        The share of δ that is spent on the estimate.
    degrees : int
        The degrees of freedom that the estimate must have; per arm, that of every arm.
    found : Estimate or None
        The estimate, once there is one; per arm, the largest bound, the least spread, the least
        degrees of freedom and the largest share of equal replicates.

    Examples
    --------
    >>> Noise.of("estimate").figure
    'σ to be estimated from the initial pulls, at a cost of 0.2 δ'
    """

    word = "estimate"
    needs_replicates = True
    large = 0.5  # σ is an upper bound by itself

    def __init__(
        self, share: float = SHARE, degrees: int = DEGREES, found: Estimate | None = None
    ) -> None:
        self.share, self.degrees, self.found = share, degrees, found
        self.sigma = math.nan if found is None else found.sigma

    @property
    def figures(self) -> list[float]:
        """The share of δ and the degrees of freedom."""
        return [self.share, self.degrees]

    @property
    def as_stated(self) -> Noise:
        """The same noise without an estimate."""
        return Noise.read(self.written)

    # The estimate

    def initial_pulls(self, once: Integers, rounds: int, arms: int) -> Integers:
        """As many rounds of pulls as give the degrees of freedom that are wanted."""
        return np.tile(once, max(rounds, rounds_for(self.degrees, once)))

    def left_of(self, delta: float) -> float:
        """The part of δ that the estimate leaves to the algorithm."""
        return delta - self.share * delta

    def known_by(self, first: FirstResults, delta: float) -> Noise | None:
        """The noise with what the replicates say of σ; None while one is missing."""
        replicates = first.of_each
        return None if replicates is None else self.estimated(replicates, delta)

    def within_blocks(self) -> Noise:
        """One σ for all arms, from differences within blocks."""
        return EstimatedWithinBlocks(self.share, self.degrees)

    def estimated(self, replicates: Sequence[Sequence[float]], delta: float) -> Noise:
        """The noise with an upper bound for σ, wrong with probability ``share`` δ."""
        refuse_two_values(replicates)
        found = bound_from_replicates(replicates, self.share * delta)
        return Estimated(self.share, self.degrees, found)

    @property
    def flaws(self) -> list[str]:
        """Why the estimate cannot be relied on; empty if nothing contradicts it."""
        if self.found is None:
            return []
        if self.found.spread == 0.0:
            return [
                f"the replicates of {self.whose} are equal, so no σ can be estimated from them (if the "
                "evaluation fixes its random seed, let it take trial.seed)"
            ]
        if self.found.equal > MOST_EQUAL:
            return ["more than half of an arm's replicates are equal, so its noise is not normal"]
        return []

    whose = "every arm"  # replicates must be equal for no σ to be estimated

    @property
    def ways_out(self) -> str:
        """What to state where σ is not the same for all arms."""
        return f"{setting('sigma', 'estimate per arm')}, or with a σ for every arm"

    # Words

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        if self.found is None:
            return f"σ to be estimated from the initial pulls, at a cost of {self.share:g} δ"
        return (
            f"σ ≤ {self.sigma:.4g} by {self.found.degrees} degrees of freedom of the initial "
            f"pulls, at a cost of {self.share:g} δ"
        )

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "the noise is normal with the same σ for all arms"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return "normal noise with the same s.d. for all arms"

    @property
    def normality(self) -> str:
        """That noise is normal, for the middle of a sentence."""
        return "the noise is normal"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        found = (
            "It is not known yet."
            if self.found is None
            else f"They have standard deviation {self.found.spread:.4g} on {self.found.degrees} "
            f"degrees of freedom, and σ ≤ {self.sigma:.4g}."
        )
        return (
            "The noise of every result is normal with the same standard deviation σ for all arms. "
            "σ is bounded from above (χ²) by the replicates among the initial pulls, and a share "
            f"of {self.share:g} δ is paid for that bound. {found} If the noise is not normal, or "
            "larger for some arms than for others, the claim does not hold."
        )

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return f"normal noise with {self.figure}"

    # Health

    def finding(self, spread: Spread, names: Sequence[Label]) -> Found:
        """Whether results of the same arm contradict σ, once it is known."""
        if self.awaits_estimate:
            return (
                "untested",
                "σ is to be estimated from the initial pulls, and they are not all in.",
                "There is no answer before they are.",
            )
        return super().finding(spread, names)

    def unequal(self, spread: Spread, names: Sequence[Label]) -> Found | None:
        """That the arms' noise is not normal with one σ; None if nothing shows it.

        By Bartlett's test. Arms whose results are all equal are left out: they may be rounded.
        """
        from scipy.special import chdtrc

        varied = spread.shows_noise & (spread.squares > 0.0)
        degrees, squares = spread.degrees[varied], spread.squares[varied]
        if len(degrees) < 2:
            return None
        own, total = squares / degrees, float(degrees.sum())
        excess = total * math.log(squares.sum() / total) - float(degrees @ np.log(own))
        scale = 1.0 + float((1.0 / degrees).sum() - 1.0 / total) / (3.0 * (len(own) - 1))
        p = float(chdtrc(len(own) - 1, excess / scale))
        if p >= ALPHA:
            return None
        varying = [names[k] for k in spread.arms[varied]]
        low, high = int(np.argmin(own)), int(np.argmax(own))
        words = (
            f"The noise is not normal with the same σ for all arms ({p_value(p, 1)}): results of "
            f"arm {varying[low]!r} have standard deviation {math.sqrt(own[low]):.3g}, those of arm "
            f"{varying[high]!r} {math.sqrt(own[high]):.3g}. The one σ for all is {self.sigma:.4g}."
        )
        what_to_do = f"Start a new study with {self.ways_out}."
        if own[high] <= self.sigma**2:
            meaning = (
                "The guarantee assumes that it is. No arm was seen to have more noise than that σ."
            )
            return "note", words, f"{meaning} {what_to_do} {ADAPTIVE}"
        meaning = "The guarantee assumes one σ, and does not hold."
        return "warning", words, f"{meaning} {what_to_do} {ADAPTIVE}"

    def larger(self, spread: Spread) -> float | str:
        """A number, or estimates for every arm."""
        return self.larger_number(spread) or "estimate per arm"


class EstimatedWithinBlocks(Estimated):
    """One σ for all arms, from what differences within blocks leave unexplained.

    ``Estimated`` is taken so where results of different blocks are shifted. No replicates are alike but
    for noise then; in their place is what all results of the first plan differ from a level of every
    block and a mean of every arm. How many degrees of freedom that leaves depends on the blocks. Where
    they are so small that it leaves few, the first plan is made once more, as often as is needed.

    Attributes
    ----------
    times : int
        How often the first plan is made.

    Examples
    --------
    >>> first = FirstResults(
    ...     np.tile([0, 1], 40), np.repeat(np.arange(20), 4), np.arange(80.0) % 7,
    ...     np.ones(80, bool), np.array([40, 40]),
    ... )
    >>> Estimated().within_blocks().known_by(first, 0.05).found.degrees
    59
    """

    word = ""  # an algorithm makes it, and nobody states it

    def __init__(
        self,
        share: float = SHARE,
        degrees: int = DEGREES,
        found: Estimate | None = None,
        times: int = 1,
    ) -> None:
        super().__init__(share, degrees, found)
        self.times = times

    @property
    def as_stated(self) -> Noise:
        """The same noise without an estimate."""
        return Estimated(self.share, self.degrees)

    def within_blocks(self) -> Noise:
        """The same."""
        return self

    def initial_pulls(self, once: Integers, rounds: int, arms: int) -> Integers:
        """As many rounds of pulls as give the degrees of freedom in large blocks."""
        return np.tile(super().initial_pulls(once, rounds, arms), self.times)

    def known_by(self, first: FirstResults, delta: float) -> Noise | None:
        """The noise with an upper bound for σ, or with one more first plan; None while one lacks."""
        plan = first.of_first_plan
        if plan is None:
            return None
        squares, degrees = plan.spread_within
        if degrees < FEWEST * self.degrees:
            return EstimatedWithinBlocks(self.share, self.degrees, None, self.times + 1)
        values = plan.values.tolist()
        refuse_two_values([values])
        found = bound_from_squares(squares, degrees, values, self.share * delta)
        found = found._replace(equal=max(Counter(values).values()) / len(values))
        return EstimatedWithinBlocks(self.share, self.degrees, found, self.times)

    @property
    def flaws(self) -> list[str]:
        """Why the estimate cannot be relied on; empty if nothing contradicts it."""
        if self.found is None:
            return []
        if self.found.spread == 0.0:
            return [
                "a level of every block and a mean of every arm explain the first results to the last "
                "digit, so no σ can be estimated from them (if the evaluation fixes its random seed, "
                "let it take trial.seed)"
            ]
        if self.found.equal > MOST_EQUAL:
            return ["more than half of the first results are equal, so the noise is not normal"]
        return []

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        if self.found is None:
            return f"σ within blocks to be estimated from the first plan, at a cost of {self.share:g} δ"
        return (
            f"σ ≤ {self.sigma:.4g} by {self.found.degrees} degrees of freedom within blocks of the "
            f"first plan, at a cost of {self.share:g} δ"
        )

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "the noise within blocks is normal with the same σ for all arms"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return "normal noise within blocks with the same s.d. for all arms"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        found = (
            "It is not known yet."
            if self.found is None
            else f"That has standard deviation {self.found.spread:.4g} on {self.found.degrees} "
            f"degrees of freedom, and σ ≤ {self.sigma:.4g}."
        )
        return (
            "The noise of every result within its block is normal with the same standard deviation σ "
            "for all arms and blocks. σ is bounded from above (χ²) by how far the results of the "
            "first plan are from a level of every block and a mean of every arm, and a share of "
            f"{self.share:g} δ is paid for that bound. {found} If the noise is not normal, or larger "
            "for some arms or blocks than for others, the claim does not hold."
        )

    @property
    def ways_out(self) -> str:
        """A σ for each."""
        return "a σ for every arm"

    def larger(self, spread: Spread) -> float | str:
        """A number."""
        return self.larger_number_for_all(spread)


class EstimatedPerArm(ByArm, Estimated):
    """A σ for every arm, from replicates of each among the initial pulls.

    Examples
    --------
    >>> noise = EstimatedPerArm().estimated([[1.0, 1.2, 0.8], [2.2, 1.8, 2.0]], 0.05)
    >>> noise.each.round(2).tolist(), noise.found.degrees
    ([2.82, 2.82], 2)
    """

    word = "estimate per arm"
    whose = "an arm"

    def __init__(
        self,
        share: float = SHARE,
        degrees: int = DEGREES_OF_EACH,
        found: Estimate | None = None,
        each: Reals | None = None,
    ) -> None:
        super().__init__(share, degrees, found)
        self.each = each

    def initial_pulls(self, once: Integers, rounds: int, arms: int) -> Integers:
        """As many rounds of all arms as give each the degrees of freedom that are wanted."""
        return np.tile(np.arange(arms), self.degrees + 1)

    def within_blocks(self) -> Noise:
        """Nothing: raises, since no two results of an arm on different blocks are replicates."""
        raise InvalidSetting(
            f"{setting('sigma', self.word)} takes replicates for alike but for noise, and those of "
            f"different blocks are shifted. With {setting('blocks', 'shift')} write "
            f"{setting('sigma', 'estimate')}, for normal noise with one σ within all blocks; or give the standard deviation of results of one arm within a block, "
            "as a number or one for every arm."
        )

    @property
    def why_no_more_arms(self) -> str:
        """That they have no results of the kind that it is estimated from."""
        return (
            f"with {setting('sigma', self.word)} each arm's noise is estimated by its results from the first "
            "plan on, and new arms have none"
        )

    @property
    def to_shift(self) -> dict[str, object]:
        """With one σ."""
        return {"blocks": "shift", "sigma": "estimate"}

    def estimated(self, replicates: Sequence[Sequence[float]], delta: float) -> EstimatedPerArm:
        """The noise with upper bounds from replicates of every arm, which all hold at once."""
        refuse_two_values(replicates)
        risk = self.share * delta / len(replicates)  # the union over all arms
        bounds = [bound_from_replicates([values], risk) for values in replicates]
        largest = max(bound.sigma for bound in bounds)
        each = np.array([max(bound.sigma, SMALLEST * largest) for bound in bounds])
        found = Estimate(largest, *_least_and_most(replicates, bounds))
        return EstimatedPerArm(self.share, self.degrees, found, each)

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        if self.each is None or self.found is None:
            return f"σ of each arm to be estimated from the initial pulls, at a cost of {self.share:g} δ"
        return (
            f"σ per arm bounded above by {self.each.min():.4g} to {self.each.max():.4g}, each "
            f"from {self.found.degrees} degrees of freedom of the initial pulls, at a cost of "
            f"{self.share:g} δ"
        )

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "the noise of each arm is normal with a σ of its own"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return "normal noise of each arm"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        found = "They are not known yet."
        if self.found is not None and self.each is not None:
            found = (
                f"Each arm has {self.found.degrees} degrees of freedom, and the bounds go "
                f"from {self.each.min():.4g} to {self.each.max():.4g}."
            )
        return (
            "The noise of every result is normal, with a standard deviation σ of its own for each "
            "arm. Each is bounded from above (χ²) by the replicates among the arm's initial pulls, "
            f"and a share of {self.share:g} δ is paid for all bounds together. {found} If the "
            "noise is not normal, the claim does not hold."
        )

    def unequal(self, spread: Spread, names: Sequence[Label]) -> None:
        """Nothing: the arms' noise need not be equal."""

    def suited(
        self, sub_gaussian: Choice, in_range: Choice, own_sigma: Choice | None = None
    ) -> Choice:
        """What is for normal noise of which no σ is known, if there is such, until all are bounded."""
        return own_sigma if own_sigma is not None and self.found is None else sub_gaussian


class Measured(EstimatedPerArm):
    """A σ for every arm that nobody knows, as an algorithm takes it that bounds none of them.

    A few results of each arm come first. How far they are apart is a unit, and guides; nothing is
    proven by it.

    Examples
    --------
    >>> noise = Measured(EstimatedPerArm()).estimated([[1.0, 1.2, 0.8], [2.2, 1.8, 2.0]], 0.05)
    >>> noise.each.round(2).tolist(), noise.left_of(0.05)
    ([0.2, 0.2], 0.05)
    """

    word = ""  # an algorithm makes it, and nobody states it
    uses_sigma = False
    of_each: ClassVar[int] = DEGREES_MEASURED  # degrees of freedom, for a unit

    def __init__(
        self, stated: Noise, found: Estimate | None = None, each: Reals | None = None
    ) -> None:
        super().__init__(0.0, self.of_each, found, each)
        self._stated = stated

    @property
    def as_stated(self) -> Noise:
        """What the study states."""
        return self._stated

    def suited(
        self, sub_gaussian: Choice, in_range: Choice, own_sigma: Choice | None = None
    ) -> Choice:
        """What is for noise of which no σ is known, for none ever is."""
        return sub_gaussian if own_sigma is None else own_sigma

    def estimated(self, replicates: Sequence[Sequence[float]], delta: float) -> Measured:
        """The noise with the standard deviations of replicates of every arm."""
        refuse_two_values(replicates)
        bounds = [bound_from_replicates([values], HALF) for values in replicates]
        sizes = [bound.spread or bound.sigma for bound in bounds]
        each = np.maximum(sizes, SMALLEST * max(sizes))
        found = Estimate(max(sizes), *_least_and_most(replicates, bounds))
        return type(self)(self._stated, found, each)

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return "no σ is used"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        return (
            "The noise of every result is normal, with a standard deviation σ of its own for each "
            "arm. Nothing is assumed of these, and none is bounded: the tests hold whatever they are. If "
            "the noise is not normal, the claim does not hold."
        )

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return "normal noise, with a σ of its own for each arm that was not known"

    def finding(self, spread: Spread, names: Sequence[Label]) -> Found:
        """That nothing is stated that results of the same arm could contradict."""
        if self.awaits_estimate:
            return (
                "untested",
                "The first results of each arm are not all in.",
                "There is no answer before they are.",
            )
        return (
            "fine",
            f"No σ was stated; the first results of an arm have standard deviations of "
            f"{min(self.each):.3g} to {max(self.each):.3g}.",  # type: ignore[arg-type]
            f"The guarantee does not use them. It assumes: {self.assumption}.",
        )

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return f"normal, with a σ of its own for each arm; {self.degrees + 1} results of each come first"


class OwnSigma:
    """Bounds for normal noise with a σ of its own for each arm, whatever it is."""

    kind: ClassVar[type[Measured]] = Measured

    def noise(self, stated: Noise, algorithm: str) -> Noise:
        """The noise that is stated, without a bound on any σ."""
        return stated if isinstance(stated, self.kind) else self.kind(stated)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnSigma)

    def __hash__(self) -> int:
        return hash(OwnSigma)


class NormalDifferences(Measured):
    """Normal differences within blocks, of a variance of its own for each pair that nobody knows."""

    of_each = DEGREES_WITHIN

    @property
    def assumption(self) -> str:
        """What a proof assumes of the noise, in few words."""
        return "differences of two arms within a block are normal"

    @property
    def short(self) -> str:
        """The same in a line of many assumptions."""
        return "normal differences within blocks"

    @property
    def normality(self) -> str:
        """That differences are normal, for the middle of a sentence."""
        return self.assumption

    @property
    def explanation(self) -> str:
        """What a proof assumes of the noise, in full sentences."""
        return (
            "The difference of two arms on a block is normal, with a standard deviation of its own "
            "for each pair. Nothing is assumed of these, and none is bounded: what the differences "
            "say is weighed against the best that any standard deviation makes of them. If they are "
            "not normal, the claim does not hold."
        )

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return "normal differences within blocks, of standard deviations that were not known"

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return (
            f"normal differences within blocks; {self.degrees + 1} blocks with all arms come first"
        )


class NormalWithinBlocks(OwnSigma):
    """Bounds for normal differences within blocks, whatever their standard deviations are."""

    kind = NormalDifferences


def _least_and_most(
    replicates: Sequence[Sequence[float]], bounds: Sequence[Estimate]
) -> tuple[float, int, float]:
    """The least spread and degrees of freedom of an arm, and the largest share of equal replicates."""
    equal = max(max(Counter(values).values()) / len(values) for values in replicates)
    return min(b.spread for b in bounds), min(b.degrees for b in bounds), equal


def refuse_two_values(replicates: Sequence[Sequence[float]]) -> None:
    """Raise where replicates have only two values: such noise is not normal, and bounds on σ are wrong.

    Examples
    --------
    >>> refuse_two_values([[1.0, 0.0], [1.0, 1.0, 0.5]])
    >>> refuse_two_values([[1.0, 0.0], [1.0, 1.0]])
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: all replicates are 0 or 1: such noise is not normal, and σ cannot be estimated from them. The last result was not recorded. Go on with all others by study.continued(sigma='bounded', reward_range=(0, 1)), which needs no σ, and tell it the last one.
    """
    every = [value for values in replicates for value in values]
    found = set(every)
    if len(found) == 2 < len(every):
        low, high = (f"{value:g}" for value in sorted(found))
        raise InvalidInput(
            f"all replicates are {low} or {high}: such noise is not normal, and σ cannot be "
            "estimated from them. The last result was not recorded. Go on with all others by "
            f"{continued(sigma='bounded', reward_range=(low, high))}, which needs no σ, and "
            "tell it the last one."
        )


def bound_from_replicates(replicates: Sequence[Sequence[float]], risk: float) -> Estimate:
    """An upper bound on σ, for normal noise with the same σ for all arms.

    Parameters
    ----------
    replicates : sequence of sequences
        The results of each arm. How many there are must be fixed before any is seen.
    risk : float
        The probability that the bound is wrong.

    Examples
    --------
    >>> found = bound_from_replicates([[1.0, 1.2, 0.8], [2.1, 1.9, 2.0]], risk=0.01)
    >>> round(found.sigma, 3), round(found.spread, 3), found.degrees
    (0.58, 0.158, 4)
    """
    # Exact sums and a rounded factor: the same σ on every machine, in every process.
    squares = math.fsum(square for values in replicates for square in _squares(values))
    degrees = sum(len(values) - 1 for values in replicates)
    every = [value for values in replicates for value in values]
    return bound_from_squares(squares, degrees, every, risk)


def bound_from_squares(
    squares: float, degrees: int, results: Sequence[float], risk: float
) -> Estimate:
    """The same from a sum of squares that is σ² χ² with these degrees of freedom, of some results."""
    spread = math.sqrt(squares / degrees)
    rounding = float(rounding_of(max(map(abs, results))))
    if spread <= rounding:  # no width can be made of 0
        return Estimate(rounding, 0.0, degrees)
    return Estimate(spread * inflation(degrees, risk), spread, degrees)


def rounding_of(results: ArrayLike) -> Reals:
    """The standard deviation that rounding alone may give to results of this size."""
    return np.maximum(1e-12 * np.abs(results), 1e-150)


def inflation(degrees: int, risk: float) -> float:
    """The ratio of the bound to the spread of the replicates, rounded up.

    Examples
    --------
    >>> round(inflation(60, 0.01), 3)
    1.265
    """
    from scipy.special import gammaincinv

    quantile = 2.0 * float(gammaincinv(degrees / 2.0, risk))
    return math.ceil(math.sqrt(degrees / quantile) * 1e9) / 1e9


def rounds_for(degrees: int, initial: NDArray[np.int64]) -> int:
    """How many rounds of the initial pulls give this number of degrees of freedom.

    Examples
    --------
    >>> rounds_for(60, np.arange(10)), rounds_for(60, np.arange(4))
    (7, 16)
    """
    return -(-(degrees + len(np.unique(initial))) // len(initial))


def _squares(values: Sequence[float]) -> list[float]:
    from_first = [value - values[0] for value in values]
    mean = math.fsum(from_first) / len(values)
    return [(value - mean) ** 2 for value in from_first]
