"""Normal noise of a size that nobody knows: one σ for all arms, or one of its own for each.

No σ is bounded: Student's statistics hold whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shortlist.advice import goes_on
from shortlist.arrays import Label
from shortlist.noise.noise import Noise
from shortlist.noise.spread import ADAPTIVE, ALPHA, Found, Spread, p_value


class Estimated(Noise):
    """One σ for all arms.

    Examples
    --------
    >>> Noise.of("estimate").assumption
    'the noise is normal with the same σ for all arms'
    """

    word = "estimate"
    needs_replicates = True
    uses_sigma = False
    sigma = math.nan

    @property
    def figures(self) -> list[float]:
        """None."""
        return []

    @property
    def suits(self) -> str:
        """What is for normal noise of one σ that is not known."""
        return "one_sigma"

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return "σ is not known"

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
        return (
            "The noise of every result is normal with the same standard deviation σ for all arms. "
            "Nothing is assumed of σ: the tests hold whatever it is. If the noise is not normal, or "
            "larger for some arms than for others, the claim does not hold."
        )

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return "normal noise with one σ for all arms that was not known"

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return "normal, with one σ for all arms that is not known"

    # Health

    def finding(self, spread: Spread, names: Sequence[Label]) -> Found:
        """Whether results of the same arm contradict normal noise of that kind."""
        if spread.replicates == 0:
            return (
                "untested",
                "No arm has been evaluated twice yet.",
                "No σ was stated, and the results have not shown one.",
            )
        if spread.total <= spread.rounding:
            words = "All results of an arm are equal, to the last digit."
            meaning = (
                "Without noise nothing can be proven of it. If the evaluation fixes its random seed, let "
                "it take trial.seed; if it has no noise, one evaluation of each arm tells its mean."
            )
            return "warning", words, meaning
        if unequal := self.unequal(spread, names):
            return unequal
        return (
            "fine",
            f"No σ was stated; results of the same arm have standard deviation {spread.deviation:.3g}.",
            f"The guarantee does not use it. It assumes: {self.assumption}.",
        )

    def unequal(self, spread: Spread, names: Sequence[Label]) -> Found | None:
        """That the arms' noise does not have one σ; None if nothing shows it.

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
            f"{varying[high]!r} {math.sqrt(own[high]):.3g}."
        )
        way = goes_on("with all results.", sigma=EstimatedPerArm.word)
        meaning = f"The guarantee assumes one σ, and does not hold. {way} {ADAPTIVE}"
        return "warning", words, meaning, "", way

    def larger(self, spread: Spread) -> float | str:
        """A σ of its own for every arm."""
        return "estimate per arm"


class EstimatedPerArm(Estimated):
    """A σ of its own for every arm.

    Examples
    --------
    >>> Noise.of("estimate per arm").figure
    'no σ is known'
    """

    word = "estimate per arm"

    @property
    def suits(self) -> str:
        """What is for normal noise of which no σ is known."""
        return "own_sigma"

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return "no σ is known"

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
        return (
            "The noise of every result is normal, with a standard deviation σ of its own for each "
            "arm. Nothing is assumed of these: the tests hold whatever they are. If the noise is not "
            "normal, the claim does not hold."
        )

    @property
    def description(self) -> str:
        """The noise in the methods section of a paper."""
        return "normal noise, with a σ of its own for each arm that was not known"

    @property
    def announcement(self) -> str:
        """The text for σ where a study begins."""
        return "normal, with a σ of its own for each arm that is not known"

    def unequal(self, spread: Spread, names: Sequence[Label]) -> None:
        """Nothing: the arms' noise need not be equal."""
