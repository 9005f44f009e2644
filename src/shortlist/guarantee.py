"""What an answer is worth: worded once, and shown everywhere.

An algorithm on a problem makes a :class:`Claim`; a study turns it into a :class:`Guarantee`, with what
its results say about the assumptions. The shortlist, the report, the live page, the command line and
the JSON show the guarantee. Its sentences are written and put together in this file; an assumption
brings its own wording, from the noise or from the relation of means and features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from shortlist.advice import advise
from shortlist.blocks import NoBlocks
from shortlist.printable import count, slack_words
from shortlist.problem import Problem

# "good" only where a theorem covers the answer, only the noise is assumed, and nothing contradicts
# that.
Level = Literal["good", "plain", "warn"]
Status = Literal["proven", "heuristic", "in doubt", "not certified", "not yet", "budget"]


RARE = 200  # results of which one is far off, in a sentence on what cannot be seen

# What a proof needs wherever results came in otherwise than they were asked for.
BLIND = (
    "Which trials failed or were cancelled, and in which order results were told, depended neither on "
    "their values nor on any result that was known and not yet told."
)


class Assumption(NamedTuple):
    """What a claim rests on."""

    name: str  # in a word
    words: str  # for the middle of a sentence, after "provided"; empty if it is not named there
    explanation: str  # in full sentences
    tested: bool = False
    finding: str = ""  # how it was tested and what was found, or why it was not tested
    short: str = ""  # for the second of two lines; by default ``words``


class Condition(NamedTuple):
    """What else a guarantee rests on, because of how the study went."""

    name: str  # in a word
    words: str  # a sentence


class Doubt(Protocol):
    """A finding that contradicts an assumption."""

    @property
    def badge(self) -> str:
        """The finding in a word."""

    @property
    def words(self) -> str:
        """What was found."""

    @property
    def meaning(self) -> str:
        """What follows from it."""

    @property
    def remedy(self) -> str:
        """What to do, in a sentence."""

    @property
    def contradicts(self) -> str:
        """The assumption, beginning with "that"."""


class Answer(NamedTuple):
    """What was found, for the first of two lines."""

    problem: Problem
    evaluations: int
    retired: int = 0
    is_exact: bool = False  # whether it follows from results that are known

    @property
    def words(self) -> str:
        """Which arms these are, for the middle of a sentence.

        Examples
        --------
        >>> Answer(Problem.of(arms=["a", "b", "c"], m=2, sigma=1.0, epsilon=0.1), 40).words
        'the 2 best of 3, up to a difference of 0.1'
        """
        problem = self.problem
        best = f"{problem.m:,} best of" if problem.m > 1 else "best of"
        if problem.minimizes:
            best = f"{problem.m:,} of smallest mean, of" if problem.m > 1 else "smallest mean of"
        slack = f", up to a difference of {slack_words(problem.epsilon)}" if problem.epsilon else ""
        which = _which(problem, retired=self.retired > 0)
        left = f"{problem.eligible - self.retired:,}{which}"
        return f"the {best} {left}{slack}"

    @property
    def effort(self) -> str:
        """How many evaluations it took."""
        return count(self.evaluations, "evaluation")


@dataclass(frozen=True)
class Claim:
    """What an algorithm claims of its answer on a problem, before any result is in.

    Attributes
    ----------
    statement : str
        What is claimed: "no arm of the shortlist has …".
    risk : float
        δ, the probability with which it may be wrong.
    figures : str
        The numbers that it depends on.
    threshold, source : str
        The name of the threshold, and where its proof is.
    assumptions : tuple of Assumption
        What the proof needs.
    condition : str
        What must be true of the means for "proven": empty, or "the means are linear in …".
    condition_badge : str
        The same in a word or two.
    normality : str
        That noise is normal, where the proof needs that: "the noise is normal"; else empty.
    not_assumed : str
        That nothing is assumed of something that was given; empty if there is nothing to say.
    why_heuristic : tuple of str
        Why no theorem covers the answer; empty if one does.
    extends : str
        How the algorithm goes further than its theorem; empty if it does not.

    Examples
    --------
    >>> noise = Assumption("Noise", "the noise is small", "The noise is small.")
    >>> claim = Claim("no arm is worse", 0.05, "σ = 1", "levels", "a proof", (noise,))
    >>> claim.proven, claim.text[:47]
    (True, 'Proven: with probability at least 0.95, no arm ')
    """

    statement: str
    risk: float
    figures: str
    threshold: str
    source: str
    assumptions: tuple[Assumption, ...]
    condition: str = ""
    condition_badge: str = ""
    normality: str = ""
    not_assumed: str = ""
    why_heuristic: tuple[str, ...] = ()
    extends: str = ""

    @property
    def proven(self) -> bool:
        """Whether a theorem covers the answer."""
        return not self.why_heuristic and not self.extends

    @property
    def premise(self) -> str:
        """All that must be true beside the size of the noise, for the middle of a sentence."""
        return " and ".join(filter(None, [self.normality, self.condition]))

    @property
    def badge(self) -> str:
        """What the answer is worth, in a word or two; "Proven" alone assumes only the noise's size."""
        if not self.proven:
            return "Heuristic"
        normal = "normal" if self.normality else ""
        conditions = " and ".join(filter(None, [normal, self.condition_badge]))
        return f"Proven if {conditions}" if conditions else "Proven"

    @property
    def level(self) -> Level:
        """Whether it is good, plain or a warning."""
        if not self.proven:
            return "warn"
        return "plain" if self.premise else "good"

    @property
    def confidence(self) -> str:
        """With which probability it is right, for the middle of a sentence."""
        return f"with {100.0 * (1.0 - self.risk):.10g} % confidence"

    def at_stop(self, answer: Answer) -> str:
        """What will be claimed when the study stops, in a sentence."""
        how = f"At its stop, if {self.normality}" if self.normality else "At its stop"
        if not self.proven:
            how = "At its stop, by a heuristic that no proof covers"
        return f"{how}: {answer.words}, {self.confidence}."

    @property
    def first_words(self) -> str:
        """How the text begins where a theorem covers the answer."""
        return f"Proven if {self.premise}" if self.premise else "Proven"

    @property
    def text(self) -> str:
        """The whole claim in words."""
        return self.beginning_with(self.first_words)

    def beginning_with(self, first: str) -> str:
        """The whole claim in words; where a theorem covers it they begin with ``first``."""
        intended = f"The intended claim is: {self.statement}, with probability {1 - self.risk:g}"
        threshold = f"{self.figures}, threshold {self.threshold!r}"
        if self.why_heuristic:
            return (
                f"Heuristic: no proof covers this answer, because {'; '.join(self.why_heuristic)}. "
                f"{intended} ({threshold})."
            )
        if self.extends:
            return (
                f"Extension without a theorem: {self.extends}. {intended} ({threshold}, "
                f"{self.source})."
            )
        provided = _listed([each.words for each in self.assumptions if each.words])
        if self.not_assumed:
            provided = f"{provided}; {self.not_assumed}"
        return (
            f"{first}: with probability at least {1 - self.risk:g}, {self.statement} ({threshold}, "
            f"{self.source}), provided {provided}."
        )


