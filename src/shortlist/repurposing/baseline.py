"""The baseline L1000 CDS² (Algorithm 3), and how well scores put the right drugs first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.repurposing.expression import cosine_score


def cds2_score(signature: pd.Series[float], phenotype: pd.Series[float]) -> float:
    """1 − cosine(signature, phenotype), the score of L1000 CDS² (Duan et al. 2016).

    It lies in [0, 2]; the more a drug reverses the disease, the higher it is.

    Parameters
    ----------
    signature : Series
        The drug's real-valued signature, CD([treated || vehicle]).
    phenotype : Series
        The disease, CD([patients || controls]).

    Returns
    -------
    float

    Examples
    --------
    >>> disease = pd.Series({"SCN1A": 0.6, "GABRA1": -0.8})
    >>> round(cds2_score(-disease, disease), 12)
    2.0
    """
    return 1.0 - cosine_score(phenotype, signature)


def hit_rate(scores: pd.Series[float], hits: pd.Series[bool], r: int) -> float:
    """HR@r: the share of hits among the r drugs of the highest scores.

    Of equal scores the one that stands first counts as higher.

    Parameters
    ----------
    scores : Series
        Drug → score.
    hits : Series
        Drug → whether it is known to work. Drugs without a score are passed over.
    r : int
        From 1 to the number of drugs.

    Returns
    -------
    float

    Examples
    --------
    >>> scores = pd.Series({"Diazepam": 0.47, "Dmcm": 0.39, "Topiramate": 0.48})
    >>> hits = pd.Series({"Diazepam": True, "Topiramate": True, "Dmcm": False})
    >>> [round(hit_rate(scores, hits, r), 2) for r in (1, 3)]
    [1.0, 0.67]
    """
    known = _labels(scores, hits)
    if not 1 <= r <= len(scores):
        raise InvalidSetting(
            f"r is {r}: expected a rank from 1 to {len(scores)}, the scored drugs."
        )
    top = np.argsort(-scores.to_numpy(dtype=float), kind="stable")[:r]
    return float(known[top].mean())


def auc(scores: pd.Series[float], hits: pd.Series[bool]) -> float:
    """The chance that a hit has a higher score than another drug; equal scores count one half.

    Examples
    --------
    >>> scores = pd.Series({"Diazepam": 0.47, "Dmcm": 0.39, "Topiramate": 0.39})
    >>> auc(scores, pd.Series({"Diazepam": True, "Topiramate": True, "Dmcm": False}))
    0.75
    """
    known = _labels(scores, hits)
    values = scores.to_numpy(dtype=float)
    over = values[known][:, None] - values[~known][None, :]
    if over.size == 0:
        raise InvalidExpression(
            f"{int(known.sum())} of {len(known)} drugs are hits: an AUC needs some of each kind."
        )
    return float((over > 0).mean() + 0.5 * (over == 0).mean())


def _labels(scores: pd.Series[float], hits: pd.Series[bool]) -> np.ndarray:
    """Whether each scored drug is a hit."""
    for values, what in ((scores, "scores"), (hits, "hits")):
        if not values.index.is_unique:
            twice = values.index[values.index.duplicated()][0]
            raise InvalidExpression(f"{what}: the drug {twice!r} occurs more than once.")
        if values.isna().any():
            raise InvalidExpression(
                f"{what}: the drug {values.index[values.isna()][0]!r} has none; leave it out."
            )
    missing = scores.index.difference(hits.index)
    if len(missing):
        raise InvalidExpression(f"the drug {missing[0]!r} has a score, and hits does not name it.")
    return hits.reindex(scores.index).to_numpy(dtype=bool)
