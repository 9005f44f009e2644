"""What a message advises, in its reader's words: calls in Python, commands at the command line.

A message is made of our own text and of what a user gave, such as the names of arms. Whoever makes one
asks for the advice in it by what is to be done, ``advise("tell", arm="C07")``; nothing is reworded later.
The reader uses Python unless ``read_by`` says otherwise, as the command line and the server do.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

# What is to be done: the call, and the command. {study} is the study that the command named.
ACTIONS = {
    "answer": ("study.shortlist", "`shortlist status {study}`"),
    "read": ("read study.shortlist", "`shortlist status {study}`"),
    "certain": ("study.shortlist.certain", "`shortlist status {study}`"),
    "guarantee": ("study.shortlist.guarantee", "`shortlist status {study} --guarantee`"),
    "pending": ("study.pending", "`shortlist status {study}`"),
    "table": ("study.table()", "`shortlist export {study} --table`"),
    "ask": ("study.ask(n)", "`shortlist ask {study} --out plate.csv`"),
    "ask for": ("study.ask({count})", "`shortlist ask {study} -n {count} --out plate.csv`"),
    "reopen": ("study.reopen()", "`shortlist reopen {study}`"),
    "call reopen": ("call study.reopen()", "`shortlist reopen {study}`"),
    "readmit": ("study.readmit()", "`shortlist readmit {study}`"),
    "call readmit": ("call study.readmit()", "`shortlist readmit {study}`"),
    "verify": ("study.verify()", "`shortlist verify {study}`"),
    "widen": ("study.widen(epsilon={epsilon})", "`shortlist widen {study} --epsilon {epsilon}`"),
    "fail": ("study.fail(trial)", "`shortlist fail {study} TRIAL`"),
    "cancel": ("study.cancel({trial})", "`shortlist cancel {study} {trial}`"),
    "correct": (
        "study.correct({trial}, {value}, reason=…)",
        "`shortlist correct {study} {trial} --value={value} --reason TEXT`",
    ),
    "correct it": (
        "study.correct({trial}, value, reason=…)",
        "`shortlist correct {study} {trial} --value=X --reason TEXT`",
    ),
    "tell": (
        "study.tell(arm={arm}, value={value})",
        "`shortlist tell {study} --arm {arm} --value={value}`",
    ),
    "tell with block": (
        "study.tell(arm={arm}, value={value}, block={block})",
        "`shortlist tell {study} --arm {arm} --block {block} --value={value}`",
    ),
    "tell untold": (
        "study.tell_many(shortlist.read_untold({file}), if_told='same')",
        "`shortlist tell {study} {file}`",
    ),
    "retire": (
        "study.retire({arm}, reason=…)",
        "`shortlist retire {study} {arm} --reason TEXT`",
    ),
    "carry over": ("new_study.carry_over(study)", "`shortlist new NEW.toml --from {source}`"),
    "load": ("Study.load(storage)", "`shortlist status {study}`"),
    "name it": ("by Study.load(storage, name)", "with --study NAME"),
    "fetch": ("call shortlist.data.fetch()", "run `shortlist data fetch`"),
    "repeat": (
        "the call with if_told='same', or with a key= for unrequested data",
        "the command",
    ),
    "say measured again": ("measured_again=True", "--measured-again"),
    "take last states": ("semantics=Semantics(unsettled='last')", "--last-states"),
    "give block": ("give block=…", "give --block NAME, or in a file a column block"),
}
JSON = {
    "say measured again": '"measured_again": true',
    "give block": 'give "block"',
}
# What stands for a value that the reader knows.
UNKNOWN = {"arm": "NAME", "block": "BLOCK", "value": "X", "epsilon": "X"}
# What `shortlist continue` has for a change, where that is not its name and its value.
OPTIONS = {
    ("features", None): "--without-features",
    ("trust", "guide"): "--guide",
    ("intercept", True): "--intercept",
}
FROM_FILE = ("reward_range", "threshold")  # settings that only a screen.toml has


class Python:
    """A reader who has a study at hand, and calls its methods.

    Examples
    --------
    >>> Python().advise("tell", arm="C07", value=0.5)
    "study.tell(arm='C07', value=0.5)"
    >>> Python().continued(sigma="bounded", reward_range=(0, 1))
    "study.continued(sigma='bounded', reward_range=(0, 1))"
    """

    has_study = True  # which can go on

    def advise(self, action: str, /, **given: object) -> str:
        """What to do."""
        said = {key: "…" if value is None else repr(value) for key, value in given.items()}
        return ACTIONS[action][0].format(**said)

    def continued(self, **changes: object) -> str:
        """How to continue with other settings."""
        return f"study.continued({', '.join(self.setting(*each) for each in changes.items())})"

    def goes_on(self, how: str, /, **changes: object) -> str:
        """What goes on, and how: the study with other settings, or if there are none its verification."""
        return f"{self.continued(**changes) if changes else self.advise('verify')} goes on {how}"

    def setting(self, key: str, value: object) -> str:
        """A setting."""
        return f"{key}={_literal(value)}"

    def loaded_with(self, argument: str) -> str:
        """How a program opens a study that has rules of the user's own, at the end of a sentence."""
        return f", with Study.load(storage, {argument}=…)"


