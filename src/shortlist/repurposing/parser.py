"""A safe parser for Boolean expressions: nothing is ever run by Python's ``eval``."""

from __future__ import annotations

import re

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.logic import Constant, Expression, Gene, all_of, any_of, negation

MAX_DEPTH = 100

_TOKEN = re.compile(r"\s*(?:(?P<name>\w[\w.:@/-]*)|(?P<symbol>&&|\|\||[&|!~()∧∨¬])|(?P<bad>\S))")
_WORDS = {
    "and": "&", "&&": "&", "∧": "&", "or": "|", "||": "|", "∨": "|", "not": "!", "~": "!", "¬": "!",
    "true": "1", "false": "0",
}  # fmt: skip
_MEANINGS = {"0", "1", "&", "|", "!"}


def is_name(name: str) -> bool:
    """Whether the parser takes this as the name of one gene."""
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
    return _Parser(text).whole()


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

    def whole(self) -> Expression:
        expression = self.disjunction(0)
        if self.tokens[self.at][0] != "end":
            raise self.error("'&', '|' or the end")
        return expression

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
