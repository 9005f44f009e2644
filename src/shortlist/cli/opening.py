"""Which study is meant: by its screen.toml, by its storage, or by SHORTLIST_STUDY."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.errors import (
    InvalidFeatures,
    InvalidInput,
    InvalidSetting,
    StudyMismatch,
    StudyNotFound,
)

if TYPE_CHECKING:
    from shortlist.study.study import Study

VARIABLE = "SHORTLIST_STUDY"

StudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        envvar=VARIABLE,
        help="Its screen.toml, its database file, or a PostgreSQL URL.",
        show_default=False,
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--study", metavar="NAME", help="Which one, where the storage holds several."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def open_study(place: str | None, name: str | None) -> Study:
    """The study that is kept there; one named by its screen.toml must be as that says."""
    from shortlist.study.database import shown
    from shortlist.study.study import Study

    place = named(place)
    if not is_screen_file(place):
        return Study.load(place, name)
    screen = read_screen_file(Path(place))
    if name is not None:
        return Study.load(screen.storage, name)
    if screen.name not in names_in(screen.storage):
        raise StudyNotFound(
            f"there is no study {screen.name!r} in {shown(screen.storage)} yet: run `shortlist new "
            f"{place}`."
        )
    return join(screen, screen.settings())


def join(screen: ScreenFile, settings: dict[str, Any]) -> Study:
    """Begin the study of a screen.toml, or go on with it if it is there as described."""
    from shortlist.study.database import shown
    from shortlist.study.study import Study

    try:
        with blaming(screen):
            return Study(**settings, storage=screen.storage, name=screen.name)
    except StudyMismatch as error:
        words = str(error).partition(" Give another name")[0]
        raise StudyMismatch(
            f"{screen.path}: {words} Put it back as it was, or begin another study with another "
            f"name in {screen.path}; {shown(screen.storage)} opens this one as it is."
        ) from None


@contextmanager
def blaming(screen: ScreenFile, file: Path | None = None) -> Iterator[None]:
    """Name the file that something wrong came from."""
    try:
        yield
    except InvalidFeatures as error:
        raise type(error)(f"{screen.arms_file}: {error}") from None
    except InvalidInput as error:
        raise type(error)(f"{file or screen.path}: {error}") from None


def named(place: str | None) -> str:
    """What was named: a screen.toml, a path or a URL."""
    place = place or os.environ.get(VARIABLE)
    if not place:
        raise InvalidSetting(
            f"no study was named: put its screen.toml or its database file first, or set {VARIABLE}."
        )
    return place


def is_screen_file(place: str) -> bool:
    """Whether a word names a screen.toml rather than a storage."""
    return place.lower().endswith(".toml")


def names_in(storage: str) -> list[str]:
    """The studies in a storage, none if there is no such file yet."""
    from shortlist.study.storage import study_names

    try:
        return study_names(storage)
    except StudyNotFound:
        return []
