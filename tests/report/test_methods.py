"""The text to paste says what was done, and nothing else."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import shortlist
from report_pages import (
    LETTERS,
    SCREENS,
    Page,
    figures_in,
    methods,
    page_of,
    played,
    screened,
    study_of,
)


@pytest.mark.slow
def test_methods_hold_the_numbers() -> None:
    study = study_of("running")
    words = methods(study)
    assert Page(page_of("running")).text("pre").startswith(study.fingerprint + words)
    for part in (
        "the m = 3 best of K = 10 arms",
        "4 features (rank 4)",
        "The algorithm was m-LinGapE (Réda, Kaufmann and Delahaye-Duriez 2021; candidates: top "
        "means, ambiguous arm: largest gap, selection: greedy, stop: τ_LUCB, indices: paired)",
        "'self_normalized' (Jedra and Proutière 2020) with risk δ = 0.05, slack ε = 0",
        "σ = 0.3",
        "Of 150 evaluations, 100 were set beforehand (initial pulls), 50 were chosen in view of",
        f"After {study.evaluations} evaluations the study had not stopped",
        "Failed: 3; cancelled: 0; no value was made up",
        study.shortlist.guarantee.text,
        f"shortlist {shortlist.__version__}",
        study.fingerprint,
        ", ".join(map(str, study.shortlist.names)),
    ):
        assert part in words
    assert "stopped after" in methods(study_of("stopped"))
    assert "Heuristic: no proof covers" in methods(study_of("heuristic"))


def test_names_do_not_break_the_methods() -> None:
    words = methods(study_of("hostile"))
    assert len(words.split("\n\n")) == 4
    assert "\u202e" not in words
    assert "\u2066" not in words


@pytest.mark.parametrize(("kind", "most"), SCREENS)
def test_the_methods_hold_what_was_written_down(kind: str, most: int | None) -> None:
    screen, page = screened(kind, most)
    design, course, worth, tools = page.text("pre").partition("We looked")[2].split("\n\n")[:4]
    given = screen.given
    assert figures_in(design) == [
        *(3, 10, 2021),
        *([] if kind == "lucb1" else [4, 4]),
        *([2012] if kind == "lucb1" else [2021]),
        *{"self_normalized": [2020], "frequentist": [2, 2021], "lucb1": [2012]}[kind],
        *(0.1, given["epsilon"], given["sigma"]),
        *([2] if kind == "frequentist" else []),
    ]
    late, best = len(screen.told) - screen.stop, np.argsort(-screen.estimates(screen.stop)[1])
    chosen = screen.stop - screen.initial - screen.unasked
    parts = [part for part in (screen.initial, chosen, screen.unasked) if part]
    stopped = [screen.stop, late] if late else [screen.stop]
    assert figures_in(course) == [screen.stop, *parts, *stopped, 3, 1]
    names = ", ".join(LETTERS[arm] for arm in best[:3])
    assert course.endswith(f"The shortlist, best estimated mean first: {names}.")
    assert ("told after the stop" in course) == bool(late)
    if most is None:
        lost, unasked = 4, screen.unasked
        conditions = [unasked, lost] if unasked else [lost]
        assert figures_in(worth)[-len(conditions) :] == conditions
    # Where the spread of the results contradicts σ, that is said first.
    claim = "with probability at least" + worth.partition("with probability at least")[2]
    claimed = figures_in(claim)[: 3 if given["epsilon"] else 2]
    assert claimed == [0.9, 3, *([given["epsilon"]] if given["epsilon"] else [])]
    assert "seed 7." in tools


@pytest.mark.slow
def test_only_what_was_done_is_said() -> None:
    def course(study: shortlist.Study) -> str:
        return methods(study).split("\n\n")[1]

    fresh = played(most=0)
    assert course(fresh) == "After 0 evaluations the study had not stopped: the list is a guess."
    begun = course(played(most=20))
    assert begun.startswith("Of 20 evaluations, 20 were set beforehand (initial pulls). After 20")
    assert "chosen" not in begun
    easy = played(sigma=1e-3, most=200)  # stops with its last initial pull
    assert easy.done
    assert course(easy).startswith("Of 100 evaluations, 100 were set beforehand (initial pulls). ")
    assert "chosen" not in course(easy)
    easy.tell(arm=0, value=0.0)
    assert "1 result was told after the stop" in course(easy)
    assert "asked for" not in course(easy)  # it came after the stop
    bare = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0, algorithm="LUCB", seed=0)
    bare.tell(arm="a", value=0.0)
    assert course(bare).startswith("Of 1 evaluation, 1 was told without having been asked for. ")
    assert "beforehand" not in course(bare)
    assert "earlier" not in course(study_of("stopped"))
    assert "taken back" not in course(study_of("stopped"))


@pytest.mark.parametrize("order", ["asked", "completion"])
def test_the_order_of_completion_is_said(order: Any) -> None:
    study = shortlist.Study(np.eye(3), 1, sigma=1.0, seed=0, epsilon=0.1)
    first = threading.Event()

    def slow_first(trial: Any) -> float:
        if trial.number == 0:
            assert first.wait(30.0)
        elif trial.number == 2:
            first.set()
        return float(trial.arm)

    with ThreadPoolExecutor(3) as pool:
        study.run(
            slow_first, executor=pool, batch=3, order=order, max_evaluations=9, progress=False
        )
    said = (
        "Results were processed as they came, some before others that had been asked for earlier."
    )
    assert (said in methods(study)) == (order == "completion")


def test_reopenings_are_said() -> None:
    study = played()
    stop = study.evaluations
    assert "taken back" not in methods(study)
    study.reopen()
    said = "An earlier stop was taken back and the study reopened (after evaluations: {})."
    assert said.format(stop) in methods(study)
    while not study.done:
        study.tell(study.ask(), 0.0)
    again = study.evaluations
    assert f"{said.format(stop)} The study stopped after {again} evaluations." in methods(study)
    study.tell(arm=0, value=0.0)
    study.reopen()
    assert said.format(f"{stop}, {again + 1}") in methods(study)
    assert "after the stop" not in methods(study)
