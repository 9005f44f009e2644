"""What a screen is given, checked: networks, signatures, features, labels."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from shortlist.errors import InvalidExpression, InvalidFeatures, InvalidNetwork, unknown_name
from shortlist.repurposing.expression import restrict, to_numbers
from shortlist.repurposing.network import BooleanNetwork
from shortlist.repurposing.phenotype import Semantics

WALKS = "walks 1"  # counted up when the same seed comes to give another walk


def aligned_networks(
    network: BooleanNetwork | Sequence[BooleanNetwork],
) -> tuple[BooleanNetwork, ...]:
    """One or more networks over the same genes, all in the order of the first.

    Examples
    --------
    >>> one, other = BooleanNetwork({"A": "B", "B": "A"}), BooleanNetwork({"B": "A", "A": "1"})
    >>> [each.genes for each in aligned_networks([one, other])]
    [('A', 'B'), ('A', 'B')]
    """
    networks = (network,) if isinstance(network, BooleanNetwork) else tuple(network)
    if not networks:
        raise InvalidNetwork("a screen needs at least one network, got none.")
    for each in networks:
        if not isinstance(each, BooleanNetwork):
            raise InvalidNetwork(
                f"expected a BooleanNetwork, got {type(each).__name__}: read a file with "
                "shortlist.repurposing.read."
            )
    genes = networks[0].genes
    for number, each in enumerate(networks[1:], 2):
        odd = set(genes) ^ set(each.genes)
        if odd:
            raise InvalidNetwork(
                f"networks 1 and {number} of the ensemble do not have the same genes: {min(odd)!r} "
                "is in one of them only."
            )
    return tuple(
        each if each.genes == genes else BooleanNetwork({g: each.functions[g] for g in genes})
        for each in networks
    )


def checked_signatures(signatures: pd.DataFrame, genes: Sequence[str]) -> pd.DataFrame:
    """Binary signatures on the network's genes, every drug with a value for one of them."""
    _check_names(signatures.columns, "the signatures", "drug")
    if signatures.shape[1] < 2:
        raise InvalidExpression(
            f"the signatures: {signatures.shape[1]} drugs; expected at least 2 to choose among."
        )
    values = to_numbers(signatures, "the signatures")
    odd = np.argwhere(~np.isnan(values) & (values != 0.0) & (values != 1.0))
    if len(odd):
        gene, drug = odd[0]
        raise InvalidExpression(
            f"the signatures: gene {signatures.index[gene]!r} is {values[gene, drug]:g} under the "
            f"drug {str(signatures.columns[drug])!r}; expected 0, 1 or nothing. Binarise them first "
            "(binary_direction); real-valued ones are full_signatures."
        )
    names = [str(drug) for drug in signatures.columns]
    table = pd.DataFrame(values, index=signatures.index, columns=names)
    return pd.DataFrame(
        {drug: restrict(table[drug], genes, f"the signature of {drug!r}") for drug in names}
    )


def checked_full_signatures(full: pd.DataFrame | None, signatures: pd.DataFrame) -> pd.DataFrame:
    """Real-valued signatures on the network's genes; by default the binary ones as −1 and 1."""
    if full is None:
        return 2.0 * signatures - 1.0
    _check_names(full.columns, "the full signatures", "drug")
    _check_names(full.index, "the full signatures", "gene")
    names = [str(drug) for drug in full.columns]
    table = pd.DataFrame(to_numbers(full, "the full signatures"), full.index, names)
    if not set(names) & set(signatures.columns):
        raise InvalidExpression(
            f"the full signatures have none of the drugs: theirs are {', '.join(_few(names, 3))}; "
            f"the signatures have {', '.join(_few(list(signatures.columns), 3))}."
        )
    return table.reindex(index=signatures.index, columns=signatures.columns)


def checked_features(features: pd.DataFrame | None, signatures: pd.DataFrame) -> pd.DataFrame:
    """Features × drugs, the drugs in order; by default the signatures, with 0.5 for nothing."""
    if features is None:
        return signatures.fillna(0.5)
    _check_names(features.columns, "the features", "drug")
    table = features.set_axis([str(drug) for drug in features.columns], axis=1)
    missing = [drug for drug in signatures.columns if drug not in table]
    if missing:
        raise InvalidFeatures(
            f"{len(missing)} of {signatures.shape[1]} drugs have no features, {missing[0]!r} first: "
            "expected one column a drug and one row a feature. Leave these drugs out of the "
            "signatures, or add their features."
        )
    return table[list(signatures.columns)]


def checked_labels(
    labels: pd.Series[float] | Mapping[str, float] | None, drugs: Sequence[str]
) -> pd.Series[float]:
    """Drug → 1 (works), −1 (does not) or 0 (unknown), for every drug.

    Examples
    --------
    >>> checked_labels({"Diazepam": 1}, ["Dmcm", "Diazepam"]).to_dict()
    {'Dmcm': 0.0, 'Diazepam': 1.0}
    >>> checked_labels({"Diazepan": 1}, ["Dmcm", "Diazepam"])
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown drug in the labels 'Diazepan': did you mean 'Diazepam'? Known: Dmcm, Diazepam.
    """
    given = pd.Series({} if labels is None else labels, dtype=object)
    given.index = given.index.map(str).rename(None)
    _check_names(given.index, "the labels", "drug")
    for drug, label in given.items():
        if drug not in drugs:
            raise unknown_name("drug in the labels", drug, _few(drugs))
        if not (pd.isna(label) or (isinstance(label, numbers.Real) and label in (-1, 0, 1))):
            raise InvalidExpression(
                f"the labels: the drug {drug!r} has {label!r}; expected 1 (known to work), -1 (known "
                "not to) or 0 (unknown)."
            )
    return given.reindex(list(drugs)).astype(float).fillna(0.0).rename("label")


def drug_index(drug: str | int, drugs: Sequence[str]) -> int:
    """The place of a drug that is named or counted."""
    if isinstance(drug, numbers.Integral) and 0 <= int(drug) < len(drugs):
        return int(drug)
    if drug not in drugs:
        raise unknown_name("drug", drug, _few(drugs))
    return drugs.index(str(drug))


def fingerprint(
    networks: Sequence[BooleanNetwork],
    differential: pd.Series[float],
    initial: pd.DataFrame,
    signatures: pd.DataFrame,
    semantics: Semantics,
) -> str:
    """Of all that rewards depend on, in 16 hexadecimal digits."""
    parts = [WALKS, repr(semantics), differential.to_csv(), initial.to_csv(), signatures.to_csv()]
    parts += [f"{gene}={each.functions[gene]!r}" for each in networks for gene in each.genes]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def check_patients(patients: pd.DataFrame) -> None:
    """Raise if two patients have the same name."""
    _check_names(patients.columns, "the patients", "sample")


def _check_names(names: pd.Index, where: str, what: str) -> None:
    names = names.map(str)
    if not names.is_unique:
        twice = names[names.duplicated()][0]
        raise InvalidExpression(f"{where}: the {what} {twice!r} occurs more than once: rename one.")


def _few(drugs: Sequence[str], shown: int = 12) -> list[str]:
    return [*drugs[:shown], f"… ({len(drugs)} in all)"] if len(drugs) > shown else list(drugs)
