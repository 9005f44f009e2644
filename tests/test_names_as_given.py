"""What a user gave, such as the names of arms and the reasons of failures, is said as it was given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shortlist
from served import begun, client_of
from shortlist.cli.app import app

# What looks like advice to whoever searches for it.
LOOKALIKES = [
    "threshold=0.2",
    "lr=0.1",
    "S=1.50",
    "trust=True",
    "study.pending",
    "study.reopen()",
    "study.tell(arm='C07', value=1)",
    r"study.tell(arm='\x', value=1)",
]


def unchecked(*words: object) -> str:
    """What a command says, which has no calls but those in names."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_names_the_arms_that_there_are(folder: Path) -> None:
    study = shortlist.Study(arms=LOOKALIKES, m=1, sigma=0.1, storage="screen.db", seed=0)
    trials = study.ask(len(LOOKALIKES))
    given = json.loads(unchecked("status", "screen.db", "--json"))["open"]
    assert [trial["arm"] for trial in given] == [trial.name for trial in trials]
    for arm, name in enumerate(LOOKALIKES):
        words = "tell", "screen.db", "--arm", name, "--value", arm, "--json"
        report = json.loads(unchecked(*words))
    study.tell_many((trial, float(trial.arm)) for trial in trials)
    report = json.loads(unchecked("status", "screen.db", "--json"))
    assert report["shortlist"] == [LOOKALIKES[-1]]
    assert [row["name"] for row in report["table"]] == [LOOKALIKES[-1]]


def test_the_server_names_the_arms_that_there_are(folder: Path) -> None:
    begun("screen.db", arms=LOOKALIKES)
    with client_of("screen.db") as client:
        reply = client.api("ask", {"key": "plate", "n": len(LOOKALIKES)}).json()
        assert {trial["arm"] for trial in reply["trials"]} <= set(LOOKALIKES)
        for trial in reply["trials"]:
            client.api("tell", {"trial": trial["trial"], "value": 0.5})
        for name in LOOKALIKES:
            refused = client.api("tell", {"arm": name, "value": "high", "key": "x"}).json()
            assert "'high'" in refused["error"]
        status = client.api("status").json()
        assert set(status["shortlist"]) <= set(LOOKALIKES)


@pytest.mark.parametrize("reason", LOOKALIKES)
def test_the_reason_of_a_failure_is_said_as_it_was_given(folder: Path, reason: str) -> None:
    study = shortlist.Study(arms=["ash", "elm"], m=1, sigma=0.1, storage="screen.db", seed=0)
    for trial in study.ask(12):
        if trial.name == "ash":
            said = unchecked("fail", "screen.db", trial.number, "--reason", reason)
    assert reason in " ".join(said.split())
    assert "`shortlist retire screen.db ash" in " ".join(said.split())
    [listed] = json.loads(unchecked("list", "screen.db", "--json"))["studies"]
    assert reason in listed["words"]
