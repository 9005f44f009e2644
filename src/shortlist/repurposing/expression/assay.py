"""An assay, which every reader returns: expression, and the annotation of genes and samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression, unknown_name


class DuplicatedGenes(UserWarning):
    """Rows were left out because their gene had been seen before."""


class Assay(NamedTuple):
    """Expression with its annotation."""

    expression: pd.DataFrame  # numbers, genes × samples; NaN where the file has none
    genes: pd.DataFrame  # what the file says of each gene; no column if nothing
    samples: pd.DataFrame  # what it says of each sample


def make_assay(
    values: NDArray[np.float64],
    genes: pd.DataFrame,
    samples: pd.DataFrame,
    source: object,
    symbols: str | None = None,
) -> Assay:
    """An assay from a matrix genes × samples and the annotation of both, each under its id.

    Genes are named by the field ``symbols`` of their annotation if that is given; those without a
    name are left out then. If several rows name the same gene, the first is kept, with a warning.
    """
    if values.shape != (len(genes), len(samples)):
        raise InvalidExpression(
            f"{source}: the matrix is {values.shape[0]} genes × {values.shape[1]} samples, and "
            f"{len(genes)} genes and {len(samples)} samples are named; the file is damaged."
        )
    if values.size == 0:
        raise InvalidExpression(
            f"{source}: {len(genes)} genes × {len(samples)} samples; there is nothing to read."
        )
    check_distinct(samples.index, f"{source}: the sample", "; rename one of them")
    if np.isinf(values).any():
        gene, sample = np.argwhere(np.isinf(values))[0]
        raise InvalidExpression(
            f"{source}: gene {genes.index[gene]!r}, sample {samples.index[sample]!r} is infinite; "
            "expected a number, or an empty cell where there is none."
        )
    names = genes.index
    if symbols is not None:
        if genes.shape[1] == 0:
            raise InvalidExpression(
                f"{source}: the file names genes by id alone and has no field {symbols!r}; read it "
                "without `symbols`, and use rename_genes with a table of the platform."
            )
        if symbols not in genes:
            raise unknown_name(f"field of the genes in {source}", symbols, map(str, genes.columns))
        names = pd.Index(genes[symbols].astype("string").fillna("").str.strip(), dtype=object)
    expression = pd.DataFrame(values, index=names, columns=samples.index)
    keep = _first_of_each(names, source)
    return Assay(
        expression[keep].rename_axis(index=None, columns=None),
        genes.set_index(names)[keep].rename_axis(index=None),
        samples.rename_axis(index=None),
    )


def check_distinct(names: pd.Index, what: str, remedy: str = "") -> None:
    """Raise for the first name that occurs twice; ``what`` comes before it."""
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        raise InvalidExpression(f"{what} {twice!r} occurs more than once{remedy}.")


def _first_of_each(names: pd.Index, source: object) -> NDArray[np.bool_]:
    """Which rows have a name that no earlier row has; warn if names repeat."""
    named = np.asarray(names.astype(str) != "", dtype=bool)
    again = np.asarray(names.duplicated(), dtype=bool) & named
    if again.any():
        warnings.warn(
            f"{source}: {int(again.sum()):,} of {len(names):,} rows repeat a gene that an earlier "
            f"row names ({names[again][0]!r} first); the first row of each gene is kept.",
            DuplicatedGenes,
            stacklevel=2,
        )
    keep: NDArray[np.bool_] = named & ~again
    if not keep.any():
        raise InvalidExpression(f"{source}: none of the {len(names)} rows has a gene's name.")
    return keep


def rename_genes(
    expression: pd.DataFrame, symbols: Mapping[str, str] | pd.Series[str]
) -> pd.DataFrame:
    """Expression by gene symbol instead of a platform's own ids (probes, Entrez numbers).

    Rows whose id has no symbol are left out. If a gene has several ids, its first row is kept, as
    in the paper, with a warning.

    Parameters
    ----------
    expression : DataFrame
        Ids × samples.
    symbols : mapping
        Id → symbol.

    Examples
    --------
    >>> raw = pd.DataFrame({"GSM1": [7.5, 8.1]}, index=["6323", "100"])
    >>> rename_genes(raw, {"6323": "SCN1A"})
           GSM1
    SCN1A   7.5
    """
    table = dict(symbols.items())
    own = [table.get(gene) for gene in expression.index]
    names = pd.Index(["" if pd.isna(name) else str(name).strip() for name in own], dtype=object)
    if not (names != "").any():
        raise InvalidExpression(
            f"no id of the expression ({expression.index[0]!r} …) has a symbol in the table of "
            f"{len(table)}; check that both contain the same kind of id, as text."
        )
    return expression.set_axis(names, axis=0)[_first_of_each(names, "the expression")]


def annotation(names: Sequence[str], fields: Mapping[str, object] | None = None) -> pd.DataFrame:
    """A table of annotation, under the names of what it describes."""
    return pd.DataFrame(dict(fields or {}), index=pd.Index(list(names), dtype=object))
