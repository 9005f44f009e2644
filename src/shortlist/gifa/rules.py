"""What a round of Algorithm 1 is composed of: one small NumPy function a rule (Table 1 of the paper).

A rule is given a ``Round``, whose arrays have a row for each run: a study is one run, a comparison many. What
it returns are values by which the loop chooses: the m largest, or the largest. Ties are the loop's to break.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from shortlist.arrays import Mask, Reals
from shortlist.errors import InvalidSetting, unknown_name

Now = Any  # a gifa.round.Round, whose module imports this one


class Pairs(NamedTuple):
    """What an index rule is given of arms i and j, as arrays that broadcast against each other.

    ``distance`` is ‖x_i − x_j‖ in V⁻¹, and ``scale`` is Cσ.
    """

    mean_i: Reals
    mean_j: Reals
    variance_i: Reals
    variance_j: Reals
    covariance: Reals
    scale: Reals
    floor: float

    @property
    def distance(self) -> Reals:
        """‖x_i − x_j‖ in V⁻¹, but not less than rounding allows to tell."""
        both = self.variance_i + self.variance_j
        square = both - 2.0 * self.covariance
        both *= self.floor
        np.maximum(square, both, out=square)
        return np.sqrt(np.maximum(square, 0.0, out=square), out=square)


GIVEN: dict[str, str] = {  # to a rule of each kind
    **{"indices": "pairs", "candidates": "now", "ambiguous": "now"},
    **{"selection": "now", "stopping": "now", "threshold": "t, log_det, known"},
}
RETURNED: dict[str, str] = {
    "indices": "B_ij, an array of the shape of its pairs",
    "candidates": "a number for each arm of each run, of which the m largest are the candidates",
    "ambiguous": "a number for each candidate of each run (now.candidates), of which the largest is b",
    "selection": "a number for each arm of each run, of which the largest is pulled",
    "stopping": "a number for each run",
    "threshold": "C, one number or one for each run",
}
NEEDS: dict[str, frozenset[str]] = {
    "candidates": frozenset({"mth_gaps"}),
    "ambiguous": frozenset({"mth_gaps"}),
    "selection": frozenset({"mth_gaps"}),
    "stopping": frozenset({"mth_gaps"}),
}
LATER: dict[str, str] = {  # what rules read too early, and when it is known
    **dict.fromkeys(
        ("inside", "candidates"),
        "now.inside, now.candidates and what is made of them (now.outside_gaps) are known once the "
        "candidates are chosen: to rules of kind ambiguous, stopping and selection",
    ),
    **dict.fromkeys(
        ("b", "c", "gap"),
        "now.b, now.c, now.gap and what is made of them (now.in_pair, now.design) are known once the "
        "pair is chosen: to rules of kind stopping and selection",
    ),
}


@dataclass(frozen=True)
class Rule:
    """One rule: its kind, its name and its function.

    Attributes
    ----------
    kind, name, summary : str
        What kind of rule it is, its name, and what it does in one line.
    function : callable
        As written.
    needs : frozenset of str
        ``"mth_gaps"`` where it reads those of all arms.
    traits : frozenset of str
        How the loop treats it: ``pulls_both``, ``lagged``, ``heuristic``, ``allocation``.
    """

    kind: str
    name: str
    summary: str
    function: Callable[..., Any]
    needs: frozenset[str] = frozenset()
    traits: frozenset[str] = frozenset()

    def __call__(self, *given: Any) -> Any:
        """Call the function."""
        return self.function(*given)

    @cached_property
    def is_own(self) -> bool:
        """Whether it is the user's own."""
        return RULES.get(self.kind, {}).get(self.name) is not self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name where a module has it, so that it stays the same object."""
        module = self.function.__module__
        if getattr(sys.modules.get(module), self.name, None) is self and module != "__main__":
            return _of_module, (module, self.name)
        if not self.is_own:
            return _named, (self.kind, self.name)
        return Rule, tuple(getattr(self, name) for name in self.__dataclass_fields__)


def _named(kind: str, name: str) -> Rule:
    return RULES[kind][name]


def _of_module(module: str, name: str) -> Rule:
    found: Rule = getattr(import_module(module), name)
    return found


RULES: dict[str, dict[str, Rule]] = {
    kind: {} for kind in ("indices", "candidates", "ambiguous", "selection", "stopping")
}


def rule(
    kind: str, *, needs: Iterable[str] | None = None, traits: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Rule]:
    """Turn a function into a rule.

    Parameters
    ----------
    kind : str
        ``indices``, ``candidates``, ``ambiguous``, ``selection``, ``stopping`` or ``threshold``.
    needs : iterable of str, optional
        ``["mth_gaps"]`` where it reads the m-th largest gap indices of all arms; by default
        whatever a rule of this kind may read.
    traits : iterable of str, optional
        How the loop treats it.

    Examples
    --------
    >>> @rule("selection")
    ... def challenger(now):
    ...     "Always pull the challenger."
    ...     return now.marked(now.c)
    >>> challenger.name, challenger.summary
    ('challenger', 'Always pull the challenger.')
    """
    if kind not in GIVEN:
        raise unknown_name("kind of rule", kind, GIVEN)
    wanted = NEEDS.get(kind, frozenset()) if needs is None else frozenset(needs)

    def decorate(function: Callable[..., Any]) -> Rule:
        _check_function(kind, function)
        name = function.__name__
        summary = (function.__doc__ or "").strip().split("\n")[0]
        return Rule(kind, name, summary, function, wanted, frozenset(traits))

    return decorate


def _check_function(kind: str, function: Callable[..., Any]) -> None:
    """Raise for what cannot be a rule of this kind."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise InvalidSetting(
            f"a {kind} rule is a function, got {function!r}: write def mine({GIVEN[kind]})."
        )
    count = len(GIVEN[kind].split(", "))
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        given = "1 argument" if count == 1 else f"{count} arguments"
        raise InvalidSetting(
            f"the {kind} rule {name!r} is called with {given}, but cannot take that: "
            f"write def {name}({GIVEN[kind]})."
        ) from None