def beyond_rank(problem: Problem, which: str = "") -> str:
    """Where the mean of a wrong arm lies, in words.

    Examples
    --------
    >>> beyond_rank(Problem.of(arms=["a", "b", "c"], m=2, sigma=1.0, epsilon=0.1), "true ")
    'below the true mean of rank 2 minus ε = 0.1'
    >>> beyond_rank(Problem.of(arms=["a", "b"], sigma=1.0, direction="minimize"))
    'above the mean of rank 1 (the smallest first)'
    """
    side, sign, first = ("above", "plus", " (the smallest first)")
    if not problem.minimizes:
        side, sign, first = "below", "minus", ""
    slack = "" if problem.epsilon == 0 else f" {sign} ε = {slack_words(problem.epsilon)}"
    return f"{side} the {which}mean of rank {problem.m}{first}{slack}"


def statement(problem: Problem, left: int | None = None) -> str:
    """What is claimed of the shortlist, where so many arms may be listed if some were retired.

    Examples
    --------
    >>> statement(Problem.of(arms=["a", "b", "c"], sigma=1.0), left=2)
    'among the 2 arms that were not retired, no arm of the shortlist has a mean below the true mean of rank 1'
    """
    which = _which(problem, retired=left is not None)
    among = f"among the {left or problem.eligible:,} arms{which}, " if which else ""
    return f"{among}no arm of the shortlist has a {problem.blocks.mean} {beyond_rank(problem, 'true ')}"


