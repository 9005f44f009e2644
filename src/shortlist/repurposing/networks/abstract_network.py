"""Abstract Boolean networks: possible edges and possible rules, before inference has chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.network import BooleanNetwork, gene_components
from shortlist.repurposing.networks.regulation import Regulation, find_regulation

DIRECTIVES = {
    "updates": "async",
    "length": "20",
    "uniqueness": "interactions",
    "limit": "0",
    "regulation": "default",
}


class PossibleEdge(NamedTuple):
    """A regulation of sign +1 or −1 that is there, or that may be."""

    source: str
    target: str
    sign: int
    optional: bool


@dataclass(frozen=True)
class AbstractNetwork:
    """What a ``.net`` file of RE:IN says (Yordanov et al. 2016).

    Parameters
    ----------
    rules : mapping of str to tuple of int
        The regulation rules each gene may have; its order is the order of the genes.
    edges : tuple of PossibleEdge
        In the file's order.
    perturbations : mapping of str to str
        ``-``, ``+`` or both, for genes that experiments knock down or over-express.
    braces : mapping of str to str
        What stands in a gene's braces; genes without braces are not in it.
    directives : mapping of str to str
        Settings for the inference.

    Examples
    --------
    >>> edges = (PossibleEdge("A", "B", 1, False), PossibleEdge("B", "A", -1, True))
    >>> abstract = AbstractNetwork({"A": (9,), "B": (0, 1)}, edges)
    >>> abstract.is_determined
    False
    >>> abstract.network(rules={"B": 0}).edges()
    [Edge(source='A', target='B', sign=1)]
    """

    rules: Mapping[str, tuple[int, ...]]
    edges: tuple[PossibleEdge, ...]
    perturbations: Mapping[str, str] = field(default_factory=dict)
    braces: Mapping[str, str] = field(default_factory=dict)
    directives: Mapping[str, str] = field(default_factory=lambda: dict(DIRECTIVES))

    @property
    def genes(self) -> tuple[str, ...]:
        """The genes, in order."""
        return tuple(self.rules)

    @property
    def is_determined(self) -> bool:
        """Whether no edge is optional and every gene has one rule."""
        return not any(edge.optional for edge in self.edges) and all(
            len(rules) == 1 for rules in self.rules.values()
        )

    def network(
        self, rules: Mapping[str, int] | None = None, edges: Iterable[tuple[str, str, int]] = ()
    ) -> BooleanNetwork:
        """The Boolean network of one choice.

        Parameters
        ----------
        rules : mapping of str to int, optional
            The rule of each gene that has several.
        edges : iterable of (source, target, sign)
            Which optional edges are there; by default none.
        """
        chosen = {(source, target, sign) for source, target, sign in edges}
        strange = chosen - {edge[:3] for edge in self.edges if edge.optional}
        if strange:
            raise InvalidNetwork(f"{min(strange)} is not one of the optional edges.")
        present = [edge for edge in self.edges if not edge.optional or edge[:3] in chosen]
        regulations = {}
        for gene, possible in self.rules.items():
            rule = (rules or {}).get(gene, possible[0] if len(possible) == 1 else None)
            if rule not in possible:
                raise InvalidNetwork(
                    f"gene {gene} needs one of the rules {', '.join(map(str, possible))}, "
                    f"got {'none' if rule is None else rule}: name it in rules."
                )
            into = [edge for edge in present if edge.target == gene]
            regulations[gene] = Regulation(
                tuple(edge.source for edge in into if edge.sign > 0),
                tuple(edge.source for edge in into if edge.sign < 0),
                rule,
            )
        return BooleanNetwork.from_regulations(regulations, self.perturbations)

    def components(self, containing: Collection[str] | None = None) -> list[tuple[str, ...]]:
        """Strongly connected components over all possible edges, as ``BooleanNetwork`` has them."""
        return gene_components(self.genes, self.edges, containing)


def abstract(network: BooleanNetwork) -> AbstractNetwork:
    """A Boolean network as an abstract one without choice; raise unless rules of RE:IN give it."""
    rules: dict[str, tuple[int, ...]] = {}
    edges: list[PossibleEdge] = []
    for gene, function in network.functions.items():
        regulation = network.regulations.get(gene) or find_regulation(gene, function)
        rules[gene] = (regulation.rule,)
        edges += [PossibleEdge(source, gene, 1, False) for source in regulation.activators]
        edges += [PossibleEdge(source, gene, -1, False) for source in regulation.repressors]
    braces = dict.fromkeys(network.genes, "")
    return AbstractNetwork(rules, tuple(edges), network.perturbations, braces)
