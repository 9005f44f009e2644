"""Advice fits where it is read: commands in a shell, calls in Python.

Every output of every command that is run by a test goes through ``check_advice``; here are those that
advise most.
"""

from __future__ import annotations

import contextlib
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shortlist
from command_line import PYTHON, SCREEN, check_advice, does, run, tell_two, write
from once import once
from report_pages import undrawn
from shortlist.advice import CommandLine, advise, read_by
from shortlist.errors import ShortlistError, StudyStopped

ROWS = "arm,value\nC01,0.5\nC02,0.25\n"
HEADING = "trial,arm,value\n"


def put(name: str, text: str) -> None:
    Path(name).write_text(text, encoding="utf-8")


def begun() -> None:
    does("new", "screen.toml")


def told() -> None:
    """Trials 0 and 1 that nobody asked for, 2 and 3 of a file, 4 open, 5 failed, 6 cancelled."""
    begun()
    tell_two()
    put("one.csv", ROWS)
    does("tell", "screen.toml", "one.csv")
    does("ask", "screen.toml", "-n", 3)
    does("fail", "screen.toml", 5, "--reason", "dropped")
    does("cancel", "screen.toml", 6)


def far_off() -> None:
    begun()
    for value in (0.5, 0.4, 0.5, 0.45, 0.5, 40.0):
        does("tell", "screen.toml", "--arm", "C10", "--value", value)


def bent() -> None:
    """Means that are not linear in the features, which was found out."""
    put("bent.csv", "".join(f"a{k},1,{k}\n" for k in range(30)))
    write(features="bent.csv", algorithm="m-LinGapE")
    begun()
    study = shortlist.Study.load("screen.db")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while study.audit.rejection is None:
            trial = study.ask()
            study.tell(trial, float(np.sin(trial.arm)))


def continued() -> None:
    bent()
    does("continue", "screen.toml", "--without-features")


def of_a_budget() -> None:
    write(features=None, arms=["a", "b", "c"], m=1, budget=6)
    begun()
    study = shortlist.Study.load("screen.db")
    study.tell_many((trial, 0.1 * trial.arm) for trial in study.ask(5))


def spent() -> None:
    of_a_budget()
    study = shortlist.Study.load("screen.db")
    study.tell(study.ask(), 0.3)


def stopped() -> None:
    write(features=None, arms=["a", "b"], m=1)
    begun()
    shortlist.Study.load("screen.db").run(lambda trial: float(trial.arm), progress=False)


def two_studies() -> None:
    begun()
    put("other.toml", 'storage = "screen.db"\n' + Path("screen.toml").read_text(encoding="utf-8"))
    does("new", "other.toml")


def with_rules_of_its_own() -> None:
    def first_named(now):  # type: ignore[no-untyped-def]
        return now.marked(now.b)

    algorithm = shortlist.GIFA(selection=first_named)
    shortlist.Study(
        SCREEN / "features.csv", m=1, sigma=0.1, storage="screen.db", algorithm=algorithm
    )


def other_settings() -> None:
    begun()
    write(m=2)


def other_features() -> None:
    begun()
    put("features.csv", Path("features.csv").read_text().replace("C01,", "C01,1", 1))


def screen_with(**keys: object) -> Callable[[], None]:
    return lambda: write(**keys)


def nothing() -> None:
    pass


def prepare(before: Callable[[], None]) -> None:
    """What is made for many cases is made once, and copied into the current folder."""
    if before is nothing or before.__name__ == "<lambda>":
        return before()
    here = Path.cwd()

    def make(place: Path) -> None:
        shutil.copytree(here, place)
        with contextlib.chdir(place):
            before()

    shutil.copytree(once(f"advice-{before.__name__}", make), here, dirs_exist_ok=True)


