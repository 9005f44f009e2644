"""What is true about the paper's epilepsy case: every figure of docs/drug-repurposing.md.

``python examples/epilepsy.py [PART ...]``; the parts are network, stored, rewards, files, linear and
inference. It needs the public data set: ``shortlist data fetch``, or the variable SHORTLIST_DATA.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd

from shortlist import data
from shortlist.data.drugs import COLUMNS
from shortlist.repurposing import (
    BooleanNetwork,
    DrugScreen,
    auc,
    count_fixed_points,
    hit_rate,
    infer,
    module_attractors,
    reachable_fixed_points,
    read,
    read_abstract,
    read_experiments,
    read_expression,
)
from shortlist.repurposing.outcome import linear_misfit

REPEATS = 1000


def table(name: str) -> pd.DataFrame:
    """A file of the data set; of duplicated genes the first is kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_expression(data.path(name))


def paper_network() -> BooleanNetwork:
    """The inferred network."""
    return read(data.path("report_model1_solution.net"))


def labels() -> pd.Series:
    """1 for antiepileptic, −1 for proconvulsant drugs, by name; 27 of them."""
    scores = pd.read_csv(data.path("epilepsy_scores.csv"), index_col="drug_name")["score"]
    return scores[scores != 0]


def screen(ids: list[str] | None = None, network: BooleanNetwork | None = None) -> DrugScreen:
    """The screen of the 27 drugs with a label, by name, or of others, by id."""
    known = labels()
    scores = pd.read_csv(data.path("epilepsy_scores.csv"), dtype=str, index_col=0)
    names = scores["drug_name"].to_dict() if ids is None else {}
    binary = table("epilepsy_signatures_binarized.csv").rename(columns=names)
    return DrugScreen(
        network or paper_network(),
        table("GSE77578_patients.csv"),
        table("GSE77578_controls.csv"),
        binary[list(known.index) if ids is None else ids],
        full_signatures=table("epilepsy_signatures_nonbinarized.csv").rename(columns=names),
        labels=known if ids is None else None,
    )


def stored_rewards() -> pd.DataFrame:
    """The published rewards, patients × drugs."""
    rewards = np.loadtxt(data.path("rewards_cosine_10drugs_18samples.csv"))
    return pd.DataFrame(rewards, columns=list(COLUMNS))


def network() -> None:
    """The attractors of the network."""
    net = paper_network()
    modules = net.modules()
    print(f"{len(net)} genes, {len(net.edges())} edges")
    print(f"{len(net.percolate())} genes percolate to constants")
    print(f"the other {sum(map(len, modules))} form {len(modules)} modules")
    found = module_attractors(net)
    cyclic = sum(len(states) > 1 for _, listed in found for states in listed)
    print(f"{count_fixed_points(net):,} fixed points, {cyclic} cyclic attractors")
    ours = screen()
    counts = []
    for drug in COLUMNS:
        for patient in ours.initial:
            start, _ = ours.semantics.start(net, ours.initial[patient], ours.signatures[drug])
            counts.append(len(reachable_fixed_points(net, start)))
    print(f"reachable from one masked state: median {np.median(counts):,.0f} of {len(counts)}")


def stored() -> None:
    """The value that the solver prefers."""
    values, known = stored_rewards(), labels()
    value = pd.Series(values.to_numpy().ravel().round(5)).mode()[0]
    for label, what in ((1, "antiepileptic"), (-1, "proconvulsant")):
        part = values[[drug for drug in values if known[drug] == label]].to_numpy()
        share = np.isclose(part, value, atol=5e-6).mean()
        print(f"{value:.5f} is the value of {share:.0%} of the stored {what} rewards")
    rates = ", ".join(f"HR@{r} {hit_rate(values.mean(), known > 0, r):.1f}" for r in (1, 2, 5))
    print(f"stored means of the ten drugs: {rates}")


