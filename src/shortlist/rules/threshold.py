"""What a threshold is: a compiled function, its constants, and what its proof asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from shortlist.core.rule import Rule
from shortlist.errors import InvalidSetting


@dataclass(frozen=True)
class Setting:
    """What a threshold may depend on; nothing of it is learnt from rewards.

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


@dataclass(frozen=True)
class Threshold:
    """A threshold: its compiled function, its constants, and what its proof asks for.

    Attributes
    ----------
    rule : Rule
        ``(t, log_det, constants) → C``.
    formula : callable
        From the setting and λ_V as the formula has it, the constants that the function is given.
    proven : bool
        Whether a theorem covers it at all.
    assumptions : str
        What that theorem assumes, in words.
    source : str
        Where it stands.
    needs_S : bool
        Whether it needs a bound S on ‖θ‖ (and with it a regularisation above 0).
    needs_span : bool
        Whether it needs initial pulls that span the features.
    rounds : callable
        From the number of initial pulls, how often ``initialization="auto"`` repeats them.
    regularization : callable
        (σ, S) → the regularisation it is meant to be used with.
    shift : callable
        From the setting, s of the ln det(I + A/s) it reads; 0 where it reads none.
    broken : callable
        From the setting, which assumptions do not hold.
    own_regularization : callable, optional
        σ → λ_V as the formula has it, where it differs from the posterior's (as published).
    """

    rule: Rule
    formula: Callable[[Setting, float], list[float]]
    proven: bool
    assumptions: str
    source: str
    needs_S: bool = False
    needs_span: bool = False
    rounds: Callable[[int], int] = lambda once: 1
    regularization: Callable[[float, float | None], float] = lambda sigma, S: 0.0
    shift: Callable[[Setting], float] = lambda setting: 0.0
    broken: Callable[[Setting], list[str]] = field(default=lambda setting: [])
    own_regularization: Callable[[float], float] | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return self.rule.name

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return self.rule.summary

    def with_regularization(self, own: Callable[[float], float]) -> Threshold:
        """The formula with a λ_V of its own, whatever the posterior's."""
        return replace(self, own_regularization=own)

    def constants(self, setting: Setting) -> np.ndarray:
        """What the compiled function is given."""
        self.check(setting)
        return np.array(self.formula(setting, self.inside(setting)), dtype=np.float64)

    def check(self, setting: Setting) -> None:
        """Raise where the threshold cannot be computed at all."""
        if self.needs_S and setting.S is None:
            raise InvalidSetting(
                f"threshold {self.name!r} needs S, a bound on ‖θ‖, and none was given: pass S=…, "
                "or use threshold='self_normalized', which needs none."
            )
        if self.needs_S and self.inside(setting) <= 0.0:
            raise InvalidSetting(
                f"threshold {self.name!r} needs a regularization above 0, got "
                f"{self.inside(setting)}: leave regularization=None for its own choice, or use "
                "threshold='self_normalized'."
            )
        if self.needs_span and setting.weakest <= 0.0:
            raise InvalidSetting(
                f"threshold {self.name!r} needs initial pulls that span the features: use "
                "GIFA(…, initialization='span') or 'each', or threshold='determinant' with S=…."
            )

    def inside(self, setting: Setting) -> float:
        """λ_V as it enters the formula."""
        if self.own_regularization is not None:
            return self.own_regularization(setting.sigma)
        return setting.regularization

    def why_not_proven(self, setting: Setting) -> list[str]:
        """The reasons why no theorem covers this threshold in this setting; empty if one does."""
        if not self.proven:
            return [f"the threshold {self.name!r} has no proof"]
        reasons = list(self.broken(setting))
        own = self.own_regularization is not None
        if own and self.inside(setting) != setting.regularization:
            reasons.append(
                f"the threshold is computed with λ_V = {self.inside(setting):.3g} but the "
                f"posterior uses {setting.regularization:.3g}"
            )
        return reasons