def _which(problem: Problem, *, retired: bool) -> str:
    """Which arms an answer is about, where it is not about all of them."""
    others = ["were not retired"] * retired + ["are not controls"] * problem.controls.exist
    return f" that {' and '.join(others)}" if others else ""


class BudgetClaim(Claim):
    """The claim of an algorithm that spends a budget: none. ``extends`` says what is known of it."""

    @property
    def text(self) -> str:
        """That there is no guarantee, and why."""
        return f"{self.statement} {self.extends}"

    def at_stop(self, answer: Answer) -> str:
        """That there is no guarantee."""
        return self.statement


def no_guarantee(budget: int) -> str:
    """That an answer on a budget has no guarantee, and why."""
    return (
        f"No guarantee: with a fixed budget the study ends after {budget:,} evaluations, whether "
        "or not the answer is certain by then."
    )


def budget_spent(budget: int) -> str:
    """What the slack of an answer at the end of a budget is, in a sentence."""
    return (
        f"The budget of {budget:,} evaluations is spent: the difference up to which the list is right is "
        "the smallest that the results prove."
    )


NOTHING_PROVEN = "These results prove nothing of the list, up to whatever difference."


@dataclass(frozen=True)
class Guarantee:
    """What an answer is worth.

    Attributes
    ----------
    status : {"proven", "heuristic", "in doubt", "not certified", "not yet", "budget"}
        In a word. "proven" may still assume more than the noise: see ``assumptions``.
    badge : str
        In a word or two, for people.
    level : {"good", "plain", "warn"}
        Good only where a theorem covers the answer, only the noise is assumed, and nothing
        contradicts that.
    claim : Claim
        What the algorithm claims.
    sentences : tuple of str
        The whole text, sentence by sentence; the first begins with the first words and a colon.
    assumptions : tuple of Assumption
        What the claim rests on, with what was tested and found.
    conditions : tuple of Condition
        What else it rests on, because of how the study went.
    short : str
        The guarantee in two lines: what was found, and what that assumes or what to do.
    """

    status: Status
    badge: str
    level: Level
    claim: Claim
    sentences: tuple[str, ...]
    assumptions: tuple[Assumption, ...] = ()
    conditions: tuple[Condition, ...] = ()
    short: str = ""

    @property
    def text(self) -> str:
        """The whole guarantee."""
        return " ".join(self.sentences)

    @property
    def first_words(self) -> str:
        """What stands before the colon."""
        return self.text.partition(":")[0]

    @property
    def rest(self) -> str:
        """What stands after the colon."""
        return self.text.partition(":")[2].lstrip()

    @property
    def rests_on(self) -> list[tuple[str, str]]:
        """A word and sentences for each assumption, with what was found, and each condition."""
        assumed = [(a.name, f"{a.explanation} {a.finding}".rstrip()) for a in self.assumptions]
        return [*assumed, *self.conditions]

    @property
    def beside_list(self) -> str:
        """What stands after the colon, without the sentences that ``rests_on`` has."""
        listed = {each.finding for each in self.assumptions}
        listed |= {each.words for each in self.conditions}
        said = " ".join(sentence for sentence in self.sentences if sentence not in listed)
        return said.partition(":")[2].lstrip()

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "status": self.status,
            "badge": self.badge,
            "short": self.short,
            "claim": self.claim.statement,
            "risk": self.claim.risk,
            "source": self.claim.source,
            "assumptions": [each._asdict() for each in self.assumptions],
            "conditions": [each._asdict() for each in self.conditions],
            "text": self.text,
        }


def in_two_lines(
    first: str,
    claim: Claim,
    assumptions: Sequence[Assumption],
    conditions: Sequence[Condition] = (),
) -> str:
    """A first line, and a second that names what is assumed."""
    ordered = sorted(assumptions, key=lambda each: each.name != NoBlocks.heading)
    listed = [each.short or each.words for each in ordered]
    more = [condition.name.lower() for condition in conditions]
    besides = ""
    if more:
        besides = (
            f" It also depends on how the study went ({', '.join(more)}): "
            f"{advise('guarantee')} says how."
        )
    free = f"; {claim.not_assumed}" if claim.not_assumed else ""
    return f"{first}\nAssumes: {', '.join(filter(None, listed))}{free}.{besides}"


