"""What a rule is: a small function of a fixed signature, compiled once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import numba
from numba import types
from numba.core.errors import NumbaError
from numba.experimental.function_type import _get_wrapper_address

from shortlist.errors import unknown_name

VOID = types.void
BOOLEAN = types.boolean
INTEGER = types.int64
REAL = types.float64
KEY = types.uint64
REALS = types.Array(types.float64, 1, "C")
TABLE = types.Array(types.float64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
KEYS = types.Array(types.uint64, 1, "C")
MASK = types.Array(types.boolean, 1, "C")

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
POINTERS: dict[str, Any] = {kind: types.FunctionType(s) for kind, s in SIGNATURES.items()}

OWN = -1

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(
    signature: Any | None = None, *, inline: bool | None = None, fast: bool = False
) -> Callable[[Function], Function]:
    """Compile for ``signature``, cached on disk, without the GIL and without reference counts.

    The compiled code only reads and writes arrays that its caller holds, so counting references
    to them would be pure cost: many times that of the round itself at K = 4. With ``inline``, which is
    the default without a signature, the machine code becomes part of its callers' (``forceinline``:
    Numba's own ``inline="always"`` copies sources instead, which made the loop's compilation twice as
    long). With a signature, it is compiled or loaded on import; without, when a caller is compiled.
    With ``fast``, sums may be taken in another order, several terms at a time: four times as fast
    over many arms, and the last digit may differ from the interpreter's.
    """

    def decorate(function: Function) -> Function:
        # Nobody calls them by address but a rule, and a wrapper for so many arrays takes long.
        within = signature is None if inline is None else inline
        options: dict[str, Any] = {"forceinline": within, "no_cfunc_wrapper": True}
        if fast:
            options["fastmath"] = {"reassoc", "contract", "nsz"}
        return cast(Function, _compile(function, signature, cache=True, _nrt=False, **options))

    return decorate


def _compile(function: Callable[..., Any], signature: Any | None, **options: Any) -> Any:
    return numba.njit(signature, nogil=True, error_model="numpy", **options)(function)


class Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled function by its address: Numba takes far longer to find it in the function."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self._function = function  # kept, or its code would go with it
        self._signature = signature
        self._address = _get_wrapper_address(function, signature)
        self._numba_type_ = types.FunctionType(signature)

    def __wrapper_address__(self) -> int:
        """Where it is."""
        return self._address

    def signature(self) -> Any:
        """What it takes and returns."""
        return self._signature


@dataclass(frozen=True)
class Rule:
    """One rule: its kind, its name and its function.

    Attributes
    ----------
    kind, name, summary : str
        Where it fits, what it is called, and what it does in a line.
    function : callable
        The compiled function, or the plain one if it does not compile.
    py_func : callable
        The function as written.
    needs : frozenset of str
        What the loop must prepare for it: ``mth_gaps``, ``outside_gaps``, ``design``.
    traits : frozenset of str
        How the loop treats it: ``both``, ``lagged``, ``heuristic``, ``symmetric``.
    number : int
        By which the loop calls a rule that is compiled into it; ``OWN`` if called by pointer.
    """

    kind: str
    name: str
    summary: str
    function: Callable[..., Any]
    py_func: Callable[..., Any]
    needs: frozenset[str]
    traits: frozenset[str]
    number: int = OWN

    @property
    def is_compiled(self) -> bool:
        """Whether the rule runs as machine code."""
        return self.function is not self.py_func

    @cached_property
    def pointer(self) -> Any:
        """What compiled code is given to call the rule; the plain function if it is not compiled."""
        if not self.is_compiled:
            return self.function
        return Pointer(self.function, SIGNATURES[self.kind])

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
    """Make a rule of a function.

    Parameters
    ----------
    kind : str
        ``indices``, ``candidates``, ``ambiguous``, ``selection``, ``stopping``, ``threshold`` or
        ``reward``; ``SIGNATURES`` says what a function of each kind takes and returns.
    needs : iterable of str, optional
        What the loop must prepare; by default all that a rule of this kind may look at.
    traits : iterable of str, optional
        How the loop treats it.
    number : int, optional
        For the rules of this package, which are compiled into the loop.

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
        return Rule(
            kind=kind,
            name=function.__name__,
            summary=(function.__doc__ or "").strip().split("\n")[0],
            function=_compile_rule(function, SIGNATURES[kind]),
            py_func=function,
            needs=wanted,
            traits=frozenset(traits),
            number=number,
        )

    return decorate


def _compile_rule(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    # A rule typed at a prompt cannot be cached; one that allocates needs reference counts.
    attempts: list[dict[str, Any]] = [
        {"cache": True, "_nrt": False, "forceinline": True},
        {"_nrt": False},
        {},
    ]
    reason: Exception | None = None
    for options in attempts:
        try:
            return cast(Callable[..., Any], _compile(function, signature, **options))
        except (NumbaError, RuntimeError) as error:
            reason = error
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
