"""Results in a range that are compared within blocks, at the spread that their differences have."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.errors import InvalidSetting
from shortlist.noise.bounded import Bounded
from shortlist.noise.noise import Noise
from shortlist.noise.spread import Found, Spread


class PairedInRange(Bounded):
    """Results in a range, whose differences within a block are bounded: σ is not used.

    Examples
    --------
    >>> PairedInRange(0.0, 1.0).figure
    'results from 0 to 1'
    """

    word = ""  # an algorithm makes it, and nobody states it
    uses_sigma = False

    def __init__(self, low: float, high: float) -> None:
        super().__init__(low, high)
        self.mirrored_at = low + high

    @property
    def figure(self) -> str:
        """The text for σ in a guarantee."""
        return f"results from {self.low:g} to {self.high:g}"

    @property
    def assumption(self) -> str:
        """What a proof assumes of the results, in few words."""
        return f"all results lie in [{self.low:g}, {self.high:g}]"

    @property
    def explanation(self) -> str:
        """What a proof assumes of the results, in full sentences."""
        return (
            f"Every result lies between {self.low:g} and {self.high:g}; one that did not was refused. "
            "Nothing else is assumed of how results are distributed, and σ was not used."
        )

    @property
    def specification(self) -> str:
        """The value of σ in a table."""
        return f"{super().figure} (not used within blocks)"

    @property
    def description(self) -> str:
        """The results in the methods section of a paper."""
        return self.figure

    def finding(self, spread: Spread, names: Sequence[str]) -> Found:
        """Nothing can contradict it: results outside the range are refused."""
        return (
            "fine",
            "Results are compared within blocks, and σ is not used.",
            f"The guarantee rests on {self.figure}, and others are refused.",
        )


class WithinBlocks:
    """Bounds for differences within blocks, of results in a range."""

    def noise(self, stated: Noise, algorithm: str) -> Noise:
        """The results in their range, if one is stated."""
        if not stated.takes_range:
            raise InvalidSetting(
                f"{algorithm} compares results that lie in a range: write sigma='bounded' with "
                "reward_range=(low, high), such as (0, 1) for scores, or leave out blocks."
            )
        return PairedInRange(*stated.figures)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithinBlocks)

    def __hash__(self) -> int:
        return hash(WithinBlocks)
