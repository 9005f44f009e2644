"""What an experiment of the paper is: instances, algorithms, published figures, claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance

DELTA = 0.05  # of every experiment; ε = 0
AS_PUBLISHED = "as published"
AS_WRITTEN = "as Algorithm 1 says"
CORRECTED = "corrected"  # LinGame: it is no instance of Algorithm 1
ONE_THRESHOLD = "one threshold for all"


@dataclass(frozen=True)
class Published:
    """The figures that the authors logged for an algorithm on an instance."""

    mean: float
    std: float
    error: float
    runs: int = 500


@dataclass(frozen=True)
class Row:
    """An algorithm, its settings, and what was published about it.

    Attributes
    ----------
    algorithm, selection : str
        As in Table 1 of the paper.
    threshold : str
        The one of the published runs.
    published : Published, optional
        What the row is compared with.
    kind : str
        Whose settings: those of the published runs, or those of the paper's text.
    expected : float, optional
        Samples a run, where the published mean is not near; for the time left only.
    share : float
        Of the runs asked for, how many are made: runs of eleven million samples are made more rarely.
    """

    algorithm: str
    selection: str
    threshold: str
    published: Published | None = None
    kind: str = AS_PUBLISHED
    expected: float | None = None
    share: float = 1.0

    @property
    def label(self) -> str:
        """The algorithm with its selection rule."""
        alone = self.algorithm == "LinGame"
        return self.algorithm if alone else f"{self.algorithm} {self.selection}"

    @property
    def title(self) -> str:
        """The label with the kind: no two rows of a panel have the same."""
        return self.label if self.kind == AS_PUBLISHED else f"{self.label}, {self.kind}"

    @property
    def samples(self) -> float:
        """About how many samples a run takes."""
        if self.expected is not None or self.published is None:
            return self.expected or 1000.0
        return self.published.mean

    def runs(self, wanted: int) -> int:
        """How many runs are made where ``wanted`` are asked for.

        Examples
        --------
        >>> Row("LUCB", "both", "lucb1", Published(1.0, 1.0, 0.0), share=0.1).runs(500)
        50
        """
        return max(1, round(wanted * self.share))


@dataclass(frozen=True)
class Panel:
    """An instance and the algorithms that are run on it.

    Attributes
    ----------
    name : str
        A word, for files.
    title : str
        For people.
    instance : callable
        Builds the instance; called late, since it may need data.
    rows : tuple of Row
        In the order of the picture.
    counted : bool
        Whether its as-published rows are the published experiment itself; a panel with the drugs'
        own rewards, say, is set beside the published figures but does not count among them.
    """

    name: str
    title: str
    instance: Callable[[], Instance]
    rows: tuple[Row, ...]
    counted: bool = True

    def of(self, *kinds: str) -> tuple[Row, ...]:
        """The rows of these kinds."""
        return tuple(row for row in self.rows if row.kind in kinds)


@dataclass(frozen=True)
class View:
    """A panel as it is drawn, perhaps without some algorithms (a close-up)."""

    panel: Panel
    title: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ratio:
    """Mean samples of one row over those of another, and the range in which a claim holds.

    ``of`` and ``to`` name a panel and a label. The kind is left open, so that a claim can be looked
    at with the published settings and with those of the text.
    """

    of: tuple[str, str]
    to: tuple[str, str]
    at_least: float = 0.0
    at_most: float = float("inf")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and what it says in numbers.

    Attributes
    ----------
    text : str
        What the paper says.
    reading : str
        What we take it to mean.
    ratios : tuple of Ratio
        That must all hold.
    error_at_most : float, optional
        A bound on every error rate of the experiment.
    note : str
        What else should be known about it.
    """

    text: str
    reading: str
    ratios: tuple[Ratio, ...] = ()
    error_at_most: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of the table of random instances: in how many of them H(m-LinGapE(2)) ≤ H(UGapE).

    ``printed`` is what the paper prints, in per cent, None where it has no such column; ``count``
    is what the authors' runs gave.
    """

    K: int
    N: int
    D: float
    printed: float | None
    count: int
    of: int = 1000

    @property
    def m(self) -> int:
        """⌊K/3⌋ + 1, as the published runs have it."""
        return self.K // 3 + 1


@dataclass(frozen=True)
class Constant:
    """A number of the appendix's table of constants, with its printed digits."""

    m: int
    name: str
    printed: str


@dataclass(frozen=True)
class Experiment:
    """One figure or table of the paper.

    Attributes
    ----------
    name : str
        What ``shortlist reproduce`` is told.
    title : str
        What it shows.
    panels : tuple of Panel
        What is run.
    views : tuple of View
        What is drawn.
    claims : tuple of Claim
        What the paper concludes.
    notes : tuple of str
        What a reader should know.
    cells : tuple of Cell
        Of the table of random instances.
    constants : tuple of Constant
        Of the table of constants.
    """

    name: str
    title: str
    panels: tuple[Panel, ...] = ()
    views: tuple[View, ...] = ()
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    constants: tuple[Constant, ...] = ()
