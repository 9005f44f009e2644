"""Advice in messages, for readers who do not use Python.

A message says what to do as a call: ``study.reopen()``, or a setting: ``trust='guide'``. It is written
once, where it is raised. The command line and the server, which know that their readers use commands,
translate the calls that are in the table here.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

VALUE = r"(?P<value>[-+.\w]+|…)"
ARM = r"""(?P<arm>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?\d+|…)"""
BLOCK = ARM.replace("<arm>", "<block>")
# From a call in a message to what the command line does in its place: {study} is the study that the
# command named, {value} and {arm} are what the call has.
COMMANDS = {
    r"study\.shortlist\.certain": "`shortlist status {study}`",
    r"study\.shortlist\.guarantee": "`shortlist status {study} --guarantee`",
    r"(?:read )?study\.shortlist": "`shortlist status {study}`",
    r"study\.pending": "`shortlist status {study}`",
    r"study\.table\(\)": "`shortlist export {study} --table`",
    r"study\.ask\(n\)": "`shortlist ask {study} --out plate.csv`",
    r"(?:call )?study\.reopen\(\)": "`shortlist reopen {study}`",
    r"study\.verify\(\)": "`shortlist verify {study}`",
    rf"study\.widen\(epsilon={VALUE}\)": "`shortlist widen {study} --epsilon {value}`",
    r"study\.fail\((?P<trial>trial)\)": "`shortlist fail {study} TRIAL`",
    r"study\.cancel\((?P<trial>\d+)\)": "`shortlist cancel {study} {trial}`",
    rf"study\.correct\((?P<trial>\d+), {VALUE}, reason=…\)": (
        "`shortlist correct {study} {trial} --value={value} --reason TEXT`"
    ),
    rf"study\.tell\(arm={ARM}, value={VALUE}\)": (
        "`shortlist tell {study} --arm {arm} --value={value}`"
    ),
    rf"study\.tell\(arm={ARM}, value={VALUE}, block={BLOCK}\)": (
        "`shortlist tell {study} --arm {arm} --block {block} --value={value}`"
    ),
    r"(?:call )?study\.readmit\(\)": "`shortlist readmit {study}`",
    rf"study\.retire\({ARM}, reason=…, whatever_the_results=True\)": (
        "`shortlist retire {study} {arm} --reason TEXT --whatever-the-results`"
    ),
    r"study\.continued\(sigma='bounded', reward_range=\((?P<low>[-+.\w]+), (?P<high>[-+.\w]+)\)\),?": (
        '`shortlist new NEW.toml --from {source}`, with sigma = "bounded" and reward_range = '
        "[{low}, {high}] in it,"
    ),
    r"study\.continued\(threshold='self_normalized'\)": (
        '`shortlist new NEW.toml --from {source}`, with threshold = "self_normalized" and no S in it,'
    ),
    r"study\.continued\((?P<changes>(?:'[^']*'|[^'()]|\([^()]*\))+)\)": (
        "`shortlist continue {study} {changes}`"
    ),
    r"study\.ask\((?P<value>\d+)\)": "`shortlist ask {study} -n {value} --out plate.csv`",
    r"new_study\.carry_over\(study\)": "`shortlist new NEW.toml --from {source}`",
    r"Study\.load\(storage\)": "`shortlist status {study}`",
    r"by Study\.load\(storage, name\)": "with --study NAME",
    r", with Study\.load\(storage, \w+=…\)": "",
    r"call shortlist\.data\.fetch\(\)": "run `shortlist data fetch`",
    r"study\.tell_many\(shortlist\.read_untold\((?P<file>'(?:[^'\\]|\\.)*')\), if_told='\w+'\)": (
        "`shortlist tell {study} {file}`"
    ),
    r"the call with if_told='\w+', or with a key= for unrequested data": "the command",
    r"\bmeasured_again=True": "--measured-again",
    r"give block=…": "give --block NAME, or in a file a column block",
}
# What `shortlist continue` has for a change, where that is not its name and its value.
OPTIONS = {
    "features=None": "--without-features",
    "trust='guide'": "--guide",
    "intercept=True": "--intercept",
}
JSON = {
    r"\bmeasured_again=True": '"measured_again": true',
    r"give block=…": 'give "block"',
}
SETTING = re.compile(
    r"\b(?P<key>sigma|threshold|trust|audit|S|reward_range)="
    r"(?P<value>'[^']*'|\([^()]*\)|True|False|[-+.\de]*\d|…)"
)


@dataclass(frozen=True)
class CommandLine:
    """Translates messages about the study that a command named.

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
    >>> say = CommandLine("screen.db", "a b")
    >>> say("final: read study.shortlist, or call study.reopen() to go on")
    'final: `shortlist status screen.db --study "a b"`, or `shortlist reopen screen.db --study "a b"` to go on'
    >>> CommandLine("screen.db")("study.correct(3, 0.5, reason=…) corrects it")
    '`shortlist correct screen.db 3 --value=0.5 --reason TEXT` corrects it'
    >>> CommandLine()("begin a study with trust='guide', or reward_range=(low, high)")
    'begin a study with trust = "guide", or reward_range = [low, high]'
    """

    place: str = "STUDY"
    name: str | None = None
    is_json: bool = False

    def __call__(self, message: str) -> str:
        """The message, with commands in place of calls and settings as a screen.toml has them."""
        place = shell_word(self.place)
        named = f" --study {shell_word(self.name)}" if self.name else ""
        source = f"{place} --from-study {shell_word(self.name)}" if self.name else place
        for call, command in (COMMANDS | JSON if self.is_json else COMMANDS).items():

            def written(found: re.Match[str], command: str = command) -> str:
                words = {key: _word(key, text) for key, text in found.groupdict().items()}
                return command.format(study=place + named, source=source, **words)

            message = re.sub(call, written, message)
        return SETTING.sub(_in_toml, message)

    def line(self, command: str, more: str = "") -> str:
        """A command about the study.

        Examples
        --------
        >>> CommandLine("screen.toml", "screen, without features").line("ask", "-n 8")
        'shortlist ask screen.toml --study "screen, without features" -n 8'
        """
        words = ["shortlist", command, shell_word(self.place)]
        words += ["--study", shell_word(self.name)] if self.name else []
        return " ".join([*words, more]).rstrip()


def translated(report: Any, here: Callable[[str], str]) -> Any:
    """A report as JSON has it, with every text in it translated.

    Examples
    --------
    >>> translated({"words": ["study.verify()"]}, CommandLine("screen.db"))
    {'words': ['`shortlist verify screen.db`']}
    """
    if isinstance(report, dict):
        return {key: translated(value, here) for key, value in report.items()}
    if isinstance(report, list):
        return [translated(each, here) for each in report]
    return here(report) if isinstance(report, str) else report


def _word(key: str, text: str) -> str:
    """What a call has, as a command takes it."""
    if key == "changes":
        return " ".join(map(_option, re.split(r", (?=\w+=)", text)))
    if text in ("…", "value", "trial"):
        return {"arm": "NAME", "block": "BLOCK", "value": "X"}.get(key, "TRIAL")
    return shell_word(str(ast.literal_eval(text))) if text[0] in "'\"" else text


def _option(change: str) -> str:
    """A change that a study is continued with, as the command takes it.

    Examples
    --------
    >>> _option("features=None"), _option("sigma='estimate per arm'"), _option("epsilon=0.1")
    ('--without-features', '--sigma "estimate per arm"', '--epsilon 0.1')
    """
    key, _, value = change.partition("=")
    return OPTIONS.get(change) or f"--{key} {_word('value', value)}"


def _in_toml(found: re.Match[str]) -> str:
    """A setting as a screen.toml has it."""
    value = found["value"].replace("'", '"').replace("(", "[").replace(")", "]")
    return f"{found['key']} = {value.lower() if value in ('True', 'False') else value}"


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
