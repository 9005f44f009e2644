"""Whether a screen.toml still describes the study that was begun with it; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.cli.screen_toml import ScreenFile
from shortlist.errors import InvalidFeatures, InvalidInput, StudyMismatch, StudyNotFound

if TYPE_CHECKING:
    from shortlist.study.definition import Definition

ASKED = ("features", "arms", "m", "delta", "epsilon", "S", "reward_range")


def check_agreement(screen: ScreenFile, settings: dict[str, Any]) -> None:
    """Raise where the study of a screen.toml is not there, or was begun with other settings."""
    from shortlist.study.storage.address import shown
    from shortlist.study.storage.opening import open_storage

    try:
        kept = open_storage(screen.storage, create=False)
        stored = kept.open(screen.name)
    except StudyNotFound:
        raise StudyNotFound(
            f"there is no study {screen.name!r} in {shown(screen.storage)} yet: run `shortlist new "
            f"{screen.path}`."
        ) from None
    kept.close()
    with blaming(screen):
        given = _described(settings, stored)
    with agreeing(screen):
        _check_features(screen, given, stored)
        given.check_same(stored, screen.name)


def _described(settings: dict[str, Any], stored: Definition) -> Definition:
    """The settings as ``Study`` would make them; a seed that is not given is the stored one."""
    from shortlist.catalog.recommendation import is_left_open, meant
    from shortlist.problem import Problem, checked_seed
    from shortlist.study.definition import Definition, checked_flag, checked_lease

    asked = {key: settings[key] for key in ASKED if key in settings}
    problem = Problem.of(sigma=settings.get("sigma"), **asked)
    seed, algorithm, budget = (settings.get(key) for key in ("seed", "algorithm", "budget"))
    named = settings.get("threshold")
    chosen, threshold = meant(algorithm, named, problem, budget)
    given = Definition.of(
        problem,
        algorithm=chosen,
        threshold=threshold,
        seed=stored.choices["seed"] if seed is None else checked_seed(seed),
        lease=checked_lease(settings.get("lease")),
        classical="features" not in settings,
        audit=checked_flag("audit", settings.get("audit", True)),
    )
    given.leave_open(stored, seed=False, algorithm=is_left_open(algorithm, named, budget))
    return given


def _check_features(screen: ScreenFile, given: Definition, stored: Definition) -> None:
    """Name a changed number by its heading, or counted from 1; other changes are named elsewhere."""
    import numpy as np

    one, other = given.features, stored.features
    if given.choices != stored.choices or given.names != stored.names:
        return
    if one is None or other is None or one.shape != other.shape or np.array_equal(one, other):
        return
    arm, column = (int(place) for place in np.argwhere(one != other)[0])
    titles = screen.titles()
    what = f"feature {column + 1}" if titles is None else repr(titles[column])
    raise StudyMismatch(
        f"the study {screen.name!r} is stored with other features: {what} of arm "
        f"{given.names[arm]!r} was {float(other[arm, column])!r} and is {float(one[arm, column])!r} "
        f"in {screen.arms_file}. What was measured would not fit."
    )


@contextmanager
def agreeing(screen: ScreenFile) -> Iterator[None]:
    """Say what to do where a screen.toml and its study differ."""
    from shortlist.study.storage.address import shown

    try:
        yield
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
