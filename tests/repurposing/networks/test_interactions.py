"""Interactions from STRING, their signs, and candidate networks."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shortlist.errors import InvalidExpression, InvalidNetwork, InvalidSetting
from shortlist.repurposing import (
    Experiment,
    Interaction,
    SignedInteraction,
    candidate_network,
    infer,
    read_string,
    sign_interactions,
)
from shortlist.repurposing.networks.interactions import UnsignedInteractions

LINKS = """protein1 protein2 combined_score
9606.P1 9606.P2 900
9606.P2 9606.P1 900
9606.P1 9606.P3 399
9606.P3 9606.P4 650
"""

INFO = """#string_protein_id\tpreferred_name\tprotein_size\tannotation
9606.P1\tSNAP25\t206\tIt says: a, b
9606.P2\tSTXBP1\t603\tx
9606.P3\tCDC42\t191\tx
"""


def test_links_of_string_compressed_or_not(tmp_path: Path) -> None:
    links, info = tmp_path / "links.txt.gz", tmp_path / "info.txt"
    links.write_bytes(gzip.compress(LINKS.encode()))
    info.write_text(INFO)
    assert read_string(links, names=info) == [
        ("SNAP25", "STXBP1", 900),
        ("CDC42", "9606.P4", 650),
    ]
    assert read_string(links, names=info, minimum=700) == [("SNAP25", "STXBP1", 900)]
    wanted = read_string(links, names=info, genes=["SNAP25", "CDC42"], minimum=0)
    assert wanted == [("SNAP25", "CDC42", 399)]
    with pytest.raises(InvalidNetwork, match=r"between two of the 2 genes: lower minimum.*names="):
        read_string(links, genes=["SNAP25", "STXBP1"])


def test_an_export_of_string_has_scores_up_to_one(tmp_path: Path) -> None:
    path = tmp_path / "string_interactions.tsv"
    path.write_text(
        "#node1\tnode2\tnode1_string_id\tcombined_score\r\n"
        "PAK1\tCDC42\t9606.P\t0.999\r\nPAK1\tMCF2\t9606.P\t0.4\r\n\r\n"
    )
    assert read_string(path) == [("PAK1", "CDC42", 999), ("PAK1", "MCF2", 400)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protein1 protein2\nA B\n", "line 1: expected the columns protein1, protein2 and combin"),
        ("protein1 protein2 combined_score\nA B\n", "line 2: expected 3 cells, found 2"),
        ("protein1 protein2 combined_score\nA B high\n", "line 2: expected a score .* 'high'"),
        ("protein1 protein2 combined_score\nA B 1001\n", "line 2: expected a score .* '1001'"),
        ("protein1 protein2 combined_score\nA B nan\n", "line 2: expected a score .* 'nan'"),
        ("protein1 protein2 combined_score\n", "has no interaction with a score of 400"),
    ],
)
def test_bad_lines_of_string_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text)
    with pytest.raises(InvalidNetwork, match=message):
        read_string(path)


def test_a_bad_info_file_is_named(tmp_path: Path) -> None:
    links, info = tmp_path / "links.txt", tmp_path / "info.txt"
    links.write_text(LINKS)
    info.write_text("protein\tname\nA\tB\n")
    with pytest.raises(InvalidNetwork, match=r"info.txt, line 1: expected the columns string_pro"):
        read_string(links, names=info)
    info.write_text("#string_protein_id\tpreferred_name\n9606.P1\n")
    with pytest.raises(InvalidNetwork, match=r"info.txt, line 2: expected 2 cells, found 1"):
        read_string(links, names=info)
    with pytest.raises(InvalidSetting, match=r"minimum must be a whole score .* got 0\.4"):
        read_string(links, minimum=0.4)  # type: ignore[arg-type]
    links.write_bytes(gzip.compress(LINKS.encode())[:-9])
    with pytest.raises(InvalidExpression, match="cut short or damaged"):
        read_string(links)


def test_signs_are_those_of_the_correlations() -> None:
    rng = np.random.default_rng(3)
    genes = [f"G{i}" for i in range(8)]
    data = pd.DataFrame(rng.normal(size=(8, 20)) + 9, index=genes)
    pairs = [Interaction(a, b, 900) for a, b in itertools.combinations(genes, 2)]
    truth = pd.DataFrame(np.corrcoef(data.to_numpy()), index=genes, columns=genes)
    signed = sign_interactions(pairs, data)
    assert [(a, b) for a, b, _ in signed] == [(a, b) for a, b, _ in pairs]
    assert [r for *_, r in signed] == pytest.approx([truth.loc[a, b] for a, b, _ in pairs])
    assert {r > 0 for *_, r in signed} == {True, False}
    candidate = candidate_network(signed)
    assert len(candidate.edges) == 2 * len(pairs)
    for edge in candidate.edges:
        assert edge.optional
        assert edge.sign == np.sign(truth[edge.source].to_dict()[edge.target])


def test_interactions_without_a_sign_are_left_out_with_a_warning() -> None:
    data = pd.DataFrame(
        {"A": [1, 2, 3], "B": [1, 0, 1], "C": [3, 1, 2], "D": [5, 5, 5]}, dtype=float
    ).T
    pairs = [Interaction("A", other, 900) for other in "BCDE"]
    with pytest.warns(UnsignedInteractions, match=r"3 of 4 .* 2 of their genes \(D, E\)"):
        signed = sign_interactions(pairs, data)
    assert [pair[:2] for pair in signed] == [("A", "C")]
    assert signed[0].correlation == pytest.approx(-0.5)
    with pytest.raises(InvalidExpression, match="none of the 1 interactions gets a sign"):
        sign_interactions(pairs[3:], data)
    with pytest.raises(InvalidExpression, match="at least 3 samples, got 2"):
        sign_interactions(pairs, data.iloc[:, :2])
    with pytest.raises(InvalidExpression, match="'A' has nan in sample"):
        sign_interactions(pairs, data.where(data > 1))


def test_a_candidate_keeps_the_components_of_perturbed_genes() -> None:
    pairs = [
        SignedInteraction("A", "B", 0.5),
        SignedInteraction("B", "C", -0.5),
        SignedInteraction("X", "Y", 0.1),
    ]
    candidate = candidate_network(pairs, perturbations={"C": "-"}, rules=(0, 1))
    assert candidate.rules == {"A": (0, 1), "B": (0, 1), "C": (0, 1)}
    assert candidate.perturbations == {"C": "-"}
    assert {edge[:3] for edge in candidate.edges} == {
        ("A", "B", 1), ("B", "A", 1), ("B", "C", -1), ("C", "B", -1),
    }  # fmt: skip
    with pytest.raises(InvalidNetwork, match="perturbed gene 'Z' has no interaction"):
        candidate_network(pairs, perturbations={"Z": "-"})
    knocked = Experiment("C down", {0: {"B": 0}, 3: {"B": 1}}, {"C": 0}, (3,))
    assert infer(candidate_network(pairs, perturbations={"C": "-"}), [knocked], steps=4)