def rewards() -> None:
    """The screen with stated semantics, against the stored rewards and the labels."""
    ours, known = screen(), labels()
    hits = known > 0
    goal = ours.differential
    print(f"D: {goal.notna().sum()} genes, {goal.sum():.0f} of them 1")
    values = ours.initial.notna().sum()
    print(f"genes with a value: {values.min()} to {values.max()} a patient", end="; ")
    masked = [
        (ours.initial[patient].notna() | ours.signatures[drug].notna()).sum()
        for patient in ours.initial
        for drug in COLUMNS
    ]
    print(f"{min(masked)} to {max(masked)} after the mask of one of the ten drugs")
    means = ours.rewards(REPEATS)
    print(f"asynchronous, free genes uniform, {REPEATS} walks of each drug and patient:")
    ten = means.loc[list(COLUMNS)]
    correlation = np.corrcoef(ten.T.to_numpy().ravel(), stored_rewards().to_numpy().ravel())[0, 1]
    print(f"  correlation with the 180 stored rewards: {correlation:.3f}")
    scores, baseline = means.mean(axis=1), ours.baseline()
    print(f"  mean rewards of the 27 drugs: {scores.min():.3f} to {scores.max():.3f}")
    for what, score in (("screen", scores), ("baseline", baseline)):
        few = score[list(COLUMNS)]
        rates = ", ".join(f"HR@{r} {hit_rate(few, hits, r):.1f}" for r in (1, 2, 5))
        print(f"  {what}: of ten drugs {rates}; of all {len(score)} AUC {auc(score, hits):.3f}")


def files() -> None:
    """Labels of genes and samples, and the linear model of the features."""
    features, real = table("epilepsy_signatures.csv"), table("epilepsy_signatures_nonbinarized.csv")
    alike = np.corrcoef(features, real[features.columns])[: len(features), len(features) :]
    same = np.argwhere(alike > 0.95)  # the next is at 0.53
    agree = sum(features.index[one] == real.index[other] for one, other in same)
    print(f"{len(same)} rows of the features match one of the non-binarized file, {agree} by label")
    for name in ("GSE77578_patients.csv", "GSE77578_controls.csv"):
        print(f"{name}: {table(name).columns[0]} …")
    instance = data.drug_instance()
    theta, *_ = np.linalg.lstsq(instance.features, instance.means, rcond=None)
    residual = np.abs(instance.features @ theta - instance.means).max()
    print(
        f"features of the ten drugs: rank {np.linalg.matrix_rank(instance.features)}; "
        f"θ of norm {np.linalg.norm(theta):.2f} fits their means to {residual:.0e}"
    )


def linear() -> None:
    """How far from linear the means of all 509 drugs are."""
    features = table("epilepsy_signatures.csv")
    ours = screen(list(features.columns))
    means = ours.rewards(100).mean(axis=1)
    print(f"means of {len(means)} drugs, from {means.min():.3f} to {means.max():.3f}")
    every = {
        "71 rows of epilepsy_signatures.csv": features.T,
        "the same and a constant": features.T.assign(constant=1.0),
        "binary signatures, 0.5 where missing": ours.features.T,
    }
    for what, matrix in every.items():
        x = matrix.to_numpy()
        misfit = linear_misfit(x, means.to_numpy())
        rank = np.linalg.matrix_rank(x)
        print(f"  {what}: rank {rank}, the best linear model misses a mean by {misfit:.3f}")


def inference() -> None:
    """Four networks that explain the experiments, and how they rank the 27 drugs; takes minutes."""
    candidate = read_abstract(data.path("model1.net"))
    experiments = read_experiments(data.path("observations1.spec"))
    found = infer(candidate, experiments, solutions=4, time_limit=600.0)
    print("edges:", ", ".join(str(len(one.edges)) for one in found))
    print("found after", ", ".join(f"{one.seconds:.0f} s" for one in found))
    means = [screen(network=one.network).rewards(100).mean(axis=1) for one in found]
    ranks = np.corrcoef([each.rank() for each in means])
    pairs = ranks[np.triu_indices(len(found), 1)]
    print(
        f"rank correlation of the drugs' means in two of them: {pairs.min():.2f} to {pairs.max():.2f}"
    )
    hits = labels() > 0
    print("AUC:", ", ".join(f"{auc(each, hits):.3f}" for each in means))


PARTS = {
    "network": network,
    "stored": stored,
    "rewards": rewards,
    "files": files,
    "linear": linear,
    "inference": inference,
}


def main() -> None:
    """Print the parts that are named, or all."""
    for name in sys.argv[1:] or PARTS:
        print(f"{name}: {PARTS[name].__doc__}")
        PARTS[name]()
        print()


if __name__ == "__main__":
    main()
