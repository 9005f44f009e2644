"""Which study is meant: by its screen.toml, by its storage, or by SHORTLIST_STUDY."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.agreement import agreeing, blaming, check_agreement
from shortlist.cli.screen_toml import ScreenFile, read_screen_file
from shortlist.errors import InvalidSetting, StudyNotFound

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
    """The study that is kept there; one named by its screen.toml must be as that says.

    Nothing is written and nobody who writes is waited for.
    """
    from shortlist.study.study import Study

    place = named(place)
    if not is_screen_file(place):
        return Study.load(place, name)
    screen = read_screen_file(Path(place))
    if name is not None:
        return Study.load(screen.storage, name)
    return open_screen(screen, screen.settings())


def open_screen(screen: ScreenFile, settings: dict[str, Any]) -> Study:
    """The study of a screen.toml, if it is there as described."""
    from shortlist.study.study import Study

    check_agreement(screen, settings)
    return Study.load(screen.storage, screen.name)


def begin(screen: ScreenFile, settings: dict[str, Any]) -> Study:
    """Begin the study of a screen.toml; if somebody was quicker, go on with theirs."""
    from shortlist.study.study import Study

    with agreeing(screen), blaming(screen):
        return Study(**settings, storage=screen.storage, name=screen.name)


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
    from shortlist.study.storage.opening import study_names

    try:
        return study_names(storage)
    except StudyNotFound:
        return []
