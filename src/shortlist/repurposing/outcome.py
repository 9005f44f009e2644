"""The outcome of a screen: the shortlist beside the baseline, hit rates and AUC, a picture, files.

Also what the guarantee rests on, and how far the simulated means are from linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlist.errors import InvalidExpression, InvalidSetting
from shortlist.files.cells import csv_of
from shortlist.files.writing import write_file
from shortlist.printable import printable
from shortlist.repurposing.expression.assay import check_distinct
from shortlist.repurposing.screen import SIGMA, DrugScreen
from shortlist.study.answer import estimated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortlist.study.study import Study


DRAWN = 40  # drugs in a picture at most
TABLE, PICTURE = "drugs.csv", "rewards"  # names in the folder; the picture is a PNG and an SVG
RANKS = (1, 2, 5, 10)
FIGURES = ("mean", "estimate", "lower", "upper", "pulls", "simulated")  # of a drug on the list
CLEARLY = 4.0  # standard errors that chance does not explain, the largest of many drugs


@dataclass(frozen=True, eq=False)
class Outcome:
    """A study of a screen, and every drug simulated beside it.

    Attributes
    ----------
    screen : DrugScreen
        The environment.
    study : Study
        The study made by ``screen.study``, after it was run.
    rewards : array, drugs × patients × walks
        From ``screen.simulate``: the study did not see them; they serve to check it.

    Examples
    --------
    >>> from shortlist.repurposing import synthetic
    >>> screen = synthetic(seed=1).screen()
    >>> study = screen.study(m=5, epsilon=0.2)
    >>> _ = study.run(screen.objective, progress=False)
    >>> outcome = Outcome(screen, study, screen.simulate())
    >>> outcome.measures.loc[["study", "baseline"], "HR@5"].to_dict()
    {'study': 1.0, 'baseline': 0.2}
    """

    screen: DrugScreen
    study: Study
    rewards: NDArray[np.float64]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Every drug with the baseline's score and rank, and its label; the shortlist first."""
        table = self.study.table()
        table["simulated"] = self.rewards.mean(axis=(1, 2))
        table["baseline"] = self.screen.baseline()
        table["baseline_rank"] = table["baseline"].rank(ascending=False, method="min")
        table["label"] = self.screen.labels
        by = ["in_shortlist", str(estimated(table).name), "simulated"]
        return table.sort_values(by, ascending=False)

    @cached_property
    def measures(self) -> pd.DataFrame:
        """HR@r and AUC of the study's estimates, of the simulated means and of the baseline."""
        scores = {name: self.table[name] for name in ("simulated", "baseline")}
        scores = {"study": estimated(self.table), **scores}
        return measures(scores, self.table["label"])

    @property
    def notes(self) -> list[str]:
        """The sentences of ``assumptions``: what the guarantee rests on."""
        return assumptions(self.study, self.rewards)

    def ranking(self) -> pd.DataFrame:
        """The shortlist with its intervals, and the baseline's first drugs beside it."""
        own = self.table.loc[self.study.shortlist.names]
        other = self.table["baseline"].sort_values(ascending=False, kind="stable").head(len(own))
        columns = [each for each in FIGURES if each in own]
        return pd.DataFrame(
            {
                "shortlist": own.index,
                **{column: own[column].to_numpy() for column in columns},
                "baseline's": other.index.where(other.notna(), "–"),
                "score": other.to_numpy(),
            },
            index=range(1, len(own) + 1),
        )

    def __str__(self) -> str:
        answer = self.study.shortlist
        _, patients, walks = self.rewards.shape
        ranking = self.ranking().to_string(float_format="{:.3f}".format)
        text = [
            ranking if answer.names else "No shortlist yet: the initial pulls are not done.",
            f"(simulated: every drug on all {patients} patients, {walks} walks each, not seen by "
            "the study; baseline: L1000 CDS²)",
            "",
            answer.guarantee.short,
            *self.notes,
        ]
        if len(self.measures):
            text += ["", self.measures.to_string(float_format="{:.3f}".format)]
        elif (self.screen.labels != 0).any():
            text += [
                "",
                "Hit rates and AUC are not available: they need scored drugs that are known to "
                "work (label 1) and scored drugs that are known not to (−1).",
            ]
        return printable("\n".join(text))

    def to_dict(self) -> dict[str, Any]:
        """The outcome as a dictionary for JSON."""
        answer = self.study.shortlist
        table = self.table.astype(object).where(self.table.notna(), None)
        return {
            "shortlist": list(answer.names),
            "final": answer.final,
            "evaluations": answer.evaluations,
            "guarantee": answer.guarantee.to_dict(),
            "assumptions": self.notes,
            "measures": self.measures.to_dict(orient="index"),
            "drugs": table.reset_index().to_dict(orient="records"),
        }

    def figure(self) -> Figure:
        """Box plots of the simulated rewards by drug, coloured by label, the baseline as a line.

        With more than 40 drugs it shows the shortlist, then those with a label, then the best.
        """
        from shortlist import plot

        table = self.table
        wanted = table.assign(known=table["label"] != 0).sort_values(
            ["in_shortlist", "known", str(estimated(table).name)], ascending=False
        )
        drawn = wanted.index[:DRAWN]
        rewards = dict(zip(self.screen.drugs, self.rewards, strict=True))
        _, patients, walks = self.rewards.shape
        title = f"{len(drawn)} of {len(table)} drugs, {patients} patients × {walks} walks"
        if len(self.measures):
            r = max(column for column in ("HR@1", "HR@2", "HR@5") if column in self.measures)
            for row in self.measures.index.intersection(["study", "baseline"]):
                title += f"; {r} {float(self.measures[r][row]):.2g} ({row})"
        return plot.rewards(
            {drug: rewards[drug] for drug in drawn},
            labels={drug: float(table.loc[drug, "label"]) for drug in drawn},
            baseline={drug: float(table.loc[drug, "baseline"]) for drug in drawn},
            shortlist=list(map(str, self.study.shortlist.names)),
            title=title,
        )

    def write(self, folder: str | PathLike[str], *, replace: bool = True) -> Path:
        """Write the table to ``drugs.csv``; if not ``replace``, not over another table."""
        table = csv_of(self.table, index_label="drug")
        return write_file(Path(folder) / TABLE, table, replace=replace)

    def draw(self, folder: str | PathLike[str], *, replace: bool = True) -> list[Path]:
        """Write the picture to ``rewards.png`` and ``rewards.svg``; needs the extra ``plot``."""
        from shortlist import plot

        return plot.save(self.figure(), Path(folder) / PICTURE, replace=replace)


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


