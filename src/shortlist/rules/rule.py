"""What a rule is: a small function of a fixed signature, compiled once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import numba
from numba.core.errors import NumbaError

from shortlist.errors import unknown_name
from shortlist.numerics.jit import Function
from shortlist.numerics.records import (
    INTEGER,
    INTEGERS,
    KEY,
    KEYS,
    MASK,
    REAL,
    REALS,
    TABLE,
    VOID,
    Address,
)

SIGNATURES: dict[str, Any] = {
    # (j, means, variances, row of G for j, σC) → column of B_ij over i, written into the last
    "indices": VOID(INTEGER, REALS, REALS, REALS, REAL, REALS),
    # (m, means, mth_gaps, key, scratch) → J(t), written into the last
    "candidates": VOID(INTEGER, REALS, REALS, KEY, INTEGERS, MASK),
    # (J, mth_gaps, outside_gaps, key) → b
    "ambiguous": INTEGER(MASK, REALS, REALS, KEY),
    # (b, c, row of G for b, row for c, variances, pulls, design, key) → arm
    "selection": INTEGER(INTEGER, INTEGER, REALS, REALS, REALS, INTEGERS, REALS, KEY),
    # (B_cb, J, mth_gaps) → the statistic that stops at or below ε
    "stopping": REAL(REAL, MASK, REALS),
    # (t, log det, constants) → C
    "threshold": REAL(INTEGER, REAL, REALS),
    # (arm, parameters, generator) → reward
    "reward": REAL(INTEGER, TABLE, KEYS),
}
POINTERS: dict[str, Any] = {kind: Address(s) for kind, s in SIGNATURES.items()}

OWN = -1  # the number of a rule that is called by its address


@dataclass(frozen=True)
class Rule:
    """One rule: its kind, its name and its function.

    Attributes
    ----------
    kind, name, summary : str
        What kind of rule it is, its name, and what it does in one line.
    function : callable
        The compiled function, or the plain one if it does not compile.
    py_func : callable
        The function as written.
    needs : frozenset of str
        What the loop must prepare for it: ``mth_gaps``, ``outside_gaps``, ``design``, ``target``.
    traits : frozenset of str
        How the loop treats it: ``both``, ``lagged``, ``heuristic``, ``symmetric``; of a threshold
        ``by_time``, ``pilot``, ``levels``.
    number : int
        By which the loop calls a rule that is compiled into it; ``OWN`` if called by pointer.
    """

    kind: str
    name: str
    summary: str
    function: Any
    py_func: Callable[..., Any]
    needs: frozenset[str]
    traits: frozenset[str]
    number: int = OWN

    @property
    def is_compiled(self) -> bool:
        """Whether the rule runs as machine code."""
        return self.function is not self.py_func and not numba.config.DISABLE_JIT

    @property
    def address(self) -> int:
        """Where its machine code is: what compiled code is given to call it."""
        return cast(int, self.function.address)

    @property
    def pointer(self) -> Any:
        """The rule as an argument of a compiled function; the plain function if it is not compiled."""
        return self.function.pointer if self.is_compiled else self.function

    @property
    def _numba_type_(self) -> Any:
        """How Numba sees it in the code of a caller."""
        return self.function._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)

    def interpreted(self) -> Rule:
        """The same rule run by the Python interpreter: the reference for the compiled one."""
        return Rule(
            self.kind,
            self.name,
            self.summary,
            self.py_func,
            self.py_func,
            self.needs,
            self.traits,
        )


REGISTRY: dict[str, dict[str, Rule]] = {kind: {} for kind in SIGNATURES}  # those with a number

NEEDS: dict[str, frozenset[str]] = {
    "candidates": frozenset({"mth_gaps"}),
    "ambiguous": frozenset({"mth_gaps", "outside_gaps"}),
    "stopping": frozenset({"mth_gaps"}),
    "selection": frozenset({"design"}),
}


def rule(
    kind: str,
    *,
    needs: Iterable[str] | None = None,
    traits: Iterable[str] = (),
    number: int = OWN,
) -> Callable[[Callable[..., Any]], Rule]:
    """Turn a function into a rule.

    Parameters
    ----------
    kind : str
        ``indices``, ``candidates``, ``ambiguous``, ``selection``, ``stopping``, ``threshold`` or
        ``reward``; ``SIGNATURES`` says what a function of each kind takes and returns.
    needs : iterable of str, optional
        What the loop must prepare; by default everything that a rule of this kind may use.
    traits : iterable of str, optional
        How the loop treats it.
    number : int, optional
        Only for the rules of this package, which are compiled into the loop.

    Examples
    --------
    >>> @rule("selection", needs=())
    ... def challenger(b, c, row_b, row_c, variances, pulls, design, key):
    ...     "Always pull the challenger."
    ...     return c
    >>> challenger.name, challenger.is_compiled
    ('challenger', True)
    """
    if kind not in SIGNATURES:
        raise unknown_name("kind of rule", kind, SIGNATURES)
    wanted = NEEDS.get(kind, frozenset()) if needs is None else frozenset(needs)

    def decorate(function: Callable[..., Any]) -> Rule:
        made = Rule(
            kind=kind,
            name=function.__name__,
            summary=(function.__doc__ or "").strip().split("\n")[0],
            function=_compile_rule(function, SIGNATURES[kind]),
            py_func=function,
            needs=wanted,
            traits=frozenset(traits),
            number=number,
        )
        if number != OWN:
            REGISTRY[kind][made.name] = made
        return made

    return decorate


def _compile_rule(function: Callable[..., Any], signature: Any) -> Any:
    if numba.config.DISABLE_JIT or function.__module__.startswith("shortlist."):
        return Function(function, signature, inline=True)
    reason: Exception | None = None
    for counts in (False, True):  # a rule that makes arrays needs references to be counted
        made = Function(function, signature, inline=True, counts=counts)
        try:
            made.compile()
        except (NumbaError, RuntimeError) as error:
            reason = error
        else:
            return made
    warnings.warn(
        f"rule {function.__name__!r} does not compile and runs interpreted, about a thousand "
        f"times slower: {_cause(reason)}",
        stacklevel=3,
    )
    return function


def _cause(error: Exception | None) -> str:
    """The line of Numba's report that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During", "File"))]
    return (telling or lines or ["unknown"])[0]