def final(
    claim: Claim,
    assumptions: Sequence[Assumption],
    conditions: Sequence[Condition],
    *,
    answer: Answer,
    notes: Sequence[str] = (),
    untested: bool = False,
    too_coarse: bool = False,
    doubts: Sequence[Doubt] = (),
) -> Guarantee:
    """The guarantee of an answer at its stop.

    ``notes`` are sentences on what was tested. ``untested`` says that nothing has tested the
    condition of the claim, ``too_coarse`` that the test may have missed what would make the answer
    wrong; ``doubts`` contradict it.
    """
    parts = tuple(assumptions), tuple(conditions)
    sure = f"{claim.confidence} ({answer.effort})."
    found = f"{answer.words}, {sure}"
    after = (*notes, *(each.words for each in conditions))
    if answer.is_exact:
        # However they came in, and whatever is assumed of chance.
        known = exact(answer.problem)
        short = f"Exact: {answer.words} ({answer.effort}).\nThe answer {known}"
        said = f"Exact: {claim.statement}. The answer {known}"
        return Guarantee("proven", "Exact", "good", claim, (said,), parts[0], (), short)
    if doubts:
        against = " ".join(f"{doubt.words} {doubt.meaning}" for doubt in doubts)
        doubt = (
            f"In doubt: the results contradict what is assumed ({contradicted(doubts)}). {against}"
        )
        said = claim.beginning_with("What is proven under these assumptions")
        badge = f"In doubt: {', '.join(each.badge for each in doubts)}"
        short = (
            f"In doubt: {answer.words} ({answer.effort}), but the results contradict the "
            f"assumption {contradicted(doubts)}.\n{doubts[0].words} {doubts[0].remedy}"
        )
        return Guarantee("in doubt", badge, "warn", claim, (doubt, said, *after), *parts, short)
    if not claim.proven:
        first = f"Heuristic, no proof covers it: {answer.words}, meant to be so {sure}"
        found, _, assumed = in_two_lines(first, claim, *parts).partition("\n")
        why = claim.why_heuristic[0] if claim.why_heuristic else claim.extends
        short = f"{found}\nNo proof, because {why}. {assumed}"
        return Guarantee(
            "heuristic", claim.badge, "warn", claim, (claim.text, *after), *parts, short
        )
    if untested:
        said = claim.beginning_with(f"{claim.first_words}, which is untested")
        badge = f"{claim.badge}: untested"
        short = in_two_lines(f"If {claim.premise}, which is untested: {found}", claim, *parts)
        return Guarantee("proven", badge, claim.level, claim, (said, *after), *parts, short)
    premise = claim.premise if too_coarse else claim.normality
    first = f"If {premise}: {found}" if premise else f"{found[0].upper()}{found[1:]}"
    short = in_two_lines(first, claim, *parts)
    return Guarantee("proven", claim.badge, claim.level, claim, (claim.text, *after), *parts, short)


def not_certified(
    claim: Claim,
    assumptions: Sequence[Assumption],
    conditions: Sequence[Condition],
    *,
    answer: Answer,
    badge: str,
    why: str,
    remedy: str,
) -> Guarantee:
    """The guarantee of a study whose results contradict what its answer would assume."""
    words = (f"Not certified: {why} {remedy}",)
    parts = tuple(assumptions), tuple(conditions)
    named = f"Not certified: {badge}"
    short = f"{named} ({answer.effort}).\n{remedy}"
    return Guarantee("not certified", named, "warn", claim, words, *parts, short)


def not_yet(
    claim: Claim,
    assumptions: Sequence[Assumption],
    conditions: Sequence[Condition],
    *,
    answer: Answer,
    test: tuple[int, int] | None = None,
    notes: Sequence[str] = (),
    doubts: Sequence[Doubt] = (),
) -> Guarantee:
    """The guarantee of a study that has not stopped: none yet.

    ``test`` is the size of the test of linearity that goes on, and how much of it is still to be
    asked for.
    """
    parts, went = (tuple(assumptions), tuple(conditions)), [each.words for each in conditions]
    badge = "No guarantee yet" if claim.proven else "No guarantee yet, then heuristic"
    level: Level = "plain" if claim.proven else "warn"
    if test is not None:
        size, left = test
        words = (
            f"No guarantee yet: of the {size:,} evaluations that test whether the means are linear "
            f"in the features, {left:,} are still to be asked for. If they agree: {claim.text}"
        )
        first = (
            f"No guarantee yet: {left:,} of the {size:,} evaluations that test the model are still to "
            f"be asked for ({answer.effort})."
        )
        short = in_two_lines(first, claim, *parts)
        return Guarantee("not yet", badge, level, claim, (words, *went), *parts, short)
    sentences = [f"No guarantee yet: the study has not stopped. At its stop: {claim.text}", *notes]
    if doubts:
        sentences.append(f"The results contradict what is assumed: {contradicted(doubts)}.")
        level = "warn"
    sentences += went
    first = f"No guarantee yet: the study has not stopped ({answer.effort})."
    short = in_two_lines(f"{first} {claim.at_stop(answer)}", claim, *parts)
    if doubts:
        short = (
            f"{first} The results contradict the assumption {contradicted(doubts)}.\n"
            f"{doubts[0].words} {doubts[0].remedy}"
        )
    return Guarantee("not yet", badge, level, claim, tuple(sentences), *parts, short)


