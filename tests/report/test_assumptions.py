"""The assumptions are those of the study."""

from __future__ import annotations

from typing import Any

import shortlist
from report_pages import played
from shortlist.report.assumptions import assumptions


def test_assumptions_are_those_of_the_study() -> None:
    def of(**settings: Any) -> dict[str, str]:
        return dict(assumptions(played(most=5, **settings)))

    plain = of()
    assert "σ = 0.3" in plain["Noise"]
    assert "N = 4 features (rank 4): θ·x" in plain["Model"]
    assert "No result was processed before one that was asked for earlier" in plain["Order"]
    assert set(plain) == {"Noise", "Model", "Independence", "Order"}
    assert "S = 2" in of(threshold="determinant", S=2.0)["Size of θ"]
    assert "Size of θ" not in of(S=2.0)
    assert "nothing is assumed" in of(algorithm="LUCB")["Model"]
    assert "The features were not used" in of(algorithm="LUCB")["Model"]
    assert "no restriction" in of(K=4, m=1)["Model"]
    assert "Failed or cancelled: 2;" in of(fail=2)["Failures"]
    alone = shortlist.Study(arms=["a", "b"], m=1, sigma=1.0)
    assert "features" not in dict(assumptions(alone))["Model"]


def test_results_out_of_order_are_said_to_be() -> None:
    study = played(most=5)
    first, second, third = study.ask(3)
    study.tell(second, 0.0)
    overtaken = dict(assumptions(study))["Order"]
    assert "the time an evaluation takes does not depend on its value" in overtaken
    study.tell(third, 0.0)
    study.tell(first, 0.0)
    assert dict(assumptions(study))["Order"] == overtaken
    study.tell(arm=0, value=1.0)
    assert "without having been asked for: 1." in dict(assumptions(study))["Unrequested data"]
