"""What a rule is: a small function of a fixed signature, compiled once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Annotated, Any, cast

import numba
from numba.core.errors import NumbaError
from numba.extending import typeof_impl

from shortlist.errors import InvalidSetting, unknown_name, warn_caller
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
from shortlist.rules.pair import ARMS, PAIR

SIGNATURES: dict[str, Any] = {
    # (j, means, variances, row of G for j, σC) → column of B_ij over i, written into the last
    "indices": VOID(INTEGER, REALS, REALS, REALS, REAL, REALS),
    # (m, means, mth_gaps, key, scratch) → J(t), written into the last
    "candidates": VOID(INTEGER, REALS, REALS, KEY, INTEGERS, MASK),
    # (J, mth_gaps, outside_gaps, key) → b
    "ambiguous": INTEGER(MASK, REALS, REALS, KEY),
    # (pair, arms, key) → arm
    "selection": INTEGER(PAIR, ARMS, KEY),
    # (B_cb, J, mth_gaps) → the statistic that stops at or below ε
    "stopping": REAL(REAL, MASK, REALS),
    # (t, log det, constants) → C
    "threshold": REAL(INTEGER, REAL, REALS),
    # (arm, parameters, generator) → reward
    "reward": REAL(INTEGER, TABLE, KEYS),
}
# How the arguments are called in the documentation, and what is returned, for messages.
ARGUMENTS: dict[str, str] = {
    "indices": "j, means, variances, row_j, width, column",
    "candidates": "m, means, mth_gaps, key, scratch, inside",
    "ambiguous": "inside, mth_gaps, outside_gaps, key",
    "selection": "pair, arms, key",
    "stopping": "index, inside, mth_gaps",
    "threshold": "t, log_det, constants",
    "reward": "arm, parameters, stream",
}
RETURNED: dict[str, str] = {
    "ambiguous": "an arm of J(t), a whole number",
    "selection": "the arm to pull, a whole number",
    "stopping": "the statistic, a number",
    "threshold": "C, a number",
    "reward": "a result, a number",
}
POINTERS: dict[str, Any] = {kind: Address(s) for kind, s in SIGNATURES.items()}
Reward = Annotated[Callable[..., float], POINTERS["reward"]]

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
        How the loop treats it: ``both``, ``lagged``, ``heuristic``, ``symmetric``; for a threshold
        ``by_time`` (it depends on t alone), ``by_pair``.
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

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)

    def interpreted(self) -> Rule:
        """The same rule run by the Python interpreter: the reference for the compiled one."""
        return replace(self, function=self.py_func, number=OWN)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name where it is this package's; else by what makes it.

        An address of compiled code would mean nothing in another process.
        """
        module = self.py_func.__module__
        if module.startswith("shortlist.") and _named(module, self.name) is self:
            return _named, (module, self.name)
        given = self.summary, self.function, self.needs, self.traits, self.number
        return _remade, (self.kind, self.name, *given)


# In the code of a caller, a rule is its function.
typeof_impl.register(Rule)(lambda rule, context: numba.typeof(rule.function))


def _named(module: str, name: str) -> Any:
    return getattr(import_module(module), name, None)


def _remade(kind: str, name: str, summary: str, function: Any, *rest: Any) -> Rule:
    return Rule(kind, name, summary, function, getattr(function, "py_func", function), *rest)


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
    ... def challenger(pair, arms, key):
    ...     "Always pull the challenger."
    ...     return pair.c
    >>> challenger.name, challenger.is_compiled
    ('challenger', True)
    """
    if kind not in SIGNATURES:
        raise unknown_name("kind of rule", kind, SIGNATURES)
    wanted = NEEDS.get(kind, frozenset()) if needs is None else frozenset(needs)

    def decorate(function: Callable[..., Any]) -> Rule:
        _check_function(kind, function)
        compiled = _compile_rule(kind, function)
        made = Rule(
            kind=kind,
            name=function.__name__,
            summary=(function.__doc__ or "").strip().split("\n")[0],
            function=compiled,
            py_func=compiled if isinstance(compiled, partial) else function,
            needs=wanted,
            traits=frozenset(traits),
            number=number,
        )
        if number != OWN:
            REGISTRY[kind][made.name] = made
        return made

    return decorate


def _check_function(kind: str, function: Callable[..., Any]) -> None:
    """Raise for what cannot be a rule of this kind."""
    name = getattr(function, "__name__", None)
    if name is None:
        raise InvalidSetting(
            f"a {kind} rule is a function, got {function!r}: write def mine({ARGUMENTS[kind]})."
        )
    if function.__module__.startswith("shortlist."):
        return
    count = len(SIGNATURES[kind].args)
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        raise InvalidSetting(
            f"the {kind} rule {name!r} is called with {count} arguments, but cannot take them: "
            f"write def {name}({ARGUMENTS[kind]})."
        ) from None


def _answer(kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What an interpreted rule returns; raises where that is not of its kind."""
    answer = function(*arguments)
    if kind in RETURNED:
        try:
            float(answer)
        except (TypeError, ValueError):
            raise _wrong_answer(kind, function, repr(answer)) from None
    return answer


def _wrong_answer(kind: str, function: Callable[..., Any], answer: str) -> InvalidSetting:
    return InvalidSetting(
        f"the {kind} rule {function.__name__!r} must return {RETURNED[kind]}, and returned {answer}: "
        "every way through the function must end with such a return."
    )


def _compile_rule(kind: str, function: Callable[..., Any]) -> Any:
    signature = SIGNATURES[kind]
    if numba.config.DISABLE_JIT or function.__module__.startswith("shortlist."):
        return Function(function, signature, inline=True)
    made = Function(function, signature, inline=True)
    try:
        made.compile()
    except (NumbaError, RuntimeError, TypeError) as error:
        cause = _cause(error)
    else:
        return made
    wrong = re.match(r"No conversion from (none|Literal\[str\]\S*|unicode_type) to", cause)
    if wrong and kind in RETURNED:
        raise _wrong_answer(kind, function, "None" if wrong[1] == "none" else "text")
    warn_caller(
        UserWarning(
            f"rule {function.__name__!r} does not compile and runs interpreted, about a thousand "
            f"times slower: {cause}"
        )
    )
    return partial(_answer, kind, function)


def _cause(error: Exception) -> str:
    """The line of Numba's report that says what is wrong."""
    bare = re.sub("\x1b\\[[0-9;]*m", "", str(error))  # Numba sends colours
    lines = [line.strip() for line in bare.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Failed in", "During", "File"))]
    return (telling or lines or ["unknown"])[0]
