"""Open the study that a command names: by its screen.toml, its storage, or SHORTLIST_STUDY.

A study that is named by its screen.toml is opened only if it was begun with those settings.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.advice import CommandLine, advise, shell_word
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.errors import (
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    StudyMismatch,
    StudyNotFound,
    UnhealthyFeatures,
    UnknownTrial,
)

if TYPE_CHECKING:
    from shortlist.study.study import Study
    from shortlist.study.trial import Trial

VARIABLE = "SHORTLIST_STUDY"

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        envvar=VARIABLE,
        help="The study's screen.toml, its database file, or a PostgreSQL URL.",
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
    """Who gives commands about the study that a command named."""
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


def find_study(ctx: typer.Context) -> None:
    """Move what stands in the place of a study that the environment names to where it belongs.

    A command has the study first: with one word less, or a number, the first word is the file of
    results, the arm or the trial. Of several arms to be added, the first may be a study: if it looks like one.
    """
    given, source = ctx.params, ctx.get_parameter_source("study") if "study" in ctx.params else None
    first, named = given.get("study"), os.environ.get(VARIABLE)
    if first is None or source is None or source.name != "COMMANDLINE":
        return
    if "trials" in given or "trial" in given:
        if not is_number(first):
            return
        if "trials" in given:
            given["trials"] = [first, *(given["trials"] or ())]
        elif given["trial"] is None:
            given["trial"] = first
        else:
            return
        given["study"] = named
    elif not named:
        return
    elif "plate" in given and given["plate"] is None and given["arm"] is None:
        given["study"], given["plate"] = named, first
    elif "reason" in given and "arm" in given and given["arm"] is None:
        given["study"], given["arm"] = named, first
    elif "arms" in given and given["features"] is None and not _is_place(first):
        given["study"], given["arms"] = named, [first, *(given["arms"] or ())]


def is_number(word: str) -> bool:
    """Whether a word is the number of a trial."""
    return re.fullmatch("[0-9]{1,18}", word) is not None


def _is_place(word: str) -> bool:
    return word.lower().endswith(".toml") or "://" in word or Path(word).exists()


def open_trials(place: str | None, words: list[str], name: str | None) -> tuple[Study, list[Trial]]:
    """The study and its trials of these numbers."""
    study = open_study(place, name)
    if not words:
        raise InvalidSetting(
            f"name a trial by its number: {advise('pending')} lists the open ones."
        )
    for word in words:
        if not is_number(word) or int(word) >= len(study.trials):
            raise UnknownTrial(
                f"there is no trial {word[:40]!r}: the study has asked for {len(study.trials)} so "
                f"far, numbered from 0. {advise('pending')} lists the open ones."
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


def has_study(screen: ScreenFile) -> bool:
    """Whether the study of a screen.toml is there."""
    from shortlist.storage.opening import study_names

    try:
        return screen.name in study_names(screen.storage)
    except StudyNotFound:  # there is no such file yet
        return False


def open_screen(screen: ScreenFile, settings: dict[str, Any]) -> Study:
    """The study of a screen.toml; raises where there is none, or it has other settings."""
    from shortlist.storage.address import shown
    from shortlist.study.study import Study

    if not has_study(screen):
        raise StudyNotFound(
            f"there is no study {screen.name!r} in {shown(screen.storage)} yet: run `shortlist new "
            f"{shell_word(str(screen.path))}`."
        )
    with naming_the_file(screen), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnhealthyFeatures)  # `shortlist new` has said it
        return Study(**settings, storage=screen.storage, name=screen.name)


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
        beside = "" if screen.arms_file == screen.path else f", with {screen.arms_file}"
        raise StudyMismatch(
            f"{screen.path}: {error.in_files} Put it back as it was{beside}, or start another study with "
            f"another name in {screen.path}; {shown(screen.storage)} opens this one as it is."
        ) from None
