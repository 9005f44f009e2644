"""What a study says of the test of linearity: whether it was made, what it found, what to do."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from shortlist.advice import advise, goes_on, setting
from shortlist.arrays import Reals
from shortlist.features import MOST_WITHOUT
from shortlist.noise.spread import HINT, Spread, p_value
from shortlist.plans.guess_and_verify import MOST_ARMS
from shortlist.printable import count
from shortlist.problem import Problem
from shortlist.study.answer import estimated
from shortlist.study.insight.audit import is_audited, rests_on_features
from shortlist.study.insight.feature_findings import examine_features
from shortlist.study.insight.linearity import LEVEL, Shapes, noise_of
from shortlist.study.insight.shifts import (
    results_of,
    shift_finding,
    shifts_cancel,
    spread_within_blocks,
    together,
)
from shortlist.study.verification import cannot_verify
from shortlist.study.view import View

OTHER_UNITS = 100  # times σ: where results span as much, it may be a fraction and they in per cent
ENOUGH_REPLICATES = 10  # degrees of freedom from which the replicates' own spread replaces σ


def spread(study: View) -> Spread:
    """The results of every arm so far: how many, their mean and their spread."""
    if study.problem.has_levels:
        return spread_within_blocks(study)
    arms, _, values = results_of(study)
    return Spread.of(arms, values, _noise_as_known(study))


def _noise_as_known(study: View) -> Reals:
    """(σ_a/σ)² of every arm: as it is stated, or where no σ is, as the results show it."""
    if study.procedure.noise.uses_sigma or not study.model.initialized:
        return study.problem.relative_noise
    seen = study.procedure.engine.estimates(study.model.posterior, study.round).noise
    return study.problem.relative_noise if seen is None else seen / seen.max()


def not_held(study: View) -> str:
    """That the guarantee does not hold, where linear means with this σ were rejected."""
    assumed = {
        "sigma": "noise of at most σ",
        "shift": "that there is no plate or day effect",
    }.get(
        cause_of_rejection(study),
        f"means that are {study.procedure.relation.shape} and noise of at most σ",
    )
    return f"The guarantee assumes {assumed}: it does not hold."


def is_linearity_untested(study: View) -> bool:
    """Whether an answer assumes that the means are linear, and nothing has tested it."""
    if not rests_on_features(study.procedure):
        return False
    verdict = study.audit.verdict
    return verdict is None or math.isinf(verdict.detectable)  # nothing would have been found


def is_linearity_tested(study: View) -> bool:
    """Whether the answer is final, assumes that the means are linear, and was tested for it."""
    return study.done and rests_on_features(study.procedure) and not is_linearity_untested(study)


def untested(study: View) -> str:
    """Why linearity was not tested, in a sentence."""
    what, audit = _assumed(study), study.audit
    if not audit.wanted:
        return f"{what} was assumed, not tested ({setting('audit', False)}); {_evaluated(study)}."
    if not is_audited(study.procedure):
        why = "with shifts, and a σ of each arm that is not known, too little can be said of it"
        return f"{what} was assumed, not tested ({why}); {_evaluated(study)}."
    if not audit.results:
        return f"{what} was not tested: every evaluation made for it failed; {_evaluated(study)}."
    return (
        f"{what} was not tested: the {len(audit.results):,} evaluations made for it could not have "
        f"shown a misfit; {_evaluated(study)}."
    )


def passed(study: View) -> str:
    """How linearity was tested and what would have been found, in a sentence."""
    verdict, what = study.audit.verdict, _assumed(study)
    assert verdict is not None
    span, gap = _span_and_gap(study)
    about = "about " if noise_of(study.problem, np.zeros(1, np.int64))[1] == "own" else ""
    return (
        f"{what} was tested at level {about}{LEVEL * 100:g} % against {_tried(study.problem)}, by the "
        f"first plan and {count(len(study.audit.results), 'evaluation')} that were fixed with it; "
        f"{_evaluated(study)}. A typical misfit of {verdict.detectable:.2g} (root mean square over the "
        f"arms) would have been found with probability 0.9, where the estimated means span {span:.2g} and "
        f"ranks {study.problem.m} and {study.problem.m + 1} are {gap:.2g} apart: smaller or other "
        "departures, which can make the list wrong, were not excluded."
    )


def _tried(problem: Problem) -> str:
    """The shapes that were tried, in words."""
    terms = Shapes.of(problem).terms
    kinds = {
        "squares": any(len(term) == 2 and len(set(term)) == 1 for term in terms),
        "products": any(len(set(term)) > 1 for term in terms),
        "cubes": any(len(term) == 3 for term in terms),
    }
    words = [kind for kind, tried in kinds.items() if tried]
    if not words:
        return "a mean of its own for every candidate"
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    return f"{listed} of features"


def passed_in_short(study: View) -> str:
    """How linearity was tested, in a few words."""
    assert study.audit.verdict is not None
    least = study.audit.verdict.detectable
    if not is_test_too_coarse(study):
        return f"tested: a typical misfit above {least:.2g} would have been found"
    m, gap = study.problem.m, _span_and_gap(study)[1]
    so = "a smaller misfit can make the list wrong" if cannot_verify(study) else without_linearity()
    return (
        f"tested, but a misfit below {least:.2g} can go unnoticed, and ranks {m} and {m + 1} "
        f"are {gap:.2g} apart: {so}"
    )


def is_test_too_coarse(study: View) -> bool:
    """Whether linearity was tested, and a misfit that was not found may make the list wrong.

    Two arms change places, by more than ε, if the misfits of both are half of their gap and ε.
    """
    if not is_linearity_tested(study):
        return False
    assert study.audit.verdict is not None
    return 2.0 * study.audit.verdict.detectable > _span_and_gap(study)[1] + study.problem.epsilon


def _span_and_gap(study: View) -> tuple[float, float]:
    """How far the estimated means reach, and how far apart those next to the boundary are."""
    ranked = np.sort(estimated(study.table()).dropna().to_numpy())  # a retired arm has none
    ranked = ranked if study.problem.minimizes else ranked[::-1]
    gap = abs(ranked[study.problem.m - 1] - ranked[study.problem.m])
    return float(abs(ranked[-1] - ranked[0])), float(gap)


def _assumed(study: View) -> str:
    return f"That {study.procedure.relation.assumed}"


def _evaluated(study: View) -> str:
    seen = int((study.model.posterior.pulls > 0).sum())
    return f"{seen:,} of {study.problem.arms:,} arms were evaluated"


def without_linearity() -> str:
    """How a list is proven without linear means."""
    return f"{advise('verify')} proves the list without linear means"


def rejection(study: View) -> str:
    """Why linear means with this σ were rejected, and what to do."""
    return f"{departure(study)} {not_held(study)} {remedy(study)}"


Cause = Literal["shift", "sigma", "linearity", "either"]
BADGES: dict[Cause, str] = {
    "shift": "plate or day effect",
    "sigma": "σ too small",
    "linearity": "linearity rejected",
    "either": "linearity or σ rejected",
}


def rejected(study: View) -> tuple[str, str, str]:
    """Why an answer is not certified, where linear means with this σ were rejected.

    Returns a badge, sentences that say why, and what to do.
    """
    badge = BADGES[cause_of_rejection(study)]
    return badge, f"{departure(study)} {not_held(study)}", remedy(study)


def _cause(study: View, results: Spread) -> tuple[Cause, str]:
    """What is wrong where a linear model with this σ does not explain the results, and why.

    A linear model is tested with σ as it was given, and one that is too small is rejected however
    linear the means are. Results of the same arm tell the two apart: they say what the noise is
    whatever the means, unless results that came together share a shift.
    """
    from scipy.special import chdtrc

    came = together(study)
    if came is not None and came[1].is_found:
        words = shift_finding(study, *came)[1]
        return "shift", f"{words} Whether the means are linear cannot be judged with it."
    if not study.procedure.noise.uses_sigma:
        shape = study.procedure.relation.shape
        return "linearity", f"No σ is assumed, so the means are not {shape}."
    degrees, (level, words, *_) = (
        results.replicates,
        study.procedure.noise.finding(results, study.problem.names),
    )
    if level == "warning":
        return "sigma", f"{words} Whether the means are linear cannot be judged before σ is right."
    freedom = f"{count(degrees, 'degree')} of freedom"
    p = 1.0
    if degrees:
        p = float(chdtrc(degrees, float(results.squares.sum()) / study.problem.sigma**2))
    linear = f"the means are not {study.procedure.relation.shape}"
    if degrees >= ENOUGH_REPLICATES and p >= HINT:
        return (
            "linearity",
            f"Results of the same arm agree with σ ({freedom}, {p_value(p)}), so {linear}.",
        )
    if p < HINT:
        return "either", (
            f"Either σ is too small, as results of the same arm suggest ({freedom}, {p_value(p)}), or "
            f"{linear}."
        )
    return "either", (
        f"Either {linear} or σ is too small: results of the same arm are too few to say which "
        f"({freedom}).{_other_units(study)}"
    )


def _other_units(study: View) -> str:
    """A question, where σ is so small beside the results that it may be in other units."""
    values = [trial.value for trial in study.taken if trial.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high - low < OTHER_UNITS * study.problem.sigma:
        return ""
    return f" Is σ in the units of the results, which lie between {low:.3g} and {high:.3g}?"


def remedy(study: View) -> str:
    """How to continue where a linear model with this σ does not explain the results.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0], [2.0], [4.0]], m=1, sigma=0.5, intercept=False)
    >>> print(remedy(study)[:51])
    No result is lost: study.continued(intercept=True)
    """
    return f"No result is lost: {_way_on(study, spread(study))}"


def _way_on(study: View, results: Spread) -> str:
    """The one way to continue that helps most, for the middle of a sentence."""
    cause, _ = _cause(study, results)
    if cause == "shift":
        return shifts_cancel(study, "all of them")
    if cause == "sigma":
        return goes_on("with all of them.", sigma=study.procedure.noise.larger(results))
    if not _has_level(study):
        return goes_on(
            "with all of them, and lets the means have a level of their own, which these features "
            "cannot express.",
            intercept=True,
        )
    guided = study.problem.arms <= MOST_ARMS and not study.problem.blocks.shifts
    if cause == "either" and guided:
        return goes_on(
            "with all of them, with the features as a guide only and another σ.",
            trust="guide",
            sigma="estimate",
        )
    if cause == "either" and study.problem.arms <= MOST_WITHOUT:
        return goes_on(
            "with all of them, and assumes neither linear means nor this σ.",
            features=None,
            sigma="estimate",
        )
    if not cannot_verify(study):
        return goes_on("in this study, with the features as a guide only.")
    if study.problem.arms <= MOST_WITHOUT:
        return goes_on("with all of them, and assumes nothing about the means.", features=None)
    return (
        f"with more than {MOST_WITHOUT:,} arms (here {study.problem.arms:,}) a study cannot go on "
        "without features. Begin one with other features, in which the means are closer to linear, "
        f"or without arms that are known to be bad: {advise('carry over')} gives it the results."
    )


def _has_level(study: View) -> bool:
    """Whether the features can express a level that is common to all means."""
    findings = examine_features(study.problem)
    return all(each.level == "fine" for each in findings if each.name == "offset")


def departure(study: View) -> str:
    """What contradicts means that are linear, and the likely cause."""
    rejection, shape = study.audit.rejection, study.procedure.relation.shape
    assert rejection is not None
    cause, words = _cause(study, spread(study))
    if cause in ("shift", "sigma"):  # then nothing can be said of the means
        return words
    size = study.problem.noise.size
    noise = f" with noise of {size}" if study.procedure.noise.uses_sigma else ""
    return (
        f"the results contradict means that are {shape} in the features{noise}: "
        f"{term_words(study.problem, rejection.term)} improves the fit ({p_value(rejection.p)}, "
        f"tested at level {LEVEL * 100:g} % by {count(rejection.evaluations, 'evaluation')} of arms that "
        f"were fixed beforehand). {words}"
    )


def term_words(problem: Problem, term: tuple[int, ...] | None) -> str:
    """A square, a product or a cube of features, or a level, in words."""
    if term is None:
        return "a mean of its own for every arm"
    if not term:
        return "a level that the features cannot express"
    names = [
        repr(problem.columns[k]) if problem.columns is not None else f"column {k}" for k in term
    ]
    if len(set(term)) > 1:
        return f"{names[0]} times {names[1]}"
    return f"the {'square' if len(term) == 2 else 'cube'} of {names[0]}"


def cause_of_rejection(study: View) -> Cause:
    """What is wrong where a linear model with this σ does not explain the results."""
    return _cause(study, spread(study))[0]
