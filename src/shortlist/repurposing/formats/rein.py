"""The ``.net`` files of RE:IN and of its successors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.abstract_network import AbstractNetwork, PossibleEdge
from shortlist.repurposing.formats.text import at_line
from shortlist.repurposing.parser import is_name
from shortlist.repurposing.regulation import check_rule

_GENE = re.compile(r"([^\s\[\]{}()]+)\s*(?:\[([^\]]*)\])?\s*(?:\{([^}]*)\})?\s*\(([^)]*)\)")
_MARKS = re.compile(r"[-+!]*")
SIGNS = {"positive": 1, "negative": -1}
WORDS = {sign: word for word, sign in SIGNS.items()}


def parse_rein(text: str, name: str = "network.net") -> AbstractNetwork:
    r"""Read a ``.net`` file: directives, genes with their rules, edges; ``;`` ends each.

    Examples
    --------
    >>> parse_rein("A[]{}(9); B[-](0..17); A\tB\tpositive\toptional;").rules["A"]
    (9,)
    >>> parse_rein("A[](9);\nA\tC\tpositive;")
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: network.net, line 2: edge A → C names 'C', which is not declared: ...
    """
    directives: dict[str, str] = {}
    rules: dict[str, tuple[int, ...]] = {}
    marks: dict[str, str] = {}
    braces: dict[str, str] = {}
    edges: dict[tuple[str, str, int], tuple[bool, int]] = {}
    for line, statement in _statements(text, name):
        words = statement.split()
        gene = _GENE.fullmatch(statement)
        if words[0] == "directive" and len(words) >= 3:
            directives[words[1]] = " ".join(words[2:])
        elif gene:
            label = gene[1]
            if label in rules:
                raise at_line(name, line, f"gene {label} is declared twice: remove one.")
            if not is_name(label) or not _MARKS.fullmatch(gene[2] or ""):
                raise at_line(name, line, f"cannot read the gene {statement[:60]!r}.")
            try:
                rules[label] = _parse_rules(gene[4])
            except InvalidNetwork as error:
                raise at_line(name, line, f"gene {label}: {error}") from None
            if gene[2]:
                marks[label] = gene[2]
            if gene[3] is not None:
                braces[label] = gene[3]
        elif len(words) in (3, 4) and words[2] in SIGNS and words[3:] in ([], ["optional"]):
            key = (words[0], words[1], SIGNS[words[2]])
            if key in edges:
                raise at_line(name, line, f"edge {words[0]} → {words[1]} is listed twice.")
            edges[key] = (len(words) == 4, line)
        else:
            raise at_line(
                name,
                line,
                f"cannot read {statement[:60]!r}: expected 'directive NAME VALUE', a gene as "
                "'GENE[](RULES)', or an edge as 'SOURCE TARGET positive|negative [optional]'.",
            )
    if not rules:
        raise InvalidNetwork(f"{name} declares no genes: expected some as 'GENE[](RULES);'.")
    for (source, target, _), (_, line) in edges.items():
        for gene_name in (source, target):
            if gene_name not in rules:
                raise at_line(
                    name,
                    line,
                    f"edge {source} → {target} names {gene_name!r}, which is not declared: add it "
                    "to the genes, or remove the edge.",
                )
    possible = tuple(PossibleEdge(*key, optional) for key, (optional, _) in edges.items())
    return AbstractNetwork(rules, possible, marks, braces, directives)


def _statements(text: str, name: str) -> Iterator[tuple[int, str]]:
    """What stands between semicolons, with the line it ends on."""
    pending = ""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        *ended, rest = (pending + line.split("//")[0]).split(";")
        yield from ((number, statement.strip()) for statement in ended if statement.strip())
        pending = rest + " " if rest.strip() else ""
    if pending:
        raise at_line(name, len(lines), f"{pending.strip()[:60]!r} does not end with ';'.")


def _parse_rules(text: str) -> tuple[int, ...]:
    """``4``, ``0..17`` or ``1, 3, 5..8``."""
    rules: list[int] = []
    for part in text.split(","):
        bounds = [bound.strip() for bound in part.split("..")]
        if len(bounds) > 2 or not all(re.fullmatch("-?[0-9]{1,9}", bound) for bound in bounds):
            raise InvalidNetwork(
                f"expected rules as '4', '0..17' or '1, 3, 5', got {text.strip()[:60]!r}."
            )
        first, last = int(bounds[0]), int(bounds[-1])
        check_rule(first)
        check_rule(last)
        if last < first:
            raise InvalidNetwork(f"the rules {part.strip()!r} run backwards.")
        rules += range(first, last + 1)
    return tuple(dict.fromkeys(rules))


def format_rein(network: AbstractNetwork) -> str:
    r"""The text of a ``.net`` file.

    Examples
    --------
    >>> text = "directive length 20;\nA[](0..17); B[-]{}(4); \nA\tB\tpositive\toptional;\n"
    >>> format_rein(parse_rein(text)) == text
    True
    """
    lines = [f"directive {key} {value};" for key, value in network.directives.items()]
    genes = []
    for gene, rules in network.rules.items():
        braces = f"{{{network.braces[gene]}}}" if gene in network.braces else ""
        mark = network.perturbations.get(gene, "")
        genes.append(f"{gene}[{mark}]{braces}({_format_rules(rules)}); ")
    lines.append("".join(genes))
    for source, target, sign, optional in network.edges:
        words = [source, target, WORDS[sign]] + ["optional"] * optional
        lines.append("\t".join(words) + ";")
    return "\n".join(lines) + "\n"


def _format_rules(rules: tuple[int, ...]) -> str:
    if len(rules) > 2 and rules == tuple(range(rules[0], rules[-1] + 1)):
        return f"{rules[0]}..{rules[-1]}"
    return ",".join(map(str, rules))