def values_of(one: Rule, given: Any, shape: tuple[int, ...]) -> Reals:
    """What a rule returns, as numbers of the wanted shape; raises where they are not."""
    try:
        returned = one(given)
    except AttributeError as error:
        if error.obj is not given or error.name not in LATER:
            raise
        raise InvalidSetting(
            f"the {one.kind} rule {one.name!r} needs now.{error.name} too early: {LATER[error.name]}."
        ) from error
    if not one.is_own:
        return np.asarray(returned)
    try:
        values = np.array(np.broadcast_to(np.asarray(returned, dtype=np.float64), shape))
    except (TypeError, ValueError):
        raise wrong_answer(one, f"{_words(returned)} where {shape} is wanted") from None
    if np.ndim(returned) < len(shape) and one.kind not in ("indices", "stopping"):
        # An arm for each run would be broadcast in a study, where there is one run.
        raise wrong_answer(one, f"{_words(returned)} where {shape} is wanted")
    if np.isnan(values).any() or (len(shape) > 1 and (values.max(axis=-1) == -np.inf).any()):
        came = "numbers that are not defined (NaN), or −∞ everywhere"
        raise wrong_answer(one, "None" if returned is None else came)
    return values


def wrong_answer(one: Rule, came: str) -> InvalidSetting:
    """The error of a rule that returns what it must not."""
    return InvalidSetting(
        f"the {one.kind} rule {one.name!r} must return {RETURNED[one.kind]}; it returned {came}."
    )


def _words(returned: Any) -> str:
    shape = getattr(returned, "shape", None)
    return repr(returned) if shape is None else f"an array of shape {shape}"


def _builtin(
    kind: str, *needs: str, traits: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Rule]:
    def decorate(function: Callable[..., Any]) -> Rule:
        made = rule(kind, needs=needs, traits=traits)(function)
        RULES[kind][made.name] = made
        return made

    return decorate


# Gap indices: upper confidence bounds on μ_i − μ_j (Section 2)


@_builtin("indices")
def paired(pairs: Pairs) -> Reals:
    """B_ij = μ̂_i − μ̂_j + Cσ‖x_i − x_j‖_{V⁻¹}, the difference bounded as one."""
    width = pairs.distance
    width *= pairs.scale
    width += pairs.mean_i - pairs.mean_j
    return width


@_builtin("indices")
def individual(pairs: Pairs) -> Reals:
    """B_ij = U_i − L_j = μ̂_i − μ̂_j + Cσ(‖x_i‖_{V⁻¹} + ‖x_j‖_{V⁻¹}), each arm bounded alone."""
    upper = pairs.mean_i + pairs.scale * np.sqrt(np.maximum(pairs.variance_i, 0.0))
    lower = pairs.mean_j - pairs.scale * np.sqrt(np.maximum(pairs.variance_j, 0.0))
    return np.asarray(upper - lower)


# J(t), the m candidates (compute_Jt)


