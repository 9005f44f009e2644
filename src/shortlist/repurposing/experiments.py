"""Experiments that a network must explain: what was held, and what was seen at which step."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shortlist.errors import InvalidNetwork


@dataclass(frozen=True)
class Experiment:
    """One experiment: a trajectory of which some values are known.

    Parameters
    ----------
    name : str
        What to call it.
    observations : mapping of int to mapping or Series
        Step → gene → 0 or 1; a gene that is missing or NaN (the paper's ⊥) may have either value.
        Step 0 is the initial condition.
    clamps : mapping of str to int
        Genes knocked down (0) or over-expressed (1): held so from step 0 and for good.
    fixed_points : tuple of int
        Steps at which no gene may want to change.

    Examples
    --------
    >>> knocked = Experiment("A down", {0: {"B": 1}, 9: {"B": 0}}, {"A": 0}, fixed_points=(9,))
    >>> knocked.last_step
    9
    """

    name: str
    observations: Mapping[int, Mapping[str, int]]
    clamps: Mapping[str, int] = field(default_factory=dict)
    fixed_points: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        known = {
            _step(step, self.name): _values(values, f"step {step} of {self.name}")
            for step, values in self.observations.items()
        }
        object.__setattr__(self, "observations", known)
        object.__setattr__(self, "clamps", _values(self.clamps, f"the clamps of {self.name}"))
        fixed = tuple(_step(step, self.name) for step in self.fixed_points)
        object.__setattr__(self, "fixed_points", fixed)

    @property
    def last_step(self) -> int:
        """The last step that something is known about."""
        return max([0, *self.observations, *self.fixed_points])

    @property
    def genes(self) -> tuple[str, ...]:
        """All that are held or observed."""
        observed = (gene for values in self.observations.values() for gene in values)
        return tuple(dict.fromkeys([*self.clamps, *observed]))

    def contradiction(self, update: str = "asynchronous") -> str | None:
        """Why no network at all could explain it, in words; None if that is not plain to see.

        Examples
        --------
        >>> Experiment("A down", {4: {"A": 1}}, {"A": 0}).contradiction()
        'gene A is held at 0 and is 1 at step 4'
        >>> Experiment("quick", {0: {"A": 0, "B": 0}, 1: {"A": 1, "B": 1}}).contradiction()
        '2 genes change from step 0 to step 1, and one at a step may'
        """
        for step, values in self.observations.items():
            for gene, value in values.items():
                if self.clamps.get(gene, value) != value:
                    held = self.clamps[gene]
                    return f"gene {gene} is held at {held} and is {value} at step {step}"
        if update == "asynchronous":
            for first, last in itertools.combinations(sorted(self.observations), 2):
                begin, end = self.observations[first], self.observations[last]
                changed = sum(value != end.get(gene, value) for gene, value in begin.items())
                if changed > last - first:
                    return (
                        f"{changed} genes change from step {first} to step {last}, and one at a "
                        "step may"
                    )
        return None


def _step(step: Any, name: str) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise InvalidNetwork(
            f"experiment {name}: a step must be a whole number from 0 on, got {step!r}."
        )
    return step


def _values(values: Any, where: str) -> dict[str, int]:
    given = {str(gene): v for gene, v in values.items() if v is not None and v == v}  # not NaN
    for gene, value in given.items():
        if isinstance(value, str) or value not in (0, 1):
            raise InvalidNetwork(
                f"gene {gene} must be 0, 1 or missing in {where}, got {value!r}: binarize it first."
            )
    return {gene: int(value) for gene, value in given.items()}
