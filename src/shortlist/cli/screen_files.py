"""The files of a drug screen, read for the command line."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.cli.layout import say
from shortlist.cli.nearest import unknown_among

if TYPE_CHECKING:
    import pandas as pd


def read_screen(files: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a screen, its drugs named as the labels' file names them."""
    from shortlist import repurposing

    data: dict[str, Any] = {
        name: None if path is None else repurposing.read_expression(path)
        for name, path in files.items()
        if name not in ("network", "labels")
    }
    data["network"] = [repurposing.read(path) for path in files["network"]]
    data["labels"] = None
    if files["labels"] is not None:
        data["labels"], names = _read_labels(files["labels"])
        for name in ("signatures", "full_signatures", "features"):
            if data[name] is not None:
                data[name] = data[name].rename(columns=names)
    if data["features"] is not None:
        known = [drug for drug in data["signatures"] if drug in data["features"]]
        without = data["signatures"].shape[1] - len(known)
        if known and without:
            note(f"{without} drugs have no features and are left out.")
            data["signatures"] = data["signatures"][known]
            if data["labels"] is not None:
                data["labels"] = data["labels"][[d in known for d in data["labels"].index]]
    return data


def _read_labels(path: Path) -> tuple[pd.Series[float], dict[str, str]]:
    """Labels by drug, and the name of each drug where the file has a column for it."""
    import pandas as pd

    from shortlist.errors import InvalidExpression

    try:
        table = pd.read_csv(
            path, index_col=0, dtype=str, keep_default_na=False, sep=None, engine="python"
        )
    except (csv.Error, ValueError, UnicodeDecodeError) as error:
        raise InvalidExpression(f"{path}: this is not a table of labels ({error}).") from None
    if table.shape[1] == 0:
        raise InvalidExpression(f"{path}: expected a drug and its label on every line.")
    heading = [str(table.index.name or ""), str(table.columns[-1])]
    if heading[0] and pd.to_numeric(heading[1], errors="coerce") in (-1, 0, 1):
        raise InvalidExpression(
            f"{path}, line 1 reads {', '.join(heading)!r}, a drug and its label, where a heading is "
            "expected: put one above it, such as 'drug,label'."
        )
    table.index = table.index.map(str)
    labels = pd.to_numeric(table.iloc[:, -1], errors="coerce")
    bad = labels.isna() & (table.iloc[:, -1].str.strip() != "")
    if bad.any():
        raise InvalidExpression(
            f"{path}: the drug {table.index[bad][0]!r} has {table.iloc[:, -1][bad].iloc[0]!r} in the "
            "last column; expected 1, -1 or 0."
        )
    names = (
        {str(drug): str(name) for drug, name in table["drug_name"].items()}
        if "drug_name" in table.columns[:-1]
        else {}
    )
    if len(set(names.values())) < len(names):
        note(f"{path}: drug_name repeats a name, so drugs go by their first column.")
        names = {}
    return labels.rename(index=names), names


def select_drugs(data: dict[str, Any], drugs: str | None) -> None:
    """Keep the drugs that are asked for."""
    from shortlist.errors import InvalidSetting

    if drugs is None:
        return
    every = [str(drug) for drug in data["signatures"].columns]
    if drugs == "labelled":
        if data["labels"] is None:
            raise InvalidSetting("--drugs labelled needs --labels.")
        chosen = [drug for drug, label in data["labels"].items() if label in (-1, 1)]
    else:
        chosen = [name.strip() for name in drugs.split(",") if name.strip()]
    for drug in chosen:
        if drug not in every:
            raise unknown_among("drug", drug, every)
    data["signatures"] = data["signatures"][chosen]
    if data["labels"] is not None:
        data["labels"] = data["labels"].reindex(chosen)


def note(words: str) -> None:
    """A line on stderr that is no failure."""
    say("note: " + " ".join(words.split()), err=True)


@contextmanager
def noting_warnings() -> Iterator[None]:
    """Python's warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        note(str(warning.message))
