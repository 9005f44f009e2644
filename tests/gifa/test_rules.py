"""Rules by name and of one's own: what is refused, and what an own rule is given among few and many arms."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import shortlist
from shortlist.engine.seeds import priorities
from shortlist.errors import InvalidSetting, UnknownName
from shortlist.gifa.round import Round
from shortlist.gifa.rules import GIVEN, RETURNED, RULES, Pairs, Rule, find_rule, rule
from shortlist.gifa.thresholds import Known, find_threshold

INSTANCE = shortlist.instances.classic(K=4, m=2, omega=1.0)


# Names


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"one for all algorithms; got list.*shortlist\.GIFA"):
        find_threshold(["self_normalized", "heuristic"])  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="selection=3"):
        find_rule("selection", 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="'lucb' is a rule of kind 'stopping' where"):
        find_rule("selection", RULES["stopping"]["lucb"])
    with pytest.raises(UnknownName, match="kind of rule"):
        rule("reward")
    for words, unknown in (("Known: auto, ", "pilo"), ("did you mean 'heuristic'", "heuristc")):
        with pytest.raises(UnknownName, match=words):
            find_threshold(unknown)
    with pytest.raises(UnknownName, match="Known: auto, LUCB"):
        shortlist.compare("LUCBB", INSTANCE, runs=1, progress=False)


def test_a_rule_of_the_package_stays_itself() -> None:
    for kind, known in RULES.items():
        for name, each in known.items():
            assert pickle.loads(pickle.dumps(each)) is each is find_rule(kind, name)
            assert not each.is_own
            assert each.summary
    own = pickle.loads(pickle.dumps(find_rule("selection", by_chance)))
    assert (own.is_own, own.name, own.function) == (True, "by_chance", by_chance)


# What is refused


def test_a_rule_with_other_arguments_is_told_which_it_should_have() -> None:
    assert GIVEN.keys() == RETURNED.keys() == {*RULES, "threshold"}

    def too_many(b, c):  # type: ignore[no-untyped-def]
        return b

    with pytest.raises(InvalidSetting, match=r"with 1 argument, but.*def too_many\(now\)"):
        shortlist.GIFA(selection=too_many)
    with pytest.raises(InvalidSetting, match=r"with 3 arg.*def too_many\(t, log_det, known\)"):
        shortlist.GIFA(threshold=too_many)
    with pytest.raises(InvalidSetting, match="a selection rule is a function, got"):
        shortlist.GIFA(selection=partial(too_many, 1))


@pytest.mark.parametrize(
    ("kind", "returned", "came"),
    [
        ("selection", lambda now: None, "None"),
        ("selection", lambda now: "b", "'b' where"),
        ("selection", lambda now: now.b, r"an array of shape \(1,\) where \(1, 4\)"),
        ("candidates", lambda now: np.full((len(now), 4), np.nan), "not defined"),
        ("candidates", lambda now: np.full((len(now), 4), -np.inf), "−∞ everywhere"),
        ("ambiguous", lambda now: now.means, r"of shape \(1, 4\) where \(1, 2\)"),
        ("stopping", lambda now: now.means, "an array of shape"),
        ("indices", lambda pairs: pairs.mean_i * np.nan, "not defined"),
        ("threshold", lambda t, log_det, known: "wide", "'wide'"),
        ("threshold", lambda t, log_det, known: np.nan, "not defined"),
    ],
)
def test_a_wrong_answer_is_named_when_it_is_given(
    kind: str, returned: Callable[..., Any], came: str
) -> None:
    def mine(*given: Any) -> Any:
        return returned(*given)

    algorithm = shortlist.GIFA(**{kind: mine})
    words = f"the {kind} rule 'mine' must return .*; it returned.*{came}"
    study = shortlist.Study(
        INSTANCE.features, 2, sigma=0.5, algorithm=algorithm, seed=0, audit=False
    )
    with pytest.raises(InvalidSetting, match=words):
        study.run(lambda trial: 0.0, progress=False, max_evaluations=60)
    with pytest.raises(InvalidSetting, match=words.replace("(1,", "(2,")):
        shortlist.compare(algorithm, INSTANCE, runs=2, progress=False)


# What is given


def indices(pairs: Pairs) -> Any:
    return pairs.mean_i - pairs.mean_j + pairs.scale * pairs.distance


def candidates(now: Round) -> Any:
    return -now.mth_gaps


def ambiguous(now: Round) -> Any:
    """Whatever they rank by, rules may read the m-th gaps of all arms."""
    assert np.isfinite(now.mth_gaps).all()
    return now.outside_gaps


def selection(now: Round) -> Any:
    y = now.row(now.b) - now.row(now.c)
    return y**2 / (now.noise + now.variances)


def stopping(now: Round) -> Any:
    return now.of_candidates(now.mth_gaps).max(axis=1)


def threshold(t: int, log_det: Any, known: Known) -> Any:
    return np.sqrt(2.0 * np.log((1.0 + np.log(t)) / known.delta))


SAME: dict[str, tuple[Callable[..., Any], str]] = {
    "indices": (indices, "paired"),
    "candidates": (candidates, "smallest_gap"),
    "ambiguous": (ambiguous, "largest_gap"),
    "selection": (selection, "greedy"),
    "stopping": (stopping, "ugape"),
    "threshold": (threshold, "heuristic"),
}


@pytest.mark.slow
@pytest.mark.parametrize("arms", [8, 170])
@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("others", ["top_means", "smallest_gap"])
def test_an_own_rule_gives_the_pulls_of_the_rule_it_repeats(
    kind: str, others: str, arms: int
) -> None:
    """With 170 arms what cannot matter is left out, but for rules of one's own."""
    instance = shortlist.instances.random(K=arms, N=3, m=3, seed=1, sigma=0.5)
    given: dict[str, Any] = {
        "candidates": others,
        "threshold": "heuristic",
        "initialization": "span",
    }
    own, same = SAME[kind]
    mine = shortlist.GIFA(**{**given, kind: own}, name="mine")
    theirs = shortlist.GIFA(**{**given, kind: same}, name="theirs")
    settings: dict[str, Any] = {"runs": 3, "max_samples": 60, "progress": False, "workers": 1}
    frame = shortlist.compare([mine, theirs], instance, **settings).frame
    by_name = dict(tuple(frame.groupby("algorithm")))
    assert by_name["mine"]["pulls"].tolist() == by_name["theirs"]["pulls"].tolist()
    assert find_rule(kind, own).is_own if kind != "threshold" else find_threshold(own).rule.is_own


