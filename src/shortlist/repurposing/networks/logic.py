"""Boolean expressions: read, simplified, evaluated and printed.

An expression is a tree of four kinds of node. "At least k of n" is the one connective: k = n is
"and", k = 1 is "or", and what lies between serves the threshold rules of RE:IN. The parser is its
own: nothing is ever run by Python's ``eval``.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from shortlist.errors import InvalidNetwork

MAX_TERMS = 20_000
MAX_DEPTH = 100
_TOKEN = re.compile(r"\s*(?:(?P<name>\w[\w.:@/-]*)|(?P<symbol>&&|\|\||[&|!~()∧∨¬])|(?P<bad>\S))")
_WORDS = {
    "and": "&", "&&": "&", "∧": "&", "or": "|", "||": "|", "∨": "|", "not": "!", "~": "!", "¬": "!",
    "true": "1", "false": "0",
}  # fmt: skip
_MEANINGS = {"0", "1", "&", "|", "!"}


class Printed:
    """Prints itself as an expression."""

    __slots__ = ()

    def __str__(self) -> str:
        return _text(replace(cast(Expression, self), Gene), 0)


@dataclass(frozen=True, slots=True)
class Constant(Printed):
    """0 or 1."""

    value: int


@dataclass(frozen=True, slots=True)
class Gene(Printed):
    """The value of a gene."""

    name: str


@dataclass(frozen=True, slots=True)
class Not(Printed):
    """The negation of its part."""

    part: Expression


@dataclass(frozen=True, slots=True)
class AtLeast(Printed):
    """1 where at least ``count`` of the parts are 1; "and" if that is all, "or" if it is one.

    Examples
    --------
    >>> print(AtLeast(2, (Gene("A"), Gene("B"), Gene("C"))))
    A & B | A & C | B & C
    """

    count: int
    parts: tuple[Expression, ...]


Expression = Constant | Gene | Not | AtLeast

FALSE = Constant(0)
TRUE = Constant(1)


def negation(part: Expression) -> Expression:
    """Not ``part``, without double negations."""
    if isinstance(part, Constant):
        return Constant(1 - part.value)
    return part.part if isinstance(part, Not) else Not(part)


def at_least(count: int, parts: Iterable[Expression]) -> Expression:
    """At least ``count`` of the parts, with constants counted away and "and" and "or" simplified.

    Examples
    --------
    >>> print(at_least(2, [Gene("A"), TRUE, Gene("B"), Gene("C")]))
    A | B | C
    """
    open_parts: list[Expression] = []
    for part in parts:
        if isinstance(part, Constant):
            count -= part.value
        else:
            open_parts.append(part)
    if count <= 0:
        return TRUE
    if count > len(open_parts):
        return FALSE
    if count in (1, len(open_parts)):
        open_parts = _simplified(open_parts, conjunction=count > 1)
        count = 1 if count == 1 else len(open_parts)
    return open_parts[0] if len(open_parts) == 1 else AtLeast(count, tuple(open_parts))


def _simplified(parts: list[Expression], *, conjunction: bool) -> list[Expression]:
    """The parts flattened, each once, without those that another absorbs: A | A & B is A."""
    flat: dict[Expression, None] = {}
    for part in parts:
        same = isinstance(part, AtLeast) and part.count == (len(part.parts) if conjunction else 1)
        flat.update(dict.fromkeys(part.parts if same else (part,)))  # type: ignore[union-attr]
    return [
        part
        for part in flat
        if not isinstance(part, AtLeast)
        or part.count != (1 if conjunction else len(part.parts))
        or flat.keys().isdisjoint(part.parts)
    ]


def all_of(parts: Iterable[Expression]) -> Expression:
    """The conjunction; 1 if there are no parts."""
    listed = list(parts)
    return at_least(len(listed), listed)


def any_of(parts: Iterable[Expression]) -> Expression:
    """The disjunction; 0 if there are no parts."""
    return at_least(1, parts)


def genes_of(expression: Expression) -> tuple[str, ...]:
    """The genes that an expression names, in the order of their first appearance."""
    return tuple(dict.fromkeys(name for name, _ in literals_of(expression)))


def literals_of(expression: Expression, positive: bool = True) -> Iterator[tuple[str, bool]]:
    """Yield each appearance of a gene, and whether the number of negations above it is even."""
    if isinstance(expression, Gene):
        yield expression.name, positive
    elif isinstance(expression, Not):
        yield from literals_of(expression.part, not positive)
    elif isinstance(expression, AtLeast):
        for part in expression.parts:
            yield from literals_of(part, positive)


def signs_of(expression: Expression) -> dict[str, int]:
    """The sign of each gene: +1 where it appears only plain, −1 only negated, 0 both ways.

    Examples
    --------
    >>> signs_of(parse("A & !B | C & !A"))
    {'A': 0, 'B': -1, 'C': 1}
    """
    signs: dict[str, int] = {}
    for name, positive in literals_of(expression):
        sign = 1 if positive else -1
        signs[name] = sign if signs.get(name, sign) == sign else 0
    return signs


def evaluate(expression: Expression, state: Mapping[str, int]) -> int:
    """The value of an expression in a state that gives every gene it names a value."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Gene):
        return int(state[expression.name])
    if isinstance(expression, Not):
        return 1 - evaluate(expression.part, state)
    return int(sum(evaluate(part, state) for part in expression.parts) >= expression.count)


