"""The drug screen: its pulls, the cache, bad input, the command, the paper's data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as pyplot
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from shortlist import plot
from shortlist.cli.app import app
from shortlist.data.drugs import COLUMNS
from shortlist.errors import (
    IndistinguishableArms,
    InvalidExpression,
    InvalidFeatures,
    InvalidNetwork,
    InvalidSetting,
    UnknownName,
)
from shortlist.numerics.random import run_seed
from shortlist.repurposing import (
    BooleanNetwork,
    DrugScreen,
    Dynamics,
    Semantics,
    auc,
    cds2_score,
    cosine_score,
    hit_rate,
    predict_phenotype,
    read,
    read_expression,
    synthetic,
)
from shortlist.repurposing.outcome import Outcome, assumptions, linear_misfit, measures
from shortlist.repurposing.reward_cache import RewardCache
from shortlist.repurposing.synthetic_data import DataSet

REAL = os.environ.get("SHORTLIST_DATA")
needs_data = pytest.mark.skipif(not REAL, reason="SHORTLIST_DATA does not name a folder of data")
NAN = float("nan")
ROOT = Path(__file__).parents[1]


def small(**settings: Any) -> DataSet:
    sizes = {"drugs": 8, "m": 2, "modules": 5, "patients": 5, "controls": 5, "background": 400}
    return synthetic(seed=1, **(sizes | settings))


@pytest.fixture(scope="module")
def data() -> DataSet:
    return small(networks=2)


def switch_data() -> dict[str, Any]:
    """A switch that patients have on and controls off, and a gene that is its opposite."""
    rng = np.random.default_rng(0)
    background = np.where(np.arange(300) % 2, 9.0, 4.0)[:, None]
    genes = ["A", "B", "C", *(f"G{i}" for i in range(300))]

    def expression(switch: float, other: float, name: str) -> pd.DataFrame:
        rows = np.vstack([[[switch] * 4] * 2, [[other] * 4], np.repeat(background, 4, axis=1)])
        noise = 0.5 * rng.standard_normal(rows.shape)
        return pd.DataFrame(rows + noise, genes, [f"{name} {i}" for i in range(4)])

    signatures = {
        "half": {"A": 0.0},
        "both": {"A": 0.0, "B": 0.0},
        "late": {"C": 1.0},
    }
    return {
        "network": BooleanNetwork({"A": "B", "B": "A", "C": "!A"}),
        "patients": expression(12.0, 1.0, "patient"),
        "controls": expression(1.0, 12.0, "control"),
        "signatures": pd.DataFrame(signatures).reindex(["A", "B", "C"]),
    }


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
        with np.errstate(over="ignore"):
            patient, network, walk = (int(run_seed(np.uint64(seed), k)) for k in range(3))
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
    assert np.array_equal(rewards, screen.simulate(200, workers=1))
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


@pytest.mark.slow
def test_without_a_baseline_the_rest_stands() -> None:
    parts = switch_data()
    full = pd.DataFrame({"half": {"G1": 1.0}, "both": {"G2": 1.0}})
    screen = DrugScreen(**parts, full_signatures=full, labels={"both": 1, "late": -1})
    assert screen.baseline().isna().all()
    study = screen.study(1, epsilon=0.4, classical=True)
    study.run(screen.objective, progress=False)
    outcome = Outcome(screen, study, screen.simulate(2))
    assert outcome.measures.index.tolist() == ["study", "simulated"]
    assert outcome.ranking()["baseline's"].tolist() == ["–"]
    pyplot.close(outcome.figure())


def test_an_instance_answers_with_the_simulated_rewards(data: DataSet) -> None:
    screen = data.screen()
    instance = screen.instance(2, repeats=7)
    assert instance.names == screen.drugs
    assert np.allclose(instance.means, screen.rewards(7).mean(axis=1))
    assert instance.parameters.shape == (5 * 2 * 7, 8)


def test_studies_with_and_without_features(data: DataSet) -> None:
    screen = data.screen(seed=11)
    linear, plain = screen.study(2, epsilon=0.2), screen.study(2, epsilon=0.2, classical=True)
    assert linear.seed == plain.seed == 11
    assert linear.problem.sigma == 0.5
    assert linear.bound.name == "m-LinGapE"
    assert plain.bound.name == "LUCB"
    rewards = screen.simulate(20)
    noise, means = assumptions(linear, rewards)
    assert "σ = 0.5 holds" in noise
    misfit = linear_misfit(screen.features.T.to_numpy(), rewards.mean(axis=(1, 2)))
    assert 0.001 < misfit < 0.2
    assert linear.problem.rank < 8
    assert f"linear in {linear.problem.rank} features" in means
    assert f"by up to {misfit:.3f}" in means
    assert "nothing is assumed of them" in assumptions(plain)[1]
    assert "is your claim" in assumptions(screen.study(2, sigma=0.1, epsilon=0.2))[0]
    # The signatures themselves have more genes than there are drugs.
    vacuous = data.screen(features=None).study(2)
    assert "rank 8, as many as there are drugs" in assumptions(vacuous)[1]


def test_features_by_default_are_the_signatures(data: DataSet) -> None:
    features = data.screen(features=None).features
    assert set(np.unique(features)) == {0.0, 0.5, 1.0}
    assert features.shape == (len(data.networks[0]), 8)
    with pytest.raises(IndistinguishableArms, match="epsilon > 0"):
        data.screen(features=pd.DataFrame(1.0, ["constant"], data.signatures.columns)).study(2)


def test_measures_count_labelled_drugs_only() -> None:
    labels = pd.Series({"a": 1.0, "b": -1.0, "c": 0.0, "d": 1.0})
    scores = {
        "one": pd.Series({"a": 0.9, "b": 0.5, "c": 1.0, "d": 0.4}),
        "other": pd.Series({"a": 0.9, "b": 0.5, "c": NAN, "d": NAN}),
    }
    both = measures(scores, labels)
    assert both["drugs"].tolist() == [2, 2]  # d has no score by the other
    assert both["AUC"].tolist() == [1.0, 1.0]
    alone = measures({"one": scores["one"]}, labels)
    assert alone.loc["one"].to_dict() == {"drugs": 3, "HR@1": 1.0, "HR@2": 0.5, "AUC": 0.5}
    assert measures(scores, labels.abs()).empty


# The cache


@pytest.mark.slow
def test_an_interrupted_study_goes_on_with_the_same_pulls(
    data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pulls(cache: Path | None, stop: int | None = None) -> list[tuple[int, float | None]]:
        screen = data.screen(cache=cache, seed=4)
        study = screen.study(2, epsilon=0.3)
        study.run(screen.objective, max_evaluations=stop, progress=False)
        return [(trial.arm, trial.value) for trial in study.trials]

    path = tmp_path / "pulls.csv"
    whole = pulls(None)
    assert pulls(path, 100) == whole[:100]
    with path.open("a") as file:
        file.write("reverser 1,12345,0.")  # ended in the middle of a line
    assert pulls(path) == whole
    assert len(path.read_text().splitlines()) == 2 + len(whole)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a reward that is in the file was simulated again")

    monkeypatch.setattr(Dynamics, "simulate", never)
    assert pulls(path) == whole


def test_a_cache_of_another_screen_is_refused(data: DataSet, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    data.screen(cache=path).reward(0, 1)
    kept = path.read_bytes()
    for other in ({"semantics": Semantics(free="zero")}, {"seed": 5}, {"labels": None}):
        same = "semantics" not in other
        if same:  # neither the seed nor the labels change a reward
            assert data.screen(cache=path, **other).reward(0, 1) == data.screen().reward(0, 1)
        else:
            with pytest.raises(InvalidSetting, match="holds rewards of another screen"):
                data.screen(cache=path, **other)
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("drug,seed,reward\na,1,0.5\n", 1),
        ("# rewards of the screen x\ndrug,seed,reward\na,1\n", 3),
        ("# rewards of the screen x\ndrug,seed,reward\na,1,0.5\nb,one,0.5\n", 4),
        (b"\xff\xfe\n".decode("latin-1"), 1),
    ],
)
def test_a_file_that_is_no_cache_is_left_alone(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidSetting, match=f"line {line}: this is no file of rewards"):
        RewardCache(path, "x")
    assert path.read_text(encoding="latin-1") == text


@pytest.mark.parametrize("start", ["", "# rewards of", "# rewards of the screen x\ndrug,se"])
def test_a_cache_ended_before_its_first_reward(start: str, tmp_path: Path) -> None:
    path = tmp_path / "pulls.csv"
    path.write_text(start)
    cache = RewardCache(path, "x")
    cache.put("a, or b", 2**64 - 1, 0.1 + 0.2)
    again = RewardCache(path, "x")
    assert again.get("a, or b", 2**64 - 1) == 0.1 + 0.2
    assert path.read_text().splitlines()[:2] == ["# rewards of the screen x", "drug,seed,reward"]


# Bad input


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


# The outcome and the command


@pytest.mark.slow
def test_the_picture(data: DataSet) -> None:
    screen = data.screen()
    study = screen.study(2, epsilon=0.3)
    study.run(screen.objective, progress=False)
    outcome = Outcome(screen, study, screen.simulate(5))
    assert outcome.table.index.tolist()[:2] == list(study.shortlist.names)
    assert outcome.ranking()["baseline's"].iloc[0] == screen.baseline().idxmax()
    figure = outcome.figure()
    ax, other = figure.axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    means = pd.Series(outcome.rewards.mean(axis=(1, 2)), screen.drugs)
    best = means.sort_values(ascending=False, kind="stable").index
    assert [name.removeprefix("★ ") for name in names] == list(best)
    assert {name for name in names if name.startswith("★")} == {
        f"★ {name}" for name in study.shortlist
    }
    colours = {
        text.get_text().removeprefix("★ "): text.get_color() for text in ax.get_yticklabels()
    }
    for drug, label in data.labels.items():
        assert colours[str(drug)] == plot.LABELS[int(label)][0]
    line = other.get_lines()[0]
    assert np.allclose(line.get_xdata(), screen.baseline()[list(best)])
    pyplot.close(figure)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], prog_name="shortlist")


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    """The words of a quick screen."""
    paths = {path.stem: path for path in small().write(tmp_path / "data")}
    words: list[object] = ["repurpose", "--network", paths.pop("network1")]
    for name, path in paths.items():
        words += [f"--{name.replace('_', '-')}", path]
    return [*words, "-m", 2, "--epsilon", 0.3, "--out", tmp_path / "out", "--repeats", 3]


@pytest.mark.slow
def test_the_command_from_files_to_shortlist(files: list[object], tmp_path: Path) -> None:
    first = run(*files)
    assert first.exit_code == 0, first.output
    for word in (
        "8 drugs, 5 patients",
        "reverser 1",
        "In doubt: the results speak against what is assumed (fit)",
        "baseline's",
        "HR@2",
        "AUC",
        "Means",
    ):
        assert word in first.stdout
    out = tmp_path / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "drugs.csv",
        "pulls.csv",
        "rewards.png",
        "rewards.svg",
    ]
    table = pd.read_csv(out / "drugs.csv", index_col=0)
    assert len(table) == 8
    assert set(table.index[table["in_shortlist"]]) == {"reverser 1", "reverser 2"}
    pulls = (out / "pulls.csv").read_text()
    again = run(*files, "--json")
    report = json.loads(again.stdout)
    assert (out / "pulls.csv").read_text() == pulls  # nothing new had to be simulated
    assert report["final"]
    assert set(report["shortlist"]) == {"reverser 1", "reverser 2"}
    assert report["evaluations"] == len(pulls.splitlines()) - 2 == table["pulls"].sum()
    assert report["measures"]["study"]["HR@2"] == 1.0
    assert report["drugs"][0]["name"] in report["shortlist"]


@pytest.mark.slow
def test_the_command_overwrites_another_answer_only_by_force(
    files: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert run(*files).exit_code == 0
    assert run(*files).exit_code == 0  # the same answer once more
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    other = run(*files, "--epsilon", 0.4)
    assert other.exit_code == 2
    assert "drugs.csv is there already" in other.stderr
    assert "--force" in other.stderr
    assert before.items() >= {(p.name, p.read_bytes()) for p in out.iterdir() if p.suffix != ".csv"}
    assert (out / "drugs.csv").read_bytes() == before["drugs.csv"]
    assert run(*files, "--epsilon", 0.4, "--force").exit_code == 0
    assert (out / "drugs.csv").read_bytes() != before["drugs.csv"]


def test_the_command_leaves_files_alone_that_are_not_of_a_screen(
    files: list[object], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    mine = tmp_path / "out" / "drugs.csv"
    mine.write_text("precious")
    refused = run(*files)
    assert refused.exit_code == 2
    assert "drugs.csv is there already" in refused.stderr
    assert [path.name for path in mine.parent.iterdir()] == ["drugs.csv"]
    assert mine.read_text() == "precious"


def test_the_command_without_matplotlib(
    files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    result = run(*files)
    assert result.exit_code == 0, result.output
    assert "note: no picture: pictures need matplotlib" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["drugs.csv", "pulls.csv"]


@pytest.mark.slow
def test_the_command_stops_early_and_without_features(files: list[object]) -> None:
    result = run(*files, "--classical", "--max-evaluations", 50)
    assert result.exit_code == 0, result.output
    assert "50 evaluations, not stopped" in result.stdout
    assert "No guarantee yet" in result.stdout
    assert "nothing is assumed of them" in result.stdout


@pytest.mark.slow
def test_what_is_printed_is_what_the_study_says() -> None:
    screen = synthetic(drugs=8, m=3, seed=2).screen()
    rewards = screen.simulate(repeats=3)
    for most in (10, 200, 400):
        study = screen.study(m=3, epsilon=0.1)
        study.run(screen.objective, max_evaluations=most, progress=False)
        ranking = Outcome(screen, study, rewards).ranking()
        assert set(ranking["shortlist"]) == set(study.shortlist.names)


@pytest.mark.parametrize("repeats", [3, 300])
def test_chance_is_not_taken_for_a_misfit(repeats: int) -> None:
    """These means are linear but for 0.0001; few walks miss them by a hundred times as much."""
    screen = synthetic(drugs=6, m=2, seed=0).screen()
    words = assumptions(screen.study(m=2, epsilon=0.1), screen.simulate(repeats))
    assert "no more than chance explains" in words[1]
    rewards = screen.simulate(repeats)
    beyond = np.linalg.svd(screen.features.T.to_numpy())[0][:, -1]  # no combination of the features
    rewards += 0.3 * (beyond / np.abs(beyond).max())[:, None, None]
    words = assumptions(screen.study(m=2, epsilon=0.1), rewards)
    assert "do not rely on the guarantee" in words[1]


@pytest.mark.slow
def test_a_label_above_the_heading_and_a_dollar_in_a_name(
    files: list[object], tmp_path: Path
) -> None:
    labels = tmp_path / "data" / "labels.csv"
    whole = labels.read_text()
    labels.write_text("\n".join(whole.splitlines()[1:]) + "\n")
    result = run(*files, "--max-evaluations", 5)
    assert result.exit_code == 2
    assert "where a heading is expected" in result.stderr
    labels.write_text("")
    assert run(*files, "--max-evaluations", 5).exit_code == 2
    odd = r"bad $\foo$ x"
    for file in tmp_path.joinpath("data").glob("*.csv"):
        file.write_text(file.read_text().replace("decoy 1", odd))
    labels.write_text(whole.replace("decoy 1", odd))
    result = run(*files, "--max-evaluations", 5)
    assert result.exit_code == 0, result.output
    assert "rewards.png" in result.stdout


@pytest.mark.slow
def test_the_command_with_names_and_some_drugs(files: list[object], tmp_path: Path) -> None:
    labels = tmp_path / "data" / "labels.csv"
    table = pd.read_csv(labels, index_col=0)
    table.insert(0, "drug_name", [name.upper() for name in table.index])
    table.to_csv(labels)
    result = run(*files, "--drugs", "REVERSER 1, REVERSER 2,DECOY 1", "--max-evaluations", 20)
    assert result.exit_code == 0, result.output
    assert "3 drugs, 5 patients" in result.stdout
    # Nothing is known before the initial pulls are done, and the simulated means are not the study's.
    assert "No shortlist yet: the initial pulls are not done." in result.stdout
    assert "DECOY 1" in (tmp_path / "out" / "drugs.csv").read_text()
    wrong = run(*files, "--drugs", "REVERSER 1,DECOI 1")
    assert wrong.exit_code == 2
    assert "did you mean 'DECOY 1'" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["repurpose"], "--network is missing"),
        (["repurpose", "--synthetic", "--labels", __file__], "takes the place of files"),
        (["repurpose", "--network", "nowhere.bnet"], "does not exist"),
        (["repurpose", "--synthetic", "--algorithm", "m-LinGape", "--out", "X"], "did you mean"),
        (["repurpose", "--synthetic", "-m", "20", "--out", "X"], "m must be at least 1 and below"),
        (["repurpose", "--synthetic", "--out", f"{__file__}/x"], "x cannot be made"),
    ],
)
def test_the_command_fails_in_words(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drug,label\nreverser 1,1\nnothing,1\n", "unknown drug in the labels 'nothing'"),
        ("drug,label\nreverser 1,good\n", "the drug 'reverser 1' has 'good'"),
        ("drug,label\nreverser 1,7\n", "'reverser 1' has 7"),
    ],
)
def test_bad_labels_in_a_file(files: list[object], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "data" / "labels.csv").write_text(text)
    result = run(*files)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


# The paper's data


@pytest.fixture(scope="module")
def epilepsy() -> DrugScreen:
    assert REAL
    folder = Path(REAL)

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
    lines = (Path(str(REAL)) / "rewards_cosine_10drugs_18samples.txt").read_text().splitlines()
    states = np.array([list(map(int, x.split("\t")[0])) for x in lines if x.endswith("\tstate")])
    logged = [float(x.rsplit("(", 1)[1].split(",")[0]) for x in lines if x.startswith("('Arm")]
    goal = epilepsy.differential.to_numpy()
    on = ~np.isnan(goal)
    ours = states[:, on] @ goal[on] / np.sqrt(24.0 * states[:, on].sum(axis=1))
    assert np.allclose(ours, logged, atol=1e-12)


@pytest.mark.slow
@needs_data
def test_what_is_true_about_the_epilepsy_case(epilepsy: DrugScreen) -> None:
    """Asynchronous walks, free genes uniform: 200 walks of each drug and patient."""
    means = epilepsy.rewards(200)
    stored = np.loadtxt(Path(str(REAL)) / "rewards_cosine_10drugs_18samples.csv")
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


@pytest.mark.slow
def test_the_demo_runs(tmp_path: Path) -> None:
    said = program("examples/demo.py", str(tmp_path / "demo.png"))
    for words in ("reverser 1", "Proven", "baseline", "LUCB"):
        assert words in said
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"


def program(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
