"""The study: ask what to evaluate, tell what came out, stop when it is certain enough."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import starmap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Never, NoReturn, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlist import notebook
from shortlist.advice import advise, setting
from shortlist.arrays import Label
from shortlist.blocks import Blocks, Cell
from shortlist.catalog.recommendation import (
    algorithm_for_trust,
    is_auto,
    is_unspecified,
    resolve_choice,
)
from shortlist.catalog.registry import find_algorithm
from shortlist.engine.algorithm import Algorithm, Procedure
from shortlist.errors import (
    ArmSetAside,
    GuaranteeInDoubt,
    InvalidInput,
    InvalidSetting,
    LinearityRejected,
    ShortlistError,
    StudyStopped,
    UnhealthyFeatures,
    unknown_name,
    warn_caller,
)
from shortlist.features import features_and_names, look_doubtful
from shortlist.gifa.thresholds import AUTO
from shortlist.guarantee import contradicted
from shortlist.printable import quoted
from shortlist.problem import (
    Problem,
    checked_seed,
    drawn_seed,
    suspicious_delta,
    whole_number,
)
from shortlist.storage.base import Storage
from shortlist.storage.memory import MemoryStorage
from shortlist.study.answer import Shortlist, best_first
from shortlist.study.budget import estimated_error
from shortlist.study.definition import Definition
from shortlist.study.failing_words import in_words, nothing_to_ask, remedy
from shortlist.study.familiar_words import RUN, SETTINGS, no_attribute, settings_of, unexpected
from shortlist.study.guarantee_parts import (
    answered_evaluations,
    differences,
    ending,
    equal_seeds,
    guarantee_of,
    left_out,
)
from shortlist.study.insight.audit import audit_results
from shortlist.study.insight.certain import certain
from shortlist.study.insight.feature_findings import warn_of_features
from shortlist.study.insight.finding import Findings
from shortlist.study.insight.health import doubts, examine
from shortlist.study.insight.history import History, history
from shortlist.study.insight.linearity_words import rejection
from shortlist.study.insight.remaining import Projection, remaining
from shortlist.study.insight.watch import Watch
from shortlist.study.ledger import Retirement, Source, checked_key
from shortlist.study.log import IfTold, Log, Told, arms_added, begun
from shortlist.study.outcome import checked_reason, checked_value, storable
from shortlist.study.running.objective import Objective
from shortlist.study.running.run import Run
from shortlist.study.trial import Reason, Trial
from shortlist.study.verification import cannot_verify
from shortlist.study.view import View, beyond_first_plan

LOGGER = logging.getLogger(__name__)
logging.getLogger("shortlist").addHandler(logging.NullHandler())  # silent unless asked for
Callback = Callable[["Study", Trial], object]


class Unasked(NamedTuple):
    """A result that nobody asked for."""

    arm: int | str
    value: Any
    key: str | None = None
    block: int | str | None = None


class Study(View):
    """Find the m best arms by asking for one evaluation after another.

    Parameters
    ----------
    features : array K × N, DataFrame, file or None
        One row per arm. A DataFrame's index names the arms, or the first column of a file (whole
        numbers if all of its names are, else text). None with ``arms`` means a classical
        bandit: nothing is known about the arms.
    m : int
        How many to find.
    sigma : float, "bounded", "estimate", "estimate per arm", a number for every arm, or a Noise
        The noise is σ-sub-Gaussian. There is no default: a wrong σ silently voids the guarantee.
    reward_range : (low, high), optional
        Where all results lie, for ``sigma="bounded"``.
    delta : float
        The risk of a wrong answer; with a budget it only sets the width of intervals.
    epsilon : float
        The slack allowed in the means.
    direction : {"maximize", "minimize"}
        Whether the best arms are those of largest or of smallest mean.
    intercept : bool
        Whether the means may have a level of their own: a column of ones is added to the features,
        unless a combination of them is one. With False an arm whose features are all 0 has mean 0,
        as in the paper.
    S : float, optional
        A bound on ‖θ‖, with the intercept, for thresholds that need one; without features, on the
        norm of the K means.
    budget : int, optional
        Stop after exactly this number of results, and estimate the probability of a wrong answer.
        Without it the study stops when the answer is certain enough.
    trust : {"linear", "guide"}
        Whether the answer may rest on means that are linear in the features. With ``"guide"`` a
        model of the features helps to guess the m best, and the guess is verified without them:
        the guarantee then assumes nothing about how the means depend on the features. See
        ``docs/features.md``.
    algorithm : str, GIFA or Planned, optional
        See ``shortlist.algorithms``; by default ``"auto"``, the one recommended for the problem.
    threshold : optional
        In place of the algorithm's own.
    seed : int, optional
        For ties and for the seeds of trials; by default drawn at random, see ``study.seed``.
    arms : sequence, optional
        Names of the arms.
    storage : path or URL, optional
        Where to keep the study: a file (SQLite; also as ``sqlite:///screen.db``) or
        ``postgresql://…``. If the storage already has a study of this name with the same settings
        and features, that study is continued; several processes may do so at once. By default it
        is in memory only.
    name : str, optional
        The name of the study in its storage.
    lease : float, optional
        Seconds after which a trial that was asked for and not told may be asked for again. By
        default never, except for trials of a ``run`` that has not been heard of for a minute, and
        for trials on blocks that are overdue: see ``ask``.
    costs : a number for every arm, in order or by name, optional
        What an evaluation of each arm costs. Allocations then minimise the cost and not the number
        of evaluations, with algorithms that can (``"auto"`` takes one), and ``study.cost`` counts it.
        They have no part in the guarantee. See ``docs/lab.md``.
    blocks : int, list of names, "random" or "shift", optional
        What results share. A number, or the names of the questions, patients or folds: a pool. Each
        arm has one result on each block, and the answer is about the mean over exactly these.
        ``"random"``: blocks are drawn afresh, such as the seeds of a simulator. ``"shift"``: every
        request is a block (a plate, a day), whose results share an unknown shift. ``trial.block`` says
        which block to evaluate an arm on, and ``trial.seed`` is the same for all arms of a block,
        but for shifted ones. See ``docs/blocks.md`` and ``docs/plates.md``.
    controls : list of arms, or a number of wells for each by name, optional
        With ``blocks="shift"``: arms that every request has, once each or so many times, and that are
        never listed. The answer is about the other arms. See ``docs/plates.md``.
    audit : bool
        Whether to test that the means are linear in the features, by a few extra evaluations (24, and
        at most a tenth of all if that is more). If the answer does not assume it, there is nothing to
        test. See ``docs/features.md``.

    Examples
    --------
    >>> import numpy as np
    >>> features = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.4]]
    >>> study = Study(features, m=1, sigma=0.1, seed=0, arms=["a", "b", "c"])
    >>> noise = np.random.default_rng(0)
    >>> while not study.done:
    ...     trial = study.ask()
    ...     _ = study.tell(trial, [1.0, 0.2, 0.8][trial.arm] + 0.1 * noise.standard_normal())
    >>> study.shortlist.names
    ['a']
    """

    # The number of changes that the answer is as of, whether it is final, and the answer.
    _answer: tuple[tuple[int, bool], Shortlist] | None

    def __init__(
        self,
        features: ArrayLike | pd.DataFrame | None = None,
        m: int = 1,
        *,
        sigma: Any = None,
        reward_range: tuple[float, float] | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        direction: Literal["maximize", "minimize"] = "maximize",
        intercept: bool = True,
        S: float | None = None,
        budget: int | None = None,
        trust: Literal["linear", "guide"] = "linear",
        algorithm: str | Algorithm | None = None,
        threshold: Any = None,
        seed: int | None = None,
        arms: Sequence[Any] | None = None,
        storage: str | os.PathLike[str] | None = None,
        name: str | None = None,
        lease: float | None = None,
        audit: bool = True,
        blocks: int | Sequence[Any] | str | Blocks | None = None,
        costs: Any = None,
        controls: Any = None,
        **others: Never,
    ) -> None:
        if others:
            known = settings_of(Study.__init__)
            raise unexpected("Study", others, SETTINGS, known)
        if features is None and arms is None and storage is not None:
            raise InvalidSetting(
                "a new study needs features or arms, but none were given. A study that is stored "
                f"is continued by {advise('load')}, or {advise('name it')} if there are several."
            )
        problem = Problem.of(
            features,
            m,
            sigma=sigma,
            reward_range=reward_range,
            delta=delta,
            epsilon=epsilon,
            direction=direction,
            S=S,
            arms=arms,
            intercept=intercept,
            blocks=blocks,
            costs=costs,
            controls=controls,
        ).locked()
        algorithm = algorithm_for_trust(trust, algorithm, has_features=features is not None)
        chosen, wide = resolve_choice(algorithm, threshold, problem, budget)
        procedure = chosen.bind(problem, wide)
        if (doubt := suspicious_delta(problem.delta)) and procedure.engine.setup.aim.certifies:
            raise InvalidSetting(doubt)
        if slow := chosen.slow_on(problem):
            warn_caller(UserWarning(slow))
        definition = Definition.of(
            problem,
            algorithm=chosen,
            threshold=wide,
            seed=drawn_seed() if seed is None else checked_seed(seed),
            lease=lease,
            classical=features is None,
            audit=audit,
            intercept=bool(intercept),
        )
        self.name, self.created_at = "study" if name is None else name, time.time()
        back_end: Storage
        if storage is None:
            back_end = MemoryStorage(begun(definition))
        else:
            from shortlist.storage.opening import checked_name, open_storage

            self.name, back_end = checked_name(name), open_storage(storage, create=True)
            settings = back_end.begin(
                self.name, definition.settings(self.created_at), begun(definition)
            )
            stored, self.created_at = Definition.read(settings, self.name), settings.created_at
            auto = is_unspecified(algorithm, threshold)
            wanted = definition.choices["algorithm"], definition.choices["threshold"]
            definition.leave_open(stored, seed=seed is None, algorithm=auto)
            if len(definition.names) > len(stored.names):  # some may have been added since
                definition = definition.as_begun(stored, arms_added(back_end))
                problem = problem.of_arms(np.arange(len(definition.names))).locked()
            definition.check_same(stored, self.name)
            if wanted != (definition.choices["algorithm"], definition.choices["threshold"]):
                # What is chosen by default is what it was when the study was begun.
                chosen, wide = definition.recalled(None, self.name)
                procedure = chosen.bind(problem, wide)
            elif procedure.problem is not problem:
                procedure = chosen.bind(problem, wide)
        self._begin(procedure, definition, back_end)
        doubtful = features is not None and look_doubtful(problem.features)
        if doubtful and procedure.relation.uses_features:
            warn_of_features(problem)

    @classmethod
    def load(
        cls,
        storage: str | os.PathLike[str],
        name: str | None = None,
        *,
        algorithm: Algorithm | None = None,
    ) -> Study:
        """Continue a stored study.

        Parameters
        ----------
        storage : path or URL
            Where it is kept.
        name : str, optional
            Which study; may be omitted if there is only one.
        algorithm : GIFA or Planned, optional
            Needed again if it has rules of your own: the storage holds names, never code.
        """
        from shortlist.storage.opening import open_storage, open_study

        back_end = open_storage(storage, create=False)
        study = cls.__new__(cls)
        study.name, settings = open_study(back_end, name)
        definition, study.created_at = Definition.read(settings, study.name), settings.created_at
        chosen, threshold = definition.recalled(algorithm, study.name)
        problem = definition.problem().locked()
        study._begin(chosen.bind(problem, threshold), definition, back_end)
        return study

    if not TYPE_CHECKING:  # a type checker knows what a study has

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(name)

    def __repr__(self) -> str:
        problem, state = self.problem, "stopped" if self.done else "not stopped"
        return (
            f"<Study {self.name!r}: the {problem.m} best of {problem.eligible} arms, "
            f"{self.evaluations} evaluations, {state}>"
        )

    def _repr_html_(self) -> str:
        words = repr(self)[1:-1]
        if not self.done and self.audit.rejection is None:
            words = f"{words}; to go: {self.remaining()}"
        return notebook.paragraph(words) + self.shortlist._repr_html_()

    def __reduce__(self) -> NoReturn:
        place = f"Study.load({self.storage!r}, {self.name!r})"
        raise InvalidInput(
            "a study cannot be pickled, copied or sent to another process: the copy would hand out "
            "the same trials. "
            + (
                "Create it with storage=…, send the storage and the name, and call Study.load "
                "there."
                if self.storage is None
                else f"Send its storage and name, and call {place} there."
            )
        )

    def continued(
        self,
        *,
        storage: str | os.PathLike[str] | None = None,
        name: str | None = None,
        **changes: Any,
    ) -> Study:
        """A study with all results so far, and the settings of this one but for some changes.

        This study stays as it is. The same arms but for retired ones, and the same blocks, costs,
        controls, m, σ, δ, ε, direction, seed and lease are taken over; the algorithm, its threshold, S and a
        budget are chosen anew, as for a new study. Its guarantee assumes that the results had no part in
        the choice of any of these, changes included: a seed, an algorithm or a σ chosen in view of them
        is not covered.

        Parameters
        ----------
        storage : path or URL, optional
            Where to store it; by default in this study's storage, if it has one.
        name : str, optional
            By default this study's name, followed by the changes.
        **changes
            Arguments of ``Study``. ``features=None`` assumes nothing about the means.
            ``trust="guide"`` lets the features guide the search, and prove nothing.
            ``intercept=True`` lets the means have a level of their own. ``sigma=…``, ``delta=…`` and
            ``m=…`` are other examples.

        Examples
        --------
        >>> study = Study([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], m=1, sigma=0.1, seed=0)
        >>> _ = study.tell(arm=2, value=0.3)
        >>> free = study.continued(features=None)
        >>> free.name, free.evaluations, free.problem.is_classical
        ('study, without features', 1, True)
        >>> guided = study.continued(trust="guide")
        >>> guided.evaluations, guided.procedure.name
        (1, 'Guess-and-verify (guided)')
        """
        if not changes:
            raise InvalidSetting(
                "a continuation differs from its study, but no change was given. Say what is "
                f"different, such as {setting('features', None)}, {setting('trust', 'guide')} or "
                f"{setting('delta', 0.01)}."
            )
        problem = self.problem.of_arms(self.procedure.arms_left)
        settings: dict[str, Any] = {
            "features": None if problem.is_classical else problem.given,
            "m": problem.m,
            "sigma": problem.noise.as_stated,
            "delta": problem.delta,
            "epsilon": problem.epsilon,
            "direction": problem.direction,
            "blocks": problem.blocks,
            "costs": problem.costs,
            "controls": problem.controls,
            "seed": self.seed,
            "arms": problem.names,
            "lease": self._log.lease,
            "intercept": self._log.intercept,
            "storage": self.address if storage is None else storage,
            "name": ", ".join([self.name, *starmap(_change, changes.items())])
            if name is None
            else name,
        }
        settings |= changes
        if self.trials:
            Blocks.of(settings["blocks"]).check_source(problem.blocks)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnhealthyFeatures)  # it was said of this study
            into = Study(**settings)
        into.carry_over(self)
        return into

    def carry_over(self, other: Study) -> list[Trial]:
        """Take in all results of another study, in one transaction; each counts once.

        Failed trials are taken over too, and are part of the log. Arms are matched by name; results
        of arms that this study does not have are left out, and the guarantee says how many. Trials
        keep their numbers if this study has none yet; ``trial.carried_from`` says which trial one
        is a copy of. Carrying over again adds only what is new there: results and failures. A
        later correction must be made in both studies; a warning lists the results whose values
        differ. Another one lists results that this study asked for before with seeds that the
        other study gave out too; later trials have seeds of their own.

        Returns the copies of all results there, in the order in which they were processed.

        Parameters
        ----------
        other : Study
            Nothing is changed in it.

        Examples
        --------
        >>> old = Study(arms=["ash", "elm"], m=1, sigma=0.1)
        >>> _ = old.tell(arm="elm", value=0.7)
        >>> new = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, epsilon=0.05)
        >>> [trial.name for trial in new.carry_over(old)]
        ['elm']
        """
        if other is self:
            raise InvalidInput("a study cannot be given its own results: nothing was told.")
        if other.trials:
            self.problem.blocks.check_source(other.problem.blocks)
        known = set(map(str, self.problem.names))
        # In the order in which they came: whether one counts must be known before its value.
        taken = [trial for trial in other.taken if str(trial.name) in known]
        lacking = sorted({str(trial.name) for trial in other.taken} - known)
        if lacking and not taken:
            raise InvalidInput(
                f"the study {other.name!r} has results of {quoted(lacking, 5)}, and of no arm of "
                "this study: nothing was told. Arms are matched by their names."
            )
        for value in {trial.value for trial in taken}:
            checked_value(value, self.procedure)
        corrected = sum(bool(trial.corrections) for trial in taken)
        words = f" Of its results, {corrected:,} had been corrected." if corrected else ""
        if lacking:
            words += left_out(len(other.taken) - len(taken), lacking)
        source = Source(other.mark, ending(other) + words)
        told = self._log.carry(other.trials, taken, source, self.mark)
        self._speak()
        if different := self.differing(other):
            warn_caller(GuaranteeInDoubt(differences(different, other.name)))
        if equal := self._with_equal_seeds(other):
            warn_caller(GuaranteeInDoubt(equal_seeds(equal, other.name)))
        return told

    def _with_equal_seeds(self, other: Study) -> list[Trial]:
        """The results asked for here whose seed a different evaluation there has too."""
        if not self.problem.blocks.reseeds:  # a block of a pool is the same in every study
            return []
        here, _ = self._log.ledger.copies_of(other.taken, other.mark, self.mark)
        asked = {trial.seed: trial for trial in self.taken if trial.was_asked}
        pairs = [(asked.get(there.seed), there) for there in other.taken if there.was_asked]
        return [own for own, there in pairs if own and own != here.get(there.number)]

    def differing(self, other: Study) -> list[tuple[Trial, Trial]]:
        """The results carried over from another study whose values now differ from those there.

        Returns pairs: the trial here, and the trial there.

        Examples
        --------
        >>> old = Study(arms=["ash", "elm"], m=1, sigma=0.1)
        >>> _ = old.tell(arm="elm", value=7.0)
        >>> new = old.continued(delta=0.01)
        >>> _ = old.correct(0, 0.7, reason="decimal point forgotten")
        >>> [(here.value, there.value) for here, there in new.differing(old)]
        [(7.0, 0.7)]
        """
        here, _ = self._log.ledger.copies_of(other.taken, other.mark, self.mark)
        pairs = [(here.get(there.number), there) for there in other.taken]
        return [(own, there) for own, there in pairs if own and own.value != there.value]

    def _begin(self, procedure: Procedure, definition: Definition, storage: Storage) -> None:
        self.seed = checked_seed(definition.choices["seed"])
        self._watch = Watch()
        self._log = Log(procedure, definition, storage, self._keep_answer, self._forget_answer)
        if storage.where is not None:
            self._log.refresh()
            words = "the study %r in %s has %d results"
            LOGGER.info(words, self.name, storage.where, len(self._log.ledger.taken))
            self._speak()

    # What it answers

    @property
    def shortlist(self) -> Shortlist:
        """The answer: final once the study is done, before that the current guess."""
        as_of = self._log.ledger.changes, self.done
        if self._answer is None or self._answer[0] != as_of:
            self._answer = as_of, self._shortlist(final=self.done)
        return self._answer[1]

    def _keep_answer(self) -> None:
        self._answered_at = self.evaluations
        self._watch.look_soon()
        LOGGER.info("the study %r stopped after %d evaluations", self.name, self.evaluations)

    def _forget_answer(self) -> None:
        self._answer, self._answered_at = None, 0

    def _shortlist(self, *, final: bool) -> Shortlist:
        table = self.model.table()
        listed = best_first(table[table["in_shortlist"]], self.problem)
        listed = listed.drop(columns="control", errors="ignore")
        estimated = not (self.aim.certifies or self.aim.proves)
        error = estimated_error(self) if estimated else None
        return Shortlist(
            names=listed["name"].tolist(),
            arms=listed.index.tolist(),
            table=listed.set_index("name"),
            evaluations=answered_evaluations(self),
            final=final,
            guarantee=guarantee_of(self, error),
            error=error,
            audited=audit_results(self.taken),
            coverage=self.coverage,
            certain=certain(self),
        )

    def remaining(self) -> Projection:
        """How many more evaluations to expect until the stop, with a range.

        It is extrapolated from the estimates, as if the arms kept their shares of the pulls.

        With a budget it is exact: the budget minus the results told.
        """
        return remaining(self)

    def health(self) -> Findings:
        """What speaks for or against the features, σ, S and the linear model, and what it means."""
        return Findings(examine(self))

    def history(self) -> History:
        """What the study looked like after every evaluation."""
        return history(self)

    def why(self, trial: Trial | int) -> Reason:
        """Why a trial was asked for: b, c and their gap index.

        b is the arm of the shortlist whose place was least certain, c its strongest challenger.
        """
        [reason] = self.reasons([trial])
        return reason

    def reasons(self, trials: Iterable[Trial | int]) -> list[Reason]:
        """Why each of these trials was asked for, as ``why`` says it of one.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, algorithm="LUCB")
        >>> [reason.words for reason in study.reasons(study.ask(2))]
        ["'ash' is an initial pull.", "'elm' is an initial pull."]
        """
        ledger, against = self._log.ledger, doubts(self)
        beyond = {trial.number for trial in beyond_first_plan(self, ledger.trials)}
        pace = self.procedure.engine.setup.pace
        reasons = [
            Reason.of(trial, self.problem, self.aim, pace, beyond=trial.number in beyond)
            for trial in map(ledger.find, trials)
        ]
        if not against:
            return reasons
        doubt = f"The results contradict what the guarantee assumes: {contradicted(against)}."
        return [replace(reason, words=f"{reason.words} {doubt}") for reason in reasons]

    # Asking

    @overload
    def ask(self, *, key: str | None = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, key: str | None = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, key: str | None = None) -> Trial | list[Trial]:
        """The next evaluation to make, or the next ``n``.

        Trials asked for and not told yet shrink the widths and leave the means alone, so that a
        batch is spread out; the stop looks at told results only. A trial whose lease is over comes
        first. With a pool, or with blocks drawn afresh, a decision waits for single trials: one that is
        overdue (far more results came in meanwhile than for others) is given out again. A budget may
        have room for fewer than ``n``.

        An arm that failed three times in a row is set aside: other arms are asked for, until a
        result of it is told or ``readmit`` is called. Where nothing else is wanted Guess-and-verify goes
        on without it; others do in their initial pulls, or later if it never had a result. The answer
        is then about the others. Otherwise ``OnlyFailingArms`` is raised.

        Parameters
        ----------
        n : int, optional
            How many; then a list is returned.
        key : str, optional
            Identifies this request, for example by the name of a plate. Asking again with the same
            key, from any process, returns the same trials, except those that were reassigned after
            their lease expired.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1)
        >>> [trial.number for trial in study.ask(2, key="plate 1")]
        [0, 1]
        >>> [trial.number for trial in study.ask(2, key="plate 1")]
        [0, 1]
        """
        count = 1 if n is None else whole_number("n", n, 1)
        self.problem.blocks.check_request(count)
        self.problem.controls.check_request(count)
        trials = self._log.ask(count, in_turn=False, run=None, key=checked_key(key))
        if not trials:
            raise self._nothing_to_ask()
        return trials[0] if n is None else trials

    def _nothing_to_ask(self) -> ShortlistError:
        """Why there is no trial to be asked for."""
        if self.done:
            reopen = f", or {advise('call reopen')} to go on evaluating"
            more = "" if self.why_final else reopen
            return StudyStopped(
                f"the study stopped after {self.shortlist.evaluations} evaluations and its answer is "
                f"final: {advise('read')}{more}."
            )
        if self.audit.rejection is not None:
            return LinearityRejected(rejection(self))
        return nothing_to_ask(self)

    # Telling

    def tell(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        arm: int | str | None = None,
        block: int | str | None = None,
        if_told: IfTold = "raise",
        key: str | None = None,
    ) -> Trial:
        """Record a result; returns the told trial.

        Parameters
        ----------
        trial : Trial or int
            The trial or its number.
        value : float
            The result; it must be finite.
        arm : int or str
            In place of ``trial``, for unrequested data.
        block : int or str
            With ``arm``, in a study with blocks: the block, by its name or number.
        if_told : {"raise", "ignore", "same"}
            What to do if the trial was already told: ``"same"`` raises only if it was told another
            value, so that a call whose reply was lost can be repeated.
        key : str, optional
            With ``arm``: identifies this result, such as the line of a file. If it is told again with
            the same key it counts once, and the existing trial is returned.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1)
        >>> study.tell(arm="elm", value=0.7, key="plate 3, well B7").number
        0
        >>> study.tell(arm="elm", value=0.7, key="plate 3, well B7").number
        0
        >>> study.evaluations
        1
        """
        if (trial is None) == (arm is None):
            raise InvalidSetting("pass exactly one of trial and arm=….")
        if isinstance(value, Trial):
            raise InvalidInput(
                f"the trial comes first, and then its result: study.tell(trial, {trial!r}). Nothing was "
                "told."
            )
        if trial is not None:
            if key is not None:
                raise InvalidSetting(
                    "key= can only be used with arm=…: a requested trial is identified by its "
                    "number; if_told='same' makes telling it twice harmless."
                )
            if block is not None:
                raise InvalidSetting(
                    "block= can only be used with arm=…: a requested trial has its block."
                )
            return self.tell_many([(trial, value)], if_told=if_told)[0]
        result = checked_value(value, self.procedure)
        cell = Cell(self.problem.index(arm), self.problem.blocks.index(block))  # type: ignore[arg-type]
        unasked = [(cell, result, checked_key(key))]
        [added], _ = self._log.tell(unasked=unasked, if_told=if_told)
        if self._log.results >= self._watch.due or self._log.is_rejected:
            self._speak()
        return added

    def tell_unasked(self, results: Iterable[Sequence[Any]]) -> list[Trial]:
        """Record results that nobody asked for, in one transaction: all, or none if one is wrong.

        Parameters
        ----------
        results : iterable of (arm, value, key) or (arm, value, key, block)
            Arms by name or row. A key identifies a result: told again with the same key, it
            counts once. None means that there is no key. Blocks by name or number, in a study that
            has them.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1)
        >>> rows = [("ash", 0.2, "row 1"), ("elm", 0.7, "row 2")]
        >>> [trial.number for trial in study.tell_unasked(rows)]
        [0, 1]
        >>> [trial.number for trial in study.tell_unasked(rows)]
        [0, 1]
        """
        return self.tell_once(unasked=results).trials

    def tell_many(
        self, results: Iterable[tuple[Trial | int, Any]], *, if_told: IfTold = "raise"
    ) -> list[Trial]:
        """Record several results in one transaction: all of them, or none if one is wrong.

        Parameters
        ----------
        results : iterable of (trial, value)
            Trials or their numbers.
        if_told : {"raise", "ignore", "same"}
            What to do with a trial that was already told; see ``tell``.
        """
        if if_told not in ("raise", "ignore", "same"):
            raise unknown_name("if_told", if_told, ["raise", "ignore", "same"])
        procedure = self._log.procedure
        low, high = procedure.noise.limits
        checked = [
            # What is a float within the limits needs no closer look.
            (
                trial,
                float(v)
                if isinstance(v, float) and low <= v <= high
                else checked_value(v, procedure),
            )
            for trial, v in results
        ]
        told = self._log.tell(checked, if_told=if_told)
        # No call where nothing is due: an exception in it would come after the change.
        if self._log.results >= self._watch.due or self._log.is_rejected:
            self._speak()
        return told.trials

    def tell_once(
        self,
        results: Iterable[tuple[Trial | int, Any]] = (),
        unasked: Iterable[Sequence[Any]] = (),
    ) -> Told:
        """Record results in one transaction, each once: all, or none if one is wrong.

        Returns all their trials, and those that were not told before.

        Parameters
        ----------
        results : iterable of (trial, value)
            Trials or their numbers. A trial that was told the same value before is left alone.
        unasked : iterable of (arm, value, key) or (arm, value, key, block)
            As for ``tell_unasked``.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
        >>> trial = study.ask()
        >>> [len(study.tell_once([(trial, 0.5)]).new) for _ in range(2)]
        [1, 0]
        """
        procedure, problem = self.procedure, self.problem
        given = [(trial, checked_value(value, procedure)) for trial, value in results]
        others = [
            (
                Cell(problem.index(row.arm), problem.blocks.index(row.block)),
                checked_value(row.value, procedure),
                checked_key(row.key),
            )
            for row in starmap(Unasked, unasked)
        ]
        told = self._log.tell(given, others, if_told="same")
        self._speak()
        return told

    def _speak(self, *, final: bool = False) -> None:
        """Say what is new: what contradicts the guarantee, or that two arms look alike."""
        if final or self._log.results >= self._watch.due or self._log.is_rejected:
            for warning in self._log.undisturbed(lambda: self._watch.news(self, final=final)):
                warn_caller(warning)

    def correct(
        self, trial: Trial | int, value: float, *, reason: str, arm: int | str | None = None
    ) -> Trial:
        """Correct a told result, such as a mistyped one.

        Both values stay in the log (``trial.corrections``). A study that has stopped may have to go
        on, or stop now, and what was evaluated because of the wrong value counts too: what is proven
        stays proven. With Guess-and-verify what was decided stays as it was, and the evidence is
        computed anew; other algorithms process all results again as if the right one had been told.
        The guarantee says how many results were corrected. With the value that the trial has, nothing
        is changed.

        Parameters
        ----------
        trial : Trial or int
            The trial, or its number.
        value : float
            What was measured.
        reason : str
            Why the value that was told is wrong.
        arm : int or str, optional
            Which arm the trial is of. If it is of another, nothing is changed: the same number may
            be another trial in another study.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1)
        >>> trial = study.tell(arm="elm", value=7.0)
        >>> trial = study.correct(trial, 0.7, reason="decimal point forgotten")
        >>> trial.value, trial.corrections[0].was
        (0.7, 7.0)
        """
        why = checked_reason("a correction", reason, "Say how the wrong value came about.")
        right = checked_value(value, self.procedure)
        row = None if arm is None else self.problem.index(arm)
        corrected = self._log.correct(trial, right, why, row)
        self._speak()
        return corrected

    def fail(self, trial: Trial | int, reason: str = "") -> Trial:
        """Record that an evaluation failed; no value is made up for it.

        The beginning and the end of a very long reason are kept. After the third failure in a row
        of an arm it is set aside, with a warning (``ArmSetAside``): see ``ask``.
        """
        [failed], _ = self._log.end([trial], "failed", storable(str(reason)))
        if failed.arm in self._log.set_aside:
            self._warn_if_set_aside(failed)
        return failed

    def end(
        self,
        trials: Sequence[Trial | int],
        state: Literal["failed", "cancelled"],
        reason: str = "",
    ) -> tuple[list[Trial], list[Trial]]:
        """Record in one transaction that trials failed or will not be evaluated.

        Returns those that end now, and those that ended so before. If one of them has ended in
        another way, nothing is changed.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm"], m=1, sigma=0.1, seed=0)
        >>> _ = study.ask(2), study.cancel(1)
        >>> [[trial.number for trial in each] for each in study.end([0, 1], "cancelled")]
        [[0], [1]]
        """
        why = storable(reason) if state == "failed" else None
        ended, before = self._log.end(trials, state, why, again=True)
        for trial in ended:
            self._warn_if_set_aside(trial)
        return ended, before

    def _warn_if_set_aside(self, closed: Trial) -> None:
        """Say once, of the failure by which an arm was set aside, that it was."""
        failures = self._log.set_aside.get(closed.arm)
        if failures is not None and failures.set_aside_by == closed:
            words = in_words(failures)
            words = f"set aside, and no longer asked for: {words}. {remedy(self)}"
            warn_caller(ArmSetAside(words))

    def cancel(self, trial: Trial | int) -> Trial:
        """Record that an evaluation will not be made."""
        [cancelled], _ = self._log.end([trial], "cancelled", None)
        return cancelled

    def refresh(self) -> None:
        """Read what other processes have asked and told; ``ask`` and ``tell`` do so too."""
        self._log.refresh()
        self._speak()

    def close(self) -> None:
        """Close the connection to the storage; the study opens it again when it is used."""
        self._log.storage.close()

    def reopen(self) -> None:
        """Undo the stop: the study may be asked again, and stops again after a result."""

        def check() -> bool:
            if not self.done:
                raise InvalidInput("the study has not stopped: there is nothing to reopen.")
            if self.why_final:
                raise InvalidInput(self.why_final)
            return True

        self._log.step("reopened", check)

    def widen(self, epsilon: float) -> None:
        """Go on with a larger ε: the study stops at once if its list is certified at that.

        It ends a study that stalls on arms too alike to be told apart. ``study.shortlist.certain``
        says the least ε that stops it now. The guarantee is then for the larger ε. It may be chosen
        in view of the results: the proof allows that. It cannot be undone, and a smaller ε than the
        study has is refused.

        Parameters
        ----------
        epsilon : float
            The slack in the means from now on.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0)
        >>> means = [0.5, 0.48, 0.1]
        >>> _ = study.run(lambda trial: means[trial.arm], max_evaluations=60, progress=False)
        >>> study.done, round(study.shortlist.certain.epsilon, 3)
        (False, 0.079)
        >>> study.widen(epsilon=0.1)
        >>> study.done, study.problem.epsilon
        (True, 0.1)
        """
        if not self.aim.certifies:
            raise InvalidInput(
                "a study with a budget stops when the budget is spent, whatever epsilon is: there is "
                "nothing to widen."
            )
        self._log.widen(epsilon)

    def verify(self) -> None:
        """Go on until the answer is proven without the assumption that the means are linear.

        The list so far is named once it is likely, and each arm's own later results test it; all
        earlier results guide. If they show that the list is wrong, another one is named. The answer
        is then proven whatever the means are, with a δ of its own: the probability that it or the
        answer before it is wrong is 2δ at most. ``trust="guide"`` does so from
        the start. It cannot be undone, and calling it again changes nothing.
        ``study.shortlist.guarantee`` says about how many evaluations it takes.

        Tell all results that are known first: of trials that are open now, no result may have a
        part in when this is called.

        Examples
        --------
        >>> import numpy as np
        >>> features = np.column_stack([np.ones(6), np.arange(6.0)])
        >>> study = Study(features, m=2, sigma=0.5, seed=0)
        >>> noise = np.random.default_rng(0)
        >>> def measure(trial):
        ...     return 0.5 * trial.arm + 0.5 * noise.standard_normal()
        >>> study.run(measure, progress=False).guarantee.first_words
        'Proven if the means are linear in the features'
        >>> study.verify()
        >>> study.run(measure, progress=False).guarantee.first_words
        'Proven'
        """

        def check() -> bool:
            if self.model.verifies:
                return False
            if why := cannot_verify(self):
                raise InvalidInput(why)
            return True

        self._log.step("verifying", check)
        self._speak()

    def retire(self, arm: int | str, *, reason: str = "") -> Retirement:
        """Never ask for an arm again; the answer is then about the others.

        Its open trials are cancelled. The guarantee names it, with the reason. Retiring it again
        changes nothing, and it cannot be undone.

        Parameters
        ----------
        arm : int or str
            The arm.
        reason : str
            Why, for the record: "out of stock".

        Notes
        -----
        One δ covers the answers before and after. Evidence on the other arms stays, or, if the arm was on
        the list, is collected again. Algorithms of gap indices cannot go on without an arm.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm", "oak", "yew"], m=1, sigma=0.1, seed=0)
        >>> _ = study.retire("oak", reason="out of stock")
        >>> study.run(lambda trial: [0.1, 0.5, 0.9, 0.3][trial.arm], progress=False).names
        ['elm']
        """
        why = checked_reason("retiring an arm", reason, "It is named in the guarantee.")
        row = self.problem.index(arm)
        retirement = self._log.retire(row, why)
        self._speak()
        return retirement

    def readmit(self) -> None:
        """Ask again for all arms that failed too often, once their evaluation is repaired.

        Those that are set aside, and those that the study went on without. With Guess-and-verify
        evidence on pairs with the latter counts from now on; other algorithms process all results again
        as if these had been there from the start. If nothing failed, nothing is changed.

        Examples
        --------
        >>> study = Study(arms=["ash", "elm", "oak"], m=1, sigma=0.1, seed=0)
        >>> def measure(trial):
        ...     if trial.name == "oak" and not repaired:
        ...         raise OSError("no route to host")
        ...     return {"ash": 0.1, "elm": 0.5, "oak": 0.9}[trial.name]
        >>> repaired, how = False, {"retries": 0, "max_failures": 10, "progress": False}
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", ArmSetAside)
        ...     study.run(measure, **how).names
        ['elm']
        >>> study.readmit()
        >>> repaired = True
        >>> study.run(measure, **how).names
        ['oak']
        """
        self._log.readmit()
        self._speak()

    def add(
        self,
        features: ArrayLike | pd.DataFrame | None = None,
        *,
        arms: Sequence[Any] | None = None,
    ) -> None:
        """Add arms to a study that runs; which ones may depend on the results.

        They come after the arms that it has; adding the same ones again changes nothing. Evidence
        on pairs with them counts from now on, and one δ covers the answers before and after.
        Guess-and-verify can do that, which ``"auto"`` mostly takes. With other algorithms arms can be
        added before the first trial.

        Parameters
        ----------
        features : array, DataFrame or file, optional
            A row for each new arm, with the columns of the others; for a study with features.
        arms : sequence, optional
            Their names; a DataFrame's index names them too.

        Examples
        --------
        >>> study = Study(arms=["ash", "box", "elm", "fig", "fir", "oak"], m=1, sigma=0.1, seed=0)
        >>> study.add(arms=["yew"])
        >>> means = [0.1, 0.0, 0.5, 0.2, 0.1, 0.3, 0.9]
        >>> study.run(lambda trial: means[trial.arm], progress=False).names
        ['yew']
        """
        names, rows = self._new_arms(features, arms)
        self._log.add(names, rows)

    def _new_arms(
        self, features: Any, arms: Sequence[Any] | None
    ) -> tuple[tuple[Label, ...], list[list[float]] | None]:
        """The names and features of arms to be added, checked."""
        problem, classical = self.problem, self._log.is_classical
        if why := problem.costs.why_no_more_arms or problem.noise.why_no_more_arms:
            raise InvalidInput(
                f"{why}: nothing was changed. Begin another study with all arms, and give it these "
                f"results: {advise('carry over')}."
            )
        if (features is None) != classical:
            wanted = "the study has no features: give arms=[names] alone"
            if not classical:
                wanted = (
                    f"the study has features: give a row of {problem.dimension - problem.intercept} for "
                    "each new arm"
                )
            raise InvalidInput(f"{wanted}. Nothing was changed.")
        if arms is None and isinstance(features, list | tuple | np.ndarray):
            raise InvalidInput(
                "the new arms have no names: give them by arms=[…], or as the index of a DataFrame. "
                "Nothing was changed."
            )
        rows, names, columns = features_and_names(features, arms, least=1)
        if features is None:
            return names, None
        given = problem.given
        if rows.shape[1] != given.numbers.shape[1]:
            raise InvalidInput(
                f"the arms of this study have {given.numbers.shape[1]} features, and the new ones "
                f"{rows.shape[1]}: nothing was changed. Give the same columns."
            )
        if columns is not None and given.columns is not None and columns != tuple(given.columns):
            other = next(c for c in zip(columns, given.columns, strict=True) if c[0] != c[1])
            raise InvalidInput(
                f"the new arms have the column {other[0]!r} where the study has {other[1]!r}: nothing "
                "was changed. Give the same columns in the same order."
            )
        return names, rows.tolist()

    def run(
        self,
        objective: Objective,
        *,
        executor: Any = None,
        batch: int | None = None,
        order: Literal["asked", "completion"] = "asked",
        max_evaluations: int | None = None,
        retries: int = 3,
        max_failures: int = 0,
        timeout: float | None = None,
        callbacks: Iterable[Callback] = (),
        patience: float = 600.0,
        progress: bool = True,
        **others: Never,
    ) -> Shortlist:
        """Evaluate ``objective(trial)`` until the study stops.

        It also ends, with a warning (``LinearityRejected``), when the results contradict means
        that are linear in the features. An arm that fails three times in a row is set aside, with a
        warning (``ArmSetAside``), and the study goes on without it (see ``ask``); where it cannot, the run
        ends with an error (``OnlyFailingArms``). Results are kept.

        Parameters
        ----------
        objective : callable
            Given a trial (its ``arm``, ``name``, ``block`` and ``seed``), returns the result. If it raises,
            also after ``retries``, the trial is marked as failed, with the traceback as the reason.
            A coroutine function is awaited, with others in one event loop.
        executor : concurrent.futures.Executor or Dask client, optional
            Where to evaluate; by default in this process.
        batch : int, optional
            How many evaluations to keep running. By default as many as the executor has workers: a
            Dask client says so, and to any other evaluations are sent at the start until one of them
            has to wait. Without an executor one, and eight of a coroutine function.
        order : {"asked", "completion"}
            Whether results are processed in the order in which they were asked for, whenever they
            arrive (so that fast evaluations do not bias the sample), or as they arrive.
        max_evaluations : int, optional
            The largest number of results to be told; the study can be continued later.
        retries : int
            How often an evaluation that raised is repeated before it counts as a failure: after half
            a second, two, eight, and so on, a minute at most. (Not after a ``NameError``,
            ``ImportError``, ``NotImplementedError`` or ``SyntaxError``.) The trial and its seed are the
            same.
        max_failures : int
            How many failures to tolerate; the next one is raised. An evaluation that the executor
            loses counts as a failure and is repeated.
        timeout : float, optional
            Seconds after which nothing more is asked for. Evaluations that are already running
            are waited for and told; the study can be continued later.
        callbacks : iterable of callable
            Each is called as ``callback(study, trial)`` when a trial has been told or has failed,
            in this thread, one trial after the other. What it raises ends the run; nothing told is
            lost.
        patience : float
            Seconds for which to keep results and retry if the storage is unavailable (locked,
            unreachable, moved). After that they are written to a file, which the error names.
        progress : bool
            Show a line with evaluations, how many are left and the shortlist so far, on a terminal or
            in a notebook.

        Examples
        --------
        >>> study = Study(arms=["a", "b", "c"], m=1, sigma=0.1, seed=1)
        >>> study.run(lambda trial: [0.1, 0.5, 0.9][trial.arm], progress=False).names
        ['c']
        >>> study = Study(arms=["a", "b"], m=1, sigma=0.1, seed=1)
        >>> def show(study, trial):
        ...     print(trial.name, trial.value)
        >>> _ = study.run(lambda trial: trial.arm, max_evaluations=2, callbacks=[show])
        a 0.0
        b 1.0
        """
        if others:
            raise unexpected("run", others, RUN, settings_of(Study.run))
        run = Run(
            self._log,
            objective,
            executor=executor,
            batch=batch,
            order=order,
            max_evaluations=max_evaluations,
            retries=retries,
            max_failures=max_failures,
            timeout=timeout,
            patience=patience,
        )
        called = _checked_callbacks(callbacks)

        def ended(trial: Trial) -> None:
            self._warn_if_set_aside(trial)
            self._speak()
            for callback in called:
                callback(self, trial)

        run.evaluate(self, self.refresh, ended, progress=progress)
        self._speak(final=self.done)
        return self.shortlist


def _change(setting: str, value: Any) -> str:
    """What is different in a continuation, as its name says it.

    Examples
    --------
    >>> _change("features", None), _change("delta", 0.01), _change("algorithm", "LUCB")
    ('without features', 'delta = 0.01', 'LUCB')
    """
    if setting == "features":
        return "other features" if value is not None else "without features"
    if setting == "trust" and value == "guide":
        return "features as a guide"
    if setting == "algorithm" and value is not None:
        return AUTO if is_auto(value) else find_algorithm(value).name
    is_short = isinstance(value, int | float | str)
    return f"{setting} = {value}" if is_short else f"another {setting}"


def _checked_callbacks(callbacks: object) -> list[Callback]:
    """What to call after every trial.

    Examples
    --------
    >>> _checked_callbacks(print)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidSetting: callbacks must be a list of functions of a study and a trial, got builtin_function_or_method: write callbacks=[…].
    """
    listed: list[Any] = list(callbacks) if isinstance(callbacks, Iterable) else [None]
    if not all(map(callable, listed)):
        raise InvalidSetting(
            "callbacks must be a list of functions of a study and a trial, got "
            f"{type(callbacks).__name__}: write callbacks=[…]."
        )
    return listed
