"""The files of RE:IN: ``.net`` for abstract networks, ``.spec`` for experiments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.abstract_network import AbstractNetwork, PossibleEdge
from shortlist.repurposing.networks.experiment import Experiment
from shortlist.repurposing.networks.formats.text import at_line, read_text
from shortlist.repurposing.networks.logic import is_name
from shortlist.repurposing.networks.regulation import check_rule

_GENE = re.compile(r"([^\s\[\]{}()]+)\s*(?:\[([^\]]*)\])?\s*(?:\{([^}]*)\})?\s*\(([^)]*)\)")
_MARKS = re.compile(r"[-+!]*")
SIGNS = {"positive": 1, "negative": -1}
WORDS = {sign: word for word, sign in SIGNS.items()}
_OBSERVATION = re.compile(r"#\s*(\w+)\s*\[\s*([0-9]{1,9})\s*\]\s*\|=\s*\$\s*(\w+)")
_FIXED_POINT = re.compile(r"fixpoint\s*\(\s*#\s*(\w+)\s*\[\s*([0-9]{1,9})\s*\]\s*\)")
_DEFINITION = re.compile(r"\$\s*(\w+)\s*:=\s*\{(.*)\}", re.DOTALL)
_CONDITION = re.compile(r"(?:(KO|FE)\s*\(\s*([^\s()=]+)\s*\)|([^\s()=]+))\s*=\s*([01])")
HELD_AT = {"KO": 0, "FE": 1}


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
            expected = "'directive NAME VALUE', a gene as 'GENE[](RULES)', or an edge as 'SOURCE "
            expected += "TARGET positive|negative [optional]'"
            raise at_line(name, line, f"cannot read {statement[:60]!r}: expected {expected}.")
    if not rules:
        raise InvalidNetwork(f"{name} declares no genes: expected some as 'GENE[](RULES);'.")
    for (source, target, _), (_, line) in edges.items():
        for gene_name in (source, target):
            if gene_name not in rules:
                problem = f"edge {source} → {target} names {gene_name!r}, which is not declared"
                raise at_line(name, line, f"{problem}: add it to the genes, or remove the edge.")
    possible = tuple(PossibleEdge(*key, optional) for key, (optional, _) in edges.items())
    return AbstractNetwork(rules, possible, marks, braces, directives)


def _statements(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield what stands between semicolons, with the number of the line it ends on."""
    pending = ""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        *ended, rest = (pending + line.split("//")[0]).split(";")
        yield from ((number, statement.strip()) for statement in ended if statement.strip())
        pending = rest + " " if rest.strip() else ""
    if pending:
        raise at_line(name, len(lines), f"{pending.strip()[:60]!r} does not end with ';'.")


def _parse_rules(text: str) -> tuple[int, ...]:
    """The rules of ``4``, ``0..17`` or ``1, 3, 5..8``."""
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


def read_experiments(path: str | PathLike[str]) -> list[Experiment]:
    """Read a ``.spec`` file of RE:IN; see ``parse_experiments`` for what it may say."""
    path = Path(path)
    return parse_experiments(read_text(path), path.name)