CASES: list[tuple[Callable[[], None], str, str]] = [
    # What must be there before; the command; the file it reads, if any.
    (nothing, "status", ""),
    (nothing, "status none.db", ""),
    (nothing, "status screen.toml", ""),
    (nothing, "tell", ""),
    (nothing, "tell screen.toml file.csv", ROWS),
    (nothing, "new none.toml", ""),
    (nothing, "algorithms", ""),
    (begun, "status screen.toml", ""),
    (begun, "status screen.db --study scren", ""),
    (begun, "why screen.toml", ""),
    (begun, "why screen.toml 7", ""),
    (begun, "fail screen.toml", ""),
    (begun, "correct screen.toml 0", ""),
    (begun, "correct screen.toml 0 --value x --reason y", ""),
    (begun, "correct screen.toml 0 --value 1 --reason y", ""),
    (begun, "ask screen.toml --again", ""),
    (begun, "ask screen.toml --out plate.txt", ""),
    (begun, "ask screen.toml -n 30 --out none/plate.csv", ""),
    (begun, "reopen screen.toml", ""),
    (begun, "tell screen.toml --arm C1 --value 1", ""),
    (begun, "tell screen.toml --arm C01 --value high", ""),
    (begun, "tell screen.toml file.csv", "a,b\n1,2\n"),
    (begun, "tell screen.toml file.csv", "arm,value\nC1,0.5\n"),
    (begun, "tell screen.toml file.csv", HEADING + "0,C01,nan\n"),
    (begun, "tell screen.toml file.csv", HEADING + "0,C01,1\n"),
    (begun, "tell screen.toml file.csv", "study,trial,arm,value\nother-1234,0,C01,1\n"),
    (told, "status screen.toml", ""),
    (told, "ask screen.toml -n 2", ""),
    (told, "tell screen.toml file.csv", ROWS),
    (told, "tell screen.toml file.csv --measured-again", ROWS),
    (told, "tell screen.toml one.csv", ""),
    (told, "tell screen.toml file.csv", HEADING + "0,C10,0.75\n"),
    (told, "tell screen.toml file.csv", HEADING + "5,C01,0.75\n"),
    (told, "cancel screen.toml 0", ""),
    (told, "fail screen.toml 0 4", ""),
    (told, "correct screen.toml 5 --value 1 --reason y", ""),
    (told, "correct screen.toml 0 --arm C01 --value 1 --reason y", ""),
    (told, "tell screen.toml --arm C01 --value 1 --key one.csv", ""),
    (far_off, "status screen.toml", ""),
    (far_off, "status screen.toml --json", ""),
    (bent, "status screen.toml", ""),
    (bent, "status screen.db --study screen", ""),
    (bent, "status screen.toml --json", ""),
    (bent, "ask screen.toml", ""),
    (bent, "why screen.toml 0", ""),
    (bent, "list screen.db", ""),
    (bent, "report screen.toml", ""),
    (bent, "continue screen.toml", ""),
    (bent, "continue screen.toml --without-features", ""),
    (continued, "ask screen.toml", ""),
    (continued, "status screen.toml", ""),
    (continued, "correct screen.toml 0 --value 0.25 --reason y", ""),
    (of_a_budget, "ask screen.toml -n 8", ""),
    (spent, "ask screen.toml", ""),
    (spent, "reopen screen.toml", ""),
    (spent, "status screen.toml", ""),
    (stopped, "ask screen.toml", ""),
    (stopped, "status screen.toml", ""),
    (stopped, "continue screen.toml --delta 0.01", ""),
    (two_studies, "status screen.db", ""),
    (two_studies, "ask screen.db --study other -n 3", ""),
    (with_rules_of_its_own, "status screen.db", ""),
    (with_rules_of_its_own, "list screen.db", ""),
    (other_settings, "status screen.toml", ""),
    (other_settings, "new screen.toml", ""),
    (other_features, "status screen.toml", ""),
    (screen_with(audit=False), "new screen.toml", ""),
    (screen_with(algorithm="Guided"), "new screen.toml", ""),
    (screen_with(algorithm="pairs-in-doubt"), "new screen.toml", ""),
    (screen_with(algorithm="m-LinGap"), "new screen.toml", ""),
    (screen_with(threshold="none"), "new screen.toml", ""),
    (screen_with(threshold="frequentist"), "new screen.toml", ""),
    (screen_with(threshold="frequentist", S=1.0, algorithm="LUCB"), "new screen.toml", ""),
    (screen_with(sigma=None), "new screen.toml", ""),
    (screen_with(sigma="estimat"), "new screen.toml", ""),
    (screen_with(sigma="bounded"), "new screen.toml", ""),
    (screen_with(m=0), "new screen.toml", ""),
    (screen_with(m=99), "new screen.toml", ""),
    (screen_with(delta=2.0), "new screen.toml", ""),
    (screen_with(delta=0.95), "new screen.toml", ""),
    (screen_with(budget=3), "new screen.toml", ""),
    (screen_with(budget=90, delta=0.1), "new screen.toml", ""),
    (screen_with(trust="guid"), "new screen.toml", ""),
    (screen_with(trust="guide", budget=90), "new screen.toml", ""),
    (screen_with(direction="min"), "new screen.toml", ""),
    (screen_with(lease="7"), "new screen.toml", ""),
    (screen_with(features="none.csv"), "new screen.toml", ""),
    (nothing, "repurpose --synthetic --algorithm Guided", ""),
    (nothing, "repurpose --synthetic --algorithm none", ""),
    (nothing, "repurpose", ""),
    (nothing, "data path none", ""),
    (nothing, "serve none.db", ""),
]


