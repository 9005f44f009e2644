"""XY-halving: phases, their designs, and studies that were stored when nothing else had a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import shortlist
from budgets import begin, result
from shortlist import errors
from shortlist.designs.xy import optimal_design
from shortlist.plans import halving as xy_halving
from shortlist.plans.halving import XYHalvingStrategy, phases
from shortlist.study.definition import _described

SMALL_ANGLE = shortlist.instances.classic(K=3, m=1, omega=0.1, sigma=0.5)


def errors_of_halving(runs: int) -> int:
    algorithm = shortlist.XYHalving(budget=1000)
    frame = shortlist.compare(algorithm, SMALL_ANGLE, runs=runs, progress=False).frame
    return int((~frame["correct"]).sum())


class SurvivorsOnly(XYHalvingStrategy):
    """The planted bug: a phase pulls the arms that it compares, and no other."""

    def _design(self, i: Any, j: Any, gaps: Any = None) -> Any:
        own = np.unique([i, j])
        weights = np.zeros(len(self.plan) if hasattr(self, "plan") else len(self._basis))
        contrasts = self._basis[i] - self._basis[j]
        weights[own] = optimal_design(self._basis[own], contrasts, 1e-3).arms
        return weights


class Forgetful(SurvivorsOnly):
    """As OD-LinBAI and GSE, for a single best arm: what came before the phase is forgotten too."""

    def take(self, pulls: Any, sums: Any, seed: int | None = None) -> None:
        self._own = pulls, sums
        super().take(pulls, sums, seed)

    def _estimate(self) -> None:
        everything = self.pulls, self.sums
        self.pulls, self.sums = self._own
        super()._estimate()
        self.pulls, self.sums = everything


@pytest.mark.slow
def test_a_design_restricted_to_survivors_errs_far_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """At ω = 0.1 the arm that tells the two best apart is neither of them."""
    ours = errors_of_halving(300)
    monkeypatch.setattr(xy_halving.XYHalving, "spending", SurvivorsOnly)
    restricted = errors_of_halving(300)
    monkeypatch.setattr(xy_halving.XYHalving, "spending", Forgetful)
    forgetful = errors_of_halving(300)
    assert ours <= 9
    assert restricted > 9 + ours
    assert binom.cdf(forgetful, 300, 0.4) > 0.01  # nearly a coin: 0.45 is what was measured
    assert binom.sf(restricted - 1, 300, 0.01) < 1e-3  # and the reference test would see it


def test_phases_halve_the_challengers_and_end_at_the_budget() -> None:
    for arms, m, rank, budget in ((3, 1, 2, 1000), (100, 7, 12, 300), (5, 4, 5, 5), (2, 1, 1, 9)):
        found = phases(arms, m, rank, budget)
        assert found[0].end >= rank
        assert found[-1] == (budget, found[-1].challengers)
        assert [phase.end for phase in found] == sorted({phase.end for phase in found})
        counts = [phase.challengers for phase in found]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] == arms - m
        assert counts[-1] == 1 or len(found) == 1


def test_every_phase_is_asked_for_as_planned() -> None:
    study = begin(60, algorithm="XY-halving")
    ends = [phase.end for phase in phases(5, 2, 2, 60)]
    for start, end in zip([0, *ends], ends, strict=False):
        plan = study.round.strategy.plan
        assert plan.sum() == end - start
        before = study.posterior.pulls.copy()
        # All at once: within a phase any number can be asked for.
        for trial in study.ask(int(plan.sum())):
            study.tell(trial, result(trial))
        assert (study.posterior.pulls - before).tolist() == plan.tolist()
    assert study.done


def test_a_study_stored_before_there_was_top_two_goes_on_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = begin(60, algorithm="XY-halving", storage=path)
    assert _described(shortlist.XYHalving(budget=60)) == {"name": "XY-halving", "budget": 60}
    study.run(result, max_evaluations=25, progress=False)
    again = begin(60, storage=path)  # nothing is named, and the budget is the same
    assert again.bound.name == shortlist.Study.load(path).bound.name == "XY-halving"
    plans = [each.round.strategy.plan.tolist() for each in (study, again)]
    assert plans[0] == plans[1]
    with pytest.raises(errors.StudyMismatch, match="but algorithm = top-two"):
        begin(60, algorithm="top-two", storage=path)
    with pytest.raises(errors.StudyMismatch, match="'budget': 61"):
        begin(61, storage=path)


# Of 40 results, as XY-halving asked for them before there was another algorithm with a budget.
PULLED = "0101001010010011010101010101010101010101"


def test_pulls_are_those_that_they_always_were() -> None:
    study = begin(40, algorithm="XY-halving")
    study.run(result, progress=False)
    assert "".join(str(trial.arm) for trial in study.trials) == PULLED
