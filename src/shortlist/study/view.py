"""What can be read of a study: its trials, its results, and how far it is."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from shortlist.advice import advise
from shortlist.arrays import Label
from shortlist.engine.aim import Aim
from shortlist.engine.algorithm import Procedure
from shortlist.engine.fits import Posterior
from shortlist.engine.follow import TAKE, WIDEN, Steps
from shortlist.guarantee import Claim
from shortlist.printable import count, on_one_line
from shortlist.problem import Problem
from shortlist.study.insight.audit import Audit
from shortlist.study.ledger import Added, Failures, Retirement, Source
from shortlist.study.log import Log
from shortlist.study.model import Model
from shortlist.study.trial import Trial, Trials

TRIALS_SHOWN = 5


class View:
    """A study for reading: functions that only read a study accept this.

    ``Study`` adds the methods that change it, and the answers.
    """

    seed: int
    name: str = "study"
    created_at: float
    _log: Log
    _answered_at: int

    @property
    def procedure(self) -> Procedure:
        """The algorithm on its problem, as it stands: ε may be larger, and arms retired or added."""
        return self._log.procedure

    @property
    def claim(self) -> Claim:
        """What is claimed of the answer."""
        return self.procedure.claim

    @property
    def coverage(self) -> str:
        """How often the arms' own intervals contain their means, in a sentence."""
        return self.procedure.coverage

    @property
    def model(self) -> Model:
        """The algorithm as it stands after the results processed so far."""
        return self._log.model

    @property
    def audit(self) -> Audit:
        """The tests of whether the means are linear in the features."""
        return self._log.audit

    @property
    def problem(self) -> Problem:
        """The problem: arms, features, m, δ, ε and the noise."""
        return self.procedure.problem

    @property
    def direction(self) -> str:
        """Whether the best arms are those of largest (``"maximize"``) or of smallest mean."""
        return self.problem.direction

    @property
    def done(self) -> bool:
        """Whether the study has stopped, as far as this process knows (see ``refresh``).

        A study whose answer depends on its features stops when the audit has passed.
        """
        return self._log.stopped

    @property
    def evaluations(self) -> int:
        """How many results were processed."""
        return self.model.posterior.observed

    @property
    def cost(self) -> float:
        """What the results processed so far have cost; their number where no costs were stated."""
        return self.problem.costs.total(self.model.posterior.pulls)

    @property
    def budget(self) -> int | None:
        """After how many results the study stops; None if it stops when it is certain enough."""
        return self.aim.budget

    @property
    def aim(self) -> Aim:
        """When it stops: once it is certain, or after a number of evaluations."""
        return self.procedure.engine.setup.aim

    @property
    def trials(self) -> Trials:
        """Every trial so far, by number."""
        return Trials(self._log.ledger.trials)

    @property
    def keyed(self) -> Mapping[str, Trial]:
        """The trials that have keys, indexed by key."""
        return self._log.ledger.keyed

    @property
    def pending(self) -> list[Trial]:
        """The trials asked for and still open, oldest first."""
        return self._log.ledger.pending

    @property
    def overdue(self) -> list[Trial]:
        """The open trials that a decision may wait for in vain; ``ask`` gives them out again."""
        return self._log.ledger.overdue()

    @property
    def waiting(self) -> list[Trial]:
        """The told trials that wait for an earlier one before they are processed."""
        return self._log.ledger.waiting

    @property
    def taken(self) -> Trials:
        """The told trials in the order in which they were processed."""
        return Trials(self._log.ledger.taken)

    @property
    def set_aside(self) -> list[Failures]:
        """The arms that failed three times in a row, and are not asked for until one is told."""
        return list(self._log.ledger.set_aside.values())

    @property
    def retired(self) -> list[Retirement]:
        """The arms that were retired, with the reasons."""
        return list(self._log.ledger.retired.values())

    @property
    def returned(self) -> list[Label]:
        """The arms that the study went on without while they failed, and that came back."""
        return self._log.ledger.returned

    @property
    def added(self) -> list[Added]:
        """The arms that were added after the study had begun, as often as some were."""
        return list(self._log.ledger.added)

    @property
    def given_out_again(self) -> list[Trial]:
        """The trials that were given out again, as nobody seemed to work on them any more."""
        ledger = self._log.ledger
        again = {event.trial for event in ledger.events if event.kind == "renewed"}
        return [ledger.trials[number] for number in sorted(again)]

    @property
    def open_at_changes(self) -> list[Trial]:
        """The trials that were open at a change from which on evidence counts, and told later.

        That is where a verification began, where arms were added, or retired because of results, and
        where ε was made larger.
        """
        return self._log.ledger.open_at_changes()

    @property
    def why_not_wider(self) -> str:
        """Why ε cannot be made larger, in sentences; empty if it can."""
        return self._log.why_not_wider()

    @property
    def widenings(self) -> list[tuple[float, int]]:
        """The values that ε was widened to, and after how many evaluations each time."""
        steps = self.all_steps() if self.problem.epsilon > self.begun_with else Steps.empty(0)
        told = np.cumsum(steps.kinds == TAKE)
        wider = steps.kinds == WIDEN
        values = steps.values[wider].tolist()  # noqa: PD011
        return list(zip(values, told[wider].tolist(), strict=True))

    @property
    def begun_with(self) -> float:
        """The ε that the study began with."""
        return self.model.first_procedure.problem.epsilon

    @property
    def sources(self) -> list[Source]:
        """The studies from which results were carried over to this one."""
        return self._log.ledger.sources

    @property
    def continuations(self) -> list[str]:
        """The names of the studies in the same storage that results of this one were carried to."""
        mark, carried = on_one_line(self.mark), self._log.storage.sources()
        names = [name for name, reason in carried if Source.read(reason).mark == mark]
        return list(dict.fromkeys(names))

    def new_model(self) -> Model:
        """The algorithm before the first result, to process all of them again."""
        return Model(self._log.model.first_procedure, self.seed, self._log.ledger.additions)

    def all_steps(self) -> Steps:
        """Everything that the model has processed, from the first, to be processed again."""
        return self._log.ledger.all_steps()

    @property
    def storage(self) -> str | None:
        """Where the study is stored, without the password; None if in memory only."""
        return self._log.storage.where

    @property
    def address(self) -> str | None:
        """Where the study is stored, to be opened again; it may contain a password."""
        return self._log.storage.address

    @property
    def mark(self) -> str:
        """The name, and a digest of name and problem, by which files of results are known."""
        problem = self._log.first_problem  # ε may have been made larger since, and arms added
        figures = [problem.m, problem.noise.written, problem.delta, problem.epsilon, self.seed]
        words = json.dumps([self.name, *figures, *problem.names]).encode()
        content = words + problem.features.tobytes()
        return f"{self.name}-{hashlib.blake2b(content, digest_size=4).hexdigest()}"

    @property
    def changes(self) -> int:
        """How often the study was changed: each asking, telling, failing and so on counts."""
        return self._log.ledger.changes

    @property
    def fingerprint(self) -> str:
        """A digest of the settings, the features and everything asked and told."""
        return self._log.ledger.fingerprint

    @property
    def posterior(self) -> Posterior:
        """A copy of the means, variances and pulls so far; later results do not change it."""
        posterior = self._log.model.posterior.copy()
        if self.problem.minimizes:
            posterior.mirror()
        return posterior

    @property
    def round(self) -> Any:
        """The state of the algorithm; only its engine uses it."""
        return self._log.model.round

    @property
    def statistic(self) -> float | None:
        """What the stopping rule compares with ε: a bound on how much better c may be than b.

        The study stops when it is at most ε. None before ``stage`` is ``"rounds"``.

        With a budget it decides nothing.
        """
        model = self._log.model
        decision = model.decision
        if decision is None or not model.looks or math.isinf(decision.statistic):
            return None
        return decision.statistic

    @property
    def why_final(self) -> str:
        """Why a stop cannot be taken back, in sentences; empty if it can."""
        if self.aim.why_final:
            return (
                f"{self.aim.why_final} To evaluate more, begin a study with a larger budget and these "
                f"results: {advise('carry over')}."
            )
        if self.problem.blocks.once and not self.round.until_decision:
            return "every arm has its result on every block: there is nothing to ask."
        return ""

    @property
    def stage(self) -> Literal["initial pulls", "rounds", "audit", "verification"]:
        """The stage of the study; the stopping rule is tested in rounds and in a verification only."""
        model = self._log.model
        if model.verifies:
            return "verification"
        if self.audit.is_running:
            return "audit"
        return "rounds" if model.looks else "initial pulls"

    @property
    def answered_at(self) -> int:
        """How many results the last stop is based on; those of an audit come after it."""
        return self._answered_at

    def trials_dataframe(self) -> pd.DataFrame:
        """Every trial, one row each, as it is now; times are in UTC.

        ``first_value`` is what was told before any correction, ``correction`` the last one's reason.
        ``carried_from`` names the trial of another study that the trial is a copy of.

        Examples
        --------
        >>> from shortlist import Study
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
        >>> _ = study.tell(study.ask(), 0.5)
        >>> study.trials_dataframe()[["number", "arm", "name", "state", "value"]]
           number  arm name state  value
        0       0    0  ash  told    0.5
        """
        columns = ["number", "arm", "name", "state", "value", "reason", "worker", "seed", "key"]
        columns += ["block"] * self.problem.blocks.exist
        frame = pd.DataFrame(
            {column: [getattr(trial, column) for trial in self.trials] for column in columns}
        ).astype({"number": np.int64, "arm": np.int64, "value": np.float64, "seed": np.uint64})
        for place, column in enumerate(("asked_at", "closed_at", "expires_at"), 6):
            times = [getattr(trial, column) for trial in self.trials]
            frame.insert(place, column, pd.to_datetime(times, unit="s", utc=True))
        frame["origin"] = [trial.cause.origin for trial in self.trials]
        frame["first_value"] = pd.Series([trial.first_value for trial in self.trials], dtype=float)
        frame["correction"] = [
            trial.corrections[-1].reason if trial.corrections else None for trial in self.trials
        ]
        frame["carried_from"] = [trial.carried_from for trial in self.trials]
        return frame

    def table(self) -> pd.DataFrame:
        """Every arm: pulls, mean, lower, upper, in_shortlist, by its name.

        After a stop it is as of the stop, and the rows of the shortlist are those of
        ``study.shortlist.table``: results of the audit and later ones are not in it.
        ``study.posterior`` has the pulls and means of all results.

        The mean is the average of the arm's own results; NaN without any, and for retired arms. Where
        the algorithm makes more of the results, by features or by what results of a block share,
        there is a column ``estimate`` after it, which ranks the arms and which the bounds are about.

        The bounds are μ̂ ± Cσ‖x‖_{V⁻¹} with the threshold C that the stopping rule uses, or of the
        algorithm's own kind at its last decision (all that make plans); they are missing before
        ``stage`` is ``"rounds"``, and so are the estimates during the initial pulls. Where the stop
        rests on differences of two arms (Guess-and-verify), the bounds are a
        mixture over the plans' own estimates of the arm (``plans/arm_bounds.py``). Their centre is
        near the estimate shown, which is the better one, but it is another; where they would not
        contain the estimate shown they are widened to it. How often the bounds contain the true means depends
        on the algorithm: ``study.shortlist.coverage`` says it.
        """
        return self._log.model.table().set_index("name")


