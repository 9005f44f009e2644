"""What there is to say of a threshold: what it is computed from, and what an arm's own interval is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

NO_LEVEL = (
    "The bounds are {interval}, with no proven level: it is not known how often they contain an "
    "arm's mean."
)


class ArmInterval(NamedTuple):
    """What the interval of an arm alone is."""

    formula: str  # in signs
    meaning: str  # in words, with what the signs are
    short: str = "the mean ± C standard errors"


def usual_interval(
    *, classical: bool, regularization: float = 0.0, one_sigma: bool = True
) -> ArmInterval:
    """What an arm's interval is where it is the mean ± C standard errors.

    ``regularization`` is λ_V, and ``one_sigma`` says that all arms have the same σ; σ is the largest.

    Examples
    --------
    >>> usual_interval(classical=True).meaning
    'mean ± C σ/√N, with N its evaluations and C the threshold'
    >>> usual_interval(classical=False).meaning
    'mean ± C σ √(xᵀV⁻¹x), with x its features, V the sum of x xᵀ over the evaluations, and C the threshold'
    >>> usual_interval(classical=True, regularization=0.5, one_sigma=False).meaning
    'mean ± C σ/√N, with N λ_V = 0.5 plus its evaluations, each counted σ²/σ_a² times, and C the threshold'
    """
    counted = "" if one_sigma else ", each counted σ²/σ_a² times,"
    ridge = f"λ_V = {regularization:g} {{}}plus " if regularization else ""
    if classical:
        meaning = (
            f"mean ± C σ/√N, with N {ridge.format('')}its evaluations{counted} and C the threshold"
        )
        return ArmInterval("μ̂ ± Cσ/√N", meaning)
    return ArmInterval(
        "μ̂ ± Cσ√(xᵀV⁻¹x)",
        f"mean ± C σ √(xᵀV⁻¹x), with x its features, V {ridge.format('times the unit matrix ')}the "
        f"sum of x xᵀ over the evaluations{counted or ','} and C the threshold",
    )


@dataclass(frozen=True)
class ThresholdInputs:
    """What a threshold may depend on; nothing of it is learnt from rewards.

    ``longest`` is the largest ‖x_a‖, and ``weakest`` is λ_min of Σ x xᵀ over the initial pulls.

    Where ``classical``, every arm is a dimension of its own, and θ are the K means. Where
    ``features_unused`` as well, there are features that the algorithm does not look at, and S bounds
    the norm of another θ than this one.
    """

    arms: int
    dimension: int
    rank: int
    longest: float
    sigma: float
    delta: float
    S: float | None
    regularization: float
    weakest: float
    classical: bool
    indices: str
    m: int = 1
    features_unused: bool = False

    @classmethod
    def of(cls, problem: Any, *, classical: bool, rank: int, **others: Any) -> ThresholdInputs:
        """Those of a ``Problem``, for an algorithm that ignores its features if ``classical``.

        ``rank`` is that of the features in use; ``others`` replace what the problem gives.
        """
        given = {
            "arms": problem.arms,
            "dimension": problem.arms if classical else problem.dimension,
            "longest": 1.0 if classical else problem.longest,
            "sigma": problem.sigma,
            "delta": problem.delta,
            "S": problem.S,
            "regularization": 0.0,
            "weakest": 0.0,
            "classical": classical or problem.is_classical,
            "indices": "paired",
            "m": problem.m,
            "features_unused": classical and not problem.is_classical,
        }
        return cls(rank=rank, **{**given, **others})


class AnyThreshold(Protocol):
    """What there is to say of a threshold; the attributes are those of ``gifa.thresholds.Threshold``."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def summary(self) -> str:
        """What it is, in one line."""

    @property
    def source(self) -> str:
        """Where it was published, or where its proof is."""

    @property
    def coverage(self) -> str:
        """How often the arms' own intervals contain their means."""

    @property
    def interval(self) -> ArmInterval | None:
        """What an arm's own interval is, where it is not the mean ± C standard errors."""

    @property
    def needs_S(self) -> bool:  # noqa: N802
        """Whether it needs a bound S on ‖θ‖."""

    def why_not_proven(self, setting: ThresholdInputs) -> list[str]:
        """Why no theorem covers it in a setting; empty if one does."""


@dataclass(frozen=True)
class StrategyThreshold:
    """A threshold that a strategy computes by itself: what there is to say of it, as in ``Threshold``."""

    name: str
    summary: str
    source: str
    coverage: str
    proven: bool = True
    interval: ArmInterval | None = None
    needs_S: ClassVar[bool] = False

    def why_not_proven(self, setting: ThresholdInputs) -> list[str]:
        """Why no theorem covers it; empty if one does, in every setting."""
        return [] if self.proven else [f"the threshold {self.name!r} has no proof"]
