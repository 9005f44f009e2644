"""Open the study that a command names: by its screen.toml, its storage, or SHORTLIST_STUDY.

A study that is named by its screen.toml is opened only if it was begun with those settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.advice import CommandLine, shell_word
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.errors import (
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    StudyMismatch,
    StudyNotFound,
    UnknownTrial,
)

if TYPE_CHECKING:
    from shortlist.study.definition import Definition
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

VARIABLE = "SHORTLIST_STUDY"
# Those that Problem.of takes.
PROBLEM = (
    *("features", "arms", "blocks", "costs", "controls", "m"),
    *("delta", "epsilon", "direction", "S", "reward_range"),
)

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        envvar=VARIABLE,
        help="Its screen.toml, its database file, or a PostgreSQL URL.",
        show_default=False,
    ),
]
TrialsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="TRIAL", help="Numbers of trials.", show_default=False),
]
NameOption = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME", help="Which study, if the storage holds several."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def place_words(place: str | None) -> str:
    """The place of the study that a command named, as advice repeats it: without a password."""
    place = place or os.environ.get(VARIABLE) or "STUDY"
    if "://" not in place:
        return place
    from shortlist.errors import StorageError
    from shortlist.storage.address import shown, sqlite_path

    try:
        return shown(sqlite_path(place))
    except StorageError:  # it cannot be read, so what it is cannot be told from a password
        return "STUDY"


def command_line(place: str | None, name: str | None) -> CommandLine:
    """What translates advice into commands about the study that a command named."""
    return CommandLine(place_words(place), name)


def continued(study: Study, verb: str, place: str | None, more: str = "") -> str:
    """Lines for the shell, one for each study that a study was continued as; empty if none was."""
    lines = [f"`{command_line(place, name).line(verb, more)}`" for name in study.continuations]
    return " or ".join(lines)


def correction(trial: Trial, value: float | None, reason: str, place: str | None, name: str) -> str:
    """The line for the shell that corrects a result of the study of this name."""
    right = f"--value={value!r} --reason {shell_word(reason)}"
    more = f"{trial.number} --arm {shell_word(str(trial.name))} {right}"
    return command_line(place, name).line("correct", more)


def open_study(place: str | None, name: str | None) -> Study:
    """The study in a storage, or that of a screen.toml; nothing is written or waited for."""
    from shortlist.study.study import Study

    where = named_place(place)
    if isinstance(where, ScreenFile):
        if name is None:
            return open_screen(where, where.settings())
        where = where.storage
    return Study.load(where, name)


def open_trials(place: str | None, words: list[str], name: str | None) -> tuple[Study, list[Trial]]:
    """The study and its trials of these numbers; a number in the study's place is a trial's too."""

    def is_number(word: str) -> bool:
        return re.fullmatch("[0-9]{1,18}", word) is not None

    if place is not None and is_number(place):
        words, place = [place, *words], None
    study = open_study(place, name)
    if not words:
        raise InvalidSetting("name a trial by its number: study.pending lists the open ones.")
    for word in words:
        if not is_number(word) or int(word) >= len(study.trials):
            raise UnknownTrial(
                f"there is no trial {word[:40]!r}: the study has asked for {len(study.trials)} so "
                "far, numbered from 0. study.pending lists the open ones."
            )
    return study, [study.trials[number] for number in dict.fromkeys(map(int, words))]


def named_place(place: str | None) -> str | ScreenFile:
    """The storage that a command names, or the screen.toml."""
    place = place or os.environ.get(VARIABLE)
    if not place:
        raise InvalidSetting(
            "no study was named: put its screen.toml or its database file first, or set "
            f"{VARIABLE}."
        )
    return read_screen_file(Path(place)) if place.lower().endswith(".toml") else place


def open_screen(screen: ScreenFile, settings: dict[str, Any]) -> Study:
    """The study of a screen.toml; raises where there is none, or it has other settings."""
    from shortlist.storage.address import shown
    from shortlist.storage.opening import open_storage
    from shortlist.study.definition import Definition
    from shortlist.study.log import arms_added
    from shortlist.study.study import Study

    added = []
    try:
        storage = open_storage(screen.storage, create=False)
        found = storage.open(screen.name)
        if found is not None:
            added = arms_added(storage)
        storage.close()
    except StudyNotFound:
        found = None
    if found is None:
        raise StudyNotFound(
            f"there is no study {screen.name!r} in {shown(screen.storage)} yet: run `shortlist new "
            f"{shell_word(str(screen.path))}`."
        )
    stored = Definition.read(found, screen.name)
    with naming_the_file(screen):
        given = _as_stored(settings, stored).as_begun(stored, added)
        _check_features(screen, given, stored)
        given.check_same(stored, screen.name)
    return Study.load(screen.storage, screen.name)


def _as_stored(settings: dict[str, Any], stored: Definition) -> Definition:
    """The settings as ``Study`` would store them; a seed that is not given is the stored one."""
    from shortlist.catalog.recommendation import is_unspecified, resolve_choice
    from shortlist.problem import Problem, checked_seed
    from shortlist.study.definition import Definition

    asked = {key: settings[key] for key in PROBLEM if key in settings}
    intercept = settings.get("intercept", True)
    problem = Problem.of(sigma=settings.get("sigma"), intercept=intercept, **asked)
    seed, algorithm, budget = (settings.get(key) for key in ("seed", "algorithm", "budget"))
    named = settings.get("threshold")
    chosen, threshold = resolve_choice(algorithm, named, problem, budget)
    given = Definition.of(
        problem,
        algorithm=chosen,
        threshold=threshold,
        seed=stored.choices["seed"] if seed is None else checked_seed(seed),
        lease=settings.get("lease"),
        classical="features" not in settings,
        audit=settings.get("audit", True),
        intercept=intercept,
    )
    given.leave_open(stored, seed=False, algorithm=is_unspecified(algorithm, named))
    return given


def _check_features(screen: ScreenFile, given: Definition, stored: Definition) -> None:
    """Name a changed feature by its heading, or counted from 1, and the file that it is in."""
    import numpy as np

    one, other = given.features, stored.features
    if given.choices != stored.choices or given.names != stored.names:
        return
    if one is None or other is None or one.shape != other.shape or np.array_equal(one, other):
        return
    arm, column = (int(place) for place in np.argwhere(one != other)[0])
    what = f"feature {column + 1}" if given.columns is None else repr(given.columns[column])
    raise StudyMismatch(
        f"the study {screen.name!r} is stored with other features: {what} of arm "
        f"{given.names[arm]!r} was {float(other[arm, column])!r} and is "
        f"{float(one[arm, column])!r} in {screen.arms_file}. What was measured would not fit."
    )


@contextmanager
def naming_the_file(screen: ScreenFile, file: Path | None = None) -> Iterator[None]:
    """Add to an error which file it is about, and what to do if its study has other settings."""
    from shortlist.storage.address import shown

    try:
        yield
    except InvalidFeatures as error:
        raise type(error)(f"{screen.arms_file}: {error}") from None
    except InvalidInput as error:
        raise type(error)(f"{file or screen.path}: {error}") from None
    except StudyMismatch as error:
        raise StudyMismatch(
            f"{screen.path}: {error} Put it back as it was, or start another study with another "
            f"name in {screen.path}; {shown(screen.storage)} opens this one as it is."
        ) from None
