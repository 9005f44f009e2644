"""``.bnet`` files: what BoolNet, pyboolnet, mpbn, bonesis, MaBoSS and AEON read."""

from __future__ import annotations

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.formats.text import at_line
from shortlist.repurposing.logic import Expression, genes_of
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.parser import is_name, parse

HEADER = "targets,factors"


def parse_bnet(text: str, name: str = "network.bnet") -> BooleanNetwork:
    r"""Read a ``.bnet`` file: a line ``gene, expression`` for each gene; ``#`` begins a comment.

    Examples
    --------
    >>> parse_bnet("targets, factors\nA, B & !C\nB, A | B\nC, 0")
    BooleanNetwork(3 genes, 4 edges)
    >>> parse_bnet("A, B")
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: network.bnet, line 1: gene A depends on 'B', which has no line of its own: ...
    """
    functions: dict[str, Expression] = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.split("#")[0].strip()
        if not content or (not functions and "".join(content.split()).lower() == HEADER):
            continue
        gene, comma, factors = (part.strip() for part in content.partition(","))
        if not comma or not is_name(gene):
            raise at_line(name, number, f"expected 'gene, expression', got {content[:60]!r}.")
        if gene in functions:
            raise at_line(name, number, f"gene {gene} has two functions: remove one.")
        try:
            functions[gene] = parse(factors)
        except InvalidNetwork as error:
            raise at_line(name, number, f"gene {gene}: {error}") from None
        lines[gene] = number
    for gene, function in functions.items():
        for regulator in genes_of(function):
            if regulator not in functions:
                raise at_line(
                    name,
                    lines[gene],
                    f"gene {gene} depends on {regulator!r}, which has no line of its own: add "
                    f"'{regulator}, {regulator}' if it is an input.",
                )
    if not functions:
        raise InvalidNetwork(f"{name} has no genes: expected lines 'gene, expression'.")
    return BooleanNetwork(functions)


def format_bnet(network: BooleanNetwork) -> str:
    """The text of a ``.bnet`` file.

    Names are written as they are. Some tools take letters, digits and ``_`` alone:
    ``network.renamed`` makes such names.

    Examples
    --------
    >>> print(format_bnet(BooleanNetwork({"A": "B", "B": "!(A & B)"})))
    targets, factors
    A, B
    B, !(A & B)
    """
    functions = (f"{gene}, {function}" for gene, function in network.functions.items())
    return "\n".join(["targets, factors", *functions]) + "\n"
