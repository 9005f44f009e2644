"""Networks as lines of text: ``.bnet``, and ``.sif`` with the rules in ``.noa`` beside it.

``.bnet`` is what BoolNet, pyboolnet, mpbn, bonesis, MaBoSS and AEON read. SIF files have signed
edges; the rules are Cytoscape's node attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from shortlist.errors import InvalidNetwork
from shortlist.files.paths import regular_file
from shortlist.repurposing.networks.abstract_network import AbstractNetwork, PossibleEdge
from shortlist.repurposing.networks.logic import Expression, genes_of, is_name, parse
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.regulation import check_rule

HEADER = "targets,factors"
_SIGNS = {
    **dict.fromkeys(("1", "+", "->", "activates", "activation", "stimulates", "positive"), 1),
    **dict.fromkeys(("-1", "-", "-|", "inhibits", "inhibition", "represses", "negative"), -1),
}


def read_text(path: Path) -> str:
    """A file's text, with or without a byte-order mark."""
    path = regular_file(path, InvalidNetwork)
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidNetwork(f"{path.name} is not text in UTF-8: save it as such.") from None


def at_line(name: str, line: int, problem: object) -> InvalidNetwork:
    """The error for a problem in one line of a file."""
    return InvalidNetwork(f"{name}, line {line}: {problem}")


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
                add = f"add '{regulator}, {regulator}' if it is an input"
                problem = f"gene {gene} depends on {regulator!r}, which has no line of its own"
                raise at_line(name, lines[gene], f"{problem}: {add}.")
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


def parse_sif(
    text: str, rules: int | Mapping[str, int], name: str = "network.sif"
) -> AbstractNetwork:
    r"""Read a SIF file: lines ``source sign target``, or a gene alone.

    The sign is ``1`` or ``-1`` or one of the usual words and arrows; several targets may follow one
    source. ``rules`` is the regulation rule of all genes, or of each; a mapping orders the genes.

    Examples
    --------
    >>> parse_sif("A 1 B\nB -1 A", rules=8).network().edges()
    [Edge(source='B', target='A', sign=-1), Edge(source='A', target='B', sign=1)]
    """
    edges: dict[PossibleEdge, None] = {}
    genes: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("\t") if "\t" in line else line.split()
        words = [word.strip() for word in words if word.strip()]
        if not words:
            continue
        sign = _SIGNS.get(words[1].lower()) if len(words) > 1 else 1
        if len(words) == 2 or sign is None or not all(map(is_name, (words[0], *words[2:]))):
            expected = "'source sign target' with a sign such as 1, -1, activates or inhibits"
            raise at_line(name, number, f"expected {expected}, got {line.strip()[:60]!r}.")
        for gene in (words[0], *words[2:]):
            genes.setdefault(gene, number)
        for target in words[2:]:
            edge = PossibleEdge(words[0], target, sign, False)
            if edge in edges:
                raise at_line(name, number, f"edge {words[0]} → {target} is listed twice.")
            edges[edge] = None
    if not genes:
        raise InvalidNetwork(f"{name} has no genes: expected lines 'source sign target'.")
    rule_of = dict.fromkeys(genes, rules) if isinstance(rules, int) else dict(rules)
    for gene, number in genes.items():
        if gene not in rule_of:
            raise at_line(name, number, f"gene {gene} has no rule: give it one.")
    for rule in rule_of.values():
        check_rule(rule)
    return AbstractNetwork({gene: (rule,) for gene, rule in rule_of.items()}, tuple(edges))


def format_sif(network: AbstractNetwork) -> str:
    """The edges, with ``1`` and ``-1`` as CellNOpt has them, and genes without any edge alone."""
    met = {gene for edge in network.edges for gene in edge[:2]}
    lines = [f"{edge.source}\t{edge.sign}\t{edge.target}" for edge in network.edges]
    return "\n".join([*lines, *(gene for gene in network.genes if gene not in met)]) + "\n"


def parse_rules(text: str, name: str = "network.noa") -> dict[str, int]:
    r"""Read node attributes: a heading, then lines ``gene = rule``.

    Examples
    --------
    >>> parse_rules("rule\nA = 4\nB = 17")
    {'A': 4, 'B': 17}
    """
    rules: dict[str, int] = {}
    for number, line in enumerate(text.splitlines()[1:], start=2):
        gene, _, rule = (part.strip() for part in line.partition("="))
        if not gene and not rule:
            continue
        if not is_name(gene) or not re.fullmatch("[0-9]{1,9}", rule) or gene in rules:
            raise at_line(
                name, number, f"expected 'gene = rule', once per gene, got {line[:60]!r}."
            )
        try:
            check_rule(int(rule))
        except InvalidNetwork as error:
            raise at_line(name, number, f"gene {gene}: {error}") from None
        rules[gene] = int(rule)
    return rules


def format_rules(network: AbstractNetwork) -> str:
    """The rules as node attributes."""
    lines = [f"{gene} = {rules[0]}" for gene, rules in network.rules.items()]
    return "\n".join(["rule (class=Integer)", *lines]) + "\n"
