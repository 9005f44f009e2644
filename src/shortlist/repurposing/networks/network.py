"""Boolean networks: genes, and for each the function that its regulators give it."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Collection, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.logic import (
    Constant,
    Expression,
    Gene,
    evaluate,
    genes_of,
    is_name,
    parse,
    replace,
    signs_of,
    substitute,
    truth_table,
)
from shortlist.repurposing.networks.regulation import Regulation

MAX_INPUTS = 12  # of a function that percolation compares over all values of its inputs

Node = TypeVar("Node", bound=Hashable)


class Edge(NamedTuple):
    """One regulation: +1 activates, −1 represses, 0 does both or is not known."""

    source: str
    target: str
    sign: int


class BooleanNetwork:
    """Genes and their functions.

    Parameters
    ----------
    functions : mapping of str to Expression or str
        What each gene becomes, in terms of the others; its order is the order of the genes. A
        gene's own name makes it an input, which keeps its value.
    regulations : mapping of str to Regulation, optional
        For genes whose function is a rule of RE:IN: with it ``.net`` files keep their rule numbers
        and the edges that a rule ignores.
    perturbations : mapping of str to str, optional
        The marks of a ``.net`` file: ``-`` for genes that may be knocked down, ``+`` for those that
        may be over-expressed.

    Attributes
    ----------
    genes : tuple of str
        In order.
    functions, regulations, perturbations : mapping
        As given; functions as expressions.

    Examples
    --------
    >>> network = BooleanNetwork({"A": "B", "B": "A", "C": "A & !D", "D": "0"})
    >>> network.percolate()
    {'D': 0}
    >>> network.modules()
    [('A', 'B', 'C')]
    >>> network.is_fixed_point({"A": 1, "B": 1, "C": 1, "D": 0})
    True
    """

    def __init__(
        self,
        functions: Mapping[str, Expression | str],
        *,
        regulations: Mapping[str, Regulation] | None = None,
        perturbations: Mapping[str, str] | None = None,
    ) -> None:
        parsed = {gene: _function(gene, given) for gene, given in functions.items()}
        self.genes = tuple(parsed)
        self.functions: Mapping[str, Expression] = MappingProxyType(parsed)
        self.regulations: Mapping[str, Regulation] = MappingProxyType(dict(regulations or {}))
        self.perturbations: Mapping[str, str] = MappingProxyType(dict(perturbations or {}))
        if not self.genes:
            raise InvalidNetwork("a network needs at least one gene, got none.")
        for gene, function in self.functions.items():
            if not is_name(gene):
                raise InvalidNetwork(
                    f"{gene!r} cannot name a gene: use letters, digits and _ . : @ / -, and "
                    "none of the words of an expression (0, 1, and, or, not, true, false)."
                )
            self.require(genes_of(function), f"in the function of gene {gene}")
        for gene, regulation in self.regulations.items():
            self.require([gene], "among the regulations")
            self.require(
                regulation.activators + regulation.repressors, f"among the regulators of {gene}"
            )
        self.require(self.perturbations, "among the perturbations")

    @classmethod
    def from_regulations(
        cls, regulations: Mapping[str, Regulation], perturbations: Mapping[str, str] | None = None
    ) -> BooleanNetwork:
        """The network whose functions are rules of RE:IN.

        Examples
        --------
        >>> rules = {"A": Regulation((), (), 9), "B": Regulation(("A",), ("B",), 2)}
        >>> BooleanNetwork.from_regulations(rules)
        BooleanNetwork(2 genes, 2 edges)
        """
        functions = {gene: rule.function(gene) for gene, rule in regulations.items()}
        return cls(functions, regulations=regulations, perturbations=perturbations)

    def require(self, genes: Iterable[object], where: str) -> None:
        """Raise for the first of ``genes`` that the network does not have."""
        for gene in genes:
            if gene not in self.functions:
                near = difflib.get_close_matches(str(gene), self.genes, n=1, cutoff=0.6)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise InvalidNetwork(
                    f"unknown gene {gene!r} {where}: it is not one of the network's "
                    f"{len(self.genes)} genes.{hint}"
                )

    def _require_bits(self, values: Mapping[str, int], where: str) -> None:
        self.require(values, where)
        for gene, value in values.items():
            if value not in (0, 1):
                raise InvalidNetwork(f"gene {gene} must be 0 or 1 {where}, got {value!r}.")

    def regulators(self, gene: str) -> dict[str, int]:
        """The regulators of ``gene`` with their signs: +1, −1, or 0 if both or not known."""
        self.require([gene], "")
        if gene not in self.regulations:
            return signs_of(self.functions[gene])
        regulation = self.regulations[gene]
        signs = dict.fromkeys(regulation.activators, 1)
        for name in regulation.repressors:
            signs[name] = 0 if name in signs else -1
        return signs

    def edges(self) -> list[Edge]:
        """All regulations, target by target."""
        return [
            Edge(source, target, sign)
            for target in self.genes
            for source, sign in self.regulators(target).items()
        ]

    def image(self, state: Mapping[str, int]) -> dict[str, int]:
        """The values of all functions in ``state``: the synchronous successor."""
        return {gene: evaluate(function, state) for gene, function in self.functions.items()}

    def is_fixed_point(self, state: Mapping[str, int]) -> bool:
        """Whether no gene would change."""
        return all(evaluate(f, state) == state[gene] for gene, f in self.functions.items())

    def percolate(self) -> dict[str, int]:
        """Genes whose value is settled by constants alone, and that value.

        Genes with constant functions, then those whose functions become constant by them, and so
        on. Every attractor has these values.

        Examples
        --------
        >>> BooleanNetwork({"A": "1", "B": "!A & C", "C": "B | C"}).percolate()
        {'A': 1, 'B': 0}
        """
        constants: dict[str, int] = {}
        open_functions = dict(self.functions)
        found = True
        while found:
            found = False
            for gene, function in list(open_functions.items()):
                open_functions[gene] = substitute(function, constants)
                values = _possible_values(open_functions[gene])
                if len(values) == 1:
                    constants[gene] = values.pop()
                    del open_functions[gene]
                    found = True
        return {gene: constants[gene] for gene in self.genes if gene in constants}

    def components(self, containing: Iterable[str] | None = None) -> list[tuple[str, ...]]:
        """Strongly connected components (Tarjan 1972), those that regulate nobody else first.

        Parameters
        ----------
        containing : iterable of str, optional
            Keep the components with at least one of these, as the paper does with the perturbed
            genes.
        """
        wanted = None if containing is None else set(containing)
        self.require(wanted or (), "among those that a component must contain")
        return gene_components(self.genes, self.edges(), wanted)

    def modules(self) -> list[tuple[str, ...]]:
        """Groups of genes that do not depend on each other once constants have percolated."""
        return [module.genes for module in self.split()[1]]

    def split(self) -> tuple[dict[str, int], list[BooleanNetwork]]:
        """The constants of percolation, and a network for each module of the other genes."""
        constants = self.percolate()
        rest = len(self.genes) - len(constants)
        return constants, self.fixed(constants).parts() if rest else []

    def parts(self) -> list[BooleanNetwork]:
        """Networks that do not depend on each other and make up this one."""
        dependents: dict[str, list[str]] = {gene: [] for gene in self.genes}
        for gene, function in self.functions.items():
            for name in genes_of(function):
                dependents[name].append(gene)
        weak = components(dependents, "weak")
        return [BooleanNetwork({g: self.functions[g] for g in part}) for part in weak]

    def fixed(self, values: Mapping[str, int]) -> BooleanNetwork:
        """The network of the other genes where these have fixed values.

        Examples
        --------
        >>> network = BooleanNetwork({"A": "B & C", "B": "A | C", "C": "C"})
        >>> {gene: str(f) for gene, f in network.fixed({"C": 1}).functions.items()}
        {'A': 'B', 'B': '1'}
        """
        self._require_bits(values, "among those with a fixed value")
        kept = {g: f for g, f in self.functions.items() if g not in values}
        return self._with({gene: substitute(f, values) for gene, f in kept.items()})

    def clamped(self, values: Mapping[str, int]) -> BooleanNetwork:
        """The network where these genes have constant functions: knocked down or over-expressed."""
        self._require_bits(values, "among the clamps")
        return self._with(
            {g: Constant(int(values[g])) if g in values else f for g, f in self.functions.items()}
        )

    def restricted_to(self, genes: Iterable[str]) -> BooleanNetwork:
        """The network of some genes, the edges from all others cut.

        An edge can be cut where a rule of RE:IN is known for its target. Other functions must not
        depend on the genes left out: ``fixed`` gives those a value.
        """
        kept = set(genes)
        self.require(kept, "among those to keep")
        functions: dict[str, Expression] = {}
        regulations: dict[str, Regulation] = {}
        for gene in (g for g in self.genes if g in kept):
            if gene in self.regulations:
                old = self.regulations[gene]
                regulations[gene] = Regulation(
                    tuple(g for g in old.activators if g in kept),
                    tuple(g for g in old.repressors if g in kept),
                    old.rule,
                )
                functions[gene] = regulations[gene].function(gene)
                continue
            functions[gene] = self.functions[gene]
            missing = [g for g in genes_of(functions[gene]) if g not in kept]
            if missing:
                raise InvalidNetwork(
                    f"gene {gene} depends on {missing[0]}, which is left out, but no rule tells "
                    "what remains without it: keep it too, or give it a value with fixed()."
                )
        marks = {g: mark for g, mark in self.perturbations.items() if g in kept}
        return BooleanNetwork(functions, regulations=regulations, perturbations=marks)

    def renamed(self, names: Mapping[str, str]) -> BooleanNetwork:
        """The same network under other names, for tools that take plain identifiers only."""
        self.require(names, "among those to rename")
        new = {gene: names.get(gene, gene) for gene in self.genes}
        if len(set(new.values())) < len(new):
            raise InvalidNetwork("two genes would have the same name: give each its own.")
        rules = {
            new[gene]: Regulation(
                tuple(new[g] for g in r.activators), tuple(new[g] for g in r.repressors), r.rule
            )
            for gene, r in self.regulations.items()
        }
        return BooleanNetwork(
            {new[g]: replace(f, lambda n: Gene(new[n])) for g, f in self.functions.items()},
            regulations=rules,
            perturbations={new[g]: mark for g, mark in self.perturbations.items()},
        )

    def _with(self, functions: Mapping[str, Expression]) -> BooleanNetwork:
        """Some of the genes under new functions; rules stay known where nothing changed."""
        same = {
            gene: rule
            for gene, rule in self.regulations.items()
            if functions.get(gene) == self.functions[gene]
            and all(name in functions for name in rule.activators + rule.repressors)
        }
        marks = {gene: mark for gene, mark in self.perturbations.items() if gene in functions}
        return BooleanNetwork(functions, regulations=same, perturbations=marks)

    def __len__(self) -> int:
        return len(self.genes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BooleanNetwork) and (
            list(self.functions.items()),
            self.regulations,
            self.perturbations,
        ) == (list(other.functions.items()), other.regulations, other.perturbations)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BooleanNetwork({len(self.genes)} genes, {len(self.edges())} edges)"


def _function(gene: str, given: Expression | str) -> Expression:
    if not isinstance(given, str):
        return replace(given, Gene)
    try:
        return parse(given)
    except InvalidNetwork as error:
        raise InvalidNetwork(f"gene {gene}: {error}") from None


def _possible_values(function: Expression) -> set[int]:
    """The values that a simplified function takes, or both where that is too long to find out.

    Where a gene appears both plain and negated, the function is evaluated over all its inputs, if
    they are few. Any other function is least and greatest in a corner that simplifying looks at,
    so that it takes both values unless it has become a constant.
    """
    if isinstance(function, Constant):
        return {function.value}
    signs = signs_of(function)
    if 0 in signs.values() and len(signs) <= MAX_INPUTS:
        return set(truth_table(function, list(signs)))
    return {0, 1}


def gene_components(
    genes: Iterable[str], edges: Iterable[Any], containing: Collection[str] | None
) -> list[tuple[str, ...]]:
    """The strong components of genes by their edges; if ``containing``, those with one of these."""
    targets: dict[str, list[str]] = {gene: [] for gene in genes}
    for edge in edges:
        targets[edge.source].append(edge.target)
    found = components(targets, "strong")
    return [each for each in found if containing is None or not set(containing).isdisjoint(each)]


def terminal_components(successors: Mapping[Node, Iterable[Node]]) -> list[tuple[Node, ...]]:
    """The strong components that no edge leaves.

    Examples
    --------
    >>> terminal_components({"A": "B", "B": "CA", "C": "D", "D": ""})
    [('D',)]
    """
    return [
        component
        for component in components(successors, "strong")
        if set(component).issuperset(after for node in component for after in successors[node])
    ]


def components(
    successors: Mapping[Node, Iterable[Node]], connection: Literal["strong", "weak"]
) -> list[tuple[Node, ...]]:
    """Components of a graph; nodes keep the mapping's order within each.

    Strongly connected ones, those without a way out first; or weakly connected ones, which are
    those of the graph without directions, in the order of their first nodes.

    Examples
    --------
    >>> components({"A": "B", "B": "CA", "C": "D", "D": ""}, "strong")
    [('D',), ('C',), ('A', 'B')]
    >>> components({"A": "", "B": "A", "C": ""}, "weak")
    [('A', 'B'), ('C',)]
    """
    place = {node: i for i, node in enumerate(successors)}
    # SciPy visits successors from the last to the first, and hangs if one is listed twice.
    ahead = [[place[after] for after in dict.fromkeys(ways)][::-1] for ways in successors.values()]
    columns = list(itertools.chain.from_iterable(ahead))
    starts = np.cumsum([0, *map(len, ahead)])
    graph = csr_array((np.ones(len(columns)), columns, starts), shape=(len(place), len(place)))
    count, labels = connected_components(graph, directed=True, connection=connection)
    found: list[list[Node]] = [[] for _ in range(count)]
    for node, label in zip(successors, labels.tolist(), strict=True):
        found[label].append(node)
    return [tuple(component) for component in found]
