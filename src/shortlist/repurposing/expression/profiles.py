"""Expression profiles: checked, normalised, binarised, masked (⋊) and compared by their cosine.

Expression is a DataFrame of numbers, genes × samples. A binary profile is a Series, gene → 0.0 or
1.0, and NaN where the paper writes ⊥ (undefined).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression
from shortlist.printable import first_names
from shortlist.repurposing.expression.assay import check_distinct

BINS = 20
FEW = 5  # a bin with this many genes or fewer is noise


def check_expression(expression: pd.DataFrame, what: str = "the expression") -> None:
    """Raise unless every gene occurs once and has a finite number in every sample."""
    if expression.shape[0] == 0 or expression.shape[1] == 0:
        raise InvalidExpression(
            f"{what}: {expression.shape[0]} genes × {expression.shape[1]} samples; "
            "expected at least one of each."
        )
    _check_genes(expression.index, what)
    values = to_numbers(expression, what)
    if not np.isfinite(values).all():
        gene, sample = np.argwhere(~np.isfinite(values))[0]
        raise InvalidExpression(
            f"{what}: gene {expression.index[gene]!r} has {values[gene, sample]} in sample "
            f"{expression.columns[sample]!r}: drop such genes, or fill them in, first."
        )


def to_numbers(expression: pd.DataFrame, what: str) -> NDArray[np.float64]:
    """The cells as floats, NaN where one is missing; raise for the first that is not a number."""
    try:
        return expression.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        bad = expression.apply(pd.to_numeric, errors="coerce").isna() & expression.notna()
        gene, sample = np.argwhere(bad.to_numpy())[0]
        raise InvalidExpression(
            f"{what}: gene {expression.index[gene]!r}, sample {expression.columns[sample]!r}: "
            f"expected a number, found {expression.iloc[gene, sample]!r}."
        ) from None


def _check_genes(genes: pd.Index, what: str) -> None:
    remedy = "; keep one row, as the paper does with the first: x[~x.index.duplicated()]"
    check_distinct(genes, f"{what}: the gene", remedy)


def quantile_normalize(expression: pd.DataFrame) -> pd.DataFrame:
    """Give all samples the same distribution: the mean, rank by rank, of those that they have.

    Genes that tie in a sample get the mean of the values that their ranks would get, so that the
    order of the genes does not matter.

    Parameters
    ----------
    expression : DataFrame
        Genes × samples, no value missing.

    Examples
    --------
    >>> raw = pd.DataFrame({"a": [5.0, 2.0, 3.0], "b": [4.0, 1.0, 6.0]}, index=["x", "y", "z"])
    >>> quantile_normalize(raw).to_numpy().tolist()
    [[5.5, 3.5], [1.5, 1.5], [3.5, 5.5]]
    """
    check_expression(expression)
    values = expression.to_numpy(dtype=float)
    target = np.sort(values, axis=0).mean(axis=1)
    normal = np.empty_like(values)
    for sample in range(values.shape[1]):
        _, tie, size = np.unique(values[:, sample], return_inverse=True, return_counts=True)
        starts = np.cumsum(size) - size
        normal[:, sample] = (np.add.reduceat(target, starts) / size)[tie]
    return pd.DataFrame(normal, index=expression.index, columns=expression.columns)


def restrict(
    profile: pd.Series[float], genes: Iterable[str], what: str = "the profile"
) -> pd.Series[float]:
    """A profile on the genes of a network, in their order; NaN where it says nothing.

    Examples
    --------
    >>> signature = pd.Series({"SNAP25": 1.0, "ACTB": 0.0})
    >>> restrict(signature, ["PAK1", "SNAP25"]).to_dict()
    {'PAK1': nan, 'SNAP25': 1.0}
    >>> restrict(signature, ["PAK1", "DNM1"], "the signature of Diazepam")
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidExpression: the signature of Diazepam has a value for none of the network's 2 genes (PAK1, DNM1): its own are SNAP25, ACTB; check that both name genes the same way.
    """
    _check_genes(profile.index, what)
    wanted = list(genes)
    restricted = profile.reindex(wanted).astype(float)
    if restricted.notna().any():
        return restricted
    raise InvalidExpression(
        f"{what} has a value for none of the network's {len(wanted)} genes ({_first_genes(wanted)}): its "
        f"own are {_first_genes(profile.dropna().index)}; check that both name genes the same way."
    )


def mask(profile: pd.Series[float], signature: pd.Series[float]) -> pd.Series[float]:
    """The mask ⋊, profile ⋊ signature: the signature's value where it has one, else the profile's.

    It mimics the immediate effect of a drug on a patient's genes, and makes the initial condition
    of a prediction.

    Parameters
    ----------
    profile, signature : Series
        Gene → 0, 1 or NaN.

    Returns
    -------
    Series
        Over the profile's genes, in their order, then those that only the signature has.

    Examples
    --------
    >>> patient = pd.Series({"SNAP25": 1.0, "PAK1": 0.0, "DNM1": float("nan")})
    >>> drug = pd.Series({"SNAP25": 0.0, "PAK1": float("nan")})
    >>> mask(patient, drug).to_dict()
    {'SNAP25': 0.0, 'PAK1': 0.0, 'DNM1': nan}
    """
    for values, what in ((profile, "the profile"), (signature, "the signature")):
        _check_genes(values.index, what)
        odd = values[values.notna() & ~values.isin([0.0, 1.0])]
        if len(odd):
            raise InvalidExpression(
                f"{what}: gene {odd.index[0]!r} is {odd.iloc[0]}; expected 0, 1 or NaN. Binarise "
                "it first (binarize_via_histogram, binary_direction)."
            )
    genes = profile.index.append(signature.index.difference(profile.index, sort=False))
    over = signature.reindex(genes)
    masked = over.where(over.notna(), profile.reindex(genes)).astype(float)
    masked.name = profile.name
    return masked


def cosine_score(x: pd.Series[float], y: pd.Series[float]) -> float:
    """The cosine of the angle between two profiles, on the genes where both have a value.

    It is 0 if one of them is zero on all these genes: such a profile points nowhere.

    Examples
    --------
    >>> wanted = pd.Series({"SNAP25": 1.0, "PAK1": 0.0, "DNM1": 1.0})
    >>> predicted = pd.Series({"DNM1": 1.0, "SNAP25": 0.0, "PAK1": 0.0, "CIT": 1.0})
    >>> round(cosine_score(wanted, predicted), 4)
    0.7071
    """
    for profile, what in ((x, "the first profile"), (y, "the second profile")):
        _check_genes(profile.index, what)
    known_x, known_y = x.dropna(), y.dropna()
    genes = known_x.index.intersection(known_y.index)
    if len(genes) == 0:
        raise InvalidExpression(
            f"the two profiles have no gene in common: one has values for {_first_genes(known_x.index)}, "
            f"the other for {_first_genes(known_y.index)}; check that both name genes the same way."
        )
    a, b = known_x[genes].to_numpy(dtype=float), known_y[genes].to_numpy(dtype=float)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        bad = genes[~(np.isfinite(a) & np.isfinite(b))][0]
        raise InvalidExpression(
            f"the gene {bad!r} has an infinite value: no angle can be measured."
        )
    # Scaled first, so that neither huge nor tiny numbers leave the range of floats when squared.
    scale_a, scale_b = np.abs(a).max(), np.abs(b).max()
    if scale_a == 0.0 or scale_b == 0.0:
        return 0.0
    a, b = a / scale_a, b / scale_b
    cosine = a @ b / (np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.clip(cosine, -1.0, 1.0))


def _first_genes(genes: Iterable[object]) -> str:
    return first_names(map(str, genes), 3) or "no gene"


def binarize_via_histogram(profile: pd.Series[float]) -> pd.Series[float]:
    """A profile as 0 (low), 1 (high) or NaN (undefined, the paper's ⊥).

    The values are counted in 20 bins, and bins of 5 genes or fewer are left out. The two most
    persistent peaks of the counts are taken, as topology has it: those that stand highest over
    the valley that parts them from a higher one. A gene up to the lower peak's bin is 0, from the
    upper peak's bin on it is 1, and in between it is undefined (``binarize_via_histogram`` of
    Appendix B). Where there is one peak alone, the bins next to it take the two places.

    Binarise a whole profile and restrict it to a network's genes afterwards: the histogram of a
    hundred genes says little.

    Parameters
    ----------
    profile : Series
        One value per gene. A gene without a value (NaN) stays undefined.

    Returns
    -------
    Series
        0.0, 1.0 or NaN, gene by gene.

    Raises
    ------
    InvalidExpression
        If all values are the same, or if no bin contains more than 5 genes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> values = np.concatenate([rng.normal(4, 1, 500), rng.normal(9, 1, 500)])
    >>> binary = binarize_via_histogram(pd.Series(values))
    >>> binary.value_counts(dropna=False).to_dict()
    {nan: 410, 1.0: 317, 0.0: 273}

    For several profiles, ``expression.apply(binarize_via_histogram)``.
    """
    values = np.asarray(profile, dtype=np.float64)
    low, high = _thresholds(values[~np.isnan(values)], profile.name)
    # A comparison with NaN is false, so that what is undefined stays so.
    binary = np.where(values < low, 0.0, np.where(values > high, 1.0, np.nan))
    return pd.Series(binary, index=profile.index, name=profile.name)


def _thresholds(values: NDArray[np.float64], name: object) -> tuple[float, float]:
    """The value below which a gene is off, and the one above which it is on."""
    which = "the profile" if name is None else f"the profile {str(name)!r}"
    if not np.isfinite(values).all():
        raise InvalidExpression(f"{which} has an infinite value: take it out, or mark it as NaN.")
    if values.size == 0 or values.min() == values.max():
        found = "has no value" if values.size == 0 else f"is {values[0]:g} for every gene"
        raise InvalidExpression(f"{which} {found}: a histogram of it has no peaks to tell apart.")
    counts, edges = np.histogram(values, bins=BINS)
    frequent = counts > FEW
    if not frequent.any():
        raise InvalidExpression(
            f"{which} has {values.size} values, but no bin of its histogram contains more than "
            f"{FEW} of them: binarise the whole profile, and restrict it to the network's genes "
            "after."
        )
    left = edges[:-1][frequent]
    peaks = _peaks(counts[frequent])[:2]
    if len(peaks) == 2:
        first, last = sorted(peaks)
        return float(left[first + 1]), float(left[last])
    peak, end = peaks[0], len(left) - 1
    high = float(left[min(peak + 1, end)])
    low = float(left[min(max(peak - 1, 0) + 1, end)])
    return low, high + float(edges.std()) if low == high else high


def _peaks(counts: NDArray[np.int64]) -> list[int]:
    """Positions of the peaks, most persistent first: 0-dimensional superlevel-set persistence.

    Bins are switched on from the fullest to the emptiest. A bin with no neighbour that is on
    starts a component, one between two components ends the lesser of them; on a tie, the left.
    Among equal bins the left one comes first: a level stretch on a rising flank thus starts a
    component that ends at once. It counts, as the last choice.
    """
    component = np.full(len(counts) + 2, -1)  # a border on both sides; a component is its peak
    persistence: dict[int, float] = {}
    for position in np.argsort(-counts, kind="stable").tolist():
        left, right = int(component[position]), int(component[position + 2])
        survivor = max(left, right)
        if survivor < 0:
            survivor = position
            persistence[position] = np.inf  # until it ends; the highest peak never does
        elif min(left, right) >= 0:
            survivor, ended = (left, right) if counts[left] > counts[right] else (right, left)
            persistence[ended] = float(counts[ended] - counts[position])
            component[component == ended] = survivor
        component[position + 1] = survivor
    return sorted(persistence, key=lambda peak: persistence[peak], reverse=True)


def cds2_score(signature: pd.Series[float], phenotype: pd.Series[float]) -> float:
    """1 − cosine(signature, phenotype), the score of L1000 CDS² (Duan et al. 2016).

    It lies in [0, 2]; the more a drug reverses the disease, the higher it is.

    Parameters
    ----------
    signature : Series
        The drug's real-valued signature, CD([treated || vehicle]).
    phenotype : Series
        The disease, CD([patients || controls]).

    Examples
    --------
    >>> disease = pd.Series({"SCN1A": 0.6, "GABRA1": -0.8})
    >>> round(cds2_score(-disease, disease), 12)
    2.0
    """
    return 1.0 - cosine_score(phenotype, signature)
