"""How the study was set up, and with which software it was read."""

from __future__ import annotations

import datetime
import platform
from typing import TYPE_CHECKING

import numba
import numpy

from shortlist._version import __version__
from shortlist.study.view import makes_plans

if TYPE_CHECKING:
    from shortlist.study.study import Study


def software() -> list[tuple[str, str]]:
    """Names and versions.

    Examples
    --------
    >>> [name for name, _ in software()]
    ['shortlist', 'Python', 'NumPy', 'Numba']
    """
    return [
        ("shortlist", __version__),
        ("Python", platform.python_version()),
        ("NumPy", numpy.__version__),
        ("Numba", numba.__version__),
    ]


def settings(study: Study) -> list[tuple[str, str]]:
    """What was asked for, a name and a value each."""
    problem, bound = study.problem, study.bound
    S = "not given" if problem.S is None else f"{problem.S:g}"
    if problem.S is not None and not bound.threshold.needs_S:
        S += " (not used by this threshold)"
    delta = f"{problem.delta:g}"
    if study.budget is not None:
        delta += " (of the interval of an arm named beforehand; it decides nothing)"
    sigma = problem.noise.figure.removeprefix("σ = ")
    if bound.reward_range is not None:
        sigma += " (not used by this algorithm)"
    rows = [
        ("Algorithm", bound.name),
        ("Threshold", bound.threshold.name),
        ("Risk, δ", delta),
        ("Slack, ε", f"{problem.epsilon:g}"),
        ("Noise, σ", sigma),
        ("Bound on ‖θ‖, S", S),
        ("Arms to find, m", f"{problem.m:,}"),
        ("Arms, K", f"{problem.arms:,}"),
        ("Features, N", _features(study)),
        ("Regularisation, λ", f"{bound.setting.regularization:g}"),
        (
            "Pulls of the first plan" if makes_plans(study) else "Initial pulls",
            f"{len(bound.engine.setup.initial):,}",
        ),
        ("Seed", str(study.seed)),
    ]
    if study.budget is not None:
        rows.insert(1, ("Budget, T", f"{study.budget:,} evaluations"))
    if bound.misspecification:
        rows.append(("Misspecification, c", f"{bound.misspecification:g}"))
    if study.storage is not None:
        rows.append(("Storage", study.storage))
    return rows + [(f"Version of {name}", version) for name, version in software()]


def _features(study: Study) -> str:
    if study.bound.setting.classical:
        return "none used"
    return f"{study.problem.dimension:,} (rank {study.problem.rank:,})"


def utc(seconds: float | None) -> str:
    """A time in UTC, to the second.

    Examples
    --------
    >>> utc(0.0)
    '1970-01-01 00:00:00 UTC'
    >>> utc(None)
    '–'
    """
    if seconds is None:
        return "–"
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
