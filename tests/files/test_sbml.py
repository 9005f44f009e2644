"""SBML that is deep, or has entities."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist import repurposing
from shortlist.errors import InvalidNetwork

SBML = """<?xml version="1.0" encoding="UTF-8"?>{doctype}
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"
 xmlns:qual="http://www.sbml.org/sbml/level3/version1/qual/version1" qual:required="true">
<model><listOfCompartments><compartment id="c" constant="true"/></listOfCompartments>
<qual:listOfQualitativeSpecies>
<qual:qualitativeSpecies qual:compartment="c" qual:constant="false" qual:id="A" qual:maxLevel="1"/>
</qual:listOfQualitativeSpecies>
<qual:listOfTransitions><qual:transition qual:id="t"><qual:listOfOutputs><qual:output
 qual:qualitativeSpecies="A" qual:transitionEffect="assignmentLevel"/></qual:listOfOutputs>
<qual:listOfFunctionTerms><qual:defaultTerm qual:resultLevel="0"/>
<qual:functionTerm qual:resultLevel="1"><math xmlns="http://www.w3.org/1998/Math/MathML">{formula}
</math></qual:functionTerm></qual:listOfFunctionTerms></qual:transition></qual:listOfTransitions>
</model></sbml>"""

IS_ON = "<apply><eq/><ci>A</ci><cn type='integer'>1</cn></apply>"


@pytest.mark.parametrize("depth", [150, 2_000, 20_000, 200_000])
def test_deep_sbml_is_refused(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.sbml"
    formula = "<apply><not/>" * depth + IS_ON + "</apply>" * depth
    path.write_text(SBML.format(doctype="", formula=formula))
    with pytest.raises(InvalidNetwork, match=r"deep\.sbml.* levels"):
        repurposing.read(path)
    path.write_text(SBML.format(doctype="", formula="<apply><not/>" * depth))
    with pytest.raises(InvalidNetwork, match=r"deep\.sbml"):
        repurposing.read(path)


def test_sbml_as_deep_as_other_formats_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep.sbml"
    formula = "<apply><not/>" * 90 + IS_ON + "</apply>" * 90
    path.write_text(SBML.format(doctype="", formula=formula))
    assert repurposing.read(path).genes == ("A",)


def test_sbml_has_no_entities(tmp_path: Path) -> None:
    path = tmp_path / "a.sbml"
    lines = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    doctype = f'<!DOCTYPE sbml [<!ENTITY e0 "x">{lines}]>'
    path.write_text(SBML.format(doctype=doctype, formula=f"<ci>&e11;</ci>{IS_ON}"))
    with pytest.raises(InvalidNetwork, match="DOCTYPE"):
        repurposing.read(path)
    path.write_text(SBML.format(doctype='<!DOCTYPE x SYSTEM "file:///etc/passwd">', formula=IS_ON))
    with pytest.raises(InvalidNetwork, match="DOCTYPE"):
        repurposing.read(path)