def of_budget(
    claim: Claim,
    assumptions: Sequence[Assumption],
    conditions: Sequence[Condition],
    *,
    answer: Answer,
    estimate: str,
    meaning: str,
    progress: str,
    doubts: Sequence[Doubt] = (),
) -> Guarantee:
    """What an answer on a budget is worth: an estimate of the error and its ``meaning``, if any.

    ``progress`` says how much of the budget is spent; empty at the end.
    """
    sentences = [" ".join(filter(None, (claim.statement, estimate, meaning, claim.extends)))]
    if doubts:
        sentences.append(f"The results contradict what is supposed: {contradicted(doubts)}.")
    if progress:
        sentences.insert(0, f"Not final: {progress}")
    sentences += [each.words for each in conditions]
    first = f"No guarantee: {answer.words}, as far as {answer.effort} tell. {estimate}".rstrip()
    return Guarantee(
        "budget",
        "No guarantee: fixed budget",
        "warn",
        claim,
        tuple(sentences),
        tuple(assumptions),
        tuple(conditions),
        in_two_lines(first, claim, assumptions, conditions),
    )


def exact(problem: Problem) -> str:
    """What an answer follows from that is certain, to go on after "The answer"."""
    return (
        "follows from the results that are known, whatever the missing ones of the "
        f"{problem.cells or 0:,} cells of the pool are."
    )


def rare(fewest: int) -> str:
    """What ``fewest`` results of an arm cannot show of its noise, in a sentence.

    Examples
    --------
    >>> rare(31)[:96]
    'Rare extremes may not show: if 1 result in 200 were far off, 86 % of sets of 31 results, as many'
    """
    missed = 100.0 * (1.0 - 1.0 / RARE) ** fewest
    return (
        f"Rare extremes may not show: if 1 result in {RARE} were far off, {missed:.0f} % of sets of "
        f"{count(fewest, 'result')}, as many as there are of each arm at least, would contain none, so "
        "that it must be known from elsewhere that there are no such results."
    )


@dataclass(frozen=True)
class Course:
    """How the results of an answer came in: how many did so in each way that matters.

    Where an algorithm ``searches``, what is asked may change on the way and what was decided stays. Others
    process all results again, as if it had been so from the first.
    """

    searches: bool = False
    out_of_order: bool = False
    unasked: int = 0
    only_guide: bool = False  # whether what nobody asked for proves nothing in any case
    uncounted: int = 0  # of what nobody asked for, at most: where evaluations are named one by one
    open_at_changes: int = 0  # from which on evidence counts, and told later
    carried: int = 0  # from an earlier study
    sources: str = ""  # how those studies ended
    corrected: int = 0
    lost: int = 0  # failed or cancelled
    again: int = 0  # given out again, and told
    retired: str = ""  # arms, with the reasons for which they were retired
    answers: int = 1  # with a δ each
    returned: str = ""  # arms that came back after the study had gone on without them
    added: str = ""
    widened: str = ""  # to which ε, and after how many evaluations each time
    set_aside: str = ""  # names of arms that failed too often
    failures: int = 0  # in a row, after which an arm is set aside


