"""A screen beside its baseline: the table of drugs, hit rates and AUC, how linear the means are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.repurposing.baseline import auc, hit_rate
from shortlist.repurposing.screen import SIGMA, DrugScreen

if TYPE_CHECKING:
    from shortlist.study.study import Study

RANKS = (1, 2, 5, 10)
CLEARLY = 4.0  # standard errors that chance does not explain, the largest of many drugs


def drug_table(screen: DrugScreen, study: Study, rewards: NDArray[np.float64]) -> pd.DataFrame:
    """Every drug, the best estimate first.

    Parameters
    ----------
    screen : DrugScreen
        Whose drugs.
    study : Study
        Of ``screen.study``: pulls, mean, lower, upper, in_shortlist.
    rewards : array, drugs × patients × walks
        Of ``screen.simulate``: their means are ``simulated``.

    Returns
    -------
    DataFrame
        With the baseline's score and rank, and the label.
    """
    table = study.table().set_index("name")
    table["simulated"] = rewards.mean(axis=(1, 2))
    table["baseline"] = screen.baseline()
    table["baseline_rank"] = table["baseline"].rank(ascending=False, method="min")
    table["label"] = screen.labels
    return table.sort_values(["in_shortlist", "mean", "simulated"], ascending=False)


def measures(scores: Mapping[str, pd.Series[float]], labels: pd.Series[float]) -> pd.DataFrame:
    """HR@r and AUC of each score, over the drugs that are known to work or known not to.

    A drug that one of the scores lacks counts for none of them; a score that no drug has is left
    out. Without drugs of both kinds there is nothing to measure, and the table is empty.

    Examples
    --------
    >>> labels = pd.Series({"Diazepam": 1.0, "Dmcm": -1.0, "Aspirin": 0.0})
    >>> scores = {"screen": pd.Series({"Diazepam": 0.47, "Dmcm": 0.39, "Aspirin": 0.5})}
    >>> measures(scores, labels)
            drugs  HR@1  HR@2  AUC
    screen      2   1.0   0.5  1.0
    """
    known = labels[labels != 0].index
    scores = {name: score for name, score in scores.items() if score.notna().any()}
    for score in scores.values():
        known = known.intersection(score.dropna().index, sort=False)
    hits = labels[known] > 0
    if hits.nunique() < 2:
        return pd.DataFrame()
    rows = {}
    for name, score in scores.items():
        own = score[known]
        rates = {f"HR@{r}": hit_rate(own, hits, r) for r in RANKS if r <= len(known)}
        rows[name] = {"drugs": len(known), **rates, "AUC": auc(own, hits)}
    return pd.DataFrame.from_dict(rows, orient="index")


def linear_misfit(features: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """The largest distance of a mean from the linear model that fits the means best.

    Examples
    --------
    >>> round(linear_misfit(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([0, 1, 0])), 3)
    0.667
    """
    theta = np.linalg.lstsq(features, means, rcond=None)[0]
    return float(np.abs(features @ theta - means).max())


def assumptions(study: Study, rewards: NDArray[np.float64] | None = None) -> list[str]:
    """What the guarantee of a screen's study rests on, sentence by sentence.

    Parameters
    ----------
    study : Study
        Of ``DrugScreen.study``.
    rewards : array, drugs × patients × walks, optional
        Of ``DrugScreen.simulate``: with them the misfit of the linear model is told.
    """
    problem, setting = study.problem, study.bound.setting
    words = [
        f"Noise: a reward lies in [0, 1] and is ½-sub-Gaussian whatever its distribution, so "
        f"{problem.noise.figure} "
        + ("holds." if problem.sigma >= SIGMA else "is your claim: only 0.5 and more is proven.")
    ]
    if setting.classical:
        return [*words, "Means: nothing is assumed of them; no features were used."]
    if problem.rank == problem.arms:
        return [
            *words,
            f"Means: the features have rank {problem.rank}, as many as there are drugs. The linear "
            "model fits any means: it assumes nothing, and one drug teaches nothing about another.",
        ]
    text = (
        f"Means: they are taken to be linear in {problem.rank} features. Nothing makes a "
        "simulator's means linear"
    )
    if rewards is not None:
        means = rewards.mean(axis=(1, 2))
        # Each patient is simulated as often as any other: only the walks are a sample.
        spread = rewards.std(axis=2, ddof=1) if rewards.shape[2] > 1 else np.full(1, np.nan)
        noise = float(np.sqrt((spread**2).mean(axis=-1) / rewards[0].size).max())
        misfit = linear_misfit(problem.features, means)
        text += (
            f": the best linear model misses the simulated means (from {means.min():.3f} to "
            f"{means.max():.3f}, each with a standard error of up to {noise:.3f}) by up to "
            f"{misfit:.3f}, "
        )
        if not misfit > CLEARLY * noise:
            text += "which is no more than chance explains"
        elif misfit <= problem.epsilon / CLEARLY:
            text += "so the assumption does not hold exactly, but by far less than ε"
        else:
            text += (
                f"so the assumption does not hold, and not by far less than ε = {problem.epsilon:g}: "
                "do not rely on the guarantee"
            )
    return [*words, text + ". Without features nothing is assumed of the means (classical)."]
