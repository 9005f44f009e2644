"""Boolean expressions and networks at random, and how to compare them."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from shortlist.repurposing.networks.logic import (
    AtLeast,
    Constant,
    Expression,
    Gene,
    Not,
    truth_table,
)
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.regulation import Regulation

NAMES = ("A", "B1", "C-3", "D.x", "E_")

STEADY = settings(derandomize=True, deadline=None)


def expressions(names: tuple[str, ...] = NAMES, leaves: int = 8) -> st.SearchStrategy[Expression]:
    """Trees as they come, not tidied by the constructors."""
    leaf = st.sampled_from([*map(Gene, names), Constant(0), Constant(1)])

    def grow(part: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        several = st.lists(part, min_size=1, max_size=4)
        return part.map(Not) | several.flatmap(
            lambda parts: st.builds(AtLeast, st.integers(0, len(parts) + 1), st.just(tuple(parts)))
        )

    return st.recursive(leaf, grow, max_leaves=leaves)


def networks(genes: int, leaves: int = 6) -> st.SearchStrategy[BooleanNetwork]:
    names = tuple(f"g{i}" for i in range(genes))
    functions = st.lists(expressions(names, leaves), min_size=genes, max_size=genes)
    return functions.map(lambda listed: BooleanNetwork(dict(zip(names, listed, strict=True))))


@st.composite
def ruled_networks(draw: st.DrawFn) -> BooleanNetwork:
    names = [f"g{i}" for i in range(draw(st.integers(1, 5)))]
    some = st.lists(st.sampled_from(names), unique=True, max_size=3).map(tuple)
    regulation = st.builds(Regulation, some, some, st.integers(0, 19))
    marks = st.dictionaries(st.sampled_from(names), st.sampled_from(["-", "+", "-+"]))
    return BooleanNetwork.from_regulations({g: draw(regulation) for g in names}, draw(marks))


def table(expression: Expression, names: tuple[str, ...] = NAMES) -> tuple[int, ...]:
    return truth_table(expression, names)


def same_functions(one: BooleanNetwork, two: BooleanNetwork) -> bool:
    return one.genes == two.genes and all(
        table(one.functions[g], one.genes) == table(two.functions[g], one.genes) for g in one.genes
    )


def same_rules(one: BooleanNetwork, two: BooleanNetwork) -> bool:
    def sets(network: BooleanNetwork) -> dict[str, tuple[set[str], set[str], int]]:
        rules = network.regulations.items()
        return {g: (set(r.activators), set(r.repressors), r.rule) for g, r in rules}

    return sets(one) == sets(two)


# A model of two species, to be filled in.
SBML = """<?xml version="1.0" encoding="UTF-8"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"
 xmlns:qual="http://www.sbml.org/sbml/level3/version1/qual/version1" qual:required="true">
<model id="m"><listOfCompartments><compartment id="c" constant="true"/></listOfCompartments>
<qual:listOfQualitativeSpecies>
<qual:qualitativeSpecies qual:id="s1" qual:compartment="c" qual:constant="false" {level}/>
<qual:qualitativeSpecies qual:id="s2" qual:compartment="c" qual:constant="false"/>
</qual:listOfQualitativeSpecies>
<qual:listOfTransitions><qual:transition qual:id="t1">
<qual:listOfOutputs><qual:output qual:qualitativeSpecies="s1"
 qual:transitionEffect="assignmentLevel"/></qual:listOfOutputs>
<qual:listOfFunctionTerms><qual:defaultTerm qual:resultLevel="1"/>
<qual:functionTerm qual:resultLevel="0">
<math xmlns="http://www.w3.org/1998/Math/MathML"><apply>{formula}</apply></math>
</qual:functionTerm></qual:listOfFunctionTerms></qual:transition></qual:listOfTransitions>
</model></sbml>
"""