def beyond_first_plan(study: View, trials: Iterable[Trial]) -> list[Trial]:
    """Those of the trials, in order, that were asked for when all of the first plan was under way."""
    if not study.procedure.engine.setup.pace.makes_plans:
        return []
    asked = [
        trial
        for trial in trials
        if trial.cause.origin == "initial" and trial.state not in ("failed", "cancelled")
    ]
    return asked[len(study.model.first_procedure.engine.setup.initial) :]


def needed_now(study: View, trials: Sequence[Trial]) -> int:
    """How many of these open trials, the first ones, it takes until the study looks at its stop."""
    by_plans = study.procedure.engine.setup.pace.makes_plans and study.aim.certifies
    if not trials or not by_plans or study.model.stopped:
        return len(trials)
    # Those of an audit are asked for first, and are not part of a plan.
    audits = sum(trial.cause.origin == "audit" for trial in trials)
    planned = [
        each
        for each in (*study.pending, *study.waiting)
        if each.cause.origin not in ("audit", "control")
    ]
    earlier = sum(each.number < trials[0].number or each.state == "told" for each in planned)
    lacking = study.round.until_decision - earlier
    if study.problem.blocks.shifts:  # all results of a block count
        return len(trials) if lacking > 0 else 0
    return min(max(lacking, 0) + audits, len(trials))


