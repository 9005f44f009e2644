"""Files of networks: what is written is read back, and bad files are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from boolean import SBML, STEADY, networks, ruled_networks, same_functions
from paths import DATA, needs_data
from shortlist.errors import InvalidNetwork, UnknownName
from shortlist.repurposing.networks.formats import read, write
from shortlist.repurposing.networks.network import BooleanNetwork

# Files


@pytest.mark.slow
@settings(STEADY, max_examples=25)
@given(network=ruled_networks())
def test_round_trips_of_ruled_networks(
    network: BooleanNetwork, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    write(network, folder / "a.net")
    assert read(folder / "a.net") == network
    write(read(folder / "a.net"), folder / "b.bnet")
    assert same_functions(read(folder / "b.bnet"), network)
    write(network, folder / "e.sif")
    assert read(folder / "e.sif").regulations == network.regulations
    write(network, folder / "d.sbml")
    assert same_functions(read(folder / "d.sbml"), network)
    # A gene that both activates and represses may have a function that no rule gives otherwise.
    if not any(set(r.activators) & set(r.repressors) for r in network.regulations.values()):
        write(read(folder / "b.bnet"), folder / "c.net")
        assert same_functions(read(folder / "c.net"), network)


@settings(STEADY, max_examples=25)
@given(network=networks(4))
def test_round_trips_of_any_network(
    network: BooleanNetwork, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    for name in ("a.bnet", "b.sbml", "c.xml"):
        write(network, folder / name)
        assert same_functions(read(folder / name), network)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.net", "A[](0);\nA\tC\tpositive;", "a.net, line 2: edge A → C names 'C'"),
        ("a.net", "A[](0);\nC\tA\tpositive;", "a.net, line 2: edge C → A names 'C'"),
        ("a.net", "A[](20);", "a.net, line 1: gene A: regulation rule must be .* 0 to 19, got 20"),
        ("a.net", "A[](-1);", "line 1: gene A: regulation rule .* got -1"),
        ("a.net", "A[](0..25);", "line 1: gene A: .* got 25"),
        ("a.net", "A[](four);", "line 1: gene A: expected rules as .* got 'four'"),
        ("a.net", "A[]();", "line 1: gene A: expected rules"),
        ("a.net", "A[](5..3);", "backwards"),
        ("a.net", "A[?](0);", "cannot read the gene"),
        ("a.net", "A[](0); A[](1);", "line 1: gene A is declared twice"),
        ("a.net", "A[](0);\n\nA\tA\tmaybe;", "line 3: cannot read"),
        ("a.net", "A[](0);\nA\tA\tpositive\tsure;", "line 2: cannot read"),
        (
            "a.net",
            "A[](0);\nA\tA\tpositive;\nA\tA\tpositive;",
            "line 3: edge A → A is listed twice",
        ),
        ("a.net", "A[](0);\nA\tA\tpositive", "line 2: .* does not end with ';'"),
        ("a.net", "directive length 20;", "declares no genes"),
        ("a.net", "A[](0..17);", "0 edges optional and the rules of 1 genes open.*read_abstract"),
        ("a.bnet", "A, B", "a.bnet, line 1: gene A depends on 'B'"),
        ("a.bnet", "targets, factors\nA, A &", "a.bnet, line 2: gene A: cannot read"),
        ("a.bnet", "A, 1\nA, 0", "line 2: gene A has two functions"),
        ("a.bnet", "A; 1", "line 1: expected 'gene, expression'"),
        ("a.bnet", "A, 1\nand, 1", "line 2: expected 'gene, expression'"),
        ("a.bnet", "# nothing", "no genes"),
        ("a.sif", "A 1 B", "no rules: put"),
        ("a.sbml", "hello", "a.sbml, line"),
        ("a.sbml", SBML[:200], "a.sbml, line"),
    ],
)
def test_bad_files_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidNetwork, match=message):
        read(tmp_path / name)


def test_files_that_are_not_networks(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"a\.txt.*\.bnet"):
        read(tmp_path / "a.txt")
    (tmp_path / "a.bnet").write_bytes(b"\xff\xfeA")
    with pytest.raises(InvalidNetwork, match="UTF-8"):
        read(tmp_path / "a.bnet")
    with pytest.raises(InvalidNetwork, match=r"\.sif files"):
        read(tmp_path / "a.bnet", rules=4)
    with pytest.raises(InvalidNetwork, match=r"gene A, B & C \| A & B"):
        write(BooleanNetwork({"A": "B & C | A & B", "B": "B", "C": "C"}), tmp_path / "a.net")


# The paper's network


@needs_data
def test_the_paper_s_network(tmp_path: Path) -> None:
    network = read(Path(str(DATA)) / "report_model1_solution.net")
    assert len(network) == 101
    edges = network.edges()
    assert [sum(e.sign == s for e in edges) for s in (1, -1)] == [79, 5]
    assert sum(not network.regulators(gene) for gene in network.genes) == 47
    assert len(network.percolate()) == 64
    modules = network.modules()
    assert (len(modules), sum(map(len, modules))) == (13, 37)
    assert set(network.perturbations) == {"SOD1", "SYT1", "CACNA1C", "KCNA2", "CDC42"}
    for name in ("a.net", "a.bnet", "a.sbml", "a.sif"):
        write(network, tmp_path / name)
        assert read(tmp_path / name).functions == network.functions
    assert read(tmp_path / "a.net") == network
