"""Names of genes: symbols, and those that repeat."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from assays import CSV, GCT_2, NAN, same, write
from shortlist.errors import InvalidExpression
from shortlist.repurposing.expression.assay import DuplicatedGenes, rename_genes
from shortlist.repurposing.expression.readers import read_expression

# Text


def test_a_gene_without_a_symbol_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, GCT_2)
    assert read_expression(path, symbols="Description").index.tolist() == ["sodium", "GABA"]


def test_the_first_of_a_repeated_gene_is_kept_and_it_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, CSV + "SCN1A,1,1\nKCNA2,2,2\nSCN1A,3,3\n")
    with pytest.warns(DuplicatedGenes, match=r"file.txt: 3 of 6 rows repeat .*'SCN1A' first.*kept"):
        same(read_expression(path))


# Names of genes


def test_rename_genes() -> None:
    probes = pd.DataFrame({"s": [1.0, 2.0, 3.0, 4.0]}, index=["p1", "p2", "p3", "p4"])
    symbols = pd.Series({"p4": "SCN1A", "p2": "SCN1A", "p3": NAN, "p1": "KCNA2"})
    with pytest.warns(DuplicatedGenes, match="1 of 4 rows"):
        found = rename_genes(probes, symbols)
    assert found["s"].to_dict() == {"KCNA2": 1.0, "SCN1A": 2.0}  # the first row, not the first key
    with pytest.raises(InvalidExpression, match=r"no id .*'p1' …\) has a symbol in the table of 1"):
        rename_genes(probes, {"q": "SCN1A"})
