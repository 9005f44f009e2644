"""Advice that fits where it is read: a command in a shell, or a call in Python.

Messages are written once, far below the command line. Where the thing to do has two names, both are
given to :func:`advised`, which returns one of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class _Named(NamedTuple):
    """The study that a command is about: where it is, and its name if that was given."""

    place: str = "STUDY"
    name: str | None = None
    is_json: bool = False  # whether the reader is a client that sends JSON


_SHELL: ContextVar[_Named | None] = ContextVar("shell", default=None)  # None: Python


@contextmanager
def in_shell(
    place: str = "STUDY", name: str | None = None, *, is_json: bool = False
) -> Iterator[None]:
    """Within this block, advice is for people who use commands, or for clients that send JSON."""
    token = _SHELL.set(_Named(place, name, is_json))
    try:
        yield
    finally:
        _SHELL.reset(token)


def name_study(place: str, name: str | None = None) -> None:
    """Say which study the commands of later advice are about; the first one named stays."""
    if _SHELL.get() == _Named():
        _SHELL.set(_Named(place, name))


def advised(command: str, call: str) -> str:
    """The command for readers in a shell, the call for readers in Python.

    Examples
    --------
    >>> advised(command("reopen"), "study.reopen()")
    'study.reopen()'
    >>> with in_shell("screen.db"):
    ...     print(advised(command("reopen"), "study.reopen()"))
    `shortlist reopen screen.db`
    """
    return call if _SHELL.get() is None else command


def command(name: str, more: str = "") -> str:
    """A command about the study, in backticks.

    Examples
    --------
    >>> with in_shell("screen.db", "a b"):
    ...     print(command("why", "3"))
    `shortlist why screen.db --study "a b" 3`
    """
    place, study, _ = _SHELL.get() or _Named()
    return f"`{shell_line(name, place, study, more)}`"


def option(name: str) -> str:
    """An option of a command, or the member of an object in JSON that means the same.

    Examples
    --------
    >>> option("measured-again")
    '--measured-again'
    >>> with in_shell(is_json=True):
    ...     print(option("measured-again"))
    "measured_again": true
    """
    is_json = (_SHELL.get() or _Named()).is_json
    return f'"{name.replace("-", "_")}": true' if is_json else f"--{name}"


def command_from(name: str) -> str:
    """A command that begins another study with the results of this one, in backticks.

    Examples
    --------
    >>> with in_shell("screen.db"):
    ...     print(command_from("NEW.toml"))
    `shortlist new NEW.toml --from screen.db`
    """
    place, study, _ = _SHELL.get() or _Named()
    which = f" --from-study {shell_word(study)}" if study else ""
    return f"`shortlist new {name} --from {shell_word(place)}{which}`"


def setting(key: str, value: str) -> str:
    """A setting as a screen.toml has it, or as an argument in Python.

    Examples
    --------
    >>> setting("trust", "guide")
    "trust='guide'"
    >>> with in_shell():
    ...     print(setting("trust", "guide"))
    trust = "guide"
    """
    return advised(f'{key} = "{value}"', f"{key}={value!r}")


def shell_line(command: str, place: str, name: str | None = None, more: str = "") -> str:
    """A line for the shell, about a study.

    Examples
    --------
    >>> shell_line("ask", "screen.toml", "screen, without features", "-n 8")
    'shortlist ask screen.toml --study "screen, without features" -n 8'
    """
    words = ["shortlist", command, shell_word(place)]
    words += ["--study", shell_word(name)] if name else []
    return " ".join([*words, more]).rstrip()


def shell_word(word: str) -> str:
    """A word as a shell takes it: in double quotes where those will do, which every shell knows.

    Examples
    --------
    >>> print(shell_word("C07"), shell_word("a b"), shell_word("$HOME"))
    C07 "a b" '$HOME'
    """
    if re.fullmatch(r"[\w@%+=:,./-]+", word):
        return word
    return shlex.quote(word) if re.search(r'["$`\\!]', word) else f'"{word}"'