@_builtin("candidates")
def top_means(now: Now) -> Reals:
    """The m arms of largest empirical mean (LUCB, LinGapE, m-LinGapE)."""
    return now.means


@_builtin("candidates", "mth_gaps")
def smallest_gap(now: Now) -> Reals:
    """The m arms of smallest m-th largest B_ij over i ≠ j (UGapE, LinGIFA)."""
    return -now.mth_gaps


# b_t, the candidate whose place is least certain (compute_bt)


@_builtin("ambiguous")
def largest_gap(now: Now) -> Reals:
    """argmax_{j∈J} max_{i∉J} B_ij (LUCB, UGapE, LinGapE, m-LinGapE)."""
    return now.outside_gaps


@_builtin("ambiguous", "mth_gaps")
def mth_gap(now: Now) -> Reals:
    """argmax_{j∈J} of the m-th largest B_ij over i ≠ j (LinGIFA)."""
    return now.of_candidates(now.mth_gaps)


# a_t, the arm to pull to tell b_t from c_t (Section 3.2)


@_builtin("selection")
def largest_variance(now: Now) -> Reals:
    """Argmax of W_t over b_t and c_t: the less certain of the two."""
    return np.where(now.in_pair, now.variances, -np.inf)


@_builtin("selection")
def greedy(now: Now) -> Reals:
    """argmin_a ‖x_b − x_c‖_{(V + x_a x_aᵀ)⁻¹}: the evaluation that most shrinks the pair."""
    y = now.row(now.b) - now.row(now.c)
    y *= y
    return np.asarray(y / (now.noise + now.variances))


@_builtin("selection")
def optimized(now: Now) -> Reals:
    """Argmin over w*_a(b, c) ≠ 0 of N_a ‖w*‖₁ / |w*_a|: the arm furthest behind the design."""
    # Equation (1) of the paper prints argmax; argmin is meant (Xu et al. 2018). ‖w*‖₁ is common.
    design = now.design
    behind = np.full(design.shape, -np.inf)
    np.divide(-now.pulls, design, out=behind, where=design > 0.0)
    alike = np.asarray(~(design > 0.0).any(axis=1))  # two arms that are alike up to rounding
    return np.where(alike[:, None], now.marked(now.b), behind) if alike.any() else behind


@_builtin("selection", traits=("pulls_both",))
def both_arms(now: Now) -> Reals:
    """b_t, and then c_t in the same round (the original LUCB)."""
    return now.marked(now.b)


@_builtin("selection", traits=("allocation",))
def tracking(now: Now) -> Reals:
    """Argmin of N_a minus the pulls that the allocation wants of arm a (LinGame)."""
    return now.wanted - now.pulls


# The statistic that stops the search once it is at most ε (Section 3.1)


@_builtin("stopping")
def lucb(now: Now) -> Reals:
    """τ_LUCB: B_{c,b} of the ambiguous pair."""
    return now.gap


@_builtin("stopping", "mth_gaps")
def ugape(now: Now) -> Reals:
    """τ_UGapE: max_{j∈J} of the m-th largest B_ij over i ≠ j."""
    return np.asarray(now.of_candidates(now.mth_gaps).max(axis=1))


@_builtin("stopping", traits=("lagged", "heuristic"))
def lucb_lagged(now: Now) -> Reals:
    """τ_LUCB of the pair chosen before the last pull: as published, but not valid.

    The authors' loop tests its stop before it chooses the next pair, and recommends the J(t) of
    that older pair. It exists to reproduce the published figures.
    """
    return now.gap


Choice = str | Rule | Callable[..., Any]


def find_rule(kind: str, choice: Choice) -> Rule:
    """The rule meant by a name or by a function."""
    if isinstance(choice, Rule):
        if choice.kind != kind:
            raise InvalidSetting(
                f"{choice.name!r} is a rule of kind {choice.kind!r} where one of kind {kind!r} is "
                "needed."
            )
        return choice
    if isinstance(choice, str):
        if choice not in RULES[kind]:
            raise unknown_name(f"{kind} rule", choice, RULES[kind])
        return RULES[kind][choice]
    if not callable(choice):
        raise InvalidSetting(
            f"a rule is a name or a function, got {kind}={choice!r}: {', '.join(RULES[kind])} are known."
        )
    return rule(kind)(choice)


def mask_of(arms: Any, count: int) -> Mask:
    """For each run, which of ``count`` arms is its own.

    Examples
    --------
    >>> mask_of(np.array([1, 0]), 3).tolist()
    [[False, True, False], [True, False, False]]
    """
    return np.asarray(np.arange(count) == np.asarray(arms)[:, None])
