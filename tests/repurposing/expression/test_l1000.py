"""The choice of a drug's L1000 profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assays import write_gctx
from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.repurposing.expression.l1000 import Selection, read_selection, select_profiles
from shortlist.repurposing.expression.signatures import characteristic_direction

PLATE = "CPC006_A375_6H"


@pytest.fixture
def signatures() -> pd.DataFrame:
    rows = [
        # sig_id, pert_id, pert_iname, cell_id, tas, distil_ss
        ("CPC006_PC3_6H:BRD-D:10", "BRD-D", "diazepam", "PC3", 0.30, 9.0),
        (f"{PLATE}:BRD-D:10", "BRD-D", "diazepam", "A375", 0.10, 4.0),
        ("CPC014_A375_6H:BRD-D:3", "BRD-D", "diazepam", "A375", 0.70, 2.0),
        ("CPC020_A375_6H:BRD-D:1", "BRD-D", "diazepam", "A375", -666, -666),
        (f"{PLATE}:BRD-T:10", "BRD-T", "topiramate", "A375", 0.99, 9.9),
    ]
    names = ["sig_id", "pert_id", "pert_iname", "cell_id", "tas", "distil_ss"]
    return pd.DataFrame(rows, columns=names).assign(pert_dose=[10.0, 10, 3, 1, 10])


@pytest.fixture
def profiles() -> pd.DataFrame:
    def row(plate: str, copy: str, well: str, drug: str | None, dose: float) -> dict[str, Any]:
        return {
            "inst_id": f"{plate}_{copy}:{well}",
            "rna_plate": f"{plate}_{copy}",
            "cell_id": plate.split("_")[1],
            "pert_iname": drug or "DMSO",
            "pert_type": "trt_cp" if drug else "ctl_vehicle",
            "pert_dose": dose,
        }

    return pd.DataFrame(
        [
            row(PLATE, "X1", "A01", None, -666),
            row("CPC006_PC3_6H", "X1", "A01", None, -666),
            row("CPC006_PC3_6H", "X1", "B01", "diazepam", 10),
            row(PLATE, "X2", "B09", "diazepam", 3),  # the right plate, another dose
            row(PLATE, "X2", "B01", "diazepam", 10),
            row(PLATE, "X3", "B01", "diazepam", 10),
            row(PLATE, "X4", "B01", "diazepam", 10),
            row(PLATE, "X2", "C01", "topiramate", 10),
            row(PLATE, "X3", "A01", None, -666),
            row(PLATE, "X2", "A02", None, -666),
            row(PLATE, "X2", "A01", None, -666),
            row("CPC014_A375_6H", "X1", "B01", "diazepam", 3),
        ]
    )


def test_selection_follows_the_paper(signatures: pd.DataFrame, profiles: pd.DataFrame) -> None:
    found = select_profiles(signatures, profiles, "diazepam")
    assert found == Selection(
        drug="diazepam",
        cell="A375",  # TAS 0.70 there, though PC3 has the largest distil_ss
        plate=PLATE,  # distil_ss 4.0, though another plate has the TAS
        signature=f"{PLATE}:BRD-D:10",
        treated=(f"{PLATE}_X2:B01", f"{PLATE}_X3:B01"),
        controls=(f"{PLATE}_X3:A01", f"{PLATE}_X2:A02"),  # X1 stands first, on another copy
    )
    assert select_profiles(signatures, profiles.assign(pert_id="BRD-D"), "BRD-D").cell == "A375"
    more = select_profiles(signatures, profiles, "diazepam", replicates=3)
    assert [len(more.treated), len(more.controls)] == [3, 3]
    # The profiles that a signature lists are taken at its word.
    listed = signatures.assign(distil_id=f"{PLATE}_X4:B01|{PLATE}_X3:B01")
    assert select_profiles(listed, profiles, "diazepam").treated == (
        f"{PLATE}_X3:B01",
        f"{PLATE}_X4:B01",
    )
    # Without a column of plates, the ids tell them; with brew_prefix, that does.
    bare = profiles.drop(columns="rna_plate")
    assert select_profiles(signatures, bare, "diazepam") == found
    other = profiles.rename(columns={"rna_plate": "det_plate"})
    assert select_profiles(signatures, other, "diazepam") == found
    prefix = signatures["sig_id"].str.split(":").str[0]
    assert select_profiles(signatures.assign(brew_prefix=prefix), profiles, "diazepam") == found


def test_selection_that_cannot_be_made(signatures: pd.DataFrame, profiles: pd.DataFrame) -> None:
    with pytest.raises(InvalidExpression, match="signatures has no row for the drug 'aspirin'"):
        select_profiles(signatures, profiles, "aspirin")
    with pytest.raises(InvalidExpression, match="signatures has no column tas, distil_ss; it has"):
        select_profiles(signatures.drop(columns=["tas", "distil_ss"]), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="profiles has no column pert_type"):
        select_profiles(signatures, profiles.drop(columns="pert_type"), "diazepam")
    with pytest.raises(InvalidExpression, match="neither pert_iname nor pert_id"):
        select_profiles(signatures.drop(columns=["pert_iname", "pert_id"]), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="diazepam: no signature has a known tas"):
        select_profiles(signatures.assign(tas=-666), profiles, "diazepam")
    with pytest.raises(InvalidExpression, match="has 1 profiles treated with topiramate; expecte"):
        select_profiles(signatures, profiles, "topiramate")
    few = profiles[(profiles["pert_type"] != "ctl_vehicle") | (profiles.index == 0)]
    with pytest.raises(InvalidExpression, match="has 1 profiles of the vehicle; expected 2"):
        select_profiles(signatures, few, "diazepam")
    with pytest.raises(InvalidExpression, match="signatures: its index repeats"):
        select_profiles(pd.concat([signatures, signatures]), profiles, "diazepam")
    with pytest.raises(InvalidSetting, match="replicates"):
        select_profiles(signatures, profiles, "diazepam", replicates=0)


@pytest.mark.usefixtures("forked_readers")
def test_from_gctx_to_a_signature(
    tmp_path: Path, signatures: pd.DataFrame, profiles: pd.DataFrame
) -> None:
    ids = profiles["inst_id"].tolist()
    rng = np.random.default_rng(0)
    level_3 = pd.DataFrame(rng.normal(8, 1, size=(50, len(ids))), range(1000, 1050), ids)
    level_3.loc[1007, profiles["pert_iname"].eq("diazepam").to_numpy()] += 9.0
    path = write_gctx(tmp_path / "level3.gctx", level_3)
    symbols = pd.Series({str(i): f"GENE{i}" for i in range(1000, 1040)})  # ten have no symbol

    selection = select_profiles(signatures, profiles, "diazepam")
    treated, controls = read_selection(path, selection, symbols=symbols)
    assert treated.columns.tolist() == list(selection.treated)
    assert controls.columns.tolist() == list(selection.controls)
    wanted = level_3.loc[:1039, list(selection.treated)].astype("f4").astype(float)
    np.testing.assert_array_equal(treated, wanted)
    assert treated.index[0] == "GENE1000"
    signature = characteristic_direction(treated, controls)
    assert signature.idxmax() == "GENE1007"
    by_id, _ = read_selection(path, selection)
    assert by_id.index[-1] == "1049"
    with pytest.raises(InvalidExpression, match="'nowhere' first; check that the metadata tables"):
        read_selection(path, selection._replace(treated=("nowhere",)))
