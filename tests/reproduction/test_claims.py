"""The paper's claims are held against the runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.agreement import ConstantRow, Reproduced, cell_row, compared, constant_rows
from reproduction.claims import verdicts
from reproduction.experiments import EXPERIMENTS
from reproduction.panels import OMEGA_01
from tests.reproduction.faked import faked


def test_a_claim_is_held_against_the_runs() -> None:
    (claim,) = EXPERIMENTS["figure-1b"].claims
    titles = {
        "LinGame": [7000, 7200],
        "LinGame, corrected": [1200, 1300],
        "LinGIFA greedy": [3800, 3900],
        "m-LinGapE greedy": [3200, 3300],
        "m-LinGapE greedy, as Algorithm 1 says": [3900, 4000],
        "LinGIFA greedy, one threshold for all": [900, 950],
        "m-LinGapE greedy, one threshold for all": [2900, 3000],
    }
    found = verdicts(claim, faked(OMEGA_01, titles))
    assert [sentence.partition(": ")[2].partition(" (")[0] for sentence in found] == [
        "borne out",  # published
        "borne out",  # as published
        "NOT borne out",  # as the text says
        "NOT borne out",  # one threshold: m-LinGapE is above here
    ]
    # One run of two erred: that is no evidence against 5 %.
    (claim,) = EXPERIMENTS["error-table"].claims
    found = verdicts(claim, faked(OMEGA_01, titles))
    assert found[0] == "In the published figures: borne out (worst: 0.044, m-LinGapE greedy)."
    assert found[1].startswith("With the published settings: undecided (worst: 0.500")


def error_verdict(errors: int, runs: int) -> str:
    (claim,) = EXPERIMENTS["error-table"].claims
    reproduced = faked(OMEGA_01, {"m-LinGapE greedy": [3000] * runs})
    results = reproduced.panels["omega-0.1"]
    results.frame["correct"] = np.arange(runs) >= errors
    (panel,) = reproduced.experiment.panels
    reproduced.lines["omega-0.1"] = compared(panel, results)
    return verdicts(claim, reproduced)[1].partition(": ")[2]


@pytest.mark.parametrize(
    ("errors", "runs", "words"),
    [
        (27, 500, "undecided (worst: 0.054, m-LinGapE greedy, 95 % interval 0.036 to 0.078)."),
        (50, 500, "NOT borne out (worst: 0.100, m-LinGapE greedy, 95 % interval 0.075 to 0.130)."),
        (0, 500, "borne out (worst: 0.000, m-LinGapE greedy, 95 % interval 0.000 to 0.007)."),
        (0, 20, "borne out as far as these runs tell (worst: 0.000, m-LinGapE greedy, 95 % "),
    ],
)
def test_a_limit_is_broken_only_where_the_interval_says_so(
    errors: int, runs: int, words: str
) -> None:
    assert error_verdict(errors, runs).startswith(words)


def test_a_ratio_near_its_limit_is_undecided_with_few_runs() -> None:
    (claim,) = EXPERIMENTS["figure-1b"].claims
    titles = {"LinGame": [7000, 7200], "m-LinGapE greedy": [7100, 7300]}
    few = verdicts(claim, faked(OMEGA_01, titles))
    assert few[1] == "With the published settings: undecided (1.01)."
    many = verdicts(claim, faked(OMEGA_01, {name: each * 100 for name, each in titles.items()}))
    assert many[1] == "With the published settings: NOT borne out (1.01)."
    one = verdicts(claim, faked(OMEGA_01, {"LinGame": [7000], "m-LinGapE greedy": [100]}))
    assert one[1] == "With the published settings: borne out as far as these runs tell (0.01)."


@pytest.mark.parametrize(
    ("holds", "instances", "words"),
    [
        (0, 1000, "borne out (worst share: 0.000, 95 % interval 0.000 to 0.004)."),
        (310, 1000, "borne out as far as these runs tell (worst share: 0.310"),
        (4, 10, "undecided (worst share: 0.400"),
        (400, 1000, "NOT borne out (worst share: 0.400, 95 % interval 0.369 to 0.431)."),
    ],
)
def test_seldom_is_at_most_a_third_in_every_cell(holds: int, instances: int, words: str) -> None:
    experiment = EXPERIMENTS["complexity-table"]
    frames = [pd.DataFrame({"holds": np.arange(instances) < count}) for count in (0, holds)]
    cells = [cell_row(experiment.cells[0], frame) for frame in frames]
    (found,) = verdicts(experiment.claims[0], Reproduced(experiment, cells=cells))
    assert found.startswith(f"In our runs: {words}")


def test_the_chain_of_constants_is_false_here_and_is_not_taken_for_granted() -> None:
    experiment = EXPERIMENTS["complexity-constants"]
    rows = constant_rows(experiment.constants)
    found = verdicts(experiment.claims[0], Reproduced(experiment, constants=rows))
    assert [words.partition(" (")[0] for words in found] == [
        "For m = 3: NOT borne out",
        "For m = 8: NOT borne out",
    ]
    names = ("H(LUCB)", "H(m-LinGapE(1))", "H(UGapE)")
    for values, word in (((3.0, 2.0, 1.0), "borne out"), ((3.0, 1.0, 2.0), "NOT borne out")):
        rows = [
            ConstantRow(3, name, None, value) for name, value in zip(names, values, strict=True)
        ]
        (only,) = verdicts(experiment.claims[0], Reproduced(experiment, constants=rows))
        assert only.startswith(f"For m = 3: {word} ({values[0]:.0f}, {values[1]:.0f}, ")
