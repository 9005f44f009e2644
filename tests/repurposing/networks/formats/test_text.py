"""SIF files with their rules beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shortlist.errors import InvalidNetwork
from shortlist.repurposing.networks.formats import read


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        ("A 1 B\nA likes B", 8, "a.sif, line 2: expected 'source sign target'"),
        ("A 1", 8, "line 1: expected"),
        ("A 1 B\nA 1 B", 8, "line 2: edge A → B is listed twice"),
        ("A 1 B", {"A": 3}, "line 1: gene B has no rule"),
        ("A 1 B", 20, "0 to 19, got 20"),
        ("", 8, "no genes"),
    ],
)
def test_bad_sif(text: str, rules: int | dict[str, int], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.sif").write_text(text)
    with pytest.raises(InvalidNetwork, match=message):
        read(tmp_path / "a.sif", rules=rules)


def test_sif_takes_the_usual_signs_and_rules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.sif").write_text("A\tactivates\tB\tC\nB -| C\nlonely\n")
    (tmp_path / "a.noa").write_text("rule\nlonely = 9\nA = 0\nB = 4\nC = 2\n")
    network = read(tmp_path / "a.sif")
    assert network.genes == ("lonely", "A", "B", "C")
    assert str(network.functions["C"]) == "A & !B"
    assert str(read(tmp_path / "a.sif", rules=8).functions["lonely"]) == "0"
    (tmp_path / "a.noa").write_text("rule\nA = 99\n")
    with pytest.raises(InvalidNetwork, match=r"a\.noa, line 2: gene A: .* got 99"):
        read(tmp_path / "a.sif")
