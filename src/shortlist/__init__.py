"""Find the m best of K candidates, with a guaranteed confidence, from few noisy evaluations."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from shortlist._version import __version__ as __version__

if TYPE_CHECKING:
    from shortlist import data as data
    from shortlist import errors as errors
    from shortlist import plot as plot
    from shortlist import report as report
    from shortlist import repurposing as repurposing
    from shortlist import testing as testing
    from shortlist import theory as theory
    from shortlist.catalog.gifa import GIFA as GIFA
    from shortlist.catalog.registry import algorithms as algorithms
    from shortlist.gifa.rules import rule as rule
    from shortlist.plans.guess_and_verify import Guided as Guided
    from shortlist.plans.pairs_in_doubt import PairsInDoubt as PairsInDoubt
    from shortlist.simulation import instances as instances
    from shortlist.simulation.comparison import compare as compare
    from shortlist.simulation.outlook import forecast as forecast
    from shortlist.study.running.untold_results import read_untold as read_untold
    from shortlist.study.study import Study as Study
    from shortlist.study.trial import Trial as Trial


__all__ = [
    "GIFA",
    "Guided",
    "PairsInDoubt",
    "Study",
    "Trial",
    "algorithms",
    "compare",
    "data",
    "errors",
    "forecast",
    "instances",
    "plot",
    "read_untold",
    "report",
    "repurposing",
    "rule",
    "testing",
    "theory",
]

# Everything loads on first use: `import shortlist` alone pulls in neither pandas nor matplotlib.
_ROOMS = ("data", "errors", "plot", "report", "repurposing", "testing", "theory")
_MODULES = {"instances": "shortlist.simulation.instances"}
_MODULES |= {room: f"shortlist.{room}" for room in _ROOMS}
_HOMES = {
    "algorithms": "shortlist.catalog.registry",
    "GIFA": "shortlist.catalog.gifa",
    "Guided": "shortlist.plans.guess_and_verify",
    "PairsInDoubt": "shortlist.plans.pairs_in_doubt",
    "Study": "shortlist.study.study",
    "Trial": "shortlist.study.trial",
    "compare": "shortlist.simulation.comparison",
    "forecast": "shortlist.simulation.outlook",
    "read_untold": "shortlist.study.running.untold_results",
    "rule": "shortlist.gifa.rules",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'shortlist' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