def more_than_needed(study: View, trials: Sequence[Trial]) -> str:
    """That not all of these open trials are needed before the study can stop; empty if they are.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], m=1, sigma=1.0, algorithm="Guess-and-verify")
    >>> print(more_than_needed(study, study.ask(12)))
    The first 9 of these 12 trials (up to trial 8) complete the first plan. Then the study checks whether it can stop, and the other 3 may not be needed: ask for 9 to get no more than that.
    """
    needed = needed_now(study, trials)
    spare = len(trials) - needed
    if spare <= 0:
        return ""
    plan = "present plan" if study.model.initialized else "first plan"
    if not needed:
        return (
            f"Possibly none of these {len(trials):,} is needed: the trials that were already open "
            f"complete the {plan}, and then the study checks whether it can stop. Tell those first."
        )
    last = f"trial {trials[needed - 1].number}"
    which = f"The first {needed:,} of these {len(trials):,} trials (up to {last}) complete"
    if needed == 1:
        which = f"The first of these {len(trials):,} trials ({last}) completes"
    return (
        f"{which} the {plan}. Then the study checks whether it can stop, and the other {spare:,} may "
        f"not be needed: ask for {needed:,} to get no more than that."
    )


def next_look(study: View) -> str:
    """When the stop is looked for again, as a sentence; empty if that is after every result.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], m=1, sigma=1.0, algorithm="Guess-and-verify")
    >>> next_look(study)
    'It checks again when 9 more are in.'
    """
    left = study.round.until_decision or len(study.pending)  # a block is not divided
    return f"It checks again when {left:,} more are in." if left > 1 else ""


