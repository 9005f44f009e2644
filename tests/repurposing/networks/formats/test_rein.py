"""The ``.net`` and ``.spec`` files of RE:IN."""

from __future__ import annotations

from pathlib import Path

import pytest

from boolean import same_rules
from paths import DATA, needs_data
from shortlist.errors import InvalidNetwork
from shortlist.repurposing import AbstractNetwork, Experiment, read_abstract, read_experiments
from shortlist.repurposing.networks.formats import read, write
from shortlist.repurposing.networks.formats.rein import format_rein, parse_experiments, parse_rein
from shortlist.repurposing.networks.regulation import Regulation

# Files


def test_net_files_keep_their_choices() -> None:
    text = (
        "directive updates async;\ndirective length 20;\n"
        "A[](0..17); B[-]{}(1,3,5); C[-+]{}(19); \n"
        "A\tB\tpositive\toptional;\nB\tA\tnegative;\nC\tB\tnegative\toptional;\n"
    )
    found = parse_rein(text)
    assert format_rein(found) == text
    assert parse_rein("// hello\n" + text.replace("\n", " \r\n").replace("; ", ";\n")) == found
    network = found.network(rules={"A": 4, "B": 5}, edges=[("C", "B", -1)])
    assert network.regulations["B"] == Regulation((), ("C",), 5)
    assert dict(network.perturbations) == {"B": "-", "C": "-+"}
    with pytest.raises(InvalidNetwork, match="gene A needs one of the rules 0, 1"):
        found.network()
    with pytest.raises(InvalidNetwork, match="not one of the optional edges"):
        found.network(rules={"A": 4, "B": 5}, edges=[("A", "C", 1)])


# The paper's network


@needs_data
def test_the_paper_s_network_before_inference(tmp_path: Path) -> None:
    found = read_abstract(Path(str(DATA)) / "model1.net")
    assert len(found.genes) == 101
    assert found.genes[0] == "AAGAB"  # the byte-order mark is none of its letters
    assert sum(edge.optional for edge in found.edges) == len(found.edges) == 268
    assert set(found.rules.values()) == {tuple(range(18))}
    write(found, tmp_path / "a.net")
    assert read_abstract(tmp_path / "a.net") == found
    # The inferred network chose among these edges and rules.
    solution = read(Path(str(DATA)) / "report_model1_solution.net")
    rules = {gene: regulation.rule for gene, regulation in solution.regulations.items()}
    chosen = found.network(rules, [tuple(edge) for edge in solution.edges()])
    assert same_rules(chosen, solution)
    # The paper kept the strongly connected components with a perturbed gene: here that is all.
    assert [len(c) for c in found.components(containing=found.perturbations)] == [101]


SPEC = """// a comment; with a semicolon
#E1[0] |= $Down;   #E1[0] |= $Start;
#E1[4] |= $End;
fixpoint(#E1[4]);
#E2[0] |= $Start;

$Down :=
{ KO(A) = 1 and KO(B) = 0 and FE(C) = 1
};
$Start := { B = 1 and and.D = 0 };
$End := { B = 0 };
$Unused := { B = 1 and KO(B) = 1 };
"""


# .spec files


def test_a_spec_file_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "observations.spec"
    path.write_bytes(b"\xef\xbb\xbf" + SPEC.replace("and.D", "X.D").encode())
    assert read_experiments(path) == [
        Experiment("E1", {0: {"B": 1, "X.D": 0}, 4: {"B": 0}}, {"A": 0, "C": 1}, (4,)),
        Experiment("E2", {0: {"B": 1, "X.D": 0}}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#E[0] |= $S;\n\n#E[zero] |= $S;", r"x.spec, line 3: cannot read '#E\[zero\]"),
        ("#E[0] |= $S;\n$S := { A = 1 and\n B = 2 };", "x.spec, line 3: .* condition 'B = 2'"),
        (
            "#E[0] |= $S;\n$S := {\n A = 1 or B = 1 };",
            "line 3: cannot read the condition 'A = 1 or",
        ),
        ("$S := { A = 1 };\n$S := { A = 0 };", r"line 2: \$S is defined twice"),
        ("$S := { A = 1 };", "x.spec names no experiment"),
        ("#E[0] |= $S;\n$S := { A = 1 }", r"line 2: '\$S := \{ A = 1 \}' does not end with ';'"),
        ("#E[0] |= $T;", r"line 1: \$T is not defined"),
        ("#E[3] |= $S;\n$S := { KO(A) = 1 };", r"line 1: \$S perturbs genes at step 3"),
        (
            "#E[3] |= $S;\n#E[3] |= $T;\n$S := { A = 1 }; $T := { A = 0 };",
            r"line 2: #E\[3\] gives gene A both 0 and 1",
        ),
        ("#E[0] |= $S;\n$S := { KO(A) = 1 and FE(A) = 1 };", "line 2: a state gives gene A both"),
    ],
)
def test_bad_spec_lines_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidNetwork, match=message):
        parse_experiments(text, "x.spec")


def paper() -> tuple[AbstractNetwork, list[Experiment]]:
    folder = Path(str(DATA))
    return read_abstract(folder / "model1.net"), read_experiments(folder / "observations1.spec")


# The paper's experiments


@needs_data
def test_the_papers_experiments_are_read() -> None:
    candidate, experiments = paper()
    assert [e.clamps for e in experiments] == [{"CACNA1C": 0}, {"CDC42": 0}, {"KCNA2": 0}]
    for e, finals in zip(experiments, (21, 22, 34), strict=True):
        assert {step: len(seen) for step, seen in e.observations.items()} == {
            0: 66, 18: finals, 19: finals,
        }  # fmt: skip
        assert e.fixed_points == (19,)
        assert e.contradiction() is None
        assert set(e.genes) <= set(candidate.genes)
