"""Which L1000 profiles make a drug's signature: the criteria of the paper's Appendix B.

The tables are those that LINCS publishes beside Level 3 (``sig_info``, ``sig_metrics``,
``inst_info``, ``gene_info``), as DataFrames; where they are missing a number, they have −666.
"""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.repurposing.expression.assay import rename_genes
from shortlist.repurposing.expression.readers import read_gctx

UNKNOWN = -666.0
VEHICLE = "ctl_vehicle"
PLATES = ("rna_plate", "det_plate")  # two releases, two names


class Selection(NamedTuple):
    """The profiles that a drug's signature is made of."""

    drug: str
    cell: str  # the cell line of its highest TAS
    plate: str  # the ``brew_prefix`` of its highest ``distil_ss`` there
    signature: str  # the ``sig_id`` that has it
    treated: tuple[str, ...]  # ids of Level 3 profiles, all of that plate
    controls: tuple[str, ...]


def select_profiles(
    signatures: pd.DataFrame, profiles: pd.DataFrame, drug: str, *, replicates: int = 2
) -> Selection:
    """The profiles for a drug, by the criteria of the paper.

    1. The cell line in which the drug has the highest transcriptional activity score (TAS).
    2. In it the plate (``brew_prefix``) of the drug's signature with the largest ``distil_ss``.
    3. From this plate two profiles with that treatment: one, and one replicate.
    4. And two of the vehicle, from the same copies of the plate as the treated ones if possible.

    Among equal values the first in its table is taken.

    Parameters
    ----------
    signatures : DataFrame
        ``sig_info`` joined with ``sig_metrics``: ``sig_id``, ``cell_id``, ``tas``, ``distil_ss``,
        ``pert_iname`` or ``pert_id``, and if there ``brew_prefix``, ``distil_id`` (the profiles of
        a signature, separated by bars), ``pert_dose``, ``pert_time``.
    profiles : DataFrame
        ``inst_info``: ``inst_id``, ``cell_id``, ``pert_type``, the same names of drugs, and
        ``brew_prefix``, ``rna_plate`` or ``det_plate``.
    drug : str
        Its ``pert_iname`` or ``pert_id``.
    replicates : int
        How many profiles of each kind.
    """
    if replicates < 1:
        raise InvalidSetting(f"replicates is {replicates}: expected at least 1 profile of a kind.")
    for table, what, columns in (
        (signatures, "the table of signatures", ("sig_id", "cell_id", "tas", "distil_ss")),
        (profiles, "the table of profiles", ("inst_id", "cell_id", "pert_type")),
    ):
        missing = [column for column in columns if column not in table]
        if missing:
            raise InvalidExpression(
                f"{what} has no column {', '.join(missing)}; it has {', '.join(map(str, table))}."
            )
        if not table.index.is_unique:
            raise InvalidExpression(f"{what}: its index repeats; use reset_index() first.")
    own = signatures[_named(signatures, drug, "the table of signatures")]
    cell = str(own.loc[_largest(own, "tas", drug), "cell_id"])
    there = own[own["cell_id"].astype(str) == cell]
    best = there.loc[_largest(there, "distil_ss", f"{drug} in {cell}")]
    plate = _prefixes(there)[best.name]

    on_plate = profiles[(_prefixes(profiles) == plate) & (profiles["cell_id"].astype(str) == cell)]
    treated = on_plate[_same_treatment(on_plate, best, drug)]
    vehicle = on_plate[on_plate["pert_type"] == VEHICLE]
    for found, what in ((treated, f"treated with {drug}"), (vehicle, "of the vehicle")):
        if len(found) < replicates:
            raise InvalidExpression(
                f"{drug}: plate {plate!r}, cell line {cell!r} has {len(found)} profiles {what}; "
                f"expected {replicates}. Is the table of profiles (inst_info) the one of the same "
                "release?"
            )
    chosen = treated.iloc[:replicates]
    copies = _copies(chosen)
    near = ~_copies(vehicle).isin(copies).to_numpy()
    controls = vehicle.iloc[np.argsort(near, kind="stable")].iloc[:replicates]
    ids = [tuple(kind["inst_id"].astype(str)) for kind in (chosen, controls)]
    return Selection(drug, cell, plate, str(best["sig_id"]), *ids)


def read_selection(
    path: str | PathLike[str], selection: Selection, *, symbols: pd.Series[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The treated and the control profiles of a selection, from a Level 3 GCTX file.

    Parameters
    ----------
    path : path
        The file; only the chosen profiles are read.
    selection : Selection
        From ``select_profiles``.
    symbols : Series, optional
        Id of a gene, as text → symbol, from ``gene_info``.

    Returns
    -------
    treated, controls : DataFrame
        Genes × profiles, for ``characteristic_direction(treated, controls)``.
    """
    chosen = [*selection.treated, *selection.controls]
    expression = read_gctx(path, samples=chosen).expression
    if symbols is not None:
        expression = rename_genes(expression, symbols)
    return expression[list(selection.treated)], expression[list(selection.controls)]


def _named(table: pd.DataFrame, drug: str, what: str) -> pd.Series[bool]:
    """Which rows are of the drug, by name or by id."""
    columns = [column for column in ("pert_iname", "pert_id") if column in table]
    if not columns:
        raise InvalidExpression(
            f"{what} has neither pert_iname nor pert_id, so the drug of each row is unknown."
        )
    rows = (table[columns].astype(str) == drug).any(axis=1)
    if not rows.any():
        raise InvalidExpression(f"{what} has no row for the drug {drug!r}.")
    return rows


def _largest(table: pd.DataFrame, column: str, what: str) -> Any:
    """The label of the first row with the largest known value of a column."""
    numbers = pd.to_numeric(table[column], errors="coerce")
    known = numbers[numbers.notna() & (numbers != UNKNOWN)]
    if known.empty:
        raise InvalidExpression(f"{what}: no signature has a known {column}.")
    return known.idxmax()


def _prefixes(table: pd.DataFrame) -> pd.Series[str]:
    """The brew_prefix of each row: CPC006_A375_6H of CPC006_A375_6H:BRD-…:10 or …_6H_X1_B3."""
    if "brew_prefix" in table:
        return table["brew_prefix"].astype(str)
    if "sig_id" in table:
        return table["sig_id"].astype(str).str.split(":").str[0]
    return _copies(table).str.split("_").str[:3].str.join("_")


def _copies(table: pd.DataFrame) -> pd.Series[str]:
    """The physical plate of each profile, one of several copies under one brew_prefix."""
    for column in PLATES:
        if column in table:
            return table[column].astype(str)
    return table["inst_id"].astype(str).str.split(":").str[0]


def _same_treatment(
    profiles: pd.DataFrame, signature: pd.Series[Any], drug: str
) -> pd.Series[bool]:
    """Which profiles are replicates of a signature: those it lists, else by drug, dose and time."""
    if "distil_id" in signature and isinstance(signature["distil_id"], str):
        return profiles["inst_id"].isin(signature["distil_id"].split("|"))
    same = _named(profiles, drug, "the table of profiles on the plate")
    for column in ("pert_dose", "pert_time"):
        if column in profiles and column in signature:
            same &= profiles[column].eq(signature[column])
    return same