@pytest.mark.parametrize(
    ("before", "words", "file"),
    [pytest.param(*case, id=f"{case[0].__name__}: {case[1]} {n}") for n, case in enumerate(CASES)],
)
def test_a_command_never_advises_a_call(
    folder: Path, before: Callable[[], None], words: str, file: str
) -> None:
    prepare(before)
    put("file.csv", file)
    with undrawn():
        run(*words.split())  # which checks what is said


def test_advice_names_the_study_that_the_command_named(folder: Path) -> None:
    prepare(bent)
    for study in ("screen.toml", "screen.db --study screen"):
        said = " ".join(run("ask", *study.split()).output.split())
        assert f"`shortlist verify {study}`" in said


def test_advice_in_python_is_calls_alone(tmp_path: Path) -> None:
    study = shortlist.Study(arms=["a", "b"], m=1, sigma=0.1, seed=0)
    study.run(lambda trial: float(trial.arm), progress=False)
    with pytest.raises(StudyStopped, match=r"read study\.shortlist, or call study\.reopen\(\)"):
        study.ask()
    wrong: list[Callable[[], object]] = [
        study.ask,
        lambda: study.tell(0, 1.0),
        lambda: study.tell(99, 1.0),
        lambda: study.correct(0, 1.0, reason=""),
        lambda: shortlist.Study.load(tmp_path / "none.db"),
    ]
    for act in wrong:
        with pytest.raises(ShortlistError) as caught:
            act()
        assert "`shortlist" not in str(caught.value)


def test_the_check_would_find_a_call() -> None:
    for words in (
        "call study.reopen() now",
        "by Study.load(storage)",
        "use GIFA(…, threshold=…)",
        "pass name=, or",
        "with if_told='ignore'",
        "read study.shortlist.",
        "in Python carry_over",
    ):
        assert PYTHON.search(words), words
    for words in (
        "in study.db",
        "--value=0.5 --reason TEXT",
        "δ = 0.05 (K = 3)",
        "at shortlist.toml",
    ):
        assert not PYTHON.search(words), words
    for line in (
        "`shortlist tel x.db`",
        "`shortlist ask x.db --agai`",
        "`shortlist correct --value`",
    ):
        with pytest.raises(AssertionError):
            check_advice(line)


def test_what_an_arm_is_called_does_not_matter() -> None:
    for name, word in (("C07", "C07"), ("a b", '"a b"'), ("it's $5", "'it'\"'\"'s $5'")):
        with read_by(CommandLine("screen.db")):
            told = advise("tell", arm=name, value=-0.5)
        assert told == f"`shortlist tell screen.db --arm {word} --value=-0.5`"


def test_what_commands_rarely_say_fits_too() -> None:
    with read_by(CommandLine("screen.db")):
        assert advise("repeat") == "the command"
        file = "/tmp/a b.csv"
        assert advise("tell untold", file=file) == '`shortlist tell screen.db "/tmp/a b.csv"`'
    assert advise("tell untold", file="a b.csv") == (
        "study.tell_many(shortlist.read_untold('a b.csv'), if_told='same')"
    )


def test_a_client_that_sends_json_is_told_what_to_send() -> None:
    for is_json, words in ((False, "--measured-again"), (True, '"measured_again": true')):
        with read_by(CommandLine(is_json=is_json)):
            assert advise("say measured again") == words