def truth_table(expression: Expression, names: Sequence[str]) -> tuple[int, ...]:
    """The values of an expression over all states of ``names``; the last name changes fastest."""
    states = itertools.product((0, 1), repeat=len(names))
    return tuple(evaluate(expression, dict(zip(names, state, strict=True))) for state in states)


def replace(expression: Expression, swap: Callable[[str], Expression]) -> Expression:
    """The expression with every gene replaced by an expression, simplified."""
    if isinstance(expression, Constant):
        return expression
    if isinstance(expression, Gene):
        return swap(expression.name)
    if isinstance(expression, Not):
        return negation(replace(expression.part, swap))
    return at_least(expression.count, (replace(part, swap) for part in expression.parts))


def substitute(expression: Expression, values: Mapping[str, int]) -> Expression:
    """The expression where some genes have a fixed value.

    Examples
    --------
    >>> print(substitute(parse("A & (B | !C)"), {"C": 1}))
    A & B
    """
    return replace(expression, lambda n: Constant(int(values[n])) if n in values else Gene(n))


def _text(expression: Expression, tightness: int) -> str:
    if isinstance(expression, Constant):
        return str(expression.value)
    if isinstance(expression, Gene):
        return expression.name
    if isinstance(expression, Not):
        return "!" + _text(expression.part, 2)
    count, parts = expression.count, expression.parts
    if 1 < count < len(parts):
        return _text(without_thresholds(expression), tightness)
    level, symbol = (0, " | ") if count == 1 else (1, " & ")
    words = symbol.join(_text(part, level + 1) for part in parts)
    return f"({words})" if tightness > level else words


def without_thresholds(expression: Expression) -> Expression:
    """The same function written with "and", "or" and "not" alone."""
    if isinstance(expression, Not):
        return negation(without_thresholds(expression.part))
    if not isinstance(expression, AtLeast):
        return expression
    count, parts = expression.count, [without_thresholds(part) for part in expression.parts]
    if math.comb(len(parts), count) > MAX_TERMS:
        raise InvalidNetwork(
            f"'at least {count} of {len(parts)}' would take {math.comb(len(parts), count):,} terms "
            f"to write with 'and' and 'or', more than {MAX_TERMS:,}: keep it as a rule in a .net "
            "file, or give the gene fewer regulators."
        )
    return any_of(all_of(chosen) for chosen in itertools.combinations(parts, count))


def is_name(name: str) -> bool:
    """Whether the parser reads this as the name of one gene."""
    match = _TOKEN.fullmatch(name)
    word = _WORDS.get(name.lower(), name)
    return match is not None and match["name"] == name and word not in _MEANINGS


def parse(text: str) -> Expression:
    """Read a Boolean expression.

    Parameters
    ----------
    text : str
        ``!``, ``~`` or ``not`` binds tightest, then ``&`` or ``and``, then ``|`` or ``or``;
        parentheses; constants ``0``, ``1``, ``true``, ``false``; any other word is a gene, made of
        letters, digits and ``_ . : @ / -``.

    Raises
    ------
    InvalidNetwork
        With what was expected, what came, and where.

    Examples
    --------
    >>> print(parse("not A or (B and ~C) & 1"))
    !A | B & !C
    >>> parse("A & | B")
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: cannot read 'A & | B': expected a gene, 0, 1, '!' or '(' at character 5, got '|'.
    """
    parser = _Parser(text)
    expression = parser.disjunction(0)
    if parser.tokens[parser.at][0] != "end":
        raise parser.error("'&', '|' or the end")
    return expression


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        for match in _TOKEN.finditer(text):
            kind = str(match.lastgroup)
            word = match[kind]
            meaning = _WORDS.get(word.lower(), word)
            if meaning in _MEANINGS:
                kind = "symbol"
            self.tokens.append((kind, meaning, match.start(kind)))
        self.tokens.append(("end", "the end", len(text)))
        self.at = 0

    def disjunction(self, depth: int) -> Expression:
        parts = [self.conjunction(depth)]
        while self.took("|"):
            parts.append(self.conjunction(depth))
        return any_of(parts)

    def conjunction(self, depth: int) -> Expression:
        parts = [self.term(depth)]
        while self.took("&"):
            parts.append(self.term(depth))
        return all_of(parts)

    def term(self, depth: int) -> Expression:
        negated = False
        while self.took("!"):
            negated = not negated
        kind, word, _ = self.tokens[self.at]
        if kind == "name":
            self.at += 1
            part: Expression = Gene(word)
        elif kind == "symbol" and word in ("0", "1"):
            self.at += 1
            part = Constant(int(word))
        elif self.took("("):
            if depth == MAX_DEPTH:
                raise self.error(f"at most {MAX_DEPTH} parentheses inside each other")
            part = self.disjunction(depth + 1)
            if not self.took(")"):
                raise self.error("'&', '|' or ')'")
        else:
            raise self.error("a gene, 0, 1, '!' or '('")
        return negation(part) if negated else part

    def took(self, symbol: str) -> bool:
        kind, word, _ = self.tokens[self.at]
        found = kind == "symbol" and word == symbol
        self.at += found
        return found

    def error(self, expected: str) -> InvalidNetwork:
        kind, word, place = self.tokens[self.at]
        came = word if kind == "end" else repr(word)
        text = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        return InvalidNetwork(
            f"cannot read {text!r}: expected {expected} at character {place + 1}, got {came}."
        )
