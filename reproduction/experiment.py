"""What an experiment of the paper is: instances, algorithms, published figures, claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DELTA = 0.05  # of every experiment; ε = 0
SIGMA = 0.5
AS_PUBLISHED = "as published"
AS_WRITTEN = "as Algorithm 1 says"
CORRECTED = "corrected"  # LinGame: it is not an instance of Algorithm 1
ONE_THRESHOLD = "one threshold for all"


@dataclass(frozen=True)
class Published:
    """The figures that the authors logged for an algorithm on an instance."""

    mean: float
    std: float
    error: float
    runs: int = 500


@dataclass(frozen=True)
class PaperRow:
    """An algorithm, its settings, and what was published about it."""

    algorithm: str  # this and the selection rule as in Table 1 of the paper
    selection: str
    threshold: str  # that of the published runs
    published: Published | None = None  # what the row is compared with
    kind: str = AS_PUBLISHED  # whose settings: those of the published runs, or of the paper's text
    expected: float | None = None  # samples a run where the published mean is not near
    share: float = (
        1.0  # of the runs asked for: those of eleven million samples are made more rarely
    )

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
        >>> PaperRow("LUCB", "both arms", "lucb1", Published(1.0, 1.0, 0.0), share=0.1).runs(500)
        50
        """
        return max(1, round(wanted * self.share))


@dataclass(frozen=True)
class Panel:
    """An instance and the algorithms that are run on it."""

    name: str  # a word, for files
    title: str  # for people
    instance: Callable[[], Any]  # builds the instance; called late, since it may need data
    rows: tuple[PaperRow, ...]  # in the order of the picture
    # Whether its as-published rows are the published experiment itself. A panel with the drugs' own
    # rewards, say, is set beside the published figures but does not count among them.
    counted: bool = True

    def of(self, *kinds: str) -> tuple[PaperRow, ...]:
        """The rows of these kinds."""
        return tuple(row for row in self.rows if row.kind in kinds)


@dataclass(frozen=True)
class Picture:
    """A panel as it is drawn, perhaps without some algorithms (a close-up)."""

    panel: Panel
    title: str = ""  # by default that of the panel
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
    """A sentence of the paper and what it says in numbers."""

    text: str  # what the paper says
    reading: str  # what we take it to mean
    ratios: tuple[Ratio, ...] = ()  # that must all hold
    error_at_most: float | None = None  # a bound on every error rate of the experiment
    note: str = ""  # what else should be known about it


@dataclass(frozen=True)
class Cell:
    """A cell of the table of random instances: in how many of them H(m-LinGapE(2)) ≤ H(UGapE)."""

    K: int
    N: int
    D: float
    printed: float | None  # what the paper prints, in per cent; None where it has no such column
    count: int  # what the authors' runs gave
    of: int = 1000

    @property
    def m(self) -> int:
        """⌊K/3⌋ + 1, as the published runs have it."""
        return self.K // 3 + 1


@dataclass(frozen=True)
class PaperExperiment:
    """One figure or table of the paper."""

    name: str  # what the program is told
    title: str  # what it shows
    panels: tuple[Panel, ...] = ()  # what is run
    views: tuple[Picture, ...] = ()  # what is drawn
    claims: tuple[Claim, ...] = ()  # what the paper concludes
    notes: tuple[str, ...] = ()  # what a reader should know
    cells: tuple[Cell, ...] = ()  # of the table of random instances
    # The table of constants: of each m and name the printed digits.
    constants: Mapping[tuple[int, str], str] = field(default_factory=dict)
