"""What an answer is worth, part by part; all sentences are in one table at the end."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import shortlist
from report_pages import played
from shortlist import guarantee
from shortlist.blocks import NO_BLOCKS
from shortlist.engine.relation import Linear, Relation, Unrelated
from shortlist.guarantee import Answer, Assumption, Claim, Condition, Guarantee
from shortlist.problem import Problem

NOISE = Assumption("Noise", "the noise is small", "The noise is small.")
MODEL = Assumption("Model", "the means are linear", "The means are linear.")
INDEPENDENCE = Assumption(
    NO_BLOCKS.heading, NO_BLOCKS.assumption, NO_BLOCKS.explanation, short=NO_BLOCKS.short
)
CLAIM = Claim("no arm is worse", 0.05, "σ = 1", "levels", "a proof", (NOISE, INDEPENDENCE))
IF_LINEAR = Claim(
    *("no arm is worse", 0.05, "σ = 1", "levels", "a proof", (NOISE, MODEL, INDEPENDENCE)),
    condition="the means are linear",
    condition_badge="linear",
)
HEURISTIC = Claim(
    *("no arm is worse", 0.05, "σ = 1", "levels", "a proof", (NOISE,)),
    why_heuristic=("nobody proved it",),
)
EXTENSION = replace(CLAIM, extends="it has ε > 0")
LATE = Condition("Order", "Some came late.")


class Bend:
    """A finding against a linear model."""

    badge, words = "curved", "A square fits better."
    meaning, contradicts = "The list may be wrong.", "that the means are linear"
    remedy = "study.verify() goes on."


ANSWER = Answer(Problem.of(arms=list("abcd"), m=2, sigma=1.0), 40)
REJECTED = {"badge": "σ too small", "why": "it is not.", "remedy": "Take another."}


def final(claim: Claim, conditions: list[Condition], **others: Any) -> Guarantee:
    return guarantee.final(claim, claim.assumptions, conditions, answer=ANSWER, **others)


GUARANTEES: dict[str, Guarantee] = {
    "proven": final(CLAIM, [LATE]),
    "if linear": final(IF_LINEAR, [], notes=["Tested."]),
    "untested": final(IF_LINEAR, [], untested=True),
    "too coarse": final(IF_LINEAR, [], too_coarse=True),
    "doubted": final(IF_LINEAR, [LATE], doubts=[Bend()]),
    "heuristic": final(HEURISTIC, []),
    "extension": final(EXTENSION, []),
    "rejected": guarantee.not_certified(CLAIM, (), (), answer=ANSWER, **REJECTED),
    "running": guarantee.not_yet(CLAIM, (), (), answer=ANSWER, doubts=[Bend()]),
    "tested now": guarantee.not_yet(CLAIM, (), (), answer=ANSWER, test=(20, 3)),
}
SHORT = {
    "proven": "The 2 best of 4, with 95 % confidence (40 evaluations).\n"
    "Assumes: independent results without drift, the noise is small. It also depends on "
    "how the study went (order): study.shortlist.guarantee says how.",
    "if linear": "The 2 best of 4, with 95 % confidence (40 evaluations).\n"
    "Assumes: independent results without drift, the noise is small, the means are linear.",
    "untested": "If the means are linear, which is untested: the 2 best of 4, with 95 % confidence "
    "(40 evaluations).\n"
    "Assumes: independent results without drift, the noise is small, the means are linear.",
    "too coarse": "If the means are linear: the 2 best of 4, with 95 % confidence (40 evaluations).\n"
    "Assumes: independent results without drift, the noise is small, the means are linear.",
    "doubted": "In doubt: the 2 best of 4 (40 evaluations), but the results contradict the "
    "assumption that the means are linear.\nA square fits better. study.verify() goes on.",
    "heuristic": "Heuristic, no proof covers it: the 2 best of 4, meant to be so with 95 % "
    "confidence (40 evaluations).\nNo proof, because nobody proved it. Assumes: the noise is small.",
    "extension": "Heuristic, no proof covers it: the 2 best of 4, meant to be so with 95 % "
    "confidence (40 evaluations).\nNo proof, because it has ε > 0. Assumes: "
    "independent results without drift, the noise is small.",
    "rejected": "Not certified: σ too small (40 evaluations).\nTake another.",
    "running": "No guarantee yet: the study has not stopped (40 evaluations). The results "
    "contradict the assumption that the means are linear.\nA square fits better. study.verify() goes on.",
}


@pytest.mark.parametrize("name", SHORT)
def test_two_lines_say_what_was_found_and_what_it_rests_on(name: str) -> None:
    assert GUARANTEES[name].short == SHORT[name]
    assert GUARANTEES[name].to_dict()["short"] == SHORT[name]


@pytest.mark.parametrize(
    ("name", "status", "badge", "level"),
    [
        ("proven", "proven", "Proven", "good"),
        ("if linear", "proven", "Proven if linear", "plain"),
        ("untested", "proven", "Proven if linear: untested", "plain"),
        ("doubted", "in doubt", "In doubt: curved", "warn"),
        ("heuristic", "heuristic", "Heuristic", "warn"),
        ("extension", "heuristic", "Heuristic", "warn"),
        ("rejected", "not certified", "Not certified: σ too small", "warn"),
        ("running", "not yet", "No guarantee yet", "warn"),
        ("tested now", "not yet", "No guarantee yet", "plain"),
    ],
)
def test_status_badge_and_level(name: str, status: str, badge: str, level: str) -> None:
    made = GUARANTEES[name]
    assert (made.status, made.badge, made.level) == (status, badge, level)
    assert f"{made.first_words}: {made.rest}" == made.text == str(made)


def test_good_is_only_what_assumes_the_noise_alone() -> None:
    assert [name for name, made in GUARANTEES.items() if made.level == "good"] == ["proven"]


def test_it_is_written_as_json() -> None:
    made = GUARANTEES["doubted"]
    read = json.loads(json.dumps(made.to_dict()))
    assert [each["name"] for each in read["assumptions"]] == ["Noise", "Model", "Independence"]
    assert read["conditions"] == [{"name": "Order", "words": "Some came late."}]
    assert (read["status"], read["risk"], read["text"]) == ("in doubt", 0.05, made.text)


SENTENCES = {
    "proven": "Proven: with probability at least 0.95, no arm is worse (σ = 1, threshold 'levels', "
    "a proof), provided the noise is small. Some came late.",
    "if linear": "Proven if the means are linear: with probability at least 0.95, no arm is worse "
    "(σ = 1, threshold 'levels', a proof), provided the noise is small and the means are linear. "
    "Tested.",
    "too coarse": "Proven if the means are linear: with probability at least 0.95, no arm is worse "
    "(σ = 1, threshold 'levels', a proof), provided the noise is small and the means are linear.",
    "untested": "Proven if the means are linear, which is untested: with probability at least 0.95, "
    "no arm is worse (σ = 1, threshold 'levels', a proof), provided the noise is small and the "
    "means are linear.",
    "doubted": "In doubt: the results contradict what is assumed (that the means are linear). A "
    "square fits better. The list may be wrong. What is proven under these assumptions: with "
    "probability at least 0.95, no arm is worse (σ = 1, threshold 'levels', a proof), provided the "
    "noise is small and the means are linear. Some came late.",
    "heuristic": "Heuristic: no proof covers this answer, because nobody proved it. The intended "
    "claim is: no arm is worse, with probability 0.95 (σ = 1, threshold 'levels').",
    "extension": "Extension without a theorem: it has ε > 0. The intended claim is: no arm is worse, "
    "with probability 0.95 (σ = 1, threshold 'levels', a proof).",
    "rejected": "Not certified: it is not. Take another.",
    "running": "No guarantee yet: the study has not stopped. At its stop: Proven: with probability "
    "at least 0.95, no arm is worse (σ = 1, threshold 'levels', a proof), provided the noise is "
    "small. The results contradict what is assumed: that the means are linear.",
    "tested now": "No guarantee yet: of the 20 evaluations that test whether the means are linear "
    "in the features, 3 are still to be asked for. If they agree: Proven: with probability at least "
    "0.95, no arm is worse (σ = 1, threshold 'levels', a proof), provided the noise is small.",
}


@pytest.mark.parametrize("name", GUARANTEES)
def test_the_sentences(name: str) -> None:
    assert GUARANTEES[name].text == SENTENCES[name]


# Of studies


def rests_on(**settings: Any) -> dict[str, str]:
    return dict(played(most=5, **settings).shortlist.guarantee.rests_on)


def test_assumptions_are_those_of_the_study() -> None:
    plain = rests_on()
    assert "σ = 0.3" in plain["Noise"]
    assert "its 4 features (rank 4): θ·x" in plain["Model"]
    assert "No result was processed before one that was asked for earlier" in plain["Order"]
    assert set(plain) == {"Noise", "Model", "Independence", "Order"}
    assert "S = 2" in rests_on(threshold="frequentist", S=2.0)["Size of θ"]
    assert "Size of θ" not in rests_on(S=2.0)
    assert "nothing is assumed" in rests_on(algorithm="LUCB")["Model"]
    assert "The features were not used" in rests_on(algorithm="LUCB")["Model"]
    assert "no restriction" in rests_on(K=4, m=1)["Model"]
    assert "Failed or cancelled: 2;" in rests_on(fail=2)["Failures"]
    alone = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0)
    assert "features" not in dict(alone.shortlist.guarantee.rests_on)["Model"]


def test_results_out_of_order_are_said_to_be() -> None:
    study = played(most=5)
    first, second, third = study.ask(3)
    study.tell(second, 0.0)
    overtaken = dict(study.shortlist.guarantee.rests_on)["Order"]
    assert guarantee.BLIND in overtaken
    study.tell(third, 0.0)
    study.tell(first, 0.0)
    assert dict(study.shortlist.guarantee.rests_on)["Order"] == overtaken
    study.tell(arm=0, value=1.0)
    unasked = dict(study.shortlist.guarantee.rests_on)["Unrequested data"]
    assert "without having been asked for: 1." in unasked


# How the means are related to the features

PROBLEM = Problem.of([[1.0], [2.0], [3.0]], 1, sigma=1.0)
SQUARE = Problem.of([[1.0, 0.0], [0.0, 1.0]], 1, sigma=1.0)


@pytest.mark.parametrize(
    ("relation", "assumed", "audited", "uses_features"),
    [
        (Unrelated(PROBLEM), "", False, False),
        (Unrelated(PROBLEM, guide="a line"), "", False, False),
        (Linear(PROBLEM), "the means are linear in the features", True, True),
        (Linear(SQUARE), "", False, True),
    ],
    ids=["unrelated", "guided", "linear", "any means are linear"],
)
def test_a_relation_says_what_it_assumes(
    relation: Relation, assumed: str, audited: bool, uses_features: bool
) -> None:
    assert relation.assumed == assumed
    assert (relation.audited, relation.uses_features) == (audited, uses_features)
    assert relation.explanation.endswith(".")
    assert relation.method.endswith(".")
    assert ("a line" in relation.explanation) == bool(relation.guide)
