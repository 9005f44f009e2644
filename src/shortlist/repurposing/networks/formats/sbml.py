"""SBML-qual files, through libSBML (the extra ``sbml``)."""

from __future__ import annotations

import operator
import re
from importlib.util import find_spec
from typing import Any

from shortlist.errors import InvalidNetwork
from shortlist.files.sbml import read_model
from shortlist.repurposing.networks.logic import (
    FALSE,
    AtLeast,
    Constant,
    Expression,
    Gene,
    Not,
    all_of,
    any_of,
    is_name,
    negation,
    signs_of,
    without_thresholds,
)
from shortlist.repurposing.networks.network import BooleanNetwork

COMPARISONS = ("eq", "ne", "ge", "gt", "le", "lt")  # as the module operator has them


def _require_libsbml() -> None:
    if find_spec("libsbml") is None:
        raise ImportError("SBML needs libSBML: pip install 'shortlist[sbml]'.")


def parse_sbml(text: str, name: str = "network.sbml") -> BooleanNetwork:
    """Read an SBML-qual model whose species have the levels 0 and 1.

    Species without a transition are inputs, which keep their value. Genes carry the species'
    names where all have one of their own, else their identifiers.
    """
    _require_libsbml()
    model = read_model(text, name)
    for identifier, _, most in model["species"]:
        if most is not None and most > 1:
            raise InvalidNetwork(
                f"{name}: species {identifier} has levels up to {most}; only 0 and 1 can be read. "
                "Make the model Boolean first, for example with GINsim or bioLQM."
            )
    names = {identifier: called for identifier, called, _ in model["species"]}
    if not all(map(is_name, names.values())) or len(set(names.values())) < len(names):
        names = {identifier: identifier for identifier in names}
    for identifier in names.values():
        if not is_name(identifier):
            raise InvalidNetwork(f"{name}: {identifier!r} cannot be the name of a species.")
    functions: dict[str, Expression] = {names[i]: Gene(names[i]) for i in names}
    settled: set[str] = set()
    for transition in model["transitions"]:
        for output in transition["outputs"]:
            if output not in names:
                raise InvalidNetwork(f"{name}: a transition's output {output!r} is not a species.")
            if output in settled:
                raise InvalidNetwork(f"{name}: species {output} has two transitions.")
            settled.add(output)
            try:
                functions[names[output]] = _function(transition, names)
            except InvalidNetwork as error:
                raise InvalidNetwork(f"{name}: species {output}: {error}") from None
    return BooleanNetwork(functions)


def _function(transition: dict[str, Any], names: dict[str, str]) -> Expression:
    """The expression of a transition: the first term that is met gives the level."""
    if transition["default"] is None:
        raise InvalidNetwork("its transition has no default term.")
    function: Expression = FALSE
    for level, formula in reversed([*transition["terms"], (transition["default"], ["true"])]):
        met = _from_formula(formula, names)
        if level not in (0, 1):
            raise InvalidNetwork(f"a term gives the level {level}; only 0 and 1 can be read.")
        function = any_of([met, function]) if level else all_of([negation(met), function])
    return function


def _from_formula(formula: list[Any] | None, names: dict[str, str]) -> Expression:
    """An expression from a formula as lists; see ``shortlist.files.sbml``."""
    if formula is None:
        raise InvalidNetwork("a function term has no formula.")
    kind, *parts = formula
    if kind in COMPARISONS and len(parts) == 2:
        left, right = (_values(part, names) for part in parts)
        compare = getattr(operator, kind)
        when = [int(compare(left[1][x], right[1][x])) for x in (0, 1)]
        gene = left[0] or right[0]
        if left[0] and right[0]:
            raise InvalidNetwork("a formula compares two species with each other.")
        if when[0] == when[1]:
            return Constant(when[0])
        return Gene(str(gene)) if when[1] else negation(Gene(str(gene)))
    if kind in ("true", "false"):
        return Constant(int(kind == "true"))
    if kind in ("and", "or") or (kind == "not" and len(parts) == 1):
        inside = [_from_formula(part, names) for part in parts]
        if kind == "not":
            return negation(inside[0])
        return all_of(inside) if kind == "and" else any_of(inside)
    raise InvalidNetwork(
        f"cannot read the formula {_formula_text(formula)!r}: expected and, or, not, and comparisons of a "
        "species with a level."
    )


def _values(formula: list[Any] | None, names: dict[str, str]) -> tuple[str | None, tuple[int, int]]:
    """One side of a comparison: a species with its two levels, or a number."""
    if formula is not None and formula[0] == "number":
        return None, (formula[1], formula[1])
    if formula is not None and formula[0] == "name" and formula[1] in names:
        return names[formula[1]], (0, 1)
    raise InvalidNetwork(
        f"expected a species or a whole number in a comparison, got {_formula_text(formula)!r}."
    )


def _formula_text(formula: list[Any] | None) -> str:
    """A formula as text, for messages.

    Examples
    --------
    >>> _formula_text(["and", ["eq", ["name", "A"], ["number", 1]], ["unknown", "sin(x)"]])
    'and(eq(A, 1), sin(x))'
    """
    if formula is None:
        return ""
    kind, *parts = formula
    if kind in ("number", "name", "unknown"):
        return str(parts[0])
    return f"{kind}({', '.join(_formula_text(part) for part in parts)})"


def format_sbml(network: BooleanNetwork) -> str:
    """The text of an SBML-qual file (level 3, version 1).

    A gene whose name is not an SBML identifier gets one; its name is kept as the species' name.
    """
    _require_libsbml()
    import libsbml

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
    unavailable: set[str] = set()
    for gene in genes:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", gene)
        plain = plain if re.match(r"[A-Za-z_]", plain) else f"_{plain}"
        while plain in unavailable:
            plain += "_"
        unavailable.add(plain)
        identifiers[gene] = plain
    return identifiers


def _to_math(libsbml: Any, expression: Expression, identifiers: dict[str, str]) -> Any:
    if isinstance(expression, Gene):
        kind = libsbml.AST_RELATIONAL_EQ
        name, level = libsbml.ASTNode(libsbml.AST_NAME), libsbml.ASTNode(libsbml.AST_INTEGER)
        name.setName(identifiers[expression.name])
        level.setValue(1)
        children = [name, level]
    elif isinstance(expression, Not):
        kind = libsbml.AST_LOGICAL_NOT
        children = [_to_math(libsbml, expression.part, identifiers)]
    else:
        assert isinstance(expression, AtLeast)  # constants stand alone
        kind = libsbml.AST_LOGICAL_AND if expression.count > 1 else libsbml.AST_LOGICAL_OR
        children = [_to_math(libsbml, part, identifiers) for part in expression.parts]
    node = libsbml.ASTNode(kind)
    for child in children:
        node.addChild(child)
    return node
