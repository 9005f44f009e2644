"""The drug screen: its pulls, the cache, bad input, the command, the paper's data."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forks
from command_line import run
from paths import DATA, ROOT, needs_data
from screens import small, switch_data
from shortlist.advice import read_by
from shortlist.cli.repurpose import Screening
from shortlist.data.drugs import COLUMNS
from shortlist.engine.seeds import run_seeds
from shortlist.errors import (
    IndistinguishableArms,
    InvalidExpression,
    InvalidFeatures,
    InvalidNetwork,
    InvalidSetting,
    UnknownName,
)
from shortlist.repurposing import (
    BooleanNetwork,
    DrugScreen,
    Semantics,
    auc,
    cds2_score,
    cosine_score,
    hit_rate,
    predict_phenotype,
    read,
    read_expression,
)
from shortlist.repurposing.outcome import assumptions, linear_misfit
from shortlist.repurposing.synthetic_data import DataSet

NAN = float("nan")
OWN = "Guess-and-verify (own results)"


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small(networks=2)


# Pulls


def test_an_exact_expectation() -> None:
    screen = DrugScreen(**switch_data())
    assert screen.differential.to_dict() == {"A": 0.0, "B": 0.0, "C": 1.0}
    assert (screen.initial.T == [1.0, 1.0, 0.0]).all(axis=None)
    means = screen.rewards(5000).mean(axis=1)
    # With A alone set, A and B are as likely to move first: half of the walks go back.
    assert means["half"] == pytest.approx(0.5, abs=0.015)
    assert means["both"] == 1.0
    assert means["late"] == 0.0
    held = DrugScreen(**switch_data(), semantics=Semantics(mask="clamp"))
    assert held.rewards(50).mean(axis=1)["half"] == 1.0


def test_a_pull_is_the_paper_s_algorithm(data: DataSet) -> None:
    screen = data.screen()
    seen = set()
    for seed in range(60):
        drug = screen.drugs[seed % len(screen.drugs)]
        patient, network, walk = run_seeds(seed, 3).tolist()
        patient, network = patient % 5, network % 2
        seen.add((patient, network))
        state = predict_phenotype(
            data.networks[network],
            screen.initial.iloc[:, patient],
            mask=screen.signatures[drug],
            seed=walk,
        )
        expected = cosine_score(screen.differential, state.astype(float))
        assert screen.reward(drug, seed) == pytest.approx(expected, abs=1e-12)
        assert screen.reward(seed % len(screen.drugs), seed) == screen.reward(drug, seed)
    assert len(seen) == 10  # every patient in every network


@pytest.mark.slow
def test_pulls_and_the_simulation_of_all_agree(data: DataSet) -> None:
    screen = data.screen(seed=3)
    rewards = screen.simulate(200)
    assert rewards.shape == (8, 5, 400)
    assert rewards.min() >= 0.0
    assert rewards.max() <= 1.0
    assert np.array_equal(rewards, screen.simulate(200))
    table = screen.rewards(200)
    assert np.allclose(table, rewards.mean(axis=2))
    assert list(table.index) == list(screen.drugs)
    for index in (0, 5):
        pulls = [screen.reward(index, seed) for seed in range(1500)]
        error = np.std(pulls) / np.sqrt(1500) + rewards[index].std() / np.sqrt(2000)
        assert np.mean(pulls) == pytest.approx(rewards[index].mean(), abs=4 * error + 1e-12)


@pytest.mark.slow
def test_an_ensemble_is_the_mean_of_its_networks() -> None:
    parts = switch_data()
    # Where A keeps its value, setting it is enough: 1 in this network, ½ in the other.
    sure = BooleanNetwork({"A": "A", "B": "A", "C": "!A"})
    screen = DrugScreen(**(parts | {"network": [parts["network"], sure]}))
    assert screen.rewards(5000).mean(axis=1)["half"] == pytest.approx(0.75, abs=0.01)
    pulls = [screen.reward("half", seed) for seed in range(1500)]
    assert np.mean(pulls) == pytest.approx(0.75, abs=0.05)


def test_an_ensemble_in_another_order_of_genes(data: DataSet) -> None:
    one = data.networks[0]
    turned = BooleanNetwork({gene: one.functions[gene] for gene in reversed(one.genes)})
    screens = [
        DrugScreen([one, second], data.patients, data.controls, data.signatures)
        for second in (one, turned)
    ]
    assert [screens[0].reward(0, s) for s in range(20)] == [
        screens[1].reward(0, s) for s in range(20)
    ]


def test_walks_that_never_settle_name_the_drug() -> None:
    parts = switch_data() | {"network": BooleanNetwork({"A": "!B", "B": "A", "C": "!A"})}
    with pytest.raises(InvalidSetting, match=r"a walk under 'half' met no fixed point in 50 steps"):
        DrugScreen(**parts, semantics=Semantics(max_steps=50)).reward("half", 0)
    with read_by(Screening()), pytest.raises(InvalidSetting, match="state count: --last-states"):
        DrugScreen(**parts, semantics=Semantics(max_steps=50)).reward("half", 0)
    assert "--last-states" in run("repurpose", "--help").stdout
    last = Semantics(max_steps=50, unsettled="last")
    assert 0.0 <= DrugScreen(**parts, semantics=last).reward("half", 0) <= 1.0


# Baseline, instance, study


def test_the_baseline_is_algorithm_3(data: DataSet) -> None:
    screen = data.screen(keep=1.0)
    genes = list(data.networks[0].genes)
    for drug, score in screen.baseline().items():
        direct = cds2_score(data.full_signatures[drug].reindex(genes), screen.disease)
        assert score == pytest.approx(direct, abs=1e-12)
    signs = data.screen(keep=1.0, full_signatures=None).baseline()
    drug = screen.drugs[0]
    direct = cds2_score(2.0 * screen.signatures[drug] - 1.0, screen.disease)
    assert signs[drug] == pytest.approx(direct, abs=1e-12)
    fewer = data.screen(full_signatures=data.full_signatures.drop(columns=drug)).baseline()
    assert fewer.isna().sum() == 1
    assert np.isnan(fewer[drug])
    # Drugs are named by text, whatever the tables hold.
    numbers = {name: number for number, name in enumerate(data.signatures)}
    renamed = [table.rename(columns=numbers) for table in (data.signatures, data.full_signatures)]
    other = DrugScreen(
        data.networks, data.patients, data.controls, renamed[0], full_signatures=renamed[1]
    )
    assert other.drugs[:2] == ("0", "1")
    assert other.baseline().tolist() == data.screen().baseline().tolist()


def test_an_instance_answers_with_the_simulated_rewards(data: DataSet) -> None:
    screen = data.screen()
    instance = screen.instance(2, repeats=7)
    assert instance.names == screen.drugs
    assert np.allclose(instance.means, screen.rewards(7).mean(axis=1))
    assert instance.rewards.table.shape == (5 * 2 * 7, 8)


def test_studies_with_and_without_features(data: DataSet) -> None:
    screen = data.screen(seed=11)
    linear, plain = screen.study(2, epsilon=0.2), screen.study(2, epsilon=0.2, classical=True)
    assert linear.seed == plain.seed == 11
    assert linear.problem.sigma == 0.5
    assert linear.procedure.name == "m-LinGapE"
    assert plain.procedure.name == "LUCB"
    rewards = screen.simulate(20)
    noise, means = assumptions(linear, rewards)
    assert "σ = 0.5 holds" in noise
    misfit = linear_misfit(screen.features.T.to_numpy(), rewards.mean(axis=(1, 2)))
    assert 0.001 < misfit < 0.2
    assert linear.problem.rank < 8
    assert f"linear in {linear.problem.rank} features" in means
    assert f"by up to {misfit:.3f}" in means
    assert "nothing is assumed about them" in assumptions(plain, rewards)[1]
    assert (
        "is your own assumption" in assumptions(screen.study(2, sigma=0.1, epsilon=0.2), rewards)[0]
    )
    normal = screen.study(2, sigma="estimate per arm", epsilon=0.2, algorithm=OWN)
    assert "The noise of every result is normal" in assumptions(normal, rewards)[0]
    bounded = screen.study(2, sigma="bounded", reward_range=(0, 1), epsilon=0.2, algorithm=OWN)
    assert "Nothing else is assumed of the noise" in assumptions(bounded, rewards)[0]
    # The signatures themselves have more genes than there are drugs.
    vacuous = data.screen(features=None).study(2)
    assert "rank 8, as many as there are drugs" in assumptions(vacuous, rewards)[1]


def test_features_by_default_are_the_signatures(data: DataSet) -> None:
    features = data.screen(features=None).features
    assert set(np.unique(features)) == {0.0, 0.5, 1.0}
    assert features.shape == (len(data.networks[0]), 8)
    with pytest.raises(IndistinguishableArms, match="epsilon > 0"):
        data.screen(features=pd.DataFrame(1.0, ["constant"], data.signatures.columns)).study(2)


def change(**parts: Any) -> dict[str, Any]:
    return switch_data() | parts


def renamed(name: str) -> dict[str, Any]:
    table = switch_data()[name]
    return change(**{name: table.rename(index=str.lower)})


def constant(name: str) -> dict[str, Any]:
    table = switch_data()[name].copy()
    table.iloc[:, 1] = 3.0
    return change(**{name: table})


NETWORK = BooleanNetwork({"A": "A", "X": "X"})


# Bad input


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        (change(network=[]), InvalidNetwork, "at least one network"),
        (change(network="net.bnet"), InvalidNetwork, "expected a BooleanNetwork, got str"),
        (
            change(network=[switch_data()["network"], NETWORK]),
            InvalidNetwork,
            "networks 1 and 2 of the ensemble do not have the same genes: 'B'",
        ),
        (renamed("signatures"), InvalidExpression, "signature of 'half' has a value for none"),
        (renamed("patients"), InvalidExpression, "share no gene|for none of the network's 3"),
        (
            change(network=BooleanNetwork({"X": "X", "Y": "X"})),
            InvalidExpression,
            "signature of 'half' has a value for none of the network's 2 genes",
        ),
        (
            change(
                network=BooleanNetwork({"X": "X", "Y": "X"}),
                signatures=pd.DataFrame({"p": {"X": 1.0}, "q": {"X": 0.0}}),
            ),
            InvalidExpression,
            "the differential phenotype has a value for none of the network's 2 genes",
        ),
        (
            change(
                network=BooleanNetwork({"A": "B", "B": "A"}),
                signatures=switch_data()["signatures"].drop(columns="late"),
            ),
            InvalidExpression,
            "the differential phenotype is 0 on all genes",
        ),
        (constant("patients"), InvalidExpression, "'patient 1' is 3 for every gene"),
        (constant("controls"), InvalidExpression, "'control 1' is 3 for every gene"),
        (
            change(signatures=switch_data()["signatures"].assign(odd=[0.5, NAN, 1.0])),
            InvalidExpression,
            "gene 'A' is 0.5 under the drug 'odd'",
        ),
        (
            change(signatures=switch_data()["signatures"].assign(none=NAN)),
            InvalidExpression,
            "the signature of 'none' has a value for none",
        ),
        (
            change(signatures=switch_data()["signatures"][["half", "half"]]),
            InvalidExpression,
            "the drug 'half' occurs more than once",
        ),
        (
            change(signatures=switch_data()["signatures"][["half"]]),
            InvalidExpression,
            "1 drugs; expected at least 2",
        ),
        (
            change(patients=switch_data()["patients"].set_axis(["a", "b", "b", "c"], axis=1)),
            InvalidExpression,
            "the patients: the sample 'b' occurs more than once",
        ),
        (
            change(full_signatures=pd.DataFrame({"other": {"A": 0.5}})),
            InvalidExpression,
            "the full signatures have none of the drugs: theirs are other",
        ),
        (change(keep=0.0), InvalidSetting, "keep is 0.0"),
        (
            change(labels=pd.Series([1, 1], index=["half", "half"])),
            InvalidExpression,
            "the labels: the drug 'half' occurs more than once",
        ),
        (change(labels={"haalf": 1}), UnknownName, "did you mean 'half'"),
        (change(labels={"half": 2}), InvalidExpression, "'half' has 2; expected 1"),
        (change(labels={"half": "yes"}), InvalidExpression, "'half' has 'yes'"),
        (
            change(features=pd.DataFrame({"half": [1.0], "both": [2.0]})),
            InvalidFeatures,
            "1 of 3 drugs have no features, 'late' first",
        ),
        (change(seed=-1), InvalidSetting, "seed must be"),
    ],
)
def test_bad_input_is_named(parts: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        DrugScreen(**parts)


def test_bad_pulls_are_named() -> None:
    screen = DrugScreen(**switch_data())
    with pytest.raises(UnknownName, match="did you mean 'half'"):
        screen.reward("halv", 0)
    for index in (3, -1):
        with pytest.raises(UnknownName, match="unknown drug"):
            screen.reward(index, 0)
    with pytest.raises(InvalidSetting, match="seed must be"):
        screen.reward(0, -1)


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """The words of a quick screen."""
    paths = {path.stem: path for path in small().write(tmp_path / "data")}
    words: list[object] = ["repurpose", "--network", paths.pop("network1")]
    for name, path in paths.items():
        words += [f"--{name.replace('_', '-')}", path]
    return [*words, "-m", 2, "--epsilon", 0.3, "--out", tmp_path / "out", "--repeats", 3]


@pytest.fixture(scope="module")
def epilepsy() -> DrugScreen:
    assert DATA
    folder = Path(DATA)

    def table(name: str) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read_expression(folder / name)

    scores = pd.read_csv(folder / "epilepsy_scores.csv", dtype={0: str}, index_col=0)
    names = scores["drug_name"].to_dict()
    known = scores[scores["score"] != 0].set_index("drug_name")["score"]
    return DrugScreen(
        read(folder / "report_model1_solution.net"),
        table("GSE77578_patients.csv"),
        table("GSE77578_controls.csv"),
        table("epilepsy_signatures_binarized.csv").rename(columns=names)[list(known.index)],
        full_signatures=table("epilepsy_signatures_nonbinarized.csv").rename(columns=names),
        labels=known,
    )


# The paper's data


@needs_data
def test_the_parts_of_the_paper_s_screen(epilepsy: DrugScreen) -> None:
    assert epilepsy.differential.notna().sum() == 50
    assert epilepsy.differential.sum() == 24
    known = epilepsy.initial.notna()
    assert (known.sum().min(), known.sum().max()) == (12, 29)
    masked = [
        (known[patient] | epilepsy.signatures[drug].notna()).sum()
        for patient in known
        for drug in COLUMNS
    ]
    assert 15 <= min(masked) <= max(masked) == 56


@needs_data
def test_logged_states_get_their_logged_rewards(epilepsy: DrugScreen) -> None:
    lines = (Path(str(DATA)) / "rewards_cosine_10drugs_18samples.txt").read_text().splitlines()
    states = np.array([list(map(int, x.split("\t")[0])) for x in lines if x.endswith("\tstate")])
    logged = [float(x.rsplit("(", 1)[1].split(",")[0]) for x in lines if x.startswith("('Arm")]
    goal = epilepsy.differential.to_numpy()
    on = ~np.isnan(goal)
    ours = states[:, on] @ goal[on] / np.sqrt(24.0 * states[:, on].sum(axis=1))
    assert np.allclose(ours, logged, atol=1e-12)


@pytest.mark.slow
@needs_data
def test_what_is_true_about_the_epilepsy_case(epilepsy: DrugScreen) -> None:
    """Asynchronous walks, free genes uniform: 1,000 walks of each drug and patient."""
    means = epilepsy.rewards(1000)
    stored = np.loadtxt(Path(str(DATA)) / "rewards_cosine_10drugs_18samples.csv")
    ten = means.loc[list(COLUMNS)]
    correlation = np.corrcoef(ten.T.to_numpy().ravel(), stored.ravel())[0, 1]
    assert correlation == pytest.approx(0.24, abs=0.03)
    hits = epilepsy.labels > 0
    assert len(hits) == 27
    scores, baseline = means.mean(axis=1), epilepsy.baseline()
    for score in (scores, baseline):
        assert [hit_rate(score[list(COLUMNS)], hits, r) for r in (1, 2, 5)] == [0.0, 0.5, 0.6]
    # One pair of drugs in another order is 1/162 = 0.006.
    assert auc(scores, hits) == pytest.approx(0.525, abs=0.025)
    assert auc(baseline, hits) == pytest.approx(0.438, abs=5e-4)


@pytest.mark.slow
@needs_data
def test_the_script_of_the_docs_prints_its_figures() -> None:
    said = program("examples/epilepsy.py", "stored", "files")
    for words in (
        "0.51326 is the value of 51% of the stored antiepileptic rewards",
        "0.51326 is the value of 0% of the stored proconvulsant rewards",
        "HR@1 1.0, HR@2 1.0, HR@5 1.0",
        "52 rows of the features match one of the non-binarized file, 1 by label",
        "rank 10; θ of norm 1.81",
    ):
        assert words in said


def program(*words: str) -> str:
    done = subprocess.run(
        [*forks.python(), *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
