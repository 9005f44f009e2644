"""One table of expression, as a file of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

NAN = float("nan")

GENES, SAMPLES = ["SCN1A", "GABRA1", "KCNA2"], ["rep1", "rep2"]

WANTED = pd.DataFrame([[7.5, 7.25], [9.0, NAN], [-1.5, 3000.0]], GENES, SAMPLES)

CSV = "gene,rep1,rep2\nSCN1A,7.5,7.25\nGABRA1,9.0,\nKCNA2,-1.5,3e3\n"

GCT_2 = (
    "#1.2\n3\t2\nName\tDescription\trep1\trep2\n"
    "SCN1A\tsodium\t7.5\t7.25\nGABRA1\tGABA\t9\tNA\nKCNA2\t\t-1.5\t3000\n"
)

GCT_3 = (
    "#1.3\n3\t2\t2\t1\nid\tpr_gene_symbol\tlandmark\trep1\trep2\n"
    "cell_id\tna\tna\tA375\tPC3\n"
    "1\tSCN1A\t1\t7.5\t7.25\n2\tGABRA1\t0\t9\tNaN\n3\tKCNA2\t1\t-1.5\t3000\n"
)

GEO = (
    '!Series_title\t"The so-called "epilepsy" series"\n'
    '!Series_geo_accession\t"GSE77578"\n\n'
    '!Sample_title\t"first"\t"second"\n'
    '!Sample_characteristics_ch1\t"tissue: hippocampus"\t"tissue: cortex"\n'
    '!Sample_characteristics_ch1\t"dose: 3 µg"\t"dose: 0"\n'
    "!series_matrix_table_begin\n"
    '"ID_REF"\t"rep1"\t"rep2"\n'
    '"SCN1A"\t7.5\t7.25\n"GABRA1"\t9.0\tnull\n"KCNA2"\t-1.5\t3000\n'
    "!series_matrix_table_end\n"
)

HTML = "<!DOCTYPE html>\n<html><head><title>Not found</title></head></html>\n"


def write(folder: Path, text: str, name: str = "file.txt", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def same(found: pd.DataFrame, wanted: pd.DataFrame = WANTED) -> None:
    pd.testing.assert_frame_equal(
        found, wanted, check_column_type=False, check_index_type=False, check_names=True
    )


def write_gctx(
    path: Path,
    expression: pd.DataFrame = WANTED,
    rows: dict[str, Any] | None = None,
    columns: dict[str, Any] | None = None,
) -> Path:
    def put(group: str, name: str, values: Any) -> None:
        found = np.asarray(values)
        if found.dtype.kind not in "if":
            found = np.array([str(value).encode() for value in values])
        file.create_dataset(f"0/META/{group}/{name}", data=found)

    with h5py.File(path, "w") as file:
        file.create_dataset("0/DATA/0/matrix", data=expression.to_numpy().T.astype("f4"))
        for name, values in {"id": list(expression.index), **(rows or {})}.items():
            put("ROW", name, values)
        for name, values in {"id": list(expression.columns), **(columns or {})}.items():
            put("COL", name, values)
    return path


def gctx(path: Path, **parts: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, content in {
            "0/DATA/0/matrix": np.ones((2, 2), "f4"),
            "0/META/ROW/id": np.array([b"SCN1A", b"GABRA1"]),
            "0/META/COL/id": np.array([b"rep1", b"rep2"]),
            **parts,
        }.items():
            if content is not None:
                file[name] = content
    return path
