"""Studies with a fixed budget: exactly so many evaluations, and how sure the answer is by then."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

import shortlist
from budgets import MEANS, X, begin, result
from command_line import run
from error_rates import rather_below
from paths import DOCS
from shortlist import errors, plot
from shortlist.arrays import NO_BLOCK
from shortlist.plans.pairs_in_doubt import NORMAL
from shortlist.printable import rounded_up
from shortlist.problem import Problem
from shortlist.report.analysis import Analysis
from shortlist.report.methods import cited, methods
from shortlist.report.sections import intervals
from shortlist.report.sections import specification as report_settings
from shortlist.simulation.instances import Instance
from shortlist.study.running.progress import describe

INSTANCE = shortlist.instances.from_arrays(X, theta=[1.0, 0.3], m=2, sigma=0.6)
SMALL_ANGLE = shortlist.instances.classic(K=3, m=1, omega=0.1, sigma=0.5)
# Results that are not as the study was told, or a chance of a thousand among many studies.
DOUBTED = pytest.mark.filterwarnings("ignore::shortlist.errors.GuaranteeInDoubt")


def errors_in(instance: Instance, budget: int, runs: int, seed: int = 0) -> int:
    frame = shortlist.compare(
        shortlist.PairsInDoubt(budget=budget), instance, runs=runs, seed=seed, progress=False
    ).frame
    assert (frame["samples"] == budget).all()
    assert (frame["pulls"].map(sum) == budget).all()
    assert frame["stopped"].all()
    return int((~frame["correct"]).sum())


# What it achieves


@pytest.mark.slow
def test_a_reference_point() -> None:
    """The error is at most 0.06, rather than 0.18: 0.04 in 150 runs. ``benchmarks/budget.py`` has others."""
    rather_below(0.06, partial(errors_in, SMALL_ANGLE, 300))


# Exactly the budget


@pytest.mark.parametrize("batch", [1, 3, 64])
@pytest.mark.parametrize("budget", [2, 3, 7, 40])
def test_a_run_ends_at_the_budget(budget: int, batch: int) -> None:
    study = begin(budget)
    for left in range(budget, 0, -1):
        study.run(result, batch=batch, max_evaluations=1, progress=False)
        assert study.remaining().evaluations == study.remaining().high == left - 1
        assert study.done == (left == 1)
    assert study.evaluations == study.shortlist.evaluations == budget
    assert len(study.shortlist) == 2
    with pytest.raises(errors.StudyStopped, match=f"stopped after {budget} evaluations"):
        study.ask()


def test_asking_for_more_than_the_budget_gives_what_there_is() -> None:
    study = begin(10)
    first = study.ask(7)
    rest = study.ask(7)
    assert (len(first), len(rest)) == (7, 3)
    with pytest.raises(
        errors.BudgetSpent, match=r"the last 10 of .* are pending \(trials 0, 1, 2, 3, 4, …"
    ):
        study.ask()
    study.fail(first[0], "dropped")
    study.cancel(first[1])
    again = study.ask(5)
    assert len(again) == 2  # only told results count
    for trial in [*first[2:], *rest, *again]:
        assert not study.done
        study.tell(trial, result(trial))
    assert study.done
    assert study.evaluations == 10


def test_a_lease_that_is_over_uses_up_nothing() -> None:
    study = begin(4, lease=1e-6)
    first = study.ask(4)
    assert [trial.number for trial in study.ask(4)] == [trial.number for trial in first]
    assert len(study.trials) == 4


def test_a_run_does_not_wait_for_nobody() -> None:
    study = begin(10)
    held = study.ask(2)
    with pytest.raises(errors.BudgetSpent, match=r"the last 2 of .* are pending \(trials 0, 1\)"):
        study.run(result, progress=False)
    assert study.evaluations == 8
    study.tell(held[0], result(held[0]))
    study.cancel(held[1])
    assert study.run(result, progress=False).final
    assert study.evaluations == 10


def test_results_that_nobody_asked_for_are_paid_for() -> None:
    study = begin(30)
    while not study.done:
        study.tell(arm=study.evaluations % 5, value=float(MEANS[study.evaluations % 5]))
    assert study.evaluations == 30
    assert set(study.shortlist.names) == {0, 2}
    mixed = begin(30)
    mixed.run(result, max_evaluations=12, progress=False)
    for _ in range(9):
        mixed.tell(arm=3, value=0.5)
    assert mixed.remaining().evaluations == 9
    mixed.run(result, batch=4, progress=False)
    assert mixed.evaluations == 30
    assert mixed.posterior.pulls[3] >= 9
    means = np.linalg.lstsq(
        X[[trial.arm for trial in mixed.taken]], [trial.value for trial in mixed.taken], rcond=None
    )[0]
    np.testing.assert_allclose(mixed.table()["estimate"], X @ means)  # all data are used
    assert len(mixed.history().checkpoints)
    assert plot.shrinking(mixed).axes


def test_results_that_do_not_span_give_no_answer_and_no_way_out() -> None:
    study = begin(6)
    for _ in range(6):
        study.tell(arm=1, value=0.3)
    assert not study.done
    assert study.remaining().evaluations == 0
    with pytest.raises(errors.BudgetSpent, match="do not span the 2 dimensions of the features"):
        study.ask()
    with pytest.raises(errors.BudgetSpent, match="start a study with a larger budget"):
        study.run(result, progress=False)
    study.tell(arm=0, value=1.0)  # one too many, but now there is an answer
    assert study.done
    assert study.shortlist.evaluations == 7


def test_what_comes_after_the_budget_has_no_part_in_the_answer() -> None:
    study = begin(8)
    trials = study.ask(8)
    study.tell(arm=1, value=0.3)
    for trial in trials:
        study.tell(trial, result(trial))
    assert study.evaluations == 9
    assert study.shortlist.evaluations == 8
    with pytest.raises(errors.InvalidInput, match="a study's budget is final"):
        study.reopen()
    with pytest.raises(errors.InvalidInput, match="nothing to reopen"):
        begin().reopen()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::shortlist.errors.ArmSetAside")
@settings(max_examples=25, deadline=None)
@given(st.integers(2, 25), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=80))
def test_whatever_happens_no_more_is_asked_for_than_the_budget(
    budget: int, moves: list[tuple[int, int]]
) -> None:
    study = begin(budget)
    for move, number in moves:
        pending = study.pending
        if move <= 1:
            try:
                assert len(study.ask(1 + number)) <= 1 + number
            except (errors.BudgetSpent, errors.StudyStopped):
                assert study.done or study.remaining().evaluations <= len(pending)
            except errors.OnlyFailingArms:
                assert study.set_aside
        elif move == 5:
            study.tell(arm=number % 5, value=0.1)
        elif pending:
            trial = pending[number % len(pending)]
            if move == 2:
                study.fail(trial)
            else:
                study.tell(trial, result(trial))
        told = [t for t in study.taken if t.cause.origin != "unasked"]
        assert len(told) + len(study.pending) <= budget
        spans = np.linalg.matrix_rank(X[study.posterior.pulls > 0]) == 2
        assert study.done == (study.evaluations >= budget and spans)
        if not study.done:
            assert study.remaining().evaluations == max(0, budget - study.evaluations)
    replayed = study.history()
    assert len(replayed.frame) == study.evaluations


# Phases and designs


def test_asking_for_many_is_asking_again_and_again() -> None:
    one, other = begin(90), begin(90)
    for study in (one, other):
        study.run(result, max_evaluations=35, progress=False)
    together = [trial.arm for trial in one.ask(55)]  # beyond the phase, and to the end
    assert [other.ask().arm for _ in range(55)] == together
    whole = begin(90)
    arms = [trial.arm for trial in whole.ask(90)]  # nothing is known: whatever tells most
    assert np.linalg.matrix_rank(X[np.unique(arms)]) == 2


@DOUBTED
def test_features_may_be_classical_deficient_or_hold_twins() -> None:
    wide = np.hstack([X, X @ [[1.0], [2.0]]])
    twins = np.vstack([X, X[:1]])
    constant = np.hstack([X, np.ones((5, 1))])
    all_twins = np.ones((3, 1))
    for features, epsilon, m in (
        (wide, 0.0, 2),
        (twins, 0.2, 2),
        (constant, 0.0, 4),
        (np.eye(7), 0.0, 3),
        (np.eye(2), 0.0, 1),
        (all_twins, 0.1, 1),
    ):
        means = features[:, 0] + 0.3 * features[:, -1] - 0.01 * np.arange(len(features))
        study = shortlist.Study(features, m=m, sigma=0.1, seed=0, epsilon=epsilon, budget=60)
        study.run(lambda trial, means=means: float(means[trial.arm]), progress=False)
        assert study.evaluations == 60
        assert len(study.shortlist) == m


@pytest.mark.slow
def test_many_arms_are_planned_for_in_a_second_or_two() -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((600, 8))
    study = shortlist.Study(features, m=5, sigma=0.5, seed=0, budget=400)
    study.run(lambda trial: float(features[trial.arm, 0]), progress=False)
    assert study.evaluations == 400
    assert set(study.shortlist.names) == set(np.argsort(-features[:, 0])[:5].tolist())


# Kept, compared, shown


def test_a_stored_study_is_replayed_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(60, storage=path)
    study.run(result, max_evaluations=25, progress=False)
    loaded = shortlist.Study.load(path)
    assert loaded.budget == 60
    assert loaded.remaining().evaluations == 35
    assert loaded.round.search.strategy.plan.tolist() == study.round.search.strategy.plan.tolist()
    assert [t.arm for t in loaded.ask(35)] == [t.arm for t in study_in_memory(25).ask(35)]
    with pytest.raises(errors.BudgetSpent):
        study.ask()  # it sees what the other asked for
    for trial in loaded.pending:
        study.tell(trial.number, result(trial))
    again = shortlist.Study.load(path)
    assert again.done
    assert again.shortlist.names == study.shortlist.names
    assert again.shortlist.error == study.shortlist.error
    assert again.shortlist.guarantee.text == study.shortlist.guarantee.text
    with pytest.raises(errors.StudyMismatch, match=r"'budget': 60.*'budget': 70"):
        begin(70, storage=path)
    with pytest.raises(
        errors.StudyMismatch, match=r"'budget': 60.*but algorithm = Guess-and-verify was given"
    ):
        begin(None, storage=path)
    assert begin(60, storage=path, seed=1).done


def study_in_memory(evaluations: int) -> shortlist.Study:
    study = begin(60)
    study.run(result, max_evaluations=evaluations, progress=False)
    return study


def test_budgets_are_compared_with_each_other_and_with_other_algorithms() -> None:
    budgets = [shortlist.PairsInDoubt(budget=T, name=f"T = {T}") for T in (20, 100)]
    results = shortlist.compare([*budgets, "m-LinGapE"], INSTANCE, runs=5, progress=False)
    assert results.summary(lower_bound=False)["mean"][["T = 20", "T = 100"]].tolist() == [20, 100]
    twice = [shortlist.PairsInDoubt(budget=T) for T in (20, 30)]
    with pytest.raises(errors.InvalidSetting, match="is listed twice"):
        shortlist.compare(twice, INSTANCE, runs=1, progress=False)
    cut = shortlist.compare(
        shortlist.PairsInDoubt(budget=50), INSTANCE, runs=2, max_samples=30, progress=False
    ).frame
    assert not cut["stopped"].any()
    assert (cut["samples"] == 30).all()


def test_a_study_makes_the_run_of_a_comparison() -> None:
    """Pull by pull from outside, or phase by phase in the loop: the same data, the same answer."""
    engine = shortlist.PairsInDoubt(budget=80).bind(INSTANCE.problem(0.05, 0.0)).engine
    rng = np.random.default_rng(5)
    rewards = MEANS[:, None] + 0.6 * rng.standard_normal((5, 80))
    now, counts = engine.round(), np.zeros(5, int)
    now.begin(1)  # the seed of the study
    while not now.search.stopped:
        for arm in now.search.slots.arms.tolist():
            now.take(arm, NO_BLOCK, rewards[arm, counts[arm]], asked=True)
            counts[arm] += 1
        now.decide()
    study, seen = begin(80), np.zeros(5, int)

    def objective(trial: Any) -> float:
        seen[trial.arm] += 1
        return float(rewards[trial.arm, seen[trial.arm] - 1])

    study.run(objective, progress=False)
    assert seen.tolist() == counts.tolist()
    assert study.statistic == pytest.approx(now.search.strategy.statistic)
    assert np.array_equal(study.round.inside, now.inside)


@pytest.mark.slow
def test_pictures_report_and_words(tmp_path: Path) -> None:
    study = begin(60)
    assert describe(study).startswith("0 of 60 evaluations")
    study.run(result, max_evaluations=25, progress=False)
    assert describe(study).startswith("25 of 60 evaluations · ")
    assert "ε" not in describe(study)
    trial = study.ask()
    assert "the study stops after 60 evaluations" in str(study.why(trial))
    study.tell(trial, result(trial))
    assert plot.stopping(study).axes
    study.run(result, progress=False)
    past = study.history()
    assert past.last is not None
    assert past.last.table["gap_upper"][past.last.c] == study.statistic
    for figure in (
        *(draw(study, history=past) for draw in (plot.intervals, plot.shrinking)),
        plot.stopping(study),
        plot.pulls(study),
    ):
        assert "when its upper end is at most" not in " ".join(figure.get_supxlabel().split())
        assert "budget" in figure.get_supxlabel() + figure.get_suptitle()
    text = methods(Analysis(study))
    assert "with a fixed budget of T = 60 evaluations" in text
    assert "fixed confidence" not in text
    assert "No guarantee" in text
    assert [work.short for work in cited(study)][1:] == [
        "Réda, Kaufmann and Delahaye-Duriez 2021",
        "You, Qin, Wang and Yang 2023",
        "Russo 2016",
    ]
    page = shortlist.report.html(study)
    assert "No guarantee: fixed budget" in page
    assert "Estimated probability of a wrong list" in page
    assert "Budget, T" in page
    assert "Heuristic" not in page
    assert "must fall to" not in page


# At the door


@pytest.mark.parametrize("budget", [0, -5, 2.5, 100.0, True, "100", np.float64(7)])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(
        errors.InvalidSetting, match="budget must be a whole number, at least 1, go"
    ):
        begin(budget)
    with pytest.raises(
        errors.InvalidSetting, match="budget must be a whole number, at least 1, go"
    ):
        shortlist.PairsInDoubt(budget=budget)


def test_a_budget_spans_the_features() -> None:
    with pytest.raises(errors.InvalidSetting, match="Pass at least budget=2, better several times"):
        begin(1)
    assert begin(2).run(result, progress=False).evaluations == 2
    with pytest.raises(errors.InvalidSetting, match=r"budget=4 is too small.*at least budget=5"):
        shortlist.Study(arms=list("abcde"), m=1, sigma=1.0, budget=4)
    with pytest.raises(errors.InvalidSetting, match="at least budget=2"):
        shortlist.compare(shortlist.PairsInDoubt(budget=1), INSTANCE, runs=1, progress=False)


def test_a_budget_goes_with_no_other_algorithm_or_threshold() -> None:
    with pytest.raises(
        errors.InvalidSetting, match=r"'LinGIFA' contradict each other.*Leave out one"
    ):
        begin(50, algorithm="LinGIFA")
    with pytest.raises(errors.InvalidSetting, match="contradict each other"):
        begin(50, algorithm=shortlist.GIFA())
    with pytest.raises(errors.UnknownName, match="did you mean 'LinGIFA'"):
        begin(50, algorithm="LinGIFAA")
    with pytest.raises(errors.InvalidSetting, match="an algorithm with a budget of 60"):
        begin(50, algorithm=shortlist.PairsInDoubt(budget=60))
    with pytest.raises(errors.InvalidSetting, match="pairs-in-doubt needs a budget"):
        begin(None, algorithm="pairs-in-doubt")
    with pytest.raises(
        errors.InvalidSetting, match=r"pass budget=… to Study, or shortlist.PairsInDoubt"
    ):
        shortlist.compare("pairs-in-doubt", INSTANCE, runs=1)
    with pytest.raises(errors.InvalidSetting, match="cannot be replaced: leave threshold=None"):
        begin(50, threshold="frequentist")
    for same in ("pairs-in-doubt", shortlist.PairsInDoubt(budget=50)):
        assert begin(50, algorithm=same).budget == 50
    assert begin(None, algorithm=shortlist.PairsInDoubt(budget=50)).budget == 50
    assert begin(np.int64(50)).budget == 50
    assert begin(None).budget is None
    assert begin(None).procedure.name == "Guess-and-verify"


def test_auto_with_a_budget_is_what_works_on_one(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"algorithm": "auto", "storage": tmp_path / "study.db"}
    assert begin(50, **settings).procedure.name == "pairs-in-doubt"
    assert begin(50, **settings).budget == 50
    with pytest.raises(errors.StudyMismatch, match="'budget': 50"):
        begin(60, **settings)


@DOUBTED
def test_noise_is_taken_as_that_of_the_noisiest_arm() -> None:
    each = begin(20, sigma=[0.6, 0.1, 0.2, 0.3, 0.1])
    alike = begin(20)
    for study in (each, alike):
        study.run(result, progress=False)
    assert each.shortlist.error == alike.shortlist.error
    assert each.posterior.pulls.tolist() == alike.posterior.pulls.tolist()
    bounded = begin(20, sigma="bounded", reward_range=(0.0, 1.0))
    with pytest.raises(errors.InvalidInput, match="must lie in reward_range"):
        bounded.tell(arm=0, value=1.5)
    assert bounded.evaluations == 0


# The command line


def call(*words: str, code: int = 0) -> str:
    done = run(*words)
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.fixture
def screen(tmp_path: Path) -> Path:
    lines = [f"c{k},{row[0]},{row[1]}" for k, row in enumerate(X)]
    (tmp_path / "features.csv").write_text("\n".join(["name,f,g", *lines]))
    (tmp_path / "pilot.csv").write_text("\n".join(f"c{k},{mean}" for k, mean in enumerate(MEANS)))
    file = tmp_path / "screen.toml"
    file.write_text('features = "features.csv"\nm = 2\nsigma = 0.6\nbudget = 12\nseed = 4\n')
    return file


@pytest.mark.slow
def test_a_screen_with_a_budget(screen: Path) -> None:
    place = str(screen)
    words = call("new", place)
    assert "as well as 12 evaluations can tell" in words
    assert "12 evaluations, exactly" in words
    assert "risk δ" not in words
    assert json.loads(call("new", place, "--json"))["budget"] == 12
    assert "0 of 3 pulls of the first plan are told" in call("status", place)
    plate = screen.with_name("plate.csv")
    for _ in range(2):
        call("ask", place, "-n", "5", "--out", str(plate), "--force")
        fill(plate)
        call("tell", place, str(plate))
    assert "10 evaluations of 12, where the study stops. to go 2 more" in call("status", place)
    assert "room for 2 trials only" in call("ask", place, "-n", "5", "--out", str(plate), "--force")
    assert "are pending (trials 10, 11)" in call("ask", place, code=4)
    fill(plate)
    assert "The study stopped after 12 evaluations" in call("tell", place, str(plate))
    status = json.loads(call("status", place, "--json"))
    assert status["done"]
    assert status["budget"] == 12
    assert 0.0 <= status["estimated_error"] <= 1.0
    assert status["remaining"]["evaluations"] == 0
    assert "reopen" not in call("ask", place, code=4)
    assert "budget is final" in call("reopen", place, code=2)


def test_a_budget_that_was_changed_is_noticed(screen: Path) -> None:
    call("new", str(screen))
    screen.write_text(screen.read_text().replace("budget = 12", "budget = 13"))
    assert "Put it back as it was" in call("ask", str(screen), code=2)


def fill(plate: Path) -> None:
    heading, *lines = plate.read_text().splitlines()
    filled = [f"{line}{MEANS[int(line.split(',')[2][1:])]}" for line in lines]
    plate.write_text("\n".join([heading, *filled]))


def test_a_pilot_forecasts_the_error(screen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlist.simulation.outlook.ERROR_RUNS", 40)
    screen.write_text(screen.read_text() + 'pilot = "pilot.csv"\n')
    forecast = json.loads(call("new", str(screen), "--json"))["outlook"]["errors"]
    assert forecast["runs"] >= 20
    assert forecast["low"] <= forecast["wrong"] / forecast["runs"] <= forecast["high"]
    assert "simulated screens ended with a wrong shortlist" in call("new", str(screen))


def test_a_screen_with_a_bad_budget(screen: Path) -> None:
    for bad, says in (
        ("1", "at least budget=3"),
        ("2.5", "a whole number"),
        ('12\nalgorithm = "LUCB"', "contradict each other"),
    ):
        screen.write_text(screen.read_text().replace("budget = 12", f"budget = {bad}"))
        words = call("new", str(screen), code=2)
        assert says in words
        assert "screen.toml" in words
        screen.write_text(screen.read_text().replace(f"budget = {bad}", "budget = 12"))
    assert not list(screen.parent.glob("*.db"))


def test_it_is_listed_with_the_algorithms() -> None:
    listed = call("algorithms")
    assert "pairs-in-doubt a fixed budget" in listed


# What an interval is worth


def missed(arms: int, runs: int) -> tuple[float, float]:
    """How often the interval of an arm, and that of the one listed, misses its mean: all are 0."""
    problem = Problem.of(np.eye(arms), 1, sigma=1.0)
    engine: Any = shortlist.PairsInDoubt(budget=10 * arms).bind(problem).engine
    any_arm = listed = 0
    for seed in range(1, runs + 1):
        search, generator = engine._search(seed), np.random.default_rng(seed)
        while not search.stopped:
            slots = search.slots
            search.take(slots.arms, slots.blocks, generator.standard_normal(len(slots.arms)))
        last = search.strategy
        away = np.abs(last.means) > last.threshold * np.sqrt(last.variances)
        any_arm, listed = any_arm + int(away.sum()), listed + int(away[last.inside].sum())
    return any_arm / (runs * arms), listed / runs


@pytest.mark.slow
@DOUBTED
def test_intervals_hold_the_means_of_arms_named_beforehand_and_say_so() -> None:
    any_arm, listed = missed(arms=8, runs=60)
    # More often than δ: what is pulled depends on the results. 0.061 and 0.14 in 600 runs.
    assert 0.03 < any_arm < 0.1
    assert listed > 0.08  # they came out best
    study = begin()
    study.run(result, progress=False)
    words = " ".join(intervals(study).split())
    assert "named beforehand contain its mean with probability 0.95, or about that" in words
    assert "came out best: their bounds contain their means less often" in words
    drawn = " ".join(text.get_text() for text in plot.intervals(study).findobj(Text))
    told = [words, " ".join(drawn.split()), NORMAL.summary]
    told += [dict(report_settings(study))["Risk, δ"], (DOCS / "fixed-budget.md").read_text()]
    for each in told:
        assert "named beforehand" in each
        assert "by itself" not in each.replace("Each arm by itself.", "")


# Where the results prove something


def on_budget(**settings: Any) -> shortlist.Study:
    given = {"m": 2, "seed": 1, "budget": 120, "sigma": "estimate", "blocks": "random", **settings}
    return shortlist.Study(arms=list("abcdef"), **given)


def apart(trial: Any) -> float:
    noise = 0.3 * np.random.default_rng(trial.number).standard_normal()
    return float([0.9, 0.7, 0.5, 0.3, 0.2, 0.1][trial.arm] + noise)


def test_a_budget_on_blocks_ends_with_the_difference_up_to_which_the_list_is_proven() -> None:
    study = on_budget()
    before = study.shortlist.guarantee
    assert before.status == "budget"
    assert "At its end it says up to which difference the list is right" in before.text
    answer = study.run(apart, progress=False)
    assert study.evaluations == 120
    assert answer.error is None
    assert answer.guarantee.status == "proven"
    assert answer.certain is not None
    least = answer.certain.epsilon
    assert least is not None
    assert 0.0 < least < 0.8
    assert f"up to a difference of {rounded_up(least):g}" in answer.guarantee.short
    assert "The budget of 120 evaluations is spent" in answer.guarantee.text
    assert {name for name, _ in report_settings(study)} >= {"Budget, T"}
    assert "fixed budget of T = 120 evaluations" in methods(Analysis(study))


def test_a_budget_that_proves_nothing_says_so() -> None:
    study = on_budget(budget=37)
    answer = study.run(lambda trial: apart(trial) % 0.01, progress=False)
    assert answer.guarantee.status == "budget"
    assert answer.guarantee.text.startswith("No guarantee: with a fixed budget the study ends")
    assert "prove nothing of the list" in answer.guarantee.text


@pytest.mark.parametrize(
    "settings",
    [
        {"blocks": None},
        {"blocks": "shift", "sigma": 0.3},
        {"blocks": None, "sigma": 0.3, "algorithm": "Guess-and-verify (own results)"},
    ],
)
def test_it_goes_to_the_end_whatever_is_shared_and_known(settings: dict[str, Any]) -> None:
    study = on_budget(**settings)
    study.run(apart, progress=False, batch=12)
    assert study.evaluations == 120
    assert study.shortlist.guarantee.status == "proven"


def test_a_guide_goes_with_a_budget_and_the_study_is_stored(tmp_path: Path) -> None:
    where = f"sqlite:///{tmp_path}/a.db"
    options: dict[str, Any] = {"sigma": 0.6, "trust": "guide", "seed": 2, "storage": where}
    study = shortlist.Study(X, 2, budget=60, **options)
    study.run(result, progress=False)
    again = shortlist.Study.load(where)
    assert (again.budget, again.evaluations, again.done) == (60, 60, True)
    assert again.shortlist.guarantee.text == study.shortlist.guarantee.text
    assert again.procedure.name == "Guess-and-verify (guided)"


def test_a_budget_is_as_large_as_the_first_plan() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"the first plan alone has (\d+) evaluations"):
        on_budget(budget=5)
