"""SBML-qual files: ours, those of other tools, and those that cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from boolean import SBML, same_functions
from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.formats import read, write
from shortlist.repurposing.networks.network import BooleanNetwork
from shortlist.repurposing.networks.regulation import Regulation


def test_sbml_is_valid_and_keeps_names(tmp_path: Path) -> None:
    libsbml = pytest.importorskip("libsbml")
    network = BooleanNetwork(
        {"HLA-A": "HLA.A & !x", "HLA.A": "1", "x": "x", "y": "x & !y | y & !x"}
    )
    write(network, tmp_path / "a.sbml")
    document = libsbml.readSBMLFromFile(str(tmp_path / "a.sbml"))
    document.checkConsistency()
    assert document.getNumErrors(libsbml.LIBSBML_SEV_ERROR) == 0
    inputs = document.getModel().getPlugin("qual").getTransition(0)
    signs = {i.getQualitativeSpecies(): i.getSign() for i in inputs.getListOfInputs()}
    assert signs == {"HLA_A_": libsbml.INPUT_SIGN_POSITIVE, "x": libsbml.INPUT_SIGN_NEGATIVE}
    assert same_functions(read(tmp_path / "a.sbml"), network)
    rule_18 = BooleanNetwork.from_regulations(
        {"A": Regulation((), (), 9), "B": Regulation(("A",), (), 18)}
    )
    write(rule_18, tmp_path / "b.sbml")
    document = libsbml.readSBMLFromFile(str(tmp_path / "b.sbml"))  # owns all that is got from it
    listed = document.getModel().getPlugin("qual").getTransition(1).getListOfInputs()
    assert {one.getQualitativeSpecies() for one in listed} == {"A", "B"}


def comparison(name: str, left: str, right: str) -> str:
    return f"<{name}/>{left}{right}"


X, ONE, ZERO = "<ci>s2</ci>", '<cn type="integer">1</cn>', '<cn type="integer">0</cn>'


@pytest.mark.parametrize(
    ("formula", "function"),
    [
        (comparison("eq", X, ONE), "!s2"),
        (comparison("eq", ZERO, X), "s2"),
        (comparison("geq", X, ONE), "!s2"),
        (comparison("geq", ONE, X), "0"),
        (comparison("lt", X, ONE), "s2"),
        (comparison("neq", X, ZERO), "!s2"),
        (comparison("gt", X, ONE), "1"),
        (comparison("leq", X, ZERO), "s2"),
        (f"<not/><apply>{comparison('eq', X, ONE)}</apply>", "s2"),
    ],
)
def test_sbml_of_other_tools(formula: str, function: str, tmp_path: Path) -> None:
    (tmp_path / "a.sbml").write_text(SBML.format(level="", formula=formula))
    network = read(tmp_path / "a.sbml")
    assert str(network.functions["s1"]) == function
    assert str(network.functions["s2"]) == "s2"  # without a transition: an input


@pytest.mark.parametrize(
    ("level", "formula", "message"),
    [
        ('qual:maxLevel="2"', comparison("eq", X, ONE), "levels up to 2"),
        ("", f"<xor/><apply>{comparison('eq', X, ONE)}</apply>", "species s1: cannot read"),
        ("", comparison("eq", X, X), "two species"),
        ("", comparison("eq", "<ci>s9</ci>", ONE), "expected a species"),
    ],
)
def test_sbml_that_cannot_be_read(level: str, formula: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.sbml").write_text(SBML.format(level=level, formula=formula))
    with pytest.raises(InvalidNetwork, match=rf"a\.sbml.*{message}"):
        read(tmp_path / "a.sbml")


def test_a_missing_extra_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "libsbml", None)
    with pytest.raises(ImportError, match=r"SBML needs libSBML: pip install 'shortlist\[sbml\]'"):
        write(BooleanNetwork({"A": "1"}), tmp_path / "a.sbml")