def assumptions(study: Study, rewards: NDArray[np.float64]) -> list[str]:
    """What the guarantee of a screen's study rests on, sentence by sentence.

    The rewards, from ``DrugScreen.simulate``, show the misfit of the linear model.
    """
    problem, relation = study.problem, study.procedure.relation
    noise = study.procedure.noise
    words = [f"Noise: a reward lies in [0, 1]. {noise.explanation}"]
    if noise.uses_sigma and not noise.needs_replicates:
        holds = "is your own assumption: only 0.5 or more is proven"
        words = [
            "Noise: a reward lies in [0, 1] and is ½-sub-Gaussian whatever its distribution, so "
            f"{noise.figure} {'holds' if noise.sigma >= SIGMA else holds}."
        ]
    if not relation.uses_features:
        used = "features only helped to guess" if relation.guide else "no features were used"
        return [*words, f"Means: nothing is assumed about them; {used}."]
    if problem.rank == problem.arms:
        return [
            *words,
            f"Means: the features have rank {problem.rank}, as many as there are drugs. The linear "
            "model fits any means: it assumes nothing, and one drug says nothing about another.",
        ]
    text = (
        f"Means: they are taken to be linear in {problem.rank} features. Nothing makes a "
        "simulator's means linear"
    )
    means = rewards.mean(axis=(1, 2))
    # Each patient is simulated as often as any other: only the walks are a sample.
    spread = rewards.std(axis=2, ddof=1) if rewards.shape[2] > 1 else np.full(1, np.nan)
    error = float(np.sqrt((spread**2).mean(axis=-1) / rewards[0].size).max())
    misfit = linear_misfit(problem.features, means)
    text += (
        f": the best linear model misses the simulated means (from {means.min():.3f} to "
        f"{means.max():.3f}, each with a standard error of up to {error:.3f}) by up to "
        f"{misfit:.3f}, "
    )
    contradicted = study.audit.rejection is not None or any(
        found.level == "warning" and found.name == "fit" for found in study.health()
    )
    if not misfit > CLEARLY * error and not contradicted:
        text += "which is no more than chance explains"
    elif misfit <= problem.epsilon / CLEARLY:
        text += "so the assumption does not hold exactly, but by far less than ε"
    else:
        text += (
            "so the assumption is violated, by an amount that is not small compared with "
            f"ε = {problem.epsilon:g}: do not rely on the guarantee"
        )
    return [*words, text + ". Without features nothing is assumed about the means (classical)."]


def hit_rate(scores: pd.Series[float], hits: pd.Series[bool], r: int) -> float:
    """HR@r: the share of hits among the r drugs of the highest scores.

    Among equal scores the first counts as higher.

    Parameters
    ----------
    scores : Series
        Drug → score.
    hits : Series
        Drug → whether it is known to work. Drugs without a score are passed over.
    r : int
        From 1 to the number of drugs.

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
        check_distinct(values.index, f"{what}: the drug")
        if values.isna().any():
            raise InvalidExpression(
                f"{what}: the drug {values.index[values.isna()][0]!r} has none; leave it out."
            )
    missing = scores.index.difference(hits.index)
    if len(missing):
        raise InvalidExpression(f"the drug {missing[0]!r} has a score, and hits does not name it.")
    return hits.reindex(scores.index).to_numpy(dtype=bool)