def conditions_of(course: Course) -> list[Condition]:
    """What else a guarantee rests on, because of how the study went.

    Examples
    --------
    >>> [condition.name for condition in conditions_of(Course(unasked=3, lost=1))]
    ['Unrequested data', 'Failures']
    """
    risk = f"{course.answers}δ" if course.answers > 1 else "δ"
    any_wrong = (
        "The probability that any answer of this study is wrong, the first or a later one, is at most "
        f"{risk}."
    )
    told = (
        "Whether and when they were told depended neither on their values nor on any result that was "
        "known and not yet told."
    )
    carried = (
        f"{course.carried:,}, all that it had of these arms, each arm's in the order in which they came. "
        "It is assumed that an arm's result does not depend on which study asks for it, and that these "
        "results had no part in the choice of the arms, m, δ, ε, σ, the algorithm and the seed: if "
        "several were tried, or one was chosen in view of these results, the risk may be above δ."
    )
    if course.only_guide:
        told = "They guided what was asked for next, and prove nothing."
        carried = f"{course.carried:,}. {told}"
    elif course.uncounted:
        told += (
            f" At most {course.uncounted:,} of them are no part of a plan: they guide what is asked for "
            "next, and prove nothing."
        )
    set_aside = (
        f" After {course.failures} failures in a row no more evaluations were asked for of "
        f"{course.set_aside}: it is assumed that these failures say nothing about the mean, which "
        "is judged by the results that there are."
    )
    wrong_then = ", nor results before they were corrected" * bool(course.corrected)
    stays = " What was decided because of a wrong value stays."
    back = "All results were processed again with them."
    if course.searches:
        wrong_then, back = "", "Evidence on a pair with one of them counts from then on."
    went: list[tuple[str, object, str]] = [
        (
            "Order",
            course.out_of_order,
            f"Some results were processed before others that had been asked for earlier. {BLIND}",
        ),
        (
            "Unrequested data",
            course.unasked,
            f"Results told without having been asked for: {course.unasked:,}. {told}",
        ),
        (
            "Open trials",
            course.open_at_changes,
            "Results that were open, or waited for earlier ones, when a verification began, when arms "
            "were added or retired, or when ε was made larger: "
            f"{course.open_at_changes:,}. They had no part in that.",
        ),
        (
            "Retired",
            course.retired,
            f"Retired, and no part of what is claimed: {course.retired}. Results may have had a part in "
            f"that. {any_wrong}",
        ),
        (
            "Came back",
            course.returned,
            "Left out while their evaluations failed, and back since: "
            f"{course.returned}. {back} {any_wrong}",
        ),
        (
            "Added",
            course.added,
            f"Added while the study ran: {course.added}. Evidence on a pair with one of them counts from "
            "then on, so that results may have had a part in adding them.",
        ),
        (
            "Carried over",
            course.carried,
            f"Results carried over from an earlier study: {carried}{course.sources}",
        ),
        (
            "Slack",
            course.widened,
            f"ε was made larger in view of the results: {course.widened}. The proof allows that, "
            f"provided that trials which were asked for and not told had no part in it{wrong_then}.",
        ),
        (
            "Corrections",
            course.corrected,
            f"Results corrected after they had been told: {course.corrected:,}. The values now are those "
            "that were measured, and a result would have been corrected whatever its right value was "
            f"and whatever came later.{stays if course.searches else ''}",
        ),
        (
            "Given out again",
            course.again,
            f"Trials that were given out again before they were told: {course.again:,}. Of each the "
            "result that was told first counts: whether it was given out again, and which evaluation of "
            "it was told first, depended on no value of it, nor on any other result that was known and "
            "not yet told.",
        ),
        (
            "Failures",
            course.lost,
            f"Failed or cancelled: {course.lost:,}; no value was made up for these."
            f"{'' if course.out_of_order else f' {BLIND}'}{set_aside if course.set_aside else ''}",
        ),
    ]
    return [Condition(name, words) for name, is_so, words in went if is_so]


IN_ORDER = Assumption(
    "Order",
    "",
    "No result was processed before one that was asked for earlier, so it does not matter which "
    "were ready first.",
)


def will_be_tested(least: int) -> str:
    """That fresh evaluations will test the means before an answer, in a sentence."""
    return (
        f"Before that, at least {least:,} fresh evaluations test whether the means are linear in "
        "the features."
    )


def rejected_by_tests(departure: str) -> str:
    """What tests found against the means, in sentences."""
    return f"Tests speak against it: {departure}"


def not_tested(*, final: bool) -> str:
    """That nothing has tested an assumption, in a sentence."""
    return f"Nothing has tested it{'' if final else ' yet'}."


def contradicted(doubts: Sequence[Doubt]) -> str:
    """What the findings contradict, in words; once where several contradict the same."""
    return ", ".join(dict.fromkeys(doubt.contradicts for doubt in doubts))


def _listed(words: Sequence[str]) -> str:
    """A list in the middle of a sentence: "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
