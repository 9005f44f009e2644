"""Text to paste into a paper: what was done, with which numbers, and what it is worth."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from shortlist.report.assumptions import warned
from shortlist.report.citations import REDA, Work, algorithm_work, works
from shortlist.report.markup import printable
from shortlist.report.settings import software

if TYPE_CHECKING:
    from shortlist.study.study import Study

NAMES_LISTED = 30  # a longer list belongs into a table
RULES = {  # the kinds of rules in the words of the paper
    "candidates": "candidates",
    "ambiguous": "ambiguous arm",
    "selection": "selection",
    "stopping": "stop",
    "indices": "indices",
}
AS_PRINTED = {"lucb": "τ_LUCB", "ugape": "τ_UGapE"}


def methods(study: Study) -> str:
    """The text, a line a paragraph, without markup.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study(arms=["a", "b"], m=1, sigma=0.5, algorithm="LUCB", seed=0)
    >>> print(methods(study).split(" (")[0])
    We looked for the best of K = 2 arms by top-m identification with fixed confidence
    """
    worth = [named(study.shortlist.guarantee)]
    against = warned(study)
    if against:
        worth.append(f"The data spoke against what this assumes ({', '.join(against)}).")
    paragraphs = (_design(study), _course(study), worth, _tools(study))
    return "\n\n".join(" ".join(sentences) for sentences in paragraphs)


def cited(study: Study) -> list[Work]:
    """The works that the text names."""
    return works(study.bound.name, study.bound.threshold.source)


def named(words: str) -> str:
    """Words in which "the paper" has its name."""
    return words.replace("of the paper", "of Réda et al. 2021")


def plain(name: str) -> str:
    r"""A name for the middle of a sentence: one line, no sign that turns the reading direction.

    Examples
    --------
    >>> plain("aspirin\n  \u202eevil")
    'aspirin evil'
    """
    kept = (sign for sign in printable(name) if unicodedata.category(sign) != "Cf")
    return " ".join("".join(kept).split())


def _design(study: Study) -> list[str]:
    problem, bound = study.problem, study.bound
    wanted = "the best" if problem.m == 1 else f"the m = {problem.m:,} best"
    parts = bound.engine.parts
    rules = ", ".join(f"{words}: {_rule(parts[kind])}" for kind, words in RULES.items() if parts)
    whose = "; ".join(filter(None, [algorithm_work(bound.name).short, rules]))
    model = (
        "No model related the means of the arms."
        if bound.setting.classical
        else f"Every arm had N = {problem.dimension:,} features (rank {problem.rank:,}), and the "
        "means were modelled as linear in them."
    )
    S = f" and the bound S = {problem.S:g} on ‖θ‖" if bound.threshold.needs_S else ""
    noise = f"σ-sub-Gaussian noise with σ = {problem.sigma:g}"
    if bound.reward_range is not None:
        noise = "results from {:g} to {:g}".format(*bound.reward_range)
    return [
        f"We looked for {wanted} of K = {problem.arms:,} arms by top-m identification with fixed "
        f"confidence ({REDA.short}).",
        model,
        f"The algorithm was {plain(bound.name)} ({whose}).",
        f"Its confidence widths used the threshold '{plain(bound.threshold.name)}' "
        f"({named(bound.threshold.source)}) with risk δ = {problem.delta:g}, slack "
        f"ε = {problem.epsilon:g}, {noise}{S}.",
    ]


def _rule(name: str) -> str:
    return AS_PRINTED.get(name, plain(name.replace("_", " ")))


def _course(study: Study) -> list[str]:
    initial = len(study.bound.engine.initial)
    states = Counter(trial.state for trial in study.trials)
    words = []
    if initial:
        words.append(f"The first {initial:,} evaluations were set beforehand.")
    words.append(f"Each {'later ' if initial else ''}evaluation was chosen in view of the results.")
    if study.done:
        words.append(f"The study stopped after {study.shortlist.evaluations:,} evaluations.")
    else:
        words.append(
            f"After {study.evaluations:,} evaluations the study had not stopped: the list is a guess."
        )
    if states["failed"] or states["cancelled"]:
        words.append(
            f"Failed: {states['failed']:,}; cancelled: {states['cancelled']:,}; no value was made up "
            "for these."
        )
    names = [plain(name) for name in study.shortlist.names]
    if 0 < len(names) <= NAMES_LISTED:
        between = "; " if any("," in name for name in names) else ", "
        words.append(f"The shortlist, best estimated mean first: {between.join(names)}.")
    return words


def _tools(study: Study) -> list[str]:
    versions = dict(software())
    own = versions.pop("shortlist")
    others = ", ".join(f"{name} {version}" for name, version in versions.items())
    return [
        f"Computed with shortlist {own} ({others}), seed {study.seed}.",
        f"Hash of settings, features and results: {study.fingerprint}.",
    ]
