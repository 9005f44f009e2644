"""Who waits is told what for; what is soon done says nothing."""

from __future__ import annotations

import time

import pytest

from shortlist.numerics.jit import notice


def test_what_is_soon_done_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with notice("waiting for something", after=60.0):
        pass
    assert capsys.readouterr().err == ""


def test_what_takes_long_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with notice("waiting for something", after=0.0):
            time.sleep(0.2)
    assert capsys.readouterr().err == "shortlist: waiting for something\n" * 2


def test_what_is_said_once_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with notice("waiting once", after=0.0, once=True):
            time.sleep(0.2)
    assert capsys.readouterr().err == "shortlist: waiting once\n"