def parse_experiments(text: str, name: str = "observations.spec") -> list[Experiment]:
    r"""Read experiments as RE:IN writes them, in the order of their first mention.

    Statements end with ``;``: ``$State := { GENE = 1 and KO(GENE) = 0 }`` defines, with KO for a
    knock-down and FE for forced expression; ``#Name[3] |= $State`` observes it at step 3;
    ``fixpoint(#Name[3])`` asks for a fixed point there; ``//`` begins a comment. What is defined
    and not used asks for nothing.

    Examples
    --------
    >>> text = "#E1[0] |= $Start;\nfixpoint(#E1[5]);\n$Start := { A = 1 and KO(B) = 1 };"
    >>> parse_experiments(text)
    [Experiment(name='E1', observations={0: {'A': 1}}, clamps={'B': 0}, fixed_points=(5,))]
    >>> parse_experiments("#E1[0] |= $Start;")
    Traceback (most recent call last):
    ...
    shortlist.errors.InvalidNetwork: observations.spec, line 1: $Start is not defined: ...
    """
    states: dict[str, tuple[dict[str, int], dict[str, int]]] = {}  # values, clamps
    uses: list[tuple[int, str, int, str]] = []
    fixed: dict[str, list[int]] = {}
    for line, statement in _spec_statements(text, name):
        definition = _DEFINITION.fullmatch(statement)
        observation = _OBSERVATION.fullmatch(statement)
        fixed_point = _FIXED_POINT.fullmatch(statement)
        if definition:
            if definition[1] in states:
                raise at_line(name, line, f"${definition[1]} is defined twice: remove one.")
            line += statement.count("\n", 0, definition.start(2))
            states[definition[1]] = _read_state(definition[2], name, line)
        elif observation:
            fixed.setdefault(observation[1], [])
            uses.append((line, observation[1], int(observation[2]), observation[3]))
        elif fixed_point:
            fixed.setdefault(fixed_point[1], []).append(int(fixed_point[2]))
        else:
            expected = (
                "'#Name[STEP] |= $State', 'fixpoint(#Name[STEP])' or '$State := { GENE = 0 and "
            )
            expected += "KO(GENE) = 1 }'"
            raise at_line(name, line, f"cannot read {statement[:60]!r}: expected {expected}.")
    if not fixed:
        raise InvalidNetwork(f"{name} names no experiment: expected some '#Name[0] |= $State;'.")
    observations: dict[str, dict[int, dict[str, int]]] = {label: {} for label in fixed}
    clamps: dict[str, dict[str, int]] = {label: {} for label in fixed}
    for line, label, step, state in uses:
        if state not in states:
            raise at_line(
                name, line, f"${state} is not defined: add '${state} := {{ GENE = 1 }};'."
            )
        values, clamped = states[state]
        if clamped and step:
            problem = (
                f"${state} perturbs genes at step {step}, but perturbations hold from the start"
            )
            raise at_line(name, line, f"{problem}: use #{label}[0].")
        what = f"#{label}[{step}]"
        if values:
            _join(observations[label].setdefault(step, {}), values, what, name, line)
        _join(clamps[label], clamped, what, name, line)
    return [
        Experiment(label, observations[label], clamps[label], tuple(steps))
        for label, steps in fixed.items()
    ]


def _spec_statements(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield what stands between semicolons, with the number of the line it begins on."""
    line = 1
    *ended, rest = re.sub("//.*", "", text).split(";")
    for part in ended:
        begin = line + part.count("\n", 0, len(part) - len(part.lstrip()))
        if part.strip():
            yield begin, part.strip()
        line += part.count("\n")
    if rest.strip():
        line += rest.count("\n", 0, len(rest) - len(rest.lstrip()))
        raise at_line(name, line, f"{rest.strip()[:60]!r} does not end with ';'.")


def _read_state(text: str, name: str, line: int) -> tuple[dict[str, int], dict[str, int]]:
    """The values and clamps of ``A = 1 and KO(B) = 1 and …``; KO(C) = 0 asks for nothing."""
    values: dict[str, int] = {}
    clamps: dict[str, int] = {}
    for part in re.split(r"\band\b", text) if text.strip() else []:
        begin = line + part.count("\n", 0, len(part) - len(part.lstrip()))
        match = _CONDITION.fullmatch(part.strip())
        if not match:
            expected = "'GENE = 0', 'GENE = 1', 'KO(GENE) = 1' or 'FE(GENE) = 1', joined by 'and'"
            problem = f"cannot read the condition {part.strip()[:60]!r}: expected {expected}."
            raise at_line(name, begin, problem)
        perturbation, perturbed, gene, value = match.groups()
        if not perturbation:
            _join(values, {gene: int(value)}, "a state", name, begin)
        elif value == "1":
            _join(clamps, {perturbed: HELD_AT[perturbation]}, "a state", name, begin)
        line += part.count("\n")
    return values, clamps


def _join(known: dict[str, int], new: dict[str, int], what: str, name: str, line: int) -> None:
    for gene, value in new.items():
        if known.setdefault(gene, value) != value:
            raise at_line(name, line, f"{what} gives gene {gene} both 0 and 1: remove one of them.")
