"""What is shown as a mean is the average of the arm's own results; estimates are nearer to the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shortlist
from blocks import prompts
from shortlist.arrays import Reals

Result = Callable[[Any], float]


def averages(study: shortlist.Study, results: int) -> Reals:
    """Each arm's own average of the first so many results; NaN where it has none."""
    told: list[list[float]] = [[] for _ in range(study.problem.arms)]
    for trial in study.taken[:results]:
        told[trial.arm].append(float(trial.value))
    return np.array([np.mean(values) if values else np.nan for values in told])


def of_questions(seed: int, blocks: Any) -> tuple[shortlist.Study, Result, Reals]:
    """Answers to questions, right or wrong."""
    table = prompts(arms=8, blocks=60, seed=seed)
    study = shortlist.Study(
        arms=range(8), m=2, sigma="bounded", reward_range=(0, 1), blocks=blocks, seed=seed
    )
    return study, lambda trial: float(table[trial.arm, int(trial.block) % 60]), table.mean(axis=1)


def of_seeds(seed: int, shared: float) -> tuple[shortlist.Study, Result, Reals]:
    """A simulator whose noise the arms of a block share."""
    means = np.arange(8) / 5.0
    study = shortlist.Study(
        arms=range(8), m=2, sigma="estimate per arm", blocks="random", epsilon=0.1, seed=seed
    )

    def result(trial: shortlist.Trial) -> float:
        common = np.random.default_rng(trial.seed).standard_normal()
        own = np.random.default_rng([trial.seed, trial.arm]).standard_normal()
        return float(means[trial.arm] + shared * common + 0.3 * own)

    return study, result, means


def of_plates(seed: int) -> tuple[shortlist.Study, Result, Reals]:
    """Compounds on plates, each of a level of its own, where the plate of an arm is chosen."""
    means = np.linspace(0.0, 1.0, 8)
    study = shortlist.Study(arms=range(8), m=2, sigma=0.3, blocks="shift", epsilon=0.1, seed=seed)
    noise = np.random.default_rng(seed)

    def result(trial: shortlist.Trial) -> float:
        return float(means[trial.arm] + 0.3 * noise.standard_normal())

    return study, result, means


def of_a_line(seed: int) -> tuple[shortlist.Study, Result, Reals]:
    """Means that are linear in a feature."""
    doses = np.linspace(0.0, 1.0, 12)
    study = shortlist.Study(
        np.column_stack([np.ones(12), doses, doses**2]), m=2, sigma=0.3, epsilon=0.05, seed=seed
    )
    noise = np.random.default_rng(seed)
    means = doses - 0.5 * doses**2
    return study, lambda trial: float(means[trial.arm] + 0.3 * noise.standard_normal()), means


def end(study: shortlist.Study, result: Result, most: int = 120) -> None:
    """Evaluate until the stop, or so often; on plates by six."""
    if not study.problem.blocks.shifts:
        study.run(result, max_evaluations=most, progress=False)
        return
    plates = np.random.default_rng(study.seed)
    for _ in range(most // 6):
        if study.done:
            return
        shift = plates.normal(0.0, 2.0)
        study.tell_many((trial, result(trial) + shift) for trial in study.ask(6))


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param((of_questions, each), id=f"questions {each}") for each in (60, "random")),
        pytest.param((of_seeds, 1.0), id="seeds"),
        pytest.param((of_plates,), id="plates"),
        pytest.param((of_a_line,), id="a line"),
    ],
)
def test_the_mean_of_an_arm_is_the_average_of_its_own_results(case: Any) -> None:
    make, *given = case
    study, result, _ = make(3, *given)
    for _ in range(2):  # at a stop, if there is one, and before
        end(study, result, 60)
        table = study.table()
        results = int(table["pulls"].sum())  # those told after the stop change nothing
        np.testing.assert_allclose(table["mean"], averages(study, results))
        assert ("estimate" in table) == (make in (of_plates, of_a_line))


@pytest.mark.parametrize("case", [(of_a_line,), (of_plates,)])
def test_an_estimate_is_shown_where_it_is_nearer_to_the_truth(case: Any) -> None:
    """Root mean squared errors; on plates of differences from the average of all arms."""
    make, *given = case
    errors = []
    for seed in range(6):
        study, result, means = make(seed, *given)
        end(study, result)
        table = study.table()
        assert table["estimate"].notna().all()
        known = table["pulls"].to_numpy() > 0
        assert make is of_a_line or known.all()
        found = [table[each].to_numpy()[known] - means[known] for each in ("mean", "estimate")]
        if make is not of_a_line:
            found = [each - each.mean() for each in found]
        errors.append([float((each**2).mean()) for each in found])
    own, estimated = np.sqrt(np.mean(errors, axis=0))
    assert estimated < 0.95 * own


def test_intervals_are_drawn_about_what_they_bound() -> None:
    study, result, _ = of_a_line(0)
    end(study, result)
    [ax] = shortlist.plot.answer(study).axes
    dots = sorted(float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 1)
    table = study.table()
    assert dots == sorted(table["estimate"])
    assert table["estimate"].between(table["lower"], table["upper"]).all()
