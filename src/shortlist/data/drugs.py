"""The drug instance of Figure 1c: ten drugs, 71 features, 18 recorded rewards each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.data.dataset import path
from shortlist.errors import unknown_name

if TYPE_CHECKING:
    from shortlist.simulation.instances import Instance

# What the columns of rewards_cosine_10drugs_18samples.csv contain, found by comparing them with the
# rewards in the .txt log, drug by drug; the file has no header. Antiepileptic drugs come first.
COLUMNS = (
    *("Hydroxyzine", "Acetazolamide", "Pentobarbital", "Topiramate", "Diazepam"),
    *("Dmcm", "Brucine", "Fipronil", "Flumazenil", "Fg-7142"),
)
# What the published runs took them for: the order in which the log goes through the drugs.
PUBLISHED_COLUMNS = (
    *("Acetazolamide", "Diazepam", "Pentobarbital", "Hydroxyzine", "Topiramate"),
    *("Fg-7142", "Flumazenil", "Fipronil", "Dmcm", "Brucine"),
)
READINGS = {"own": COLUMNS, "published": PUBLISHED_COLUMNS}


def drug_instance(*, columns: str = "own", m: int = 5, sigma: float = 0.5) -> Instance:
    """The drug-repurposing instance of the paper (Figure 1c).

    A pull of a drug returns one of its 18 recorded rewards. The features are the drug's
    column of ``epilepsy_signatures.csv``. They have rank 10, as many as there are drugs, so the
    linear model fits any means.

    Parameters
    ----------
    columns : {"own", "published"}
        Whose rewards a drug gets: its own, or those that it got in the published runs, which took
        the columns of the rewards to be in another order. There eight of the ten drugs have the
        rewards of another drug of their class (antiepileptic or proconvulsant).
    m, sigma
        As in the paper by default; the rewards' true standard deviation is far below σ = 0.5.

    Examples
    --------
    >>> drug_instance().means.round(3)[:3].tolist()  # doctest: +SKIP
    [0.491, 0.485, 0.482]
    >>> drug_instance(columns="publishd")
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown reading of the columns 'publishd': did you mean 'published'? Known: own, published.
    """
    if columns not in READINGS:
        raise unknown_name("reading of the columns", columns, READINGS)
    import numpy as np
    import pandas as pd

    from shortlist.simulation import instances

    names = list(COLUMNS)  # the arms stand in the same order in both readings
    drugs = pd.read_csv(path("epilepsy_scores.csv"), index_col=0)
    ids = {name: str(drug) for drug, name in drugs["drug_name"].items()}
    signatures = pd.read_csv(path("epilepsy_signatures.csv"), index_col=0)
    features = signatures[[ids[name] for name in names]].T.to_numpy()
    rewards = np.loadtxt(path("rewards_cosine_10drugs_18samples.csv"))
    order = [READINGS[columns].index(name) for name in names]
    return instances.recorded(
        features,
        rewards[:, order],
        m=m,
        sigma=sigma,
        arms=names,
        label="epilepsy" if columns == "own" else f"epilepsy ({columns} columns)",
    )
