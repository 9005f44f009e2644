"""A candidate network and experiments as facts for the answer-set program ``inference.lp``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from shortlist.repurposing.abstract_network import AbstractNetwork
from shortlist.repurposing.experiments import Experiment
from shortlist.repurposing.logic import evaluate
from shortlist.repurposing.regulation import RULES, THRESHOLD_RULES


def program() -> str:
    """The text of the program."""
    return files("shortlist.repurposing").joinpath("inference.lp").read_text(encoding="utf-8")


def facts(
    candidate: AbstractNetwork,
    rules: Mapping[str, Sequence[int]],
    experiments: Sequence[Experiment],
) -> str:
    """What the program is given; genes and experiments go by their place.

    Parameters
    ----------
    candidate : AbstractNetwork
        Possible edges.
    rules : mapping of str to sequence of int
        Possible rules of each gene.
    experiments : sequence of Experiment
        What to explain.

    Examples
    --------
    >>> from shortlist.repurposing.abstract_network import PossibleEdge
    >>> candidate = AbstractNetwork({"A": (9,), "B": (4,)}, (PossibleEdge("A", "B", 1, True),))
    >>> text = facts(candidate, candidate.rules, [Experiment("E", {3: {"B": 0}}, {"A": 0})])
    >>> [line for line in text.splitlines() if not line.startswith("gives")]
    ['gene(0).', 'gene(1).', 'may(0,9).', 'may(1,4).', 'optional(0,1,1).', 'experiment(0).', 'held(0,0,0).', 'observed(0,1,3,0).']
    """
    place = {gene: i for i, gene in enumerate(candidate.genes)}
    lines = [f"gene({i})." for i in place.values()]
    lines += [f"may({place[gene]},{rule})." for gene, own in rules.items() for rule in own]
    for source, target, sign, optional in candidate.edges:
        kind = "optional" if optional else "required"
        lines.append(f"{kind}({place[source]},{place[target]},{sign}).")
    lines += [f"gives({rule},{a},{b})." for rule, a, b in _tables(set().union(*rules.values()))]
    for e, experiment in enumerate(experiments):
        lines.append(f"experiment({e}).")
        lines += [f"held({e},{place[gene]},{v})." for gene, v in experiment.clamps.items()]
        for step, values in experiment.observations.items():
            lines += [f"observed({e},{place[gene]},{step},{v})." for gene, v in values.items()]
        lines += [f"fixed_point({e},{step})." for step in experiment.fixed_points]
    return "\n".join(lines)


def _tables(rules: Iterable[int]) -> list[tuple[int, int, int]]:
    """Where each rule gives 1: (rule, activators, repressors), none 0, some 1, all 2 of them on."""
    return [
        (rule, a, b)
        for rule, a, b in itertools.product(sorted(rules), range(3), range(3))
        if rule not in THRESHOLD_RULES
        and evaluate(
            RULES[rule], {"all_A": a == 2, "some_A": a > 0, "no_R": b == 0, "all_R": b == 2}
        )
    ]