def overdue_words(study: View) -> str:
    """Which trials are overdue, as a sentence; empty if none is."""
    late = study.overdue
    return f"Overdue, and asked for again: {cells_of(late)}." if late else ""


def cells_of(trials: Sequence[Trial]) -> str:
    """Trials with their arms and blocks.

    Examples
    --------
    >>> cells_of([Trial(4, 2, "ash", seed=7, block="q1")])
    "trial 4 ('ash' on block 'q1')"
    """
    shown = [f"trial {t.number} ({t.name!r} on block {t.block!r})" for t in trials[:TRIALS_SHOWN]]
    more = len(trials) - len(shown)
    return ", ".join([*shown, f"{more:,} more"] if more else shown)


def before_the_rounds(study: View) -> str:
    """Why nothing is certified yet, as a sentence.

    Examples
    --------
    >>> from shortlist import Study
    >>> study = Study([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=1.0, algorithm="m-LinGapE")
    >>> before_the_rounds(study)
    '0 of 30 initial pulls are told.'
    """
    if study.model.verifies:
        return f"The list is being verified: {study.round.until_decision:,} more complete the first plan."
    if study.stage == "rounds":
        left = count(study.round.until_decision, "more result")
        return f"The arms can be compared again after {left}."
    opening, pulled = study.procedure.engine.initial_pulls(study.model.posterior)
    told = int(np.minimum(pulled, np.bincount(opening, minlength=len(pulled))).sum())
    which = study.procedure.engine.setup.pace.opening_pulls
    return f"{told:,} of {len(opening):,} {which} are told."
