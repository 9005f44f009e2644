"""Binarisation of a profile by the two main peaks of its histogram."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression

BINS = 20
FEW = 5  # a bin with this many genes or fewer is noise


def binarize_via_histogram(profile: pd.Series[float]) -> pd.Series[float]:
    """A profile as 0 (low), 1 (high) or NaN (undefined, the paper's ⊥).

    The values are counted in 20 bins, and bins of 5 genes or fewer are left out. Of the peaks of
    the counts the two most persistent are taken, as topology has it: those that stand highest over
    the valley that parts them from a higher one. A gene up to the lower peak's bin is 0, from the
    upper peak's bin on it is 1, and in between it is undefined (``binarize_via_histogram`` of
    Appendix B). Where there is one peak alone, the bins next to it take the two places.

    Binarise a whole profile and restrict it to a network's genes afterwards: the histogram of a
    hundred genes says little.

    Parameters
    ----------
    profile : Series
        One value a gene. A gene without a value (NaN) stays undefined.

    Returns
    -------
    Series
        0.0, 1.0 or NaN, gene by gene.

    Raises
    ------
    InvalidExpression
        If all values are the same, or if no bin holds more than 5 genes.

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
    """Below the first a gene is off, above the second it is on."""
    which = "the profile" if name is None else f"the profile {str(name)!r}"
    if not np.isfinite(values).all():
        raise InvalidExpression(f"{which} has an infinite value: take it out, or mark it as NaN.")
    if values.size == 0 or values.min() == values.max():
        found = "has no value" if values.size == 0 else f"is {values[0]:g} for every gene"
        raise InvalidExpression(f"{which} {found}: a histogram of it has no peaks to tell apart.")
    counts, edges = np.histogram(values, bins=BINS)
    kept = counts > FEW
    if not kept.any():
        raise InvalidExpression(
            f"{which} has {values.size} values, and no bin of its histogram holds more than {FEW} "
            "of them: binarise the whole profile, and restrict it to the network's genes after."
        )
    left = edges[:-1][kept]
    peaks = _peaks(counts[kept])[:2]
    if len(peaks) == 2:
        first, last = sorted(peaks)
        return float(left[first + 1]), float(left[last])
    peak, end = peaks[0], len(left) - 1
    high = float(left[min(peak + 1, end)])
    low = float(left[min(max(peak - 1, 0) + 1, end)])
    return low, high + float(edges.std()) if low == high else high


def _peaks(counts: NDArray[np.int64]) -> list[int]:
    """Where the peaks are, the most persistent first: 0-dimensional superlevel-set persistence.

    Bins are switched on from the fullest to the emptiest. A bin with no neighbour that is on
    starts a component, one between two components ends the lesser of them; on a tie, the left.
    Of equal bins the left one comes first: a level stretch on a rising flank thus starts a
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
