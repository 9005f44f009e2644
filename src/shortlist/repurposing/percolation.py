"""Percolation: what constants settle."""

from __future__ import annotations

from collections.abc import Mapping

from shortlist.repurposing.logic import Constant, Expression, signs_of, substitute, truth_table

MAX_INPUTS = 12


def percolated_constants(functions: Mapping[str, Expression]) -> dict[str, int]:
    """The genes whose functions are constant, or become so by those that are.

    Where a gene appears both plain and negated in a function, the function is compared over all its
    inputs if there are at most 12 left, and otherwise only simplified. For all other functions
    simplifying misses nothing: each of them is least and greatest in a corner that the
    simplification looks at.

    Examples
    --------
    >>> from shortlist.repurposing.parser import parse
    >>> percolated_constants({"A": parse("1"), "B": parse("!A & C"), "C": parse("B | C")})
    {'A': 1, 'B': 0}
    """
    constants: dict[str, int] = {}
    open_functions = dict(functions)
    found = True
    while found:
        found = False
        for gene, function in list(open_functions.items()):
            open_functions[gene] = substitute(function, constants)
            value = _constant(open_functions[gene])
            if value is not None:
                constants[gene] = value
                del open_functions[gene]
                found = True
    return {gene: constants[gene] for gene in functions if gene in constants}


def _constant(function: Expression) -> int | None:
    """The value of a function that has only one."""
    if isinstance(function, Constant):
        return function.value
    signs = signs_of(function)
    if 0 in signs.values() and len(signs) <= MAX_INPUTS:
        values = set(truth_table(function, list(signs)))
        return values.pop() if len(values) == 1 else None
    return None
