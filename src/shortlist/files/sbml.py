"""SBML-qual models, as libSBML reads them."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from shortlist.errors import InvalidNetwork
from shortlist.files.reading import damaged

DEEPEST = 100  # formulas inside each other, as in every other format
ELEMENTS = 200  # of a file inside each other: a formula of this depth, and what is around it


def read_model(text: str, name: str) -> dict[str, Any]:
    """The species and transitions of a model; formulas are lists, operators first."""
    try:
        _check_harmless(name, text)
        return _model(text, name)
    except (ImportError, InvalidNetwork):
        raise
    except Exception as failure:  # a library that meets damaged text may raise anything
        raise damaged(name, failure, InvalidNetwork) from None


def _model(text: str, name: str) -> dict[str, Any]:
    import libsbml

    document = libsbml.readSBMLFromString(text)
    severe = (libsbml.LIBSBML_SEV_ERROR, libsbml.LIBSBML_SEV_FATAL)
    if any(map(document.getNumErrors, severe)):
        first = document.getErrorWithSeverity(0, libsbml.LIBSBML_SEV_ERROR) or document.getError(0)
        message = " ".join(first.getMessage().split())
        raise InvalidNetwork(f"{name}, line {first.getLine()}: {message}")
    model = document.getModel()
    qual = model.getPlugin("qual") if model else None
    if qual is None or not qual.getNumQualitativeSpecies():
        raise InvalidNetwork(f"{name} has no qualitative species: expected a model in SBML-qual.")
    operators = {
        libsbml.AST_RELATIONAL_EQ: "eq",
        libsbml.AST_RELATIONAL_NEQ: "ne",
        libsbml.AST_RELATIONAL_GEQ: "ge",
        libsbml.AST_RELATIONAL_GT: "gt",
        libsbml.AST_RELATIONAL_LEQ: "le",
        libsbml.AST_RELATIONAL_LT: "lt",
        libsbml.AST_LOGICAL_AND: "and",
        libsbml.AST_LOGICAL_OR: "or",
        libsbml.AST_LOGICAL_NOT: "not",
        libsbml.AST_CONSTANT_TRUE: "true",
        libsbml.AST_CONSTANT_FALSE: "false",
    }

    def formula(node: Any, depth: int = 0) -> Any:
        if node is None:
            return None
        if depth > DEEPEST:
            raise InvalidNetwork(f"{name}: a formula has more than {DEEPEST} levels.")
        kind = node.getType()
        if kind == libsbml.AST_INTEGER:
            return ["number", node.getInteger()]
        if kind == libsbml.AST_NAME:
            return ["name", node.getName()]
        if kind not in operators:
            return ["unknown", libsbml.formulaToL3String(node)]
        parts = [formula(node.getChild(i), depth + 1) for i in range(node.getNumChildren())]
        return [operators[kind], *parts]

    species = [qual.getQualitativeSpecies(i) for i in range(qual.getNumQualitativeSpecies())]
    transitions = []
    for i in range(qual.getNumTransitions()):
        one = qual.getTransition(i)
        default = one.getDefaultTerm()
        terms = [one.getFunctionTerm(k) for k in range(one.getNumFunctionTerms())]
        outputs = [one.getOutput(k) for k in range(one.getNumOutputs())]
        transitions.append(
            {
                "outputs": [output.getQualitativeSpecies() for output in outputs],
                "default": None if default is None else default.getResultLevel(),
                "terms": [[term.getResultLevel(), formula(term.getMath())] for term in terms],
            }
        )
    return {
        "species": [
            [one.getId(), one.getName(), one.getMaxLevel() if one.isSetMaxLevel() else None]
            for one in species
        ],
        "transitions": transitions,
    }


def _check_harmless(name: str, text: str) -> None:
    """Raise for what makes a parser of XML recurse or swell: deep nesting, and a DOCTYPE."""
    depth = 0

    def start(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > ELEMENTS:
            raise InvalidNetwork(
                f"{name}, line {parser.CurrentLineNumber}: more than {ELEMENTS} elements inside "
                f"each other; formulas may have {DEEPEST} levels."
            )

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def doctype(*_: object) -> None:
        raise InvalidNetwork(
            f"{name}, line {parser.CurrentLineNumber}: a DOCTYPE, which SBML does not have; remove "
            "it."
        )

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise InvalidNetwork(
            f"{name}, line {error.lineno}: this is not XML ({expat.ErrorString(error.code)})."
        ) from None