def of_many(**rules: Any) -> None:
    """Some rounds of 170 arms, where what cannot matter is left out."""
    X = np.random.default_rng(1).standard_normal((170, 4))
    X[::2] *= 0.2
    instance = shortlist.instances.from_arrays(X, theta=[1.0, -1.0, 0.5, 0.2], m=6, sigma=0.5)
    mine = shortlist.GIFA(**rules, initialization="span", name="mine")
    shortlist.compare(mine, instance, runs=1, max_samples=60, progress=False, workers=1)


@pytest.mark.parametrize("kind", ["ambiguous", "stopping", "selection"])
def test_an_own_rule_reads_the_outside_gap_of_every_candidate(kind: str) -> None:
    seen = []

    def mine(now: Round) -> Any:
        B = np.where(now.inside[:, None, :], -np.inf, now.columns(now.candidates))
        assert now.outside_gaps == pytest.approx(B.max(axis=2))
        seen.append(now.t)
        return {
            "ambiguous": -now.outside_gaps, "stopping": np.ones(len(now)), "selection": now.variances
        }[kind]  # fmt: skip

    of_many(**{"stopping": "ugape", kind: mine})
    assert len(seen) > 20


def test_an_own_selection_reads_the_mth_gaps_of_all_arms() -> None:
    seen = []

    def mine(now: Round) -> Any:
        seen.append(np.isfinite(now.mth_gaps).all())
        return now.variances

    of_many(candidates="smallest_gap", ambiguous="mth_gap", stopping="ugape", selection=mine)
    assert len(seen) > 20
    assert all(seen)
    assert rule("selection")(mine).needs == {"mth_gaps"}
    assert rule("selection", needs=[])(mine).needs == RULES["selection"]["greedy"].needs == set()


@pytest.mark.parametrize(
    ("kind", "read", "words"),
    [
        ("candidates", lambda now: now.outside_gaps, "candidates rule 'mine' needs now.candidates"),
        ("candidates", lambda now: now.inside * 1.0, "known once the candidates are chosen"),
        ("ambiguous", lambda now: now.marked(now.c), "ambiguous rule 'mine' needs now.c too early"),
        ("ambiguous", lambda now: now.in_pair, "known once the pair is chosen: to rules of kind s"),
    ],
)
def test_what_is_read_too_early_is_named(kind: str, read: Callable[..., Any], words: str) -> None:
    def mine(now: Round) -> Any:
        return read(now)

    algorithm = shortlist.GIFA(**{kind: mine}, name="early")
    with pytest.raises(InvalidSetting, match=words):
        shortlist.compare(algorithm, INSTANCE, runs=1, progress=False, workers=1)


def test_an_error_within_a_rule_stays_what_it_is() -> None:
    algorithm = shortlist.GIFA(ambiguous=lambda now: now.nothing, name="wrong")
    with pytest.raises(AttributeError, match="nothing"):
        shortlist.compare(algorithm, INSTANCE, runs=1, progress=False, workers=1)


def by_chance(now: Round) -> Any:
    """One of the pair by a coin that the seed throws; numbers from K on are no arm's."""
    drawn = priorities(now.seeds, now.t, 0, now.arms + np.arange(now.arms)[None, :])
    return np.where(now.in_pair, drawn / 2.0**64, -1.0)


def test_a_rule_by_chance_repeats_itself_and_is_fair() -> None:
    mine = shortlist.GIFA(selection=by_chance, name="by chance")
    one, two, other = (
        shortlist.compare(mine, INSTANCE, runs=5, seed=seed, progress=False).frame["pulls"].tolist()
        for seed in (0, 0, 1)
    )
    assert one == two != other
    taken = []

    def watched(now: Round) -> Any:
        values = by_chance(now)
        taken.append(values.argmax(axis=1) == now.b)
        return values

    watching = shortlist.GIFA(selection=watched, initialization="each")
    shortlist.compare(watching, INSTANCE, runs=50, max_samples=104, progress=False, workers=1)
    assert abs(np.concatenate(taken).mean() - 0.5) < 0.05


def test_a_rule_made_by_hand_is_taken_as_it_is() -> None:
    made = Rule("selection", "mine", "Mine.", by_chance, traits=frozenset({"pulls_both"}))
    engine = shortlist.GIFA(selection=made).bind(INSTANCE.problem(0.05, 0.0)).engine
    assert engine.recipe.pulls_both  # type: ignore[attr-defined]
