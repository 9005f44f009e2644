"""SBML-qual files, through libSBML (the extra ``sbml``)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.logic import (
    AtLeast,
    Constant,
    Expression,
    Gene,
    Not,
    all_of,
    any_of,
    negation,
    signs_of,
    without_thresholds,
)
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.parser import is_name


def _libsbml() -> Any:
    try:
        import libsbml
    except ImportError:
        raise ImportError("SBML needs libSBML: pip install 'shortlist[sbml]'.") from None
    return libsbml


def parse_sbml(text: str, name: str = "network.sbml") -> BooleanNetwork:
    """Read an SBML-qual model whose species have the levels 0 and 1.

    Species without a transition are inputs, which keep their value. Genes carry the species'
    names where all have one of their own, else their identifiers.
    """
    libsbml = _libsbml()
    document = libsbml.readSBMLFromString(text)
    if document.getNumErrors(libsbml.LIBSBML_SEV_ERROR) or document.getNumErrors(
        libsbml.LIBSBML_SEV_FATAL
    ):
        first = document.getErrorWithSeverity(0, libsbml.LIBSBML_SEV_ERROR) or document.getError(0)
        message = " ".join(first.getMessage().split())
        raise InvalidNetwork(f"{name}, line {first.getLine()}: {message}")
    model = document.getModel()
    qual = model.getPlugin("qual") if model else None
    if qual is None or not qual.getNumQualitativeSpecies():
        raise InvalidNetwork(f"{name} has no qualitative species: expected a model in SBML-qual.")
    species = [qual.getQualitativeSpecies(i) for i in range(qual.getNumQualitativeSpecies())]
    for one in species:
        if one.isSetMaxLevel() and one.getMaxLevel() > 1:
            raise InvalidNetwork(
                f"{name}: species {one.getId()} has levels up to {one.getMaxLevel()}; only 0 and 1 "
                "can be read. Make the model Boolean first, for example with GINsim or bioLQM."
            )
    names = {one.getId(): one.getName() for one in species}
    if not all(map(is_name, names.values())) or len(set(names.values())) < len(names):
        names = {identifier: identifier for identifier in names}
    functions: dict[str, Expression] = {names[i]: Gene(names[i]) for i in names}
    settled: set[str] = set()
    for i in range(qual.getNumTransitions()):
        transition = qual.getTransition(i)
        for k in range(transition.getNumOutputs()):
            output = transition.getOutput(k).getQualitativeSpecies()
            if output not in names:
                raise InvalidNetwork(f"{name}: a transition's output {output!r} is not a species.")
            if output in settled:
                raise InvalidNetwork(f"{name}: species {output} has two transitions.")
            settled.add(output)
            try:
                functions[names[output]] = _function(libsbml, transition, names)
            except InvalidNetwork as error:
                raise InvalidNetwork(f"{name}: species {output}: {error}") from None
    return BooleanNetwork(functions)


def _function(libsbml: Any, transition: Any, names: dict[str, str]) -> Expression:
    """The first function term that is met tells the level, else the default term."""
    default = transition.getDefaultTerm()
    if default is None:
        raise InvalidNetwork("its transition has no default term.")
    function: Expression = _level(default.getResultLevel())
    for i in reversed(range(transition.getNumFunctionTerms())):
        term = transition.getFunctionTerm(i)
        met = _from_math(libsbml, term.getMath(), names)
        level = _level(term.getResultLevel())
        function = any_of([met, function]) if level.value else all_of([negation(met), function])
    return function


def _level(level: int) -> Constant:
    if level not in (0, 1):
        raise InvalidNetwork(f"a term gives the level {level}; only 0 and 1 can be read.")
    return Constant(level)


def _from_math(libsbml: Any, node: Any, names: dict[str, str]) -> Expression:
    if node is None:
        raise InvalidNetwork("a function term has no formula.")
    compare: dict[int, Callable[[int, int], bool]] = {
        libsbml.AST_RELATIONAL_EQ: operator.eq,
        libsbml.AST_RELATIONAL_NEQ: operator.ne,
        libsbml.AST_RELATIONAL_GEQ: operator.ge,
        libsbml.AST_RELATIONAL_GT: operator.gt,
        libsbml.AST_RELATIONAL_LEQ: operator.le,
        libsbml.AST_RELATIONAL_LT: operator.lt,
    }
    kind = node.getType()
    children = [node.getChild(i) for i in range(node.getNumChildren())]
    if kind in compare and len(children) == 2:
        left, right = (_values(libsbml, child, names) for child in children)
        when = [int(compare[kind](left[1][x], right[1][x])) for x in (0, 1)]
        gene = left[0] or right[0]
        if left[0] and right[0]:
            raise InvalidNetwork("a formula compares two species with each other.")
        if when[0] == when[1]:
            return Constant(when[0])
        return Gene(str(gene)) if when[1] else negation(Gene(str(gene)))
    if kind == libsbml.AST_CONSTANT_TRUE or kind == libsbml.AST_CONSTANT_FALSE:
        return Constant(int(kind == libsbml.AST_CONSTANT_TRUE))
    parts = [_from_math(libsbml, child, names) for child in children]
    if kind == libsbml.AST_LOGICAL_AND:
        return all_of(parts)
    if kind == libsbml.AST_LOGICAL_OR:
        return any_of(parts)
    if kind == libsbml.AST_LOGICAL_NOT and len(parts) == 1:
        return negation(parts[0])
    raise InvalidNetwork(
        f"cannot read the formula {libsbml.formulaToL3String(node)!r}: expected and, or, not, and "
        "comparisons of a species with a level."
    )


def _values(libsbml: Any, node: Any, names: dict[str, str]) -> tuple[str | None, tuple[int, int]]:
    """One side of a comparison: a species with its two levels, or a number."""
    if node.getType() == libsbml.AST_INTEGER:
        return None, (node.getInteger(), node.getInteger())
    if node.getType() == libsbml.AST_NAME and node.getName() in names:
        return names[node.getName()], (0, 1)
    raise InvalidNetwork(
        f"expected a species or a whole number in a comparison, got "
        f"{libsbml.formulaToL3String(node)!r}."
    )


def format_sbml(network: BooleanNetwork) -> str:
    """The text of an SBML-qual file (level 3, version 1).

    A gene whose name is no SBML identifier gets one; its name is kept as the species' name.
    """
    libsbml = _libsbml()
    document = libsbml.SBMLDocument(libsbml.SBMLNamespaces(3, 1, "qual", 1))
    document.setPackageRequired("qual", True)
    model = document.createModel()
    model.setId("network")
    compartment = model.createCompartment()
    compartment.setId("cell")
    compartment.setConstant(True)
    qual = model.getPlugin("qual")
    identifiers = _identifiers(network.genes)
    for gene in network.genes:
        species = qual.createQualitativeSpecies()
        species.setId(identifiers[gene])
        species.setName(gene)
        species.setCompartment("cell")
        species.setConstant(False)
        species.setMaxLevel(1)
    for gene, function in network.functions.items():
        if function == Gene(gene):
            continue
        transition = qual.createTransition()
        transition.setId(f"transition_{identifiers[gene]}")
        # Under rule 18 a gene looks at itself without being its own regulator.
        inputs = {**signs_of(function), **network.regulators(gene)}
        for regulator, sign in inputs.items():
            source = transition.createInput()
            source.setId(f"input_{identifiers[regulator]}_of_{identifiers[gene]}")
            source.setQualitativeSpecies(identifiers[regulator])
            source.setTransitionEffect(libsbml.INPUT_TRANSITION_EFFECT_NONE)
            signs = (libsbml.INPUT_SIGN_DUAL, libsbml.INPUT_SIGN_POSITIVE)
            source.setSign(libsbml.INPUT_SIGN_NEGATIVE if sign < 0 else signs[sign])
        output = transition.createOutput()
        output.setQualitativeSpecies(identifiers[gene])
        output.setTransitionEffect(libsbml.OUTPUT_TRANSITION_EFFECT_ASSIGNMENT_LEVEL)
        default = transition.createDefaultTerm()
        default.setResultLevel(function.value if isinstance(function, Constant) else 0)
        if not isinstance(function, Constant):
            term = transition.createFunctionTerm()
            term.setResultLevel(1)
            term.setMath(_to_math(libsbml, without_thresholds(function), identifiers))
    return str(libsbml.writeSBMLToString(document))


def _identifiers(genes: tuple[str, ...]) -> dict[str, str]:
    """An SBML identifier for each gene: its name, with ``_`` for what is not allowed."""
    identifiers: dict[str, str] = {}
    taken: set[str] = set()
    for gene in genes:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", gene)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
        while plain in taken:
            plain += "_"
        taken.add(plain)
        identifiers[gene] = plain
    return identifiers


def _to_math(libsbml: Any, expression: Expression, identifiers: dict[str, str]) -> Any:
    if isinstance(expression, Gene):
        node = libsbml.ASTNode(libsbml.AST_RELATIONAL_EQ)
        name, level = libsbml.ASTNode(libsbml.AST_NAME), libsbml.ASTNode(libsbml.AST_INTEGER)
        name.setName(identifiers[expression.name])
        level.setValue(1)
        node.addChild(name)
        node.addChild(level)
        return node
    if isinstance(expression, Not):
        node = libsbml.ASTNode(libsbml.AST_LOGICAL_NOT)
        node.addChild(_to_math(libsbml, expression.part, identifiers))
        return node
    assert isinstance(expression, AtLeast)  # constants stand alone
    conjunction = expression.count > 1
    node = libsbml.ASTNode(libsbml.AST_LOGICAL_AND if conjunction else libsbml.AST_LOGICAL_OR)
    for part in expression.parts:
        node.addChild(_to_math(libsbml, part, identifiers))
    return node
