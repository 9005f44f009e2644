"""The state of a study in JSON."""

from __future__ import annotations

from pathlib import Path

from command_line import asked
from paths import DOCS


def test_json_has_the_same_keys_of_the_state_everywhere(plated: Path) -> None:
    keys = set(asked("tell", "screen.toml", "plate.csv")) - {"taken", "known", "blank", "left"}
    assert keys == {
        *(
            "study",
            "storage",
            "done",
            "stage",
            "linearity",
            "evaluations",
            "pending",
            "waiting",
            "failed",
            "cancelled",
            "set_aside",
            "retired",
            "controls",
            "added",
        ),
        *("budget", "estimated_error", "statistic", "epsilon", "remaining", "shortlist"),
        *("certain", "cost"),
    }
    assert keys <= set(asked("status", "screen.toml"))
    assert keys <= set(asked("fail", "screen.toml", 0))
    [listed] = asked("list", "screen.toml")["studies"]
    assert keys <= set(listed)
    page = (DOCS / "command-line.md").read_text()
    for key in keys:
        assert f"`{key}`" in page, key