@dataclass(frozen=True)
class CommandLine(Python):
    """A reader who gives commands about a study, and whose settings stand in a screen.toml.

    Parameters
    ----------
    place : str
        Where the study is, as the reader would write it.
    name : str, optional
        Its name, if that has to be given.
    is_json : bool
        Whether the reader is a client that sends JSON.

    Examples
    --------
    >>> here = CommandLine("screen.db", "a b")
    >>> here.advise("reopen")
    '`shortlist reopen screen.db --study "a b"`'
    >>> here.continued(features=None, sigma="estimate per arm")
    '`shortlist continue screen.db --study "a b" --without-features --sigma "estimate per arm"`'
    >>> CommandLine("screen.db").advise("correct", trial=3, value=0.5)
    '`shortlist correct screen.db 3 --value=0.5 --reason TEXT`'
    >>> here.setting("trust", "guide"), here.setting("reward_range", (0, 1))
    ('trust = "guide"', 'reward_range = [0, 1]')
    """

    place: str = "STUDY"
    name: str | None = None
    is_json: bool = False

    def advise(self, action: str, /, **given: object) -> str:
        """What to do."""
        if self.is_json and action in JSON:
            return JSON[action]
        words = {key: _word(key, value) for key, value in given.items()}
        return ACTIONS[action][1].format(study=self._study, source=self._source, **words)

    def continued(self, **changes: object) -> str:
        """How to continue with other settings: a command, or a screen.toml for those it lacks."""
        if any(key in changes for key in FROM_FILE):
            settings = " and ".join(self.setting(*each) for each in changes.items())
            without = " and no S" if "threshold" in changes else ""
            return f"{self.advise('carry over')}, with {settings}{without} in it,"
        options = (
            OPTIONS.get((key, value)) if isinstance(value, str | bool | None) else None
            for key, value in changes.items()
        )
        said = (
            option or f"--{key} {_word(key, value)}"
            for option, (key, value) in zip(options, changes.items(), strict=True)
        )
        return f"`shortlist continue {self._study} {' '.join(said)}`"

    def setting(self, key: str, value: object) -> str:
        """A setting."""
        return f"{key} = {_toml(value)}"

    def loaded_with(self, argument: str) -> str:
        """Nothing: no command can."""
        return ""

    def line(self, command: str, more: str = "") -> str:
        """A command about the study.

        Examples
        --------
        >>> CommandLine("screen.toml", "screen, without features").line("ask", "-n 8")
        'shortlist ask screen.toml --study "screen, without features" -n 8'
        """
        return " ".join(["shortlist", command, self._study, more]).rstrip()

    @property
    def _study(self) -> str:
        return shell_word(self.place) + (f" --study {shell_word(self.name)}" if self.name else "")

    @property
    def _source(self) -> str:
        named = f" --from-study {shell_word(self.name)}" if self.name else ""
        return shell_word(self.place) + named


_READER: ContextVar[Python] = ContextVar("reader", default=Python())  # noqa: B039 - it never changes


def reader() -> Python:
    """Who reads what is said now."""
    return _READER.get()


@contextmanager
def read_by(reader: Python) -> Iterator[None]:
    """Let this be the reader of what is said meanwhile.

    Examples
    --------
    >>> with read_by(CommandLine("screen.db")):
    ...     advise("verify")
    '`shortlist verify screen.db`'
    >>> advise("verify")
    'study.verify()'
    """
    before = _READER.set(reader)
    try:
        yield
    finally:
        _READER.reset(before)


def advise(action: str, /, **given: object) -> str:
    """What to do, for whoever reads it; None stands for a value that the reader knows.

    Examples
    --------
    >>> advise("tell", arm="C07", value=None)
    "study.tell(arm='C07', value=…)"
    """
    return reader().advise(action, **given)


def continued(**changes: object) -> str:
    """How to continue a study with other settings, for whoever reads it."""
    return reader().continued(**changes)


def goes_on(how: str, /, **changes: object) -> str:
    """What goes on, and how, for whoever reads it.

    Examples
    --------
    >>> goes_on("with all results.", epsilon=0.1)
    'study.continued(epsilon=0.1) goes on with all results.'
    """
    return reader().goes_on(how, **changes)


def setting(key: str, value: object = ...) -> str:
    """A setting, for whoever reads it; without a value, one that the reader knows.

    Examples
    --------
    >>> setting("trust", "guide"), setting("S")
    ("trust='guide'", 'S=…')
    """
    return reader().setting(key, value)


def _literal(value: object) -> str:
    """A value as Python has it; names stand for numbers that the reader knows.

    Examples
    --------
    >>> _literal(("low", "high")), _literal("guide"), _literal(...)
    ('(low, high)', "'guide'", '…')
    """
    if value is ...:
        return "…"
    return f"({', '.join(map(str, value))})" if isinstance(value, tuple) else repr(value)


def _toml(value: object) -> str:
    """A value as a screen.toml has it.

    Examples
    --------
    >>> print(_toml({"DMSO": 2}), _toml(True), _toml(("low", "high")))
    {"DMSO" = 2} true [low, high]
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml(key)} = {_toml(each)}' for key, each in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str | bool):
        return json.dumps(value, ensure_ascii=False)
    return _literal(value).replace("(", "[").replace(")", "]")


def _word(key: str, value: object) -> str:
    """A value as a command takes it."""
    return UNKNOWN.get(key, "TRIAL") if value in (None, ...) else shell_word(str(value))


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
